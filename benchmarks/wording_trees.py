"""Order natural hits by trees over the features of the wording, taught by the bundled verifier.

    python benchmarks/wording_trees.py HITS NATURAL

HITS has the readings of recipes/reader_hits.py and recipes/labelled_readings.py, NATURAL those of
benchmarks/reader_order.py. Boosted trees learn the bundled verifier's log-odds (its mean with the
label where a person has read the hit) from the features of the wording, the log-odds that the
cosine gives, and those of the wording: what ordering could gain without any network. Prints AUC and
nDCG@10 as benchmarks/reader_order.py does, over the natural hits, and over the labelled hits of
each kind with trees that have seen no hit of that kind, and none of its phrases. The bundled
network has learned from the labelled ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from reader_order import measures
from sklearn.ensemble import HistGradientBoostingRegressor

from recipes.verifier_parts.near_words import SPAN
from recipes.verifier_parts.vector_training import Group, goal, groups_of
from slice_os import Claim, SpanEncoder
from slice_os.arrays import unit_rows
from slice_os.verifier.bundled import log_odds
from slice_os.verifier.wording.comparison import compare_wording
from slice_os.verifier.wording.reading import ClaimReader
from slice_os.verifier.wording.verifier import logistic

TREES = {"max_iter": 150, "learning_rate": 0.06, "max_leaf_nodes": 15, "l2_regularization": 1.0}


def main() -> None:
    """Fit, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hits", type=Path)
    parser.add_argument("natural", type=Path)
    chosen = parser.parse_args()
    reader = ClaimReader(SpanEncoder())

    def sets(folder: Path) -> dict[str, tuple[list[Group], list[np.ndarray]]]:
        found = {path.stem: groups_of([path]) for path in sorted(folder.glob("*.npz"))}
        return {name: (some, features(reader, some)) for name, some in found.items()}

    taught, natural = sets(chosen.hits), sets(chosen.natural)
    every = [pair for groups, rows in taught.values() for pair in zip(groups, rows, strict=True)]
    trees = fitted(every)
    for name, (groups, rows) in natural.items():
        print(name, told(groups, rows, trees), flush=True)
    for name, (groups, rows) in taught.items():
        making, kind = name.split("-")
        if making == "labelled":
            phrases = {group.phrase for group in groups}
            others = [
                pair
                for other, some in taught.items()
                if other.split("-")[1] != kind
                for pair in zip(*some, strict=True)
                if pair[0].phrase not in phrases
            ]
            print(name, told(groups, rows, fitted(others)), flush=True)


def features(reader: ClaimReader, groups: Sequence[Group]) -> list[np.ndarray]:
    """``(n_hits, n_features)`` of the hits of each phrase, and log-odds of cosine and wording."""
    found = []
    for group in groups:
        one = group.readings
        claims = []
        for row in group.rows.tolist():
            first, last = one.their_ends[row - 1] if row else 0, one.their_ends[row]
            vectors = one.theirs[first:last][one.parts[first:last] == SPAN]
            phrase, text, start, end, before = one.texts[row]
            prior = float(logistic(np.array([one.prior[row]]))[0])
            known = unit_rows(vectors.astype(np.float32))
            numbers = prior, float(one.cosine[row]), known
            claims.append(Claim(phrase, text, start, end, *numbers, before))
        rows = np.array([compare_wording(reading).features for reading in reader.read(claims)])
        more = one.prior[group.rows], one.wording[group.rows]
        found.append(np.column_stack([rows, *more]).astype(np.float32))
    return found


def fitted(pairs: Sequence[tuple[Group, np.ndarray]]) -> HistGradientBoostingRegressor:
    """Trees that give the log-odds of hits by their features."""
    likely = logistic(np.concatenate([goal(group)[:, 0] for group, _ in pairs]).astype(np.float64))
    right = np.concatenate([group.readings.right[group.rows] for group, _ in pairs])
    taught = np.where(right >= 0, (likely + np.maximum(right, 0)) / 2, likely)
    odds = np.array(list(map(log_odds, taught.tolist())))
    return HistGradientBoostingRegressor(**TREES).fit(np.vstack([rows for _, rows in pairs]), odds)


def told(
    groups: Sequence[Group], rows: Sequence[np.ndarray], trees: HistGradientBoostingRegressor
) -> str:
    """Measures of each way to order hits, as text."""
    goals = list(map(goal, groups))
    scores = {
        "cosine": [group.readings.cosine[group.rows] for group in groups],
        "wording": [one[:, 2] for one in goals],
        "bundle": [one[:, 0] for one in goals],
        "trees": list(map(trees.predict, rows)),
    }
    found = measures(groups, scores)
    return ", ".join(f"{name} {one['auc']:.3f} {one['ndcg']:.3f}" for name, one in found.items())


if __name__ == "__main__":
    main()
