"""Writing documents to an index, each of them completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice

from slice_os.errors import StoreError
from slice_os.spans.passages import DocumentPart
from slice_os.stores.cluster.loading.bulk import (
    Action,
    BulkSender,
    Outcome,
    delete_action,
    index_action,
    update_action,
)
from slice_os.stores.cluster.loading.lease import Lease
from slice_os.stores.cluster.loading.loading import deletions, find_faults, loading
from slice_os.stores.cluster.schema.records import (
    LONGEST_ID,
    document_key,
    document_source,
    ordinals_of,
    passage_key,
    passage_source,
    source_key,
)
from slice_os.stores.cluster.schema.settings import IndexSettings
from slice_os.stores.cluster.search.listing import PAGE, find_records
from slice_os.stores.cluster.search.searches import pieces
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.protocol import WHOLE, Rejection, WorkShare
from slice_os.text.documents import Document

LOOKUP_DOCUMENTS = 64
LOOKUP_PIECES = 8_192
NOBODY = -1
# No document has as many passages; the field has 31 bits.
_ORDINALS = 1 << 30


@contextmanager
def writing(
    handle: IndexHandle, settings: IndexSettings, part: WorkShare = WHOLE
) -> Iterator[OpenSearchWriter]:
    """A writer, with the index prepared for a bulk load; see `loading`.

    Changes are searchable when the last process that loads the index has ended.

    Raises a `StoreError` if another process is writing the same part, or a part of another
    division.
    """
    with loading(handle, part) as lease, writing_in_load(handle, settings, lease) as writer:
        yield writer


@contextmanager
def writing_in_load(
    handle: IndexHandle, settings: IndexSettings, lease: Lease | None = None
) -> Iterator[OpenSearchWriter]:
    """A writer in a load that has begun, here or, without a lease, in another process."""
    check, confirm = (lease.check, lease.confirm) if lease else (lambda: None, lambda: None)
    sender = BulkSender(handle, confirm=confirm)
    writer = OpenSearchWriter(handle, settings, sender, check)
    try:
        with closing(sender):
            yield writer
            writer.flush()
    except BaseException as error:
        # If this fails, too, the next load does it for the whole index.
        with suppress(StoreError), closing(BulkSender(handle, 0, confirm)) as once:
            for doc_ids in pieces(writer.unfinished(), PAGE):
                for fault in find_faults(handle, doc_ids):
                    once.deliver(deletions(fault.doc_id, fault.surplus))
            if lease is not None:
                lease.clean = sender.is_settled and not isinstance(error, StoreError)
        raise


@dataclass(slots=True)
class _Open:
    """A document in progress: ordinals of an earlier version, and of the passages queued so far.

    The reason is why the index rejects it; empty if it does not. The position is the end of the
    last passage. It is whole once all passages are queued, then it is recorded, and at last it is
    cleared of what does not count; some actions are unanswered.
    """

    document: Document
    former: range
    passages: range
    reason: str = ""
    position: int = 0
    whole: bool = False
    recorded: bool = False
    cleared: bool = False
    unanswered: int = 0


class OpenSearchWriter:
    """The writer of an OpenSearch store; made by `writing`.

    A document counts by its record. New passages get ids after those of an earlier version, the
    same in every run. The new record replaces the earlier one once all of them are stored, and
    then the earlier passages are deleted. So whatever happens, the passages of a record exist, and
    passages that no record counts can be deleted. Methods are those of `Writer`.
    """

    def __init__(
        self,
        handle: IndexHandle,
        settings: IndexSettings,
        sender: BulkSender,
        check: Callable[[], None],
    ) -> None:
        self._handle = handle
        self._settings = settings
        self._sender = sender
        self._check = check
        self._parts: list[DocumentPart] = []
        self._open: dict[int, _Open] = {}
        self._deleting: dict[str, range] = {}
        self._ids: set[str] = set()
        self._current: int | None = None
        self._number = 0
        # Records of sources, each with the numbers of the documents that it waits for.
        self._finished: list[tuple[dict[str, str], set[int]]] = []
        self._failed_sources: set[str] = set()
        self._rejections: list[Rejection] = []

    @property
    def retries(self) -> int:
        return self._sender.retries

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        self._check()
        begins = self._parts[-1].last if self._parts else self._current is None
        if begins:
            self._settle_ids([part.document.id])
            self._ids.add(part.document.id)
        self._parts.append(part)
        pieces = sum(len(p.vectors) for waiting in self._parts for p in waiting.passages)
        if pieces >= LOOKUP_PIECES or len(self._parts) >= LOOKUP_DOCUMENTS:
            self._queue_parts()
        self._settle(self._sender.outcomes())
        return self._take_rejections()

    def flush(self) -> Sequence[Rejection]:
        self._check()
        self._wait()
        return self._take_rejections()

    def delete(self, doc_ids: Iterable[str]) -> int:
        deleted = 0
        for batch in self._settled(doc_ids):
            self._deleting = former = self._former(batch)
            self._sender.deliver([delete_action(NOBODY, document_key(doc_id)) for doc_id in former])
            places = [(doc_id, ordinal) for doc_id in former for ordinal in former[doc_id]]
            self._sender.deliver([delete_action(NOBODY, passage_key(*place)) for place in places])
            self._deleting = {}
            deleted += len(former)
        return deleted

    def assign(self, doc_ids: Iterable[str], source: str) -> None:
        fields = {"source": source}
        for batch in self._settled(doc_ids):
            keys = map(document_key, batch)
            self._sender.deliver([update_action(NOBODY, key, fields) for key in keys])

    def finish_source(self, source: str, signature: str) -> None:
        self._queue_parts()
        waiting = {n for n, state in self._open.items() if state.document.source == source}
        record = {"kind": "source", "source": source, "signature": signature}
        self._finished.append((record, waiting))
        self._finish_sources()

    def forget_source(self, source: str) -> None:
        self._check()
        self._sender.deliver([delete_action(NOBODY, source_key(source))])

    def unfinished(self) -> list[str]:
        """The ids of documents of which passages may be stored that no record counts."""
        return [*self._deleting, *(state.document.id for state in self._open.values())]

    def _settled(self, doc_ids: Iterable[str]) -> Iterator[Sequence[str]]:
        """Ids in batches, none of a document in progress."""
        self._check()
        remaining = iter(doc_ids)
        while batch := list(islice(remaining, LOOKUP_DOCUMENTS)):
            self._settle_ids(batch)
            yield batch

    def _settle_ids(self, doc_ids: Sequence[str]) -> None:
        """Wait for documents in progress, so that no request overtakes another with the same id."""
        if not self._ids.isdisjoint(doc_ids):
            self._wait()

    def _wait(self) -> None:
        self._queue_parts()
        self._settle(self._sender.outcomes(wait=True))

    def _queue_parts(self) -> None:
        starts = [self._current is None, *(part.last for part in self._parts)]
        fresh = [part.document.id for part, new in zip(self._parts, starts, strict=False) if new]
        former = self._former(fresh)
        for part in self._parts:
            if self._current is None:
                self._current = self._begin(part.document, former.get(part.document.id, range(0)))
            self._queue(self._current, part)
            if part.last:
                self._current = None
        self._parts = []

    def _begin(self, document: Document, former: range) -> int:
        self._number += 1
        first = former.stop % _ORDINALS
        state = self._open[self._number] = _Open(document, former, range(first, first))
        if len(document.id) > LONGEST_ID:
            state.reason = f"its id has {len(document.id)} characters; {LONGEST_ID} are possible"
        return self._number

    def _queue(self, number: int, part: DocumentPart) -> None:
        state = self._open[number]
        text = part.document.text
        for passage in () if state.reason else part.passages:
            gap = text[state.position : passage.start]
            ordinal = state.passages.stop
            source = passage_source(part.document, ordinal, passage, gap, self._settings)
            state.passages = range(state.passages.start, ordinal + 1)
            key = passage_key(part.document.id, ordinal)
            self._add(number, index_action(number, key, source))
            state.position = passage.end
        if part.last:
            state.whole = True
            self._advance(number)

    def _add(self, number: int, action: Action) -> None:
        self._open[number].unanswered += 1
        self._sender.add(action)

    def _settle(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.owner == NOBODY:
                if outcome.reason:
                    raise StoreError(f"{self._handle.location}: the server says {outcome.reason}")
                continue
            state = self._open[outcome.owner]
            state.unanswered -= 1
            state.reason = state.reason or outcome.reason
            self._advance(outcome.owner)

    def _advance(self, number: int) -> None:
        """Take a document one step further, once everything so far is answered."""
        state = self._open[number]
        if state.unanswered or not state.whole:
            return
        if not (state.reason or state.recorded):
            state.recorded = True
            tail = state.document.text[state.position :]
            record = document_source(state.document, state.passages, tail)
            self._add(number, index_action(number, document_key(state.document.id), record))
        elif not state.cleared:
            state.cleared = True
            # Of a document that the index rejects, the earlier version stays.
            for ordinal in state.passages if state.reason else state.former:
                self._add(number, delete_action(number, passage_key(state.document.id, ordinal)))
        if not state.unanswered:
            self._close(number, state)

    def _close(self, number: int, state: _Open) -> None:
        del self._open[number]
        self._ids.discard(state.document.id)
        if state.reason:
            self._rejections.append(Rejection(state.document, state.reason))
            self._failed_sources.add(state.document.source)
        for _, waiting in self._finished:
            waiting.discard(number)
        self._finish_sources()

    def _finish_sources(self) -> None:
        for record, waiting in self._finished:
            if not waiting and record["source"] not in self._failed_sources:
                self._sender.add(index_action(NOBODY, source_key(record["source"]), record))
        self._finished = [(record, waiting) for record, waiting in self._finished if waiting]

    def _former(self, doc_ids: Sequence[str]) -> dict[str, range]:
        """The ordinals of those of the documents that are stored."""
        records = find_records(self._handle, list(map(document_key, doc_ids)))
        return {record["doc_id"]: ordinals_of(record) for record in records}

    def _take_rejections(self) -> Sequence[Rejection]:
        taken, self._rejections = self._rejections, []
        return taken
