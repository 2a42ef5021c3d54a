"""Measures of answers that are spans of a text: those of SQuAD (Rajpurkar et al., 2016) and PiC."""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass

from slice_os.datasets.span_sets import Span

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """The scores of an answer.

    Attributes:
        em: 1 if it has the same words as the gold answer, else 0.
        f1: F1 of its words against those of the gold answer.
        em_loc: ``em``, but 0 if it does not overlap the gold answer in the text (PiC, note 2).
        f1_loc: ``f1``, likewise.
    """

    em: float
    f1: float
    em_loc: float
    f1_loc: float


def score_answer(text: str, found: Span, gold: Span) -> AnswerScore:
    """Compare the found span of a text with the gold span."""
    said, right = text[slice(*found)], text[slice(*gold)]
    em, f1 = float(normalise(said) == normalise(right)), token_f1(said, right)
    located = found[0] < gold[1] and gold[0] < found[1]
    return AnswerScore(em, f1, em * located, f1 * located)


def normalise(answer: str) -> str:
    """An answer in lower case, without punctuation, articles and extra spaces, as SQuAD does."""
    bare = answer.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def token_f1(answer: str, gold: str) -> float:
    """F1 of the normalised words of two answers; 1 if neither has any."""
    said, right = normalise(answer).split(), normalise(gold).split()
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    return 2 * shared / (len(said) + len(right))
