"""Finds the stored sources whose files are gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slice_os.errors import InputError
from slice_os.ingest.history import SourceState
from slice_os.ingest.sources import Root, Sources
from slice_os.stores.protocol import Store
from slice_os.stores.work_share import WHOLE, WorkShare


def check_prunable(sources: Sources, part: WorkShare) -> None:
    """Refuse to prune what has no folder, or one part of the sources alone.

    Raises:
        InputError: saying what to do.
    """
    if part != WHOLE:
        raise InputError("--prune needs all sources; run it without --part")
    if not any(sources.roots):
        raise InputError("--prune needs a folder or a pattern to compare with")


def gone_sources(store: Store, sources: Sources) -> Iterator[str]:
    """The sources in a store that were below one of the folders, and whose files are gone.

    A file that cannot be examined counts as there, and so does everything in a folder that is gone
    itself. What former versions stored is compared below the folder as typed.

    Args:
        store: the store.
        sources: the folders; all of them have been iterated.
    """
    roots = [root for root in sources.roots if root.folder.is_dir()]
    names = [entry.name for entry in store.list_sources()]
    for name in names:
        places = list(_places(name, roots, sources.name))
        if name in sources.names or not places or not all(map(_gone, places)):
            continue
        if sources.name is None and not name.startswith("/"):
            state = SourceState.parse(store.source_signatures([name]).get(name, ""))
            if state.ids or not state.complete:
                continue  # no path, as far as is known: somebody gave this name
        yield name


def _places(name: str, roots: list[Root], given: str | None) -> Iterator[Path]:
    """Where the file of a source was, if it was below one of the folders."""
    for root in roots:
        above = f"{given}/" if given else f"{root.folder.as_posix().rstrip('/')}/"
        if name.startswith(above):
            yield root.folder / name.removeprefix(above)
        elif given is None and root.typed == "." and not name.startswith(("/", "../")):
            yield root.folder / name
        elif given is None and name.startswith(f"{root.typed}/"):
            yield root.folder / name.removeprefix(f"{root.typed}/")


def _gone(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
