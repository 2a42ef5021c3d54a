"""Moods of a text: what it denies, whether it asks or requests, and what it tells as past."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from slice_os.verifier.wording.parties import is_content
from slice_os.verifier.wording.words import CUES, is_past, read_patterns, word_list

_PATTERNS = read_patterns("moods.txt")
_HARMLESS, _DENIALS, _REFUSALS = (_PATTERNS[name] for name in ("harmless", "denials", "refusals"))
_BANS, _FORBIDS = _PATTERNS["bans"], _PATTERNS["forbids"]
# Words between a denial and what it denies.
_BETWEEN = word_list("between")
_UNLESS = re.compile(
    r"\b(?:unless|except)\b(?! (?:sooner|earlier|otherwise|for|as|that)\b)"
    r"|\bsave(?= (?:with|where|if|on|upon)\b)"
)
_WORD = re.compile(r"[\w'’-]+")
_CLAUSE = re.compile(r"[.;:!?\n]")
_PARTS = re.compile(r"[^.;:!?\n]+|[.;:!?\n]")
_AGAIN = re.compile(
    r"((?:,|\b(?:and|or)\b)(?: \w+){0,2}?) (?:(?:\w+n['’]t|not|never|no|none|nobody|nothing)\b)"
)
_SENTENCE = re.compile(r"[.!?\n]")
_OWED = frozenset({"duty", "permission"})


def denials(text: str) -> tuple[int, int]:
    """Numbers of denials in a text in lower case: outright, and by verbs and adjectives."""
    kept = _without_idioms(text)
    return len(_DENIALS.findall(kept)), len(_REFUSALS.findall(kept))


def denied_words(text: str) -> frozenset[str]:
    """The words of a text in lower case that its denials are about.

    That is the next word that names something, as "permission" in "without my permission", or the
    one before if none follows; of verbs and adjectives that deny, either.
    """
    kept = _without_idioms(text)
    found: list[str] = []
    for one in _DENIALS.finditer(kept):
        found += _next(kept[one.end() :]) or _previous(kept[: one.start()])
    for one in _REFUSALS.finditer(kept):
        found += _next(kept[one.end() :]) + _previous(kept[: one.start()])
        found += filter(is_content, _WORD.findall(one[0])[-1:])
    return frozenset(found)


def only_unless(earlier: str, text: str) -> str:
    """A text in lower case where "unless" after a denial, as in "not valid unless", says "must".

    The denial may also be in ``earlier``, which comes before the text in its sentence.
    """
    found = _UNLESS.search(text)
    if found is None:
        return text
    before = text[: found.start()]
    denied = list(_DENIALS.finditer(before))
    if denied:
        before = before[: denied[-1].start()] + before[denied[-1].end() :]
    elif not _DENIALS.search(earlier):
        return text
    return f"{before}must{text[found.end() :]}"


def with_ban(earlier: str, text: str) -> str:
    """A text in lower case with the ban before it, as in "neither party shall assign or sell".

    The ban is in ``earlier``, which comes before the text in its sentence; it holds for a text that
    has no subject, finite verb or "not" of its own.
    """
    bans = _BANS.findall(_SENTENCE.split(earlier)[-1])
    return f"{bans[-1]} {text}" if bans and _OWN.isdisjoint(_WORD.findall(text)) else text


def cues_of(text: str) -> frozenset[str]:
    """The names of the cues that a text in lower case has, and "ban" if it forbids.

    "Shall not", "may not" and "neither may" are one ban: neither a duty nor a permission.
    """
    kept, bans = _FORBIDS.subn(" ", text)
    found = {name for name, cue in CUES.items() if cue.search(kept if name in _OWED else text)}
    return frozenset({*found, "ban"} if bans else found)


def _without_idioms(text: str) -> str:
    # Of "neither … nor" only the first denies.
    once = re.sub(r"\b(neither\b[^.;!?]*?) nor\b", r"\1 or", text)
    return "".join(map(_denied_once, _PARTS.findall(_HARMLESS.sub(" ", once))))


def _denied_once(part: str) -> str:
    """A part without its further denials behind "and", as in "no fridge and no minibar"."""
    first = _DENIALS.search(part)
    return part[: first.end()] + _AGAIN.sub(r"\1", part[first.end() :]) if first else part


def _next(text: str) -> list[str]:
    return _first(_WORD.findall(_CLAUSE.split(text, maxsplit=1)[0]))


def _previous(text: str) -> list[str]:
    return _first(reversed(_WORD.findall(_CLAUSE.split(text)[-1])))


def _first(words: Iterable[str]) -> list[str]:
    """The first word that names something, if any."""
    return list(islice((w for w in words if is_content(w) and w not in _BETWEEN), 1))


_SUBJECT = (
    r"(?:i|you|u|he|she|it|we|they|there|this|that|the|a|an|my|your|our|his|her|any|some|every\w+)"
)
_AUXILIARY = (
    r"(?:am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may"
    r"|(?:is|are|was|were|does|did|have|has|can|could|would|should|wo|ca|ai)n['’]t)"
)
_INVERTED = rf"{_AUXILIARY}\b (?:not )?{_SUBJECT}\b"
_ASKS = re.compile(
    r"(?:[^\w]*(?:well|so|and|but|please|hello|hi|okay|ok|excuse me)[,\s]+)*"
    r"(?!have (?:an?|the|some|any|my|your|our|his|her)\b|had\b)"
    rf"(?:{_INVERTED}|(?:is|are|was|were|do|does|did|has|can)\b "
    r"(?!not\b|\w+(?:ly|ed|en|ing)\b|been\b)"
    r"[a-z]+\b|who\b|what\b(?! an?\b| (?:i|you|we|they|he|she)\b| (?:i|you|we|they|he|she)['’])"
    rf"|where\b|when\b|why\b|how\b|(?:which|whose)\b (?:\w+ ){{0,3}}?{_INVERTED})"
)
_WITHIN = re.compile(
    rf"\b(?:how(?: \w+)?|when|where|why|what(?: \w+)?) {_INVERTED}|\bwhat(?:'s| is| are)\b"
    rf"|\b(?:do|can|could|would|will) (?:you|u)\b"
)
_INDIRECT = re.compile(
    r"\b(?:wonder|know|ask\w*|check|tell me|sure|see|decide|examine|find out|disputed|question)"
    r"[^.;!?]{0,25}\b(?:whether|if)\b"
)
_ANY = re.compile(
    r"(?!.*(?:n['’]t|\b(?:not|no|never|if|without)\b))(?:\w+ ){0,2}any (?:\w+ ?){1,3}\Z"
)
_REQUEST = re.compile(
    r"\bplease (?!do\b|don)\w|\b(?:can|could|would|will) (?:you|u)\b"
    r"|\b(?:can|could|may) i (?:please )?(?:get|have|know)\b|\b(?:let me know|tell me)\b"
    r"|(?<!do )(?<!if )\b(?:i|we) (?:just |only )?"
    r"(?:want|need|wish|prefer|would (?:like|love|prefer))\b"
    r"|\b(?:i|we)['’]d (?:like|love|prefer)\b"
)
_INQUIRY = re.compile(
    r"\b(?:want|need|wish|like|love)\b(?: to)? (?:know|check|see|find|ask|learn)\b"
    r"|\b(?:let me know|tell me|may i know)\b"
)
_RELATIVE = re.compile(
    r"\b(?:everything|anything|whatever|what|all) (?:i|we|you|they|he|she) (?:\w+ly )?\w+"
)
_FINITE = {"is", "are", "was", "were", "shall", "must", "may", "will", "can", "should", "would"}
_OWN = {*_FINITE, *word_list("subjects"), "it", "which", "not", "no", "provided", "including"}
_AGENTS = {"by", "in", "to", "from", "under", "with", "for"}
_LONG_AGO, _JUST = _PATTERNS["over"], _PATTERNS["just"]
_RESULT = re.compile(
    r"\b(?:am|is|are|was|were|been|got|gets?)\b (?:(?:\w+ly|just|now|already|all) )?"
    r"(?:\w+ed|\w+en|sold|paid|bought|sent|lent|held|told|hit|led|made|kept|left|put|lost|built)\b"
)
_END = re.compile(r"[.!?;:]")
_NEAR = 25


def asks(text: str, after: str, opens: bool = True) -> bool:
    """Whether a text in lower case asks; ``opens`` says whether it begins a sentence or clause.

    A question mark soon ``after`` it, and before the next full stop, counts, and what ends in an
    exclamation mark does not ask.
    """
    end = _END.search(after)
    if "?" in text or (end is not None and end[0] == "?" and end.start() <= _NEAR):
        return True
    if end is not None and end[0] == "!" and end.start() == 0:
        return False
    return bool(opens and _ASKS.match(text)) or _INDIRECT.search(text) is not None


def may_ask(text: str) -> bool:
    """Whether a text in lower case can be read as asking, such as "for that how long is it".

    In chats many questions have no question mark, begin anywhere, or are short: "any offers".
    """
    return bool(_WITHIN.search(text) or _ANY.match(text) or _INQUIRY.search(text))


def requests(text: str) -> bool:
    """Whether a text in lower case requests, as "can you send it" and "I need it sent" do."""
    return _REQUEST.search(text) is not None


def past_words(words: Sequence[str], text: str) -> list[str]:
    """The words of a text in lower case that tell something as past.

    Not those of a relative clause ("everything we agreed on"), of what is only to be done ("to be
    paid"), or of a noun ("delays caused by storms", if another verb tells the sentence).
    """
    relative = {word for found in _RELATIVE.findall(text) for word in found.split()}
    found = []
    for place, word in enumerate(words):
        if not is_past(word) or word in relative or "be" in words[max(0, place - 2) : place]:
            continue
        near = words[max(0, place - 2) : place]
        agent = not _AGENTS.isdisjoint(words[place + 1 : place + 2])
        if agent and _FINITE.isdisjoint(near) and not _FINITE.isdisjoint(words[:place]):
            continue
        found.append(word)
    return found


def long_ago(text: str) -> bool:
    """Whether a text in lower case says that what it tells is over, as "used to" does."""
    return _LONG_AGO.search(text) is not None


def same_result(present: str, told: str) -> bool:
    """Whether an event in one text has just led to the result that the other one tells.

    "My screen just got cracked" says that "my screen is cracked".
    """
    texts = present, told
    return all(_RESULT.search(text) for text in texts) and any(map(_JUST.search, texts))
