"""Words of others in a message: what it answers or forwards is marked, with who wrote it.

quotequail and mail-parser-reply know fewer forms: of ten that were compared, quotequail does not
tell the words of an answer between ``>`` lines, nor the header that Outlook writes, from others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from slice_os.ingest.readers.markup import QUOTED
from slice_os.ingest.readers.reader import Turn

_UNKNOWN = "(quoted)"
_LONGEST_INTRODUCTION = 3
_LONGEST_LINE = 400
_MOST_FIELDS = 10
_LEAST_FIELDS = 3

_MARK = re.compile(r"[ \t]*(?:>[ \t]?)+")
_WROTE = (
    r"(?:wrote|writes|schrieb|geschrieben|a écrit|écrit|escribió|escreveu|ha scritto|scrive|"
    r"schreef|skrev|napisał(?:\(a\)|a)?|написал(?:\(а\)|а)?|пишет|kirjoitti|napsal(?:\(a\))?|写道)"
)
# "On 2 March 2026 at 09:14, Ann Lee wrote:"; with a date, or else right before quoted lines.
_INTRODUCTION = re.compile(
    rf"\W{{0,3}}(?:(?P<before>[^\n]{{0,300}}?)\s{_WROTE}\b(?P<after>[^\n]{{0,300}}?))\s?[:：]\s*",
    re.I,
)
_COLONS = (":", "：")
_BEGINS = re.compile(r"\W{0,3}(?:on|am|le|el|il|em|op|den|dne|w dniu|\d)\b", re.I)
_TIME = re.compile(
    r".*(?:\d{1,2}[:.h]\d{2}(?:[:.]\d{2})?(?:\s?[ap]\.?m\b\.?)?|\b\d{4})"
    r"(?:\s?\(?(?:[+-]\d{4}|GMT|UTC|CES?T|[ECMP][SD]T)\)?)*[\s,;]*(?P<author>.*)",
    re.I,
)
_RULED = re.compile(
    r"\W{0,3}(?:[-_=*]{2,}\s?(?P<title>[^-_=*\n]{4,120}?)\s?[-_=*]{2,}|"
    r"(?:begin forwarded message|anfang der weitergeleiteten (?:e-mail|nachricht)|"
    r"début du message (?:réexpédié|transféré)|inicio del mensaje reenviado|"
    r"begin doorgestuurd bericht|inizio messaggio inoltrato)\s?:)\s*",
    re.I,
)
_MESSAGE = re.compile(
    r"forwarded by|message|nachricht|mensaje|messaggio|mensagem|bericht|meddelande|"
    r"сообщение|wiadomość|viesti",
    re.I,
)
# Other messages between rules are the sender's own, such as a banner or what is signed.
_OF_OTHERS = re.compile(
    r"forwarded|original|origineel|d.origine|initial|transféré|réexpédié|ursprüngl|ursprungl|"
    r"weitergeleitet|reenvia|inoltrat|encaminhad|oorspronkelijk|doorgestuurd|vidarebefordra|"
    r"исходн|пересыла|пересланн|перенаправл|orygina|pierwotn|przekaza|alkuperäi|välite",
    re.I,
)
_FIELDS = {
    "from": "from|von|de|da|van|från|fra|od|от|от кого|发件人|差出人",
    "date": "sent|date|gesendet|datum|envoyé|enviado(?: el)?|fecha|data|inviato|verzonden|skickat|"
    "sendt|wysłano|дата|отправлено|发送时间|送信日時",
    "to": "to|an|à|a|para|aan|till|til|do|кому|收件人|宛先",
    "cc": "cc|kopie|copie|kopia|копия|抄送",
    "subject": "subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat|тема|主题|"
    "件名",
}
_FIELD = re.compile(
    r"[ \t*_]{0,4}(?:"
    + "|".join(f"(?P<{name}>{words})" for name, words in _FIELDS.items())
    + r")[ \t*_\xa0]{0,4}[:：][ \t*_\xa0]{0,4}(?P<value>[^\n]*)",
    re.I,
)


class _Line(NamedTuple):
    """A line without its marks of quotation, and in how many quotations of a page it is."""

    body: str
    marks: int
    within: int

    @property
    def depth(self) -> int:
        return self.marks or self.within


def marked(turns: Sequence[Turn]) -> Iterator[Turn]:
    """The text of a message, cut where its own words and those that it quotes meet.

    Quoted turns have the fields ``part`` and ``from``: who wrote them or, if that is not said,
    ``(quoted)``. Lines stay as they are.
    """
    lines = [line for turn in turns for line in turn.text.split("\n")]
    within = [int(turn.fields.get(QUOTED, 0)) for turn in turns for _ in turn.text.split("\n")]
    authors = _authors(list(map(_line, lines, within)))
    start = 0
    for turn in turns:
        end = start + turn.text.count("\n") + 1
        for author, numbers in groupby(range(start, end), key=authors.__getitem__):
            own = {name: value for name, value in turn.fields.items() if name != QUOTED}
            quoted = {} if author is None else {"part": QUOTED, "from": author}
            text = "\n".join(lines[number] for number in numbers)
            yield turn._replace(text=text, fields=own | quoted)
        start = end


def _line(line: str, within: int) -> _Line:
    mark = _MARK.match(line) if ">" in line else None
    body = line[mark.end() :] if mark else line
    return _Line(body.strip(), mark[0].count(">") if mark else 0, within)


def _authors(lines: Sequence[_Line]) -> list[str | None]:
    """The writer of each line; None for the sender of the message."""
    found: list[str | None] = []
    # Who wrote all that follows without a mark, and what has so many marks.
    rest: str | None = None
    marked: dict[int, str] = {}
    for number, line in enumerate(lines):
        if number < len(found):
            continue
        if not line.body:
            found.append(found[-1] if found else rest)
            continue
        if introduction := _introduction(lines, number):
            author, count, after = introduction
            found += [author] * count
            # A program may mark the introduction itself as what it introduces, or mark that twice.
            deeper = after.depth > line.depth
            last = after.depth if after.within else line.depth + deeper
            depths = range(line.depth + deeper, last + 1) or [line.depth]
            marked |= dict.fromkeys(depths, author)
            rest = rest if deeper or line.depth else author
            continue
        sender = _sender(lines, number) or (_UNKNOWN if _is_ruled(line.body) else None)
        if sender is not None and line.depth:
            marked[line.depth] = sender
        elif sender is not None:
            rest, marked = sender, {}
        elif not line.depth:
            marked = {}
        by_mark = marked.get(line.depth, rest if line.within and rest else _UNKNOWN)
        found.append(by_mark if line.depth else rest)
    return found


def _introduction(lines: Sequence[_Line], number: int) -> tuple[str, int, _Line] | None:
    """Who is quoted after such a line, its lines, and the first line that follows."""
    joined = ""
    first = lines[number]
    for end in range(number, min(number + _LONGEST_INTRODUCTION, len(lines))):
        line = lines[end]
        if not line.body or line.depth != first.depth or len(line.body) > _LONGEST_LINE:
            return None
        joined = f"{joined} {line.body}".strip()
        found = _INTRODUCTION.fullmatch(joined) if joined.endswith(_COLONS) else None
        if found is None and _BEGINS.match(first.body):
            continue
        if found is None:
            return None
        behind = (lines[at] for at in range(end + 1, len(lines)))
        after = next((one for one in behind if one.body), None)
        if after is None:
            return None
        is_marked = after.depth > (0 if first.within else first.marks)
        if not (is_marked or (_BEGINS.match(joined) and any(map(str.isdigit, joined)))):
            return None
        return _author(found["before"], found["after"]), end + 1 - number, after
    return None


def _author(before: str, after: str) -> str:
    """The name in "On 2 March 2026 at 09:14, Ann Lee", or behind "wrote" in other languages."""
    if any(sign.isalpha() for sign in after) and _BEGINS.match(before):
        return after.strip(" ,;") or _UNKNOWN
    timed = _TIME.fullmatch(before)
    name = timed["author"] if timed else before.rpartition(",")[2]
    return name.strip(" ,;*") or before.strip(" ,;*") or _UNKNOWN


def _sender(lines: Sequence[_Line], number: int) -> str | None:
    """The sender of the message whose header begins in this line, as Outlook writes it."""
    body = lines[number].body
    first = _FIELD.match(body) if any(colon in body for colon in _COLONS) else None
    if first is None or not first["from"]:
        return None
    kinds = {"from"}
    for line in lines[number + 1 : number + 1 + _MOST_FIELDS]:
        if field := _FIELD.match(line.body):
            kinds |= {name for name in _FIELDS if field[name]}
    is_header = len(kinds) >= _LEAST_FIELDS and ("subject" in kinds or "@" in first["value"])
    return (first["value"].strip(" *") or _UNKNOWN) if is_header else None


def _is_ruled(line: str) -> bool:
    line = line[:_LONGEST_LINE].rstrip()
    found = _RULED.fullmatch(line) if line.endswith((":", "-", "_", "=", "*")) else None
    title = found["title"] if found else None
    if title is None:
        return found is not None
    return bool(_MESSAGE.search(title) and _OF_OTHERS.search(title))
