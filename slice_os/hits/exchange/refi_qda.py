"""REFI-QDA projects (.qdpx), which QualCoder, MAXQDA, ATLAS.ti and NVivo open.

A topic or phrase is a code, a document a source, a hit a selection of its text. Positions are code
points; see https://www.qdasoftware.org, REFI-QDA 1.5. The same hits have the same identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import cast
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl
from zipfile import ZIP_DEFLATED, ZipFile

from slice_os.hits.bands import rounded_down
from slice_os.hits.exchange.documents import HitDocuments
from slice_os.hits.hit import Hit, counting
from slice_os.hits.run_record import now
from slice_os.version import __version__

NAMESPACE = "urn:QDA-XML:project:1.0"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def write_refi_qda(documents: HitDocuments, path: Path) -> None:
    """Write a project with the texts of all documents that have hits."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for document in documents:
            archive.writestr(f"sources/{_guid('source', document.id)}.txt", document.text)
        with archive.open("project.qde", "w", force_zip64=True) as stream:
            project = _Project(cast(BufferedIOBase, stream))
            project.write(documents)


class _Project:
    """The XML of a project, as it is written."""

    def __init__(self, stream: BufferedIOBase) -> None:
        self._xml = XMLGenerator(stream, "utf-8", short_empty_elements=True)
        self._by = {"creatingUser": _guid("user"), "creationDateTime": now()}

    def write(self, documents: HitDocuments) -> None:
        self._xml.startDocument()
        about = {"name": "SLICE-OS", "origin": f"SLICE-OS {__version__}"}
        made = {"creatingUserGUID": _guid("user"), "creationDateTime": self._by["creationDateTime"]}
        with self._element("Project", xmlns=NAMESPACE, **about, **made):
            with self._element("Users"):
                self._empty("User", guid=_guid("user"), name="SLICE-OS")
            if names := documents.groups():
                with self._element("CodeBook"), self._element("Codes"):
                    for name in names:
                        self._empty("Code", guid=_guid("code", name), name=name, isCodable="true")
                with self._element("Sources"):
                    for doc_id, hits in documents.by_id():
                        self._source(doc_id, counting(hits))
        self._xml.endDocument()

    def _source(self, doc_id: str, hits: Iterable[Hit]) -> None:
        guid = _guid("source", doc_id)
        place = {"name": doc_id, "plainTextPath": f"internal://{guid}.txt"}
        with self._element("TextSource", guid=guid, **place, **self._by):
            for number, hit in enumerate(hits):
                self._selection(hit, f"{number} {hit.start} {hit.end} {hit.phrase}")

    def _selection(self, hit: Hit, key: str) -> None:
        places = {"startPosition": str(hit.start), "endPosition": str(hit.end)}
        likely = "" if hit.probability is None else f", probability {rounded_down(hit.probability)}"
        guid = _guid("selection", hit.doc_id, key)
        with self._element("PlainTextSelection", guid=guid, name=hit.text, **places, **self._by):
            with self._element("Description"):
                self._xml.characters(_clean(f"“{hit.phrase}”, cosine {hit.cosine:.2f}{likely}"))
            with self._element("Coding", guid=_guid("coding", hit.doc_id, key), **self._by):
                self._empty("CodeRef", targetGUID=_guid("code", hit.group))

    @contextmanager
    def _element(self, name: str, /, **attributes: str) -> Iterator[None]:
        clean = {key: _clean(one) for key, one in attributes.items()}
        self._xml.startElement(name, AttributesImpl(clean))
        yield
        self._xml.endElement(name)

    def _empty(self, name: str, /, **attributes: str) -> None:
        with self._element(name, **attributes):
            pass


def _guid(*names: str) -> str:
    """The identifier of what has these names."""
    return str(uuid5(NAMESPACE_URL, "slice-os\0" + "\0".join(names)))


def _clean(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NO_XML.sub(_REPLACEMENT, text)
