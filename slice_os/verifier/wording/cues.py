"""Cues: words that date, demand, doubt, count or ask."""

from __future__ import annotations

import re
from collections.abc import Mapping

CUES: Mapping[str, re.Pattern[str]] = {
    "future": re.compile(
        r"\b(?:will|wo(?=n['’]t)|going to|gonna|about to|(?:plan|intend|expect|set|due)s? to"
        r"|tomorrow|next (?:week|month|year|time|winter|summer)|soon|shortly|coming up|later"
        r"|(?:is|are|am) to|is expected to|in the future|from now|hope(?:s)? to)\b|['’]ll\b"
    ),
    "past": re.compile(
        r"\b(?:did|was|were|had|used to|yesterday|ago|last (?:night|week|month|year|time|winter)"
        r"|back in|once|formerly|previous(?:ly)?|already|just now|ha(?:s|ve) been)\b"
    ),
    "perfect": re.compile(
        r"(?:\b(?:have|has)|['’]ve)\b (?:\w+ly |already |just )?"
        r"(?:\w+(?:ed|en|n|t)|read|put|come|become|run|held|sold|told|paid|had|found)\b"
    ),
    "maybe": re.compile(
        r"\b(?:might|maybe|perhaps|possibly|possible(?! to)|could(?! (?:you|i|we|u)\b)"
        r"|thinking (?:of|about)|not sure|undecided"
        r"|not decided|wonder\w*|likely|probably|one of the options|it may|may be)\b"
    ),
    "duty": re.compile(
        r"\b(?:must|shall|ha(?:s|ve) to|had to|required|oblig\w+|mandatory|needs? to|bound to"
        r"|should|under an obligation|no choice but|has got to|duty)\b"
    ),
    "permission": re.compile(
        r"\b(?:may|can|allowed|permitted|entitled|free to|rights? to|at liberty|option\w*|welcome"
        r"|possible to|able to|lets?|can choose)\b"
    ),
    "wish": re.compile(
        r"\b(?:want\w*|wish\w*|hop(?:e|es|ing) to|would (?:like|love)|please|look(?:ing)? to)\b"
        r"|['’]d (?:like|love)\b"
    ),
    "condition": re.compile(
        r"\b(?:if|unless|provided|in case|as long as|in the event|subject to|otherwise)\b"
    ),
    "all": re.compile(
        r"\b(?:all|every\w*|each|always|both|entire\w*|whole|any(?:one|body|thing)?|no one|nobody"
        r"|none|nothing|neither)\b"
    ),
    "some": re.compile(
        r"\b(?:some\w*|few|several|part(?:ly)? of|many|most|certain|sometimes|occasionally|half)\b"
    ),
    "only": re.compile(r"\b(?:only|just|solely|exclusively|single|nothing but|alone)\b"),
    "least": re.compile(
        r"\b(?:at least|minimum|more than|over|or more|no (?:fewer|less) than|exceed\w*|above"
        r"|not less than|or longer|upwards)\b"
    ),
    "most": re.compile(
        r"\b(?:at most|maximum|up to|no more than|less than|under|or less|not more than|below"
        r"|within|no later than|limited to|capped|at the latest)\b"
    ),
    "before": re.compile(r"\b(?:before|prior to|ahead of|until|by)\b"),
    "after": re.compile(r"\b(?:after|behind|following|since|past)\b"),
    "is": re.compile(r"\b(?:is|are|am|does|do|isn't|aren't|don't|doesn't|i'm|it's)\b"),
    "was": re.compile(r"\b(?:was|were|did|had|wasn't|weren't|didn't)\b"),
    "passive": re.compile(
        r"\b(?:am|is|are|was|were|be|been|being|got|gets?)\b (?:\w+ly )?(?:not )?"
        r"(?:\w+ed|\w+en|sold|paid|bought|sent|lent|held|told|taught|hit|led|made|kept|left|put)\b"
    ),
    "by": re.compile(r"\bby\b"),
    "to": re.compile(r"\bto\b"),
    "from": re.compile(r"\bfrom\b"),
    "whether": re.compile(r"\b(?:whether|if)\b"),
}
"""Patterns of the cues that are looked for, in lower case."""

_ASKS = re.compile(
    r"(?:[^\w]*(?:well|so|and|but|please|hello|hi|okay|ok|excuse me)[,\s]+)*"
    r"(?:(?:am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may)\b"
    r" (?:not )?(?:i|you|he|she|it|we|they|there|this|that|the|a|an|my|your|our|his|her|any|some"
    r"|every\w+)\b|(?:is|are|was|were|do|does|did|has|can)\b (?!\w+(?:ly|ed|en|ing)\b|been\b)"
    r"[a-z]+\b|who\b|what\b|where\b|when\b|why\b|how\b|which\b|whose\b)"
)
_INDIRECT = re.compile(
    r"\b(?:wonder|know|ask\w*|check|tell me|sure|see|decide|examine|find out|disputed|question)"
    r"[^.;!?]{0,25}\b(?:whether|if)\b"
)
_END = re.compile(r"[.!?;:]")
_NEAR = 25


def asks(text: str, after: str, opens: bool = True) -> bool:
    """Whether a text in lower case asks.

    Args:
        text: the text.
        after: what follows it; a question mark soon, and before the next full stop, counts.
        opens: whether the text begins a sentence or clause.
    """
    end = _END.search(after)
    if "?" in text or (end is not None and end[0] == "?" and end.start() <= _NEAR):
        return True
    return bool(opens and _ASKS.match(text)) or _INDIRECT.search(text) is not None
