"""Documents with their hits as tasks: JSON of Label Studio, and JSON lines as Prodigy takes them.

Offsets are code points, as Label Studio has them since 1.4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from slice_os.hits.exchange.documents import HitDocument, HitDocuments
from slice_os.hits.hit import Hit
from slice_os.version import __version__


def write_label_studio(documents: HitDocuments, path: Path) -> None:
    """Write the tasks as one list of JSON, a task a line."""
    between = b"[\n"
    with path.open("wb") as stream:
        for document in documents:
            stream.write(between + orjson.dumps(_task(document)))
            between = b",\n"
        stream.write(b"\n]\n" if between == b",\n" else b"[]\n")


def _task(document: HitDocument) -> dict[str, Any]:
    """A task; `slice_os.labels.imported` says what the field ``hits`` of its data is for."""
    return {
        "data": {"text": document.text, "doc_id": document.id, "hits": document.given},
        "predictions": [
            {
                "model_version": f"slice-os {__version__}",
                "result": [_region(number, hit) for number, hit in enumerate(document.counting)],
            }
        ],
    }


def _region(number: int, hit: Hit) -> dict[str, Any]:
    region = {
        "id": f"hit-{number}",
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": {"start": hit.start, "end": hit.end, "text": hit.text, "labels": [hit.group]},
    }
    return region if hit.probability is None else region | {"score": round(hit.probability, 6)}


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
