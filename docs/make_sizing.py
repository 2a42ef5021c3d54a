"""Writes the table of docs/operations.md from what `slice-os index plan` says.

`make docs` runs this script in the root of the repository; a test checks that the page is current.
"""

from __future__ import annotations

import re
from pathlib import Path

from slice_os.cli.plan import hours, size
from slice_os.stores.opensearch.planning import GIB, plan_index

PAGE = Path("docs/operations.md")
TOKENS = (10**6, 10**7, 10**8, 10**9, 10**10)
_TABLE = re.compile(r"(<!-- sizing -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(page: str) -> str:
    """Return the page with its table filled."""
    return _TABLE.sub(lambda match: f"{match[1]}{table()}\n{match[2]}", page)


def table() -> str:
    """The table, for the defaults of the command."""
    lines = [
        "| token vectors | shards | nodes, heap of each | page cache | disk | ingest | merging |",
        "|---|---|---|---|---|---|---|",
    ]
    for tokens in TOKENS:
        plan = plan_index(tokens)
        cells = (
            f"{tokens:,}",
            f"{plan.shards:,} of {size(plan.shard_bytes)}",
            f"{plan.nodes:,}, {plan.heap_bytes / GIB:,.0f} GiB",
            size(plan.page_cache_bytes),
            size(plan.disk_bytes),
            hours(plan.ingest_hours),
            hours(plan.merge_hours),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
