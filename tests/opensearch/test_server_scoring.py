"""Scores that the server computes against those computed here, and servers that compute none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from opensearchpy import OpenSearch

from slice_os import Corpus, Document, Hits, IndexOptions, OpenSearchStore, SpanEncoder
from slice_os.query.query import Phrases, Query
from slice_os.spans.choice import PassageScorer
from slice_os.spans.passages import DocumentPart, EncodedPassage, stored_form
from slice_os.stores.cluster.schema.records import passage_key
from slice_os.stores.cluster.search import scripted, searches, server_flows
from slice_os.stores.cluster.search.scripted import ScriptEngine
from slice_os.text.documents import Extent, Segment

from .node import Node
from .texts import dialogues

pytestmark = pytest.mark.version

COUNT = 30
PHRASES = ["please change my seat", "I need my boarding pass"]
FUSIONS = ["convex", "cosine", "rrf"]


@pytest.fixture
def scored_here(location: str, encoder: SpanEncoder) -> Iterator[Corpus]:
    """The same index, with token vectors fetched and scored in this process."""
    with Corpus(location, encoder) as corpus:
        corpus.store._server._known = True  # type: ignore[attr-defined]
        yield corpus


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every index counts as too large to score every passage."""
    for engine in ("PAINLESS", "NATIVE"):
        few = replace(getattr(scripted, engine), exhaustive_pieces=0)
        monkeypatch.setattr(scripted, engine, few)
        monkeypatch.setattr(server_flows, engine, few)


def assert_same(found: Hits, expected: Hits) -> None:
    """The same hits, but for what single precision and the rounding of norms change."""
    assert [(h.phrase, h.doc_id, h.start, h.end, h.text, h.metadata) for h in found] == [
        (h.phrase, h.doc_id, h.start, h.end, h.text, h.metadata) for h in expected
    ]
    for name, tolerance in (("cosine", 1e-4), ("score", 1e-4), ("bm25", 1e-3)):
        ours = [getattr(hit, name) for hit in expected]
        assert [getattr(hit, name) for hit in found] == pytest.approx(ours, abs=tolerance)
    assert [h.probability for h in found] == pytest.approx(
        [h.probability for h in expected], abs=1e-3
    )


def test_ten_thousand_scores(opensearch: OpenSearch, index_name: str, encoder: SpanEncoder) -> None:
    """Random passages, degenerate ones included, for random phrases."""
    random = np.random.default_rng(7)
    store = OpenSearchStore.create(
        opensearch, index_name, encoder, options=IndexOptions(policy="grid:6", replicas=0)
    )
    dimension = encoder.card.dimension
    sizes = [(1, 1, 0), (1, 3, 0), (300, 1024, 0), (128, 128, 60_000), (21, 40, 0), (2, 2, 0)]
    sizes += [(int(n), int(n + random.integers(0, n + 1)), 0) for n in random.integers(1, 90, 244)]
    passages = [made_up(random, words, pieces, gap, dimension) for words, pieces, gap in sizes]
    passages.append(replace(passages[5], vectors=np.zeros_like(passages[5].vectors)))
    with store.writer() as writer:
        for number, passage in enumerate(passages):
            document = Document(f"doc {number}", "x" * passage.end)
            writer.write(DocumentPart(document, (passage,), last=True))
        assert not writer.flush()
    vectors = random.normal(size=(40, dimension)).astype(np.float32)
    vectors[20:] += 3 * passages[4].vectors[:20]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = Query(Phrases(tuple(f"phrase {row}" for row in range(40)), vectors))
    engine = store.script_engine(query)
    assert engine is not None
    stored = list(map(stored_form, passages))
    expected = np.array([PassageScorer(passage, query).best_cosines() for passage in stored])
    places = {passage_key(f"doc {number}", 0): number for number in range(len(passages))}
    assert expected.size >= 10_000
    worst = 0.0
    for row in range(40):
        body = scripted.cosines(query, row, searches.admitted({}), engine)
        hits = opensearch.search(index=index_name, body=body)["hits"]["hits"]
        assert len(hits) == len(passages)
        for hit in hits:
            exact = expected[places[passage_key(*hit["sort"])], row]
            worst = max(worst, abs(hit["_score"] - 1 - exact))
    assert worst < 0.001


def made_up(
    random: np.random.Generator, words: int, pieces: int, gap: int, dimension: int
) -> EncodedPassage:
    """A passage with random vectors; words take all pieces, and the last one stands after a gap."""
    edges = np.sort(random.choice(np.arange(1, pieces), words - 1, replace=False))
    first = np.concatenate([[0], edges])
    starts = 7 * np.arange(words)
    starts[-1] += gap
    table = np.stack([starts, starts + 5, first, np.concatenate([edges, [pieces]])], axis=1)
    vectors = random.normal(size=(pieces, dimension)) * random.uniform(0.1, 2, (pieces, 1))
    return EncodedPassage(0, int(table[-1, 1]), table, vectors.astype(np.float32))


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("threshold", [None, 0.45])
@pytest.mark.parametrize("phrases", [PHRASES[0], PHRASES])
def test_candidates_are_scored_alike(
    calls: Corpus,
    scored_here: Corpus,
    large: None,
    phrases: str | list[str],
    threshold: float | None,
    fusion: str,
) -> None:
    for page in ({"top_k": 12}, {"top_k": 7, "offset": 5}):
        wanted = {"threshold": threshold, "fusion": fusion, "num_candidates": 200, **page}
        found = calls.search(phrases, **wanted)  # type: ignore[arg-type]
        assert not found.exhaustive
        expected = scored_here.search(phrases, **wanted)  # type: ignore[arg-type]
        if fusion == "rrf":
            # Single precision may swap the ranks of cosines that are nearly equal.
            scores = [hit.score for hit in expected]
            assert [hit.score for hit in found] == pytest.approx(scores, abs=5e-4)
        else:
            assert_same(found, expected)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_small_index_is_searched_wholly(
    calls: Corpus, encoder: SpanEncoder, tmp_path: Path, fusion: str
) -> None:
    with Corpus(tmp_path / "calls.slice", encoder) as local:
        local.add(dialogues(COUNT))
        expected = local.search(PHRASES, fusion=fusion, top_k=15, order="score")
        where = {"domain": "airline"}
        filtered = local.search(PHRASES[0], fusion=fusion, where=where)
    found = calls.search(PHRASES, fusion=fusion, top_k=15, num_candidates=15, order="score")
    assert found.exhaustive
    assert expected.exhaustive
    assert [hit.score for hit in found] == pytest.approx([h.score for h in expected], abs=1e-3)
    assert_same(calls.search(PHRASES[0], fusion=fusion, where=where), filtered)


@pytest.mark.parametrize("fusion", ["convex", "cosine"])
@pytest.mark.parametrize("phrases", [PHRASES[0], PHRASES])
def test_several_hits_of_a_passage(
    calls: Corpus,
    scored_here: Corpus,
    encoder: SpanEncoder,
    tmp_path: Path,
    phrases: str | list[str],
    fusion: str,
) -> None:
    """Scored by the server, here, and in a local store, they are the same."""
    with Corpus(tmp_path / "calls.slice", encoder) as local:
        local.add(dialogues(COUNT))
        for other in (
            {"unit": "sentence", "per_passage": 2},
            {"threshold": 0.4, "per_passage": 5},
            {"counter_phrases": ["a new booking"], "per_passage": 3},
        ):
            wanted = {"fusion": fusion, "num_candidates": 200, **other}
            whole = calls.search(phrases, top_k=18, **wanted)  # type: ignore[arg-type]
            assert len({(hit.doc_id, hit.passage.start) for hit in whole}) < len(whole)
            pages = [
                calls.search(phrases, top_k=6, offset=offset, **wanted)  # type: ignore[arg-type]
                for offset in (0, 6, 12)
            ]
            assert_same(Hits(tuple(hit for page in pages for hit in page)), whole)
            for corpus in (scored_here, local):
                expected = corpus.search(phrases, top_k=18, **wanted)  # type: ignore[arg-type]
                assert_same(whole, expected)


@pytest.mark.parametrize("unit", ["span", "turn"])
def test_hits_stay_within_turns(
    address: str, encoder: SpanEncoder, tmp_path: Path, unit: str
) -> None:
    """Scored by the server, here, and in a local store, hits are the same."""
    conversations = [in_turns(document) for document in dialogues(COUNT)]
    turns = {
        document.id: {Extent(one.start, one.end) for one in document.segments}
        for document in conversations
    }
    with (
        Corpus(address, encoder) as calls,
        Corpus(address, encoder) as scored_here,
        Corpus(tmp_path / "calls.slice", encoder) as local,
    ):
        calls.add(conversations)
        local.add(conversations)
        scored_here.store._server._known = True  # type: ignore[attr-defined]
        for ask in (
            lambda corpus: corpus.search(PHRASES[0], unit=unit),
            lambda corpus: corpus.search(PHRASES, unit=unit, top_k=20, collapse=True),
            lambda corpus: in_order(corpus.mine(PHRASES, unit=unit, threshold=0.4)),
        ):
            found = ask(calls)
            assert all(hit.turn in turns[hit.doc_id] for hit in found)
            for other in (scored_here, local):
                expected = ask(other)
                assert_same(found, expected)
                for name in ("clause", "sentence", "turn", "span", "count"):
                    assert [getattr(h, name) for h in found] == [getattr(h, name) for h in expected]


def in_order(hits: Hits) -> Hits:
    """Hits by document, whatever order a store keeps documents in."""
    return Hits(tuple(sorted(hits, key=lambda hit: (hit.doc_id, hit.phrase, hit.start))))


def in_turns(document: Document) -> Document:
    """The document with a segment for each of its lines, all of one speaker."""
    segments, position = [], 0
    for line in document.text.split("\n"):
        segments.append(Segment(position, position + len(line), "customer"))
        position += len(line) + 1
    return replace(document, segments=tuple(segments))


def test_an_index_that_grows_is_no_longer_searched_wholly(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in ("PAINLESS", "NATIVE"):
        few = replace(getattr(scripted, engine), exhaustive_pieces=1_000)
        monkeypatch.setattr(scripted, engine, few)
    corpus.add(dialogues(4))
    assert corpus.search(PHRASES[0]).exhaustive
    corpus.add(dialogues(COUNT))
    assert not corpus.search(PHRASES[0]).exhaustive
    assert not corpus.search(PHRASES[0]).exhaustive
    narrow = corpus.search(PHRASES[0], where={"number": ["0", "2"]})
    assert narrow.exhaustive
    assert {hit.metadata["number"] for hit in narrow} <= {0, 2}


def test_nothing_to_find(corpus: Corpus, large: None) -> None:
    corpus.add([Document("empty", " ")])
    for fusion in FUSIONS:
        assert not corpus.search(PHRASES, fusion=fusion)
    assert not corpus.mine(PHRASES)


@pytest.mark.parametrize("threshold", [0.4, 0.6])
@pytest.mark.parametrize("exhaustive", [True, False])
def test_mining_is_the_same(
    calls: Corpus,
    scored_here: Corpus,
    monkeypatch: pytest.MonkeyPatch,
    threshold: float,
    exhaustive: bool,
) -> None:
    where = {"domain": ["airline", "finance"]}
    wanted = {"threshold": threshold, "exhaustive": exhaustive}
    expected = scored_here.mine(PHRASES, **wanted)  # type: ignore[arg-type]
    filtered = scored_here.mine(PHRASES, where=where, **wanted)  # type: ignore[arg-type]
    assert expected
    assert calls.mine(PHRASES, **wanted) == expected  # type: ignore[arg-type]
    monkeypatch.setattr(server_flows, "RANGE_PASSAGES", 40)
    monkeypatch.setattr(scripted, "LARGEST_ANSWER", 10)
    assert calls.mine(PHRASES, **wanted) == expected  # type: ignore[arg-type]
    assert calls.mine(PHRASES, where=where, **wanted) == filtered  # type: ignore[arg-type]


def test_many_phrases_are_one_pass_here(
    calls: Corpus, scored_here: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [f"snow fell on the hills near village {number}" for number in range(200)]
    phrases = [PHRASES[0], *others, PHRASES[1]]
    assert calls.search(PHRASES[0])  # which finds out who scores
    asked: list[str] = []
    score = ScriptEngine.best_span
    monkeypatch.setattr(
        ScriptEngine, "best_span", lambda *given: asked.append("scan") or score(*given)
    )
    found = calls.mine(phrases, threshold=0.6)
    assert not asked
    ours = Hits([hit for hit in found if hit.phrase in PHRASES])
    assert_same(ours, scored_here.mine(PHRASES, threshold=0.6))
    assert scored_here.search(phrases, threshold=0.6)


@pytest.mark.slow
@pytest.mark.release
def test_a_server_that_may_not_run_scripts(
    scriptless_node: Node, encoder: SpanEncoder, calls: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says once what is slower, and how to allow it; results are the same."""
    location = f"{scriptless_node.url}/scoring"
    with Corpus(location, encoder, index=IndexOptions(replicas=0)) as corpus:
        corpus.add(dialogues(COUNT))
        with caplog.at_level(logging.WARNING, "slice_os"):
            found = [corpus.search(PHRASES[0], fusion=fusion) for fusion in FUSIONS]
            mined = corpus.mine(PHRASES)
    (record,) = [record for record in caplog.records if record.name == "slice_os"]
    line = record.getMessage()
    assert "\n" not in line
    assert "may not run scripts" in line
    assert "script.allowed_types" in line
    for fusion, hits in zip(FUSIONS, found, strict=True):
        assert not hits.exhaustive
        assert_same(hits, calls.search(PHRASES[0], fusion=fusion))
    assert mined == calls.mine(PHRASES)
