"""Forms of English verbs; of a phrasal verb, the first word changes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_LINES = Path(__file__).with_name("irregular_verbs.txt").read_text("utf-8").splitlines()
FORMS = {base: (past, participle) for base, past, participle in map(str.split, _LINES)}
"""Irregular verbs with their past tense and past participle."""

_DOUBLED = re.compile(
    r"(?:admit|ban|beg|cancel|commit|control|drop|equip|grab|hug|label|model|nag|occur|omit|permit"
    r"|plan|prefer|refer|regret|rob|scan|ship|shop|skip|slip|stop|submit|swap|tip|top|transfer"
    r"|travel|trip|wrap|run|cut|set|get|put|sit|shut|hit|let|quit|begin|forget|outbid|swim|win)\Z"
)
_CONSONANT_Y = re.compile(r"[^aeiou]y\Z")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)\Z")


def third(verb: str) -> str:
    """The form after "she"."""
    head, rest = _parts(verb)
    special = {"be": "is", "have": "has"}.get(head)
    if special is None and _CONSONANT_Y.search(head):
        special = head[:-1] + "ies"
    return (special or head + ("es" if _SIBILANT.search(head) else "s")) + rest


def past(verb: str) -> str:
    """The past tense."""
    head, rest = _parts(verb)
    return (FORMS[head][0] if head in FORMS else _regular(head)) + rest


def participle(verb: str) -> str:
    """The past participle."""
    head, rest = _parts(verb)
    return (FORMS[head][1] if head in FORMS else _regular(head)) + rest


def gerund(verb: str) -> str:
    """The form in -ing."""
    head, rest = _parts(verb)
    if _DOUBLED.match(head):
        return head + head[-1] + "ing" + rest
    if head.endswith("ie"):
        return head[:-2] + "ying" + rest
    silent = head.endswith("e") and not head.endswith(("ee", "ye", "oe")) and head != "be"
    return (head[:-1] if silent else head) + "ing" + rest


@cache
def bases(verbs: frozenset[str]) -> dict[str, str]:
    """Past tenses with their base forms, where a past tense is not itself the base of a verb."""
    found = {past(verb): verb for verb in sorted(verbs)}
    return {form: verb for form, verb in found.items() if form not in verbs}


def _regular(head: str) -> str:
    if _DOUBLED.match(head):
        return head + head[-1] + "ed"
    if _CONSONANT_Y.search(head):
        return head[:-1] + "ied"
    return head + ("d" if head.endswith("e") else "ed")


def _parts(verb: str) -> tuple[str, str]:
    head, space, rest = verb.partition(" ")
    return head, space + rest
