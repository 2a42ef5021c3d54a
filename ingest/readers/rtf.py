"""RTF files; offsets count the extracted text.

striprtf leaves out footnotes, text boxes, formulas and bytes of other code pages without a word,
and reads hidden and deleted text, so this walk is our own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import codec_of, decoded
from slice_os.ingest.readers.package import count, edges
from slice_os.ingest.readers.paragraphs import FORMULAS, TEXT_BOX, sign
from slice_os.ingest.readers.reader import UNREADABLE, DocumentStream, ReadOptions, Turn, extracted

_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<byte>[0-9A-Fa-f]{2})|"
    r"\\(?P<symbol>[^A-Za-z'])|(?P<brace>[{}])|[\r\n\0]+|(?P<text>[^\\{}\r\n\0]+)"
)
_WORD = re.compile(r"[^\W_]+")
_SYMBOLS = re.compile(r"(?:Symbol|Wingdings)(?=;)")
_SHOWN = re.compile(
    r"\\fldinst\b[^{}]{0,99}(?:\{[^{}]{0,199}?)??(?<=[\s{])(EQ|FORM)(?:CHECKBOX|DROPDOWN)?\b"
)
_SIGNS = {
    "tab": "\t", "line": "\n", "cell": "\t", "nestcell": "\t", "emdash": "—", "endash": "–",
    "emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005", "bullet": "•", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "zwj": "\u200d", "zwnj": "\u200c",
    "~": "\xa0", "-": "\xad", "_": "\u2011",
}  # fmt: skip
_BYTES = ("\\", "{", "}")
_ENDS = frozenset(("par", "sect", "page", "column", "row", "nestrow", "\n", "\r"))
# Groups without words that are seen, beside all that begin with an asterisk.
_UNSEEN = frozenset(
    "atnauthor atndate atnid atnref atrfend atrfstart author bkmkend bkmkstart buptim category "  # noqa: SIM905
    "colortbl comment company creatim datafield doccomm falt filetbl fldinst fonttbl ftncn ftnsep "
    "ftnsepc aftncn aftnsep aftnsepc info keywords listpicture listtable manager mmathPict "
    "nonesttables nonshppict objalias objclass objdata objname objsect operator password pict "
    "printim private propname revtbl revtim rxe shprslt staticval stylesheet subject "
    "tc template title txe upr userprops xe xform".split()
)
_SEEN = frozenset("do fldrslt moMath moMathPara nesttableprops shpgrp shpinst sp".split())  # noqa: SIM905
# Groups whose words stand beside the text.
_BESIDE = {
    "annotation": "comment", "dptxbxtext": TEXT_BOX, "footnote": "footnote", "shptxt": TEXT_BOX,
    "sn": "name", "sv": "value", **{f"header{one}": "header" for one in ("", "l", "r", "f")},
    **{f"footer{one}": "footer" for one in ("", "l", "r", "f")},
}  # fmt: skip
_EDGES = "header", "footer"
_WORD_ART = "gtextUNICODE"
_INITIAL = "dropcapt"
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "cp950",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
_ENCODINGS = ("ansicpg", "cpg", "deff", "f", "fcharset")
_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_KNOWN = frozenset(
    ("u", "uc", "ud", "v", "deleted", "plain", "ftnalt", _INITIAL, *_SIGNS, *_ENDS, *_UNSEEN)
) | {*_SEEN, *_BESIDE, *_ENCODINGS, *_PAGES}


def read_rtf(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of an RTF file's text; notes and text boxes follow their paragraph."""
    counts: Counter[str] = Counter()

    def sections(content: BinaryIO) -> Iterator[Turn]:
        return rtf_sections(content.read(), options, counts)

    return extracted(source, stream, sections, counts)


def rtf_sections(rtf: bytes, options: ReadOptions, counts: Counter[str]) -> Iterator[Turn]:
    """The text, with headers before it and footers behind it; what is left out is counted.

    Raises an `InputError` if it is no RTF.
    """
    begin = rtf.find(b"{\\rtf")
    if begin < 0 or rtf[:begin].strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError("not an RTF file")
    walk = _Walk(counts, options.encoding)
    text = rtf[begin:].decode("latin-1")
    walk.read(text)
    codes = _SHOWN.findall(text)
    count(counts, FORMULAS, codes.count("EQ"))
    count(counts, "boxes and lists of forms left out", codes.count("FORM"))
    heads, feet = (
        edges(kind, dict.fromkeys(texts), options, counts) for kind, texts in walk.edges.items()
    )
    yield from (*heads, *walk.turns, *feet)


class _Group(NamedTuple):
    """What holds until a group ends; of a character in Unicode, it ``repeats`` so many bytes."""

    is_seen: bool = True
    in_fonts: bool = False
    is_starred: bool = False
    font: int = -1
    left_out: str = ""
    repeats: int = 1


@dataclass(slots=True)
class _Place:
    """Where words go: the text, or a part beside it that ends with a group at some depth."""

    part: str = ""
    depth: int = 0
    pieces: list[str] = field(default_factory=list)


class _Walk:
    """Reads a file; gives turns, and the texts of headers and footers."""

    def __init__(self, counts: Counter[str], encoding: str | None) -> None:
        self.turns: list[Turn] = []
        self.edges: dict[str, list[str]] = {kind: [] for kind in _EDGES}
        self._counts = counts
        self._chosen = encoding
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._names: defaultdict[int, str] = defaultdict(str)
        self._defined = self._default = -1
        self._group = _Group()
        self._outer: list[_Group] = []
        self._places = [_Place()]
        self._beside: list[Turn] = []
        self._bytes = bytearray()
        self._repeated = 0
        self._left_out = self._property = ""
        self._is_initial = False

    def read(self, rtf: str) -> None:
        """Read a file, with a character for each byte, up to the end of its first group."""
        at, last = 0, ""
        while (found := _TOKEN.search(rtf, at)) is not None:
            at, kind = found.end(), found.lastgroup
            if kind is None:
                continue
            before, last = last, found[0]
            if kind == "text":
                self._names[self._defined] += found[0] * self._group.in_fonts
                self._add(found[0][self._repeated :].encode("latin-1"), len(found[0]))
            elif kind == "byte" or found["symbol"] in _BYTES:
                # In Chinese and Japanese, such a sign may be the second half of a letter.
                byte = bytes.fromhex(found["byte"] or f"{ord(found['symbol']):x}")
                self._add(b"" if self._repeated else byte, 1)
            else:
                if self._bytes:
                    self._say()
                self._repeated = 0
                if kind == "brace":
                    self._open() if found[0] == "{" else self._close()
                    if not self._outer:
                        break
                elif found["symbol"] == "*":
                    self._group = self._group._replace(is_starred=before == "{")
                elif found["word"] == "bin":
                    at += max(0, int(found["number"] or 0))
                else:
                    word, number = found["word"] or found["symbol"], found["number"]
                    self._control(word, None if number is None else int(number))
        self._say()
        while len(self._places) > 1:
            self._end_part()
        self._end_paragraph()
        count(self._counts, "words behind the end left out", len(_WORD.findall(rtf, at)))

    def _add(self, said: bytes, length: int) -> None:
        self._repeated = max(0, self._repeated - length)
        if self._group.is_seen:
            self._bytes += said

    def _say(self, text: str = "") -> None:
        """Put the bytes that wait and a text where they belong."""
        if self._bytes:
            name = self._chosen or self._fonts.get(self._group.font, self._page)
            raw = bytes(self._bytes)
            said = raw.decode() if raw.isascii() else decoded(raw, name)
            count(self._counts, UNREADABLE, said.count("\ufffd"))
            text = said + text
            self._bytes.clear()
        if not text or not self._group.is_seen:
            return
        if font := _SYMBOLS.match(self._names[self._group.font]):
            text = "".join(sign(font[0], f"{ord(one):x}") for one in text)
        left_out = self._group.left_out
        if not left_out:
            self._places[-1].pieces.append(text)
        elif text.strip() and left_out != self._left_out:
            count(self._counts, left_out)
        self._left_out = left_out if text.strip() else self._left_out

    def _open(self) -> None:
        self._outer.append(self._group)
        self._group = self._group._replace(is_starred=False)

    def _close(self) -> None:
        while len(self._places) > 1 and self._places[-1].depth == len(self._outer):
            self._end_part()
        self._group = self._outer.pop() if self._outer else self._group

    def _control(self, word: str, number: int | None) -> None:
        group, starred = self._group, self._group.is_starred
        if starred:
            group = self._group = group._replace(is_starred=False)
        elif word not in _KNOWN and not word.endswith("Pr"):
            return  # formats, which most words are
        if word in _SIGNS:
            self._say(_SIGNS[word])
        elif word == _INITIAL or (word == "par" and self._is_initial):
            # A large initial is a paragraph of its own, and begins the next one.
            self._is_initial = word != "par"
        elif word in _ENDS:
            self._say("\n")
            if len(self._places) == 1 and self._beside:
                self._end_paragraph()
        elif word == "u" and number is not None:
            self._say(chr(number % 0x10000))
            self._repeated = group.repeats
        elif word == "ud" and len(self._outer) > 1:
            self._group = self._outer[-2]
        elif word in _BESIDE and group.is_seen:
            self._places.append(_Place(_BESIDE[word], len(self._outer)))
        elif word in _UNSEEN or word.endswith("Pr") or (starred and word not in _SEEN):
            count(self._counts, "embedded objects left out", word == "objdata")
            self._group = group._replace(is_seen=False, in_fonts=word == "fonttbl")
        elif word == "ftnalt":
            self._places[-1].part = "endnote"
        elif word == "uc":
            self._group = group._replace(repeats=max(0, number or 0))
        elif word in ("v", "deleted", "plain"):
            kinds = {"v": "hidden texts left out", "deleted": "deletions left out"}
            ends = word == "plain" or number == 0
            self._group = group._replace(
                left_out="" if ends else kinds[word],
                font=self._default if word == "plain" else group.font,
            )
        else:
            self._set_encoding(word, number or 0)

    def _set_encoding(self, word: str, number: int) -> None:
        if word == "f" and self._group.in_fonts:
            self._defined = number
        elif word == "f":
            self._group = self._group._replace(font=number)
        elif word == "deff":
            self._default = number
            self._group = self._group._replace(font=number)
        elif word == "fcharset" and number in _CHARSETS:
            self._fonts[self._defined] = _CHARSETS[number]
        elif word == "cpg" and (name := codec_of(f"cp{number}")):
            self._fonts[self._defined] = name
        elif word == "ansicpg" and (name := codec_of(f"cp{number}")):
            self._page = name
        elif word in _PAGES:
            self._page = _PAGES[word]

    def _end_part(self) -> None:
        place = self._places.pop()
        text = _joined(place.pieces)
        if place.part in _EDGES:
            self.edges[place.part] += [text] if text else []
        elif place.part == "comment":
            count(self._counts, "comments left out")
        elif place.part == "name":
            self._property = text
        elif place.part != "value" or self._property == _WORD_ART:
            part = TEXT_BOX if place.part == "value" else place.part
            self._beside.append(Turn(text, fields={"part": part}))

    def _end_paragraph(self) -> None:
        """The text so far, and what stands beside its last paragraph."""
        said = _joined(self._places[0].pieces)
        self.turns += [Turn(said), *(one for one in self._beside if one.text)]
        self._places[0].pieces.clear()
        self._beside.clear()


def _joined(pieces: list[str]) -> str:
    """Pieces of a text, in which halves of a character may be apart."""
    text = "".join(pieces).strip()
    if any("\ud800" <= one < "\ue000" for one in text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
