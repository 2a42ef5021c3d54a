"""The page for everybody: contrast, labels, narrow screens, keyboard and colour schemes."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service.page.conftest import OpenPage, search_fragment

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

CANCEL = "I want to cancel my subscription"
SEARCH = search_fragment(
    CANCEL, "stop my plan", measure="cosine", least="0.35", **{"not": "I cancel nothing"}
)


def findings(page: Page) -> list[str]:
    """What axe finds to be serious or critical."""
    found: dict[str, Any] = axe.Axe().run(page).response
    return [
        f"{one['id']}: {node['html']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def show_welcome(page: Page) -> None:
    expect(page.get_by_role("heading", name="What are you looking for?")).to_be_visible()


def show_hits(page: Page) -> None:
    page.goto(page.url + SEARCH)
    page.reload()
    expect(page.locator(".hit").first).to_be_visible()
    page.keyboard.press("j")


def show_document(page: Page) -> None:
    show_hits(page)
    page.keyboard.press("o")
    expect(page.locator("#reader mark.now").first).to_be_visible()


def show_help(page: Page) -> None:
    show_welcome(page)
    page.keyboard.press("?")


def show_topic_dialogue(page: Page) -> None:
    show_hits(page)
    page.get_by_role("button", name="Save as topic").click()


def show_board(page: Page) -> None:
    topic = {"name": "looks", "phrases": [CANCEL], "counter_phrases": ["no"], "threshold": 0.5}
    page.request.post(f"{page.url}topics", data=topic)
    page.get_by_role("link", name="Topics").click()
    expect(page.locator(".card .chart").first).to_be_visible()


def show_rule(page: Page) -> None:
    show_board(page)
    page.get_by_role("button", name="New rule").click()
    page.locator("#rule-parts summary").click()


def show_matrix(page: Page) -> None:
    show_board(page)
    page.get_by_role("button", name="Dialogues by topics").click()
    page.locator("#matrix-cells td button").first.click()
    expect(page.locator("#reader .block").first).to_be_visible()


def show_estimate(page: Page) -> None:
    show_board(page)
    card = page.get_by_role("article", name="looks", exact=True)
    card.get_by_role("button", name="What is missed?").click()
    expect(page.locator("#estimate-place mark")).to_be_visible()


def show_error(page: Page) -> None:
    page.route("**/search", lambda route: route.abort())
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The service does not answer")).to_be_visible()


VIEWS = [
    *(show_welcome, show_hits, show_document, show_help, show_topic_dialogue, show_board),
    *(show_rule, show_matrix, show_estimate, show_error),
]


@pytest.mark.parametrize("show", VIEWS)
def test_axe_finds_nothing_serious(open_page: OpenPage, show: Any) -> None:
    page = open_page(color_scheme="light")
    show(page)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    assert findings(page) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) != light
    assert findings(page) == []


@pytest.mark.parametrize("show", VIEWS)
def test_nothing_is_wider_than_a_phone(open_page: OpenPage, show: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 800})
    show(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert findings(page) == []


def test_the_theme_is_the_systems_until_somebody_chooses(open_page: OpenPage) -> None:
    page = open_page(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Theme: as the system").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(ground) == dark


def test_everything_can_be_reached_and_seen_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(SEARCH)
    expect(page.locator(".hit").first).to_be_visible()
    page.locator("body").focus()
    reached = []
    # All stops, however many there are: behind the last one, the body has the focus again.
    while len(reached) < 500 and (not reached or reached[-1][0]):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => {
                  const one = document.activeElement;
                  const shown = one.matches(".switch input") ? one.nextElementSibling : one;
                  const name = one.id || one.textContent.trim() || one.tagName;
                  return [one === document.body ? "" : name, getComputedStyle(shown).outlineStyle];
                }"""
            )
        )
    names = [name for name, _ in reached]
    assert names[-1] == ""
    assert {"skip", "theme", "show-help", "least", "save-topic", "save-file"} <= set(names)
    assert [name for name, style in reached[:-1] if style != "solid"] == []


def test_the_first_stop_skips_to_the_hits(open_page: OpenPage) -> None:
    page = open_page(SEARCH)
    expect(page.locator(".hit").first).to_be_visible()
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_focused()


def test_hits_are_a_feed_with_places(open_page: OpenPage) -> None:
    page = open_page(SEARCH)
    first = page.get_by_role("feed").get_by_role("article").first
    expect(first).to_have_attribute("aria-posinset", "1")
    expect(first).to_have_attribute("aria-setsize", page.locator("#count").inner_text())


def test_nothing_moves_for_those_who_want_it_still(open_page: OpenPage) -> None:
    page = open_page(reduced_motion="reduce")
    show_welcome(page)
    page.locator("#results").evaluate("one => one.setAttribute('aria-busy', 'true')")
    name = "getComputedStyle(document.getElementById('results'), '::before').animationName"
    assert page.evaluate(name) == "none"
