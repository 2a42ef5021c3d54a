"""Lines of JSON with a text and its spans, as Prodigy takes them and spaCy's users read them.

Offsets are code points, as everywhere in Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from slice_os.hits.exchange.documents import HitDocument, HitDocuments
from slice_os.hits.hit import Hit


def write_span_lines(documents: HitDocuments, path: Path) -> None:
    """Write a line for each document."""
    with path.open("wb") as stream:
        for document in documents:
            stream.write(orjson.dumps(_line(document), option=orjson.OPT_APPEND_NEWLINE))


def _line(document: HitDocument) -> dict[str, Any]:
    return {
        "text": document.text,
        "spans": [_span(hit) for hit in document.counting],
        "meta": {"doc_id": document.id},
        "hits": document.given,
    }


def _span(hit: Hit) -> dict[str, Any]:
    span = {"start": hit.start, "end": hit.end, "label": hit.group, "text": hit.text}
    return span if hit.probability is None else span | {"score": round(hit.probability, 6)}
