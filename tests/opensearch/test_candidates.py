"""How many candidates a search has, what mining by candidates finds, and opened stores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from slice_os import (
    Corpus,
    Document,
    EncoderMismatchError,
    IndexOptions,
    InputError,
    LocalStore,
    OpenSearchStore,
    SpanEncoder,
    StoreError,
)
from slice_os.stores.cluster.search import searches

from .texts import dialogues

COUNT = 40
PHRASES = ["please change my seat", "I need my boarding pass"]


def test_pages_of_equal_candidates_never_repeat(calls: Corpus) -> None:
    whole = calls.search(PHRASES, top_k=30, num_candidates=30)
    pages = [calls.search(PHRASES, top_k=7, offset=o, num_candidates=30) for o in (0, 7, 14, 21)]
    together = [hit for page in pages for hit in page]
    assert together == list(whole[:28])
    assert len({(hit.doc_id, hit.passage.start) for hit in together}) == 28


def test_a_page_beyond_the_candidates_is_refused(calls: Corpus) -> None:
    with pytest.raises(InputError, match=r"hit 34 is .* num_candidates 34 or more"):
        calls.search(PHRASES, top_k=10, offset=24, num_candidates=30)
    with pytest.raises(InputError, match="1 to 10,000"):
        calls.search(PHRASES, num_candidates=10_001)


def test_a_local_store_scores_every_passage(encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "calls.slice", encoder) as corpus:
        corpus.add(dialogues(12))
        assert len(corpus.search(PHRASES, top_k=12, num_candidates=1)) == 12
        with pytest.raises(InputError, match="'server' needs a store in OpenSearch"):
            corpus.search(PHRASES, fusion="server")


def test_bm25_counts_the_terms_of_all_shards(
    address: str, encoder: SpanEncoder, tmp_path: Path
) -> None:
    """Else a hit's score would depend on the passages that happen to be in its shard."""
    bm25 = []
    for location in (address, str(tmp_path / "calls.slice")):
        with Corpus(location, encoder, index=IndexOptions(shards=3, replicas=0)) as corpus:
            corpus.add(dialogues(12))
            found = corpus.search(PHRASES, top_k=40, verify=False)
            mined = corpus.mine(PHRASES, threshold=0.4, verify=False)
        bm25.append({(hit.phrase, hit.doc_id, hit.start): hit.bm25 for hit in (*found, *mined)})
    assert bm25[0] == pytest.approx(bm25[1], rel=1e-3)


@pytest.mark.parametrize("threshold", [0.5, 0.7])
def test_candidates_are_hits_of_the_exhaustive_scan(calls: Corpus, threshold: float) -> None:
    walked = list(calls.mine(PHRASES, threshold=threshold))
    proposed = list(calls.mine(PHRASES, threshold=threshold, exhaustive=False))
    assert walked
    assert proposed == [hit for hit in walked if hit in proposed]
    assert len(proposed) >= 0.95 * len(walked)


def test_candidates_obey_filters(calls: Corpus) -> None:
    few = {"number": [str(number) for number in range(20)], "domain": "airline"}
    walked = list(calls.mine(PHRASES, threshold=0.5, where=few))
    assert walked
    assert list(calls.mine(PHRASES, threshold=0.5, where=few, exhaustive=False)) == walked
    assert {hit.metadata["number"] for hit in walked} <= set(range(20))


def test_candidates_beyond_the_nearest(calls: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """If more passages are above the threshold than one search can return, none is lost."""
    walked = list(calls.mine(PHRASES, threshold=0.5))
    monkeypatch.setattr(searches, "GRAPH_WIDTH", 5)
    proposed = list(calls.mine(PHRASES, threshold=0.5, exhaustive=False))
    assert proposed == [hit for hit in walked if hit in proposed]
    assert len({(hit.doc_id, hit.passage.start) for hit in proposed}) > 10


def test_candidates_are_fetched_in_several_answers(
    calls: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = calls.search(PHRASES, top_k=30)
    monkeypatch.setattr(searches, "FETCHED_PASSAGES", 7)
    assert calls.search(PHRASES, top_k=30) == whole


def test_the_log_says_once_what_scores(calls: Corpus, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "slice_os")
    for _ in range(2):
        calls.search(PHRASES)
    (told,) = [one.getMessage() for one in caplog.records if "scored by" in one.getMessage()]
    assert told.endswith(f": scored by {calls.store.scored_by()}")  # type: ignore[attr-defined]


def test_your_own_client(
    calls: Corpus, location: str, opensearch: OpenSearch, encoder: SpanEncoder
) -> None:
    store = OpenSearchStore(opensearch, location.rpartition("/")[2])
    with Corpus(store) as corpus:
        assert list(corpus.search(PHRASES)) == list(calls.search(PHRASES))
        assert corpus.info().documents == COUNT
    assert opensearch.ping(), "whoever made the client closes it"
    with Corpus(store, encoder) as corpus, pytest.raises(StoreError, match="128 word pieces"):
        _ = Corpus(store, encoder, max_pieces=64).store


def test_an_index_made_with_a_client(
    opensearch: OpenSearch, index_name: str, encoder: SpanEncoder
) -> None:
    with pytest.raises(StoreError, match="no index here"):
        OpenSearchStore(opensearch, index_name)
    options = IndexOptions(policy="grid:4", replicas=0)
    store = OpenSearchStore.create(opensearch, index_name, encoder, max_pieces=64, options=options)
    with Corpus(store, encoder) as corpus:
        corpus.add([Document("1", "Please change my seat. " * 40)])
        assert corpus.search("change the seat")[0].doc_id == "1"
        assert corpus.info().max_pieces == 64
        assert corpus.info().passages >= 4


def test_another_encoder_is_refused(
    opensearch: OpenSearch, location: str, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = OpenSearchStore(opensearch, location.rpartition("/")[2])
    monkeypatch.setattr(encoder, "card", replace(encoder.card, encoder_id="other"))
    with pytest.raises(EncoderMismatchError, match="not by"):
        Corpus(store, encoder).search(PHRASES)


def test_your_own_local_store(encoder: SpanEncoder, tmp_path: Path) -> None:
    store = LocalStore.create(tmp_path / "mine.slice", encoder.card, 64)
    with Corpus(store, encoder) as corpus:
        corpus.add([Document("1", "Please change my seat.")])
        assert corpus.default_dead_letters.parent == tmp_path / "mine.slice"
    assert store.info().documents == 1
    store.close()
