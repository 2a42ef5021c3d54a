"""Times: what a text tells as past, and as the result of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slice_os.verifier.wording.verbs import is_past

_RELATIVE = re.compile(
    r"\b(?:everything|anything|whatever|what|all) (?:i|we|you|they|he|she) (?:\w+ly )?\w+"
)
_FINITE = frozenset(
    ("is", "are", "was", "were", "shall", "must", "may", "will", "can", "should", "would")
)
_AGENTS = frozenset(("by", "in", "to", "from", "under", "with", "for"))
_LONG_AGO = re.compile(
    r"\b(?:used to|ago|yesterday|formerly|previously|once|back in|did|had|no longer"
    r"|last (?:night|week|month|year|time|summer|winter))\b"
)
_JUST = re.compile(r"\b(?:now|just|already|finally|recently|got)\b")
_RESULT = re.compile(
    r"\b(?:am|is|are|was|were|been|got|gets?)\b (?:(?:\w+ly|just|now|already|all) )?"
    r"(?:\w+ed|\w+en|sold|paid|bought|sent|lent|held|told|hit|led|made|kept|left|put|lost|built)\b"
)


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
        following = words[place + 1 : place + 2]
        near = set(words[max(0, place - 2) : place])
        if _AGENTS & set(following) and not _FINITE & near and _FINITE & set(words[:place]):
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
