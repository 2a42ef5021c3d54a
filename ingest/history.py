"""What a store knows about a source from earlier runs, and whether the source has changed since."""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path, PurePosixPath

import orjson

from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.sources import Source, real_path
from slice_os.stores.protocol import Store, Writer

_BLOCK_BYTES = 1 << 20
_FORMER_SIGNATURE = re.compile(r"(\d+) (\d+) (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state that a file was in when it was read; stored with the source as its signature.

    Attributes:
        size: in bytes.
        modified: time of the last change, in nanoseconds since 1970.
        read_as: format and options.
        ids: what the ids of its documents begin with; empty if a former version wrote this.
        sha256: of the content.
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
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def parse(cls, signature: str) -> SourceState:
        """The state that `signature` wrote, or a former version did; any other is incomplete."""
        former = _FORMER_SIGNATURE.fullmatch(signature)
        if former:
            return cls(int(former[1]), int(former[2]), former[3])
        try:
            return cls(**orjson.loads(signature))
        except (ValueError, TypeError):
            return cls(0, 0, "", complete=False)

    def is_of(self, file: SourceState) -> bool:
        """Whether a file has the size and the time of this state."""
        return (self.size, self.modified) == (file.size, file.modified)


@dataclass(frozen=True, slots=True)
class Known:
    """What a store knows about a source.

    Attributes:
        state: when it was last read; None if it never was to its end.
        names: of the source: its own, and those that it had before.
        ids: what the ids of its documents begin with, if the store knows.
    """

    state: SourceState | None
    names: tuple[str, ...]
    ids: str = ""

    def unchanged(self, source: Source, now: SourceState, checksum: bool) -> bool:
        """Whether reading the source again would change nothing.

        Args:
            source: the source.
            now: its state.
            checksum: compare the content, not size and time.
        """
        known = self.state
        if known is None or not known.complete or known.read_as != now.read_as:
            return False
        return digest(source) == known.sha256 if checksum else known.is_of(now)

    def ids_of(self, source: Source, doc_ids: Collection[str]) -> str:
        """What the ids of a source's documents begin with, so that they stay as they are.

        Args:
            source: the source.
            doc_ids: its stored documents.
        """
        former = (name for name in self.names if any(doc_id.startswith(name) for doc_id in doc_ids))
        return self.ids or next(former, source.ids)


def state_of(source: Source, options: ReadOptions) -> SourceState | None:
    """The state of a source, without its checksum; None unless it is a file that can be examined.

    Args:
        source: the source.
        options: how it is read.
    """
    if source.path is None:
        return None
    try:
        status = source.path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    chosen = {
        field.name: value
        for field in fields(options)
        if (value := getattr(options, field.name)) != field.default
    }
    read_as = f"{source.format} {chosen} {source.id_prefix}"
    return SourceState(status.st_size, status.st_mtime_ns, read_as, source.ids)


def recall(store: Store, source: Source, now: SourceState | None) -> Known:
    """What a store knows about a source.

    Former versions called a file by its path as typed. That name is recognised if the path is
    typed in the same way, and else by the size and time of the file. A file that is given a name
    is recognised by its path.

    Args:
        store: the store.
        source: the source.
        now: its state; None if it is no file.
    """
    former = [] if now is None else list(dict.fromkeys(_former_names(source)))
    signatures = store.source_signatures([source.name, *former])
    states = {name: SourceState.parse(found) for name, found in signatures.items()}
    own = states.get(source.name)
    if now is None or own is not None:
        return Known(own, (source.name,), own.ids if own else "")
    names = [name for name in former if _was(name, states.get(name), source, now)]
    ids = next((states[name].ids for name in names if name in states), "")
    return Known(None, (source.name, *names), ids)


def reopen_sources(store: Store, writer: Writer, doc_ids: Iterable[str]) -> None:
    """Let the next run read the sources of some documents again, though they have not changed.

    Args:
        store: that has the documents.
        writer: of the store.
        doc_ids: of the documents.
    """
    names = {stored.source for stored in store.documents(doc_ids).values()}
    for name, signature in store.source_signatures(sorted(names)).items():
        reopened = replace(SourceState.parse(signature), complete=False)
        writer.finish_source(name, reopened.signature())
    writer.flush()


def _was(name: str, state: SourceState | None, source: Source, now: SourceState) -> bool:
    """Whether a source had this name before."""
    if source.path is not None and name == real_path(source.path):
        return True
    if state is None:
        return name == source.typed
    return not state.ids and (name == source.typed or state.is_of(now))


def _former_names(source: Source) -> Iterator[str]:
    """The names that a file may have had: every way to type its path."""
    if source.path is None:
        return
    real = PurePosixPath(real_path(source.path))
    ways = ["/".join(real.parts[start:]) for start in range(1, len(real.parts))]
    yield from (name for name in (source.typed, str(real), *ways) if name not in ("", source.name))


def digest(source: Source) -> str:
    """The SHA-256 of a file's content; empty if it cannot be read."""
    sha256 = hashlib.sha256()
    try:
        with Path(source.path or "").open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                sha256.update(block)
    except OSError:
        return ""
    return sha256.hexdigest()
