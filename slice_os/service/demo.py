"""The demo: documents that come with the package, as a store in the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from slice_os.corpus import Corpus
from slice_os.encoder.model_folder import model_folder, read_card
from slice_os.ingest.summary import SummaryCallback

NAME = "demo"
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
    """The store of the demo documents; it is made when it is first needed.

    A run that was interrupted is resumed. Another model has a store of its own.

    Args:
        progress: called while documents are stored.
    """
    card = read_card(model_folder(None))
    folder = demo_folder() / card.encoder_id
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Corpus(folder) as corpus:
        corpus.ingest(DEMO_PATHS, source=NAME, progress=progress)
    return folder
