from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.evaluation.harness import quiet
from slice_os.evaluation.index_level import CUTOFFS, score_all
from slice_os.hits.hit import Hits

from .commands import run_harness

PHRASES = ["I want to cancel my subscription", "the parcel is late", "a refund, please"]
TEXTS = [
    "I'd like to end my plan today.",
    "Where is my delivery? It should have come on Monday.",
    "Can I have my money back?",
    "The weather is nice in May, isn't it?",
    "Nothing was said about it for a long time. " * 40,
]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "documents.jsonl"
    lines = [json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(TEXTS)]
    path.write_text("\n".join([*lines, "this is no record"]) + "\n")
    return path


@pytest.fixture
def phrases(tmp_path: Path) -> Path:
    path = tmp_path / "phrases.txt"
    path.write_text("\n".join(PHRASES) + "\n")
    return path


def evaluate(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run_harness("index", *arguments)["rows"]
    return rows


def test_every_span_is_scored(documents: Path, encoder: SpanEncoder) -> None:
    truth = score_all(documents, encoder, PHRASES, 128, "", quiet)
    assert truth.documents == {f"d{number}" for number in range(len(TEXTS))}
    for number, text in enumerate(TEXTS[:4]):
        aligned, vectors = encoder.encode_text(text)
        words = aligned.words
        sums = np.concatenate([np.zeros((1, 384)), np.cumsum(vectors, axis=0, dtype=np.float64)])
        units = encoder.encode_phrases(PHRASES)
        best = np.full(len(PHRASES), -1.0)
        for first in range(len(words)):
            for last in range(first, min(first + 20, len(words))):
                total = sums[words[last, 3]] - sums[words[first, 2]]
                best = np.maximum(best, units @ total / np.linalg.norm(total))
        np.testing.assert_allclose(truth.cosines[f"d{number}", 0], best, atol=1e-5)
    order = np.sort(np.stack(list(truth.cosines.values())), axis=0)[::-1]
    np.testing.assert_array_equal(truth.best[:, 0], order[0])


def test_recall_counts_what_is_among_the_first(documents: Path, encoder: SpanEncoder) -> None:
    truth = score_all(documents, encoder, PHRASES, 128, "", quiet)
    assert truth.recall(0, Hits(())) == [0.0] * len(CUTOFFS)


def test_a_local_store_finds_everything(documents: Path, phrases: Path, tmp_path: Path) -> None:
    (row,) = evaluate("--data", str(documents), "--phrases", str(phrases))
    assert [row[f"recall@{cutoff}"] for cutoff in CUTOFFS] == [1, 1, 1]
    assert row["documents"] == len(TEXTS)
    assert row["store"] == "local"
    assert 0 < row["dense_p50_ms"] <= row["dense_p95_ms"]
    assert 0 < row["hybrid_p50_ms"] <= row["hybrid_p95_ms"]
    assert row["bytes_per_token"] > 384
    assert row["ingest_tokens_per_second"] > 0
    store = str(tmp_path / "kept")
    evaluate("--data", str(documents), "--phrases", str(phrases), "--store", store)
    (again,) = evaluate("--data", str(documents), "--phrases", str(phrases), "--store", store)
    assert (again["store"], again["tokens"]) == (store, row["tokens"])
    assert again["ingest_tokens_per_second"] is None


def test_a_store_of_other_documents_is_refused(
    documents: Path, phrases: Path, tmp_path: Path, encoder: SpanEncoder
) -> None:
    store = tmp_path / "store"
    with Corpus(store, encoder) as corpus:
        corpus.add([Document("other", "Something else altogether.")])
    with pytest.raises(InputError, match="holds 1 documents that are not in the data"):
        evaluate("--data", str(documents), "--phrases", str(phrases), "--store", str(store))
    with Corpus(store, encoder) as corpus:
        assert corpus.info().documents == 1


def test_files_that_are_not_there_are_named(documents: Path, phrases: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        evaluate("--data", "nowhere.jsonl", "--phrases", str(phrases))
    with pytest.raises(InputError, match="not found; expected text with one passage a line"):
        evaluate("--data", str(documents), "--phrases", "nowhere.txt")
