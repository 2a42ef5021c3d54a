"""Write the tables of figures in docs/ from the results saved in benchmarks/results/eval.

`make docs` runs this script in the root of the repository; a test checks that the pages match the
results. In docs/evaluation/ and docs/notebook/, a table stands between `<!-- NAME.json -->` and
`<!-- end -->`:

- `<!-- NAME.json: COLUMN, … -->` keeps these columns, each with its interval if it has one;
- `<!-- NAME.json: COLUMN, … | KEY=VALUE -->` also keeps only the rows with that value.

A note that several results share is printed once on a page. The table between `<!-- headline -->`
and `<!-- end -->` in docs/evaluation.md has one figure of each of the `HEADLINES`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slice_os.evaluation.results import Evaluation, Row, Table

DOCS = Path("docs")
RESULTS = Path("benchmarks/results/eval")
ENCODERS = ("slice-mini", "base-minilm", "bm25")
_TABLE = re.compile(
    r"<!-- (?P<file>[\w.-]+\.json)(?:: (?P<columns>[^\n|]+?))?(?: \| (?P<where>[^\n]+?))? -->\n"
    r".*?<!-- end -->",
    re.DOTALL,
)
_HEADLINE = re.compile(r"<!-- headline -->\n.*?<!-- end -->", re.DOTALL)


class Headline(NamedTuple):
    """A row of the headline table: one column of a saved result, and the rows to read it from."""

    question: str
    page: str
    file: str
    measure: str
    column: str
    where: Mapping[str, object]


HEADLINES = (
    Headline(
        "Does the best span of a text agree with people?",
        "sts-b-context",
        "sts-b-context",
        "Pearson",
        "pearson",
        {"setting": "single-pass"},
    ),
    Headline(
        "Does a search in a contract find the clause? ContractNLI",
        "span-retrieval",
        "span-retrieval-contract-nli",
        "nDCG@10",
        "ndcg@10",
        {"setting": "document", "system": ("hybrid", "bm25")},
    ),
    Headline(
        "The same, CUAD",
        "span-retrieval",
        "span-retrieval-cuad",
        "nDCG@10",
        "ndcg@10",
        {"setting": "document", "system": ("hybrid", "bm25")},
    ),
    Headline(
        "Do texts get the right topic, from five phrases? Banking77",
        "topics",
        "topics-banking77",
        "macro F1",
        "f1",
        {"score": "with regression, nearest topic", "labels": 0},
    ),
    Headline(
        "The same, CLINC150",
        "topics",
        "topics-clinc150",
        "macro F1",
        "f1",
        {"score": "with regression, nearest topic", "labels": 0},
    ),
    Headline(
        "Is a paraphrase likelier than its contrast, by the verifier?",
        "contrasts",
        "contrasts-held-out-2",
        "accuracy",
        "accuracy",
        {"score": "slice-verify", "kind": "all"},
    ),
    Headline(
        "Do two phrases mean the same in their sentence? PiC",
        "pic-ps",
        "pic-ps",
        "accuracy",
        "accuracy",
        {"setting": "phrase-in-context", "method": "cosine"},
    ),
    Headline(
        "Do phrases alone agree with people? BiRD",
        "phrase-similarity",
        "phrase-similarity",
        "Pearson",
        "pearson",
        {"set": "bird"},
    ),
    Headline(
        "How far off is the probability? Paraphrases; less is better",
        "calibration",
        "calibration-paraphrases",
        "ECE",
        "ece",
        {"probability": "shown"},
    ),
)


def pages(docs: Path) -> list[Path]:
    """Return the pages with tables of saved results."""
    return [docs / "evaluation.md", *docs.glob("evaluation/*.md"), *docs.glob("notebook/*.md")]


def fill(page: Path, results: Path) -> str:
    """Return the text of the page with every table filled from its results."""
    folder = Path(os.path.relpath(results, page.parent)).as_posix()
    printed: set[str] = set()
    text = _HEADLINE.sub(
        lambda _: f"<!-- headline -->\n{headlines(results)}\n<!-- end -->",
        page.read_text(encoding="utf-8"),
    )
    return _TABLE.sub(lambda match: _block(match, results, folder, printed), text)


def headlines(results: Path) -> str:
    """Return the headline table."""
    lines = [
        "| question | measure | slice-mini | all-MiniLM-L6-v2 | BM25 alone |",
        "|---|---|---:|---:|---:|",
    ]
    for one in HEADLINES:
        rows = list(_matching(Evaluation.load(results / f"{one.file}.json").rows, one.where))
        figures = {row["encoder"]: f"{row[one.column]:.3f}" for row in rows}
        cells = " | ".join(figures.get(name, "") for name in ENCODERS)
        lines.append(f"| [{one.question}](evaluation/{one.page}.md) | {one.measure} | {cells} |")
    return "\n".join(lines)


def _matching(rows: Sequence[Row], where: Mapping[str, object]) -> Iterator[Row]:
    for row in rows:
        values = ((row.get(key), value) for key, value in where.items())
        if row.get("source") != "quoted" and all(
            found in wanted if isinstance(wanted, tuple) else found == wanted
            for found, wanted in values
        ):
            yield row


def _block(match: re.Match[str], results: Path, folder: str, printed: set[str]) -> str:
    evaluation = Evaluation.load(results / match["file"])
    rows: Sequence[Row] = evaluation.rows
    if match["where"]:
        key, _, value = match["where"].partition("=")
        rows = [row for row in rows if str(row.get(key)) == value]
    if match["columns"]:
        wanted = [name.strip() for name in match["columns"].split(",")]
        shown = {name + end for name in wanted for end in ("", "_low", "_high")}
        rows = [{key: row[key] for key in row if key in shown} for row in rows]
    files = "; ".join(
        f"{file.name} ({file.rows:,} rows, sha256 `{file.sha256[:12]}`)" for file in evaluation.data
    )
    notes = [note for note in evaluation.notes if note not in printed]
    printed.update(notes)
    parts = [
        match[0].splitlines()[0],
        Table.of(rows).markdown(),
        "",
        f"slice-os {evaluation.version}, {evaluation.date[:10]}; {files}. "
        f"[{match['file']}]({folder}/{match['file']})",
    ]
    if notes:
        parts += ["", *(f"- {note}" for note in notes)]
    return "\n".join([*parts, "<!-- end -->"])


if __name__ == "__main__":
    for found in pages(DOCS):
        found.write_text(fill(found, RESULTS), encoding="utf-8")
