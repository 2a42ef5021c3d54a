"""What every store can do, and the values that pass between stores and mining."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from slice_os.calibration import Calibration
from slice_os.documents import Document
from slice_os.model import ModelCard
from slice_os.passages import DocumentPart, EncodedPassage
from slice_os.spans import FloatArray

PassageKey: TypeAlias = Hashable
Where: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Phrases:
    """Origin phrases and their unit vectors.

    Attributes:
        texts: the phrases.
        vectors: ``(n_phrases, dimension)`` unit rows.
    """

    texts: tuple[str, ...]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class Query:
    """One question to a store.

    Attributes:
        phrases: what is looked for.
        where: metadata fields and the values that each may have; all must hold.
        min_words: shortest span that counts.
        max_words: longest span that counts.
        calibration: gives hits their probability; None where there is none.
    """

    phrases: Phrases
    where: Where = field(default_factory=dict)
    min_words: int = 1
    max_words: int = 20
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a store knows of some passages for each phrase.

    Attributes:
        keys: the store's own names of the passages.
        cosines: ``(n_phrases, n_passages)``, the exact maximum over all spans.
        bm25: ``(n_phrases, n_passages)``, 0 where no term of the phrase occurs.
        bm25_best: ``(n_phrases,)``, the highest BM25 of any passage that the query admits.
    """

    keys: Sequence[PassageKey]
    cosines: FloatArray
    bm25: FloatArray
    bm25_best: FloatArray


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as a store gives it back.

    Attributes:
        doc_id: its document.
        text: its text.
        encoded: its place, words and (quantised) vectors; metadata joins the document's.
    """

    doc_id: str
    text: str
    encoded: EncodedPassage


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
        """The text of a document exactly as given, or None where there is none of that id."""
        ...

    def rank(self, query: Query, depth: int) -> Evidence:
        """Evidence of at least the ``depth`` best passages by cosine and by BM25."""
        ...

    def sweep(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[Evidence]:
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

    def rank_fused(self, query: Query, depth: int) -> tuple[Evidence, FloatArray]:
        """Evidence of the ``depth`` passages that its own fusion puts first, and its scores.

        Returns:
            Evidence, and ``(n_phrases, n_passages)`` scores, ``-inf`` for those that the store
            did not rank for a phrase.
        """
        ...
