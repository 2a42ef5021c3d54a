"""Writes the pictures of docs/page.md, from a running service over the demo store.

    slice-os serve --demo --port 8000 &
    python docs/make_screenshots.py http://127.0.0.1:8000

It needs Chromium, Playwright and Pillow.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).with_name("page")
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 800}
CONTRACTS = {"phrase": "either party can end the contract by giving notice", "least": "0.5"}
CARD = {"phrase": "somebody stole my card", "least": "0.55"}
TOPICS: list[dict[str, Any]] = [
    {"name": "card-stolen", "phrases": ["my card was stolen", "I lost my card"]},
    {"name": "cancellation", "phrases": ["I want to cancel my plan"], "threshold": 0.65},
    {"name": "broken-screen", "phrases": ["my phone screen is broken"], "threshold": 0.7},
]


def save(page: Page, name: str) -> None:
    """What the page shows, as a small picture."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.save(FOLDER / f"{name}.webp", quality=82, method=6)


def main(address: str) -> None:
    """Open the page in each way, and save what it shows."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"),
            args=["--no-sandbox", "--disable-gpu"],
        )

        def opened(fragment: str, viewport: Any, scheme: Any) -> Page:
            page = browser.new_page(viewport=viewport, color_scheme=scheme)
            page.goto(f"{address}/{fragment}")
            return page

        page = opened(f"#search?{urlencode(CARD)}", DESKTOP, "light")
        page.locator(".hit").first.wait_for()
        page.locator("#facets label").first.wait_for()
        save(page, "light")
        page = opened(f"#search?{urlencode(CONTRACTS)}", DESKTOP, "dark")
        page.locator(".hit").first.wait_for()
        page.keyboard.press("j")
        page.keyboard.press("o")
        page.locator("#reader mark.now").first.wait_for()
        page.wait_for_timeout(500)
        save(page, "dark")
        page = opened(f"#search?{urlencode(CARD)}", PHONE, "light")
        page.locator(".hit").first.wait_for()
        page.locator("#facets label").first.wait_for(state="attached")
        page.locator("#results").evaluate("results => results.scrollIntoView()")
        page.wait_for_timeout(500)
        save(page, "phone")
        for topic in TOPICS:
            page.request.post(f"{address}/topics", data=topic)
        page = opened("#topics", DESKTOP, "light")
        page.locator(".card").last.locator(".total b").wait_for()
        page.locator("#counts-by").select_option("domain")
        page.locator(".card").last.locator(".ranking").wait_for()
        save(page, "topics")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
