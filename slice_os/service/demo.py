"""The demo: documents that come with the package, as a store in the user's cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from slice_os.corpus import Corpus
from slice_os.encoder.model_folder import model_folder, read_card
from slice_os.ingest.pipeline import SummaryCallback
from slice_os.ingest.readers.reader import ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import find_sources
from slice_os.text.documents import Document

NAME = "demo"
SAMPLE_STEP = 3
_DOCUMENTS = Path(__file__).parents[1] / "demo"
DEMO_PATHS = (_DOCUMENTS / "contracts", _DOCUMENTS / "dialogues.jsonl")


def demo_folder() -> Path:
    """The folder in the user's cache for the demo store, its topics and its labels."""
    home = Path.home()
    if sys.platform == "darwin":
        cache = home / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return cache / "slice-os" / NAME


def demo_store(progress: SummaryCallback | None = None) -> Path:
    """The store of all demo documents; it is made when it is first needed, in less than a minute.

    A run that was interrupted is resumed. Another model has a store of its own.
    """
    folder = _store_folder()
    with Corpus(folder) as corpus:
        corpus.ingest(DEMO_PATHS, source=NAME, progress=progress)
    return folder


def sample_store() -> Path:
    """A store of every third demo document; the first call makes it in less than ten seconds."""
    folder = _store_folder("-sample")
    if not folder.exists():
        with TemporaryDirectory(dir=folder.parent) as partial:
            with Corpus(Path(partial) / NAME) as corpus:
                corpus.add(islice(_documents(), 1, None, SAMPLE_STEP))
            try:
                (Path(partial) / NAME).rename(folder)
            except OSError:
                if not folder.exists():  # otherwise another process has just made it
                    raise
    return folder


def _store_folder(suffix: str = "") -> Path:
    card = read_card(model_folder(None))
    demo_folder().mkdir(parents=True, exist_ok=True)
    return demo_folder() / f"{card.encoder_id}{suffix}"


def _documents() -> Iterator[Document]:
    for source in find_sources(DEMO_PATHS):
        yield from (one for one in read(source, ReadOptions()) if isinstance(one, Document))
