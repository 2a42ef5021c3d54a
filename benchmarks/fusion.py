"""How cosine and BM25 make a score: nDCG@20 of each fusion, and of each weight.

    python benchmarks/fusion.py --data ../shared/data

50 NDAs of ContractNLI's training split; the 17 hypotheses are the phrases, and a passage is
right where it overlaps a span that annotators named as evidence. Nothing is trained; the
weight of `convex` was chosen here, and is not chosen on any set that results are reported on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np

from slice_os.corpus import Corpus
from slice_os.documents import Document
from slice_os.fusion import FUSIONS
from slice_os.mining import make_query
from slice_os.spans import FloatArray

DEPTH = 20
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


def ndcg(scores: FloatArray, right: np.ndarray) -> float:
    """Normalised discounted cumulative gain of the first `DEPTH`, with binary gains."""
    gains = right[np.argsort(-scores, kind="stable")[:DEPTH]]
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    ideal = discounts[: min(DEPTH, int(right.sum()))].sum()
    return float((gains * discounts[: len(gains)]).sum() / ideal)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    path = parser.parse_args().data / "contract-nli" / "train_truncated.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        content = json.load(stream)
    evidence_of: dict[tuple[str, str], list[list[int]]] = {}
    for document in content["documents"]:
        for label, judged in document["annotation_sets"][0]["annotations"].items():
            spans = [document["spans"][index] for index in judged["spans"]]
            evidence_of[label, str(document["id"])] = spans
    labels = list(content["labels"])
    with tempfile.TemporaryDirectory() as folder, Corpus(f"{folder}/nda") as corpus:
        corpus.add(Document(str(row["id"]), row["text"]) for row in content["documents"])
        phrases = [content["labels"][label]["hypothesis"] for label in labels]
        evidence = corpus.store.rank(make_query(corpus.encoder, phrases), DEPTH)
        loaded = corpus.store.load(evidence.keys)
    places = [loaded[key] for key in evidence.keys]
    right = np.array(
        [
            [
                any(
                    start < place.encoded.end and end > place.encoded.start
                    for start, end in evidence_of.get((label, place.doc_id), [])
                )
                for place in places
            ]
            for label in labels
        ]
    )
    asked = [row for row in range(len(labels)) if right[row].any()]
    cosines, bm25, best = evidence.cosines, evidence.bm25, evidence.bm25_best

    def show(name: str, scores: list[FloatArray]) -> None:
        found = np.mean([ndcg(row, right[label]) for row, label in zip(scores, asked, strict=True)])
        print(f"{name:12} {found:.4f}")

    print(f"{len(places)} passages, {len(asked)} phrases, {right.sum()} right; nDCG@{DEPTH}")
    show("bm25", [bm25[row] for row in asked])
    for name, fuse in FUSIONS.items():
        show(name, [fuse(cosines[row], bm25[row], float(best[row])) for row in asked])
    for weight in WEIGHTS:
        mixed = [
            (1 - weight) * cosines[row] + weight * bm25[row] / max(float(best[row]), 1e-12)
            for row in asked
        ]
        show(f"weight {weight}", mixed)


if __name__ == "__main__":
    main()
