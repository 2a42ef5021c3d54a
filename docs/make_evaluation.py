"""Writes the tables of docs/evaluation.md from the results saved in benchmarks/results/eval.

`make docs` runs this script in the root of the repository; a test checks that the page matches the
results. A table is written between `<!-- NAME.json -->` and `<!-- end -->`. `<!-- NAME.json:
COLUMN, … -->` restricts it to those columns, each with its interval if it has one.
"""

from __future__ import annotations

import re
from pathlib import Path

from slice_os.evaluation.results import Evaluation
from slice_os.evaluation.tables import Table

PAGE = Path("docs/evaluation.md")
RESULTS = Path("benchmarks/results/eval")
_TABLE = re.compile(
    r"<!-- (?P<file>[\w.-]+\.json)(?:: (?P<columns>[^\n]+?))? -->\n.*?<!-- end -->", re.DOTALL
)


def fill(page: str, results: Path) -> str:
    """Return the page with every table filled from its results."""
    return _TABLE.sub(lambda match: _block(match, results), page)


def _block(match: re.Match[str], results: Path) -> str:
    evaluation = Evaluation.load(results / match["file"])
    rows = evaluation.rows
    if match["columns"]:
        wanted = [name.strip() for name in match["columns"].split(",")]
        shown = {name + end for name in wanted for end in ("", "_low", "_high")}
        rows = tuple({key: row[key] for key in row if key in shown} for row in rows)
    files = "; ".join(
        f"{file.name} ({file.rows:,} rows, sha256 `{file.sha256[:12]}`)" for file in evaluation.data
    )
    parts = [
        match[0].splitlines()[0],
        Table.of(rows).markdown(),
        "",
        f"slice-os {evaluation.version}, {evaluation.date[:10]}; {files}. "
        f"[{match['file']}](../{RESULTS.as_posix()}/{match['file']})",
    ]
    if evaluation.notes:
        parts += ["", *(f"- {note}" for note in evaluation.notes)]
    return "\n".join([*parts, "<!-- end -->"])


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")
