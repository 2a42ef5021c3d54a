"""How far two readers agree on which hits say the phrase.

    python benchmarks/reader_agreement.py

A second reader read 400 of the labelled hits of benchmarks/natural again, 100 of each kind drawn by
chance, in another order and without the first reader's labels or any score. Pairs that either
reader left open are left out; one more kappa takes them for "not right". Kappas are Cohen's, with
the 2.5th and 97.5th percentile of 1,000 resamples of the pairs. Taken as a system, with the other
as the truth, a reader's precision and recall bound what a verifier can show on these hits. It is an
upper bound: both read by one written rule and nobody checked that they judge independently, and
most of the hits are far from the phrase. Prints JSON, and saves it to benchmarks/results/.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from natural_hits import KINDS, LABELS

SEED = 5
RESAMPLES = 1_000
RESULT = Path(__file__).parent / "results" / "reader_agreement.json"


def labels(name: str) -> dict[tuple[Any, ...], bool | None]:
    """What a file of benchmarks/natural says of each hit."""
    lines = (LABELS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    return {
        tuple(row[key] for key in ("phrase", "doc_id", "start", "end")): row["right"]
        for row in rows
    }


def kappa(pairs: np.ndarray) -> np.ndarray:
    """Cohen's kappa of ``(..., n, 2)`` pairs of yes and no; nan where chance alone would agree."""
    agreed = (pairs[..., 0] == pairs[..., 1]).mean(-1)
    first, second = np.moveaxis(pairs.mean(-2), -1, 0)
    chance = first * second + (1 - first) * (1 - second)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((agreed - chance) / (1 - chance))


def agreement(read: list[tuple[bool | None, bool | None]]) -> dict[str, Any]:
    """Measures of pairs of labels, the first reader's before the second's."""
    pairs = np.array([pair for pair in read if None not in pair], bool)
    first, second = pairs.T
    both = int((first & second).sum())
    drawn = np.random.default_rng(SEED).integers(len(pairs), size=(RESAMPLES, len(pairs)))
    low, high = np.nanpercentile(kappa(pairs[drawn]), (2.5, 97.5))
    return {
        "pairs": len(pairs),
        "left out, open to a reader": len(read) - len(pairs),
        "right to both": both,
        "right to the first alone": int((first & ~second).sum()),
        "right to the second alone": int((second & ~first).sum()),
        "agreement": round(float((first == second).mean()), 4),
        "kappa": round(float(kappa(pairs)), 4),
        "kappa, open taken for not right": round(float(kappa(np.array(read).astype(bool))), 4),
        "kappa, 95 %": [round(float(low), 4), round(float(high), 4)],
        # Each reader's precision is the other's recall.
        "second against first": {
            "precision": round(both / int(second.sum()), 4),
            "recall": round(both / int(first.sum()), 4),
        },
    }


def main() -> None:
    """Print and save how far the readers agree, by kind of text and in all."""
    second = labels("second_reader")
    read = {
        kind: [(label, second[hit]) for hit, label in labels(kind).items() if hit in second]
        for kind in KINDS
    }
    measured = {kind: agreement(pairs) for kind, pairs in read.items()}
    measured["all"] = agreement([pair for pairs in read.values() for pair in pairs])
    text = json.dumps(measured, indent=1)
    RESULT.write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
