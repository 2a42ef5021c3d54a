"""A new kind of store is one file and one line: this file, and the line in `toy`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slice_os import Corpus, Document, InputError, ModelCard, SpanEncoder, StoreError
from slice_os.query.options import FUSIONS
from slice_os.query.query import Query
from slice_os.spans.passage_scorer import PassageScorer
from slice_os.spans.passages import DocumentPart
from slice_os.stores.backend import Backend, NewStore
from slice_os.stores.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.stores.protocol import (
    DocumentEntry,
    Rejection,
    SourceEntry,
    Store,
    StoredDocument,
    StoreInfo,
)
from slice_os.stores.registry import STORES, create_store, find_backend, open_store, store_exists
from slice_os.stores.work_share import WHOLE, WorkShare
from slice_os.text.documents import Metadata

PHRASES = ["I want to cancel my subscription", "stop billing me"]


class ToyStore:
    """Everything in memory; terms are counted, not weighed."""

    exhaustive = True
    folder = None
    retries = 0

    def __init__(self, location: str, new: NewStore) -> None:
        self.location = location
        self.new = new
        self.parts: dict[str, list[DocumentPart]] = {}
        self.complete: set[str] = set()
        self.signatures: dict[str, str] = {}

    def check_encoder(self, card: ModelCard) -> None:
        self.new.card.check_made(self.location, card)

    def info(self) -> StoreInfo:
        passages = [passage.encoded for passage in self.passages()]
        return StoreInfo(
            location=self.location,
            schema_version=1,
            encoder=self.new.card,
            max_pieces=self.new.max_pieces,
            documents=len(self.parts),
            passages=len(passages),
            words=sum(len(passage.words) for passage in passages),
            pieces=sum(len(passage.vectors) for passage in passages),
            size_bytes=0,
        )

    @contextmanager
    def writer(self, part: WorkShare = WHOLE) -> Iterator[ToyStore]:
        yield self

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        doc_id = part.document.id
        if doc_id in self.complete:
            self.delete([doc_id])
        self.parts.setdefault(doc_id, []).append(part)
        if part.last:
            self.complete.add(doc_id)
        return ()

    def flush(self) -> Sequence[Rejection]:
        return ()

    def delete(self, doc_ids: Iterable[str]) -> int:
        found = [doc_id for doc_id in doc_ids if self.parts.pop(doc_id, None)]
        self.complete.difference_update(found)
        return len(found)

    def assign(self, doc_ids: Iterable[str], source: str) -> None:
        for doc_id in doc_ids:
            self.parts[doc_id] = [
                replace(part, document=replace(part.document, source=source))
                for part in self.parts[doc_id]
            ]

    def finish_source(self, source: str, signature: str) -> None:
        self.signatures[source] = signature

    def forget_source(self, source: str) -> None:
        self.signatures.pop(source, None)

    def find_documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        found = {
            doc_id: self.parts[doc_id][0].document for doc_id in doc_ids if doc_id in self.parts
        }
        return {key: StoredDocument(doc.source, doc.fingerprint) for key, doc in found.items()}

    def document_ids(self, *sources: str) -> set[str]:
        return {key for key, parts in self.parts.items() if parts[0].document.source in sources}

    def source_signatures(self, sources: Iterable[str]) -> dict[str, str]:
        return {name: self.signatures[name] for name in sources if name in self.signatures}

    def list_documents(self) -> Iterator[DocumentEntry]:
        for key, parts in sorted(self.parts.items()):
            passages = sum(len(part.passages) for part in parts)
            yield DocumentEntry(key, parts[0].document.source, passages)

    def list_sources(self) -> Iterator[SourceEntry]:
        counts = Counter(entry.source for entry in self.list_documents())
        yield from (SourceEntry(*item) for item in sorted(counts.items()))

    def document_text(self, doc_id: str) -> str | None:
        return self.parts[doc_id][0].document.text if doc_id in self.parts else None

    def document_metadata(self, doc_id: str) -> Metadata | None:
        return self.parts[doc_id][0].document.metadata if doc_id in self.parts else None

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        passages = list(self.passages())

        def load(keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
            return {key: passages[key] for key in keys if isinstance(key, int)}

        cosines = [PassageScorer(p.encoded, query).best_cosines() for p in passages]
        counts = [[p.text.count(phrase) for p in passages] for phrase in query.phrases.texts]
        bm25 = np.array(counts, dtype=np.float32)
        return ScoredCandidates(
            range(len(passages)), np.stack(cosines, axis=1), bm25, bm25.max(axis=1), load
        )

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[ScoredCandidates]:
        yield self.rank(query, 0).at_least(threshold)

    def close(self) -> None:
        pass

    def passages(self) -> Iterator[StoredPassage]:
        for doc_id, parts in self.parts.items():
            for part in parts:
                for passage in part.passages:
                    text = part.document.text[passage.start : passage.end]
                    yield StoredPassage(doc_id, text, passage)


class ToyBackend(Backend):
    """Stores at ``toy://NAME``, gone when the process ends."""

    def __init__(self) -> None:
        self.stores: dict[str, ToyStore] = {}

    def exists(self, location: str) -> bool:
        return location in self.stores

    def open(self, location: str) -> Store:
        return self.stores[location]

    def create(self, location: str, new: NewStore) -> None:
        self.stores[location] = ToyStore(location, new)


BACKEND = ToyBackend()


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STORES, "toy", f"{__name__}:BACKEND")


def test_a_toy_store_is_filled_searched_and_mined(encoder: SpanEncoder, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    (calls / "call.txt").write_text("Hello there. Please cancel my subscription today.")
    (calls / "other.txt").write_text("The weather is nice in May, isn't it?")
    found = []
    for location in ("toy://calls", str(tmp_path / "calls.slice")):
        with Corpus(location, encoder) as corpus:
            summary = corpus.ingest([calls], dead_letters=tmp_path / "dead-letters.jsonl")
            assert (summary.documents, summary.sources) == (2, 2)
            assert corpus.ingest([calls]).sources_unchanged == 2
            best = corpus.search(PHRASES, fusion="cosine")
            mined = corpus.mine(PHRASES, threshold=0.5)
            found.append(
                [[(h.doc_id, h.start, h.end, h.phrase) for h in hits] for hits in (best, mined)]
            )
            assert best[0].text in corpus.text(best[0].doc_id)
            assert corpus.info().documents == 2
    assert found[0] == found[1]
    assert all(found[0])


def test_a_toy_store_is_opened_with_its_encoder(encoder: SpanEncoder) -> None:
    assert not store_exists("toy://new")
    create_store("toy://new", NewStore(encoder.card, 64))
    assert open_store("TOY://new".lower(), encoder.card).info().max_pieces == 64
    assert find_backend("toy://new").login("toy://new") is None
    with Corpus("toy://new") as corpus:
        assert str(corpus.default_dead_letters) == "dead-letters.jsonl"
        corpus.add([Document("1", "end my plan")])
        assert corpus.encoder.card == encoder.card
        with pytest.raises(InputError, match="'server' needs"):
            corpus.search("cancel", fusion="server")


def test_an_unknown_scheme_is_refused_without_repeating_it() -> None:
    with pytest.raises(StoreError, match=r"form nowhere://…; use a folder, http://…") as error:
        find_backend("nowhere://me:secret@host/calls")
    assert "secret" not in str(error.value)


def test_every_fusion_of_the_registry_ranks(encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "s", encoder) as corpus:
        corpus.add([Document("1", "end my plan"), Document("2", "the weather is nice")])
        for fusion in FUSIONS:
            assert corpus.search("cancel my plan", fusion=fusion)[0].doc_id == "1"
        with pytest.raises(
            InputError, match="no fusion 'sum'; there are convex, rrf, cosine, server"
        ):
            corpus.search("x", fusion="sum")
