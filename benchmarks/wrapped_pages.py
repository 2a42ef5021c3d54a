"""Sentences of PDF and text files that are wrapped and hyphenated, against those of their source.

    python benchmarks/wrapped_pages.py [--keep FOLDER] [--files N] [--pages N]

The paragraphs of the demo contracts are set as 40 PDF files: 20 in one column, with a header and a
footer on each page, and 20 in two columns, with page numbers; justified or ragged, in three fonts,
with long words hyphenated. They are also wrapped as text files of 60 to 90 columns. All are read,
and the sentences that are found are compared with those of the paragraphs: how many are whole, and
how many of these go over a line end, a hyphen or a page end; how many paragraphs were joined with
the one before; how many words have wrong offsets. At last, a PDF file of 600 pages is read, and the
seconds and the growth of resident memory are printed. Widths of letters are those of Matplotlib.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import re
import resource
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np

from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document
from slice_os.text.passage_layout import sentence_edges
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words
from slice_os.text.wrapped_lines import unwrapped

CONTRACTS = Path(__file__).parents[1] / "demo" / "contracts"
FONTS = {"Helvetica": "phvr8a", "Times-Roman": "ptmr8a", "Courier": "pcrr8a"}
BREAK = re.compile(
    r"(?<=[aeiou][bcdfglmnprst])(?=[bcdfglmnpqrstv])|(?<=[bcdfglmnprst][aeiou])(?=[lmnrst])"
)
PAGE_WIDTH, PAGE_HEIGHT, MARGIN = 612, 792, 72


@dataclass(frozen=True, slots=True)
class Setting:
    """How a file is set; sizes in points."""

    font: str
    size: float
    columns: int
    justified: bool

    @property
    def column(self) -> float:
        """The width of a column."""
        gap = 24 * (self.columns - 1)
        return (PAGE_WIDTH - 2 * MARGIN - gap) / self.columns


@cache
def widths(font: str) -> dict[str, float]:
    """The widths of characters, in sizes of the font."""
    path = Path(matplotlib.get_data_path()) / "fonts" / "afm" / f"{FONTS[font]}.afm"
    found = re.findall(r"C (\d+) ; WX (\d+)", path.read_text("latin-1"))
    return {chr(int(code)): int(width) / 1000 for code, width in found}


def breadth(text: str, setting: Setting) -> float:
    """The width of a text."""
    known = widths(setting.font)
    return setting.size * sum(known.get(sign, 0.55) for sign in text)


def settings(count: int) -> Iterator[Setting]:
    """So many settings of each layout."""
    for columns, sizes in ((1, (9.5, 10, 11, 12)), (2, (8, 9, 9.5, 10))):
        every = itertools.cycle(itertools.product(FONTS, sizes, (True, False)))
        for font, size, justified in itertools.islice(every, count):
            yield Setting(font, size - 1.5 * (font == "Courier"), columns, justified)


def paragraphs(path: Path) -> list[str]:
    """The lines of a file that the fonts have."""
    lines = (" ".join(line.split()) for line in path.read_text("utf-8").splitlines())
    # Footers of the files that they were made from, forms, tables, and paragraphs cut in two.
    other = re.compile(r"Source: |[a-z]|.*(?:_{3}|-{3}|\.{4}|/s/|(?:\$.*){4})|.{60,}[^.;:]$")
    return [line for line in lines if line and line.isascii() and not other.match(line)]


def lines_of(paragraph: str, setting: Setting) -> list[str]:
    """Fill lines with words; one that has no room is hyphenated, if it has a place for it."""
    lines, line = [], ""
    words = paragraph.split(" ")[::-1]
    while words:
        word = words.pop()
        trial = f"{line} {word}" if line else word
        if breadth(trial, setting) <= setting.column:
            line = trial
            continue
        plain = re.fullmatch(r"[a-z]{7,}|[a-z]{3,}-[a-z]{3,}", word)
        at = word.find("-") + 1
        cuts = [at] if at else [found.start() for found in BREAK.finditer(word, 3, len(word) - 3)]
        for cut in reversed(cuts if plain and line else []):
            head = word[:cut].rstrip("-") + "-"
            if breadth(f"{line} {head}", setting) <= setting.column:
                line, word = f"{line} {head}", word[cut:]
                break
        lines.append(line)
        line = ""
        words.append(word)
        if breadth(word, setting) > setting.column:  # such as an address of the web
            line = words.pop()
    return [one for one in (*lines, line) if one]


def pages_of(texts: Sequence[str], setting: Setting) -> list[str]:
    """The content streams of the pages."""
    leading = 1.2 * setting.size
    room = PAGE_HEIGHT - 2 * MARGIN
    pages: list[list[str]] = [[]]
    column, height = 0, 0.0
    for text in texts:
        lines = lines_of(text, setting)
        for number, line in enumerate(lines):
            if height + leading > room:
                column, height = column + 1, 0.0
                if column == setting.columns:
                    pages.append([])
                    column = 0
            left = MARGIN + column * (setting.column + 24)
            extra = 0.0
            if setting.justified and number < len(lines) - 1 and " " in line:
                extra = max(0, setting.column - breadth(line, setting)) / line.count(" ")
            pages[-1].append(shown(line, left, PAGE_HEIGHT - MARGIN - height, setting.size, extra))
            height += leading
        height += 0.6 * leading
    return [
        "\n".join(edged(page, number, len(pages), setting)) for number, page in enumerate(pages, 1)
    ]


def edged(page: list[str], number: int, of: int, setting: Setting) -> list[str]:
    """The page with its header and footer."""
    foot = shown(f"Page {number} of {of}" if setting.columns == 1 else str(number), 280, 40, 8)
    if setting.columns == 2:
        return [*page, foot]
    return [shown("CONFIDENTIAL - EXECUTION COPY", 220, 752, 8), *page, foot]


def shown(text: str, x: float, y: float, size: float, extra: float = 0) -> str:
    """A line of text at a place, with wider spaces."""
    escaped = re.sub(r"([\\()])", r"\\\1", text)
    return f"BT /F1 {size} Tf {extra:.3f} Tw 1 0 0 1 {x:.2f} {y:.2f} Tm ({escaped}) Tj ET"


def pdf(contents: Sequence[str], font: str) -> bytes:
    """A file of these pages."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(contents)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>",
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>",
    ]
    for number, content in enumerate(contents):
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {PAGE_WIDTH} {PAGE_HEIGHT}] "
            f"/Contents {5 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    out, offsets = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode())
    begin = out.tell()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode())
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\n".encode())
    out.write(f"startxref\n{begin}\n%%EOF\n".encode())
    return out.getvalue()


def document(name: str, content: bytes) -> Document:
    """What the reader of a file gives."""
    (found,) = read_stream("file", name, io.BytesIO(content), ReadOptions())
    assert isinstance(found, Document), found
    return found


def compare(found: Document, texts: Sequence[str]) -> Counter[str]:
    """Count sentences that are whole, and words whose offsets are wrong."""
    reading = unwrapped(found)
    edges = np.array(sentence_edges(reading.text, sentence_ends(reading.text))).reshape(-1, 2)
    places: dict[str, list[tuple[int, int]]] = {}
    outer = reading.outer_extents(edges).tolist()
    for (start, end), extent in zip(edges.tolist(), outer, strict=True):
        places.setdefault(bare(reading.text[start:end]), []).append(tuple(extent))
    counts: Counter[str] = Counter()
    for text in texts:
        for start, end in itertools.pairwise([0, *sentence_ends(text)]):
            own = bare(text[start:end])
            counts["sentences"] += 1
            if own not in places:
                continue
            counts["whole"] += 1
            first, last = places[own].pop(0)
            if not places[own]:
                del places[own]
            given = found.text[first:last]
            counts["over a line end"] += "\n" in given
            counts["over a hyphen"] += bool(re.search(r"\w-\n", given))
            counts["over a page end"] += any(first < one.start < last for one in found.segments)
    firsts = {bare(text)[:30] for text in texts if len(text) > 40}
    for start, end in edges.tolist():
        own = reading.text[start:end]
        later = (bare(own[gap.end() : gap.end() + 80])[:30] for gap in re.finditer(r"\s+", own))
        joined = not firsts.isdisjoint(later)
        counts["paragraphs joined"] += joined
    words = find_words(reading.text)
    for (start, end), (first, last) in zip(
        words.tolist(), reading.outer_extents(words).tolist(), strict=True
    ):
        # Between the letters of a word there may be a hyphen, a line end, a footer and a header.
        letters = r"(?:-?\n[\s\S]*)?".join(map(re.escape, reading.text[start:end]))
        counts["words"] += 1
        if not re.fullmatch(letters, found.text[first:last]):
            counts["words at wrong offsets"] += 1
    return counts


def bare(text: str) -> str:
    """A text without white space."""
    return "".join(text.split())


def main() -> None:
    """Make the files, read them, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="write the PDF files into this folder")
    parser.add_argument("--files", type=int, default=20, help="PDF files of a layout")
    parser.add_argument("--pages", type=int, default=600, help="of the long file")
    chosen = parser.parse_args()
    folder = chosen.keep
    every = [paragraphs(path) for path in sorted(CONTRACTS.glob("*.txt"))]
    sources = [texts for texts in every if texts]
    totals: dict[str, Counter[str]] = {}
    for number, setting in enumerate(settings(chosen.files)):
        texts = sources[number % len(sources)]
        content = pdf(pages_of(texts, setting), setting.font)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number:02}.pdf").write_bytes(content)
        name = "two columns" if setting.columns > 1 else "one column"
        totals.setdefault(name, Counter()).update(compare(document("pdf", content), texts))
    for number, texts in enumerate(sources):
        wrapped = "\n\n".join(textwrap.fill(text, 60 + 5 * (number % 7)) for text in texts)
        found = document("text", wrapped.encode())
        totals.setdefault("text files", Counter()).update(compare(found, texts))
    for name, total in totals.items():
        print(
            json.dumps(
                {"layout": name, "share whole": total["whole"] / total["sentences"], **total}
            )
        )
    print(json.dumps(long_file([text for texts in sources for text in texts], chosen.pages)))


def long_file(texts: Sequence[str], count: int) -> dict[str, float]:
    """Time and memory of reading a file of so many pages."""
    setting = Setting("Times-Roman", 11, 1, True)
    pages = itertools.cycle(pages_of(texts, setting))
    content = pdf(list(itertools.islice(pages, count)), setting.font)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    found = document("pdf", content)
    read = time.perf_counter()
    unwrapped(found)
    seconds = {"read_s": read - began, "unwrap_s": time.perf_counter() - read}
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sizes = {"pages": len(found.segments), "characters": len(found.text), "grown_mib": grown}
    return {name: round(value, 2) for name, value in (sizes | seconds).items()}


if __name__ == "__main__":
    main()
