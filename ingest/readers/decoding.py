"""Text in any encoding: the encoding of a file, its exact text, and its lines."""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TextIO

from slice_os.errors import InputError, MissingExtraError
from slice_os.ingest.readers.reader import BOM, BadRecord, bad_record, is_blank, needs, read_whole

LONGEST_LINE = 1 << 24
"""Characters of the longest line that is read."""

UTF8 = "utf-8"
SAMPLE = 1 << 16

_MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MOST_FOREIGN = 0.3
# The Encoding Standard of browsers: these mean the larger encoding that people use by that name.
_MEANT = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_PAGE = re.compile(r"(?:x-)?(?:cp|dos|ibm|ms|windows)?[-_]?0*(\d{3,5})")
_MULTIBYTE = ("big5", "cp932", "cp949", "cp950", "euc", "gb", "hz", "iso2022", "johab", "shift")
# In which people send text; others would be found in short ones.
_USUAL = (
    "big5 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp874 cp932 cp949 euc-jp gb18030 "  # noqa: SIM905
    "cp866 iso8859-1 iso8859-2 iso8859-5 iso8859-7 koi8-r koi8-u".split()
)
_LEAST_CLEAR = 0.05
# How much more. Where iso8859-2 is as likely as cp1250, the latter would show letters of its own.
_MORE_USUAL = {"cp1252": 1.25, "iso8859-2": 1.001}
# Those of Windows, Unix, DOS and the Mac in the West, from the most usual one.
_WESTERN = ("cp1252", "iso8859-15", "cp850", "mac-roman")
# Words have no sign or large letter behind a small one, nor letters of two scripts.
_ODD = re.compile(
    "[\x80-\x9f¤ƒ\ufffd]|[a-zß-ÿ][À-ÖØ-ÞŠŽŒŸ]|[\u2500-\u259f][^\\W\\d_]"
    "|[A-Za-z][\u0370-\u06ff]|[\u0370-\u06ff][A-Za-z]|(?<![\u0370-\u06ff])[\u0370-\u06ff] [a-z]"
    "|[^\\W\\d_](?:(?![\xa0\xad´·‐-’…])[\xa1-\xbf×÷\u2000-\u2fff])+[^\\W\\d_]"
)
_IN_ASCII = ("hz", "iso2022", "utf-7")
_SURELY_WIDE = 3
_LEAST_ZEROS = 0.4
_UNSEEN = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_ESCAPE = "slice-os-escape"
_BAD = "\udcff"


def _escape(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace bad bytes by lone surrogates, also those below 0x80, which UTF-16 and -32 have."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeDecodeError as unescaped:
        return _BAD, unescaped.end


codecs.register_error(_ESCAPE, _escape)


class _Readable(io.RawIOBase):
    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        found = self._read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


def stream_of(read: Callable[[int], bytes]) -> io.BufferedReader:
    """A stream of what a function returns, which is asked for so many bytes at most."""
    return io.BufferedReader(_Readable(read), SAMPLE)


def peek(stream: IO[bytes], size: int = SAMPLE) -> tuple[bytes, IO[bytes]]:
    """The first bytes of a stream, and a stream that still has them."""
    head = stream.read(size)
    again = io.BytesIO(head)
    return head, stream_of(lambda most: again.read(most) or stream.read(most))


def decoded(raw: bytes, *labels: str | None) -> str:
    """The text of bytes whose encoding is one of those that they are labeled with, or none.

    It is the first likely one, as browsers understand it, in which no byte is bad. If there is
    none, or the text is damaged UTF-8, bad bytes are replaced.
    """
    foreign, bad = _foreign(raw)
    if foreign > _SURELY_WIDE * bad > 0:
        return raw.decode(UTF8, "replace")
    names = [name for label in labels if (name := codec_of(label))]
    for name in _likely(raw, names):
        with suppress(UnicodeError):
            return raw.decode(name)
    known = (name for name in names if name not in (UTF8, "ascii"))
    return raw.decode(next(known, None) or encoding_of(raw, is_whole=True), "replace")


def _likely(raw: bytes, names: list[str]) -> Iterator[str]:
    """Encodings to try: labels are often wrong, most often those with one byte per letter."""
    if raw.isascii():
        # Those that write all letters in ASCII.
        yield from (name for name in names if name.startswith(_IN_ASCII))
        yield from ["iso2022_jp_2"] if b"\x1b$" in raw else []
    if wide := encoding_marked(raw) or _wide(raw):
        yield wide
    multibyte = [name for name in names if name.startswith(_MULTIBYTE)]
    # A few letters of two bytes each may be valid UTF-8 by chance.
    if multibyte and sum(sign >= "\u0800" for sign in raw.decode(UTF8, "ignore")) < _SURELY_WIDE:
        yield from multibyte
    yield from (UTF8, *names)
    if not multibyte:
        found = encoding_of(raw, is_whole=True)
        yield guessed(raw, UTF8) if found == UTF8 else found
    if "ascii" in names:
        yield "cp1252"


def guessed(raw: bytes, *usual: str) -> str:
    """The encoding in which words look least odd: that which their letters show, or a usual one.

    Letters show none if it is not clear, or the library is not there.
    """
    with suppress(MissingExtraError):
        found = needs("chardet").detect_all(raw, True, include_encodings=_USUAL, compat_names=False)
        likely = {codec_of(one["encoding"]): one["confidence"] for one in reversed(found)}
        name = max(reversed(likely), key=lambda one: likely[one] * _MORE_USUAL.get(one or "", 1))
        if name and likely[name] >= _LEAST_CLEAR:
            usual = (name, *usual)
    return least_odd(raw, *usual)


def least_odd(raw: bytes, *encodings: str) -> str:
    """The first encoding of those in which words look least odd."""
    return min(encodings, key=lambda one: len(_ODD.findall(raw.decode(one, "replace"))))


def codec_of(label: str | None) -> str | None:
    """The codec that people mean by a label; None if it is none of text."""
    name = (label or "").strip().lower()
    page = _PAGE.fullmatch(name)
    for meant in (name, f"cp{page[1]}" if page else ""):
        with suppress(LookupError, ValueError):
            known = _MEANT.get(meant) or codecs.lookup(meant).name
            "".encode(known)
            return _MEANT.get(known, known)
    return None


def encoding_marked(sample: bytes) -> str | None:
    """The encoding that a byte order mark tells; None without one."""
    return next((name for mark, name in _MARKS if sample.startswith(mark)), None)


def encoding_of(sample: bytes, is_whole: bool = False) -> str:
    """Detect the encoding of a text by its first bytes, which may end within a letter, or by all.

    This is UTF-16 or UTF-32 by byte order marks or zero bytes, what its letters show for mostly
    Latin ones, Windows-1252 if they show none, or else UTF-8, perhaps with bad bytes.
    """
    if wide := encoding_marked(sample) or _wide(sample):
        return wide
    try:
        codecs.getincrementaldecoder(UTF8)().decode(sample, is_whole)
    except UnicodeDecodeError as error:
        near = sample[max(0, error.start - SAMPLE // 2) : error.start + SAMPLE // 2]
        if _is_windows(near):
            # A letter in UTF-8 is seldom an accident.
            usual = [UTF8] if _foreign(near)[0] else []
            return least_odd(near, *usual, guessed(near, *_WESTERN))
    return UTF8


def _wide(sample: bytes) -> str | None:
    """UTF-16, by the high bytes of letters, which are zero, or few; None for other text."""
    even, odd = sample[:SAMPLE:2], sample[1:SAMPLE:2]
    for name, high, low in (("utf-16-be", even, odd), ("utf-16-le", odd, even)):
        zeros = high.count(0)
        is_latin = zeros > _LEAST_ZEROS * len(high) and low.count(0) < zeros // 4
        is_few = _UNSEEN.search(high) and _most(high) > max(len(high) / 2, 1.25 * _most(low))
        if is_latin or is_few:
            return name
    return None


def _most(lane: bytes) -> int:
    """How often the three most frequent bytes come."""
    return sum(count for _, count in Counter(lane).most_common(3))


def _is_windows(sample: bytes) -> bool:
    """Whether bytes that are not UTF-8 are Latin letters in Windows-1252."""
    foreign, bad = _foreign(sample)
    # Characters that are valid UTF-8 are no accident: then the bad bytes are damage.
    return (
        foreign < 3
        and len(_UNSEEN.findall(sample)) <= len(sample) / 100
        and "\ufffd" not in sample.decode("cp1252", "replace")
        and bad < _MOST_FOREIGN * (sum(map(str.isalpha, sample.decode(UTF8, "ignore"))) + bad)
    )


def _foreign(raw: bytes) -> tuple[int, int]:
    """How many characters beyond ASCII are valid UTF-8, and how many bytes are not."""
    text = raw.decode(UTF8, "ignore")
    return len(text) - len(text.encode("ascii", "ignore")), len(raw) - len(text.encode())


def note(encoding: str) -> dict[str, str]:
    """Metadata with the encoding that was given or detected; none for UTF-8."""
    return {} if _is_utf8(encoding) else {"encoding": encoding}


def read_text_file(
    source: str, stream: IO[bytes], encoding: str | None
) -> tuple[str, str] | BadRecord:
    """The exact text of a stream and its encoding, which None detects, or a bad record."""
    try:
        raw = read_whole(stream)
    except InputError as error:
        return bad_record(source, None, str(error), "")
    chosen = encoding or encoding_of(raw)
    try:
        text = raw.decode(chosen)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return bad_record(source, line, _undecodable(error, chosen), raw)
    except UnicodeError as error:
        return bad_record(source, None, f"not valid {chosen}: {error}", raw)
    return bad_record(source, None, "empty", text) if is_blank(text) else (text, chosen)


@contextmanager
def open_text(
    stream: IO[bytes], encoding: str | None, newline: str
) -> Iterator[tuple[TextIO, str]]:
    """A stream as text without its byte order mark, and its encoding; it stays open.

    Undecodable bytes are lone surrogates, so that one bad line does not stop the file.
    """
    head, whole = peek(stream)
    chosen = encoding or encoding_of(head)
    mark = BOM.encode(chosen, "ignore")
    if head.startswith(mark) and not "".encode(chosen):  # other codecs remove what they add
        whole.read(len(mark))
    text = io.TextIOWrapper(whole, chosen, errors=_ESCAPE, newline=newline)
    try:
        yield text, chosen
    finally:
        text.detach()


def read_line(text: TextIO) -> str:
    """The next line, cut after `LONGEST_LINE` characters; empty at the end.

    A line that was cut has no line end and is longer than any other.
    """
    line = text.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        rest = line
        while rest and not rest.endswith(("\n", "\r")):
            rest = text.readline(LONGEST_LINE)
    return line


def check_line(line: str, encoding: str) -> bytes:
    """The bytes of a line, or an InputError if it was cut or is not valid in its encoding."""
    if len(line) > LONGEST_LINE:
        raise InputError(f"a line of more than {LONGEST_LINE:,} characters; split it")
    raw = line.encode(UTF8, "surrogateescape")
    try:
        raw.decode(UTF8)
    except UnicodeDecodeError as error:
        if _is_utf8(encoding):
            raise InputError(_undecodable(error, UTF8)) from None
        raise InputError(f"not valid {encoding}; choose another --encoding") from None
    return raw


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == UTF8


def _undecodable(error: UnicodeDecodeError, encoding: str) -> str:
    """The first bad byte and, in UTF-8, its position, counted from 0."""
    byte = f"byte 0x{error.object[error.start]:02x}"
    if _is_utf8(encoding):
        where = f"{byte} at byte {error.start}"
        return f"not valid UTF-8: {where}; convert it to UTF-8, or choose --encoding"
    return f"not valid {encoding}: {byte}; choose another --encoding"
