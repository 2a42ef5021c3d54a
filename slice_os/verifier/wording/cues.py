"""Cues: words that date, demand, doubt or count."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slice_os.verifier.wording.words import PARTICIPLE

_STATES = (
    "accustomed|acquainted|ashamed|bored|concerned|crowded|disappointed|engaged|excited|exhausted|familiarized"
    "|fed|interested|lost|married|pleased|prepared|relieved|satisfied|scared|supposed|surprised|swamped"
    "|tired|used|worried"
)
CUES: Mapping[str, re.Pattern[str]] = {
    "future": re.compile(
        r"\b(?:(?<!\bh(?:is|er) )will|wo(?=n['’]t)|going to|gonna|about to"
        r"|(?:plan|intend|expect|set|due)s? to"
        r"|tomorrow|next (?:week|month|year|time|winter|summer)|soon|shortly|coming up|later"
        r"|(?:(?<!that )is|are|am) to|is expected to|in the future|from now"
        r"|hop(?:e|es|ed|ing) to)\b|['’]ll\b"
    ),
    "past": re.compile(
        r"\b(?:did|was|were|had|(?<!get )(?<!got )(?<!are )(?<!is )(?<!am )used to|yesterday"
        r"|ago|last (?:night|week|month|year|time|winter)"
        r"|back in"
        r"|once(?! (?:the|a|an|this|it|i|you|we|he|she|they)\b)|formerly|previous(?:ly)?"
        r"|already|just now|ha(?:s|ve) been)\b"
    ),
    "perfect": re.compile(rf"(?:\b(?:have|has)|['’]ve)\b (?:\w+ly |already |just )?{PARTICIPLE}\b"),
    "maybe": re.compile(
        r"\b(?:might|maybe(?! (?:a |an |about )*(?:\d|one|two|three|four|five|six|ten|couple))"
        r"|perhaps|possibly|(?<!as )possible(?! to)|could(?! (?:you|i|we|u|not)\b)"
        r"|may (?:not |never |well |already |still )*(?:have|had|has)"
        r"|thinking (?:of|about)|not sure|undecided"
        r"|not decided|wonder(?:s|ed|ing)?|likely|probably|one of the options"
        r"|it may(?! (?:only|be \w+(?:ed|en))\b)"
        r"|may be(?! \w+(?:ed|en)\b))\b"
    ),
    "duty": re.compile(
        r"\b(?:must|shall|ha(?:s|ve) to|had to|required|oblig\w+|mandatory|needs? to|bound to"
        r"|should|under an obligation|no choice but|has got to|duty"
        r"|(?:may|can) (?:\w+,? ){1,6}?only"
        r"|(?:may|can) only)\b"
    ),
    "permission": re.compile(
        r"\b(?:(?:may|can)(?! (?:\w+,? ){0,6}?only\b)|allowed"
        r"|permitted|entitled|free to|rights? to|at liberty|option\w*|welcome"
        r"|possible to|able to|lets?|can choose)\b"
    ),
    "wish": re.compile(
        r"\b(?:want\w*|wish\w*|hop(?:e|es|ing) to|would (?:like|love)|look(?:ing)? to"
        r"|(?:intend|plan|mean)(?:s|ed|ing)? to)\b"
        r"|['’]d (?:like|love)\b"
    ),
    "please": re.compile(r"\bplease\b(?!\W*$)"),
    "condition": re.compile(
        r"\b(?:if|unless(?! (?:sooner|earlier|otherwise))|provided|in case|as long as|in the event"
        r"|subject to|(?<!unless )otherwise)\b"
    ),
    "all": re.compile(
        r"\b(?:all|every\w*|each|always|both|entire\w*|whole|any(?:one|body|thing)?|no one|nobody"
        r"|none|nothing|neither)\b"
    ),
    "some": re.compile(
        r"\b(?:(?<!or )some\w*|few|several|part(?:ly)? of|many|most|certain"
        r"|sometimes|occasionally|half)\b"
    ),
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
        r"(?:\b(?:am|is|are|was|were|be|been|being|got|gets?)|['’](?:m|re))\b"
        r"(?: (?:\w+ly|not|also|now|just|already|both|never|always|all))*"
        rf" (?!(?:{_STATES})\b){PARTICIPLE}\b"
    ),
    "from": re.compile(r"\bfrom\b"),
}
"""Patterns of the cues that are looked for, in lower case."""
