"""Writes the pictures of docs/walk-recall.md, from a running service over the demo store.

    slice-os serve demo.slice --work walk --port 8000 &
    python docs/make_recall_walk.py http://127.0.0.1:8000 multidogo/turn_level.jsonl.gz

It needs Chromium, Playwright and Pillow, and an empty folder of topics and labels. The person who
answers is the truth: a passage says the topic if a turn in it has the intent in MultiDoGO.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

FOLDER = Path(__file__).with_name("walks")
SIZE: Any = {"width": 1180, "height": 760}
PHRASE, NAME, INTENT = "I want to change my seat", "change-seat", "changeseatassignment"
OTHERS: list[Any] = [
    {"name": "boarding-pass", "phrases": ["I need my boarding pass"]},
    {
        "name": "apology",
        "phrases": ["I am sorry about that", "we apologize"],
        "min_probability": 0.4,
    },
]
# The conversations of the demo have no times.
CALL = [
    (0, "agent", "Good morning, what can I do for you?"),
    (9, "customer", "Hi, I'd like to change my seat to one at the window."),
    (31, "agent", "There is one in row twelve."),
    (84, "customer", "Lovely. And can you send me the boarding pass?"),
    (97, "agent", "It is a pity that it took so long. Here it is."),
]
WAIT = 120_000


def save(page: Page, name: str) -> None:
    """What the page shows, as a small picture."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.save(FOLDER / f"recall-{name}.webp", quality=70, method=6)


def said_in(path: str) -> dict[str, list[str]]:
    """By conversation, the words of the turns with the intent."""
    with gzip.open(path, "rt") as stream:
        rows = list(map(json.loads, stream))
    return {
        one["id"]: [turn["text"] for turn in one["turns"] if INTENT in turn["intent"]]
        for one in rows
    }


def walk(page: Page, address: str, said: dict[str, list[str]]) -> None:
    """From a phrase to what its topic misses, to a rule, and to a second reader."""
    page.goto(f"{address}/#search?{urlencode({'phrase': PHRASE})}")
    page.locator(".hit").first.wait_for()
    save(page, "1-search")
    page.locator("#reader-name").fill("ann")
    page.locator("#reader-name").press("Enter")
    page.get_by_role("button", name="Save as topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(NAME)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    for topic in OTHERS:
        page.request.post(f"{address}/topics", data=topic)
    text, segments = "", []
    for at, who, words in CALL:
        place = {"start": len(text), "end": len(text) + len(words)}
        segments.append({**place, "speaker": who, "start_time": at})
        text += f"{words}\n"
    domain = {"domain": "airline"}
    call = {"id": "call-1", "text": text, "segments": segments, "metadata": domain}
    page.request.post(f"{address}/documents", data={"documents": [call]})

    page.goto(f"{address}/#topics")
    card = page.get_by_role("article", name=NAME, exact=True)
    card.locator(".total b").wait_for()
    with page.expect_response(lambda one: one.url.endswith("/estimate")) as drawn:
        card.get_by_role("button", name="What is missed?").click()
    hits = drawn.value.json()["hits"]
    done = dialog.locator("#estimate-done")
    for number, hit in enumerate(hits):
        expect(done).to_have_text(f"{number} of {len(hits)}")
        if number == len(hits) // 2:
            save(page, "2-question")
        words = hit["passage"]["text"]
        right = any(turn and turn in words for turn in said.get(hit["doc_id"], ()))
        page.keyboard.press("y" if right else "n")
    expect(dialog).to_contain_text(f"after {len(hits)} labels")
    save(page, "3-recall")
    page.keyboard.press("Escape")

    page.get_by_role("button", name="New rule").click()
    dialog.get_by_label("Name").fill("seat-then-pass")
    dialog.get_by_label("topic", exact=True).select_option(NAME)
    dialog.get_by_role("button", name="+ another topic").click()
    part = dialog.locator("#rule-parts > li").nth(1)
    part.get_by_label("topic", exact=True).select_option("boarding-pass")
    part.locator("summary").click()
    part.get_by_label("place").select_option("after")
    part.get_by_label("of which topic").select_option(NAME)
    part.get_by_label("Within", exact=True).fill("6")
    part.get_by_label("Within: unit").select_option("turns")
    dialog.get_by_role("button", name="+ another topic").click()
    part = dialog.locator("#rule-parts > li").nth(2)
    part.get_by_label("It", exact=True).select_option("none")
    part.get_by_label("topic", exact=True).select_option("apology")
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("status")).to_contain_text("match")
    save(page, "4-rule")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    rule = page.get_by_role("article", name="seat-then-pass", exact=True)
    rule.get_by_role("button", name="Show matches").click()
    match = page.get_by_role("article", name="call-1", exact=True)
    match.locator(".place button").click()
    page.locator("#reader mark.now").first.wait_for()
    match.evaluate("match => match.scrollIntoView({ block: 'start' })")
    page.wait_for_timeout(500)
    save(page, "5-match")

    page.goto(f"{address}/#topics")
    card.get_by_role("button", name="without").click()
    expect(page.locator("#matrix-title")).to_contain_text(f"without {NAME}")
    page.locator("#matrix-cells td").first.wait_for()
    save(page, "6-without")

    page.goto(f"{address}/#topics")
    card.get_by_role("button", name="Show hits").click()
    page.locator(".hit").first.wait_for()
    reader = page.locator("#reader-name")
    reader.fill("ben")
    reader.press("Enter")
    expect(page.locator("#results[aria-busy=true]")).to_have_count(0)
    page.wait_for_timeout(500)
    save(page, "7-second-reader")


def main(address: str, turns: str) -> None:
    """Walk in a browser with an empty profile."""
    FOLDER.mkdir(exist_ok=True)
    expect.set_options(timeout=WAIT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.set_default_timeout(WAIT)
        walk(page, address, said_in(turns))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
