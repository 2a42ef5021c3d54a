"""Finding, and deleting, what a load that was cut off left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from slice_os.stores.opensearch.bulk import BulkSender, delete_action
from slice_os.stores.opensearch.handle import IndexHandle
from slice_os.stores.opensearch.paging import pages
from slice_os.stores.opensearch.records import passage_key

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Fault:
    """A document whose passages and record do not agree.

    Attributes:
        doc_id: the document.
        expected: passages that its record speaks of; 0 where there is no record.
        ordinals: passages that there are.
    """

    doc_id: str
    expected: int
    ordinals: tuple[int, ...]

    @property
    def surplus(self) -> tuple[int, ...]:
        """Passages that no record speaks of."""
        return tuple(ordinal for ordinal in self.ordinals if ordinal >= self.expected)

    @property
    def missing(self) -> int:
        """Passages that the record speaks of and that are not there."""
        return self.expected - (len(self.ordinals) - len(self.surplus))


def find_faults(handle: IndexHandle) -> Iterator[Fault]:
    """Compare the record of every document with its passages, in one state of the index."""
    entries = _entries(handle)
    for doc_id, group in groupby(entries, key=lambda entry: entry["doc_id"]):
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
    """Delete the passages that no record speaks of; returns how many there were."""
    surplus = [
        delete_action(0, passage_key(fault.doc_id, ordinal))
        for fault in find_faults(handle)
        for ordinal in fault.surplus
    ]
    with closing(BulkSender(handle)) as sender:
        sender.deliver(surplus)
    return len(surplus)


def _entries(handle: IndexHandle) -> Iterator[dict[str, Any]]:
    body: dict[str, Any] = {
        "size": PAGE,
        "query": {"terms": {"kind": ["document", "passage"]}},
        "sort": [{"doc_id": "asc"}, {"kind": "asc"}, {"ordinal": "asc"}],
        "_source": ["doc_id", "kind", "ordinal", "passages"],
    }
    handle.refresh()
    # Whole answers only: half of one would make good passages look as if no record spoke of them.
    for page in pages(handle, body):
        yield from (hit["_source"] for hit in page)
