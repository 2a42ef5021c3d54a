"""Hits as files from the page."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import orjson
import pytest
from playwright.sync_api import Page, expect

from tests.service.page.conftest import OpenPage, search_fragment

CANCEL = "I want to cancel my subscription"


def saved(page: Page, kind: str, folder: Path) -> Path:
    page.locator("#file-format").select_option(label=kind)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_csv_has_the_hits_that_are_shown(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.6"))
    expect(page.locator(".hit").first).to_be_visible()
    path = saved(page, "CSV", tmp_path)
    assert path.name == "hits.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    assert [row["doc_id"] for row in rows] == page.locator(".hit .place .link").all_text_contents()
    assert rows[0]["text"] == page.locator(".hit mark").first.inner_text()
    assert {row["metadata.domain"] for row in rows} >= {"media"}
    assert rows[0]["passage.text"]


def test_xlsx_comes_from_the_service(open_page: OpenPage, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.6"))
    expect(page.locator(".hit").first).to_be_visible()
    path = saved(page, "XLSX", tmp_path)
    sheet = openpyxl.load_workbook(path).active
    rows = list(sheet.iter_rows(values_only=True))
    assert len(rows) == 1 + page.locator(".hit").count()
    assert rows[1][rows[0].index("text")] == page.locator(".hit mark").first.inner_text()


def test_other_tools_get_their_formats(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.6"))
    expect(page.locator(".hit").first).to_be_visible()
    shown = page.locator(".hit mark").all_inner_texts()
    tasks = orjson.loads(saved(page, "Label Studio", tmp_path).read_bytes())
    regions = [one for task in tasks for one in task["predictions"][0]["result"]]
    assert sorted(one["value"]["text"] for one in regions) == sorted(shown)
    lines = saved(page, "Prodigy, spaCy", tmp_path).read_bytes().splitlines()
    spans = [
        row["text"][span["start"] : span["end"]]
        for row in map(orjson.loads, lines)
        for span in row["spans"]
    ]
    assert sorted(spans) == sorted(shown)
    notes = orjson.loads(saved(page, "W3C annotations", tmp_path).read_bytes())
    assert len(notes["first"]["items"]) == len(shown)
    path = saved(page, "REFI-QDA", tmp_path)
    assert path.name == "hits.qdpx"
    assert zipfile.is_zipfile(path)
