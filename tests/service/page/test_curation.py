"""Answering hits by keyboard, and topics: saved from a search, on the board, and back."""

from __future__ import annotations

import json
import re
from urllib.request import Request, urlopen

from playwright.sync_api import Page, Route, expect

from tests.service.conftest import Server
from tests.service.page.conftest import RENEWAL, OpenPage, search_fragment

CANCEL = "I want to cancel my subscription"


def asked(server: Server, path: str, body: object = None) -> dict[str, object]:
    """What the service itself answers."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{server.address}/{path}", data, {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        return dict(json.load(answer))


def make_topic(server: Server, name: str, **fields: object) -> None:
    asked(server, "topics", {"name": name, "phrases": [CANCEL], "threshold": 0.5, **fields})


def chosen(page: Page) -> str:
    return page.locator(".hit.chosen .place .link").inner_text()


def test_keys_go_through_hits_and_open_them(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.4"))
    expect(page.locator(".hit").first).to_be_visible()
    names = page.locator(".hit .place .link").all_text_contents()
    page.keyboard.press("j")
    assert chosen(page) == names[0]
    page.keyboard.press("j")
    assert chosen(page) == names[1]
    page.keyboard.press("k")
    assert chosen(page) == names[0]
    page.keyboard.press("o")
    expect(page.locator("#reader-title")).to_have_text(names[0])
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_label("Phrase 1", exact=True)).to_be_focused()
    page.keyboard.type("jy?")  # letters in a field are letters
    expect(page.get_by_label("Phrase 1", exact=True)).to_have_value("jy?")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard")).to_be_visible()
    page.get_by_label("Single keys work as shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert chosen(page) == names[0]


def test_answers_are_kept_and_taken_back(open_page: OpenPage, page_server: Server) -> None:
    make_topic(page_server, "keep-answers")
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.4", topic="keep-answers"))
    expect(page.locator(".hit").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("y")
    expect(page.locator(".hit").first).to_have_attribute("data-answer", "yes")
    expect(page.locator(".hit").nth(1)).to_have_class(re.compile("chosen"))
    page.keyboard.press("n")
    expect(page.locator(".hit").nth(1)).to_have_attribute("data-answer", "no")
    expect(page.locator("#answered")).to_have_text("1 accepted, 1 rejected")
    labels = asked(page_server, "labels?topic=keep-answers")["labels"]
    assert isinstance(labels, list)
    assert [label["label"] for label in labels] == [True, False]
    again = open_page(search_fragment(CANCEL, measure="cosine", least="0.4", topic="keep-answers"))
    expect(again.locator(".hit").nth(1)).to_have_attribute("data-answer", "no")
    page.keyboard.press("u")
    expect(page.locator(".hit").nth(1)).to_have_attribute("data-answer", "")
    page.keyboard.press("u")
    expect(page.locator(".hit").first).to_have_attribute("data-answer", "")
    assert asked(page_server, "labels?topic=keep-answers")["labels"] == []


def test_buttons_answer_and_the_same_answer_again_takes_it_back(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "buttons")
    page = open_page(search_fragment(CANCEL, topic="buttons"))
    accept = page.locator(".hit").first.get_by_role("button", name="Accept")
    accept.click()
    expect(accept).to_have_attribute("aria-pressed", "true")
    accept.click()
    expect(accept).to_have_attribute("aria-pressed", "false")
    assert asked(page_server, "labels?topic=buttons")["labels"] == []


def test_a_reader_with_a_name_does_not_see_other_answers(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "blind")
    page = open_page(search_fragment(CANCEL, topic="blind"))
    first = page.locator(".hit").first
    name = page.get_by_label("Reader")
    for reader, button in (("ann", "Accept"), ("bob", "Reject")):
        name.fill(reader)
        name.press("Enter")
        expect(first).to_have_attribute("data-answer", "")
        first.get_by_role("button", name=button).click()
        expect(first).to_have_attribute("data-answer", "yes" if reader == "ann" else "no")
    name.fill("ann")
    name.press("Enter")
    expect(first).to_have_attribute("data-answer", "yes")
    page.get_by_role("link", name="Topics").click()
    card = page.locator(".card[aria-label=blind]")
    expect(card).to_contain_text("2 readers agree on 1 hit: alpha")
    expect(card).to_contain_text("1 to settle")
    card.get_by_role("button", name="Settle").click()
    dispute = card.locator(".outcome li")
    expect(dispute).to_contain_text("ann ✓ bob ✕")
    dispute.get_by_role("button", name="Right").click()
    expect(dispute).to_contain_text("is right")
    expect(card).not_to_contain_text("to settle")
    labels = asked(page_server, "labels?topic=blind")["labels"]
    assert isinstance(labels, list)
    assert [(label["label"], label["settled"]) for label in labels] == [(True, True)]
    assert labels[0]["reader"] == "ann"


def test_an_answer_that_is_not_kept_yet_is_given_once_and_by_its_reader(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "once")
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.4", topic="once"))
    first, second = page.locator(".hit").nth(0), page.locator(".hit").nth(1)
    name = page.get_by_label("Reader")
    name.fill("ann")
    name.press("Enter")
    # Another window of the same browser has another reader.
    page.evaluate("localStorage.setItem('slice-os-reader', 'bob')")
    waiting: list[Route] = []
    page.route("**/labels", lambda route: waiting.append(route))
    name.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("y")
    page.keyboard.press("y")
    page.keyboard.down("y")
    expect(first).to_have_class(re.compile("chosen"))
    assert len(waiting) == 1
    # Nor is it an answer to a topic that is chosen meanwhile.
    page.locator("#topic").select_option("")
    waiting[0].continue_()
    expect(second).to_have_class(re.compile("chosen"))
    expect(first).to_have_attribute("data-answer", "")
    page.unroute("**/labels")
    page.locator("#topic").select_option("once")
    expect(first).to_have_attribute("data-answer", "yes")
    labels = asked(page_server, "labels?topic=once")["labels"]
    assert isinstance(labels, list)
    assert [(label["label"], label["reader"]) for label in labels] == [(True, "ann")]


def test_a_key_that_is_held_answers_one_hit(open_page: OpenPage, page_server: Server) -> None:
    make_topic(page_server, "held")
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.4", topic="held"))
    expect(page.locator(".hit").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.down("y")
    expect(page.locator(".hit").nth(1)).to_have_class(re.compile("chosen"))
    page.keyboard.down("y")
    page.keyboard.up("y")
    page.keyboard.down("n")
    expect(page.locator("#answered")).to_have_text("1 accepted, 1 rejected")


def test_after_an_answer_that_is_not_kept_the_hit_stays_chosen(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "not-kept")
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.4", topic="not-kept"))
    first = page.locator(".hit").first
    expect(first).to_be_visible()
    page.route("**/labels", lambda route: route.abort("connectionrefused"))
    page.keyboard.press("j")
    page.keyboard.press("y")
    expect(page.locator(".toast")).to_contain_text("The service does not answer")
    page.unroute("**/labels")
    page.keyboard.press("y")
    expect(first).to_have_attribute("data-answer", "yes")
    expect(page.locator("#answered")).to_have_text("1 accepted, 0 rejected")


def test_hits_in_the_same_words_are_answered_at_once(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "same-words")
    page = open_page(search_fragment(RENEWAL, least="0.1", topic="same-words"))
    more = page.get_by_role("button", name="+ 5 in the same words")
    row = page.locator(".hit").filter(has=more)
    row.get_by_role("button", name="Accept").click()
    expect(row).to_have_attribute("data-answer", "yes")

    def labelled() -> int:
        return len(list(asked(page_server, "labels?topic=same-words")["labels"]))  # type: ignore[call-overload]

    assert labelled() == 6
    page.keyboard.press("u")
    expect(row).to_have_attribute("data-answer", "")
    assert labelled() == 0


def test_an_answer_without_a_topic_makes_one(open_page: OpenPage, page_server: Server) -> None:
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.4"))
    expect(page.locator(".hit").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("y")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_have_value("I want to cancel my subscription")
    dialog.get_by_label("Name").fill("cancellations")
    dialog.get_by_label("Must match, one a line").fill("I want to cancel my plan")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".hit").first).to_have_attribute("data-answer", "yes")
    expect(page.locator("#topic")).to_have_value("cancellations")
    topic = asked(page_server, "topics/cancellations")
    assert topic["phrases"] == [CANCEL]
    assert topic["threshold"] == 0.4
    assert topic["must_match"] == ["I want to cancel my plan"]


def test_a_name_that_is_taken_is_said_in_the_dialogue(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "taken")
    page = open_page(search_fragment(CANCEL))
    page.get_by_role("button", name="Save as topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("taken")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()


def test_the_board_counts_topics_over_time(open_page: OpenPage, page_server: Server) -> None:
    make_topic(page_server, "over-time", threshold=0.6, counter_phrases=["I cancel nothing"])
    page = open_page("#topics")
    card = page.get_by_role("article", name="over-time", exact=True)
    expect(card.locator(".total")).to_have_text("3 of 7 dialogues have a hit")
    expect(card).to_contain_text("3 hits, 43 per 100")
    expect(card.locator(".bars button")).to_have_count(1)
    page.get_by_label("Count by").select_option("day")
    expect(card.locator(".bars button")).to_have_count(3)
    expect(card).to_contain_text("not I cancel nothing")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV of counts").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == "topic,day,hits,documents,of,per_100"
    assert "over-time,2026-06-03,2,2,2,100" in [line.removesuffix(".0") for line in lines]
    page.get_by_label("Count by").select_option("domain")
    card.locator(".ranking").get_by_role("button", name="media").click()
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator("#topic")).to_have_value("over-time")
    expect(page.locator("#facets").get_by_label("media")).to_be_checked()


def test_counts_of_many_and_long_values_stay_in_their_card(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "many-values")
    page = open_page()
    values = [f"a value with a name that is too long {'for a card ' * 5}{n}" for n in range(10)]
    count = {"hits": 1, "documents": 1, "of": 7}
    found = {"topic": "many-values", "documents": 7, "of": 7, "total": 10, "accepted": 0}
    counts = [{"key": one, "within": one, **count} for one in values]
    line = {"counts": {"topics": [{**found, "rejected": 0, "counts": counts}]}}
    page.route("**/counts/progress*", lambda route: route.fulfill(body=json.dumps(line)))
    page.get_by_role("link", name="Topics").click()
    card = page.get_by_role("article", name="many-values", exact=True)
    page.get_by_label("Count by").select_option("domain")
    expect(card.locator(".ranking li").last).to_have_text("2 more")
    page.get_by_label("each").select_option("domain")
    expect(card.locator(".side-by-side")).to_be_visible()
    assert card.evaluate("card => card.scrollWidth <= card.clientWidth")


def test_a_topic_is_tested_changed_and_deleted(open_page: OpenPage, page_server: Server) -> None:
    make_topic(
        page_server,
        "examples",
        must_match=["please cancel my subscription"],
        must_not_match=["I want to cancel my subscription now"],
    )
    page = open_page("#topics")
    card = page.get_by_role("article", name="examples", exact=True)
    card.get_by_role("button", name="Test").click()
    expect(card.locator(".outcome")).to_contain_text("1 of 2 examples pass")
    card.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Must not match, one a line").fill("")
    dialog.get_by_label("Description").fill("<b>who leaves</b>")
    dialog.get_by_label("Cut by").select_option("min_probability")
    dialog.get_by_label("from").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("from")).to_be_focused()  # a cut needs a number
    dialog.get_by_label("from").fill("0.4")
    dialog.get_by_label("Name").fill("All examples")
    dialog.get_by_role("button", name="Save").click()
    card = page.get_by_role("article", name="All examples", exact=True)
    expect(card).to_contain_text("<b>who leaves</b>")
    topic = asked(page_server, "topics/All%20examples")
    assert not topic.get("must_not_match")
    assert topic["min_probability"] == 0.4
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Keep it").click()
    expect(card).to_be_visible()
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(card).to_have_count(0)


def test_phrases_that_are_changed_are_no_longer_the_topics(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "other-words")
    page = open_page("#topics")
    card = page.get_by_role("article", name="other-words", exact=True)
    card.get_by_role("button", name="Show hits").click()
    expect(page.locator(".hit mark").first).to_contain_text("cancel")
    page.get_by_label("Phrase 1", exact=True).fill(RENEWAL)
    page.locator("#facets").get_by_label("contracts").check()
    expect(page.locator(".hit mark").first).to_contain_text("renew")


def test_a_link_to_a_topic_that_is_gone_says_so(open_page: OpenPage) -> None:
    page = open_page(search_fragment(CANCEL, most="topic", topic="gone"))
    expect(page.locator(".toast")).to_contain_text("There is no topic gone")
    expect(page.locator(".hit mark").first).to_contain_text("cancel")
    expect(page.locator("#most")).to_have_value("every")
    assert "topic" not in page.url


def test_a_topic_that_somebody_made_meanwhile_can_be_answered_for(
    open_page: OpenPage, page_server: Server
) -> None:
    page = open_page(search_fragment(CANCEL))
    make_topic(page_server, "meanwhile")
    page.get_by_role("link", name="Topics").click()
    card = page.get_by_role("article", name="meanwhile", exact=True)
    card.get_by_role("button", name="Show hits").click()
    expect(page.locator("#topic")).to_have_value("meanwhile")


def test_of_two_people_the_second_hears_that_somebody_was_faster(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "shared")
    page, other = open_page("#topics"), open_page("#topics")
    for one in (page, other):
        card = one.get_by_role("article", name="shared", exact=True)
        card.get_by_role("button", name="Edit").click()
    other.get_by_role("dialog").get_by_label("Description").fill("by the first")
    other.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(other.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("dialog").get_by_label("Description").fill("by the second")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).not_to_be_empty()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    card = page.get_by_role("article", name="shared", exact=True)
    card.get_by_role("button", name="Edit").click()
    description = page.get_by_role("dialog").get_by_label("Description")
    expect(description).to_have_value("by the first")
    description.fill("by both")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(card).to_contain_text("by both")


def test_near_misses_are_offered_as_phrases(open_page: OpenPage, page_server: Server) -> None:
    make_topic(page_server, "narrow", threshold=0.9)
    page = open_page("#topics")
    card = page.get_by_role("article", name="narrow", exact=True)
    card.get_by_role("button", name="Near misses").click()
    card.locator(".outcome").get_by_role("button", name="It is", exact=True).first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Phrases, one a line")).to_have_value(re.compile(f"^{CANCEL}\n.+"))
    dialog.get_by_role("button", name="Save").click()
    expect(card.locator(".phrases li")).to_have_count(2)


def test_answers_teach_a_topic(open_page: OpenPage, page_server: Server) -> None:
    make_topic(page_server, "taught")
    page = open_page(search_fragment(CANCEL, measure="cosine", least="0.5", topic="taught"))
    expect(page.locator(".hit").first).to_be_visible()
    page.keyboard.press("j")
    for key in "yyyn":
        before = page.locator(".hit:not([data-answer=''])").count()
        page.keyboard.press(key)
        expect(page.locator(".hit:not([data-answer=''])")).to_have_count(before + 1)
    page.get_by_role("link", name="Topics").click()
    card = page.get_by_role("article", name="taught", exact=True)
    expect(card).to_contain_text("3 accepted, 1 rejected")
    card.get_by_role("button", name="Learn").click()
    expect(card.get_by_role("heading", name="Learned from 4 answers")).to_be_visible()
    expect(card.locator(".outcome")).to_contain_text("3 hits before")
    learned = asked(page_server, "topics/taught")["learned"]
    assert isinstance(learned, dict)
    assert learned["labels"] == 4
