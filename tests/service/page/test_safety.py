"""Text from outside stays text; keys, and errors of the service, have their own states."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, Route, expect

from tests.service.conftest import Server
from tests.service.page.conftest import MARKUP, OVERRIDE, OpenPage, search_fragment
from tests.service.page.test_curation import make_topic

CANCEL = "I want to cancel my subscription"
ASSETS = Path(__file__).parents[3] / "slice_os" / "service" / "web" / "assets"


def failing(status: int, message: str, **headers: str) -> Any:
    body = {"error": {"code": "x", "message": message, "request_id": "1"}}
    return lambda route: route.fulfill(status=status, json=body, headers=headers)


def test_markup_in_documents_phrases_metadata_and_names_is_text(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, MARKUP, measure="cosine", least="0.3"))
    hit = page.locator(".hit", has_text=f"{MARKUP}.txt").first
    expect(hit.locator(".place .link")).to_have_text(f"{MARKUP}.txt")
    expect(hit.locator(".place")).to_contain_text(f"domain {MARKUP}")
    expect(hit.locator(".passage")).to_contain_text("<b>bold</b> and that is all.")
    expect(page.locator("#facets")).to_contain_text(MARKUP)
    hit.locator(".place .link").click()
    expect(page.locator("#reader-text")).to_contain_text(f"{MARKUP} I want to cancel")
    assert (
        page.locator("main img, main b:not(.score b, .figures b, .headline b), main script").count()
        == 0
    )
    assert "owned" not in page.title()


def test_markup_in_topics_labels_readers_and_speakers_is_text(
    open_page: OpenPage, page_server: Server
) -> None:
    hostile = f"{MARKUP}<svg/onload=document.title='owned'> javascript:alert(1)"
    spoken = f"I want to stop my subscription. {hostile}"
    segment = {"start": 0, "end": len(spoken), "speaker": hostile}
    topic = {"phrases": [CANCEL, hostile], "counter_phrases": [hostile], "description": hostile}
    label = {"topic": "hostile", "text": hostile, "doc_id": hostile, "speaker": hostile}
    both = [
        {**label, "label": right, "reader": f"{right}{hostile}"[:99]} for right in (True, False)
    ]
    document = {"id": hostile, "text": spoken, "segments": [segment]}

    def ask(method: str, path: str, body: object) -> None:
        content = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        address = f"{page_server.address}/{path}"
        urlopen(Request(address, content, headers, method=method), timeout=60).close()

    for call in (
        ("POST", "documents", {"documents": [document]}),
        ("PUT", "topics/hostile", {**topic, "threshold": 0.3, "must_match": [hostile]}),
        ("POST", "labels", {"labels": both}),
    ):
        ask(*call)
    page = open_page("#topics")
    card = page.get_by_role("article", name="hostile", exact=True)
    expect(card).to_contain_text(hostile)
    card.get_by_role("button", name="Test").click()
    expect(card.locator(".outcome")).to_contain_text(hostile)
    card.get_by_role("button", name="Settle").click()
    expect(card.locator(".outcome li")).to_contain_text(MARKUP)
    everywhere = {"store": hostile, "open": f"0:9:{hostile}", "where": f'["{hostile}"]'}
    views = {
        search_fragment(CANCEL, topic="hostile", measure="cosine", least="0.3"): ".hit",
        f"#matrix?{urlencode({'topic': hostile})}": "main",
        search_fragment(hostile, **everywhere): "main",
    }
    pages = [page]
    for fragment, shown in views.items():
        pages.append(open_page(fragment))
        expect(pages[-1].locator(shown).first).to_be_visible()
    live = "main img, main svg[onload], main script, a[href^=javascript]"
    for one in pages:
        assert one.locator(live).count() == 0
        assert one.title() != "owned"
    # The tests of other files count the documents of the same store.
    ask("DELETE", f"documents/{quote(hostile)}", None)


def test_values_that_turn_the_direction_of_text_are_isolated(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.3"))
    field = page.locator(".hit bdi.field", has_text=OVERRIDE).first
    expect(field).to_be_attached()
    assert field.evaluate("bdi => getComputedStyle(bdi).unicodeBidi") == "isolate"


def test_the_page_runs_no_inline_script_or_style(open_page: OpenPage) -> None:
    refused: list[str] = []

    def watch(page: Page) -> None:
        page.on("console", lambda one: refused.append(one.text))

    page = open_page(before=watch)
    policy = page.request.get(page.url).headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    for script in page.locator("script").all():
        assert script.get_attribute("src")
    assert page.locator("style, [style], [onclick]").count() == 0
    assert not [line for line in refused if "Content Security Policy" in line]


def test_no_source_parses_text_as_html() -> None:
    for path in ASSETS.glob("*.js"):
        source = path.read_text("utf-8")
        for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert name not in source, path.name


@pytest.mark.parametrize(
    ("status", "title"),
    [(503, "The store cannot be reached"), (504, "That took too long"), (413, "too much")],
)
def test_errors_have_a_state_and_another_try(open_page: OpenPage, status: int, title: str) -> None:
    page = open_page()
    page.route("**/search", failing(status, "index demo: no answer"))
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text(title)
    expect(page.locator("#notice")).to_contain_text("index demo: no answer")
    page.unroute("**/search")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".hit").first).to_be_visible()


def test_a_busy_service_says_when_to_try_again(open_page: OpenPage) -> None:
    page = open_page()
    page.route("**/search", failing(429, "48 requests wait", **{"Retry-After": "2"}))
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The service is busy")).to_be_visible()
    expect(page.locator("#notice button")).to_be_disabled()
    page.unroute("**/search")
    page.get_by_role("button", name="Try again", exact=True).click()
    expect(page.locator(".hit").first).to_be_visible()


def test_a_service_that_is_gone_is_noticed(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.get_by_role("heading", name="What are you looking for?")).to_be_visible()
    page.route("**/search", lambda route: route.abort("connectionrefused"))
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The service does not answer")).to_be_visible()
    told = page.locator("#notice p")
    expect(told).to_have_text("The service may have stopped, or the network is down.")
    page.route("**/topics", lambda route: route.abort("connectionrefused"))
    page.get_by_role("link", name="Topics").click()
    expect(page.locator("#board-notice")).to_be_visible()
    expect(page.get_by_role("button", name="Dialogues by topics")).to_be_visible()


def test_a_stream_that_ends_in_an_error_says_so(open_page: OpenPage) -> None:
    page = open_page()
    line = '{"error": {"code": "x", "message": "the index went away", "request_id": "1"}}\n'
    page.route("**/mine", lambda route: route.fulfill(body=line))
    page.locator("#options summary").click()
    page.get_by_label("Find").select_option("every")
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("the index went away")


def test_without_a_store_it_says_how_to_serve_one(open_page: OpenPage) -> None:
    page = open_page(
        before=lambda page: page.route(
            "**/stores",
            lambda route: route.fulfill(json={"stores": [], "unavailable": [], "work": "/srv"}),
        )
    )
    expect(page.get_by_role("heading", name="No store is served")).to_be_visible()


def test_a_key_is_asked_for_once_and_sent(open_page: OpenPage) -> None:
    sent: list[str] = []

    def guard(route: Route) -> None:
        key = route.request.headers.get("authorization", "")
        sent.append(key)
        if key == "Bearer right":
            route.continue_()
        else:
            failing(401, "give a key")(route)

    page = open_page(before=lambda page: page.route("**/{stores,topics,search,stores/**}", guard))
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Key").fill("wrong")
    dialog.get_by_role("button", name="Use this key").click()
    expect(dialog.get_by_role("alert")).to_have_text("The service refused that key.")
    dialog.get_by_label("Key").fill("right")
    dialog.get_by_role("button", name="Use this key").click()
    expect(page.get_by_role("heading", name="What are you looking for?")).to_be_visible()
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_be_visible()
    assert sent[-1] == "Bearer right"
    stored = page.evaluate("[sessionStorage.length, JSON.stringify(localStorage)]")
    assert stored[0] == 1
    assert "right" not in stored[1]


def test_without_a_key_it_says_that_one_is_needed(open_page: OpenPage) -> None:
    page = open_page(before=lambda page: page.route("**/stores", failing(401, "give a key")))
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", name="A key is needed")).to_be_visible()
    expect(page.locator("#notice p")).to_have_text("Ask whoever runs the service for a key.")


def test_what_a_key_does_not_allow_is_said_as_the_service_says_it(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "allowed")
    page = open_page("#topics")
    page.route("**/estimate", failing(403, "the key of bob does not allow 'curate'"))
    card = page.get_by_role("article", name="allowed", exact=True)
    card.get_by_role("button", name="What is missed?").click()
    told = page.locator("#estimate-error")
    expect(told).to_have_text("the key of bob does not allow 'curate'.")
    expect(page.locator("#estimate-place")).to_be_empty()


def test_a_link_to_a_store_that_is_gone_says_so(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, store="gone"))
    expect(page.locator(".toast")).to_have_text("There is no store gone: this is calls.")
    expect(page.locator(".hit").first).to_be_visible()


def test_missing_filters_are_said_and_asked_for_again(open_page: OpenPage) -> None:
    fields = "**/fields?limit=*"
    page = open_page(before=lambda page: page.route(fields, failing(500, "no disk")))
    expect(page.locator("#facets")).to_contain_text("The values of fields are missing: no disk.")
    page.unroute(fields)
    with page.expect_request(fields) as one:
        page.locator("#facets").get_by_role("button", name="Try again").click()
    assert one.value.response() is not None
    expect(page.locator("#facets")).to_contain_text("media")
    expect(page.get_by_label("customer")).to_have_count(1)


def test_counting_tells_how_far_it_is_and_can_be_stopped(
    open_page: OpenPage, page_server: Server
) -> None:
    topic = json.dumps({"name": "stop-me", "phrases": ["cancel it"]}).encode()
    headers = {"Content-Type": "application/json"}
    urlopen(Request(f"{page_server.address}/topics", topic, headers)).close()
    counts = "**/counts/progress?*"
    page = open_page("#topics", before=lambda page: page.route(counts, lambda route: None))
    expect(page.get_by_label("Documents looked at")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#board")).to_contain_text("Not counted.")
    page.unroute(counts)
    page.get_by_role("button", name="Count", exact=True).click()
    expect(page.locator("#board .total").first).to_contain_text(re.compile(r"of \d+ dialogues"))
