"""What every store can do, and the values that pass between stores and mining."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from slice_os.arrays import FloatArray
from slice_os.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.documents import Document
from slice_os.model import ModelCard
from slice_os.passages import DocumentPart
from slice_os.query import Query


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Counts of a store and what its passages were made with.

    Attributes:
        location: folder or address.
        schema_version: layout of the store.
        encoder: card of the encoder whose vectors it holds.
        max_pieces: word pieces that a passage holds.
        documents: documents stored.
        passages: passages stored.
        words: words stored.
        pieces: token vectors stored.
        size_bytes: what the store takes.
    """

    location: str
    schema_version: int
    encoder: ModelCard
    max_pieces: int
    documents: int
    passages: int
    words: int
    pieces: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What a store knows of a document besides its passages.

    Attributes:
        source: the file it came from, or empty.
        fingerprint: of its content; see `Document.fingerprint`.
    """

    source: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """A document that the store would not take, and why; nothing of it is stored."""

    document: Document
    reason: str


class Writer(Protocol):
    """Writes documents; what is complete stays, also when the process is stopped.

    Attributes:
        retries: requests that had to be sent again.
    """

    @property
    def retries(self) -> int:
        """Requests that had to be sent again."""
        ...

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        """Store the next part of a document, replacing a former document of its id.

        Returns:
            Documents that turned out to be rejected since the last call.
        """
        ...

    def flush(self) -> Sequence[Rejection]:
        """Wait until all that was written is stored; returns what was rejected since."""
        ...

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents with all their passages; returns how many there were."""
        ...

    def finish_source(self, source: str, signature: str) -> None:
        """Note, once all that was written before is stored, that a source has been read.

        The signature names the state that the source was in.
        """
        ...


class Store(Protocol):
    """A place that passages are written to and evidence is read from."""

    @property
    def exhaustive(self) -> bool:
        """Whether `rank` gives evidence of every passage, whatever the depth."""
        ...

    def check_encoder(self, card: ModelCard) -> None:
        """Refuse another encoder than the one that made the store's vectors.

        Raises:
            EncoderMismatchError: naming both.
        """
        ...

    def info(self) -> StoreInfo:
        """Counts and encoder."""
        ...

    def writer(self) -> AbstractContextManager[Writer]:
        """A writer; one at a time."""
        ...

    def documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        """Those of the documents that are stored."""
        ...

    def documents_of(self, source: str) -> set[str]:
        """Ids of the documents that came from a source."""
        ...

    def source_signature(self, source: str) -> str | None:
        """The signature under which a source was last read to its end, if it was."""
        ...

    def document_text(self, doc_id: str) -> str | None:
        """The text of a document exactly as given, or None if there is none of that id."""
        ...

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        """Evidence of at least the ``num_candidates`` best passages by cosine and by BM25."""
        ...

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[ScoredCandidates]:
        """Evidence of passages with a span at or above the threshold, in stored order.

        Args:
            query: what to look for.
            threshold: least cosine.
            exhaustive: score every passage, and so miss none; else those that an index of
                spans proposes, where the store has one.
        """
        ...

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages of these keys; one deleted meanwhile is left out."""
        ...

    def close(self) -> None:
        """Let go of files or connections."""
        ...


@runtime_checkable
class FusingStore(Protocol):
    """A store that can also fuse cosine and BM25 by itself."""

    def rank_fused(self, query: Query, num_candidates: int) -> tuple[ScoredCandidates, FloatArray]:
        """The ``num_candidates`` passages that its own fusion puts first, and its scores.

        Returns:
            Evidence, and ``(n_phrases, n_passages)`` scores, ``-inf`` for those that the store
            did not rank for a phrase.
        """
        ...
