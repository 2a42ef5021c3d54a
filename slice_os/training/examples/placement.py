"""Context data: a phrase placed inside other real text, at a clause or sentence border.

STS-B-Context has a language model write the context (SLICE, section 4.2); here it is text that
people wrote, which costs nothing and has a known license.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random

from slice_os.text.sentences import sentence_ends
from slice_os.training.record_types import Passage

_COMMA = re.compile(r",\s")
_JOINTS = (", ", " ", " that ", " and ", ": ", ", ")
_CONTINUATIONS = (", ", " ", ", ", " and ", " while ")
_SENTENCE_WORDS = range(6, 25)
_WITHIN = 0.65


def context_sentences(passages: Iterable[Passage]) -> list[str]:
    """The sentences of 6 to 24 words of some passages."""
    sentences = (
        passage.text[start:end].strip()
        for passage in passages
        for start, end in pairwise([0, *sentence_ends(passage.text)])
    )
    return [sentence for sentence in sentences if len(sentence.split()) in _SENTENCE_WORDS]


def place(phrase: str, contexts: Sequence[str], rng: Random) -> Passage:
    """A phrase inside other text: within a sentence two times in three, else as its own sentence.

    Within a sentence it loses its capital and full stop; apart from that it stays verbatim.
    """
    sentence = rng.choice(contexts)
    if rng.random() < _WITHIN:
        return _within(phrase, sentence, contexts, rng)
    body = phrase.strip()
    if not body.endswith((".", "!", "?")):
        body += "."
    before = f"{sentence} " if rng.random() < 0.6 else ""
    after = f" {rng.choice(contexts)}" if not before or rng.random() < 0.6 else ""
    return Passage(before + body + after, len(before), len(before) + len(body))


def _within(phrase: str, sentence: str, contexts: Sequence[str], rng: Random) -> Passage:
    left, right = _split(sentence, rng)
    if rng.random() < 0.5:
        words = rng.choice(contexts).split()
        left = f"{' '.join(words[-rng.randint(4, 12) :])} {left}".strip()
    before = left + rng.choice(_JOINTS) if left else ""
    body = _uncapitalised(phrase.strip()).rstrip(".!? ")
    after = rng.choice(_CONTINUATIONS) + _uncapitalised(right) if right else "."
    return Passage(before + body + after, len(before), len(before) + len(body))


def _split(sentence: str, rng: Random) -> tuple[str, str]:
    """A sentence in two parts, split at a comma if it has one, else often at its start or end."""
    commas = [match.end() for match in _COMMA.finditer(sentence)]
    if commas and rng.random() < 0.6:
        cut = rng.choice(commas)
        left, right = sentence[:cut], sentence[cut:]
    else:
        words = sentence.split()
        border = rng.choice((0, len(words)))
        count = border if rng.random() < 0.5 else rng.randint(0, len(words))
        left, right = " ".join(words[:count]), " ".join(words[count:])
    return left.rstrip(",.!? "), right.strip()


def _uncapitalised(text: str) -> str:
    """The text without its first capital, unless that is part of an acronym."""
    first, _, _ = text.partition(" ")
    if first[:1].isupper() and (first == "A" or first[1:2].islower()):
        return text[:1].lower() + text[1:]
    return text
