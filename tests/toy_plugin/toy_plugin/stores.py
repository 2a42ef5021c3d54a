"""A store in memory, which keeps the contract of stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from slice_os import ModelCard, StoreError
from slice_os.arrays import FloatArray
from slice_os.query.filter_values import parse_number
from slice_os.query.filters import DOCUMENT_ID, Condition, matcher, unknown_field
from slice_os.query.query import Query
from slice_os.spans.choice import PassageScorer
from slice_os.spans.passages import DocumentPart
from slice_os.stores.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.stores.protocol import (
    WHOLE,
    Backend,
    DocumentEntry,
    FieldValue,
    NewStore,
    Rejection,
    SourceEntry,
    Store,
    StoredDocument,
    StoreInfo,
    WorkShare,
)
from slice_os.text.documents import Metadata, field_text
from slice_os.text.words import find_words


class ToyStore:
    """Documents in a dictionary; every passage is scored for every phrase."""

    exhaustive = True
    folder: Path | None = None
    retries = 0

    def __init__(self, location: str, new: NewStore) -> None:
        self.location = location
        self.new = new
        self.parts: dict[str, list[DocumentPart]] = {}
        self.begun: list[DocumentPart] = []
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
        self.begun = []
        yield self

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        self.begun.append(part)
        if part.last:
            self.parts.pop(part.document.id, None)
            self.parts[part.document.id], self.begun = self.begun, []
        return ()

    def flush(self) -> Sequence[Rejection]:
        return ()

    def delete(self, doc_ids: Iterable[str]) -> int:
        return sum(self.parts.pop(doc_id, None) is not None for doc_id in doc_ids)

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
        found = [self.parts[key][0].document for key in doc_ids if key in self.parts]
        return {one.id: StoredDocument(one.source, one.fingerprint) for one in found}

    def document_ids(self, *sources: str) -> set[str]:
        return {key for key, parts in self.parts.items() if parts[0].document.source in sources}

    def source_signatures(self, sources: Iterable[str]) -> dict[str, str]:
        return {name: self.signatures[name] for name in sources if name in self.signatures}

    def list_documents(self, after: str = "") -> Iterator[DocumentEntry]:
        for key, parts in sorted(self.parts.items()):
            if key > after:
                passages = sum(len(part.passages) for part in parts)
                yield DocumentEntry(key, parts[0].document.source, passages)

    def list_sources(self) -> Iterator[SourceEntry]:
        counts = Counter(entry.source for entry in self.list_documents())
        yield from (SourceEntry(*item) for item in sorted(counts.items()))

    def document_text(self, doc_id: str) -> str | None:
        return self.parts[doc_id][0].document.text if doc_id in self.parts else None

    def document_metadata(self, doc_id: str) -> Metadata | None:
        return self.parts[doc_id][0].document.metadata if doc_id in self.parts else None

    def fields(self) -> dict[str, str]:
        values: dict[str, list[str]] = {}
        for passage in self.passages():
            for name, value in passage.encoded.metadata.items():
                values.setdefault(name, []).append(field_text(value))
        numbers = {
            name: all(parse_number(text) is not None for text in texts)
            for name, texts in values.items()
        }
        return {name: "number" if numbers[name] else "text" for name in sorted(numbers)}

    def field_values(self, field: str, limit: int | None) -> list[FieldValue]:
        if field not in self.fields():
            raise unknown_field(Condition(field, "eq", ()), self.fields(), self.location)
        pairs = {
            (passage.doc_id, field_text(passage.encoded.metadata[field]))
            for passage in self.passages()
            if field in passage.encoded.metadata
        }
        counts = Counter(value for _, value in pairs).items()
        found = sorted((FieldValue(*item) for item in counts), key=lambda one: one.value)
        return sorted(found, key=lambda one: -one.documents)[:limit]

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        everything = list(self.passages())
        for condition in query.where:
            if condition.field not in {DOCUMENT_ID, *self.fields()}:
                raise unknown_field(condition, self.fields(), self.location)
        admitted = [all(admits(one, p) for one in query.where) for p in everything]
        keys = np.flatnonzero(admitted)
        cosines = [PassageScorer(everything[key].encoded, query).best_cosines() for key in keys]
        shape = (len(keys), len(query.phrases.texts))
        scores = np.array([bm25(phrase, everything) for phrase in query.phrases.texts])[:, keys]

        def load(keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
            return {key: everything[key] for key in keys if isinstance(key, int)}

        return ScoredCandidates(
            keys=keys.tolist(),
            cosines=np.array(cosines, dtype=np.float32).reshape(shape).T,
            bm25=scores,
            bm25_best=scores.max(axis=1, initial=0),
            load=load,
        )

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[ScoredCandidates]:
        found = self.rank(query, 0).at_least(threshold)
        if found.keys:
            yield found

    def close(self) -> None:
        pass

    def passages(self) -> Iterator[StoredPassage]:
        for doc_id, parts in self.parts.items():
            for part in parts:
                for passage in part.passages:
                    metadata = {**part.document.metadata, **passage.metadata}
                    text = part.document.text[passage.start : passage.end]
                    yield StoredPassage(doc_id, text, replace(passage, metadata=metadata))


def admits(condition: Condition, passage: StoredPassage) -> bool:
    """Whether a condition holds for a passage."""
    if condition.field == DOCUMENT_ID:
        found = passage.doc_id in condition.values
    else:
        value = passage.encoded.metadata.get(condition.field)
        found = value is not None and matcher(condition)(field_text(value))
    return found != (condition.operator == "ne")


def bm25(phrase: str, passages: Sequence[StoredPassage]) -> FloatArray:
    """The BM25 of a phrase in passages whose length does not count."""
    counts = [Counter(terms(passage.text)) for passage in passages]
    scores = np.zeros(len(passages), dtype=np.float32)
    for term in terms(phrase):
        found = np.array([count[term] for count in counts], dtype=np.float32)
        scores += np.log1p(len(passages) / (1 + np.count_nonzero(found))) * found / (found + 1)
    return scores


def terms(text: str) -> list[str]:
    """The words of a text in small letters."""
    return [text[start:end].lower() for start, end in find_words(text)]


class ToyBackend(Backend):
    """Stores at ``toy://NAME``, gone when the process ends."""

    def __init__(self) -> None:
        self.stores: dict[str, ToyStore] = {}

    def exists(self, location: str) -> bool:
        return location in self.stores

    def open(self, location: str) -> Store:
        if location not in self.stores:
            raise StoreError(f"{location}: no store here")
        return self.stores[location]

    def create(self, location: str, new: NewStore) -> None:
        self.stores.setdefault(location, ToyStore(location, new))


BACKEND = ToyBackend()
