"""Scores of a local store against brute force over spans of the unquantised token vectors.

    python benchmarks/exactness.py --data ../shared/data [--pairs 1000] [--contracts 4]

Contracts (CUAD) are stored; the phrases are half hypotheses and pieces of NDAs (ContractNLI),
half pieces of the contracts themselves. For random pairs of a passage and a phrase, every span
of 1 to 20 words is materialised as the mean of its float32 token vectors, and the best cosine
is compared with that of the store, which keeps token vectors as int8.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
from pathlib import Path

import numpy as np
from corpora import SEED, contract_phrases, write_contracts

from slice_os import Corpus, Document
from slice_os.arrays import FloatArray
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import find_sources
from slice_os.search.run import make_query
from slice_os.spans.passages import EncodedPassage


def brute_force(passage: EncodedPassage, phrase: FloatArray, max_words: int) -> float:
    """The best cosine over spans that are made one by one."""
    words = passage.words
    spans = [
        passage.vectors[words[i, 2] : words[j, 3]].mean(axis=0, dtype=np.float64)
        for i in range(len(words))
        for j in range(i, min(i + max_words, len(words)))
    ]
    units = np.array(spans) / np.linalg.norm(spans, axis=1, keepdims=True)
    return float((units @ phrase).max())


def main() -> None:
    """Print how far apart they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--contracts", type=int, default=4)
    options = parser.parse_args()
    choose = random.Random(SEED)
    with tempfile.TemporaryDirectory() as place:
        (source,) = find_sources([write_contracts(options.data, Path(place))])
        records = read(source, ReadOptions())
        documents = [
            Document(record.id, record.text[:40_000])
            for record in itertools.islice(records, options.contracts)
            if isinstance(record, Document)
        ]
        with Corpus(f"{place}/store") as corpus:
            corpus.add(documents)
            phrases = contract_phrases(options.data)[:50]
            for _ in range(50):
                words = choose.choice(documents).text.split()
                start = choose.randrange(len(words) - 14)
                phrases.append(" ".join(words[start : start + choose.randint(2, 14)]))
            query = make_query(corpus.encoder, phrases)
            candidates = corpus.store.rank(query, 1)
            loaded = candidates.load(candidates.keys)
            place_of = {
                (loaded[key].doc_id, loaded[key].encoded.start): column
                for column, key in enumerate(candidates.keys)
            }
            passages = [
                (part.document.id, passage)
                for part in encode_documents(documents, corpus.encoder)
                for passage in part.passages
            ]
    errors = []
    for _ in range(options.pairs):
        doc_id, passage = choose.choice(passages)
        row = choose.randrange(len(query.phrases.texts))
        exact = brute_force(passage, query.phrases.vectors[row], query.max_words)
        errors.append(abs(exact - candidates.cosines[row, place_of[doc_id, passage.start]]))
    print(f"{options.pairs:,} pairs of {len(passages):,} passages and {len(phrases)} phrases")
    print(f"absolute error: max {max(errors):.5f}, mean {np.mean(errors):.5f}")


if __name__ == "__main__":
    main()
