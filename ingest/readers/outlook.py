"""Outlook's messages: properties of a message, and the files and messages attached to it.

A message is a storage of an OLE container: streams are its properties, storages in it are what is
attached, and may be messages again.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.header import Header
from email.message import Message
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.parser import HeaderParser
from email.utils import format_datetime
from functools import partial
from typing import Any, BinaryIO

from slice_os.errors import ENCRYPTED, InputError
from slice_os.ingest.readers.decoding import UTF8, codec_of, decoded
from slice_os.ingest.readers.letters import read_letter
from slice_os.ingest.readers.markup import encoding_declared, html_sections
from slice_os.ingest.readers.mime import Attachment, Tree
from slice_os.ingest.readers.package import count
from slice_os.ingest.readers.reader import OLE_MAGIC, ReadOptions, Turn, needs
from slice_os.ingest.readers.rtf import rtf_sections

_OLD = {"WordDocument": ".docx", "Workbook": ".xlsx", "PowerPoint Document": ".pptx"}
_PROPERTY = struct.Struct("<HHIq")
_FIELDS = {"subject": 0x0037, "to": 0x0E04, "cc": 0x0E03}
_SENDER, _ADDRESSES = 0x0C1A, (0x5D01, 0x0C1F)
_HEADERS, _SENT, _TEXT, _RTF, _HTML = 0x007D, 0x0039, 0x1000, 0x1009, 0x1013
_DATA, _NAMES, _TITLE = 0x3701, (0x3707, 0x3704), 0x3001
_PAGE_OF_TEXT, _PAGE = 0x3FDE, 0x3FFD
_EPOCH = datetime(1601, 1, 1, tzinfo=timezone.utc)
_LATEST = 26 * 10**17  # in the year 9840
_DEEPEST = 20
_STORAGE, _STREAM = 1, 2
_MESSAGE, _FIXED = "__substg1.0_3701000D", "__properties_version1.0"


def _message(
    content: BinaryIO, tree: Tree, options: ReadOptions
) -> tuple[dict[str, str], list[Turn]]:
    """The headers and the text of a message; what is attached is added to the tree.

    Raises an `InputError` if it is another file in the same container.
    """
    if content.read(len(OLE_MAGIC)) != OLE_MAGIC:
        raise InputError("not an Outlook message")
    with needs("olefile").OleFileIO(content) as container:
        if container.exists("EncryptedPackage"):
            raise InputError(ENCRYPTED)
        for name, now in _OLD.items():
            if container.exists(name):
                raise InputError(f"a file of an old version of Office; save it as {now}")
        message = _Storage(container, container.root)
    tree.attached += _attached(message, options, tree.counts)
    page = html_sections(message.page(), counts=tree.counts, of_mail=True)
    return message.headers(), tree.best([[Turn(message.body(options, tree.counts))], page])


class _Storage:
    """The properties of a message, or of what is attached to one, by their numbers."""

    def __init__(self, container: Any, node: Any, *path: str) -> None:
        self.name = node.name
        self.storages = [
            _Storage(container, one, *path, one.name)
            for one in node.kids
            if one.entry_type == _STORAGE
        ]
        self._streams: dict[str, bytes] = {
            one.name: container.openstream([*path, one.name]).read()
            for one in node.kids
            if one.entry_type == _STREAM
        }
        self.is_message = _FIXED in self._streams
        head = 24 if self.name == _MESSAGE else 8 if path else 32
        fixed = self._streams.get(_FIXED, b"")[head:]
        whole = fixed[: len(fixed) // _PROPERTY.size * _PROPERTY.size]
        self._numbers = {key: value for _, key, _, value in _PROPERTY.iter_unpack(whole)}

    def binary(self, key: int) -> bytes | None:
        """Bytes; None if there are none."""
        return self._streams.get(f"__substg1.0_{key:04X}0102")

    def text(self, key: int) -> str:
        """A text, empty if there is none."""
        wide = self._streams.get(f"__substg1.0_{key:04X}001F")
        if wide is not None:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        raw = self._streams.get(f"__substg1.0_{key:04X}001E", b"").rstrip(b"\0")
        pages = (_PAGE_OF_TEXT, _PAGE) if key in (_TEXT, _HTML) else (_PAGE, _PAGE_OF_TEXT)
        return decoded(raw, *map(self._encoding, pages), "cp1252")

    def page(self) -> str:
        """The text in HTML, which may be bytes."""
        raw = self.binary(_HTML)
        labels = self._encoding(_PAGE_OF_TEXT), encoding_declared(raw or b"")
        return self.text(_HTML) if raw is None else decoded(raw, *labels)

    def body(self, options: ReadOptions, counts: Counter[str]) -> str:
        """The plain text, or that of the text in RTF where there is neither this nor HTML."""
        text = self.text(_TEXT).replace("\r\n", "\n").strip()
        packed = self.binary(_RTF)
        if text or packed is None or self.page():
            return text
        return "\n".join(one.text for one in rtf_sections(_unpacked(packed), options, counts))

    def headers(self) -> dict[str, str]:
        """The headers to keep; the date is in ISO 8601."""
        sent = self._numbers.get(_SENT, 0)
        date = _EPOCH + timedelta(microseconds=sent // 10) if 0 < sent < _LATEST else None
        name = self.text(_SENDER)
        address = next((one for one in map(self.text, _ADDRESSES) if "@" in one), "")
        sender = f'"{name}" <{address}>' if name and address else name or address
        written = HeaderParser().parsestr(self.text(_HEADERS)).get("from", "")
        kept = {key: self.text(number) for key, number in _FIELDS.items()}
        return kept | {
            "from": str(written) or sender,
            "date": date.replace(microsecond=0).isoformat() if date else "",
        }

    def _encoding(self, key: int) -> str | None:
        return codec_of(f"cp{self._numbers.get(key, 0) & 0xFFFFFFFF}")


def _attached(
    message: _Storage, options: ReadOptions, counts: Counter[str], depth: int = 0
) -> Iterator[Attachment]:
    for own in message.storages:
        if not own.name.startswith("__attach_version1.0_#"):
            continue
        name = next(filter(None, map(own.text, (*_NAMES, _TITLE))), "")
        inner = next((one for one in own.storages if one.name == _MESSAGE), None)
        content = own.binary(_DATA)
        if content is not None:
            yield Attachment(name, content)
        elif inner is not None and depth < _DEEPEST and inner.is_message:
            mail = _as_mail(inner, options, counts, depth + 1)
            yield Attachment(f"{name or 'message'}.eml", mail.as_bytes(), "eml")
        else:
            count(counts, "attached objects left out")


def _as_mail(message: _Storage, options: ReadOptions, counts: Counter[str], depth: int) -> Message:
    """A message as others send it."""
    mail = MIMEMultipart()
    for name, value in message.headers().items():
        if value and name == "date":
            mail[name] = format_datetime(datetime.fromisoformat(value))
        elif value:
            mail[name] = Header(" ".join(value.split()), UTF8).encode()
    versions = MIMEMultipart("alternative")
    versions.attach(MIMEText(message.body(options, counts), _charset=UTF8))
    if page := message.page():
        versions.attach(MIMEText(page, "html", UTF8))
    mail.attach(versions)
    for name, content, *_ in _attached(message, options, counts, depth):
        part = MIMEApplication(content)
        part.add_header("Content-Disposition", "attachment", filename=(UTF8, "", name))
        mail.attach(part)
    return mail


_KNOWN = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)


def _unpacked(packed: bytes) -> bytes:
    """RTF as it was before Outlook packed it (MS-OXRTFCP)."""
    if packed[8:12] == b"MELA" or len(packed) < 16:
        return packed[16:]
    window = bytearray(_KNOWN.ljust(4096, b"\0"))
    to, at = len(_KNOWN), 16
    out = bytearray()
    while at < len(packed):
        flags, at = packed[at], at + 1
        for bit in range(8):
            if flags >> bit & 1:
                pair = int.from_bytes(packed[at : at + 2], "big")
                at += 2
                begin, length = pair >> 4, (pair & 15) + 2
                if begin == to or at > len(packed):
                    return bytes(out)
            elif at < len(packed):
                window[to] = packed[at]
                begin, length, at = to, 1, at + 1
            else:
                return bytes(out)
            for step in range(length):
                one = window[(begin + step) % 4096]
                window[to] = one
                out.append(one)
                to = (to + 1) % 4096
    return bytes(out)


read_msg = partial(read_letter, parse=_message)
