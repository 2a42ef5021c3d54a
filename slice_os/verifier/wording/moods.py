"""Moods of a text: what it denies, whether it asks or requests, and what it tells as past."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from slice_os.verifier.wording.parties import is_content
from slice_os.verifier.wording.words import is_past, word_list

_NEGATED = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|wo|ca|ai)n['’]t"
)
_HARMLESS = re.compile(
    r"\b(?:no (?:fewer|less|more|later|earlier|sooner) than|not (?:less|more|later) than|not only"
    r"|no doubt|no problem|nobody denies|no choice but|no way round|can(?:'t|not) wait"
    r"|can(?:'t|not) help|why not|unless (?:sooner|earlier|otherwise)|not until"
    r"|no matter|whether or not|for no reason|no lie"
    r"|nothing (?:stops?|prevents?|keeps?)|nothing but|no wonder|never mind|not (?:too |so )?bad"
    r"|not to mention|not least|not limited to|(?:do not|don't) (?:doubt|hesitate|mind)"
    r"|not far(?: away)?|or not|(?:does not|doesn't|don't) matter|can hardly wait"
    r"|(?:do not|don't) have (?:a|any) problems?"
    r"|could(?:n't| not) (?:agree|be|have been) (?:more|better|happier)"
    r"|(?:not|didn't|doesn't|don't) only"
    r"|why (?:(?:do|are|wo)n['’]t|not) (?:you|we)|why (?:are|do|will) (?:you|we) not|no(?=,)"
    r"|(?<!\w )no(?= (?:nothing|nobody|not|never|i|i'm|it|it's|that|that's|we|thanks?|sorry|he|she"
    r"|they|you|there|my|your|this|these|sir|ma'am)\b)"
    r"|without (?:any |undue |further |reasonable )*(?:delay|hesitation|limitation|prejudice"
    r"|exceptions?|fail|question|doubt))\b"
    r"|n['’]t (?:too |so )?bad\b"
    # "Aren't you listening?" asks what "are you listening?" does, as does "you are, aren't you?".
    rf"|(?:\A|[.;,!?\n] ?){_NEGATED} (?:i|you|he|she|it|we|they|there|this|that)\b(?!\.)"
    r"|(?:\A|[.;,!?\n] ?)(?:is|are|was|were|do|does|did|have|has|can|could|will|would) "
    r"(?:i|you|he|she|it|we|they) not\b"
)
_DENIALS = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|(?<!neither )nor|without|cannot|hardly"
    r"|barely|hasnt|scarcely|rarely|seldom|unless|except|dont|didnt|wont|cant|isnt|doesnt|no-show)\b"
    r"|n['’]t\b"
)
_REFUSALS = re.compile(
    r"\b(?:refus\w+|fail(?:s|ed|ing)? to|declin(?:e|es|ed|ing) to|den(?:y|ies|ied)|forb[ia]d\w*"
    r"|prohibit\w*|barred|avoid\w*|refrain\w*|ceas(?:e|es|ed|ing)|stop(?:s|ped)? \w+ing|lack\w*"
    r"|unable|impossible|exclud\w+|yet to|far from (?:\w+(?:ing|ed)|over|certain|perfect|clear"
    r"|true)|giv\w+ up|gave up|decided against|discontinu\w+|reject\w*|turn(?:s|ed|ing)? down"
    r"|bann(?:ed|ing)|(?:am|is|are|was|were|been) absent|dislik\w+|hat(?:e|es|ed|ing)"
    r"|detest\w*|abhor\w*|loath\w+|neglig\w+"
    r"|(?:ke(?:ep|pt)|stop|prevent|ban)\w* \w+ from|(?:['’](?:m|re)|am|is|are|was|were|be) out of"
    r"|(?<!not )too (?!long|much|many)\w+ (?:for \w+ )?to"
    r"|un(?:reasonab|law|fair|just|necessari|willing|success)(?:ful)?ly"
    r"|instead of|rather not|forg[eo]t(?:s|ten|ting)?|neglect\w*|missing"
    r"|(?:all|is|are|was) gone(?! \w)|r[ua]n out|void|invalid|false|untrue"
    r"|un(?!lock|cover|pack|load|fold|der|it)\w{4,}(?:ed|able)"
    r"|in the dark|quit(?:s|ting)?|los(?:t|e|ing) (?:my|his|her|our|their|your))\b"
)
# Words between a denial and what it denies.
_BETWEEN = word_list("between")
_UNLESS = re.compile(r"\b(?:unless|except)\b(?! (?:sooner|earlier|otherwise|for|as|that)\b)")
_WORD = re.compile(r"[\w'’-]+")
_CLAUSE = re.compile(r"[.;:!?\n]")


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


def _without_idioms(text: str) -> str:
    # Of "neither … nor" only the first denies.
    once = re.sub(r"\b(neither\b[^.;!?]*?) nor\b", r"\1 or", text)
    return _HARMLESS.sub(" ", once)


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
_AGENTS = {"by", "in", "to", "from", "under", "with", "for"}
_LONG_AGO = re.compile(
    r"\b(?:used to|ago|yesterday|formerly|previously|once|back in|did|had|no longer"
    r"|last (?:night|week|month|year|time|summer|winter))\b"
)
_JUST = re.compile(r"\b(?:now|just|already|finally|recently|got)\b")
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
