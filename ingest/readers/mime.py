"""The parts of an e-mail: each is text, is attached, or is counted, wherever it stands in the tree.

The standard library parses; it is mended where it loses parts. The libraries that were compared
return flat lists of parts, and read fewer of the encodings and boundaries that people send.
"""

from __future__ import annotations

import binascii
import quopri
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.policy import Compat32
from email.utils import collapse_rfc2231_value
from functools import partial
from mimetypes import guess_extension
from pathlib import PurePosixPath
from typing import Any, NamedTuple, cast
from urllib.parse import urljoin

from slice_os.errors import InputError, MissingExtraError
from slice_os.ingest.readers.decoding import UTF8, decoded, encoding_of
from slice_os.ingest.readers.markup import encoding_declared, html_sections
from slice_os.ingest.readers.package import count
from slice_os.ingest.readers.reader import BOM, UNREADABLE, ReadOptions, Turn
from slice_os.ingest.readers.rtf import rtf_sections

_LONGEST_HEADER = 2_000
_DEEPEST = 100
# Each time takes as long as the rest of the message.
_MOST_TIMES = 4
_WORD = r"=\?[^?\n]{1,80}\?[bq]\?.{0,2000}?\?="
_ENCODED = re.compile(rf"{_WORD}(?:\s*{_WORD})*", re.I)
_DELIMITER = re.compile(
    r"^--(?!\r?$)([^\r\n]{0,199}?[^ \t\r\n])[ \t]*\r?\n(?=[A-Za-z-]{1,70}:)", re.M
)
_LONGEST_NOTE = 60
_FAMILIAR = re.compile(r"\bmime\b|multi-?part|\bweb archive\b", re.I)
_MESSAGES = ("message/rfc822", "message/global", "message/news")
_PAGES = ("text/html", "text/x-amp-html", "text/watch-html", "application/xhtml+xml")
_RICH = ("text/enriched", "text/richtext")
# A parameter, such as the name of a font, is not shown.
_COMMAND = re.compile(r"(?<!<)(?:<param>[^<]*</param>|</?[A-Za-z][\w-]{0,59}>)(?!>)", re.I)
# A line of text that flows ends in a space, which is none of it (RFC 3676).
_FLOWS = re.compile(r"^(?!>|-- $)(.*) \n(?=[^>\n])", re.M)
_BYTES = "application/octet-stream"
_CALENDARS = ("text/calendar", "application/ics")
_HEADERS = frozenset(
    "cc content-type date from message-id mime-version received subject to".split()  # noqa: SIM905
)
_EXTENSIONS = {
    "application/pgp-encrypted": ".asc",
    "application/pgp-signature": ".asc",
    "application/pkcs7-mime": ".p7m",
    "application/pkcs7-signature": ".p7s",
    "message/rfc822": ".eml",
    "text/plain": ".txt",
}
_UU = ("uuencode", "uue")
_UUENCODED = re.compile(
    rb"^begin [0-7]{3,4} ([^\r\n]{1,200})\r?\n"
    rb"((?:[!-M][ -`]{0,90}\r?\n)*)(?:[ `]\r?\n)?end[ \t]*\r?$",
    re.M,
)
# A line that goes on, to which a program on its way has added spaces (RFC 2045).
_PADDED = re.compile(rb"=[ \t]+(?=\r?\n)")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=]*")
_ADDRESS = re.compile(r"<?https?://\S+|\[[a-z]+:[^\]\n]{1,200}\]", re.I)
_TOKEN = re.compile(r"\w+")
_LOCATION = "content-location"
_TNEF, _TNEF_HEAD = b"\x78\x9f\x3e\x22", struct.Struct("<BII")
_OF_FILE, _FILE_BEGINS, _FILE_NAME, _FILE_DATA = 2, 0x69002, 0x18010, 0x6800F
_LEFT_OUT = "words of another version left out"
_NOT_READ = "parts in HTML left out, which the extra documents reads"


class Attachment(NamedTuple):
    """A file, with the name of its format, if that is known, and whether it is text of any kind."""

    name: str
    content: bytes
    format: str | None = None
    is_text: bool = False


class Part(Message):
    """A message, or a part of it."""

    _payload: object

    def raw(self) -> bytes:
        """Its content as it was sent; none if it has parts."""
        # The library's own way would guess the encoding.
        payload = self._payload
        return payload.encode("ascii", "surrogateescape") if isinstance(payload, str) else b""

    @property
    def parts(self) -> list[Part] | None:
        """The parts in it; None if it has none."""
        inside = self.get_payload()
        return cast("list[Part]", inside) if isinstance(inside, list) else None

    def get_payload(self, i: int | None = None, decode: bool = False) -> Any:
        """What is in it; the library would decode text, by a label that may be none."""
        whole = i is None and not decode
        return self._payload if whole else super().get_payload(i, decode)  # type: ignore[call-overload]

    def get_param(
        self, param: str, failobj: Any = None, header: str = "content-type", unquote: bool = True
    ) -> Any:
        """A parameter; the library fails if one is sent in parts and as a whole, and on zeros."""
        try:
            found = super().get_param(param, failobj, header, unquote)
        except TypeError:
            return failobj
        return found[2] if isinstance(found, tuple) and "\0" in str(found[0]) else found

    def get_boundary(self, failobj: Any = None) -> Any:
        """The boundary as it is written; the library takes ``<`` and ``>`` off."""
        value = self.get_param("boundary", failobj, unquote=False)
        value = collapse_rfc2231_value(value) if isinstance(value, tuple) else value
        return (value.strip().strip('"').rstrip() or failobj) if isinstance(value, str) else failobj


class _Policy(Compat32):
    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """As the library does; what it does then takes time quadratic in fields of MIME."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_LONGEST_HEADER] if name.lower().startswith("content-") else value


_POLICY = _Policy(max_line_length=0)


def parsed(raw: bytes) -> Part:
    """The tree of a message; a byte order mark and empty lines before it are none of it."""
    encoding = encoding_of(raw[:_LONGEST_HEADER])
    if encoding.startswith(("utf-16", "utf-32")):
        raw = raw.decode(encoding, "replace").encode()
    raw = raw.removeprefix(BOM.encode()).lstrip()
    return cast(Part, message_from_bytes(raw, _class=Part, policy=_POLICY))


def has_header(message: Part) -> bool:
    """Whether a message has one of the headers that every message has."""
    return not _HEADERS.isdisjoint(name.lower() for name in message)


def header_text(value: str) -> str:
    """A header in one line: its encoded words, and bytes that should have been such, as text."""
    line = value.replace("\r", "").replace("\n", "")
    return _ENCODED.sub(_encoded_words, decoded(line.encode(UTF8, "surrogateescape"), "ascii"))


def _encoded_words(found: re.Match[str]) -> str:
    try:
        return "".join(decoded(raw, charset) for raw, charset in decode_header(found[0]))
    except HeaderParseError:
        return found[0]


class Tree:
    """Walks the parts of a message once.

    Attributes:
        attached: the files in it, in order; a message in it is such a file.
        counts: of what is left out.
    """

    def __init__(self, encoding: str | None = None, is_mail: bool = True) -> None:
        self.attached: list[Attachment] = []
        self.counts: Counter[str] = Counter()
        self._encoding, self._is_mail = encoding, is_mail
        self._sheets: dict[str, str] = {}
        self._missing: MissingExtraError | None = None

    def body(self, message: Part) -> list[Turn]:
        """The text of a message.

        Without the extra ``documents``, parts in HTML are counted.

        Raises an `InputError` if its parts are too deep within each other, and a
        `MissingExtraError` if all of the text is in HTML.
        """
        _mend(message)
        for one in () if self._is_mail else cast("Iterator[Part]", message.walk()):
            if one.get_content_type() == "text/css":
                sheet = self._decoded(one, _content(one), "text/css")
                self._sheets[str(one.get(_LOCATION, "")).strip()] = sheet
        turns = self._turns(message, is_body=True)
        if self._missing and not _words(turns):
            raise self._missing
        return turns

    def best(self, versions: list[list[Turn]]) -> list[Turn]:
        """The last version with words that those before lack, and others that say something else.

        Words that are only in a version that is left out are counted.
        """
        best: list[Turn] = []
        words, known = list(map(_words, versions)), frozenset[str]()
        for turns, own in zip(versions, words, strict=True):
            if own - known:
                best, known = turns, own
        kept, told = list(best), set(known)
        for turns, own in zip(versions, words, strict=True):
            if 2 * len(own - told) > len(own):
                kept += turns
                told |= own
        count(self.counts, _LEFT_OUT, len(frozenset().union(*words) - told))
        return kept

    def _turns(self, part: Part, is_body: bool = False) -> list[Turn]:
        kind = _kind(part)
        main = kind.partition("/")[0]
        is_named = part.get_filename() and not is_body
        is_file = is_named or part.get_content_disposition() == "attachment"
        if main == "multipart":
            return self._several(part)
        if kind in _MESSAGES:
            content = _message(part)
            is_mail = has_header(parsed(content[:_LONGEST_HEADER]))
            self._add(_name(part), content, "eml" if is_mail else "text")
        elif main == "message":
            return [Turn(decoded(_message(part)).strip())]
        elif main != "text" and kind not in (*_PAGES, *_CALENDARS):
            self._add(_name(part), _content(part))
        elif not self._is_mail and kind not in (*_PAGES, "text/plain") and _LOCATION in part:
            # What belongs to a saved page, such as its style sheets, shows no words itself.
            self._add(_name(part), _content(part))
        elif is_file:
            self._attach_text(part)
        else:
            return list(self._text(part, kind))
        return []

    def _several(self, part: Part) -> list[Turn]:
        if (parts := part.parts) is None:
            return list(self._text(part, "text/plain"))
        for outside in (part.preamble or "", part.epilogue or ""):
            words = len(outside.split())
            words = 0 if words < _LONGEST_NOTE and _FAMILIAR.search(outside) else words
            count(self.counts, "words outside of all parts left out", words)
        is_choice = part.get_content_subtype() == "alternative"
        found = [(_kind(one), self._turns(one, is_body=is_choice)) for one in parts]
        if is_choice:
            chosen = self.best([turns for kind, turns in found if kind not in _CALENDARS])
            extra = [turn for kind, turns in found if kind in _CALENDARS for turn in turns]
            return [*chosen, *(extra if _words(extra) - _words(chosen) else ())]
        kept: list[tuple[str, list[Turn]]] = []
        for kind, turns in found:
            # Some programs send both versions one after the other.
            again = kept and kind != kept[-1][0] and _words(turns) == _words(kept[-1][1])
            if turns and not again:
                kept.append((kind, turns))
        return [turn for _, turns in kept for turn in turns]

    def _text(self, part: Part, kind: str) -> Iterator[Turn]:
        raw = _content(part)
        if raw.lstrip().startswith(b"{\\rtf"):
            yield from rtf_sections(raw, ReadOptions(encoding=self._encoding), self.counts)
            return
        for found in _UUENCODED.finditer(raw):
            self._add(header_text(found[1].decode("latin-1")), _uudecoded(found[2]))
        text = self._decoded(part, _UUENCODED.sub(b"", raw), kind)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if kind in _PAGES:
            try:
                sheet = partial(self._sheet, str(part.get(_LOCATION, "")).strip())
                yield from html_sections(
                    text, counts=self.counts, of_mail=self._is_mail, sheet=sheet
                )
            except MissingExtraError as error:
                self._missing = error
                count(self.counts, _NOT_READ, 1)
            return
        count(self.counts, UNREADABLE, text.count("\ufffd"))
        if kind in _RICH:
            text = _COMMAND.sub(lambda found: "\n" if found[0].lower() == "<nl>" else "", text)
        if str(part.get_param("delsp", "")).lower() == "yes":
            text = _FLOWS.sub(r"\1", text)
        yield Turn(calendar_text(text) if kind in _CALENDARS else text.strip("\n"))

    def _sheet(self, place: str, address: str) -> str:
        with suppress(ValueError):  # of an address that is none
            return self._sheets.get(urljoin(place, address), "")
        return ""

    def _decoded(self, part: Part, raw: bytes, kind: str) -> str:
        declared = encoding_declared(raw) if kind in _PAGES else None
        return decoded(raw, part.get_content_charset(), declared, self._encoding).removeprefix(BOM)

    def _attach_text(self, part: Part) -> None:
        """Attach a text in UTF-8, since only its part says which encoding it has."""
        kind, content = _kind(part), _content(part)
        is_calendar = kind in _CALENDARS
        if is_calendar:
            text = calendar_text(self._decoded(part, content, kind))
            content = text.encode(self._encoding or UTF8, "replace")
        elif self._encoding is None and not content.isascii():
            mark = BOM if kind in _PAGES else ""
            content = f"{mark}{self._decoded(part, content, kind)}".encode(UTF8, "replace")
        is_text = part.get_content_maintype() == "text"
        self._add(_name(part), content, "text" if is_calendar else None, is_text)

    def _add(self, name: str, content: bytes, form: str | None = None, text: bool = False) -> None:
        if not content.startswith(_TNEF):
            self.attached.append(Attachment(name, content, form, text))
            return
        count(self.counts, "texts in Outlook's own form left out", 1)
        for own, data in _in_tnef(content):
            self.attached += [] if data is None else [Attachment(own or "attachment", data)]
            count(self.counts, "attached objects left out", data is None)


def _in_tnef(content: bytes) -> Iterator[tuple[str, bytes | None]]:
    """The names and bytes of files in what Outlook sends as ``winmail.dat`` (MS-OXTNEF)."""
    own = dict[int, bytes]()
    at = 6
    while len(content) >= at + _TNEF_HEAD.size:
        level, kind, length = _TNEF_HEAD.unpack_from(content, at)
        at += _TNEF_HEAD.size
        if level == _OF_FILE and at + length <= len(content):
            if kind == _FILE_BEGINS and own:
                yield _tnef_file(own)
                own = {}
            own[kind] = content[at : at + length]
        at += length + 2
    if own:
        yield _tnef_file(own)


def _tnef_file(own: Mapping[int, bytes]) -> tuple[str, bytes | None]:
    return decoded(own.get(_FILE_NAME, b"").rstrip(b"\0"), "cp1252"), own.get(_FILE_DATA)


def _kind(part: Part) -> str:
    """The type of a part; a calendar may be sent as any bytes."""
    kind = part.get_content_type()
    is_calendar = kind == _BYTES and _name(part).lower().endswith(".ics")
    return _CALENDARS[0] if is_calendar else kind


def _name(part: Part) -> str:
    """The name of a file, with the extension of its type if it has none."""
    kind = part.get_content_type()
    sort = part.get_content_subtype().removeprefix("x-")
    extension = _EXTENSIONS.get(kind) or guess_extension(kind) or f".{sort}"
    name = header_text(part.get_filename() or f"attachment{extension}")
    return name if PurePosixPath(name).suffix else f"{name}{extension}"


def _mend(message: Part) -> None:
    """Add the parts that the library loses.

    Raises an `InputError` if parts are too deep within each other.
    """
    around = [(message, 0, _MOST_TIMES)]
    while around:
        part, depth, times = around.pop()
        if depth > _DEEPEST:
            raise InputError(f"parts within parts, more than {_DEEPEST} deep")
        # What is in a message is read again, as a file.
        times = 0 if part.get_content_maintype() == "message" else times
        if times and (lost := _lost(part)):
            part.set_payload([*(part.parts or ()), lost])
            part.epilogue, times = None, times - 1
        around += [(one, depth + 1, times) for one in part.parts or ()]


def _lost(part: Part) -> Part | None:
    """The parts behind an end, or by another boundary than that of the header; None without any."""
    kind, text = "multipart/mixed", part.epilogue or ""
    if part.parts is None and part.get_content_maintype() == "multipart":
        kind, text = part.get_content_type(), _content(part).decode("ascii", "surrogateescape")
        boundary = found[1] if (found := _DELIMITER.search(text)) else None
    elif boundary := part.get_boundary() if "--" in text else None:
        # Parts in it that have the same boundary end it, too.
        text = re.sub(rf"^--{re.escape(boundary)}--[ \t]*\r?$", "", text, flags=re.M)
    if boundary is None or f"--{boundary}" not in text:
        return None
    head = f'Content-Type: {kind}; boundary="{boundary}"\n\n'
    again = parsed((head + text).encode(UTF8, "surrogateescape"))
    return again if again.is_multipart() else None


def _words(turns: Iterable[Turn]) -> frozenset[str]:
    """The words of a text, those of addresses aside, which one version has and another hides."""
    text = _ADDRESS.sub(" ", "\n".join(turn.text for turn in turns))
    return frozenset(_TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()))


def _message(part: Part) -> bytes:
    """A message that is a part; some programs encode it, too."""
    if (parts := part.parts) is None:
        return _content(part)
    raw = b"\n".join(one.as_bytes(policy=_POLICY) for one in parts)
    return _plain(raw.lstrip(), part)


def _content(part: Part) -> bytes:
    return _plain(part.raw(), part)


def _plain(raw: bytes, part: Part) -> bytes:
    """Bytes as they were before they were encoded to be sent."""
    sent = re.match(r"\s*([\w-]*)", str(part.get("content-transfer-encoding", "")).lower())
    encoding = sent[1] if sent else ""
    if encoding == "quoted-printable":
        return quopri.decodestring(_PADDED.sub(b"=", raw))
    if encoding == "base64":
        lines = raw.split(b"\n")
        encoded, others = b"".join(map(bytes.strip, lines)), b""
        if not _BASE64.fullmatch(encoded):
            # What a program has put before or after it, such as a list's address.
            others = b"\n".join(line for line in lines if not _BASE64.fullmatch(line.strip()))
            encoded = b"".join(line.strip() for line in lines if _BASE64.fullmatch(line.strip()))
        if others and (not encoded or len(encoded) % 4):
            return raw
        runs = map(_unpadded, re.split(rb"=+", encoded))
        return b"\n".join(filter(None, (b"".join(runs), others)))
    found = _UUENCODED.search(raw) if encoding.removeprefix("x-") in _UU else None
    return _uudecoded(found[2]) if found else raw


def _unpadded(encoded: bytes) -> bytes:
    whole = encoded[: -1 if len(encoded) % 4 == 1 else None]
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))


def _uudecoded(lines: bytes) -> bytes:
    # Some programs pad a line beyond the length that it begins with.
    within = (line[: ((line[0] - 32 & 63) * 4 + 5) // 3] for line in lines.splitlines())
    return b"".join(map(binascii.a2b_uu, within))


_FOLDED = re.compile(r"\r?\n[ \t]")
_PROPERTY = re.compile(r"^([A-Za-z-]{1,60})((?:;(?:\"[^\"\n]*\"|[^\":\n])*)?):", re.M)
_NAME = re.compile(r";CN=(?:\"([^\"]*)\"|([^;:\"]*))", re.I)
_ESCAPED = re.compile(r"\\(.)")
_SAID = ("SUMMARY", "LOCATION", "DESCRIPTION", "COMMENT", "CONTACT", "CATEGORIES", "RESOURCES")
_PEOPLE = ("ORGANIZER", "ATTENDEE")


def calendar_text(calendar: str) -> str:
    """The words of a calendar in iCalendar's form (RFC 5545), a line for each thing said.

    Text in another form is returned as it is.
    """
    said: dict[str, None] = {}
    # What a program has not folded belongs to the property before.
    _, *found = _PROPERTY.split(_FOLDED.sub("", calendar).replace("\r\n", "\n"))
    for name, parameters, value in zip(found[::3], found[1::3], found[2::3], strict=True):
        if name.upper() in _SAID:
            said[_ESCAPED.sub(_unescaped, value).strip()] = None
        elif name.upper() in _PEOPLE and (person := _NAME.search(parameters)):
            said[(person[1] or person[2] or "").strip()] = None
    return "\n".join(filter(None, said)) if "BEGIN:V" in calendar.upper() else calendar


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] in "nN" else found[1]
