"""CPU time and memory of pages and marks of a PDF file of 600 pages.

    python benchmarks/original_pages.py [--pages N]

The demo contracts are set as in `wrapped_pages`, again and again, with a number on each page.
Prints the seconds to draw a page with its marks and 1,000 pixels wide, the same if another page has
the same text (all pages are read once then), and to mark every hit of a regular expression in a
copy; and the highest resident memory after each, in MiB, with that of making the file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wrapped_pages import Setting, pages_of, paragraphs, pdf, shown

from slice_os.originals.copies import Mark, write_highlights
from slice_os.originals.finding import Original, original_at
from slice_os.originals.pdf_pages import opened, view_page
from slice_os.text.documents import Document, Extent

WIDTH = 1_000
CONTRACTS = Path(__file__).parents[1] / "demo" / "contracts"
TERMINATES = re.compile(r"party\s+may\s+terminate[^.]{0,60}")


def numbered(folder: Path, count: int) -> Path:
    """The file of so many pages."""
    setting = Setting("Times-Roman", 11, 1, True)
    texts = [one for path in sorted(CONTRACTS.glob("*.txt")) for one in paragraphs(path)]
    pages = itertools.islice(itertools.cycle(pages_of(texts, setting)), count)
    path = folder / "long.pdf"
    numbered = (f"{page}\n{shown(f'Sheet {at}', 500, 20, 8)}" for at, page in enumerate(pages))
    path.write_bytes(pdf(list(numbered), setting.font))
    return path.resolve()


def draw(original: Original, text: str, spans: list[Extent], number: int) -> None:
    """Draw a page."""
    with opened(original) as file:
        view_page(file, number, text, spans, WIDTH, lambda: original.read().segments)


def measured(work: Callable[[], object]) -> dict[str, float]:
    """Seconds of CPU time, and the highest memory until now."""
    began = time.process_time()
    work()
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(seconds, 2), "mib": round(memory)}


def main() -> None:
    """Make the file, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=600)
    count = parser.parse_args().pages
    with tempfile.TemporaryDirectory() as folder:
        path = numbered(Path(folder), count)
        original = original_at(path.name, str(path))
        document: Document = original.read()
        text = document.text
        spans = [Extent(*found.span()) for found in TERMINATES.finditer(text)]
        marks = [Mark("", one, text[one.start : one.end], "", (255, 255, 0)) for one in spans]
        copy = Path(folder) / "copy.pdf"
        first = document.segments[0]
        page_twice = f"{text}\n{text[first.start : first.end]}"
        found = {
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "draw": measured(lambda: draw(original, text, spans, count // 2)),
            "draw_one_of_two_alike": measured(lambda: draw(original, page_twice, spans, 1)),
            "hits": len(marks),
            "mark": measured(lambda: write_highlights(original, original.read(), marks, copy)),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
