"""Pictures of docs/walks.md: three people at work, with other data than the demo.

    python benchmarks/walks.py --data ../shared/data [--dialogues N] [--contracts N] [--keep FOLDER]

An analyst has 350 dialogues as a CSV file of turns with times, a law firm 16 contracts as PDF and
Word files. What they type is typed, what they click is clicked, in Chromium. It needs Playwright,
Pillow, python-docx, and Matplotlib for the PDF files. With --keep, the files and stores stay in a
folder, and are not made again.
"""

from __future__ import annotations

import argparse
import gzip
import html
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pypdfium2
from corpora import at_work, write_turns
from docx import Document as WordDocument
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from wrapped_pages import Setting, pages_of, pdf

PICTURES = Path(__file__).parents[1] / "docs" / "walks"
COMMAND = [sys.executable, "-m", "slice_os.cli"]
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 800}
PATIENCE = 60_000
BEGIN = datetime(2026, 3, 2, 8)
PRICE = "how much does it cost"
NOBODY = "the delivery van hit my fence"
LOSSES = "neither party is liable for lost profits"
TOPICS = {
    "Asks the price": [PRICE, "what is the price"],
    "Changes the booking": ["can we make it another day instead"],
    "Declines": ["no thanks, that is all I need"],
}
ANSWERS = "yyny"
LINES = (
    f'slice-os search "{PRICE}" --store calls.slice -k 3 --text',
    f'slice-os mine -p "{PRICE}" --store calls.slice --counts week --text',
)
PROGRAM = """\
from slice_os import Corpus

with Corpus("{store}") as calls:
    hits = calls.mine("what else can I do for you", where={{"speaker": "agent"}})
    print(f"{{len(hits)}} hits in {{len({{hit.doc_id for hit in hits}})}} calls")
    best = max(hits, key=lambda hit: hit.probability)
    text = calls.text(best.doc_id)
    print(best.text, best.start, best.end, text[best.start : best.end] == best.text)
"""
Opener = Callable[[Any], Page]


def make_turns(data: Path, path: Path, dialogues: int) -> None:
    """A CSV file of turns, with the time of each, of calls over eight weeks."""
    with gzip.open(data / "sgd-dialogues" / "dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        calls = map(json.loads, islice(lines, 0, 6 * dialogues, 6))
        timed = ((call, at_work(BEGIN, number)) for number, call in enumerate(calls))
        write_turns(path, timed, lambda text: timedelta(seconds=2 + len(text) // 12))


def make_contracts(data: Path, folder: Path, count: int) -> None:
    """PDF files in one and two columns, and Word files: three of every eight."""
    with gzip.open(data / "cuad" / "cuad_spans.half.jsonl.gz", "rt", encoding="utf-8") as lines:
        every = map(json.loads, lines)
        short = (one for one in every if 8_000 < len(one["text"]) < 40_000)
        contracts = list(islice(short, 5, 5 + count))
    for number, contract in enumerate(contracts):
        name = "-".join(re.findall(r"[a-z0-9]+", contract["title"].lower()))[:60]
        joined = (" ".join(text.split()) for text in re.split(r"\n\s*\n", contract["text"]))
        texts = [text.encode("ascii", "ignore").decode() for text in joined if text]
        if number % 8 < 5:
            setting = Setting("Times-Roman", 10, 1 + number % 2, True)
            (folder / f"{name}.pdf").write_bytes(pdf(pages_of(texts, setting), setting.font))
        else:
            document = WordDocument()
            for text in texts:
                document.add_paragraph(text)
            document.save(folder / f"{name}.docx")


def run(*arguments: str | Path) -> str:
    """What a command prints."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def make(data: Path, home: Path, dialogues: int, contracts: int) -> None:
    """The files and stores of both."""
    if not (calls := home / "calls.slice").exists():
        make_turns(data, home / "turns.csv", dialogues)
        turns = ("--group-by", "call", "--speaker-field", "speaker", "--time-field", "time")
        run("ingest", home / "turns.csv", "--store", calls, *turns)
    if not (store := home / "contracts.slice").exists():
        (home / "contracts").mkdir(exist_ok=True)
        make_contracts(data, home / "contracts", contracts)
        run("ingest", home / "contracts", "--store", store)


@contextmanager
def served(store: Path) -> Iterator[str]:
    """The address of a service without topics and labels."""
    work = tempfile.TemporaryDirectory()
    command = [*COMMAND, "serve", str(store), "--port", "0", "--work", work.name]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"at (http://\S+)/;", process.stderr.readline())
        assert found is not None
        yield found[1]
    finally:
        process.terminate()
        process.wait()
        work.cleanup()


def save(page: Page, name: str) -> None:
    """What the page shows, as a small picture, once it is drawn."""
    page.wait_for_timeout(1_500)
    keep(Image.open(io.BytesIO(page.screenshot())), name)


def keep(picture: Image.Image, name: str) -> None:
    """Keep a picture in less than 80 kB."""
    path = PICTURES / f"{name}.webp"
    for quality, share in ((80, 1.0), (60, 1.0), (40, 1.0), (40, 0.85), (40, 0.7)):
        size = round(picture.width * share), round(picture.height * share)
        picture.convert("RGB").resize(size).save(path, quality=quality, method=6)
        if path.stat().st_size < 80_000:
            break


def search(page: Page, address: str, phrase: str) -> None:
    """Search for a phrase, from the beginning."""
    page.goto("about:blank")
    page.goto(f"{address}/#search?{urlencode({'phrase': phrase})}")
    page.locator(".hit").first.wait_for()
    page.locator("#results[aria-busy=true]").wait_for(state="detached")


def analyst(opened: Opener, address: str) -> None:
    """From the first screen to a topic on the board."""
    page = opened(DESKTOP)
    page.goto(address)
    page.locator(".glance").wait_for()
    save(page, "analyst-first")
    search(page, address, PRICE)
    save(page, "analyst-hits")
    for name, phrases in TOPICS.items():
        page.request.post(f"{address}/topics", data={"name": name, "phrases": phrases})
    board(page, address)
    card = page.get_by_role("article", name="Asks the price", exact=True)
    card.get_by_role("button", name="Show hits").click()
    page.locator("#results[aria-busy=true]").wait_for(state="detached")
    page.locator(".hit").first.wait_for()
    for answer in ANSWERS:
        page.wait_for_timeout(1_500)
        page.keyboard.press(answer)
    page.keyboard.press("k")
    page.keyboard.press("o")
    page.locator("#reader mark.now").first.wait_for()
    save(page, "analyst-answers")
    board(page, address)
    save(page, "analyst-board")
    page.close()
    page = opened(PHONE)
    search(page, address, PRICE)
    page.locator("#results").evaluate("results => results.scrollIntoView()")
    save(page, "analyst-phone")
    search(page, address, NOBODY)
    page.locator("#results").evaluate("results => results.scrollIntoView()")
    save(page, "analyst-nobody")
    page.close()


def board(page: Page, address: str) -> None:
    """The board, with all of its counts."""
    page.goto("about:blank")
    page.goto(f"{address}/#topics")
    page.locator(".card .total b").nth(len(TOPICS) - 1).wait_for()


def lawyer(opened: Opener, address: str) -> None:
    """Hits on the pages that they are on."""
    for viewport, name in ((DESKTOP, "lawyer-page"), (PHONE, "lawyer-phone")):
        page = opened(viewport)
        search(page, address, LOSSES)
        if viewport is DESKTOP:
            save(page, "lawyer-hits")
        page.locator(".hit", has_text=".pdf").locator("[data-deed=open]").first.click()
        page.locator("#reader mark.now").first.wait_for()
        shown = page.locator("#show-original")
        if shown.get_attribute("aria-pressed") != "true":
            shown.click()
        page.locator("#sheet .now rect").first.wait_for()
        save(page, name)
        page.close()


def marked(home: Path) -> None:
    """A page of a marked copy, at 100 %."""
    hits = run("mine", "-p", LOSSES, "--store", home / "contracts.slice", "--json").splitlines()
    of_pdf = [hit for hit in map(json.loads, hits) if hit["doc_id"].endswith(".pdf")]
    best = max(of_pdf, key=lambda hit: hit["probability"])
    copy = home / "marked.pdf"
    only = ("--filter", f"_id={best['doc_id']}")
    run("mine", "-p", LOSSES, "--store", home / "contracts.slice", *only, "-o", copy)
    with pypdfium2.PdfDocument(copy) as file:
        sheet = file[best["metadata"]["page"] - 1].render(scale=96 / 72, may_draw_forms=True)
        keep(sheet.to_pil(), "lawyer-marked")


def developer(opened: Opener, home: Path) -> None:
    """What a terminal shows."""
    page = opened({"width": 1000, "height": 620})
    store, program = home / "calls.slice", home / "agents.py"
    program.write_text(PROGRAM.format(store=str(store)))
    shown = []
    for line in LINES:
        words = [str(store) if word == "calls.slice" else word for word in shlex.split(line)]
        shown.append(f"$ {line}\n{run(*words[1:])}")
    answer = subprocess.run(
        [sys.executable, program], check=True, stdout=subprocess.PIPE, text=True
    )
    told = PROGRAM.format(store="calls.slice")
    shown.append(f"$ cat agents.py\n{told}$ python agents.py\n{answer.stdout}")
    text = html.escape("\n".join(shown))
    page.set_content(
        f"<pre style='font: 13px/1.45 monospace; margin: 12px; white-space: pre-wrap'>{text}</pre>"
    )
    keep(Image.open(io.BytesIO(page.screenshot(full_page=True))), "developer")
    page.close()


def main(home: Path) -> None:
    """Walk."""
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def opened(viewport: Any) -> Page:
            page = browser.new_page(viewport=viewport, color_scheme="light")
            page.set_default_timeout(PATIENCE)
            return page

        developer(opened, home)
        for name, walk in (("contracts", lawyer), ("calls", analyst)):
            with served(home / f"{name}.slice") as address:
                walk(opened, address)
        browser.close()
    marked(home)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dialogues", type=int, default=350)
    parser.add_argument("--contracts", type=int, default=16)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make(chosen.data, folder, chosen.dialogues, chosen.contracts)
        main(folder)
