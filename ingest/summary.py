"""Counts of an ingest run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from slice_os.ingest.readers import BadRecord


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """Counts of an ingest run so far.

    Attributes:
        sources: read to their end.
        sources_unchanged: skipped, because they have not changed since they were read.
        sources_pruned: deleted, because their files are gone.
        documents: stored, new or changed.
        documents_unchanged: read, but already stored.
        documents_deleted: deleted, because their source no longer has them, or is gone.
        pieces: token vectors stored.
        bad_records: records that could not be used; all are in the dead letters.
        skipped: files that no reader knows, by extension.
        notes: what is special in the files that were read, such as ``insertions``, with its count.
        retries: requests sent again because the server was busy.
        bytes: size of the finished sources, skipped ones included, and of the parts of others that
            were read.
        bytes_unchanged: those of them that were already stored.
        seconds: time taken.
    """

    sources: int = 0
    sources_unchanged: int = 0
    sources_pruned: int = 0
    documents: int = 0
    documents_unchanged: int = 0
    documents_deleted: int = 0
    pieces: int = 0
    bad_records: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    retries: int = 0
    bytes: int = 0
    bytes_unchanged: int = 0
    seconds: float = 0.0


SummaryCallback: TypeAlias = Callable[[IngestSummary], None]
BadRecordCallback: TypeAlias = Callable[[BadRecord], None]
"""Takes what could not be used, and each `ReadNote`."""
