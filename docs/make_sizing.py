"""Writes the tables of docs/sizing.md: what `slice-os index plan` says, and how true it is.

`make docs` runs this script in the root of the repository; a test checks that the page is current.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slice_os.cli.index import hours, size
from slice_os.stores.opensearch.versions.planning import GIB, plan_index

PAGE = Path("docs/sizing.md")
TOKENS = (10**6, 10**7, 10**8, 10**9, 10**10)
RESULTS = Path("benchmarks/results/index_plan.json")
_TABLE = re.compile(r"<!-- (sizing|checked) -->\n.*?<!-- end -->", re.DOTALL)


def fill(page: str, results: Path) -> str:
    """Return the page with its tables filled."""
    tables = {"sizing": table(), "checked": comparison(json.loads(results.read_text("utf-8")))}
    return _TABLE.sub(lambda match: f"<!-- {match[1]} -->\n{tables[match[1]]}\n<!-- end -->", page)


def comparison(rows: Mapping[str, Any]) -> str:
    """Planned over found, for every corpus of the benchmark."""
    lines = [
        "| corpus | token vectors | disk | page cache | heap of a merge | ingest | merging |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        ratios = " | ".join(f"{ratio:.2f}" for ratio in row["plan_to_found"].values())
        lines.append(f"| {name} | {row['tokens']:,} | {ratios} |")
    return "\n".join(lines)


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
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")
