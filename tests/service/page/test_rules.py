"""Rules out of topics, their matches, and what a topic misses, on the page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Route, expect

from tests.service.conftest import Server
from tests.service.page.conftest import OpenPage
from tests.service.page.test_curation import CANCEL, asked, make_topic


def test_a_rule_is_made_without_toml_and_edited_again(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "leaves")
    make_topic(page_server, "stolen", phrases=["my card was stolen"])
    page = open_page("#topics")
    page.get_by_role("button", name="New rule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Leaves and stays safe")
    dialog.get_by_label("topic", exact=True).select_option("leaves")
    expect(dialog.get_by_label("Remove this topic")).to_be_hidden()  # a rule has one at least
    dialog.get_by_role("button", name="+ another topic").click()
    part = dialog.locator("#rule-parts > li").nth(1)
    part.get_by_label("It", exact=True).select_option("none")
    part.get_by_label("topic", exact=True).select_option("stolen")
    part.locator("summary").click()
    part.get_by_label("place").select_option("before")
    part.get_by_label("of which topic").select_option("leaves")
    part.get_by_label("Within", exact=True).fill("3")
    part.get_by_label("Within: unit").select_option("sentences")
    expect(part.locator("summary")).to_have_text("within 3 sentences before leaves")
    page.route("**/match", lambda route: route.abort("connectionrefused"))
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("may have stopped")
    expect(dialog.get_by_role("status")).to_be_empty()
    page.unroute("**/match")
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("status")).to_have_text("3 matches")
    dialog.get_by_role("button", name="Save").click()
    card = page.get_by_role("article", name="Leaves and stays safe", exact=True)
    expect(card).to_contain_text("lacks stolen, within 3 sentences before leaves")
    kept = asked(page_server, "topics/Leaves%20and%20stays%20safe")
    assert kept["all"] == ["leaves"]
    wanted = {"topic": "stolen", "before": "leaves", "within": "3 sentences"}
    assert kept["none"] == [wanted]

    card.get_by_role("button", name="Edit").click()
    part = dialog.locator("#rule-parts > li").nth(1)
    part.locator("summary").click()
    part.get_by_label("Said by").fill("customer")
    dialog.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("stolen, said by customer, within 3 sentences before leaves")
    kept = asked(page_server, "topics/Leaves%20and%20stays%20safe")
    assert kept["none"] == [{**wanted, "speaker": "customer"}]
    expect(card.locator(".total")).to_have_text("4 of 7 dialogues match")

    card.get_by_role("button", name="Show matches").click()
    expect(page.locator("#matches-total")).to_have_text("4 matches")
    match = page.get_by_role("article", name="calls/ben.txt", exact=True)
    expect(match).to_contain_text("no stolen")
    match.locator(".place button").click()
    expect(page.locator("#reader-title")).to_have_text("calls/ben.txt")
    expect(page.locator("#reader mark.now")).to_contain_text("cancel my subscription")
    again = open_page(page.url[page.url.index("#") :])
    expect(again.locator("#reader-title")).to_have_text("calls/ben.txt")


def test_documents_are_ranked_by_how_surely_they_lack_a_topic(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "leaving")
    page = open_page("#topics")
    card = page.get_by_role("article", name="leaving", exact=True)
    card.get_by_role("button", name="Dialogues without").click()
    expect(page.locator("#matrix-title")).to_have_text("Dialogues without leaving")
    expect(page.locator("#matrix-total")).to_have_text("3 lack it, 1 unsure, 3 have it")
    cells = page.locator("#matrix-cells tbody td")
    expect(cells).to_have_count(7)
    expect(cells.first).to_contain_text("lacks")
    expect(cells.last).to_contain_text("has")
    page.get_by_role("button", name="chats/opening", exact=True).click()
    expect(page.locator("#reader-text")).to_contain_text("We open at nine.")
    link = page.url[page.url.index("#") :]
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    again = open_page(link)
    expect(again.locator("#reader-title")).to_have_text("chats/opening")
    with page.expect_download() as download:
        page.locator("#save-matrix").click()
    assert Path(download.value.path()).read_text("utf-8-sig").startswith("doc_id,leaving,")


def test_documents_by_topics_are_a_table_whose_cells_open(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "quits")
    make_topic(page_server, "renews", phrases=["this agreement renews by itself"])
    page = open_page("#topics")
    page.get_by_role("button", name="Dialogues by topics").click()
    expect(page.locator("#matrix-total")).to_have_text("7 dialogues")
    heads = page.locator("#matrix-cells thead th").all_inner_texts()
    assert heads[0] == "dialogue"
    (at,) = (number for number, head in enumerate(heads) if head.startswith("renews"))
    page.get_by_role("button", name="renews", exact=True).click()
    cell = page.locator("#matrix-cells tbody tr").last.locator("td").nth(at - 1)
    expect(cell).to_contain_text(" %")
    cell.get_by_role("button").click()
    expect(page.locator("#reader mark.now")).to_contain_text("renew")


def test_the_board_has_the_last_periods_side_by_side(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "beside")
    page = open_page("#topics")
    page.get_by_label("each").select_option("domain")
    page.get_by_label("Count by").select_option("month")
    table = page.get_by_role("article", name="beside", exact=True).locator(".side-by-side")
    expect(table.locator("thead")).to_contain_text("2026-06")
    expect(table.get_by_role("row").filter(has_text="media")).to_contain_text("+2")


def test_what_a_topic_misses_is_asked_passage_by_passage(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "missed", where={"domain": "media"})
    page = open_page("#topics")
    card = page.get_by_role("article", name="missed", exact=True)
    card.get_by_role("button", name="What is missed?").click()
    dialog = page.get_by_role("dialog")
    done = dialog.locator("#estimate-done")
    expect(done).to_have_text("0 of 2")
    expect(dialog.locator("mark")).to_be_visible()
    page.keyboard.press("n")
    expect(done).to_have_text("1 of 2")
    page.keyboard.press("u")
    expect(done).to_have_text("0 of 2")
    page.keyboard.press("y")
    expect(done).to_have_text("1 of 2")
    page.keyboard.press("y")
    expect(dialog).to_contain_text("Finds about 100 of 100")
    expect(dialog).to_contain_text("after 2 labels")
    page.keyboard.press("Escape")
    expect(card).to_contain_text("2 accepted, 0 rejected")


def test_a_sample_that_comes_late_is_not_shown_for_another_topic(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "late", where={"domain": "media"})
    make_topic(page_server, "later", where={"domain": "finance"})
    page = open_page("#topics")
    waiting: list[Route] = []
    page.route("**/late/estimate", lambda route: waiting.append(route))
    page.get_by_role("article", name="late", exact=True).get_by_text("What is missed?").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Drawing a sample")
    page.wait_for_timeout(500)  # until the sample is asked for
    page.keyboard.press("Escape")
    page.get_by_role("article", name="later", exact=True).get_by_text("What is missed?").click()
    expect(dialog.locator("#estimate-done")).to_have_text("0 of 1")
    with page.expect_response("**/late/estimate"):
        waiting[0].continue_()
    expect(dialog.locator(".place")).to_contain_text("finance")
    page.keyboard.press("y")
    expect(dialog).to_contain_text("after 1 label")
    labels = [asked(page_server, f"labels?topic={name}")["labels"] for name in ("late", "later")]
    assert [len(found) for found in labels] == [0, 1]  # type: ignore[arg-type]


def test_the_unsure_ones_come_first_where_people_label(
    open_page: OpenPage, page_server: Server
) -> None:
    make_topic(page_server, "doubted", phrases=[CANCEL, "my card was stolen"], threshold=0.2)
    page = open_page("#topics")
    card = page.get_by_role("article", name="doubted", exact=True)
    card.get_by_role("button", name="Show hits").click()
    expect(page.locator("#order")).to_have_value("unsure")
    expect(page.locator("#results[aria-busy=true]")).to_have_count(0)
    expect(page.locator(".hit .score b").first).to_be_visible()
    shown = page.locator(".hit .evidence > .score b").all_text_contents()
    shares = [0.5 if text.startswith("<") else float(text.split()[0]) for text in shown]
    surer = [not 15 <= share < 65 for share in shares]
    assert surer == sorted(surer)
