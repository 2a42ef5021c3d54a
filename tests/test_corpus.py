from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import (
    Corpus,
    Document,
    EncoderMismatchError,
    Hit,
    Hits,
    InputError,
    LocalStore,
    Segment,
    SliceError,
    SpanEncoder,
    StoreError,
    scan,
)
from slice_os.query.fusion import BM25_WEIGHT, convex, reciprocal_rank
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic

CALL = "Hello there.\nI want to cancel my subscription today.\nPlease stop charging my card."
TURNS = (
    Segment(0, 12, "agent", 0.0, 1.0),
    Segment(13, 51, "caller", 1.0, 4.0),
    Segment(52, 82, "caller", 4.0, 6.0),
)
PHRASES = ["I want to cancel my subscription", "stop billing me"]


@pytest.fixture(scope="module")
def corpus(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with Corpus(tmp_path_factory.mktemp("corpus") / "store", encoder) as corpus:
        corpus.add(
            [
                Document("call", CALL, {"queue": "retention"}, TURNS),
                Document("contract", "Either party may terminate this subscription. " * 30),
                Document("other", "The weather is nice in May, isn't it? 😀"),
            ]
        )
        yield corpus


class TestHits:
    def test_are_typed_and_point_into_their_documents(self, corpus: Corpus) -> None:
        hits = corpus.search(PHRASES[0])
        assert isinstance(hits, Hits)
        best = hits[0]
        assert (best.doc_id, best.phrase) == ("call", PHRASES[0])
        assert best.metadata == {
            "queue": "retention",
            "speaker": "caller",
            "start_time": 1.0,
            "end_time": 4.0,
        }
        for hit in hits:
            text = corpus.text(hit.doc_id)
            assert text[hit.start : hit.end] == hit.text
            assert text[hit.passage.start : hit.passage.end] == hit.passage.text

    def test_can_be_filtered_by_speaker(self, corpus: Corpus) -> None:
        hits = corpus.search("Hello", where={"speaker": "agent"})
        assert [hit.passage.text for hit in hits] == ["Hello there."]

    def test_can_be_filtered_by_a_higher_threshold(self, corpus: Corpus) -> None:
        hits = corpus.mine(PHRASES, threshold=0.4)
        stricter = hits.rethreshold(0.6)
        assert set(map(Hit.to_json, stricter)) <= {
            hit.to_json() for hit in corpus.mine(PHRASES, threshold=0.6)
        }
        assert 0 < len(stricter) < len(hits)
        assert stricter.rethreshold(0.6) == stricter
        with pytest.raises(ValueError, match=r"selected with threshold 0\.6; search again"):
            stricter.rethreshold(0.5)

    def test_can_be_written(self, corpus: Corpus, tmp_path: Path) -> None:
        hits = corpus.search(PHRASES[0])
        written = hits.to_jsonl(tmp_path / "hits.jsonl")
        assert (tmp_path / "hits.jsonl").read_text() == written
        assert [orjson.loads(line) for line in written.splitlines()] == [h.to_dict() for h in hits]

    def test_are_a_sequence(self, corpus: Corpus) -> None:
        hits = corpus.search(PHRASES[0], top_k=3)
        assert hits[:2].items == hits.items[:2]
        assert [*hits] == [hits[n] for n in range(len(hits))]
        assert hits[0] in hits

    def test_of_a_search_respect_the_threshold(self, corpus: Corpus) -> None:
        everything = corpus.search(PHRASES, top_k=100, fusion="cosine")
        for threshold in {hit.cosine for hit in everything}:
            assert all(h.cosine >= threshold for h in corpus.search(PHRASES, threshold=threshold))

    def test_of_mining_are_those_of_each_phrase(self, corpus: Corpus) -> None:
        both = corpus.mine(PHRASES, threshold=0.4)
        for phrase in PHRASES:
            alone = corpus.mine(phrase, threshold=0.4)
            among = [hit for hit in both if hit.phrase == phrase]
            assert [(h.doc_id, h.start, h.end) for h in among] == [
                (h.doc_id, h.start, h.end) for h in alone
            ]
            cosines = [hit.cosine for hit in alone]
            assert [hit.cosine for hit in among] == pytest.approx(cosines, abs=1e-5)
            for one, other in itertools.pairwise(alone):
                assert one.doc_id != other.doc_id or one.end <= other.start

    def test_of_a_search_rank_by_their_score(self, corpus: Corpus) -> None:
        for fusion in ("convex", "rrf", "cosine"):
            hits = corpus.search(PHRASES, top_k=100, fusion=fusion)
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            best = corpus.search(PHRASES, top_k=100, fusion=fusion, where={"queue": "retention"})
            assert {hit.doc_id for hit in best} == {"call"}


def test_a_document_has_the_metadata_that_it_was_given(corpus: Corpus) -> None:
    assert corpus.metadata("call") == {"queue": "retention"}
    assert corpus.metadata("other") == {}


class TestWrongUse:
    def test_of_a_search(self, corpus: Corpus) -> None:
        for wrong in ({"fusion": "best"}, {"top_k": -1}, {"offset": -1}):
            with pytest.raises(InputError):
                corpus.search("x", **wrong)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="no phrase"):
            corpus.search([])

    def test_of_a_corpus_that_does_not_exist(self, encoder: SpanEncoder, tmp_path: Path) -> None:
        corpus = Corpus(tmp_path / "none", encoder)
        with pytest.raises(StoreError, match="no store here"):
            corpus.search("x")
        with pytest.raises(InputError, match="no such file"):
            corpus.ingest([tmp_path / "nothing"])
        assert not (tmp_path / "none").exists()

    def test_of_text_by_an_unknown_id(self, corpus: Corpus) -> None:
        for read in (corpus.text, corpus.metadata):
            with pytest.raises(InputError, match="no document 'nothing'"):
                read("nothing")


@pytest.mark.parametrize("phrases", [None, 3, ["a", None]])
def test_what_are_no_phrases(corpus: Corpus, phrases: Any) -> None:
    for found in (corpus.search, corpus.mine):
        with pytest.raises(InputError, match="give a string, or a list of strings"):
            found(phrases)
        with pytest.raises(InputError, match="give a list of strings"):
            found("cancel", counter_phrases=phrases or "never")
    with pytest.raises(InputError, match="no fusion"):
        corpus.search("cancel", fusion=phrases)


@pytest.mark.parametrize(
    ("store", "told"),
    [
        (3, "store 3: give a folder, an address, or an open store"),
        (None, "store None: give a folder, an address, or an open store"),
        ("http:/x/y", "an address begins with http://"),
        ("https:x/y", "an address begins with https://"),
    ],
)
def test_what_is_no_store(store: Any, told: str) -> None:
    with pytest.raises(SliceError, match=told):
        Corpus(store)


def test_a_corpus_without_a_store_yet_has_no_documents(tmp_path: Path) -> None:
    assert len(Corpus(tmp_path / "new.slice")) == 0


def test_documents_are_deleted_by_one_id_or_several(encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "s", encoder) as corpus:
        assert corpus.add(Document(f"doc{n}", "some words") for n in range(4)) == 4
        assert corpus.delete("doc0") == 1
        assert corpus.delete(["doc1", "doc2", "none"]) == 2
        assert corpus.info().documents == 1


def test_the_encoder_of_a_store_is_found(encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "s", encoder) as corpus:
        corpus.add([Document("a", "end my plan")])
    with Corpus(tmp_path / "s") as corpus:
        assert corpus.search("cancel my plan")[0].doc_id == "a"
        assert corpus.encoder.card == encoder.card


def test_scanning_streams(encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slice_os.encoder.span_encoder.POOL_PIECES", 100)
    asked = itertools.count()
    documents = (Document(str(n), CALL, segments=TURNS) for n in asked)
    hits = scan(documents, PHRASES[0], threshold=0.7, encoder=encoder)
    first = next(hits)
    assert (first.doc_id, first.bm25, first.metadata["speaker"]) == ("0", None, "caller")
    assert CALL[first.start : first.end] == first.text
    assert next(asked) < 50


@pytest.mark.parametrize("verify", [False, True])
def test_scanning_finds_what_mining_does(
    encoder: SpanEncoder, tmp_path: Path, verify: bool
) -> None:
    again = "Please cancel my plan today. Yes. 😀 cancel it? I want to end it, too. OK. " * 8
    documents = [Document("call", CALL, {"queue": "retention"}, TURNS), Document("again", again)]
    topic = Topic("cancel", tuple(PHRASES[:1]))
    with Corpus(tmp_path / "s", encoder) as corpus:
        corpus.add(documents)
        mined = [*corpus.mine(PHRASES, verify=verify, min_probability=0.05)]
        of_topic = [
            replace(hit, topic=None).to_dict()
            for hit in mine_topics(corpus, [topic], verify=verify)
        ]
        assert of_topic == [hit.to_dict() for hit in corpus.mine(PHRASES[0], verify=verify)]
    scanned = scan(documents, PHRASES, encoder=encoder, verify=verify, min_probability=0.05)
    alone = [replace(hit, bm25=None, score=hit.cosine) for hit in mined]
    assert alone == [*scanned]
    assert len({hit.phrase for hit in alone}) == 2


class TestFusion:
    @given(st.lists(st.tuples(st.floats(-1, 1), st.just(0.0) | st.floats(1e-6, 30)), min_size=1))
    def test_agrees_with_its_definition(self, passages: list[tuple[float, float]]) -> None:
        cosines, bm25 = np.array(passages, dtype=np.float32).T
        best = float(bm25.max())
        for fused, cosine, terms in zip(convex(cosines, bm25, best), cosines, bm25, strict=True):
            share = terms / best if best > 0 else 0
            expected = (1 - BM25_WEIGHT) * cosine + BM25_WEIGHT * share
            assert fused == pytest.approx(expected, abs=1e-5)

    def test_by_reciprocal_ranks(self) -> None:
        cosines = np.array([0.9, 0.1, 0.5], dtype=np.float32)
        bm25 = np.array([0, 2, 1], dtype=np.float32)
        expected = [1 / 61, 1 / 63 + 1 / 61, 1 / 62 + 1 / 62]
        np.testing.assert_allclose(reciprocal_rank(cosines, bm25, 2.0), expected, rtol=1e-6)


class TestAnotherStoreInItsPlace:
    @pytest.fixture
    def location(self, encoder: SpanEncoder, tmp_path: Path) -> Path:
        for name in ("calls", "others"):
            with Corpus(tmp_path / name, encoder) as corpus:
                corpus.add([Document(name, CALL)])
        return tmp_path / "calls"

    @pytest.mark.parametrize("in_one_step", [True, False])
    def test_is_opened(self, location: Path, encoder: SpanEncoder, in_one_step: bool) -> None:
        with Corpus(location, encoder) as corpus:
            assert corpus.search(PHRASES[0])[0].doc_id == "calls"
            mining = corpus.iter_mine(PHRASES)
            first = next(mining)
            if in_one_step:
                location.rename(location.with_name("former"))
                location.with_name("others").rename(location)
            else:
                shutil.rmtree(location)
                with pytest.raises(StoreError, match="no store here"):
                    list(corpus)
                shutil.copytree(location.with_name("others"), location)
            assert list(corpus) == ["others"]
            assert corpus.add([Document("new", CALL)]) == 1
            assert corpus.text("new") == CALL
            assert {hit.doc_id for hit in corpus.search(PHRASES[0])} == {"others", "new"}
            # What has begun is of one state.
            assert {first.doc_id, *(hit.doc_id for hit in mining)} == {"calls"}

    def test_is_refused_where_it_cannot_be_opened(
        self, location: Path, encoder: SpanEncoder
    ) -> None:
        store = LocalStore.open(location)
        corpus = Corpus(location)
        assert corpus.search(PHRASES[0])
        shutil.rmtree(location)
        LocalStore.create(location, replace(encoder.card, encoder_id="another"), 128).close()
        with pytest.raises(StoreError, match="has been replaced") as error:
            store.document_text("calls")
        assert "\n" not in str(error.value)
        with pytest.raises(StoreError, match="has been replaced"), store.writer():
            pass
        with pytest.raises(EncoderMismatchError):
            corpus.search(PHRASES[0])
        store.close()
