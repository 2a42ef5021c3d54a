"""The share of the words of real files that are read, against a second way of reading them.

    python benchmarks/visible_words.py FOLDER [--save RESULT] [--worst N] [--missing N]

Every file in the folder is read as ``slice-os ingest`` does, with the files within it, and once
more in another way: by LibreOffice for Word and RTF, Poppler's ``pdftotext``, Chromium for pages
and books, openpyxl for Excel, all text nodes of PowerPoint, Python's parsers of mail and tables,
olefile for Outlook's messages, and all that is no markup for subtitles, text and JSON. Words are
compared as multisets, in lower case. Printed are the shares by format, and the files with the
lowest, with words that are missing and the lines that say what was left out. Words of headers and
footers are read, too (``--page-edges``).

It needs ``soffice``, ``pdftotext`` and Chromium; files that the second way cannot read are told.
"""

from __future__ import annotations

import argparse
import csv
import email
import email.policy
import html
import io
import json
import re
import subprocess
import tempfile
import time
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from slice_os.ingest.formats import READERS
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import Source
from slice_os.text.documents import Document

WORD = re.compile(r"[^\W\d_]{2,}")
BY_OFFICE = (".docx", ".docm", ".dotx", ".dotm", ".rtf")
ADDRESS = re.compile(r"(?:https?|mailto):[^\s<>]+|\b[\w.+-]{1,64}@\S+")
TIMING = re.compile(r"(?:^.*\n)?^.*-->.*$|<[^>]*>", re.M)
COLUMNS = re.compile(r"'([^']*)'(?=[,; ])(?! in the header)")
NO_CUES = ("NOTE", "STYLE", "REGION", "WEBVTT")
SLIDE_PARTS = re.compile(r"ppt/(?:slides|notesSlides|diagrams/data|charts)[^_]*\.xml")
TEXT_NODE = re.compile(r"<a:t>([^<]*)</a:t>|</a:p>|<a:br\b|<c:f>")
BATCH, SECONDS, SECONDS_ALONE = 25, 240, 40
MOST_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Compared:
    """A file: the words of the second way, how many of them are stored, and what was said.

    Attributes:
        missing: the most frequent words that are not stored.
        extra: likewise those that only the store has.
        told: lines that say what was left out.
    """

    name: str
    format: str
    words: int
    stored: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    told: tuple[str, ...]
    seconds: float

    @property
    def share(self) -> float:
        """The share of the words of the second way that are stored."""
        return self.stored / self.words


def words(text: str) -> Counter[str]:
    """The words of a text but for addresses; a hyphen at the end of a line parts none."""
    plain = (
        unicodedata.normalize("NFKC", ADDRESS.sub(" ", text))
        .replace("\u00ad", "")
        .replace("\u200b", "")
    )
    plain = re.sub(r"(?<=\w)[-\u2010]\s*\n\s*(?=\w)", "", plain)
    return Counter(WORD.findall(plain.lower()))


def ours(path: Path) -> tuple[str, list[str], float]:
    """The texts of a file, with what its hits show, and what was said of it."""
    format_name = next(
        name for name, one in READERS.items() if path.suffix.lower() in one.extensions
    )
    options = ReadOptions(page_edges=True)
    began = time.perf_counter()
    found = list(read(Source(path.name, path, format_name), options))
    took = time.perf_counter() - began
    reasons = [one.reason for one in found if isinstance(one, BadRecord)]
    if reasons and reasons[0].startswith("no column 'text'"):
        # As a person does who reads that line.
        options = replace(options, text_field=_wordiest(path, COLUMNS.findall(reasons[0])))
        found = list(read(Source(path.name, path, format_name), options))
    texts, told = [], []
    for one in found:
        if isinstance(one, BadRecord):
            told.append(one.reason)
        elif isinstance(one, Document):
            speakers = (str(part.speaker) for part in one.segments if part.speaker)
            texts.append("\n".join([one.text, *map(str, one.metadata.values()), *speakers]))
    return "\n".join(texts), told, took


def _wordiest(path: Path, columns: list[str]) -> str:
    """The column of a table with the most words."""
    sums = Counter(dict.fromkeys(columns, 0))
    for row in csv.DictReader(io.StringIO(_text(path)), delimiter=_delimiter(path)):
        for name in columns:
            sums[name] += len(WORD.findall(row.get(name) or ""))
    return sums.most_common(1)[0][0]


def _delimiter(path: Path) -> str:
    return max(",;\t|", key=_text(path).partition("\n")[0].count)


def _text(path: Path) -> str:
    raw = path.read_bytes()
    is_wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    return raw.decode("utf-16" if is_wide else "utf-8-sig", "replace")


def office(paths: Iterable[Path]) -> dict[Path, str]:
    """The texts of files as LibreOffice shows them, many by one process."""
    found: dict[Path, str] = {}
    chosen = [path for path in paths if path.suffix.lower() in BY_OFFICE]
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(chosen), BATCH):
            group = chosen[first : first + BATCH]
            found |= _converted(group, Path(folder), SECONDS)
            # A file that stops LibreOffice costs no other.
            for path in [one for one in group if one not in found]:
                found |= _converted([path], Path(folder), SECONDS_ALONE)
    return found


def _converted(group: list[Path], folder: Path, seconds: int) -> dict[Path, str]:
    copies = {}
    for number, path in enumerate(group):
        copies[path] = folder / f"{number:04}{path.suffix.lower()}"
        copies[path].write_bytes(path.read_bytes())
    profile = f"-env:UserInstallation=file://{folder}/profile"
    target = "txt:Text (encoded):UTF8"
    command = ["soffice", profile, "--headless", "--convert-to", target, "--outdir", str(folder)]
    command += map(str, copies.values())
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(command, capture_output=True, timeout=seconds, check=False)
    found = {}
    for path, copy in copies.items():
        copy.unlink()
        if (written := copy.with_suffix(".txt")).exists():
            found[path] = written.read_text("utf-8", "replace")
            written.unlink()
    return found


def slides(path: Path) -> str:
    """All text nodes of slides, notes, charts and SmartArt; a paragraph is a line."""
    with zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if SLIDE_PARTS.fullmatch(name)]
        parts = [file.read(name).decode("utf-8", "replace") for name in names]
    nodes = (one for part in parts for one in TEXT_NODE.findall(part))
    return html.unescape("".join(text or "\n" for text in nodes))


def cells(path: Path) -> str:
    """The cells of sheets that are seen, by openpyxl; dates as ISO 8601."""
    from openpyxl import load_workbook

    book = load_workbook(path, data_only=True)
    if sum(sheet.max_row * sheet.max_column for sheet in book.worksheets) > MOST_CELLS:
        raise ValueError("more cells than openpyxl reads in a minute")
    return "\n".join(
        str(cell)
        for sheet in book.worksheets
        if sheet.sheet_state == "visible"
        for row in sheet.iter_rows(values_only=True)
        for cell in row
        if cell is not None
    )


def _poppler(path: Path) -> str:
    done = subprocess.run(
        ["pdftotext", "-q", str(path), "-"], capture_output=True, timeout=60, check=False
    )
    if done.returncode:
        raise ValueError("pdftotext cannot read it")
    return done.stdout.decode("utf-8", "replace")


def pages(paths: Iterable[Path]) -> dict[Path, str]:
    """The texts of pages and books as Chromium shows them."""
    from playwright.sync_api import Error, sync_playwright

    found: dict[Path, str] = {}
    with sync_playwright() as started, tempfile.TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_context(java_script_enabled=True, offline=True).new_page()
        for path in paths:
            names = [path]
            if path.suffix.lower() == ".epub":
                names = list(_unpacked(path, Path(folder) / path.name))
            said = []
            for one in names:
                try:
                    page.goto(one.absolute().as_uri(), wait_until="domcontentloaded", timeout=9_000)
                    inner = "document.body ? document.body.innerText : ''"
                    said.append(str(page.evaluate(inner)))
                except Error:
                    continue
            if said:
                found[path] = "\n".join(said)
        browser.close()
    return found


def _unpacked(path: Path, folder: Path) -> Iterator[Path]:
    with zipfile.ZipFile(path) as book:
        names = [name for name in book.namelist() if name.endswith((".xhtml", ".html", ".htm"))]
        package = next((book.read(n) for n in book.namelist() if n.endswith(".opf")), b"")
        spine = re.findall(rb'<(?:\w+:)?itemref[^>]*idref="([^"]+)"', package)
        hrefs = {
            one["id"]: html.unescape(one["href"].decode())
            for item in re.findall(rb"<(?:\w+:)?item\s[^>]*>", package)
            if (one := _item(item))
        }
        wanted = {hrefs.get(one, "") for one in spine}
        book.extractall(folder)
    yield from (folder / one for one in names if any(w and one.endswith(w) for w in wanted))


def _item(tag: bytes) -> re.Match[bytes] | None:
    both = rb'(?=.*\sid="(?P<id>[^"]+)")(?=.*\shref="(?P<href>[^"]+)")'
    return re.match(both, tag, re.S)


def mail(path: Path) -> str:
    """The text of a message as Python's own parser has it; HTML without its tags."""
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    return "\n".join(_leaves(message))


def _leaves(message: Any) -> Iterator[str]:
    yield str(message.get("subject", ""))
    choices: list[str] = []
    for part in message.walk():
        if part.get_content_maintype() != "text":
            continue
        try:
            content = part.get_content()
        except (LookupError, KeyError):
            continue
        kind = part.get_content_subtype()
        if kind == "html" and choices and not part.is_attachment():
            continue
        choices.append(content)
        yield without_tags(content) if kind == "html" or "</" in content else content


def without_tags(page: str) -> str:
    """The text of a page by patterns alone."""
    page = re.sub(r"(?is)<(script|style|title|template)\b.*?</\1>|<!--.*?-->", " ", page)
    return html.unescape(re.sub(r"(?s)<[^>]*>", " ", page))


def outlook(path: Path) -> str:
    """The subject and text of a message, by its properties; its RTF where there is no other."""
    import olefile

    with olefile.OleFileIO(path) as container:
        said = []
        for stream in container.listdir():
            if stream[-1][:20] in ("__substg1.0_1000001F", "__substg1.0_0037001F"):
                said.append(container.openstream(stream).read().decode("utf-16-le", "replace"))
            elif stream[-1][:20] in ("__substg1.0_1000001E", "__substg1.0_0037001E"):
                said.append(container.openstream(stream).read().decode("cp1252", "replace"))
    return "\n".join(said)


def table(path: Path) -> str:
    """The cells of a table, but for the names of its columns."""
    found = list(csv.reader(io.StringIO(_text(path)), delimiter=_delimiter(path)))
    return "\n".join(" ".join(row) for row in found[1:])


def strings(path: Path) -> str:
    """All strings of a file of JSON, but for names of fields."""
    text = path.read_text("utf-8-sig", "replace")
    try:
        values = [json.loads(text)]
    except ValueError:
        values = [json.loads(line) for line in text.splitlines() if line.strip()]
    return "\n".join(_strings(values))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def plain(path: Path) -> str:
    """A file of text."""
    return path.read_text("utf-8", "replace")


def captions(path: Path) -> str:
    """What is no time, number, note or tag."""
    blocks = re.split(r"\n\s*\n", plain(path).replace("\r\n", "\n").lstrip("\ufeff"))
    kept = (one for one in blocks if "-->" in one or not one.startswith(NO_CUES))
    return html.unescape(TIMING.sub("", "\n\n".join(kept)))


BY_SUFFIX: dict[str, Callable[[Path], str]] = {
    ".pdf": _poppler,
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".potx"), slides),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), cells),
    ".eml": mail,
    ".msg": outlook,
    ".csv": table,
    ".tsv": table,
    ".json": strings,
    ".jsonl": strings,
    ".ndjson": strings,
    ".vtt": captions,
    ".srt": captions,
    ".txt": plain,
    ".md": plain,
}
PAGES = ".html", ".htm", ".xhtml", ".epub"


def second(paths: list[Path]) -> tuple[dict[Path, str], dict[Path, str]]:
    """The texts of files by the second way, and why there is none of the others."""
    shown = [path for path in paths if path.suffix.lower() in PAGES]
    found = office(paths) | (pages(shown) if shown else {})
    failed: dict[Path, str] = {}
    for path in paths:
        read_text = BY_SUFFIX.get(path.suffix.lower())
        try:
            if read_text is not None:
                found[path] = read_text(path)
        except Exception as error:  # test data is damaged on purpose
            failed[path] = f"{type(error).__name__}: {error}"[:100]
    return found, failed


def compared(path: Path, other: str) -> Compared:
    """Compare the words of a file that are stored with those of another text of it."""
    text, told, took = ours(path)
    seen, stored = words(other), words(text)
    missing, extra = seen - stored, stored - seen
    return Compared(
        path.name,
        path.suffix.lower(),
        seen.total(),
        (seen & stored).total(),
        tuple(word for word, _ in missing.most_common(12)),
        tuple(word for word, _ in extra.most_common(12)),
        tuple(dict.fromkeys(told))[:6],
        round(took, 3),
    )


def rows(found: Iterable[Compared]) -> Iterator[str]:
    """A row of Markdown for each format."""
    by_format: dict[str, list[Compared]] = defaultdict(list)
    for one in found:
        by_format[one.format].append(one)
    yield "| format | files | words | share stored | files of .99 or more | lowest |"
    yield "|---|---|---|---|---|---|"
    every = [one for some in by_format.values() for one in some]
    for name, some in [*sorted(by_format.items()), ("all", every)]:
        total, stored = sum(one.words for one in some), sum(one.stored for one in some)
        good = sum(one.share >= 0.99 for one in some)
        lowest = min(one.share for one in some)
        yield (
            f"| `{name}` | {len(some)} | {total:,} | {stored / total:.3f} | {good} | {lowest:.2f} |"
        )


def main() -> None:
    """Read, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--save", type=Path, help="write each file's figures as JSON lines")
    parser.add_argument(
        "--texts", type=Path, help="keep texts of the second way here, and use them"
    )
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--formats", help="of which files, such as .docx,.pdf")
    chosen = parser.parse_args()
    known = {end for reader in READERS.values() for end in reader.extensions}
    wanted = set(chosen.formats.split(",")) if chosen.formats else known
    paths = sorted(
        path for path in chosen.folder.rglob("*") if path.suffix.lower() in known & wanted
    )
    texts: dict[str, str] = {}
    if chosen.texts and chosen.texts.exists():
        texts = json.loads(chosen.texts.read_text())
    todo = [path for path in paths if str(path) not in texts]
    others, failed = second(todo)
    texts |= {str(path): text for path, text in others.items()} | {
        str(path): "" for path in todo if path not in others
    }
    if chosen.texts:
        chosen.texts.write_text(json.dumps(texts))
    found = []
    for path in paths:
        other = texts[str(path)]
        if not words(other):
            continue
        one = compared(path, other)
        found.append(one)
    print("\n".join(rows(found)))
    print(f"{len(paths) - len(found)} files without words by the second way, {len(failed)} refused")
    for one in sorted(found, key=lambda one: one.share)[: chosen.worst]:
        print(f"\n{one.share:.3f} of {one.words} {one.name}")
        print("  missing:", *one.missing, "\n  extra:", *one.extra, "\n  told:", *one.told, sep=" ")
    if chosen.save:
        chosen.save.write_text("".join(json.dumps(asdict(one)) + "\n" for one in found))


if __name__ == "__main__":
    main()
