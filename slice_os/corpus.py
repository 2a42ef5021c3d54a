"""A corpus: a store and the encoder that belongs to it, in one object for applications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType

from slice_os.documents import Document
from slice_os.encoder import SpanEncoder
from slice_os.errors import InputError, StoreError
from slice_os.ingest.passages import DEFAULT_MAX_PIECES, encode_documents
from slice_os.ingest.pipeline import Progress, Summary, ingest_sources
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.sources import Format, find_sources
from slice_os.mining import make_query, mine, search
from slice_os.model import BUNDLED, read_card
from slice_os.results import Hit, Hits
from slice_os.stores import create_store, is_remote, open_store, store_exists
from slice_os.stores.base import Rejection, Store, StoreInfo
from slice_os.stores.opensearch.settings import IndexOptions

Filter = Mapping[str, str | Sequence[str]]


class Corpus:
    """Documents that can be searched for paraphrases.

    Example:
        >>> with Corpus("calls.slice") as calls:
        ...     calls.add([Document("1", "Please end my plan today, I no longer need it.")])
        ...     for hit in calls.search("I want to cancel my subscription"):
        ...         hit.text, hit.cosine

    Args:
        store: folder of a local store, or ``http(s)://[user@]host[:port]/index``; made by the
            first `add` or `ingest` where there is none.
        encoder: an encoder, or the model to load; None for the one the store was made with, or
            the bundled default for a new store.
        max_pieces: word pieces that a passage of a new store holds.
        index: how an index is made where there is none, for a store in OpenSearch.

    Raises:
        EncoderMismatchError: where the store was made with another encoder.
    """

    def __init__(
        self,
        store: str | Path,
        encoder: SpanEncoder | str | Path | None = None,
        max_pieces: int | None = None,
        index: IndexOptions | None = None,
    ) -> None:
        self._index = index
        self._location = store
        self._encoder = encoder
        self._max_pieces = max_pieces

    @cached_property
    def encoder(self) -> SpanEncoder:
        """The encoder; loaded when it is first needed."""
        if isinstance(self._encoder, SpanEncoder):
            return self._encoder
        if self._encoder is None and store_exists(self._location):
            return SpanEncoder(_bundled_model(open_store(self._location)))
        return SpanEncoder(self._encoder)

    @cached_property
    def store(self) -> Store:
        """The store; opened when it is first needed.

        Raises:
            StoreError: where there is none yet.
        """
        card = None if self._encoder is None else self.encoder.card
        store = open_store(self._location, card)
        made_with = store.info().max_pieces
        if self._max_pieces not in (None, made_with):
            raise StoreError(
                f"{self._location}: was made with passages of {made_with} word pieces, "
                f"not {self._max_pieces}; leave that out, or ingest into a new store"
            )
        return store

    def add(self, documents: Iterable[Document]) -> int:
        """Store documents, replacing those with a known id; returns how many there were.

        Raises:
            StoreError: where OpenSearch would not take some of them; the others are stored.
        """
        added = 0
        rejected: list[Rejection] = []
        store = self._for_writing()
        with store.writer() as writer:
            for part in encode_documents(documents, self.encoder, store.info().max_pieces):
                rejected += writer.write(part)
                added += part.last
            rejected += writer.flush()
        if rejected:
            first = rejected[0]
            raise StoreError(
                f"{self._location}: {len(rejected)} of {added} documents not taken, "
                f"first {first.document.id!r}: {first.reason}"
            )
        return added

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents; returns how many of them there were."""
        with self.store.writer() as writer:
            return writer.delete(doc_ids)

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        options: ReadOptions | None = None,
        read_as: Format | None = None,
        dead_letters: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Summary:
        """Read files, folders and globs into the store; what is unchanged is passed over.

        Args:
            paths: files, folders, globs, or ``-`` for standard input.
            options: fields of JSON lines and CSV files.
            read_as: format of every file; None goes by the name's ending.
            dead_letters: a file for records that cannot be used; beside the store by default.
            progress: told of every source and document.

        Raises:
            InputError: where a path does not exist.
        """
        sources = find_sources(paths, read_as)
        return ingest_sources(
            self._for_writing(),
            self.encoder,
            sources,
            options=options or ReadOptions(),
            dead_letters=Path(dead_letters or self.default_dead_letters),
            progress=progress,
        )

    def search(
        self,
        phrases: str | Sequence[str],
        *,
        top_k: int = 10,
        offset: int = 0,
        threshold: float | None = None,
        where: Filter | None = None,
        fusion: str = "convex",
    ) -> Hits:
        """The best passages for any of the phrases, each with its best span.

        Args:
            phrases: one origin phrase, or several that mean the same.
            top_k: hits wanted.
            offset: hits to pass over first, for the next page.
            threshold: least cosine of a hit; None for any.
            where: metadata fields with the value, or the values, that they may have.
            fusion: ``convex``, ``rrf`` or ``cosine``.
        """
        query = make_query(self.encoder, phrases, _where(where))
        return search(
            self.store, query, top_k=top_k, offset=offset, threshold=threshold, fusion=fusion
        )

    def mine(
        self,
        phrases: str | Sequence[str],
        *,
        threshold: float | None = None,
        where: Filter | None = None,
    ) -> Hits:
        """Every span of every document at or above the threshold, without overlaps.

        Args:
            phrases: origin phrases; each is mined for itself.
            threshold: least cosine of a hit; None for the model's own.
            where: metadata fields with the value, or the values, that they may have.
        """
        least = self.encoder.card.threshold if threshold is None else threshold
        return Hits(tuple(self.iter_mine(phrases, threshold=least, where=where)), least)

    def iter_mine(
        self,
        phrases: str | Sequence[str],
        *,
        threshold: float | None = None,
        where: Filter | None = None,
    ) -> Iterator[Hit]:
        """The hits of `mine` one by one, for more than fit into memory."""
        query = make_query(self.encoder, phrases, _where(where))
        least = self.encoder.card.threshold if threshold is None else threshold
        yield from mine(self.store, query, threshold=least)

    def text(self, doc_id: str) -> str:
        """The text of a document, exactly as given; hits' offsets count its code points.

        Raises:
            InputError: where there is no such document.
        """
        text = self.store.document_text(doc_id)
        if text is None:
            raise InputError(f"{self._location}: no document {doc_id!r}")
        return text

    def info(self) -> StoreInfo:
        """Counts of the store and its encoder."""
        return self.store.info()

    @property
    def default_dead_letters(self) -> Path:
        """Where records that cannot be used go unless a file is named."""
        if is_remote(self._location):
            return Path("dead-letters.jsonl")
        return Path(self._location) / "dead-letters.jsonl"

    def close(self) -> None:
        """Close the store, if it was opened."""
        if "store" in self.__dict__:
            self.store.close()
            del self.__dict__["store"]

    def __enter__(self) -> Corpus:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _for_writing(self) -> Store:
        if not store_exists(self._location):
            max_pieces = self._max_pieces or DEFAULT_MAX_PIECES
            create_store(
                self._location, self.encoder.card, max_pieces, self._index, self.encoder.axes
            )
        return self.store


def _where(where: Filter | None) -> dict[str, list[str]]:
    return {
        field: [values] if isinstance(values, str) else list(values)
        for field, values in (where or {}).items()
    }


def _bundled_model(store: Store) -> Path:
    """The bundled model that made a store."""
    made_with = store.info()
    store.close()
    for folder in sorted(BUNDLED.iterdir()):
        if folder.is_dir() and read_card(folder).encoder_id == made_with.encoder.encoder_id:
            return folder
    raise StoreError(
        f"{made_with.location}: made with {made_with.encoder.name} "
        f"({made_with.encoder.encoder_id}), which is not bundled; name its folder as the model"
    )
