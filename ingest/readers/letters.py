"""E-mail (EML and Outlook's MSG) and RTF; offsets count the extracted text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from email import message_from_binary_file, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime
from functools import partial
from mimetypes import guess_extension
from pathlib import PurePosixPath
from typing import BinaryIO, NamedTuple, TypeAlias

from slice_os.errors import ENCRYPTED, InputError
from slice_os.ingest.readers.decoding import UTF8, decoded
from slice_os.ingest.readers.markup import html_sections
from slice_os.ingest.readers.reader import (
    OLE_MAGIC,
    BadRecord,
    DocumentStream,
    PackedFile,
    ReadOptions,
    Turn,
    encodable,
    extracted,
    needs,
)
from slice_os.text.documents import Document, Scalar

_HEADERS = ("subject", "from", "to", "date")
_LONGEST_HEADER = 2_000
_WORD = r"=\?[^?\n]*\?[bq]\?.*?\?="
_ENCODED = re.compile(rf"{_WORD}(?:\s*{_WORD})*", re.I)
_BY_TYPE = {"message/rfc822": ".eml", "text/plain": ".txt", "text/html": ".html"}
_OLD = {"WordDocument": ".docx", "Workbook": ".xlsx", "PowerPoint Document": ".pptx"}

Attachment: TypeAlias = tuple[str, bytes]
"""Name and content."""


class _Letter(NamedTuple):
    """The parts of a message; its text is extracted when it is needed."""

    headers: dict[str, str]
    attached: Iterable[Attachment]
    body: Iterable[Turn]


def read_rtf(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of an RTF file's text."""

    def sections(content: BinaryIO) -> Iterator[Turn]:
        rtf = content.read()
        if not rtf.lstrip().startswith(b"{\\rtf"):
            raise InputError("not an RTF file")
        convert = needs("striprtf.striprtf").rtf_to_text
        yield Turn(convert(rtf.decode(options.encoding or "cp1252", "replace"), errors="replace"))

    return extracted(source, stream, sections)


def _read(
    source: str,
    stream: BinaryIO,
    options: ReadOptions,
    *,
    parse: Callable[[BinaryIO], _Letter],
) -> Iterator[Document | BadRecord | PackedFile]:
    """Yield one document of a message's subject and text, then the files that are attached."""
    metadata: dict[str, Scalar] = {}
    attached: list[Attachment] = []

    def sections(content: BinaryIO) -> Iterator[Turn]:
        letter = parse(content)
        attached.extend(named_apart(letter.attached))
        said = {name: " ".join(value.split()) for name, value in letter.headers.items() if value}
        metadata.update({name: encodable(value) for name, value in said.items()})
        if attached:
            metadata["attachments"] = ", ".join(name for name, _ in attached)
        yield Turn(letter.headers.get("subject", ""))
        yield from letter.body

    yield from extracted(source, stream, sections, metadata=metadata)
    for name, content in attached:
        yield PackedFile(f"{source}/{name}", name, io.BytesIO(content))


def _eml(content: BinaryIO) -> _Letter:
    message = message_from_binary_file(content, policy=policy.default)
    headers = _headers(message)
    if not headers:
        raise InputError("not an e-mail: it has no subject, sender or date")
    body = _sections(_body(message, "plain"), _body(message, "html"))
    return _Letter(headers, map(_attachment, message.iter_attachments()), body)


def _body(message: EmailMessage, kind: str) -> str:
    """The text of a message in plain words or as HTML; empty if it has none."""
    part = message.get_body((kind,))
    content = None if part is None else part.get_payload(decode=True)
    if part is None or not isinstance(content, bytes):
        return ""
    return decoded(content, part.get_content_charset())


def _msg(content: BinaryIO) -> _Letter:
    raw = content.read()
    _check_kind(raw)
    message = needs("oxmsg").Message.load(io.BytesIO(raw))
    sent = message.sent_date.isoformat() if message.sent_date else ""
    headers = {"subject": message.subject or "", "from": message.sender or "", "date": sent}
    attached = ((one.file_name or "", one.file_bytes) for one in message.attachments)
    return _Letter(headers, attached, _sections(message.body or "", message.html_body or ""))


def _sections(plain: str, html: str) -> Iterator[Turn]:
    """The text of a message; that of its HTML if the plain one is blank, as in many newsletters."""
    if plain.strip() or not html.strip():
        yield Turn(plain.strip())
    else:
        yield from html_sections(html.encode(UTF8, "replace"), UTF8)


def _headers(message: Message) -> dict[str, str]:
    """The headers to keep, decoded, or an InputError on one that is too long.

    The standard library's own parser of headers takes time quadratic in their length.
    """
    for part in message.walk():
        for name, value in part.raw_items():
            if name.lower().startswith("content-") and len(value) > _LONGEST_HEADER:
                raise InputError(f"a header of more than {_LONGEST_HEADER:,} characters")
    raw = {name.lower(): str(value)[:_LONGEST_HEADER] for name, value in message.raw_items()}
    kept = {name: _header(raw[name]) for name in _HEADERS if name in raw}
    if "date" in kept:
        with suppress(ValueError, OverflowError):
            kept["date"] = parsedate_to_datetime(kept["date"]).isoformat()
    return kept


def _header(value: str) -> str:
    """A header in one line: its encoded words, and bytes that should have been such, as text."""
    line = "".join(value.splitlines())
    return _ENCODED.sub(_words, decoded(line.encode(UTF8, "surrogateescape")))


def _words(encoded: re.Match[str]) -> str:
    try:
        return "".join(decoded(raw, charset) for raw, charset in decode_header(encoded[0]))
    except HeaderParseError:
        return encoded[0]


def _attachment(part: Message) -> Attachment:
    """An attached file, or the message that is forwarded as one."""
    kind = part.get_content_type()
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        inner = part.get_payload()
        whole = inner[0] if isinstance(inner, list) and len(inner) == 1 else part
        content = whole.as_bytes() if isinstance(whole, Message) else b""
    name = part.get_filename() or f"attachment{_BY_TYPE.get(kind) or guess_extension(kind) or ''}"
    return name, content


def named_apart(attachments: Iterable[Attachment]) -> Iterator[Attachment]:
    """Attachments with names that tell them apart."""
    taken: set[str] = set()
    for given, content in attachments:
        name = PurePosixPath(encodable(" ".join(given.split())) or "attachment")
        unique, number = str(name), 2
        while unique in taken:
            unique, number = str(name.with_stem(f"{name.stem}-{number}")), number + 1
        taken.add(unique)
        yield unique, content


def _check_kind(raw: bytes) -> None:
    """Refuse other Office files, which are in the same container as Outlook messages."""
    if not raw.startswith(OLE_MAGIC):
        raise InputError("not an Outlook message")
    with needs("olefile").OleFileIO(io.BytesIO(raw)) as container:
        if container.exists("EncryptedPackage"):
            raise InputError(ENCRYPTED)
        for name, now in _OLD.items():
            if container.exists(name):
                raise InputError(f"a file of an old version of Office; save it as {now}")


read_eml = partial(_read, parse=_eml)
read_msg = partial(_read, parse=_msg)
