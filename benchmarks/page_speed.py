"""Measure how soon the page paints hits, and how smoothly its slider moves.

    slice-os serve --demo --port 8000 &
    python benchmarks/page_speed.py http://127.0.0.1:8000 --out benchmarks/results/page_speed.json

Chromium draws without a graphics card. "To paint" is from the last byte of the answer to the first
frame after its first hit is in the page. While the slider sweeps over all hits and back, each frame
gets a new threshold; the time between frames is compared with that of a page at rest.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
PHRASES = (
    "the contract renews by itself each year",
    "either party may end this agreement at any time",
    "somebody used my card without permission",
    "I want to cancel my subscription",
    "it does not work",
)
# Searches for a phrase; resolves to the milliseconds from the end of the answer to the paint.
TO_PAINT = """(phrase) => new Promise((done) => {
  performance.clearResourceTimings();
  const hits = document.getElementById("hits");
  new MutationObserver((_, observer) => {
    if (!hits.firstElementChild) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => {
      const painted = performance.now();
      const answers = performance.getEntriesByType("resource");
      const answer = answers.find(({ name }) => name.endsWith("/search"));
      done(painted - answer.responseEnd);
    }));
  }).observe(hits, { childList: true });
  document.querySelector("#phrases textarea").value = phrase;
  document.getElementById("query").requestSubmit();
})"""
# Resolves to the milliseconds between so many frames, each with its own place of the slider.
FRAMES = """([frames, moving]) => new Promise((done) => {
  const slider = document.getElementById("least");
  const [low, high] = [Number(slider.min), 1];
  const between = [];
  let last = performance.now();
  function frame(now) {
    between.push(now - last);
    last = now;
    if (between.length > frames) return done(between.slice(1));
    if (moving) {
      const share = 1 - Math.abs((2 * between.length) / frames - 1);
      slider.value = low + (high - low) * share;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
})"""


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address", help="of a service, such as http://127.0.0.1:8000")
    parser.add_argument("--hits", choices=("200", "1000", "2000"), default="2000")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"),
            args=ARGUMENTS,
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(60_000)
        page.goto(f"{options.address}/#search?{urlencode({'most': options.hits})}")
        page.locator("#notice h2").wait_for()
        results = measured(page, options.rounds) | {"browser": browser.version}
        browser.close()
    print(json.dumps(results, indent=1))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


def measured(page: Page, rounds: int) -> dict[str, Any]:
    """Both figures, after one round that is not counted."""
    page.evaluate(TO_PAINT, PHRASES[0])
    to_paint = [page.evaluate(TO_PAINT, phrase) for phrase in PHRASES * rounds]
    page.wait_for_function("!document.getElementById('toolbar').hidden")
    page.evaluate(FRAMES, [60, True])
    resting, moving = [], []
    for _ in range(rounds):
        resting += page.evaluate(FRAMES, [120, False])
        moving += page.evaluate(FRAMES, [240, True])
    return {
        "hits": page.locator(".hit").count(),
        "searches": len(to_paint),
        "to_paint_ms": summary(to_paint),
        "frames": len(moving),
        "frame_at_rest_ms": summary(resting),
        "frame_while_sliding_ms": summary(moving),
        "sliding_to_rest": round(median(moving) / median(resting), 3),
        "frames_per_second_while_sliding": round(1000 * len(moving) / sum(moving), 1),
        "share_of_frames_on_time": round(sum(one < 25 for one in moving) / len(moving), 3),
    }


def summary(values: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {"median": round(median(values), 1), "p95": round(quantiles(values, n=20)[-1], 1)}


if __name__ == "__main__":
    main()
