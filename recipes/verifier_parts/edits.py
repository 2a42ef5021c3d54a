"""Edits of real sentences that change what they say: denied, asked, at another time."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from random import Random

from .inflection import bases, past, third
from .lexicon import lexicon

Edit = Callable[[str, frozenset[str], Random], "tuple[str, str] | None"]
"""From a sentence, the verbs of English and a source of randomness to the sentence edited and what
was done; None if the edit does not fit."""

_AUXILIARY = re.compile(
    r"(?P<aux>\b(?:am|is|are|was|were|will|would|can|could|should|must|shall|may|might)\b"
    r"|'(?:m|re|ll)\b)(?! not\b|n't| never\b)",
    re.IGNORECASE,
)
_PERFECT = re.compile(r"\b(?P<aux>has|have|had)(?= (?:been|\w+ed|\w+en|gone|done|lost|made|had)\b)")
_DENIED = re.compile(
    r"\b(?:(?P<can>can)(?:no|')t|(?P<will>wo)n't|(?P<aux>is|are|was|were|would|could|should|must|has"
    r"|have|had|do|does|did)(?:n't| not)|(?P<plain>am|will|can|shall|may|might) not|never)\b ?",
    re.IGNORECASE,
)
_SUBJECT_VERB = re.compile(
    r"\b(?P<subject>I|[Yy]ou|[Ww]e|[Tt]hey|[Hh]e|[Ss]he|[Ii]t|Tom|Mary) (?P<verb>[a-z]+)\b"
)
_INVERTIBLE = re.compile(
    r"\A(?P<subject>I|you|we|they|he|she|it|Tom|Mary|this|that|there|the \w+|an? \w+) "
    r"(?P<aux>am|is|are|was|were|will|would|can|could|should|must|may) (?P<rest>.+?)[.!]?\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\A(?P<aux>am|is|are|was|were|will|would|can|could|should|may|do|did) "
    r"(?P<subject>I|you|we|they|he|she|it|Tom|Mary|this|that|there|the \w+|an? \w+) "
    r"(?P<rest>.+?)\?\Z",
    re.IGNORECASE,
)
_WILL = re.compile(r"(?:\bwill|'ll| (?:am|is|are) going to) (?P<verb>[a-z]+)\b")
_DIGITS = re.compile(r"\d+")
_PERSONS = re.compile(
    r"(?P<before>(?:\b[\w']+)?\W*)"
    r"\b(?P<person>I|me|my|mine|myself|[Yy]ou|[Yy]our|[Yy]ours|[Yy]ourself)\b"
    r"(?P<next>'\w+| (?:am|was|are|were)\b)?"
)
_OURS, _YOURS = ("my", "mine", "myself"), ("your", "yours", "yourself")
_OTHER_PERSON = dict(zip((*_OURS, "me", *_YOURS), (*_YOURS, "you", *_OURS), strict=True))
_BEFORE_SUBJECT = re.compile(
    "(?:that|if|whether|and|but|because|when|what|who|where|how|do|did|are|were|can|could|will"
    "|would|have|should|think|know|hope|why|as|than|so|then|until|before|after|while)?"
)
_NOT_VERB = re.compile("at|in|on|to|too|all|both|just|also|now|like|even|well|back|ever|still|not")


def deny(sentence: str, verbs: frozenset[str], rng: Random) -> tuple[str, str] | None:
    """Deny a statement, or take its denial out."""
    if sentence.endswith("?") or sentence.count(",") > 2:
        return None
    found = _DENIED.search(sentence)
    if found:
        kept = found["aux"] or found["plain"] or ""
        kept = kept or ("can" if found["can"] else "will" if found["will"] else "")
        if kept.lower() in ("do", "does", "did"):
            return _undone(sentence, found, kept)
        text = sentence[: found.start()] + (kept + " " if kept else "") + sentence[found.end() :]
        return (_tidy(text), "affirmed") if text.strip() else None
    auxiliary = _AUXILIARY.search(sentence) or _PERFECT.search(sentence)
    if auxiliary:
        word = rng.choice(("not", "not", "never"))
        end = auxiliary.end()
        return f"{sentence[:end]} {word}{sentence[end:]}", "denied"
    return _denied_verb(sentence, verbs, rng)


def _undone(sentence: str, found: re.Match[str], auxiliary: str) -> tuple[str, str] | None:
    """Without the denial: "didn't go" as "went", "doesn't go" as "goes"."""
    rest = re.match(r"(?P<verb>[a-z]+)(?P<after>.*)", sentence[found.end() :], re.DOTALL)
    if rest is None or not found.start():
        return None
    verb = rest["verb"]
    form = {"did": past(verb), "does": third(verb)}.get(auxiliary.lower(), verb)
    return sentence[: found.start()] + form + rest["after"], "affirmed"


def _denied_verb(sentence: str, verbs: frozenset[str], rng: Random) -> tuple[str, str] | None:
    """With a denial: "she goes" as "she does not go" or "she never goes"."""
    read = _read_verb(sentence, verbs)
    if read is None:
        return None
    found, auxiliary, base = read
    if rng.random() < 0.25:
        start = found.start("verb")
        return f"{sentence[:start]}never {sentence[start:]}", "denied"
    helper = f"{auxiliary}n't" if rng.random() < 0.5 else f"{auxiliary} not"
    after = sentence[found.end() :]
    return f"{sentence[: found.start('verb')]}{helper} {base}{after}", "denied"


def _read_verb(sentence: str, verbs: frozenset[str]) -> tuple[re.Match[str], str, str] | None:
    """The verb after a pronoun, with the form of "do" that it stands for and its base form."""
    for found in _SUBJECT_VERB.finditer(sentence):
        verb, subject = found["verb"], found["subject"]
        if _NOT_VERB.fullmatch(verb):
            continue
        if verb in bases(verbs):
            return found, "did", bases(verbs)[verb]
        if subject.lower() in ("he", "she", "it", "tom", "mary"):
            for base in (verb[:-1], verb[:-2], verb[:-3] + "y"):
                if base in verbs and third(base) == verb:
                    return found, "does", base
        elif verb in verbs:
            return found, "do", verb
    return None


def ask(sentence: str, verbs: frozenset[str], rng: Random) -> tuple[str, str] | None:
    """Make a question of a statement, or a statement of a question."""
    asked = _ASKED.match(sentence)
    if asked:
        aux = asked["aux"].lower()
        if aux == "did":
            verb, _, rest = asked["rest"].partition(" ")
            if verb not in verbs:
                return None
            return _sentence(f"{asked['subject']} {past(verb)} {rest}".strip() + "."), "stated"
        middle = "" if aux == "do" else f"{aux} "
        return _sentence(f"{asked['subject']} {middle}{asked['rest']}."), "stated"
    if sentence.endswith("?") or "," in sentence:
        return None
    stated = _INVERTIBLE.match(sentence)
    if stated:
        subject = _lowered(stated["subject"])
        return _sentence(f"{stated['aux']} {subject} {stated['rest']}?"), "asked"
    read = _read_verb(sentence, verbs)
    if read is None or read[0].start():
        return None
    found, auxiliary, base = read
    after = sentence[found.end() :].rstrip(".! ")
    return _sentence(f"{auxiliary} {_lowered(found['subject'])} {base}{after}?"), "asked"


def move_in_time(sentence: str, verbs: frozenset[str], rng: Random) -> tuple[str, str] | None:
    """Make a statement of the past one of the future, or the reverse."""
    if sentence.endswith("?"):
        return None
    will = _WILL.search(sentence)
    if will and will["verb"] in verbs and will["verb"] != "be":
        before, after = sentence[: will.start()].rstrip(), sentence[will.end() :]
        return f"{before} {past(will['verb'])}{after}", "past"
    read = _read_verb(sentence, verbs)
    if read and read[1] == "did":
        found, _, base = read
        return f"{sentence[: found.start('verb')]}will {base}{sentence[found.end() :]}", "future"
    return _swapped("tense", sentence, verbs, rng)


def swap_roles(sentence: str, verbs: frozenset[str], rng: Random) -> tuple[str, str] | None:
    """Exchange two parties, or first and second person."""
    persons = {match["person"].lower()[:1] for match in _PERSONS.finditer(sentence)}
    if "y" in persons and len(persons) > 1:
        return other_persons(sentence), "persons"
    return _swapped("roles", sentence, verbs, rng)


def other_persons(sentence: str) -> str:
    """What a speaker says, as the other one would say it: "I" and "you" change places."""
    return _tidy(_PERSONS.sub(_other_person, sentence))


def _other_person(found: re.Match[str]) -> str:
    person, following = found["person"].lower(), found["next"] or ""
    if person in _OTHER_PERSON:
        return f"{found['before']}{_OTHER_PERSON[person]}{following}"
    if person == "i":
        changed = {" am": " are", "'m": "'re", " was": " were"}.get(following, following)
        return f"{found['before']}you{changed}"
    before = found["before"].strip().lower()
    if _BEFORE_SUBJECT.fullmatch(before) or following.startswith("'"):
        changed = {" are": " am", "'re": "'m", " were": " was"}.get(following, following)
        return f"{found['before']}I{changed}"
    return f"{found['before']}me{following}"


def change_number(sentence: str, verbs: frozenset[str], rng: Random) -> tuple[str, str] | None:
    """Change a number, a date, a duration or a bound."""
    found = [match for match in _DIGITS.finditer(sentence) if len(match[0]) < 9]
    if not found:
        return _swapped("numbers", sentence, verbs, rng)
    one = rng.choice(found)
    digits = one[0]
    while digits == one[0] or (digits.startswith("0") and len(digits) > 1):
        place = rng.randrange(len(digits))
        digits = digits[:place] + rng.choice("123456789") + digits[place + 1 :]
    return sentence[: one.start()] + digits + sentence[one.end() :], "digits"


def _swapped(
    kind: str, sentence: str, verbs: frozenset[str], rng: Random
) -> tuple[str, str] | None:
    """Put one word of a pair in place of the other; both ways at once if both occur."""
    lower = f" {re.sub(r'[^A-Za-z-]', ' ', sentence)} "
    fitting = [pair for pair in lexicon().swaps[kind] if any(f" {one} " in lower for one in pair)]
    if not fitting:
        return None
    first, second = rng.choice(fitting)
    other = {first: second, second: first}
    return _either(first, second).sub(lambda found: other[found[0]], sentence), f"{first}/{second}"


@cache
def _either(first: str, second: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{re.escape(first)}|{re.escape(second)})\b(?!n?'t|not\b)")


# Duty and permission, all and some, sure and possible.
weaken = partial(_swapped, "modality")
oppose = partial(_swapped, "antonym")
# "if" as "unless", "with" as "without", "always" as "never".
turn = partial(_swapped, "negation")

EDITS: dict[str, tuple[Edit, ...]] = {
    "negation": (deny, deny, deny, turn),
    "roles": (swap_roles,),
    "numbers": (change_number,),
    "tense": (move_in_time,),
    "question": (ask,),
    "modality": (weaken,),
    "antonym": (oppose,),
}
"""Edits by the kind of contrast that they make."""


def edited(kind: str, sentence: str, verbs: frozenset[str], rng: Random) -> tuple[str, str] | None:
    """A sentence after an edit of that kind, and what was done; None if none fits or changes it."""
    result = rng.choice(EDITS[kind])(sentence, verbs, rng)
    return result if result and result[0] != sentence else None


def _lowered(subject: str) -> str:
    return subject if subject in ("I", "Tom", "Mary") else subject[:1].lower() + subject[1:]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tidy(text: str) -> str:
    return _sentence(re.sub(r"  +", " ", text).strip())
