"""Rules or none, and a level that carries over: network and wording weighed, by kind left out.

    python benchmarks/verifier_levels.py --data ../shared/data --read FOLDER [--kind NAME ...]

The labelled hits of benchmarks/natural, all kinds, and the first hits of their phrases without
labels; FOLDER keeps what network and wording say of them, which is made if it is missing. Each way
is a logistic regression that is fitted to the other kinds, each with the same weight, and measured
on the one that is left out. The bundled wording has seen hits of SEEN, so means without these are
given, too.

Which evidence: the network; with the cosine; with the cosine and the similarities of words, which
need no rule of English; with the wording as it is bundled; with both. The similarities also in
boosted trees (scikit-learn), which never hold a hit less likely if the network holds it likelier.
`differences` are of the mean AUC and nDCG@10 with wording beyond those with similarities, with
their intervals, phrases drawn again within each kind. And the pairs of benchmarks/contrasts, fitted
to all kinds. Each is fitted to hits alone, and to hits and the development pairs, which weigh as
much as written sets do in the bundled fit.

Which level, all of network and wording: the bundled weights; fitted to the other kinds; also with
what the search tells, which is the best hit's log-odds among the first DEPTH of the phrase, how far
the hit is behind it, and how many are likelier than not; and with the share of right hits estimated
by expectation and maximization from the scores alone (Saerens and others 2002), of a kind's hits or
of the first ten of a phrase.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from natural_hits import BLIND, FOURTH, KINDS, LABELS, LAST, LATER, THIRD, found
from sklearn.ensemble import HistGradientBoostingClassifier
from verifier_calibration import TRAINED as SEEN
from verifier_calibration import WRITTEN, auc, logistic_regression, measures

from slice_os import SpanEncoder
from slice_os.arrays import Float64Array, FloatArray
from slice_os.evaluation.calibration import expected_calibration_error
from slice_os.evaluation.contrasts import read_pairs
from slice_os.verifier.bundled import NETWORK, WEIGHTS, log_odds
from slice_os.verifier.claims import Claim, claim_of
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.wording.comparison import SIMILARITIES, compare_wording
from slice_os.verifier.wording.reading import ClaimReader
from slice_os.verifier.wording.verifier import logistic, read_weights

ALL = (*KINDS, *BLIND, *LATER, *LAST, *THIRD, *FOURTH)
DEPTH, PAGE, ROUNDS, DRAWS = 50, 10, 200, 500
PAIRS = Path(__file__).parent / "contrasts"
RESULT = Path(__file__).parent / "results" / "verifier_levels.json"


@dataclass(frozen=True, slots=True)
class Read:
    """What is known of the first hits of some phrases, and of those that have a label.

    Attributes:
        phrase: ``(n,)`` numbers of phrases.
        rank: ``(n,)`` ranks, from 0.
        right: ``(n,)`` 1 or 0; not a number without a label.
        odds: ``(n,)`` log-odds of the network.
        prior: ``(n,)`` probabilities by the cosine.
        features: ``(n, n_features)`` of the wording.
    """

    phrase: FloatArray
    rank: FloatArray
    right: Float64Array
    odds: Float64Array
    prior: Float64Array
    features: FloatArray

    @property
    def labelled(self) -> np.ndarray:
        """``(n,)`` whether a hit has a label."""
        return ~np.isnan(self.right)

    @property
    def wording(self) -> Float64Array:
        """``(n,)`` log-odds of the bundled wording."""
        weights = read_weights()
        about = logistic(weights.aboutness(self.features, self.prior))
        said = logistic(weights.agreement(self.features)) * about
        return np.array(list(map(log_odds, said)))


def read(kind: str, data: Path, encoder: SpanEncoder) -> Read:
    """Search the phrases of a kind, and read their first hits and those with a label."""
    lines = (LABELS / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    labels = {
        (row["phrase"], row["doc_id"], row["start"], row["end"]): row["right"] for row in rows
    }
    phrases = list(dict.fromkeys(row["phrase"] for row in rows))
    claims: list[Claim] = []
    known: list[tuple[float, float, float]] = []
    for number, (phrase, hits) in enumerate(found(kind, phrases, data, encoder)):
        for rank, hit in enumerate(hits):
            own = hit.span or hit
            right = labels.get((phrase, hit.doc_id, own.start, own.end))
            if rank < DEPTH or right is not None:
                claims.append(claim_of(hit))
                known.append((number, rank, np.nan if right is None else right))
    return told(claims, known, encoder)


def told(
    claims: Sequence[Claim], known: Sequence[tuple[float, float, float]], encoder: SpanEncoder
) -> Read:
    """What network and wording say of claims; ``known`` are phrase, rank and label of each."""
    odds = [log_odds(one.probability) for one in CrossEncoderVerifier(NETWORK).check(claims)]
    readings = ClaimReader(encoder).read(claims)
    features = np.array([compare_wording(one).features for one in readings])
    prior = np.array([one.prior for one in readings])
    phrase, rank, right = np.array(known).T
    return Read(phrase, rank, right, np.array(odds), prior, features)


def kept(kind: str, folder: Path, data: Path, encoder: SpanEncoder) -> Read:
    """What a folder keeps of a kind; made if it is missing."""
    path = folder / f"{kind}.npz"
    if not path.exists():
        one = read(kind, data, encoder)
        np.savez_compressed(path, **{name: getattr(one, name) for name in Read.__slots__})
        print(f"{kind}: {len(one.right):,} hits", flush=True)
    with np.load(path) as arrays:
        return Read(**arrays)


def cosines(one: Read) -> Float64Array:
    """``(n, 1)`` log-odds by the cosine."""
    return np.array([[log_odds(value)] for value in one.prior])


def similarities(one: Read) -> Float64Array:
    """``(n, n_similarities + 1)`` how near words and vectors are."""
    return np.hstack([cosines(one), one.features[:, : len(SIMILARITIES)]])


def searched(one: Read) -> Float64Array:
    """``(n, 4)`` the wording, and what the search tells about its other hits."""
    network, wording, constant = WEIGHTS
    odds = network * one.odds + wording * one.wording + constant
    columns = np.zeros((len(odds), 3))
    for phrase in np.unique(one.phrase):
        own = one.phrase == phrase
        first = odds[own & (one.rank < DEPTH)]
        columns[own] = np.column_stack(
            [
                np.full(own.sum(), first.max()),
                first.max() - odds[own],
                np.full(own.sum(), np.log1p((first >= 0).sum())),
            ]
        )
    return np.column_stack([one.wording, columns])


Evidence = Callable[[Read], Float64Array]
Sets = Sequence[tuple[Float64Array, Float64Array]]
Fit = Callable[[Sets, Sequence[float]], Callable[[Float64Array], Float64Array]]


def linear(sets: Sets, counts: Sequence[float]) -> Callable[[Float64Array], Float64Array]:
    """Log-odds of rows by a logistic regression on sets, each with its weight."""
    weights = logistic_regression(sets, counts)
    return lambda rows: rows @ weights


def trees(sets: Sets, counts: Sequence[float]) -> Callable[[Float64Array], Float64Array]:
    """Log-odds of rows by boosted trees, which rise with the first column, that of the network."""
    rows, right = (np.concatenate(part) for part in zip(*sets, strict=True))
    weights = [
        np.full(len(own), count / len(own)) for (_, own), count in zip(sets, counts, strict=True)
    ]
    rising = [1] + [0] * (rows.shape[1] - 1)
    model = HistGradientBoostingClassifier(
        max_depth=3,
        min_samples_leaf=30,
        max_iter=150,
        learning_rate=0.05,
        l2_regularization=1.0,
        monotonic_cst=rising,
        random_state=0,
    )
    every = np.concatenate(weights)
    return model.fit(rows, right, sample_weight=every / every.mean()).decision_function  # type: ignore[no-any-return]


EVIDENCE: Mapping[str, tuple[Evidence, Fit]] = {
    "network": (lambda one: np.zeros((len(one.odds), 0)), linear),
    "and cosine": (cosines, linear),
    "and similarities": (similarities, linear),
    "and similarities, in trees": (similarities, trees),
    "and wording": (lambda one: one.wording[:, None], linear),
    "and both": (lambda one: np.column_stack([similarities(one), one.wording]), linear),
}
WITHOUT_RULES = ("and similarities", "and similarities, in trees")


def left_out(
    reads: Mapping[str, Read],
    evidence: Evidence,
    written: Read | None = None,
    kinds: Iterable[str] = (),
    fit: Fit = linear,
) -> dict[str, Float64Array]:
    """Log-odds of each kind's hits, fitted to the labelled ones of the others, and to pairs."""
    result = {}
    for kind in kinds or reads:
        others = [one for other, one in reads.items() if other != kind]
        counts = [1.0] * len(others)
        if written is not None:
            others.append(written)
            counts.append(WRITTEN * len(others) / len(SEEN))
        columns = [columns_of(one, evidence)[one.labelled] for one in others]
        rows = np.vstack(columns)
        mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
        mean[-1], scale[-1] = 0, 1
        sets = [
            ((some - mean) / scale, one.right[one.labelled])
            for some, one in zip(columns, others, strict=True)
        ]
        told_by = fit(sets, counts)
        result[kind] = told_by((columns_of(reads[kind], evidence) - mean) / scale)
    return result


def columns_of(one: Read, evidence: Evidence) -> Float64Array:
    """``(n, k)`` log-odds of the network, evidence, and ones."""
    return np.column_stack([one.odds, evidence(one), np.ones(len(one.odds))])


def shares(reads: Mapping[str, Read]) -> dict[str, float]:
    """The share of right hits that a fit without a kind has seen, each kind counted once."""
    own = {kind: one.right[one.labelled].mean() for kind, one in reads.items()}
    return {kind: float(np.mean([own[o] for o in own if o != kind])) for kind in own}


def adjusted(odds: Float64Array, seen: Float64Array, share: float) -> Float64Array:
    """Log-odds for the share of right hits that the ``seen`` ones have, by their odds alone."""
    now = share
    for _ in range(ROUNDS):
        now = float(np.clip(logistic(seen + _shift(share, now)).mean(), 0.01, 0.99))
    return odds + _shift(share, now)


def _shift(share: float, now: float) -> float:
    return log_odds(now) - log_odds(share)


def by_phrase(one: Read, odds: Float64Array, share: float) -> Float64Array:
    """Log-odds, adjusted for each phrase by its first page."""
    result = np.zeros(len(odds))
    for phrase in np.unique(one.phrase):
        own = one.phrase == phrase
        result[own] = adjusted(odds[own], odds[own & (one.rank < PAGE)], share)
    return result


def gains(one: Read, odds: Float64Array) -> dict[int, float]:
    """nDCG@10 over the labelled hits of each phrase that has right and wrong ones."""
    discounts = 1 / np.log2(np.arange(2, PAGE + 2))
    result = {}
    for phrase in np.unique(one.phrase):
        own = (one.phrase == phrase) & one.labelled
        right = one.right[own]
        if 0 < right.sum() < len(right):
            ordered, best = right[np.argsort(-odds[own], kind="stable")], np.sort(right)[::-1]
            dcg, ideal = (
                float((some[:PAGE] * discounts[: len(some)]).sum()) for some in (ordered, best)
            )
            result[int(phrase)] = dcg / ideal
    return result


def orders(reads: Mapping[str, Read], odds: Mapping[str, Float64Array]) -> dict[str, object]:
    """AUC and nDCG@10 of each kind, and their means over all, and over those not seen."""
    result: dict[str, object] = {}
    values = {kind: order(one, odds[kind]) for kind, one in reads.items()}
    result |= {kind: [round(value, 3) for value in both] for kind, both in values.items()}
    for name, some in (("mean", reads), ("mean of unseen", reads.keys() - set(SEEN))):
        result[name] = np.mean([values[kind] for kind in some], axis=0).round(4).tolist()
    return result


def order(one: Read, odds: Float64Array) -> tuple[float, float]:
    """AUC and nDCG@10."""
    said = one.labelled
    return auc(odds[said], one.right[said]), float(np.mean(list(gains(one, odds).values())))


def drawn(one: Read, choose: np.random.Generator) -> np.ndarray:
    """Rows of phrases that are drawn again, some of them right."""
    numbers = np.unique(one.phrase)
    while True:
        chosen = choose.choice(numbers, len(numbers))
        rows = [np.flatnonzero((one.phrase == n) & one.labelled) for n in chosen]
        if one.right[np.concatenate(rows)].any():
            return np.concatenate(rows)


def difference(
    reads: Mapping[str, Read], first: Mapping[str, Float64Array], other: Mapping[str, Float64Array]
) -> dict[str, list[float]]:
    """Mean AUC and nDCG@10 of the first beyond the other, with 95 % intervals."""
    choose = np.random.default_rng(1)
    unseen = [kind for kind in reads if kind not in SEEN]
    ndcg = {kind: [gains(reads[kind], odds[kind]) for odds in (first, other)] for kind in unseen}
    draws = []
    for _ in range(DRAWS):
        areas, means = [], []
        for kind in unseen:
            rows = drawn(reads[kind], choose)
            right = reads[kind].right[rows]
            areas.append(auc(first[kind][rows], right) - auc(other[kind][rows], right))
            one, another = ndcg[kind]
            some = choose.choice(list(one), len(one))
            means.append(np.mean([one[n] - another[n] for n in some]))
        draws.append((np.mean(areas), np.mean(means)))
    low, middle, high = np.percentile(draws, (2.5, 50, 97.5), axis=0)
    return {
        name: [round(float(edge[at]), 4) for edge in (middle, low, high)]
        for at, name in enumerate(("auc", "ndcg"))
    }


def paired(
    reads: Mapping[str, Read],
    evidence: Evidence,
    claims: Mapping[str, Read],
    written: Read | None,
    fit: Fit,
) -> dict[str, dict[str, float]]:
    """How the claims of pairs come out if all natural hits are fitted to."""
    result = {}
    for name, one in claims.items():
        odds = left_out({**reads, name: one}, evidence, written, [name], fit)[name]
        says, contrast = odds[one.right > 0], odds[one.right == 0]
        shares = {
            "in order": says > contrast,
            "says, likely": says >= 0,
            "contrast, likely": contrast >= 0,
        }
        result[name] = {key: round(float(np.mean(share)), 3) for key, share in shares.items()}
    return result


def pairs(path: Path, encoder: SpanEncoder) -> Read:
    """What is known of the claims of pairs, those that say their phrase first."""
    rows = read_pairs(path)
    claims = [pair.says for pair in rows] + [pair.contrast for pair in rows]
    known = [(place % len(rows), 0, place < len(rows)) for place in range(len(claims))]
    return told(claims, known, encoder)


def levels(reads: Mapping[str, Read]) -> Iterator[tuple[str, dict[str, Float64Array]]]:
    """Log-odds of each kind's hits by each way to set their level."""
    network, wording, constant = WEIGHTS
    share = shares(reads)
    yield (
        "bundled",
        {
            kind: network * one.odds + wording * one.wording + constant
            for kind, one in reads.items()
        },
    )
    fitted = left_out(reads, EVIDENCE["and wording"][0])
    yield "other kinds", fitted
    yield "and the search", left_out(reads, searched)
    yield (
        "share of a kind",
        {
            kind: adjusted(fitted[kind], fitted[kind][one.labelled], share[kind])
            for kind, one in reads.items()
        },
    )
    yield (
        "share of a phrase",
        {kind: by_phrase(one, fitted[kind], share[kind]) for kind, one in reads.items()},
    )


def level(one: Read, odds: Float64Array) -> dict[str, float]:
    """Measures of probabilities, and what an ECE would be by chance alone if they held."""
    values, right = logistic(odds[one.labelled]), one.right[one.labelled]
    choose = np.random.default_rng(1)
    chance = [
        expected_calibration_error(values, (choose.random(len(values)) < values).astype(float))
        for _ in range(50)
    ]
    return {**measures(values, right), "by chance": round(float(np.mean(chance)), 4)}


def main() -> None:
    """Read what is missing, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--read", type=Path, required=True)
    parser.add_argument("--kind", action="append", help="repeatable, two at least; all if none")
    chosen = parser.parse_args()
    chosen.read.mkdir(parents=True, exist_ok=True)
    encoder = SpanEncoder()
    reads = {kind: kept(kind, chosen.read, chosen.data, encoder) for kind in chosen.kind or ALL}
    claims = {path.stem: pairs(path, encoder) for path in sorted(PAIRS.glob("*.jsonl"))}
    result: dict[str, object] = {}
    for fit, written in (("hits", None), ("hits and pairs", claims["development"])):
        odds = {
            name: left_out(reads, evidence, written, fit=way)
            for name, (evidence, way) in EVIDENCE.items()
        }
        result[f"evidence, fitted to {fit}"] = {
            "hits": {name: orders(reads, one) for name, one in odds.items()},
            "differences": {
                name: difference(reads, odds["and wording"], odds[name]) for name in WITHOUT_RULES
            },
            "pairs": {
                name: paired(reads, evidence, claims, written, way)
                for name, (evidence, way) in EVIDENCE.items()
                if name != "and cosine"
            },
        }
    result |= {
        "level": {
            name: {kind: level(one, odds[kind]) for kind, one in reads.items()}
            for name, odds in levels(reads)
        },
    }
    print(json.dumps(result, indent=1))
    if not chosen.kind:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
