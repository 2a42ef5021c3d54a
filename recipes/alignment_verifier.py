"""Train the alignment verifier on contrasts that `recipes/contrasts.py` made.

    python recipes/alignment_verifier.py CONTRASTS OUT [--rows N] [--model FOLDER] [--seed N]

OUT is the file of weights; the bundled one is `slice_os/verifier/wording/weights.json`. The same
rows, model and seed give the same weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

from slice_os.encoder import SpanEncoder
from slice_os.training.contrasts.fitting import features_of, fit_alignment
from slice_os.training.contrasts.rows import ContrastRow, read_rows

LONGEST = 300
"""Characters of a phrase and its span together; long ones take the most time and teach least."""


def main() -> None:
    """Read rows, compare their wordings, fit the network and write its weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=16_000)
    parser.add_argument("--model", default=None)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = list(read_rows(options.contrasts))
    Random(options.seed).shuffle(rows)  # noqa: S311
    rows = [row for row in rows[: options.rows] if _length(row) < LONGEST]
    encoder = SpanEncoder(options.model)
    features = features_of(encoder, rows, lambda done: print(f"{done:,} rows", flush=True))
    provenance = f"{len(rows):,} made contrasts of {options.contrasts.name}"
    says = [row.says for row in rows]
    fit_alignment(features, says, encoder.card.encoder_id, provenance, seed=options.seed).save(
        options.out
    )
    print(f"{options.out}: fitted to {provenance}")


def _length(row: ContrastRow) -> int:
    return len(row.phrase) + row.end - row.start


if __name__ == "__main__":
    main()
