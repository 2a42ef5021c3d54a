"""Files of hits, in a format chosen by extension; a file is complete or not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from slice_os.errors import InputError, MissingExtraError
from slice_os.hits.exchange.documents import HitDocuments, TextOf, by_document
from slice_os.hits.exchange.label_studio import write_label_studio, write_span_lines
from slice_os.hits.exchange.refi_qda import write_refi_qda
from slice_os.hits.exchange.web_annotations import write_web_annotations
from slice_os.hits.hit import Hit
from slice_os.hits.run_record import RunRecord, write_record
from slice_os.query.filter_values import parse_number
from slice_os.tables.replacing import replacing
from slice_os.tables.spreadsheets import WRITERS
from slice_os.tables.table import Column, Kind, spooled, write_parquet
from slice_os.text.documents import Scalar, field_text

# The first columns of tables for people; see `labelled_rows` for the label.
# Spreadsheets keep fifteen digits.
_EXACT = 10**15 - 1
_FIRST: dict[str, Kind] = {
    "label": "text",
    "phrase": "text",
    "text": "text",
    "page": "integer",
    "probability": "real",
}


WriteHits: TypeAlias = Callable[[Iterable[Hit], Path, "TextOf | None"], None]
"""Writes hits to a file, with the texts of their documents, if these are known."""


@dataclass(frozen=True, slots=True)
class HitFormat:
    """A writer of hits.

    Attributes:
        write: writes them.
        package: that it needs, if any.
        extra: that installs the package.
        texts: whether it needs the texts of the documents.
    """

    write: WriteHits
    package: str = ""
    extra: str = ""
    texts: bool = False


def write_hits(
    hits: Iterable[Hit],
    path: str | Path,
    *,
    text_of: TextOf | None = None,
    run: RunRecord | None = None,
) -> int:
    """Write hits to a file, in the format that its extension names; returns how many.

    The file appears when it is complete and replaces an earlier one; if writing stops before,
    nothing is left. Memory does not grow with the number of hits.

    Args:
        hits: in any order.
        path: the file.
        text_of: gives the text of a document, such as `Corpus.text`, for formats that hold it.
        run: what made the hits, to be written beside the file.

    Raises:
        InputError: on another extension, a folder that cannot be, more columns than the format
            holds, or a text that the format needs but nobody gives.
        MissingExtraError: if a package for the format is not installed.
    """
    format_ = output_format(path)
    count = 0

    def counted() -> Iterator[Hit]:
        nonlocal count
        for hit in hits:
            count += 1
            yield hit

    with replacing(Path(path)) as part:
        format_.write(counted(), part, text_of)
    if run is not None:
        write_record(run, path, count)
    return count


def output_format(path: str | Path) -> HitFormat:
    """The format that a file name asks for, after a check that it can be written there.

    Raises:
        InputError, MissingExtraError: as `write_hits`.
    """
    path = Path(path)
    endings = (one for one in FORMATS if path.name.lower().endswith(one))
    ending = max(endings, key=len, default="")
    if not ending:
        raise InputError(f"{path}: hits are written to files ending in {', '.join(FORMATS)}")
    check_place(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    found = FORMATS[ending]
    if found.package and find_spec(found.package) is None:
        raise MissingExtraError(ending, found.extra)
    return found


def holds_texts(path: Path) -> bool:
    """Whether the format that a file name asks for holds the texts of documents."""
    name = path.name.lower()
    return any(one.texts and name.endswith(ending) for ending, one in FORMATS.items())


def check_place(path: Path) -> None:
    """Raise an `InputError` if a file is where a folder is needed, or nothing may be written."""
    above = next(one for one in path.absolute().parents if one.exists())
    if not above.is_dir():
        raise InputError(f"{path}: {above} is a file, not a folder")
    if not os.access(above, os.W_OK):
        raise InputError(f"{path}: {above} cannot be written; choose another folder")


def _write_jsonl(hits: Iterable[Hit], path: Path, _: TextOf | None) -> None:
    with path.open("wb") as stream:
        stream.writelines(hit.to_json() for hit in hits)


def _write_page(hits: Iterable[Hit], path: Path, _: TextOf | None) -> None:
    from slice_os.hits.report.html_page import write_report

    write_report(hits, path)


def _write_parquet(hits: Iterable[Hit], path: Path, _: TextOf | None) -> None:
    with spooled((hit.to_dict() for hit in hits), Hit.columns(), path.parent) as table:
        write_parquet(table, path)


def _write_sheet(hits: Iterable[Hit], path: Path, _: TextOf | None) -> None:
    rest = [column for column in Hit.columns() if column.name not in _FIRST]
    columns = [*(Column(name, kind) for name, kind in _FIRST.items()), *rest]
    with spooled(map(_for_people, hits), columns, path.parent) as table:
        WRITERS[path.suffix.lower()](table, path)


def _by_document(write: Callable[[HitDocuments, Path], None]) -> WriteHits:
    """A writer of hits from a writer of documents with hits."""

    def write_documents(hits: Iterable[Hit], path: Path, text_of: TextOf | None) -> None:
        with by_document(hits, text_of) as documents:
            write(documents, path)

    return write_documents


def _for_people(hit: Hit) -> dict[str, Any]:
    """A hit with its label, its page beside its text, and numbers as such."""
    metadata = {name: _plain(value) for name, value in hit.metadata.items()}
    return {
        **hit.to_dict(),
        "label": None if hit.label is None else "✓" if hit.label else "✕",
        "page": metadata.pop("page", None),
        "metadata": metadata,
    }


def _plain(value: Scalar) -> Scalar:
    """A number that came as text, such as from a CSV file, if sheets would write it the same."""
    number = parse_number(value) if isinstance(value, str) else None
    if number is None or abs(number) > _EXACT or field_text(number) != value:
        return value
    return number


# A new format is a module and a line here; the longest ending of a name decides.
FORMATS = {
    ".jsonl": HitFormat(_write_jsonl),
    ".csv": HitFormat(_write_sheet),
    ".xlsx": HitFormat(_write_sheet, "xlsxwriter", "tables"),
    ".parquet": HitFormat(_write_parquet, "pyarrow", "tables"),
    ".html": HitFormat(_write_page, "jinja2", "report"),
    ".labelstudio.json": HitFormat(_by_document(write_label_studio), texts=True),
    ".jsonld": HitFormat(_by_document(write_web_annotations)),
    ".qdpx": HitFormat(_by_document(write_refi_qda), texts=True),
    ".prodigy.jsonl": HitFormat(_by_document(write_span_lines), texts=True),
}
