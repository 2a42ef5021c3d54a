"""Hits as files from the page."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.service.page.conftest import OpenPage, search_fragment

CANCEL = "I want to cancel my subscription"


def saved(page: Page, button: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
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
