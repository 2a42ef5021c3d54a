"""Sets written for this project: a phrase, what says it, and what is near and does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from slice_os.datasets.files import DataSource
from slice_os.evaluation.contrasts import marked
from slice_os.training.record_types import Passage

from .contrast_rows import ContrastRow
from .placed_rows import ragged

WRITTEN = Path(__file__).parents[1] / "written"
SETS = DataSource(
    'JSON Lines of {"phrase", "says": [text], "not": [[kind, text]]}, a [[span]] in each text',
    "see recipes/written/README.md",
)
_EXACT = 0.6  # share of spans whose borders stay as they were written


def written_rows(rng: Random, folder: Path = WRITTEN) -> Iterator[ContrastRow]:
    """The rows of all sets; `InputError` if a file is malformed."""
    for path in sorted(folder.glob("*.jsonl")):
        for row in SETS.json_lines(path):
            texts = [("says", "paraphrase", text) for text in row.values["says"]]
            texts += [("not", kind, text) for kind, text in row.values["not"]]
            for name, kind, text in texts:
                claim = marked(row, name, text)
                start, end = claim.start, claim.end
                if rng.random() >= _EXACT:
                    start, end = ragged(Passage(claim.text, start, end), rng)
                says = kind == "paraphrase"
                labels = says, kind, f"written-{path.stem}", () if says else None
                yield ContrastRow(claim.phrase, claim.text, start, end, *labels)
