"""Pages of PDF files as pictures: only of stored documents whose files are as they were."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from slice_os import Corpus, Document, SpanEncoder
from slice_os.originals import pages_apart
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings
from tests.many_formats import OTHER, SAYING, docx, pdf
from tests.soak.hostile import pdf as strokes

from .conftest import asking

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("pypdfium2")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(OTHER, "", SAYING))
    (tmp_path / "b.docx").write_bytes(docx())
    return path


def test_a_page_that_takes_long_is_drawn_apart_and_ended(
    encoder: SpanEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_apart, "SECONDS", 0)
    path = tmp_path / "strokes.pdf"
    path.write_bytes(strokes(1, 1_000_000))
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.ingest([path])
        (entry,) = corpus.documents()
    with asking(create_app(ServiceSettings({"store": str(tmp_path / "store")}))) as client:
        answer = client.post(f"/pages/{entry.id}", json={"page": 1})
    assert answer.status_code == 404
    assert "takes more than 0 seconds" in answer.json()["error"]["message"]


@pytest.fixture
def pages(file: Path, encoder: SpanEncoder, tmp_path: Path) -> Iterator[TestClient]:
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.ingest([file, file.with_name("b.docx")])
        corpus.add([Document("program", SAYING), Document(str(file), SAYING)])
    with asking(create_app(ServiceSettings({"store": str(tmp_path / "store")}))) as client:
        yield client


def ask(pages: TestClient, name: str = "a.pdf", **body: Any) -> Any:
    return pages.post(f"/pages/{name}", json={"page": 3, **body})


def test_a_page_is_a_picture_with_the_places_of_spans(pages: TestClient) -> None:
    text = f"{OTHER}\n{SAYING}"
    spans = [{"start": 0, "end": len(OTHER)}, {"start": len(OTHER) + 1, "end": len(text)}]
    shown = ask(pages, spans=spans, width=600).json()
    assert (shown["page"], shown["pages"]) == (3, 3)
    assert shown["extent"] == spans[1]
    image = Image.open(io.BytesIO(base64.b64decode(shown["picture"].partition(",")[2])))
    assert image.size == (shown["width"], shown["height"]) == (600, round(600 * 792 / 612))
    elsewhere, [box] = shown["boxes"]
    assert elsewhere == []
    # All of the ink, which is black on white, lies in the box.
    ink = image.convert("L").point(lambda light: 255 * (light < 128)).getbbox()
    assert all(abs(one - other) <= 2 for one, other in zip(ink, box, strict=True))
    assert ask(pages, page=2).json()["extent"] is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("b.docx", "only PDF files have pages"),
        ("program", "a program added it"),
        ("none.pdf", "no document"),
        ("..%2Fa.pdf", "no document"),
        ("%2Fetc%2Fpasswd", "no document"),
    ],
)
def test_other_documents_have_no_page(pages: TestClient, name: str, why: str) -> None:
    answer = ask(pages, name)
    assert answer.status_code == 404
    assert why in answer.json()["error"]["message"]


def test_an_id_that_is_a_path_opens_no_file(pages: TestClient, file: Path) -> None:
    answer = ask(pages, str(file).replace("/", "%2F"))
    assert "a program added it" in answer.json()["error"]["message"]


def test_limits(pages: TestClient) -> None:
    assert "there are 3" in ask(pages, page=4).json()["error"]["message"]
    assert ask(pages, width=10_000).status_code == 422
    assert ask(pages, page=0).status_code == 422


@pytest.mark.parametrize("change", ["gone", "changed", "a link", "a pipe"])
def test_a_file_that_is_not_as_it_was_is_not_shown(
    pages: TestClient, file: Path, change: str
) -> None:
    assert ask(pages).status_code == 200
    content = file.read_bytes()
    file.unlink()
    if change == "changed":
        file.write_bytes(content.replace(b"subscription", b"prescription"))
    elif change == "a link":
        file.with_name("hidden").write_bytes(content)
        file.symlink_to(file.with_name("hidden"))
    elif change == "a pipe":
        os.mkfifo(file)
    answer = ask(pages)
    assert answer.status_code == 404
    why = "changed since it was read" if change == "changed" else "gone"
    assert f"a.pdf: {why}" in answer.json()["error"]["message"]
