"""Reading a document on the page: at the hit, with all other hits marked and a map."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from slice_os import Corpus, SpanEncoder
from tests.many_formats import OTHER, SAYING, pdf
from tests.service.conftest import served
from tests.service.page.conftest import DOCUMENTS, LONG, RENEWAL, OpenPage, search_fragment

RENEW = "the contract renews by itself"
TEXTS = {document.id: document.text for document in DOCUMENTS}


def open_document(page: Page, name: str) -> None:
    page.locator(".hit", has_text=name).first.get_by_role("button", name=name).click()
    expect(page.locator("#reader mark.now").first).to_be_in_viewport()


def test_a_document_opens_at_the_hit_with_the_others_marked(open_page: OpenPage) -> None:
    page = open_page(search_fragment(RENEW, measure="cosine", least="0.6"))
    open_document(page, LONG)
    expect(page.locator("#reader-title")).to_have_text(LONG)
    expect(page.locator("#reader-fields")).to_have_text("domain contracts")
    expect(page.locator("#reader mark:not(.under)")).to_have_count(6)
    assert page.locator("#reader-text").text_content() == TEXTS[LONG]
    # The best one, which is the last; so the next ones are before it.
    expect(page.locator("#mark-number")).to_have_text("6 of 6")
    page.get_by_role("button", name="Former hit in this document").click()
    expect(page.locator("#mark-number")).to_have_text("5 of 6")
    expect(page.locator("#reader mark.now")).to_be_in_viewport()
    expect(page.locator(".hit.chosen .place .link")).to_have_text(LONG)
    page.get_by_role("button", name="Next hit in this document").click()
    expect(page.locator("#mark-number")).to_have_text("6 of 6")


def test_a_conversation_is_a_transcript(open_page: OpenPage) -> None:
    page = open_page(search_fragment("which station is it close to"))
    open_document(page, "chats/opening")
    turns = page.locator("#reader .turn")
    expect(turns).to_have_count(3)
    expect(turns.first).to_have_text("customer4:43When do you open tomorrow?")
    expect(turns.last.locator("mark.now")).to_contain_text("near the station")
    # Each line has its own direction.
    expect(page.locator(".turn p").first).to_have_css("unicode-bidi", "plaintext")


def test_the_map_shows_every_hit_and_leads_to_it(open_page: OpenPage) -> None:
    page = open_page(search_fragment(RENEW, measure="cosine", least="0.6"))
    open_document(page, LONG)
    lines = page.locator("#minimap .line")
    expect(lines).to_have_count(6)
    text = TEXTS[LONG]
    first = float((lines.first.get_attribute("y") or "").rstrip("%"))
    assert abs(first - 100 * text.index("This agreement") / len(text)) < 0.1
    before = page.locator("#reader-text").evaluate("text => text.scrollTop")
    box = page.locator("#minimap").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] * 0.1)
    page.wait_for_function(
        "top => document.getElementById('reader-text').scrollTop < top - 1000", arg=before
    )
    window = page.locator("#minimap .window")
    page.wait_for_function(
        "window_ => parseFloat(window_.getAttribute('y')) < 30", arg=window.element_handle()
    )


def test_the_threshold_dims_marks_without_a_query(open_page: OpenPage) -> None:
    page = open_page(search_fragment(RENEW, measure="cosine", least="0.5"))
    open_document(page, LONG)
    page.locator("#least").fill("0.99")
    expect(page.locator("#reader mark.under")).not_to_have_count(0)
    expect(page.locator("#reader mark:not(.under)")).to_have_count(1)  # the one that is open


def test_offsets_are_code_points(open_page: OpenPage) -> None:
    page = open_page(
        search_fragment("I want to cancel my subscription", measure="cosine", least="0.6")
    )
    open_document(page, "ann 1.txt")
    expect(page.locator("#reader mark.now")).to_contain_text("I want to cancel my subscription")
    assert page.locator("#reader-text").text_content() == TEXTS["calls/ann 1.txt"]


def test_an_open_document_follows_the_chosen_hit(open_page: OpenPage) -> None:
    page = open_page(
        search_fragment("I want to cancel my subscription", measure="cosine", least="0.5")
    )
    open_document(page, "ann 1.txt")
    page.keyboard.press("j")
    chosen = page.locator(".hit.chosen .place .link")
    expect(chosen).not_to_have_text("calls/ann 1.txt")
    expect(page.locator("#reader-title")).to_have_text(chosen.inner_text())
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    assert "open=" not in page.url


def test_beside_a_document_the_list_has_room_for_hits(open_page: OpenPage) -> None:
    page = open_page(
        search_fragment("I want to cancel my subscription", "stop my plan"),
        viewport={"width": 1280, "height": 800},
    )
    page.locator(".hit").first.get_by_title("Open the document").click()
    expect(page.locator("#reader .block").first).to_be_visible()
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()
    bar = page.locator("#toolbar").bounding_box()
    results = page.locator("#results").bounding_box()
    assert bar
    assert results
    assert bar["height"] < 0.3 * results["height"]


def test_a_hit_that_is_stepped_back_to_is_below_the_bar(open_page: OpenPage) -> None:
    page = open_page(
        search_fragment(RENEWAL, measure="cosine", least="0.2", collapse="no"),
        viewport={"width": 1000, "height": 700},
    )
    page.locator(".hit").first.get_by_title("Open the document").click()
    for key in "jjjjkk":
        page.keyboard.press(key)
    row = page.locator(".hit.chosen").bounding_box()
    bar = page.locator("#toolbar").bounding_box()
    assert row
    assert bar
    assert row["y"] >= bar["y"] + bar["height"] - 1


def test_over_a_phone_the_document_is_all_there_is(open_page: OpenPage) -> None:
    page = open_page(search_fragment(RENEW), viewport={"width": 390, "height": 800})
    open_document(page, "short.txt")
    box = page.locator("#reader").bounding_box()
    assert box == {"x": 0, "y": 0, "width": 390, "height": 800}
    close = page.get_by_role("button", name="Close the document")
    expect(close).to_be_focused()
    close.click()
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator(".hit .link:focus")).to_have_text("contracts/short.txt")


def test_a_document_that_is_gone_says_so(open_page: OpenPage) -> None:
    page = open_page(search_fragment(RENEW))
    gone = {"error": {"code": "no_such_document", "message": "no document", "request_id": ""}}
    page.route("**/highlights", lambda route: route.fulfill(status=404, json=gone))
    page.locator(".hit .place .link").first.click()
    expect(page.locator("#reader-text")).to_contain_text("no document")


def test_words_of_the_long_document_are_found_whole() -> None:
    assert TEXTS[LONG].lower().count(RENEWAL) == 6


def test_the_original_page_stands_beside_the_text(
    open_page: OpenPage, encoder: SpanEncoder, tmp_path: Path
) -> None:
    pytest.importorskip("pypdfium2")
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(OTHER, SAYING, OTHER, f"{SAYING}) Tj 0 -500 Td ({SAYING}"))
    with Corpus(tmp_path / "calls", encoder) as corpus:
        corpus.ingest([file])
    with served(str(tmp_path / "calls")) as server:
        wanted = search_fragment("I want to cancel my subscription", measure="cosine", least="0.6")
        page = open_page(wanted, address=server.address)
        open_document(page, "a.pdf")
        expect(page.locator("#mark-number")).to_contain_text("of 3")
        while not (page.locator("#mark-number").text_content() or "").startswith("1 "):
            page.get_by_role("button", name="Former hit in this document").click()
        expect(page.locator("#page-number")).to_have_text("page 2 of 4")
        expect(page.locator("#sheet .now rect")).to_be_in_viewport()
        expect(page.locator("#sheet rect")).to_have_count(1)
        page.get_by_role("button", name="Next hit in this document").click()
        expect(page.locator("#page-number")).to_have_text("page 4 of 4")
        expect(page.locator("#sheet .now rect")).to_be_in_viewport()
        expect(page.locator("#sheet rect")).to_have_count(2)
        page.get_by_role("button", name="Next hit in this document").click()
        expect(page.locator("#sheet g").nth(1)).to_have_class("now")
        expect(page.locator("#sheet .now rect")).to_be_in_viewport()
        page.get_by_role("button", name="Former page").click()
        expect(page.locator("#page-number")).to_have_text("page 3 of 4")
        expect(page.locator("#sheet image")).to_have_count(1)
        expect(page.locator("#sheet rect")).to_have_count(0)
        page.get_by_role("button", name="Original page").click()
        expect(page.locator("#original")).to_be_hidden()
        file.unlink()
        page.get_by_role("button", name="Original page").click()
        expect(page.locator("#sheet .wrong")).to_contain_text("a.pdf: gone")
        expect(page.locator("#reader mark.now")).to_be_visible()
        phone = open_page(wanted, address=server.address, viewport={"width": 390, "height": 800})
        open_document(phone, "a.pdf")
        expect(phone.locator("#reader-text")).to_be_visible()
        expect(phone.locator("#original")).to_be_hidden()
        phone.get_by_role("button", name="Original page").click()
        expect(phone.locator("#reader-text")).to_be_hidden()
        expect(phone.locator("#sheet .wrong")).to_be_visible()
