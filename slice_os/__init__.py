"""Find every passage that says a phrase in other words.

>>> from slice_os import Corpus, Document
>>> with Corpus("calls.slice") as calls:
...     calls.add([Document("call-1", "Please end my plan today, I no longer need it.")])
...     for hit in calls.search("I want to cancel my subscription"):
...         hit.doc_id, hit.start, hit.end, hit.text, hit.cosine
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slice_os.errors import (
    EncoderMismatchError,
    EngineError,
    InputError,
    MissingExtraError,
    ModelError,
    PluginError,
    SliceError,
    StoreError,
)
from slice_os.version import __version__

# onnxruntime, from 1.29 on, reports its use to its maker unless this stands before it is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from slice_os.async_corpus import AsyncCorpus
    from slice_os.corpus import Corpus
    from slice_os.encoder.model_folder import ModelCard
    from slice_os.encoder.span_encoder import SpanEncoder
    from slice_os.hits.files import write_hits
    from slice_os.hits.hit import Context, Hit, Hits
    from slice_os.query.options import HitOptions, MineOptions, SearchOptions
    from slice_os.search.scan import scan
    from slice_os.stores.cluster.schema.settings import IndexOptions
    from slice_os.stores.cluster.store import OpenSearchStore
    from slice_os.stores.local import LocalStore
    from slice_os.text.documents import Document, Segment
    from slice_os.verifier.claims import Claim, Verdict, Verifier
    from slice_os.verifier.cross_encoder import CrossEncoderVerifier

if Path(__file__).with_name("ingest").is_file():
    from slice_os.checkout import broken_links

    raise ImportError(f"slice_os cannot be imported: {broken_links(Path(__file__).parent)}")

_HOMES = {
    "async_corpus": ["AsyncCorpus"],
    "corpus": ["Corpus"],
    "encoder.model_folder": ["ModelCard"],
    "encoder.span_encoder": ["SpanEncoder"],
    "hits.files": ["write_hits"],
    "hits.hit": ["Context", "Hit", "Hits"],
    "query.options": ["HitOptions", "MineOptions", "SearchOptions"],
    "search.scan": ["scan"],
    "stores.local": ["LocalStore"],
    "stores.cluster.schema.settings": ["IndexOptions"],
    "stores.cluster.store": ["OpenSearchStore"],
    "text.documents": ["Document", "Segment"],
    "verifier.claims": ["Claim", "Verdict", "Verifier"],
    "verifier.cross_encoder": ["CrossEncoderVerifier"],
}

__all__ = [
    "AsyncCorpus",
    "Claim",
    "Context",
    "Corpus",
    "CrossEncoderVerifier",
    "Document",
    "EncoderMismatchError",
    "EngineError",
    "Hit",
    "HitOptions",
    "Hits",
    "IndexOptions",
    "InputError",
    "LocalStore",
    "MineOptions",
    "MissingExtraError",
    "ModelCard",
    "ModelError",
    "OpenSearchStore",
    "PluginError",
    "SearchOptions",
    "Segment",
    "SliceError",
    "SpanEncoder",
    "StoreError",
    "Verdict",
    "Verifier",
    "__version__",
    "scan",
    "write_hits",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts fast."""
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(f"slice_os.{home}"), name)
            return value
    raise AttributeError(f"module 'slice_os' has no attribute {name!r}")
