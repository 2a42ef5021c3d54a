"""Fit the decision of the bundled verifier, and measure it on kinds of text that are left out.

    python benchmarks/verifier_fitting.py --data ../shared/data --read FOLDER [--kind NAME ...]
        [--every N] [--trained RUN | --write]

FOLDER keeps what the network and the words say of each set, which is made if it is missing. The
decision is fitted to hits that people labelled, by maximum likelihood, each set with its weight:

- natural hits (benchmarks/natural) of the kinds in FITTED, whose texts are free for that;
- hits that were read (recipes/labelled), of the phrases that the network has not learned from, each
  corpus with a fifth of the weight of a kind;
- written wordings of such phrases (recipes/written), and the pairs of development.jsonl.

The similarity alone is fitted to the hits, since no cosine tells contrasts; then the table to
all. It rises with the network, and is smooth by a penalty of second differences.

A kind of FITTED is measured by a fit without it and what is of its texts, any other one, and the
pairs of benchmarks/contrasts, by the fit to all sets. For each: AUC, nDCG@10 over labelled hits,
the expected calibration error, and precision and recall at a probability of .5. --write writes the
bundled decision. --trained measures another network in its place, such as a teacher that is not
exported: RUN is the folder torch of recipes/verifier.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random

import numpy as np
import orjson
from natural_hits import BLIND, FOURTH, KINDS, LAST, LATER, THIRD, found, labels_of
from scipy.optimize import minimize

from recipes.read_contrasts import DEVELOPMENT, benchmark_phrases
from recipes.verifier_parts.builder import HASHES
from recipes.verifier_parts.odds import Reads, bundled_odds
from recipes.verifier_parts.read_hits import labelled_rows
from recipes.verifier_parts.written import written_rows
from slice_os import Hit, SpanEncoder
from slice_os.arrays import Float64Array
from slice_os.datasets.decontamination import read_hashes, sentence_hash
from slice_os.evaluation.calibration import expected_calibration_error
from slice_os.evaluation.contrasts import read_pairs
from slice_os.evaluation.measures import ranks
from slice_os.verifier.claims import Claim, claim_in, claim_of
from slice_os.verifier.decision import DECISION, Decision, log_odds, place, read_decision
from slice_os.verifier.similarity import SimilarityReader, numbers_of

FITTED = ("contracts", "dialogues", "everyday", "support", "bookings", "reviews", "stories")
ALL = (*KINDS, *BLIND, *LATER, *LAST, *THIRD, *FOURTH)
# Sets whose texts are of the corpus of a kind.
SAME = {
    "contracts": ("read-contracts", "read-nda"),
    "dialogues": ("read-dialogues",),
    "everyday": ("read-web",),
    "support": ("bookings", "read-calls"),
    "bookings": ("support", "read-calls"),
    "reviews": ("read-opinions", "read-reviews"),
    "stories": ("read-novels",),
}
WRITTEN = ("written", "development")
READ_WEIGHT, SMOOTH = 0.2, 1e-3
ROWS, COLUMNS = 8, 6
PAGE = 10
DISCOUNTS = 1 / np.log2(np.arange(2, PAGE + 2))
PAIRS = Path(__file__).parent / "contrasts"
RESULT = Path(__file__).parent / "results" / "verifier_fitting.json"


@dataclass(frozen=True, slots=True)
class Told:
    """Claims, and what network and words say of them.

    Attributes:
        phrase: ``(n,)`` numbers of phrases.
        right: ``(n,)`` 1 or 0.
        prior: ``(n,)`` log-odds that the calibration of the encoder gives to the cosine.
        read: ``(n,)`` log-odds of the network.
        numbers: ``(n, n_numbers)`` of the similarity.
    """

    phrase: Float64Array
    right: Float64Array
    prior: Float64Array
    read: Float64Array
    numbers: Float64Array


def told(claims: Sequence[tuple[Claim, bool]], encoder: SpanEncoder, reads: Reads) -> Told:
    """What network and words say of claims, given whether they hold."""
    own = [claim for claim, _ in claims]
    order = {phrase: n for n, phrase in enumerate(dict.fromkeys(one.phrase for one in own))}
    read = reads(own)
    return Told(
        np.array([order[claim.phrase] for claim in own], dtype=np.float64),
        np.array([right for _, right in claims], dtype=np.float64),
        np.array([log_odds(claim.prior or 0.0) for claim in own]),
        np.array(read),
        numbers_of(SimilarityReader(encoder).read(own)),
    )


def natural_hits(kind: str, data: Path, encoder: SpanEncoder) -> Iterator[tuple[Hit, bool]]:
    """The hits of a kind that people labelled, and whether they are right."""
    labels = labels_of(kind)
    for phrase, hits in found(kind, list(dict.fromkeys(key[0] for key in labels)), data, encoder):
        for hit in hits:
            own = hit.span or hit
            right = labels.get((phrase, hit.doc_id, own.start, own.end))
            if right is not None:
                yield hit, right


def development(data: Path) -> dict[str, list[tuple[Claim, bool]]]:
    """Hits that were read, by corpus, and written wordings, of phrases not trained on."""
    phrases = set(DEVELOPMENT.read_text(encoding="utf-8").splitlines())
    apart = read_hashes(data / HASHES).hashes | set(map(sentence_hash, benchmark_phrases()))
    sets: dict[str, list[tuple[Claim, bool]]] = {}
    for row in (*written_rows(Random(1)), *labelled_rows(data)):
        said = row.text[row.start : row.end]
        if row.phrase in phrases and not apart & set(
            map(sentence_hash, (row.phrase, row.text, said))
        ):
            name = row.source if row.source.startswith("read-") else "written"
            claim = claim_in(row.phrase, row.text, row.start, row.end)
            sets.setdefault(name, []).append((claim, row.says))
    return sets


def pairs(path: Path, every: int) -> list[tuple[Claim, bool]]:
    """The claims of pairs, one in ``every`` of them; first all that say their phrase."""
    rows = read_pairs(path)[::every]
    return [(pair.says, True) for pair in rows] + [(pair.contrast, False) for pair in rows]


def kept(
    folder: Path, data: Path, kinds: Sequence[str], every: int, encoder: SpanEncoder, reads: Reads
) -> dict[str, Told]:
    """All sets by name, as a folder keeps them; made if they are missing.

    Of development rows and pairs, one in ``every``.
    """

    def keep(name: str, claims: Sequence[tuple[Claim, bool]]) -> None:
        one = told(claims, encoder, reads)
        np.savez(folder / f"{name}.npz", **{f.name: getattr(one, f.name) for f in fields(Told)})
        print(f"{name}: {len(claims):,} claims, {one.right.sum():.0f} right", flush=True)

    def missing(name: str) -> bool:
        return not (folder / f"{name}.npz").exists()

    folder.mkdir(parents=True, exist_ok=True)
    for kind in filter(missing, kinds):
        hits = natural_hits(kind, data, encoder)
        keep(kind, [(claim_of(hit), right) for hit, right in hits])
    if missing("written"):
        for name, claims in sorted(development(data).items()):  # that one is the last
            keep(name, claims[::every])
    for path in PAIRS.glob("*.jsonl"):
        if missing(path.stem):
            keep(path.stem, pairs(path, every))
    result = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            result[path.stem] = Told(**arrays)
    return result


def learned(sets: Mapping[str, Told], without: str = "") -> dict[str, float]:
    """The weight of each set that is fitted to, without one kind and what is of its texts."""
    apart = {without, *SAME.get(without, ())}
    weights = {
        name: READ_WEIGHT if name.startswith("read-") else 1.0
        for name in sets
        if name in (*FITTED, *WRITTEN) or name.startswith("read-")
    }
    return {name: weight for name, weight in weights.items() if name not in apart}


def fit(sets: Mapping[str, Told], weights: Mapping[str, float], encoder_id: str) -> Decision:
    """Fit a decision to sets, each with its weight."""
    hits = {name: weight for name, weight in weights.items() if name not in WRITTEN}
    numbers, right, share = joined(sets, hits)[1:]
    mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
    columns = np.column_stack([(numbers - mean) / scale, np.ones(len(numbers))])
    found = minimized(columns, right, share)
    similarity = np.append(found[:-1] / scale, found[-1] - (found[:-1] * mean / scale).sum())
    read, numbers, right, share = joined(sets, weights)
    by_words = numbers @ similarity[:-1] + similarity[-1]
    rows = np.linspace(log_odds(0), log_odds(1), ROWS)
    cells = np.quantile(by_words, np.linspace(0.01, 0.99, COLUMNS))
    rises = rising()
    spread = (hat(rows, read)[:, :, None] * hat(cells, by_words)[:, None, :]).reshape(
        -1, ROWS * COLUMNS
    ) @ rises
    steps = minimized(spread, right, share, curves() @ rises, SMOOTH)
    # Steps that are not negative raise columns; along rows, only the first is sure to rise.
    table = np.maximum.accumulate((rises @ steps).reshape(ROWS, COLUMNS), axis=1)
    claims = sum(len(sets[name].right) for name in weights)
    return Decision(
        encoder_id,
        rounded(similarity),
        rounded(rows),
        rounded(cells),
        tuple(map(rounded, table)),
        read_decision().named,  # benchmarks/short_phrases.py fits it
        tuple(sorted(weights)),
        f"{claims:,} claims; benchmarks/verifier_fitting.py",
    )


def joined(sets: Mapping[str, Told], weights: Mapping[str, float]) -> tuple[Float64Array, ...]:
    """What the network says, numbers, labels and the weight of each claim, on average 1."""
    some = [sets[name] for name in weights]
    share = [
        np.full(len(one.right), weight / len(one.right))
        for one, weight in zip(some, weights.values(), strict=True)
    ]
    every = np.concatenate(share)
    return (
        np.concatenate([one.read for one in some]),
        np.concatenate([one.numbers for one in some]),
        np.concatenate([one.right for one in some]),
        every / every.mean(),
    )


def minimized(
    columns: Float64Array,
    right: Float64Array,
    share: Float64Array,
    penalised: Float64Array | None = None,
    penalty: float = 0.0,
) -> Float64Array:
    """Weights of columns by a logistic regression, whose loss is convex.

    With a penalty, of the squares of some sums of weights, all weights but the first are not
    negative.
    """
    sums = np.zeros((0, columns.shape[1])) if penalised is None else penalised

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        odds, curved = columns @ weights, sums @ weights
        value = (share * (np.logaddexp(0, odds) - right * odds)).mean() + penalty * curved @ curved
        slope = share * (1 / (1 + np.exp(-odds)) - right) / len(right)
        return float(value), columns.T @ slope + 2 * penalty * sums.T @ curved

    bounds = [(None, None)] + [(None if penalised is None else 0, None)] * (columns.shape[1] - 1)
    options = {"maxiter": 2_000, "maxfun": 100_000}
    start = np.zeros(columns.shape[1])
    best: Float64Array = minimize(loss, start, jac=True, bounds=bounds, options=options).x
    return best


def hat(grid: Float64Array, values: Float64Array) -> Float64Array:
    """``(n, n_grid)`` shares of the places of a grid in values between them."""
    shares = np.zeros((len(values), len(grid)))
    for row, value in enumerate(values.tolist()):
        cell, part = place(grid.tolist(), value)
        shares[row, cell], shares[row, cell + 1] = 1 - part, part
    return shares


def rising() -> Float64Array:
    """From steps to a table: the first row rises by its steps, each column by its own."""
    steps = np.eye(ROWS * COLUMNS).reshape(ROWS, COLUMNS, -1)
    steps[0] = steps[0].cumsum(axis=0)
    table: Float64Array = steps.cumsum(axis=0).reshape(ROWS * COLUMNS, -1)
    return table


def curves() -> Float64Array:
    """From a table to its second differences, along rows, along columns and across."""
    cells = np.eye(ROWS * COLUMNS).reshape(ROWS, COLUMNS, -1)
    across = np.diff(np.diff(cells, axis=0), axis=1)
    along = (np.diff(cells, 2, axis=0), np.diff(cells, 2, axis=1), across)
    return np.concatenate([one.reshape(-1, ROWS * COLUMNS) for one in along])


def rounded(values: Float64Array) -> tuple[float, ...]:
    """Numbers as a file has them."""
    return tuple(round(value, 4) for value in values.tolist())


def decided(decision: Decision, one: Told) -> Float64Array:
    """``(n,)`` log-odds of claims by a decision."""
    near = decision.nearness(one.numbers).tolist()
    return np.array(
        [decision.together(*both) for both in zip(one.read.tolist(), near, strict=True)]
    )


def measured(one: Told, decision: Decision) -> dict[str, dict[str, float]]:
    """Measures of each way to say how likely claims are."""
    ways = {
        "cosine": one.prior,
        "similarity": decision.nearness(one.numbers),
        "network": one.read,
        "together": decided(decision, one),
    }
    return {
        name: {**measures(1 / (1 + np.exp(-odds)), one.right), "ndcg": ndcg(one, odds)}
        for name, odds in ways.items()
    }


def measures(values: Float64Array, right: Float64Array) -> dict[str, float]:
    """Calibration error, Brier score, AUC, and precision and recall from probability .5 on."""
    shown = values >= 0.5
    return {
        "ece": round(expected_calibration_error(values, right), 4),
        "brier": round(float(np.mean((values - right) ** 2)), 4),
        "auc": round(auc(values, right), 4),
        "precision": round(float(right[shown].mean()), 4) if shown.any() else 0.0,
        "recall": round(float(right[shown].sum() / right.sum()), 4),
    }


def auc(values: Float64Array, right: Float64Array) -> float:
    """The share of pairs in which the right hit has a higher value than the wrong one."""
    n = int(right.sum())
    total = float(ranks(values)[right > 0].sum())
    return (total - n * (n + 1) / 2) / (n * (len(right) - n))


def ndcg(one: Told, odds: Float64Array) -> float:
    """nDCG@10 over the hits of each phrase that has right and wrong ones."""
    values = []
    for phrase in np.unique(one.phrase):
        own = one.phrase == phrase
        right = one.right[own]
        if 0 < right.sum() < len(right):
            values.append(gained(right[np.argsort(-odds[own], kind="stable")]))
    return round(float(np.mean(values)), 4)


def gained(gains: Float64Array) -> float:
    """nDCG@10 of gains in order; 1 if there is none."""
    shown, best = gains[:PAGE], np.sort(gains)[::-1][:PAGE]
    ideal = float(best @ DISCOUNTS[: len(best)])
    return float(shown @ DISCOUNTS[: len(shown)]) / ideal if ideal else 1.0


def in_order(one: Told, odds: Float64Array) -> dict[str, float]:
    """How pairs come out: in order, and which side is likely."""
    says, contrast = odds[one.right > 0], odds[one.right == 0]
    shares = {
        "in order": says > contrast,
        "says, likely": says >= 0,
        "contrast, likely": contrast >= 0,
    }
    return {name: round(float(np.mean(share)), 3) for name, share in shares.items()}


def main() -> None:
    """Read what is missing, fit, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--read", type=Path, required=True)
    parser.add_argument("--kind", action="append", choices=ALL, help="repeatable; all if none")
    parser.add_argument("--every", type=int, default=1, help="of claims that are no natural hits")
    parser.add_argument("--trained", type=Path, help="a run, in place of the bundled network")
    parser.add_argument("--write", action="store_true", help="as the bundled decision")
    chosen = parser.parse_args()
    part = bool(chosen.kind or chosen.trained) or chosen.every > 1
    if part and chosen.write:
        parser.error("--write needs all sets: leave out --kind, --every and --trained")
    encoder = SpanEncoder()
    if chosen.trained:
        from recipes.verifier_parts.claim_network import trained_odds

        reads = trained_odds(chosen.trained)
    else:
        reads = bundled_odds()
    sets = kept(chosen.read, chosen.data, chosen.kind or ALL, chosen.every, encoder, reads)
    own = encoder.card.encoder_id
    decision = fit(sets, learned(sets), own)
    result: dict[str, object] = {}
    by_kind = {}
    for kind in filter(sets.__contains__, ALL):
        fits = kind in FITTED
        used = fit(sets, learned(sets, kind), own) if fits else decision
        by_kind[kind] = measured(sets[kind], used)
        result[kind] = {"fitted to others": fits, **counted(sets[kind]), **by_kind[kind]}
    for name, some in (("fitted, left out", FITTED), ("never fitted", set(ALL) - set(FITTED))):
        means = [by_kind[kind] for kind in by_kind if kind in some]
        if means:
            result[f"mean of kinds {name}"] = {
                way: {
                    key: round(float(np.mean([one[way][key] for one in means])), 4)
                    for key in means[0][way]
                }
                for way in means[0]
            }
    result["pairs"] = {
        path.stem: in_order(sets[path.stem], decided(decision, sets[path.stem]))
        for path in sorted(PAIRS.glob("*.jsonl"))
    }
    print(json.dumps(result, indent=1))
    if not part:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if chosen.write:
        DECISION.write_bytes(orjson.dumps(decision, option=orjson.OPT_APPEND_NEWLINE))


def counted(one: Told) -> dict[str, int]:
    """How many hits there are."""
    return {"hits": len(one.right), "right": int(one.right.sum())}


if __name__ == "__main__":
    main()
