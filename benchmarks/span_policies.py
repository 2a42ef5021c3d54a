"""Compare policies of indexing spans: recall against the exact answer, by dimensions.

    python benchmarks/span_policies.py --store STORE --corpus contracts --data ../shared/data

Takes passages of a local store, ranks them by the best of their indexed span vectors (all are
compared, so losses of an ANN graph do not count) and prints the share of the exact ten best
passages among the first K, alone and joined with the first 200 by BM25. `f` is float, `b` byte
vectors; a number without `t` is the length after the model's projection, with `t` the number of
plain dimensions kept. Saves JSON to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import corpora
import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.search.run import make_query
from slice_os.spans.passages import EncodedPassage, quantise
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.cluster.schema.span_policy import SpanPolicy, span_vectors
from slice_os.stores.local import LocalStore

RESULTS = Path(__file__).parent / "results"
POLICIES = (
    "grid:8", "grid:4,12", "grid:2,5,12", "grid:1", "grid:1,8", "grid:1,6", "grid:1,5",
    "grid:1,3,8", "cover:0.8", "cover:0.9", "all",
)  # fmt: skip
FORMS = ("f384", "b384", "b256", "b192", "b128", "b96", "t192")
DEPTHS = (50, 100, 200, 300, 1_000, 2_000)
BM25_DEPTH = 200
BLOCK = 128


@dataclass(frozen=True)
class Row:
    """One policy and vector form: spans a token, and recall by number of candidates."""

    policy: str
    form: str
    spans_per_token: float
    recall: dict[str, float]


def shorten(units: FloatArray, form: str, projection: FloatArray) -> FloatArray:
    """Unit vectors as that form stores them, normalised again."""
    size = int(form[1:])
    short = units[:, :size] if form[0] == "t" else units @ projection[:size].T
    if form[0] != "f":
        short = quantise(short)[0].astype(np.float32)
    lengths = np.maximum(np.linalg.norm(short, axis=1, keepdims=True), 1e-12)
    return np.asarray(short / lengths, dtype=np.float32)


def propose(
    passages: list[EncodedPassage], policy: SpanPolicy, phrases: FloatArray, projection: FloatArray
) -> tuple[dict[str, FloatArray], int]:
    """The best indexed span of each passage for each phrase, by form; and how many spans."""
    queries = {form: shorten(phrases, form, projection) for form in FORMS}
    scores = {form: np.empty((len(phrases), len(passages)), np.float32) for form in FORMS}
    n_spans = 0
    for start in range(0, len(passages), BLOCK):
        block = passages[start : start + BLOCK]
        units = [
            span_vectors(p.vectors, p.layout, policy.select(p.vectors, p.layout, 20)) for p in block
        ]
        counts = [len(vectors) for vectors in units]
        n_spans += sum(counts)
        starts = np.cumsum([0, *counts[:-1]])
        joined = np.concatenate(units)
        for form in FORMS:
            cosines = queries[form] @ shorten(joined, form, projection).T
            scores[form][:, start : start + len(block)] = np.maximum.reduceat(
                cosines, starts, axis=1
            )
    return scores, n_spans


def recall(order: np.ndarray, best: np.ndarray, depth: int, also: np.ndarray) -> float:
    """Mean share of the best ten among the first ``num_candidates``, joined with others."""
    shares = [
        len(set(top) & (set(row[:depth]) | set(more))) / len(top)
        for row, top, more in zip(order.tolist(), best.tolist(), also.tolist(), strict=True)
    ]
    return round(float(np.mean(shares)), 4)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--corpus", choices=["contracts", "dialogues"], required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=8_000)
    parser.add_argument("--policy", action="append", help="instead of the usual ones")
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    assert encoder.projection is not None
    store = LocalStore.open(chosen.store, encoder.card)
    queries = getattr(corpora, f"{chosen.corpus.removesuffix('s')}_phrases")(chosen.data)
    query = make_query(encoder, queries)
    candidates = store.rank(query, 10)
    kept = np.arange(len(candidates.keys))
    if len(kept) > chosen.passages:
        choose = np.random.default_rng(corpora.SEED)
        kept = np.sort(choose.choice(len(kept), chosen.passages, replace=False))
    keys = [candidates.keys[column] for column in kept.tolist()]
    loaded: dict[object, StoredPassage] = dict(candidates.load(keys))
    passages = [loaded[key].encoded for key in keys]
    tokens = sum(len(passage.vectors) for passage in passages)
    best = np.argsort(-candidates.cosines[:, kept], axis=1, kind="stable")[:, :10]
    by_terms = np.argsort(-candidates.bm25[:, kept], axis=1, kind="stable")[:, :BM25_DEPTH]
    print(f"{chosen.corpus}: {len(passages)} passages, {tokens} tokens, {len(queries)} phrases")
    rows = []
    for text in chosen.policy or POLICIES:
        policy = SpanPolicy.parse(text)
        scores, n_spans = propose(passages, policy, query.phrases.vectors, encoder.projection)
        for form, cosines in scores.items():
            order = np.argsort(-cosines, axis=1, kind="stable")
            found = {f"@{k}": recall(order, best, k, by_terms[:, :0]) for k in DEPTHS}
            found |= {f"@{k} + bm25": recall(order, best, k, by_terms) for k in DEPTHS}
            rows.append(Row(text, form, round(n_spans / tokens, 2), found))
            print(f"{text:12} {form:5} {n_spans / tokens:6.2f}/token  {found}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    out = RESULTS / f"span_policies_{chosen.corpus}.json"
    content = {"passages": len(passages), "tokens": tokens, "rows": [asdict(row) for row in rows]}
    out.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
