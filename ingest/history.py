"""Notes about sources of earlier runs: which of them have changed, moved or gone."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import orjson

from slice_os.encoder.model_folder import files_hash
from slice_os.errors import InputError
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.sources import Source, Sources, real_path
from slice_os.stores.protocol import WHOLE, Store, WorkShare, Writer


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

    def unchanged(self, source: Source, now: SourceState, checksum: bool) -> bool:
        """Whether the source has not changed, by its content or by its size and time."""
        known = self.state
        if known is None or not known.complete or known.read_as != now.read_as:
            return False
        if checksum:
            return digest(source) == known.sha256
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
    folders = [folder for folder in sources.folders if folder.is_dir()]
    for name in [entry.name for entry in store.list_sources()]:
        files = []
        for folder in folders:
            above = f"{sources.name or folder.as_posix().rstrip('/')}/"
            if name.startswith(above):
                files.append(folder / name.removeprefix(above))
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
