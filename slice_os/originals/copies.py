"""Copies of files with their hits marked: highlights in PDF, comments in Word files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slice_os.errors import InputError
from slice_os.hits.hit import Hit
from slice_os.originals.comments import write_comments
from slice_os.originals.finding import DOCX, PDF, FindOriginal, Original
from slice_os.originals.highlights import write_highlights
from slice_os.originals.marks import Mark, marks_of
from slice_os.tables.replacing import replacing

WRITERS = {PDF: write_highlights, DOCX: write_comments}
EXTENSIONS = {f".{name}": name for name in WRITERS}


@dataclass(frozen=True, slots=True)
class MarkedCopy:
    """What became of the hits in a document.

    Attributes:
        doc_id: of the document.
        path: the copy; None if there is none.
        hits: number of them.
        marked: number of those that have a mark.
        why: there is no copy, or hits are without a mark; empty if all are well.
    """

    doc_id: str
    path: Path | None
    hits: int
    marked: int
    why: str = ""


def is_marked(path: Path) -> bool:
    """Whether a path asks for marked copies: a PDF or Word file, or a folder of them."""
    return path.suffix.lower() in EXTENSIONS or path.is_dir()


def write_marked(hits: Iterable[Hit], path: Path, find: FindOriginal) -> list[MarkedCopy]:
    """Write copies of the files that have hits, with each hit marked.

    A folder gets a copy of each file, under its own name; in place of a file that has no copy,
    the answer says why. A file is the copy of the only document with hits.

    Raises an `InputError` if a file is wanted and hits are in several, or it cannot be copied.
    """
    marks: dict[str, list[Mark]] = {}
    for mark in marks_of(hits):
        marks.setdefault(mark.doc_id, []).append(mark)
    if not path.is_dir():
        if len(marks) > 1:
            raise InputError(
                f"{path}: hits are in {len(marks)} documents; name a folder ({path.stem}/) for a "
                "copy of each, or look for hits in one alone: --filter _id=ID"
            )
        return [_copied(doc_id, own, path, find(doc_id)) for doc_id, own in marks.items()]
    copies: list[MarkedCopy] = []
    taken: set[str] = set()
    for doc_id, own in sorted(marks.items()):
        try:
            original = find(doc_id)
            copies.append(_copied(doc_id, own, path / _free(original.path, taken), original))
        except InputError as error:
            copies.append(MarkedCopy(doc_id, None, len(own), 0, str(error)))
    return copies


def _free(path: Path, taken: set[str]) -> str:
    """The name of a file, numbered if another folder has one of that name."""
    name, number = path.name, 1
    while name.lower() in taken:
        number += 1
        name = f"{path.stem}-{number}{path.suffix}"
    taken.add(name.lower())
    return name


def _copied(doc_id: str, marks: Sequence[Mark], path: Path, original: Original) -> MarkedCopy:
    if EXTENSIONS.get(path.suffix.lower()) != original.format:
        raise InputError(f"{path}: the hits are in {original.path.name}; end its name like that")
    if path.resolve() == original.path:
        raise InputError(f"{path}: is the original, which stays as it is; choose another name")
    document = original.read((one.extent.start, one.extent.end, one.text) for one in marks)
    with replacing(path) as part:
        marked = WRITERS[original.format](original, document, marks, part)
    why = "" if marked == len(marks) else "the others are in footnotes, headers or the like"
    return MarkedCopy(doc_id, path, len(marks), marked, why)
