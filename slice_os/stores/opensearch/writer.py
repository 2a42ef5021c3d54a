"""Writing documents to an index, so that each is there as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from opensearchpy import OpenSearch

from slice_os.documents import Document
from slice_os.passages import DocumentPart
from slice_os.stores.base import Rejection
from slice_os.stores.opensearch.bulk import BulkSender, Outcome, delete_action, index_action
from slice_os.stores.opensearch.indices import errors_explained
from slice_os.stores.opensearch.records import (
    document_key,
    document_source,
    passage_key,
    passage_source,
    source_key,
)
from slice_os.stores.opensearch.settings import IndexSettings

LOOKUP_DOCUMENTS = 64
LOOKUP_PIECES = 8_192


@dataclass(slots=True)
class _Open:
    """A document under way.

    Attributes:
        document: the document.
        former: passages that a former version has.
        passages: passages queued so far.
        position: end of the last of them.
        whole: whether all passages are queued.
        unanswered: actions queued and not answered.
        reason: why an action was refused.
        recorded: whether the record that makes it count is queued.
    """

    document: Document
    former: int
    passages: int = 0
    position: int = 0
    whole: bool = False
    unanswered: int = 0
    reason: str = ""
    recorded: bool = False


@dataclass(slots=True)
class _Finished:
    """A source whose record waits for the documents queued before it."""

    source: str
    signature: str
    waiting_for: set[int] = field(default_factory=set)


class OpenSearchWriter:
    """The writer of an OpenSearch store; made by `OpenSearchStore.writer`.

    Passages go first, under ids that the next run would use again; the record that makes the
    document count goes when all of them are stored, and with it go the passages that only the
    former version had.
    """

    def __init__(
        self, client: OpenSearch, index: str, location: str, settings: IndexSettings
    ) -> None:
        self._client = client
        self._index = index
        self._location = location
        self._settings = settings
        self._sender = BulkSender(client, index, location)
        self._parts: list[DocumentPart] = []
        self._open: dict[int, _Open] = {}
        self._current: int | None = None
        self._number = 0
        self._finished: list[_Finished] = []
        self._failed_sources: set[str] = set()
        self._rejections: list[Rejection] = []

    @property
    def retries(self) -> int:
        """Requests that had to be sent again."""
        return self._sender.retries

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        """Store the next part of a document; see `Writer.write`."""
        self._parts.append(part)
        pieces = sum(len(p.vectors) for waiting in self._parts for p in waiting.passages)
        if pieces >= LOOKUP_PIECES or len(self._parts) >= LOOKUP_DOCUMENTS:
            self._queue_parts()
        self._settle(self._sender.outcomes())
        return self._take_rejections()

    def flush(self) -> Sequence[Rejection]:
        """Wait until all that was written is stored; see `Writer.flush`."""
        self._queue_parts()
        while self._unanswered():
            self._settle(self._sender.outcomes(wait=True))
        self._settle(self._sender.outcomes(wait=True))
        return self._take_rejections()

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents with all their passages; returns how many there were."""
        deleted = 0
        remaining = iter(doc_ids)
        while batch := list(islice(remaining, LOOKUP_DOCUMENTS)):
            for doc_id, passages in self._former(batch).items():
                for ordinal in range(passages):
                    self._sender.add(delete_action(-1, passage_key(doc_id, ordinal)))
                self._sender.add(delete_action(-1, document_key(doc_id)))
                deleted += 1
        return deleted

    def finish_source(self, source: str, signature: str) -> None:
        """Note that a source has been read; see `Writer.finish_source`."""
        self._queue_parts()
        waiting = {
            number for number, state in self._open.items() if state.document.source == source
        }
        self._finished.append(_Finished(source, signature, waiting))
        self._finish_sources()

    def close(self) -> None:
        """Give up what is not complete."""
        self._sender.close()

    def _queue_parts(self) -> None:
        fresh = [
            part.document.id
            for position, part in enumerate(self._parts)
            if (position == 0 and self._current is None)
            or (position > 0 and self._parts[position - 1].last)
        ]
        former = self._former(fresh) if fresh else {}
        for part in self._parts:
            if self._current is None:
                self._number += 1
                self._current = self._number
                self._open[self._current] = _Open(part.document, former.get(part.document.id, 0))
            self._queue(self._current, part)
            if part.last:
                self._current = None
        self._parts = []

    def _queue(self, number: int, part: DocumentPart) -> None:
        state = self._open[number]
        text = part.document.text
        for passage in part.passages:
            gap = text[state.position : passage.start]
            source = passage_source(part.document, state.passages, passage, gap, self._settings)
            key = passage_key(part.document.id, state.passages)
            self._add(number, index_action(number, key, source))
            state.passages += 1
            state.position = passage.end
        if part.last:
            state.whole = True
            self._complete(number)

    def _add(self, number: int, action: Any) -> None:
        self._open[number].unanswered += 1
        self._sender.add(action)

    def _settle(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            state = self._open.get(outcome.owner)
            if state is None:
                continue
            state.unanswered -= 1
            state.reason = state.reason or outcome.reason
            self._complete(outcome.owner)

    def _complete(self, number: int) -> None:
        """Take a document one step on, once everything so far is answered."""
        state = self._open[number]
        if state.unanswered or not state.whole:
            return
        doc_id = state.document.id
        if state.recorded:
            del self._open[number]
            self._finish_sources(number)
        elif state.reason:
            for ordinal in range(max(state.passages, state.former)):
                self._sender.add(delete_action(-1, passage_key(doc_id, ordinal)))
            self._sender.add(delete_action(-1, document_key(doc_id)))
            self._rejections.append(Rejection(state.document, state.reason))
            self._failed_sources.add(state.document.source)
            del self._open[number]
            self._finish_sources(number)
        else:
            state.recorded = True
            for ordinal in range(state.passages, state.former):
                self._add(number, delete_action(number, passage_key(doc_id, ordinal)))
            tail = state.document.text[state.position :]
            record = document_source(state.document, state.passages, tail)
            self._add(number, index_action(number, document_key(doc_id), record))

    def _finish_sources(self, number: int | None = None) -> None:
        waiting = []
        for finished in self._finished:
            finished.waiting_for.discard(number or 0)
            if finished.waiting_for:
                waiting.append(finished)
            elif finished.source not in self._failed_sources:
                record = {
                    "kind": "source",
                    "source": finished.source,
                    "signature": finished.signature,
                }
                self._sender.add(index_action(-1, source_key(finished.source), record))
        self._finished = waiting

    def _former(self, doc_ids: Sequence[str]) -> dict[str, int]:
        """Passages of those documents that are stored; read by id, so refreshed or not."""
        with errors_explained(self._location):
            found = self._client.mget(
                index=self._index,
                body={"ids": [document_key(doc_id) for doc_id in doc_ids]},
                _source=["doc_id", "passages"],
            )["docs"]
        return {
            answer["_source"]["doc_id"]: answer["_source"]["passages"]
            for answer in found
            if answer.get("found")
        }

    def _unanswered(self) -> bool:
        return any(state.unanswered for state in self._open.values())

    def _take_rejections(self) -> Sequence[Rejection]:
        taken, self._rejections = self._rejections, []
        return taken
