"""Searching on the page: phrases, threshold, facets, and links that reproduce a view."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.service.page.conftest import LONG, OpenPage, search_fragment

CANCEL = "I want to cancel my subscription"
RENEW = "the contract renews by itself"


def search_requests(page: Page) -> list[str]:
    """The queries that the page asks from now on."""
    found: list[str] = []
    page.on(
        "request",
        lambda one: found.append(one.url) if one.url.endswith(("/search", "/mine")) else None,
    )
    return found


def slide(page: Page, least: float) -> None:
    """Move the slider as a person does, and let the page draw."""
    page.locator("#least").evaluate(
        """(slider, least) => new Promise((done) => {
          slider.value = least;
          slider.dispatchEvent(new Event("input", { bubbles: true }));
          slider.dispatchEvent(new Event("change", { bubbles: true }));
          requestAnimationFrame(() => requestAnimationFrame(done));
        })""",
        least,
    )


def hit_texts(page: Page) -> list[str]:
    return page.locator(".hit mark").all_text_contents()


def test_a_phrase_is_found_in_other_words_with_its_evidence(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.get_by_role("heading", name="What are you looking for?")).to_be_visible()
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    first = page.locator(".hit").first
    expect(first.locator("mark")).to_contain_text("cancel my subscription")
    expect(first).to_contain_text("cosine")
    expect(first).to_contain_text("probability")
    expect(first).to_contain_text("BM25")
    assert "phrase=I+want" in page.url
    expect(page.locator("#status")).to_contain_text("hits of")


def test_the_first_screen_tells_the_store_and_what_a_probability_is(open_page: OpenPage) -> None:
    page = open_page()
    line = "7 documents, 1 June to 12 June 2026, 5 domains"
    expect(page.locator("#notice .glance")).to_have_text(line.replace("documents", "dialogues"))
    expect(page.locator("#notice")).to_contain_text("of 100 hits with 70 %, about 70 do")


def test_documents_are_counted_from_the_cut_on_and_by_week(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.7"))
    headline = page.locator("#headline")
    expect(headline).to_have_text(
        re.compile("3 of 7 dialogues *have a hit.*of cosine 0.70 or more, 43 per 100; .* of a week")
    )
    weeks = page.locator("#weeks button")
    expect(weeks.first).to_have_attribute(
        "aria-label", "2026-06-01 to 2026-06-07: 3 of 4, 75 per 100"
    )
    weeks.last.click()
    expect(page.locator("#scope")).to_contain_text("of the 3 best passage")
    expect(weeks.last).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("from", exact=True).first).to_have_value("2026-06-08")
    slide(page, 0)
    expect(page.locator(".hit .place", has_text="customer 4:43")).to_have_count(1)
    page.get_by_role("radio", name="agent", exact=True).check()
    expect(page.locator("#scope")).to_contain_text("of the 1 best passage")


def test_several_wordings_are_one_search_and_each_hit_names_its_own(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.get_by_role("button", name="+ another wording").click()
    page.get_by_label("Phrase 2", exact=True).fill(RENEW)
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".hit").first).to_be_visible()
    slide(page, 0.3)
    named = page.locator(".hit .chip").all_text_contents()
    assert {f"“{CANCEL}”", f"“{RENEW}”"} <= set(named)
    page.get_by_role("button", name="Remove phrase 1").click()
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".hit .chip")).to_have_count(0)
    expect(page.locator(".hit mark").first).to_contain_text("renew")


def test_another_wording_is_offered_from_the_nearest_turns(open_page: OpenPage) -> None:
    page = open_page(search_fragment("is it close to the station"))
    expect(page.locator(".hit").first).to_be_visible()
    page.get_by_role("button", name="+ another wording").click()
    page.get_by_role("button", name="+ Is it near the station?").click()
    expect(page.get_by_label("Phrase 2", exact=True)).to_have_value("Is it near the station?")


def test_hits_nearer_to_what_it_is_not_are_left_out(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.6"))
    expect(page.locator(".hit mark", has_text="want to cancel my").first).to_be_visible()
    page.get_by_role("button", name="+ what it is not").click()
    page.get_by_label("Not 1", exact=True).fill("I would like to cancel my subscription")
    page.keyboard.press("Enter")
    expect(page.locator(".hit", has_text="ann 1").first).to_be_visible()
    expect(page.locator(".hit", has_text="ben.txt")).to_have_count(0)


def test_the_slider_cuts_list_and_histogram_without_a_query(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, collapse="no", measure="cosine"))
    expect(page.locator(".hit").first).to_be_visible()
    asked = search_requests(page)
    counts = []
    for least in (0.3, 0.6, 0.9):
        slide(page, least)
        counts.append(page.locator(".hit").count())
        assert page.locator("#count").inner_text() == str(counts[-1])
        edge = float(page.locator("#reached rect").get_attribute("x") or 0)
        low = float(page.locator("#least").get_attribute("min") or 0)
        assert abs(edge - 500 * (least - low) / (1 - low)) < 1
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    assert asked == []
    slide(page, 1)
    expect(page.get_by_role("heading", name="No hit reaches this threshold")).to_be_visible()


def test_the_threshold_is_cosine_or_probability(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL))
    expect(page.locator(".hit").first).to_be_visible()
    asked = search_requests(page)
    expect(page.locator("#least")).to_have_attribute("aria-label", "Least probability")
    expect(page.locator("#least-value")).to_have_text("0.15")
    page.locator("#measures label", has_text="cosine").click()
    expect(page.locator("#least")).to_have_attribute("aria-label", "Least cosine")
    expect(page.locator("#histogram")).to_have_attribute("aria-label", re.compile("by cosine"))
    page.get_by_label("Order").select_option("place")
    slide(page, 0)
    places = page.locator(".hit .place .link").all_text_contents()
    assert places == sorted(places)
    assert asked == []


def test_facets_narrow_the_search_and_count_its_hits(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.3"))
    expect(page.locator(".hit").first).to_be_visible()
    facet = page.locator("#facets fieldset", has_text="domain")
    expect(facet.locator("label", has_text="media").locator(".count")).not_to_be_empty()
    facet.get_by_label("finance").check()
    expect(page.locator("#scope")).to_contain_text("of the 1 best passage")
    expect(page.locator(".hit .place .link")).to_have_text("calls/card")
    facet.get_by_label("finance").uncheck()
    expect(page.locator("#scope")).not_to_contain_text("of the 1 best passage")
    page.locator("#facets fieldset", has_text="csat").get_by_label("from").fill("3")
    page.keyboard.press("Tab")
    expect(page.locator(".hit .place .link")).to_have_text("calls/ben.txt")
    page.get_by_role("button", name="clear all filters").click()
    expect(page.locator("#scope")).not_to_contain_text("of the 1 best passage")
    assert "where" not in page.url
    expect(page.get_by_text("Filters", exact=True)).to_be_focused()


def test_a_link_reproduces_the_view(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL))
    expect(page.locator(".hit").first).to_be_visible()
    page.locator("#facets").get_by_label("media").check()
    expect(page.locator("#scope")).to_contain_text("of the 2 best passage")
    slide(page, 0.9)
    page.get_by_label("Order").select_option("place")
    page.locator(".hit", has_text="ben.txt").get_by_role("button", name="ben.txt").click()
    expect(page.locator("#reader mark.now").first).to_be_visible()
    again = open_page(page.url.partition("/")[2].partition("/")[2].partition("/")[2])
    expect(again.locator("#reader mark.now").first).to_be_visible()
    assert hit_texts(again) == hit_texts(page)
    assert again.locator("#least").input_value() == "0.9"
    assert again.get_by_label("Order").input_value() == "place"
    expect(again.locator("#facets").get_by_label("media")).to_be_checked()
    expect(again.locator("#reader-title")).to_have_text("calls/ben.txt")


def test_back_returns_to_the_former_search(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL))
    page.locator(".hit").first.get_by_title("Open the document").click()
    expect(page.locator("#reader mark.now")).to_contain_text("cancel")
    page.locator("#close-reader").click()
    page.keyboard.press("o")
    page.get_by_label("Phrase 1", exact=True).fill(RENEW)
    page.keyboard.press("Enter")
    expect(page.locator(".hit mark").first).to_contain_text("renew")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page.locator("#reader mark.now")).to_contain_text("renew")
    page.go_back()
    expect(page.locator(".hit mark").first).to_contain_text("cancel")
    expect(page.locator("#reader mark.now")).to_contain_text("cancel")
    expect(page.get_by_label("Phrase 1", exact=True)).to_have_value(CANCEL)


def test_every_hit_of_the_store_is_streamed(open_page: OpenPage) -> None:
    page = open_page(search_fragment(RENEW, most="every", measure="cosine", least="0.6"))
    expect(page.locator("#mining")).to_be_hidden()
    repeated = page.locator(".hit", has_text=LONG)
    # The same words once, until somebody asks for the others.
    more = repeated.get_by_role("button", name=re.compile(r"\+ \d in the same words"))
    shown = repeated.count()
    assert shown < 6
    hidden = int(more.first.inner_text().split()[1])
    more.first.click()
    expect(repeated).to_have_count(shown + hidden)
    expect(page.locator(".hit", has_text="contracts/short.txt").first).to_be_visible()


def test_mining_can_be_stopped(open_page: OpenPage) -> None:
    page = open_page(before=lambda page: page.route("**/mine", lambda route: None))
    page.locator("#options summary").click()
    page.get_by_label("Find").select_option("every")
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/mine")):
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("heading", name="Stopped")).to_be_visible()
    expect(page.locator("#mining")).to_be_hidden()


def test_what_the_verifier_finds_against_and_for_a_hit_is_shown(open_page: OpenPage) -> None:
    def doubted(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        for hit in found["hits"]:
            hit |= {"reasons": ["<i>negated here</i>"], "bm25": None, "count": 3}
            hit |= {"band": "unsure", "matches": [["cancel", "<i>end</i>"]]}
        route.fulfill(response=answer, json=found)

    page = open_page(before=lambda page: page.route("**/search", doubted))
    page.get_by_label("Phrase 1", exact=True).fill(CANCEL)
    page.keyboard.press("Enter")
    first = page.locator(".hit").first
    expect(first.locator(".doubt")).to_have_text("<i>negated here</i>")
    expect(first.locator(".band.unsure")).to_have_text("unsure")
    expect(first.locator(".evidence")).to_contain_text("cancel ↔ <i>end</i>")
    expect(first).to_contain_text("3 times")
    expect(first).not_to_contain_text("BM25")


def test_what_is_nowhere_has_a_state_of_its_own(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, where='{"domain":"nowhere"}'))
    expect(page.get_by_role("heading", name="Nothing says that here")).to_be_visible()
    expect(page.locator("#toolbar")).to_be_hidden()
