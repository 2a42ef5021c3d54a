"""Denials of a text: their number, and the words that they deny."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slice_os.verifier.wording.pairs import word_list
from slice_os.verifier.wording.parties import is_content

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

    Args:
        earlier: what comes before the text in its sentence.
        text: the text.
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
    return list(_first(_WORD.findall(_CLAUSE.split(text, maxsplit=1)[0])))


def _previous(text: str) -> list[str]:
    return list(_first(reversed(_WORD.findall(_CLAUSE.split(text)[-1]))))


def _first(words: Iterator[str] | list[str]) -> Iterator[str]:
    for word in words:
        if is_content(word) and word not in _BETWEEN:
            yield word
            return
