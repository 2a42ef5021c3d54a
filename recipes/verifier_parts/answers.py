"""Short answers: the turn before tells whether "yes, please do" says a phrase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from .edits import ask, deny, other_persons
from .frames import Statement

_YES = (
    *("Yes.", "Yes please.", "Yes, please do.", "Yeah, sure.", "Sure, go ahead.", "That's right."),
    *("Correct.", "Exactly.", "Of course.", "Mm-hm.", "Absolutely.", "Yep, it is.", "Indeed, yes."),
)
_NO = (
    *("No.", "No thanks.", "No, please don't.", "Not really.", "I'm afraid not.", "Nope."),
    *("No, that's wrong.", "Not at all.", "Never.", "Certainly not.", "No, not yet."),
)
_OPEN = (
    *("I don't know.", "Maybe.", "Let me check.", "Why do you ask?", "Hold on a moment."),
    *("I'm not sure.", "Perhaps later.", "Thanks for asking."),
)


def answered(
    pairs: Iterable[tuple[str, str]], verbs: frozenset[str], rng: Random
) -> Iterator[Statement]:
    """Phrases with answers to a question about them, of pairs that say the same.

    The question is asked by the other speaker.
    """
    for phrase, wording in pairs:
        question = ask(other_persons(wording), verbs, rng)
        if question is None or question[1] != "asked":
            continue
        before, yes = question[0], rng.choice(_YES)
        no, unsure = rng.choice(_NO), rng.choice(_OPEN)
        yield Statement(phrase, yes, True, "paraphrase", "answers", before=before)
        yield Statement(phrase, no, False, "negation", "answers", yes, before)
        yield Statement(phrase, unsure, False, "near", "answers", before=before)
        denied = deny(phrase, verbs, rng)
        if denied is not None:
            yield Statement(denied[0], yes, False, "negation", "answers", before=before)
            yield Statement(denied[0], no, True, "negation", "answers", before=before)
