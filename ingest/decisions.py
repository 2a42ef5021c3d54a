"""Reading yields decisions; `slice_os.ingest.pipeline` carries them out.

A decision is carried out when the documents before it are encoded, which may be much later.
Reading therefore remembers its decisions, and never relies on the store having caught up.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import orjson

from slice_os.encoder.model_folder import files_hash
from slice_os.errors import InputError
from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions, SkippedFile
from slice_os.ingest.readers.reader import bad_record
from slice_os.ingest.reading import read, read_additions
from slice_os.ingest.sources import PIPED, Source, Sources, real_path
from slice_os.stores.protocol import WHOLE, Store, WorkShare, Writer
from slice_os.text.documents import Document

LOOKUP_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class SourceState:
    """State of a file when it was read; stored with the source as its signature.

    Attributes:
        modified: time of the last change, in nanoseconds since 1970.
        read_as: format and options.
        ids: beginning of the ids of its documents.
        complete: whether all its records were stored.
    """

    size: int
    modified: int
    read_as: str
    ids: str = ""
    sha256: str = ""
    complete: bool = True

    def signature(self) -> str:
        """The state as text."""
        return orjson.dumps(self).decode()

    @classmethod
    def parse(cls, signature: str) -> SourceState:
        """The state that `signature` wrote; an incomplete one if the text is anything else."""
        try:
            return cls(**orjson.loads(signature))
        except (ValueError, TypeError):
            return cls(0, 0, "", complete=False)


@dataclass(frozen=True, slots=True)
class Known:
    """Notes in a store about a source.

    Attributes:
        state: when it was last read to its end under its name; None if it never was.
        names: of the source: its own, and the one that it had before, if any.
        ids: beginning of the ids of its documents; empty if the store does not know.
    """

    state: SourceState | None
    names: tuple[str, ...]
    ids: str

    def unchanged(self, now: SourceState, checksum: bool) -> bool:
        """Whether the source has not changed, by its checksum or by its size and time."""
        known = self.state
        if known is None or not known.complete or known.read_as != now.read_as:
            return False
        if checksum:
            return now.sha256 == known.sha256
        return (known.size, known.modified) == (now.size, now.modified)


def state_of(source: Source, options: ReadOptions) -> SourceState | None:
    """The state of a file, without its checksum; None for a stream, or if it cannot be examined."""
    try:
        status = source.path.stat() if source.path else None
    except OSError:
        return None
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    chosen = {
        field.name: value
        for field in fields(options)
        if (value := getattr(options, field.name)) != field.default
    }
    read_as = f"{source.format} {chosen} {source.id_prefix}"
    return SourceState(status.st_size, status.st_mtime_ns, read_as, source.ids)


def recall(store: Store, source: Source, now: SourceState | None) -> Known:
    """Find the notes about a source.

    A file that is given a name is recognised by its path, which was its name before.
    """
    names = [source.name]
    if now is not None and source.path is not None:
        names = list(dict.fromkeys([source.name, real_path(source.path)]))
    signatures = store.source_signatures(names)
    states = {name: SourceState.parse(found) for name, found in signatures.items()}
    own = states.get(source.name)
    if own is not None:
        return Known(own, (source.name,), own.ids)
    return Known(None, tuple(names), next((state.ids for state in states.values()), ""))


def reopen_sources(store: Store, writer: Writer, doc_ids: Iterable[str]) -> None:
    """Let the next run read the sources of some documents again, though they have not changed."""
    names = {stored.source for stored in store.find_documents(doc_ids).values()}
    for name, signature in store.source_signatures(sorted(names)).items():
        reopened = replace(SourceState.parse(signature), complete=False)
        writer.finish_source(name, reopened.signature())
    writer.flush()


def check_prunable(sources: Sources, part: WorkShare) -> None:
    """Raise an InputError without a folder to prune in, or in one part of the sources alone."""
    if part != WHOLE:
        raise InputError("--prune needs all sources; run it without --part")
    if not any(sources.folders):
        raise InputError("--prune needs a folder or a pattern to compare with")


def gone_sources(store: Store, sources: Sources) -> Iterator[str]:
    """The stored sources that were below one of the folders, and whose files are gone.

    A file that cannot be examined counts as present, and so does everything in a folder that is
    itself gone. The sources have been iterated to their end.
    """
    folders = [
        (folder, f"{sources.name or folder.as_posix().rstrip('/')}/")
        for folder in sources.folders
        if folder.is_dir()
    ]
    for name in [entry.name for entry in store.list_sources()]:
        files = [
            folder / name.removeprefix(above) for folder, above in folders if name.startswith(above)
        ]
        if files and name not in sources.names and all(map(_is_gone, files)):
            yield name


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except (OSError, ValueError) as error:
        return isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


def digest(source: Source) -> str:
    """The SHA-256 of a file's content; empty if it cannot be read."""
    try:
        return files_hash(Path(source.path or ""))
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class SkipSource:
    """Leave a source of so many bytes as it is stored: it has not changed."""

    size: int


@dataclass(frozen=True, slots=True)
class BeginSource:
    """Begin a source of so many bytes, 0 if it is no file; the decisions about it follow.

    If it had another name until now, its stored documents are assigned to it.
    """

    size: int
    source: str
    former: str | None
    documents: frozenset[str]


@dataclass(frozen=True, slots=True)
class KeepDocument:
    """Leave a document of so many bytes as it is stored, or only assign it to another source."""

    size: int
    doc_id: str
    source: str | None


@dataclass(frozen=True, slots=True)
class FinishSource:
    """End a source in a state, None if it is no file; delete documents that it no longer has."""

    source: str
    signature: str | None
    stale: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PruneSource:
    """Delete a source whose file is gone, with the documents that are still its own."""

    source: str
    stale: tuple[str, ...]


Decision: TypeAlias = (
    SkipSource | BeginSource | Document | BadRecord | KeepDocument | FinishSource | PruneSource
)
"""A document is to be encoded and stored; a bad record goes to the dead letters, unless it is a
`SkippedFile` or a `ReadNote`, which are only counted."""


@dataclass
class Decider:
    """Reads sources once, and decides about each of them and of their records.

    The store has the documents of earlier runs; the dead letters are never read. With ``checksum``,
    files are compared by their content, not by size and time.
    """

    store: Store
    sources: Sources
    options: ReadOptions
    checksum: bool
    dead_letters: Path
    _owner: dict[str, str] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)
    _deleted: set[str] = field(default_factory=set)

    def decisions(self) -> Iterator[Decision]:
        """Decide about every source, in order; the decisions about one follow one another."""
        dead_letters = os.path.realpath(self.dead_letters)
        for source in self.sources:
            if source.path and os.path.realpath(source.path) == dead_letters:
                continue  # our own output: reading it would never end
            now = state_of(source, self.options)
            if now and self.checksum:
                now = replace(now, sha256=digest(source))
            known = recall(self.store, source, now)
            if now and known.unchanged(now, self.checksum):
                yield SkipSource(now.size)
            else:
                yield from self._about_source(source, known, now)

    def pruned(self) -> Iterator[PruneSource]:
        """Decide about stored sources whose files are gone, after all else is carried out."""
        for name in gone_sources(self.store, self.sources):
            mine = self.store.find_documents(self.store.document_ids(name))
            stale = {doc_id for doc_id, stored in mine.items() if stored.source == name}
            yield PruneSource(name, tuple(sorted(stale - self._owner.keys())))

    def _about_source(
        self, source: Source, known: Known, now: SourceState | None
    ) -> Iterator[Decision]:
        stored = set() if source.adds else self.store.document_ids(*known.names)
        source = replace(source, ids=known.ids or source.ids)
        if now is not None:
            now = replace(now, ids=source.ids, sha256=now.sha256 or digest(source))
        former = next(iter(known.names[1:]), None)
        yield BeginSource(now.size if now else 0, source.name, former, frozenset(stored))
        complete = True
        found = (read_additions if source.adds else read)(source, self.options)
        while records := list(islice(found, LOOKUP_DOCUMENTS)):
            for decision in self._about_records(records, known.names):
                told = isinstance(decision, (SkippedFile, ReadNote))
                if isinstance(decision, BadRecord) and not told:
                    complete = False
                yield decision
        stale: set[str] = set()
        if complete:
            stale = stored - self._owner.keys()
            self._deleted |= stale
            self._read.update(known.names)
        signature = replace(now, complete=complete).signature() if now else None
        yield FinishSource(source.name, signature, tuple(sorted(stale)))

    def _about_records(
        self, records: Iterable[Document | BadRecord], names: tuple[str, ...]
    ) -> Iterator[Decision]:
        """Decide about records of a source that has, or had, these names."""
        fresh: list[Document] = []
        for record in records:
            if isinstance(record, BadRecord):
                yield record
            elif record.id in self._owner:
                owner = self._owner[record.id]
                told = f"id {record.id!r} came before, in {owner}; "
                same = "choose another --id-field, or join such records by --group-by"
                other = "ingest one of them with --id-prefix"
                yield refused(record, told + (same if owner == record.source else other))
            else:
                self._owner[record.id] = record.source
                fresh.append(record)
        stored = self.store.find_documents(document.id for document in fresh)
        for document in fresh:
            former = None if document.id in self._deleted else stored.get(document.id)
            moved = former is not None and former.source not in names
            if former and moved and self._claims(former.source):
                del self._owner[document.id]
                yield refused(
                    document,
                    f"id {document.id!r} is taken by {former.source}; give the ids of one of "
                    "them a prefix (--id-prefix), or delete that document",
                )
            elif former is None or former.fingerprint != document.fingerprint:
                yield document
            else:
                size = len(document.text.encode())
                yield KeepDocument(size, document.id, document.source if moved else None)

    def _claims(self, name: str) -> bool:
        """Whether another source may still have an id: it exists, and was not read yet."""
        if name in ("", PIPED) or name in self._read:
            return False
        if name.startswith("/"):
            return os.path.exists(name)  # noqa: PTH110  Path.exists raises on odd names
        return name in self.store.source_signatures([name])


def refused(document: Document, reason: str) -> BadRecord:
    """A whole document as a bad record."""
    return bad_record(document.source, None, reason, document.text)
