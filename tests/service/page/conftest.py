"""The page in a real browser, over a service in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from slice_os import Corpus, Document, Segment, SpanEncoder
from tests.service.conftest import Server, served

sync_api = pytest.importorskip("playwright.sync_api")

# A busy machine must not fail a test.
PATIENCE = 60_000
# The first is the same engine without windows, which saves a quarter of the processor time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    *("--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-quic", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]

# What a hostile document could say; the page must show it as text.
MARKUP = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
OVERRIDE = "\u202e"
RENEWAL = "this agreement renews by itself"
LONG = "contracts/2026/long one.txt"

DOCUMENTS = [
    Document(
        "calls/ann 1.txt",
        "😀😀 Hello there. I want to cancel my subscription today, please. 😀 Thank you.",
        {"domain": "media", "csat": 2, "date": "2026-06-01"},
    ),
    Document(
        "calls/ben.txt",
        "Good morning. I would like to cancel my subscription. What does it cost me?",
        {"domain": "media", "csat": 4, "date": "2026-06-03"},
    ),
    Document(
        f"{MARKUP}.txt",
        f"{MARKUP} I want to cancel my subscription {MARKUP} and that is all.",
        {"domain": MARKUP, "agent": f"{OVERRIDE}evil", "date": "2026-06-03"},
    ),
    Document(
        "calls/card",
        "My card was stolen on the train. Can you block it? I did not cancel anything.",
        {"domain": "finance", "csat": 1, "date": "2026-06-02"},
    ),
    Document(
        LONG,
        "\n\n".join(
            f"{number}. The parties agree on clause {number}. The fee of month {number} is due "
            "within thirty days, and notices are given in writing. "
            + ("This agreement renews by itself each year." if number % 50 == 7 else "")
            for number in range(1, 301)
        ),
        {"domain": "contracts"},
    ),
    Document(
        "contracts/short.txt",
        "This agreement is renewed automatically every year. Either party may end it at any time.",
        {"domain": "contracts"},
    ),
    Document(
        "chats/opening",
        "When do you open tomorrow?\nWe open at nine.\nIs it near the station?",
        {"domain": "branch", "date": "2026-06-12"},
        (
            Segment(0, 26, "customer", 283),
            Segment(27, 43, "agent", 290),
            Segment(44, 67, "customer", 301),
        ),
    ),
]

OpenPage = Callable[..., Any]


@pytest.fixture(scope="session")
def page_store(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of `DOCUMENTS`."""
    folder = tmp_path_factory.mktemp("page") / "calls"
    with Corpus(folder, encoder) as corpus:
        corpus.add(DOCUMENTS)
    return folder


@pytest.fixture(scope="module")
def page_server(page_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves that store, with topics and labels of this file's tests."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "topics").mkdir()
    with served(str(page_store), *("--work", str(folder))) as server:
        yield server


# Of a module, not of the session: while Playwright runs, its thread counts as one with a running
# event loop, in which tests of asynchronous code fail.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser with an empty profile."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium here")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any, page_server: Server) -> Iterator[OpenPage]:
    """Opens the page. A test fails on an error in it, and on a request to anywhere else."""
    problems: list[str] = []
    contexts = []

    def listen(page: Any, address: str) -> None:
        page.on("pageerror", lambda error: problems.append(str(error)))
        # An answer with an error status is logged as well; tests of those look at the page.
        page.on(
            "console",
            lambda one: (
                problems.append(one.text)
                if one.type == "error" and "Failed to load resource" not in one.text
                else None
            ),
        )
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((address, "blob:", "data:"))
                else problems.append(request.url)
            ),
        )

    def opened(
        fragment: str = "",
        *,
        address: str = page_server.address,
        before: Callable[[Any], None] = lambda page: None,
        **options: Any,
    ) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        listen(page, address)
        before(page)
        page.goto(f"{address}/{fragment}")
        # What is typed before the fields are filled would be lost.
        page.wait_for_selector("main[aria-busy=false], dialog[open]", state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def search_fragment(*phrases: str, **fields: str) -> str:
    """The fragment of a search."""
    named = [("phrase", phrase) for phrase in phrases]
    return f"#search?{urlencode([*named, *((name, value) for name, value in fields.items())])}"
