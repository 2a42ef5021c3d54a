"""Web annotations in JSON-LD, as the W3C recommends them: a collection with one page.

https://www.w3.org/TR/annotation-model/ counts positions in code points.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

import orjson

from slice_os.hits.bands import rounded_down
from slice_os.hits.exchange.documents import HitDocuments
from slice_os.hits.hit import Hit, counting
from slice_os.hits.run_record import now
from slice_os.version import __version__

CONTEXT = "http://www.w3.org/ns/anno.jsonld"
SOURCE = "urn:slice-os:document:"
"""The prefix of a document's id, percent-encoded, in the address of a target."""

_AROUND = 32


def write_web_annotations(documents: HitDocuments, path: Path) -> None:
    """Write a collection with an annotation a line; each has its words, and some around them."""
    date = now()
    maker = {"type": "Software", "name": f"SLICE-OS {__version__}"}
    about = {"created": date, "generator": {"id": "urn:slice-os", **maker}}
    head = {
        "@context": CONTEXT,
        "id": f"urn:uuid:{uuid5(NAMESPACE_URL, f'{date} {path}')}",
        "type": "AnnotationCollection",
        "label": ", ".join(documents.groups()) or "no hits",
        **about,
    }
    page = {"id": f"{head['id']}#page", "type": "AnnotationPage", "startIndex": 0}
    with path.open("wb") as stream:
        stream.write(orjson.dumps(head)[:-1] + b',"first":' + orjson.dumps(page)[:-1])
        stream.write(b',"items":[')
        total = 0
        for total, hit in enumerate(counting(documents.hits()), 1):
            annotation = {"id": f"{head['id']}#{total - 1}", **_annotation(hit), **about}
            stream.write((b",\n" if total > 1 else b"\n") + orjson.dumps(annotation))
        stream.write(b'\n]},"total":%d}\n' % total)


def _annotation(hit: Hit) -> dict[str, Any]:
    text, begin = hit.passage.text, hit.passage.start
    start, end = hit.start - begin, hit.end - begin
    likely = "" if hit.probability is None else f", probability {rounded_down(hit.probability, 3)}"
    told = f"“{hit.phrase}”, cosine {hit.cosine:.3f}{likely}"
    return {
        "type": "Annotation",
        "motivation": "tagging",
        "body": [
            {"type": "TextualBody", "purpose": "tagging", "value": hit.group},
            {"type": "TextualBody", "purpose": "describing", "value": told},
        ],
        "target": {
            "type": "SpecificResource",
            "source": SOURCE + quote(hit.doc_id, safe=""),
            "selector": [
                {"type": "TextPositionSelector", "start": hit.start, "end": hit.end},
                {
                    "type": "TextQuoteSelector",
                    "exact": hit.text,
                    "prefix": text[max(0, start - _AROUND) : max(0, start)],
                    "suffix": text[max(0, end) : max(0, end) + _AROUND],
                },
            ],
        },
    }
