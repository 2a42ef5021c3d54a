"""Finding, and deleting, what an interrupted load left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from slice_os.stores.opensearch.loading.bulk import BulkSender, delete_action
from slice_os.stores.opensearch.schema.records import passage_key
from slice_os.stores.opensearch.search.listing import PAGE, hits
from slice_os.stores.opensearch.search.searches import Body
from slice_os.stores.opensearch.server.connection import IndexHandle


@dataclass(frozen=True, slots=True)
class Fault:
    """A document whose passages do not match its record.

    Its record expects so many, 0 if it has none; ordinals are of the passages that exist.
    """

    doc_id: str
    expected: int
    ordinals: tuple[int, ...]

    @property
    def surplus(self) -> tuple[int, ...]:
        """Ordinals of passages that are not in a record."""
        return tuple(ordinal for ordinal in self.ordinals if ordinal >= self.expected)

    @property
    def missing(self) -> int:
        """Number of passages that are in the record but do not exist."""
        return self.expected - (len(self.ordinals) - len(self.surplus))


def find_faults(handle: IndexHandle) -> Iterator[Fault]:
    """Compare every document's record with its passages, in one state of the index."""
    body: Body = {
        "size": PAGE,
        "query": {"terms": {"kind": ["document", "passage"]}},
        "sort": [{"doc_id": "asc"}, {"kind": "asc"}, {"ordinal": "asc"}],
        "_source": ["doc_id", "kind", "ordinal", "passages"],
    }
    handle.refresh()
    # Complete answers only: with partial ones, good passages could seem to have no record.
    entries = (hit["_source"] for hit in hits(handle, body))
    for doc_id, group in groupby(entries, key=itemgetter("doc_id")):
        expected, ordinals = 0, []
        for entry in group:
            if entry["kind"] == "document":
                expected = entry["passages"]
            else:
                ordinals.append(entry["ordinal"])
        fault = Fault(doc_id, expected, tuple(sorted(ordinals)))
        if fault.surplus or fault.missing:
            yield fault


def repair(handle: IndexHandle) -> int:
    """Delete the passages that are not in a record; returns how many were found."""
    faults = find_faults(handle)
    surplus = [passage_key(f.doc_id, ordinal) for f in faults for ordinal in f.surplus]
    delete_keys(handle, surplus)
    return len(surplus)


def delete_keys(handle: IndexHandle, keys: Iterable[str]) -> None:
    """Delete records by their ids, those that exist."""
    with closing(BulkSender(handle)) as sender:
        sender.deliver([delete_action(0, key) for key in keys])
