"""A corpus: a store and its encoder, in one object for applications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from slice_os.encoder.model_folder import made_by
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError, RejectedError, SliceError, StoreError
from slice_os.hits.document_hits import DocumentHits
from slice_os.hits.hit import Hit, Hits
from slice_os.ingest.decisions import reopen_sources
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.pipeline import (
    BadRecordCallback,
    Enrich,
    IngestSummary,
    SummaryCallback,
    ingest_sources,
)
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.readers.columnar import as_documents
from slice_os.ingest.sources import find_sources
from slice_os.query.filter_values import parse_date
from slice_os.query.filters import DATE, DOCUMENT_ID, Condition, value_key, without_dates
from slice_os.query.options import (
    DEFAULT_MINING,
    DEFAULT_SEARCH,
    HitOptions,
    MineKeywords,
    MineOptions,
    SearchKeywords,
    SearchOptions,
)
from slice_os.search.around import Turn, turns_of, units_of, with_around
from slice_os.search.listing import first_of_each, search_phrases
from slice_os.search.notebook import corpus_html, counted, ingest_bar
from slice_os.search.recording import without_password
from slice_os.search.refinement import Refinement, arranged, prepare, refinement
from slice_os.search.run import make_query, mine, search, without_terms
from slice_os.spans.passages import DEFAULT_MAX_PIECES
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.cluster.schema.settings import IndexOptions
from slice_os.stores.current import Current
from slice_os.stores.protocol import (
    DocumentEntry,
    FieldValue,
    NewStore,
    Rejection,
    SourceEntry,
    Store,
    StoreInfo,
    WorkShare,
)
from slice_os.stores.registry import Location, create_store, find_backend, open_store, store_exists
from slice_os.text.documents import Document, Metadata, checked_documents
from slice_os.text.numbered import Sections
from slice_os.threads import one_blas_thread
from slice_os.verifier.claims import Verifier

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")

DEAD_LETTERS = "dead-letters.jsonl"


class Corpus:
    """Documents that can be searched for paraphrases.

    Examples:
        >>> with Corpus("calls.slice") as calls:
        ...     calls.add([Document("1", "Please end my plan today, I no longer need it.")])
        ...     for hit in calls.search("I want to cancel my subscription"):
        ...         hit.text, hit.cosine

    Args:
        store: folder of a local store, or ``http(s)://[user@]host[:port]/index``, created by the
            first `add` or `ingest` if it does not exist; or an open store, such as an
            `OpenSearchStore` over your own client, which stays open when the corpus closes.
        encoder: an encoder, or the model to load; None for the one the store was made with, or
            the bundled default for a new store.
        max_pieces: word pieces that a passage of a new store holds at most, 8 to 1,024.
        index: options for a new index in OpenSearch.
        verifier: reads hits, or the name of one that does; None for the bundled one.

    Raises an `InputError` if ``max_pieces`` is out of range, and an `EncoderMismatchError` on first
    use, if the store was made with another encoder.
    """

    def __init__(
        self,
        store: Location | Store,
        encoder: SpanEncoder | str | Path | None = None,
        max_pieces: int | None = None,
        index: IndexOptions | None = None,
        verifier: Verifier | str | None = None,
    ) -> None:
        if max_pieces is not None and not 8 <= max_pieces <= 1024:
            raise InputError(f"passages hold 8 to 1,024 word pieces, not {max_pieces}")
        if not isinstance(store, (str, Path)) and not hasattr(store, "scan"):
            raise InputError(f"store {store!r}: give a folder, an address, or an open store")
        if isinstance(store, str):
            find_backend(store)  # refuses what is no address
        self._index = index
        self._source = store
        self._encoder = encoder
        self._verifier = verifier
        self._max_pieces = max_pieces
        # A store that was given stays the one.
        self._current = Current(self._opened, lambda one: None if one is store else one)

    @cached_property
    def encoder(self) -> SpanEncoder:
        """The encoder, loaded on first use."""
        if isinstance(self._encoder, SpanEncoder):
            return self._encoder
        if self._encoder is None and self._exists():
            made_with = self.store.info()
            return SpanEncoder(made_by(made_with.encoder, made_with.location))
        return SpanEncoder(self._encoder)

    @property
    def store(self) -> Store:
        """The store, opened on first use, and again once its location stands for another one.

        Raises a `StoreError` if it does not exist yet, and an `EncoderMismatchError` if another
        encoder made it than the one in use.
        """
        return self._current.get()

    def _opened(self) -> Store:
        source = self._source
        store = open_store(source) if isinstance(source, (str, Path)) else source
        if self._encoder is not None or "encoder" in self.__dict__:
            store.check_encoder(self.encoder.card)
        made_with = store.info().max_pieces
        if self._max_pieces not in (None, made_with):
            raise StoreError(
                f"{self._location}: was made with passages of {made_with} word pieces, "
                f"not {self._max_pieces}; omit that option, or ingest into a new store"
            )
        return store

    def search(
        self,
        phrases: str | Sequence[str],
        options: SearchOptions = DEFAULT_SEARCH,
        **changes: Unpack[SearchKeywords],
    ) -> Hits:
        """The best hits for any of the phrases: of each passage its best span, or several.

        Args:
            phrases: one origin phrase, or several that mean the same.
            options: a value that several searches share.
            changes: fields of `SearchOptions`, such as ``threshold`` and ``where``, for this
                search alone.

        Raises an `InputError` on no phrase, a value that an option cannot have, hits beyond the
        candidates, or a filter on an unknown field.
        """
        options = replace(options, **changes)
        query, refine = prepare(self.encoder, phrases, options, self._verifier)
        scored = refine.to_score(options, self.store.exhaustive)
        return refine.best(search(self.store, query, scored), options)

    def mine(
        self,
        phrases: str | Sequence[str],
        options: MineOptions = DEFAULT_MINING,
        **changes: Unpack[MineKeywords],
    ) -> Hits:
        """Every span of every document that reaches the cut, without overlaps.

        Args:
            phrases: origin phrases; each is mined on its own.
            options: a value that several searches share.
            changes: fields of `MineOptions`, such as ``threshold`` and ``where``, for this run
                alone.
        """
        options = replace(options, **changes)
        mined, refine = self._mined(phrases, options)
        exhaustive = options.exhaustive or self.store.exhaustive
        items = tuple(arranged(counted(refine.each(mined), "hits"), refine.options))
        return Hits(items, exhaustive=exhaustive, **refine.cut)

    def iter_mine(
        self,
        phrases: str | Sequence[str],
        options: MineOptions = DEFAULT_MINING,
        **changes: Unpack[MineKeywords],
    ) -> Generator[Hit, None, None]:
        """The hits of `mine` one by one, for more than fit into memory.

        An order, or ``collapse``, needs all of them before the first one.
        """
        mined, refine = self._mined(phrases, replace(options, **changes))
        yield from arranged(refine.each(mined), refine.options)

    def list_documents(
        self,
        phrases: str | Sequence[str],
        listing: str,
        options: MineOptions = DEFAULT_MINING,
        *,
        max_count: int | None = None,
        **changes: Unpack[MineKeywords],
    ) -> Iterator[DocumentHits]:
        """Documents in place of hits, as grep lists files.

        Args:
            phrases: origin phrases.
            listing: ``with`` for documents with a hit, ``without`` for all, each with what comes
                nearest, from the one that most surely has none, or ``counts`` for all with their
                number of hits.
            options: a value that several searches share.
            max_count: hits that count for a document.
            changes: fields of `MineOptions`. With ``where``, only documents with a passage that it
                admits are listed.

        Raises an `InputError` on another listing.
        """
        asked = replace(options, **changes)
        found = search_phrases(self.store, self.encoder, phrases, asked, self._verifier)
        limited = partial(first_of_each, most=max_count)
        return found.documents(self, listing, limited)

    def around(self, hits: Iterable[Hit], before: int = 0, after: int = 0) -> Iterator[Hit]:
        """Hits with so many turns around them as their context; in other texts, sentences."""

        @lru_cache(maxsize=1)
        def place(doc_id: str) -> tuple[str, list[tuple[int, int]]]:
            return self.text(doc_id), self.units(doc_id)

        return (with_around(hit, *place(hit.doc_id), before, after) for hit in hits)

    def with_sections(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Hits with the nearest numbered heading before them, if any, as metadata ``section``."""

        @lru_cache(maxsize=64)
        def sections(doc_id: str) -> Sections:
            return Sections(self.text(doc_id))

        for hit in hits:
            found = sections(hit.doc_id).before(hit.start)
            named = {**hit.metadata, "section": found} if found else hit.metadata
            yield replace(hit, metadata=named)

    def refinement(self, verify: bool | None = None) -> Refinement:
        """The steps that verify hits of this store; see `HitOptions` for ``verify``."""
        return refinement(self.encoder, HitOptions(verify=verify), self._verifier)

    def _mined(
        self, phrases: str | Sequence[str], options: MineOptions
    ) -> tuple[Iterator[Hit], Refinement]:
        """The hits as they come, not refined yet."""
        query, refine = prepare(self.encoder, phrases, options, self._verifier)
        least, exhaustive = refine.threshold, options.exhaustive
        return mine(self.store, query, threshold=least, exhaustive=exhaustive), refine

    @one_blas_thread()
    def add(
        self,
        documents: Iterable[Document] | Any,
        *,
        text: str | None = None,
        options: ReadOptions | None = None,
    ) -> int:
        """Store documents, replacing those with the same id; returns how many were given.

        Args:
            documents: the documents; or, with a column, a frame; see `as_documents`.
            text: the column of the text.
            options: further columns.

        Raises:
            InputError: on something else than documents, or if a row cannot be used.
            RejectedError: if OpenSearch rejected some of them; the others are stored.
        """
        added = 0
        rejected: list[Rejection] = []
        found = as_documents(documents, text, options)
        named = ", or text= for its field with the text"
        given = counted(checked_documents(found, named), "documents", documents)
        store = self._for_writing()
        with store.writer() as writer:
            for part in encode_documents(given, self.encoder, store.info().max_pieces):
                rejected += writer.write(part)
                added += part.last
            rejected += writer.flush()
        if rejected:
            first = rejected[0]
            raise RejectedError(
                f"{self._location}: {len(rejected)} of {added} documents rejected, "
                f"first {first.document.id!r}: {first.reason}"
            )
        return added

    def delete(self, doc_ids: str | Iterable[str]) -> int:
        """Delete documents by id; returns how many were found.

        The next `ingest` reads their sources again, and stores what these still have.
        """
        wanted = [doc_ids] if isinstance(doc_ids, str) else list(doc_ids)
        with self.store.writer() as writer:
            reopen_sources(self.store, writer, wanted)
            return writer.delete(wanted)

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        options: ReadOptions | None = None,
        read_as: str | None = None,
        dead_letters: str | Path | None = None,
        part: str = "1/1",
        source: str | None = None,
        id_prefix: str = "",
        prune: bool = False,
        checksum: bool = False,
        follow_links: bool = False,
        progress: SummaryCallback | None = None,
        complain: BadRecordCallback | None = None,
        enrich: Enrich | None = None,
    ) -> IngestSummary:
        """Read files, folders and globs into the store; unchanged sources are skipped.

        A source is known by the real path of its file, or below the name that you give. What is
        piped in adds to the store; with a name, it replaces what came under that name before.

        Args:
            paths: files, folders, globs, or ``-`` for standard input.
            options: fields of JSON lines and CSV files.
            read_as: format of every file; None to use each file's extension.
            dead_letters: file for unusable records; by default in the store's folder.
            part: ``3/16`` reads the third of sixteen parts of the sources. Several processes
                can load one index in OpenSearch, each with its part.
            source: name of what is piped in, and of the folder that files are in. Give one if the
                folder moves, or the same files are ingested on several machines.
            id_prefix: put before the id of every document.
            prune: delete the documents of files that are gone from the folders in ``paths``.
            checksum: tell by its content whether a file has changed, not by its size and time.
            follow_links: also read files outside of a folder that links in it lead to.
            progress: called after every source and document; None for a bar in a notebook.
            complain: called for every unusable record, and every `ReadNote` of a file.
            enrich: returns a part of a document with more metadata, as `TopicTagger.tag` does.

        Raises an `InputError` if a path does not exist, or there is no such part.
        """
        chosen = WorkShare.parse(part)
        find = partial(find_sources, name=source, id_prefix=id_prefix, follow_links=follow_links)
        sources = find(paths, read_as, chosen, store_folder=self._folder)
        with ingest_bar(progress) as shown:
            return ingest_sources(
                self._for_writing(),
                self.encoder,
                sources,
                options=options or ReadOptions(),
                dead_letters=Path(dead_letters or self.default_dead_letters),
                part=chosen,
                prune=prune,
                checksum=checksum,
                progress=shown,
                complain=complain,
                enrich=enrich,
            )

    @property
    def default_dead_letters(self) -> Path:
        """The file for unusable records, unless another one is given."""
        return (self._folder or Path()) / DEAD_LETTERS

    def info(self) -> StoreInfo:
        """Counts of the store, and its encoder."""
        return self.store.info()

    def text(self, doc_id: str) -> str:
        """The text of a document, exactly as given; the offsets of hits count its code points.

        Raises an `InputError` if the id is unknown.
        """
        return self._known(doc_id, self.store.document_text(doc_id))

    def metadata(self, doc_id: str) -> Metadata:
        """The metadata of a document.

        Raises an `InputError` if the id is unknown.
        """
        return self._known(doc_id, self.store.document_metadata(doc_id))

    def turns(self, doc_id: str) -> list[Turn]:
        """The turns of a conversation, with speakers and times; none for any other text."""
        return self.turns_of([doc_id])[doc_id]

    def turns_of(self, doc_ids: Sequence[str]) -> dict[str, list[Turn]]:
        """The turns of several documents, by their ids; reading them at once is faster."""
        found: dict[str, list[StoredPassage]] = {doc_id: [] for doc_id in doc_ids}
        for passage in self._passages(*doc_ids):
            found[passage.doc_id].append(passage)
        return {doc_id: turns_of(own) for doc_id, own in found.items()}

    def units(self, doc_id: str) -> list[tuple[int, int]]:
        """Starts and ends of the turns of a conversation, or of the sentences of another text."""
        return units_of(self._passages(doc_id))

    def documents(self, after: str = "") -> Iterator[DocumentEntry]:
        """The documents in the store, by id; only those whose ids come after ``after``."""
        return self.store.list_documents(after)

    def sources(self) -> Iterator[SourceEntry]:
        """The sources that the documents came from, by name."""
        return self.store.list_sources()

    def fields(self) -> dict[str, str]:
        """The metadata fields that filters can name, each ``text`` or ``number``."""
        return self.store.fields()

    def field_values(self, field: str, limit: int | None = 100) -> list[FieldValue]:
        """The most frequent values of a metadata field, each with its number of documents.

        Without a limit, all of them. Values that are equal in filters are one, such as Bank and
        bank, 3 and 3.0. Raises an `InputError` if no passage has such a field.
        """
        found: dict[str, FieldValue] = {}
        for one in self.store.field_values(field, limit):
            known = found.setdefault(key := value_key(one.value), FieldValue(one.value, 0))
            both = max(known.value, one.value), known.documents + one.documents
            found[key] = FieldValue(*both)
        return list(found.values())

    def days(self, field: str = DATE) -> dict[str, int]:
        """The number of documents on each day that has one, in order; days are in UTC.

        Raises an `InputError` that says what to do if no document has a date in that field.
        """
        found: Counter[str] = Counter()
        values = self.field_values(field, None)
        for value in values:
            if (moment := parse_date(value.value)) is not None:
                found[moment.date().isoformat()] += value.documents
        if not found:
            raise without_dates(field, [value.value for value in values], self._location)
        return dict(sorted(found.items()))

    def __len__(self) -> int:
        return self.info().documents if self._exists() else 0

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and bool(self.store.find_documents([doc_id]))

    def __iter__(self) -> Iterator[str]:
        return (entry.id for entry in self.documents())

    def __bool__(self) -> bool:
        return True  # even without documents, and without asking a server for their number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({without_password(self._location)!r})"

    def _repr_html_(self) -> str:
        """The counts of the store, for notebooks; its name alone if it cannot be opened."""
        try:
            return corpus_html(repr(self), self.info())
        except SliceError as error:
            return f"<code>{escape(repr(self))}</code><br>{escape(str(error))}"

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, if the corpus opened it."""
        store = self._current.take()
        if store is not None and store is not self._source:
            store.close()

    @property
    def _folder(self) -> Path | None:
        if isinstance(self._source, (str, Path)):
            return find_backend(self._source).folder(str(self._source))
        return self._source.folder

    @property
    def _location(self) -> str:
        if isinstance(self._source, (str, Path)):
            return str(self._source)
        return self._source.info().location

    def _passages(self, *doc_ids: str) -> Iterator[StoredPassage]:
        query = make_query(self.encoder, "all", (Condition(DOCUMENT_ID, "eq", doc_ids),))
        for found in self.store.scan(without_terms(query), -1.0, exhaustive=True):
            yield from found.load(found.keys).values()

    def _known(self, doc_id: str, found: T | None) -> T:
        if found is None:
            raise InputError(f"{self._location}: no document {doc_id!r}")
        return found

    def _exists(self) -> bool:
        return not isinstance(self._source, (str, Path)) or store_exists(self._source)

    def _for_writing(self) -> Store:
        if isinstance(self._source, (str, Path)) and not store_exists(self._source):
            pieces = self._max_pieces or DEFAULT_MAX_PIECES
            card, projection = self.encoder.card, self.encoder.projection
            create_store(self._source, NewStore(card, pieces, projection, self._index))
            self.store.check_encoder(card)
        return self.store
