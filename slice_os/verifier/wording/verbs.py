"""English verb forms: the irregular ones by a list, the others by rule."""

from __future__ import annotations

import re
from functools import cache

_IRREGULAR = """
be was been, become became become, begin began begun, bend bent bent, bind bound bound,
bite bit bitten, blow blew blown, break broke broken, bring brought brought, build built built,
buy bought bought, catch caught caught, choose chose chosen, come came come, cost cost cost,
cut cut cut, deal dealt dealt, do did done, draw drew drawn, drink drank drunk, drive drove driven,
eat ate eaten, fall fell fallen, feed fed fed, feel felt felt, fight fought fought,
find found found, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
forgive forgave forgiven, freeze froze frozen, get got got, give gave given, go went gone,
grow grew grown, hang hung hung, have had had, hear heard heard, hide hid hidden, hit hit hit,
hold held held, hurt hurt hurt, keep kept kept, know knew known, lay laid laid, lead led led,
leave left left, lend lent lent, let let let, lie lay lain, lose lost lost, make made made,
mean meant meant, meet met met, outbid outbid outbid, overtake overtook overtaken,
oversee oversaw overseen, pay paid paid, put put put, quit quit quit, read read read,
repay repaid repaid, ride rode ridden, ring rang rung, rise rose risen, run ran run, say said said,
see saw seen, seek sought sought, sell sold sold, send sent sent, set set set, shake shook shaken,
shoot shot shot, show showed shown, shut shut shut, sing sang sung, sink sank sunk, sit sat sat,
sleep slept slept, speak spoke spoken, spend spent spent, spread spread spread, stand stood stood,
steal stole stolen, stick stuck stuck, strike struck struck, swear swore sworn, swim swam swum,
take took taken, teach taught taught, tear tore torn, tell told told, think thought thought,
throw threw thrown, understand understood understood, undertake undertook undertaken,
wake woke woken, wear wore worn, win won won, withdraw withdrew withdrawn, write wrote written
"""
_FORMS = {
    base: (past, participle)
    for base, past, participle in (entry.split() for entry in _IRREGULAR.split(","))
}
PARTICIPLE = rf"(?:\w+ed|{'|'.join(sorted({participle for _, participle in _FORMS.values()}))})"
"""A pattern of a past participle in lower case, and of some other words in -ed."""

_PASTS = frozenset(form for forms in _FORMS.values() for form in forms) - _FORMS.keys()
_DOUBLED = re.compile(
    r"(?:admit|ban|beg|cancel|commit|control|drop|equip|grab|hug|label|model|nag|occur|omit|permit"
    r"|plan|prefer|refer|regret|rob|scan|ship|shop|skip|slip|stop|submit|swap|tip|top|transfer"
    r"|travel|trip|wrap|run|cut|set|get|put|sit|shut|hit|let|quit|begin|forget|outbid|swim|win)\Z"
)
_CONSONANT_Y = re.compile(r"[^aeiou]y\Z")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)\Z")


def third(verb: str) -> str:
    """The form after "she"; of a phrasal verb, its first word changes, as in all functions here."""
    head, rest = _parts(verb)
    special = {"be": "is", "have": "has"}.get(head)
    if special is None and _CONSONANT_Y.search(head):
        special = head[:-1] + "ies"
    return (special or head + ("es" if _SIBILANT.search(head) else "s")) + rest


def past(verb: str) -> str:
    """The past tense."""
    head, rest = _parts(verb)
    return (_FORMS[head][0] if head in _FORMS else _regular(head)) + rest


def participle(verb: str) -> str:
    """The past participle."""
    head, rest = _parts(verb)
    return (_FORMS[head][1] if head in _FORMS else _regular(head)) + rest


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


def is_past(word: str) -> bool:
    """Whether a word looks like a past tense or a past participle."""
    return word in _PASTS or (word.endswith("ed") and len(word) > 4)
