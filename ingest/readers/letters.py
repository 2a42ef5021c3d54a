"""E-mail and saved pages; offsets count the extracted text."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import PurePosixPath
from typing import BinaryIO, TypeAlias

from slice_os.errors import InputError
from slice_os.ingest.readers.markup import TITLE
from slice_os.ingest.readers.mime import Attachment, Part, Tree, has_header, header_text, parsed
from slice_os.ingest.readers.quotations import marked
from slice_os.ingest.readers.reader import (
    BadRecord,
    PackedFile,
    ReadOptions,
    Turn,
    encodable,
    extracted,
    shortened,
)
from slice_os.text.documents import Document, Scalar

_HEADERS = ("subject", "from", "to", "cc", "date")
_LONGEST_FIELD = 2_000

_Letter: TypeAlias = tuple[dict[str, str], list[Turn]]
"""Headers, and the text."""


def read_letter(
    source: str,
    stream: BinaryIO,
    options: ReadOptions,
    *,
    parse: Callable[[BinaryIO, Tree, ReadOptions], _Letter],
    is_mail: bool = True,
) -> Iterator[Document | BadRecord | PackedFile]:
    """Yield one document of a message's subject and text, then the files that are attached."""
    metadata: dict[str, Scalar] = {}
    attached: list[Attachment] = []
    tree = Tree(options.encoding, is_mail)

    def sections(content: BinaryIO) -> Iterator[Turn]:
        headers, body = parse(content, tree, options)
        attached.extend(named_apart(tree.attached))
        said = {name: " ".join(value.split()) for name, value in headers.items() if value}
        if attached and is_mail:
            said["attachments"] = ", ".join(one.name for one in attached)
        for name, value in said.items():
            metadata[name] = shortened(encodable(value), _LONGEST_FIELD)
        yield Turn(headers.get("subject", ""))
        yield from marked(body) if is_mail else body

    yield from extracted(
        source, stream, sections, tree.counts, empty=lambda: not attached, metadata=metadata
    )
    for name, content, format_name, is_text in attached:
        otherwise = "text" if is_text else None
        yield PackedFile(f"{source}/{name}", name, io.BytesIO(content), format_name, otherwise)


def _eml(content: BinaryIO, tree: Tree, _: ReadOptions) -> _Letter:
    message = parsed(content.read())
    if not has_header(message):
        raise InputError("not an e-mail: it has no subject, sender or date")
    return _headers(message), tree.body(message)


def _page(content: BinaryIO, tree: Tree, _: ReadOptions) -> _Letter:
    """A saved page, whose title is the subject of the message that it is written as."""
    page = parsed(content.read())
    if "content-type" not in page:
        raise InputError("not a saved page: it has no content type")
    title = _headers(page).get("subject", "")
    return {TITLE: title}, tree.body(page)


def _headers(message: Part) -> dict[str, str]:
    """The headers to keep, decoded; of dates, the last that is one."""
    kept: dict[str, str] = {}
    for name in _HEADERS:
        raw = [str(value) for own, value in message.raw_items() if own.lower() == name]
        values = [one for one in dict.fromkeys(map(header_text, raw)) if one.strip()]
        if name == "date":
            values = (list(filter(None, map(_moment, values))) or values)[-1:]
        if values:
            kept[name] = ("\n" if name == "subject" else ", ").join(values)
    return kept


def _moment(date: str) -> str | None:
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(date[:_LONGEST_FIELD]).isoformat()
    return None


def named_apart(attachments: Iterable[Attachment]) -> Iterator[Attachment]:
    """Attachments with names that tell them apart."""
    taken: set[str] = set()
    copies: Counter[str] = Counter()
    for one in attachments:
        name = PurePosixPath(encodable(" ".join(one.name.split())))
        name = name if name.name else PurePosixPath("attachment")  # as of /
        unique = str(name)
        while unique in taken:
            copies[str(name)] += 1
            unique = str(name.with_stem(f"{name.stem}-{copies[str(name)] + 1}"))
        taken.add(unique)
        yield one._replace(name=unique)


read_eml = partial(read_letter, parse=_eml)
read_mht = partial(read_letter, parse=_page, is_mail=False)
