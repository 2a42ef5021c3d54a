"""The same phrase and the same topic through every door: the same hits, and the same number."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from slice_os import Corpus, SpanEncoder
from slice_os.hits.bands import UNSURE_FROM
from slice_os.labels.label import Label
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings
from slice_os.topics import Topic, mine_topics
from slice_os.topics.changes import difference
from slice_os.topics.work import Work
from tests.command_line import Run
from tests.service.conftest import Server, served
from tests.service.page.conftest import OpenPage, search_fragment
from tests.service.page.test_curation import asked

PHRASE = "I want to cancel my subscription"
TOPIC = {"name": "leaves", "phrases": [PHRASE, "the contract renews by itself"]}
Place = tuple[str, int, int]


def places(hits: Any) -> set[Place]:
    return {(hit["doc_id"], hit["start"], hit["end"]) for hit in hits}


def of_page(page: Page) -> tuple[int, int]:
    """The number that the page says, and that of its rows."""
    expect(page.locator("#results[aria-busy=true]")).to_have_count(0)
    expect(page.locator(".hit").first).to_be_visible()
    return int(page.locator("#count").inner_text()), page.locator(".hit").count()


def of_model(corpus: Corpus, work: Path, **arguments: Any) -> Any:
    """What a language model gets; in a thread, since Playwright has an event loop in this one."""
    from mcp.client import Client

    from slice_os.integrations.mcp_tools import Tools, mcp_server

    async def call() -> Any:
        async with Client(mcp_server(Tools({"calls": corpus}, work))) as client:
            return (await client.call_tool("mine", arguments)).structured_content

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, call()).result()


@pytest.mark.parametrize("kind", ["phrase", "topic"])
def test_every_door_gives_the_same_hits(
    open_page: OpenPage,
    page_server: Server,
    page_store: Path,
    encoder: SpanEncoder,
    run: Run,
    kind: str,
) -> None:
    pytest.importorskip("mcp")
    work = Work(Path(str(asked(page_server, "stores")["work"])))
    store = str(page_store)
    with Corpus(page_store, encoder) as corpus:
        if kind == "phrase":
            python = [hit.to_dict() for hit in corpus.mine(PHRASE)]
            said = run("mine", "-p", PHRASE, "--store", store).rows()
            body: dict[str, Any] = {"phrases": PHRASE}
            model = of_model(corpus, work.folder, phrases=[PHRASE])
            page = open_page(search_fragment(PHRASE, most="every", collapse="no"))
        else:
            asked(page_server, "topics", TOPIC)
            rejected = next(mine_topics(corpus, work.known_topics(), labels=()))
            label = Label.of(rejected, right=False).to_row()
            asked(page_server, "labels", {"labels": [label]})
            python = [
                hit.to_dict()
                for hit in mine_topics(corpus, work.known_topics(), labels=work.labels())
            ]
            assert [hit["label"] for hit in python].count(False) == 1
            place = ("--topics", str(work.topics), "--work", str(work.folder))
            said = run("mine", *place, "--store", store).rows()
            body = {"topics": ["leaves"]}
            model = of_model(corpus, work.folder, topic="leaves")
            page = open_page("#topics")
            card = page.get_by_role("article", name="leaves", exact=True)
            documents = len({hit["doc_id"] for hit in python if hit["label"] is not False})
            expect(card.locator(".total")).to_contain_text(f"{documents} of 7 dialogues have a hit")
            headline = card.locator(".total").inner_text()
            counted = asked(page_server, "topics/leaves/counts")
            assert counted["total"] == len(python) - 1
            card.get_by_role("button", name="Show hits").click()
            page.locator("#options summary").click()
            if page.get_by_label("Same words only once").is_checked():
                page.get_by_label("Same words only once").uncheck()
            expect(page.locator("#headline")).to_contain_text(headline)
    assert len(python) > 2
    assert min(hit["probability"] for hit in python) >= UNSURE_FROM
    assert places(said) == places(model["hits"]) == places(python)
    assert len(said) == len(model["hits"]) == len(python)
    assert model["said"]
    lines = [json.loads(line) for line in asked_lines(page_server, "mine", body)]
    assert places(line["hit"] for line in lines if "hit" in line) == places(python)
    number, rows = of_page(page)
    assert (number, rows) == (len(python) - (kind == "topic"), len(python))
    assert page.locator(".hit[data-answer=no]").count() == (kind == "topic")


def asked_lines(server: Server, path: str, body: object) -> list[bytes]:
    """The lines that the service streams."""
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{server.address}/{path}", json.dumps(body).encode(), headers)) as answer:
        return list(answer)


def test_what_nobody_says_is_said_at_every_door(
    open_page: OpenPage, page_server: Server, page_store: Path, encoder: SpanEncoder, run: Run
) -> None:
    phrase = "the volcano erupted at night"
    with Corpus(page_store, encoder) as corpus:
        hits = corpus.search(phrase)
        assert hits
        assert not hits.said
        assert corpus.search(PHRASE).said
    shown = run("search", phrase, "--store", str(page_store), "--text")
    assert shown.out.startswith("Nobody says this. Nearest:\n")
    assert "Nobody says this. Nearest:" in run("search", phrase, "--store", str(page_store)).err
    assert asked(page_server, "search", {"phrases": phrase})["said"] is False
    for most in ("200", "every"):
        page = open_page(search_fragment(phrase, most=most))
        expect(page.get_by_role("heading", name="Nobody says this")).to_be_visible()
        expect(page.locator("#count")).to_have_text("0")
        expect(page.locator("#hits")).to_have_class("nearest")


def test_hits_are_verified_unless_somebody_switches_it_off(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("#options summary").click()
    tick = page.get_by_label("Verify hits")
    expect(tick).to_be_checked()
    tick.uncheck()
    page.get_by_label("Phrase 1", exact=True).fill(PHRASE)
    with page.expect_request("**/search") as request:
        page.keyboard.press("Enter")
    assert request.value.post_data_json["verify"] is False


def test_topics_and_labels_live_with_the_store(
    page_store: Path, encoder: SpanEncoder, tmp_path: Path
) -> None:
    with Corpus(tmp_path / "calls", encoder) as corpus:
        corpus.add([])
        assert Work.of(corpus.store.folder).folder == tmp_path / "calls"
        assert Work.of(corpus.store.folder, tmp_path).folder == tmp_path
        assert list(difference(corpus, [Topic("a", ("b",))], [Topic("a", ("c",))])) == []
    with served(str(tmp_path / "calls")) as server:
        assert asked(server, "stores")["work"] == str(tmp_path / "calls")
        asked(server, "topics", TOPIC)
    assert (tmp_path / "calls" / "topics" / "leaves.toml").exists()
    settings = ServiceSettings({"calls": str(tmp_path / "calls")}, tmp_path / "calls")
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        (found,) = client.get("/topics").json()["topics"]
        assert found["name"] == "leaves"
