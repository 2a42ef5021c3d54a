"""How many hits must be read so that the likeliest come first?

    python benchmarks/reading_order.py --data ../shared/data [--texts N] [--phrases N]

Over each kind of text in recipes/labelled, phrases of that kind: the first fifty hits by score, all
read by the bundled verifier. A search reads only some of them, and orders these by what it reads;
which ones, the score could say, the wording alone, or an estimate of the verdict from wording and
cosine, fitted by least squares to the other kinds. Prints and saves, by the number of hits read,
the mean nDCG@10 of the kinds against the order of all fifty (a gain is a probability of .15 or
more); with none read, hits stay in the order of the first column. What is read of a hit depends on
nothing but the hit, so only the order is at stake.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from recipes.verifier_parts.read_hits import LABELLED, searched_texts
from slice_os import Corpus, Document, SpanEncoder
from slice_os.arrays import Float64Array
from slice_os.hits.bands import UNSURE_FROM
from slice_os.query.options import REFINED, SearchOptions
from slice_os.search.run import make_query, search
from slice_os.verifier.bundled import BundledVerifier, log_odds
from slice_os.verifier.claims import claim_of

KINDS = sorted(path.stem for path in LABELLED.glob("*.jsonl"))
WORDS, SHOWN = range(4, 400), 10
READ = (0, 10, 12, 15, 20, 25, 30, 40, 50)
SCORE, WORDING = np.array([0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
RESULT = Path(__file__).parent / "results" / "reading_order.json"


@dataclass(frozen=True)
class Found:
    """The hits of a phrase by score: features ``(n, 3)``, and ``(n,)`` log-odds of both parts."""

    features: Float64Array
    odds: Float64Array


def main() -> None:
    """Search, read, fit, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=1_000, help="of a kind")
    parser.add_argument("--phrases", type=int, default=12, help="of a kind")
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    verifier = BundledVerifier(encoder)
    kinds, began = {}, time.process_time()
    for kind in KINDS:
        rng = Random(kind)
        texts = sorted({one for one in searched_texts(chosen.data, kind) if fits(one)})
        phrases = rng.sample(phrases_of(kind), chosen.phrases)
        some = rng.sample(texts, min(len(texts), chosen.texts))
        kinds[kind] = found(encoder, verifier, some, phrases)
        print(f"{kind}: {sum(len(one.odds) for one in kinds[kind])} hits", flush=True)
    table: dict[str, dict[int, list[float]]] = {}
    for kind, own in kinds.items():
        weights = fitted([one for k, others in kinds.items() if k != kind for one in others])
        ways = {"score": SCORE, "wording": WORDING, "estimate": weights}
        for name, way in ways.items():
            row = table.setdefault(name, {read: [] for read in READ})
            for read, values in row.items():
                values.append(float(np.mean([gained(one, read, way) for one in own])))
    print(f"{'read':9}" + "".join(f"{read:8}" for read in READ))
    result = {n: {k: round(float(np.mean(v)), 3) for k, v in r.items()} for n, r in table.items()}
    for name, means in result.items():
        print(f"{name:9}" + "".join(f"{value:8.3f}" for value in means.values()))
    print(f"{time.process_time() - began:.0f} s of processor time")
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def gained(one: Found, read: int, way: Float64Array) -> float:
    """The nDCG@10 if the first hits by a way are read; 1 if no hit is likely."""
    order = np.argsort(-(one.features @ way), kind="stable")
    first = np.concatenate([sorted(order[:read], key=lambda place: -one.odds[place]), order[read:]])
    first = first[:SHOWN].astype(int)
    chances = 1 / (1 + np.exp(-one.odds))
    gains = np.where(chances >= UNSURE_FROM, chances, 0.0)
    discounts = 1 / np.log2(np.arange(2, SHOWN + 2))
    best = np.sort(gains)[::-1][:SHOWN]
    ideal = (best * discounts[: len(best)]).sum()
    return float((gains[first] * discounts[: len(first)]).sum() / ideal) if ideal else 1.0


def found(
    encoder: SpanEncoder, verifier: BundledVerifier, texts: list[str], phrases: list[str]
) -> list[Found]:
    """The hits of phrases over a store of texts."""
    results = []
    with TemporaryDirectory() as folder, Corpus(Path(folder) / "s", encoder) as corpus:
        corpus.add(Document(str(number), text) for number, text in enumerate(texts))
        for phrase in phrases:
            query = make_query(encoder, phrase, word_vectors=True)
            hits = search(corpus.store, query, SearchOptions(top_k=REFINED))
            claims = [claim_of(hit) for hit in hits]
            wording = [log_odds(one.probability) for one in verifier._wording.check(claims)]
            cosines = [hit.cosine for hit in hits]
            odds = [log_odds(one.probability) for one in verifier.check(claims)]
            features = np.column_stack([wording, cosines, np.ones(len(cosines))])
            results.append(Found(features, np.array(odds)))
    return results


def fitted(some: list[Found]) -> Float64Array:
    """Weights of the features, by least squares on the log-odds of both parts."""
    features = np.concatenate([one.features for one in some])
    odds = np.concatenate([one.odds for one in some])
    weights: Float64Array = np.linalg.lstsq(features, odds, rcond=None)[0]
    return weights


def fits(text: str) -> bool:
    """Whether a text is of ordinary length."""
    return len(text.split()) in WORDS


def phrases_of(kind: str) -> list[str]:
    """The phrases whose hits of that kind were labelled."""
    lines = (LABELLED / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted({json.loads(line)["phrase"] for line in lines})


if __name__ == "__main__":
    main()
