"""Stores and their writers, as protocols; kinds of stores, and shares of the work of loading."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import InputError
from slice_os.query.options import SearchOptions
from slice_os.query.query import Query
from slice_os.spans.passages import DocumentPart
from slice_os.stores.candidates import BestPassages, ScoredCandidates
from slice_os.text.documents import Document, Metadata

MOST_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class WorkShare:
    """One of several parts into which sources are divided; by default everything.

    A hash of a file's path below the folder that was given decides, so every worker knows its
    sources without asking the others. All workers must therefore give the same paths.

    Attributes:
        number: of this part, from 1.
        total: number of parts.

    Raises an `InputError` if there is no such part.
    """

    number: int = 1
    total: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.total <= MOST_PARTS:
            raise InputError(
                f"no part {self}: give NUMBER/TOTAL, such as 3/16, with NUMBER from 1 to TOTAL, "
                f"and TOTAL at most {MOST_PARTS:,}"
            )

    @classmethod
    def parse(cls, text: str) -> WorkShare:
        """Read ``NUMBER/TOTAL``, such as ``3/16``.

        Raises an `InputError` if the text has another form, or there is no such part.
        """
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if not found:
            raise InputError(f"part {text!r}: give NUMBER/TOTAL, such as 3/16")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def holds(self, path: str) -> bool:
        """Whether a file belongs to this part, by its path below the folder that was given."""
        digest = hashlib.sha256(path.encode()).digest()
        return int.from_bytes(digest, "big") % self.total == self.number - 1

    def all(self) -> list[WorkShare]:
        """The parts of the same division, this one included."""
        return [WorkShare(number, self.total) for number in range(1, self.total + 1)]


WHOLE = WorkShare()


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Counts of a store, and the encoder it was made with.

    Attributes:
        location: folder or address.
        schema_version: version of the stored format.
        encoder: card of the encoder that made its vectors.
        max_pieces: word pieces that a passage holds at most.
        pieces: number of token vectors.
        size_bytes: disk space it takes.
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
    """A document as a store knows it, without its passages.

    Attributes:
        source: the file it came from, or empty.
        fingerprint: of its content; see `Document.fingerprint`.
    """

    source: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document, its source (empty if a program added it), and the number of its passages."""

    id: str
    source: str
    passages: int


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source, its name empty for what programs added, and the number of its documents."""

    name: str
    documents: int


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value of a field, as filters have it, and how many documents have it in any passage."""

    value: str
    documents: int


@dataclass(frozen=True, slots=True)
class Rejection:
    """A document that the store rejected, and why; nothing of it is stored."""

    document: Document
    reason: str


class Writer(Protocol):
    """Writes documents; complete ones stay, even if the process is stopped."""

    @property
    def retries(self) -> int:
        """Requests that had to be sent again."""

    def write(self, part: DocumentPart) -> Sequence[Rejection]:
        """Store the next part of a document, replacing an earlier document with its id.

        Returns the documents that turned out to be rejected since the last call.
        """

    def flush(self) -> Sequence[Rejection]:
        """Wait until everything written is stored; returns the documents rejected meanwhile."""

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents with all their passages; returns how many were found."""

    def assign(self, doc_ids: Iterable[str], source: str) -> None:
        """Note that stored documents come from another source than before."""

    def finish_source(self, source: str, signature: str) -> None:
        """Note the state of a source that was read, once everything written before is stored."""

    def forget_source(self, source: str) -> None:
        """Delete what an earlier writer noted about a source; its documents stay."""


class Store(Protocol):
    """A place to write passages to, and to read scored candidates from."""

    @property
    def exhaustive(self) -> bool:
        """Whether `rank` scores every passage, however few candidates are requested."""

    @property
    def folder(self) -> Path | None:
        """The folder of a store on this machine's disk; None for others."""

    def check_encoder(self, card: ModelCard) -> None:
        """Refuse any encoder but the one that made the store's vectors.

        Raises an `EncoderMismatchError`, naming both.
        """

    def info(self) -> StoreInfo:
        """Counts and encoder."""

    def writer(self, part: WorkShare = WHOLE) -> AbstractContextManager[Writer]:
        """A writer of a part of the sources; one at a time.

        A store may admit writers with different parts of the same division at the same time.
        """

    def find_documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        """Those of the documents that are stored."""

    def document_ids(self, *sources: str) -> set[str]:
        """Ids of the documents that came from one of the sources."""

    def source_signatures(self, sources: Iterable[str]) -> dict[str, str]:
        """The signatures under which sources were last read; those never read are missing."""

    def list_documents(self, after: str = "") -> Iterator[DocumentEntry]:
        """The documents whose ids come after one, by id."""

    def list_sources(self) -> Iterator[SourceEntry]:
        """All sources that have documents, by name."""

    def document_text(self, doc_id: str) -> str | None:
        """The text of a document exactly as given, or None if the id is unknown."""

    def document_metadata(self, doc_id: str) -> Metadata | None:
        """The metadata of a document, or None if the id is unknown."""

    def fields(self) -> dict[str, str]:
        """The metadata fields that filters can name, each ``text`` or ``number``."""

    def field_values(self, field: str, limit: int | None) -> list[FieldValue]:
        """The most frequent values of a metadata field; all of them without a limit.

        Raises an `InputError` if no passage has such a field.
        """

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        """Score at least the ``num_candidates`` best passages by cosine and by BM25."""

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[ScoredCandidates]:
        """Score passages, some at a time, and return those at or above a threshold.

        Args:
            query: what to look for.
            threshold: least cosine of a passage's best span, for any of the phrases.
            exhaustive: score every passage, so that none is missed; otherwise only those that an
                index of spans proposes, if the store has one.

        Yields candidates in stored order.
        """

    def close(self) -> None:
        """Release files or connections."""


@runtime_checkable
class FusingStore(Protocol):
    """A store that can also fuse cosine and BM25 by itself."""

    def rank_fused(self, query: Query, num_candidates: int) -> tuple[ScoredCandidates, FloatArray]:
        """The ``num_candidates`` passages that its own fusion ranks first, and their scores.

        These are ``(n_phrases, n_passages)``, ``-inf`` where a phrase does not rank a passage.
        """


@runtime_checkable
class ScoringStore(Protocol):
    """A store that can score, fuse and place spans by itself."""

    def best_passages(self, query: Query, wanted: SearchOptions) -> BestPassages | None:
        """The best passages; None if this search has to go through `Store.rank`."""


@runtime_checkable
class RemoteStore(Protocol):
    """A store whose scores may be made elsewhere.

    Attributes:
        engine: name of the server's product.
    """

    engine: str

    def scored_by(self) -> str:
        """What makes the scores, tried on one passage: ``client``, ``native`` or ``painless``."""


@runtime_checkable
class ReplaceableStore(Protocol):
    """A store whose location may come to stand for another one.

    Attributes:
        asks_server: whether it takes a request to know, so that it is not asked each time.
    """

    asks_server: bool

    def replaced(self) -> bool:
        """Whether its location stands for another store since this one was opened.

        Then it can be read at most, and not be written.
        """


@dataclass(frozen=True, slots=True)
class KeptDocument(Document):
    """A document as it is stored, with the fingerprint that it was written with."""

    kept: str = ""

    @property
    def fingerprint(self) -> str:
        """That of the document that was ingested, with segments that are not kept."""
        return self.kept


@runtime_checkable
class CopyableStore(Protocol):
    """A store that can be read as it was written."""

    def stored_documents(self) -> Iterator[DocumentPart]:
        """All documents by id, each a `KeptDocument` with all its passages and their vectors."""


@dataclass(frozen=True, slots=True)
class NewStore:
    """The properties of a new store, for vectors of the encoder with that card.

    A passage has at most so many word pieces. The projection is that of the encoder, ``(dimension,
    dimension)``; None if it has none. Options are of one kind of store, such as `IndexOptions`;
    others ignore them.
    """

    card: ModelCard
    max_pieces: int
    projection: FloatArray | None = None
    options: object | None = None


class Backend(ABC):
    """One kind of store: how to find, make and open stores at locations of its form."""

    @abstractmethod
    def exists(self, location: str) -> bool:
        """Whether there is a store."""

    @abstractmethod
    def open(self, location: str) -> Store:
        """Open the store.

        Raises a `StoreError` if there is none, or a newer version made it.
        """

    @abstractmethod
    def create(self, location: str, new: NewStore) -> None:
        """Make an empty store.

        Raises a `StoreError` if that is not possible.
        """

    def folder(self, location: str) -> Path | None:
        """The folder of a store on this machine's disk; None for others."""
        return None

    def login(self, location: str) -> str | None:
        """The user who logs in with a password, as in ``ann at https://host:9200``, or None."""
        return None
