"""Cues: words that date, demand, doubt or count."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slice_os.verifier.wording.words import PARTICIPLE, read_patterns, word_list

_STATES = "|".join(sorted(word_list("states")))
CUES: Mapping[str, re.Pattern[str]] = {
    **read_patterns("cues.txt"),
    "perfect": re.compile(rf"(?:\b(?:have|has)|['’]ve)\b (?:\w+ly |already |just )?{PARTICIPLE}\b"),
    "passive": re.compile(
        r"(?:\b(?:am|is|are|was|were|be|been|being|got|gets?)|['’](?:m|re))\b"
        r"(?: (?:\w+ly|not|also|now|just|already|both|never|always|all))*"
        rf" (?!(?:{_STATES})\b){PARTICIPLE}\b"
    ),
}
"""Patterns of the cues that are looked for, in lower case."""
