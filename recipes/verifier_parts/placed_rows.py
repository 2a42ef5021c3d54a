"""Rows from statements: put into real text, with ragged borders, and with the words that count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from random import Random

import numpy as np

from slice_os.text.words import find_words
from slice_os.training.prepared_sets import place
from slice_os.training.record_types import Passage
from slice_os.verifier.cross_encoder import AGAINST

from .contrast_rows import ContrastRow
from .frames import Statement

_TRIMMED = 0.15
_WIDENED = 0.4
_LONGEST = 42
_CHANGES = 4


def placed_rows(
    statements: Iterable[Statement], contexts: Sequence[str], share: float, rng: Random
) -> Iterator[ContrastRow]:
    """The rows of statements, a share of them inside other text."""
    for statement in statements:
        wording = statement.wording
        if not find_words(wording).size:
            continue
        if statement.before:
            text = f"{statement.before} {wording}"
            passage = Passage(text, len(statement.before) + 1, len(text))
        elif rng.random() >= share or len(wording.split()) > _LONGEST:
            passage = Passage(wording, 0, len(wording))
        else:
            passage = place(wording, contexts, rng)
        start, end = ragged(passage, rng)
        phrase, labels = statement.phrase, (statement.says, statement.kind, statement.source)
        if rng.random() < 0.5:
            phrase = phrase.rstrip(".!")
        against = _against(statement, passage.start)
        yield ContrastRow(phrase, passage.text, start, end, *labels, against)


def _against(statement: Statement, at: int) -> tuple[tuple[int, int], ...] | None:
    """The words that an edit put in, or the one after words that it took out."""
    if statement.says:
        return ()
    if not statement.origin or statement.kind not in AGAINST:
        return None
    words = [find_words(text)[:, :2].tolist() for text in (statement.origin, statement.wording)]
    texts = (statement.origin.lower(), statement.wording.lower())
    before, after = ([text[a:b] for a, b in of] for text, of in zip(texts, words, strict=True))
    found = []
    for change, _, _, first, last in SequenceMatcher(None, before, after, False).get_opcodes():
        if change != "equal" and after:
            first = min(first, len(after) - 1)
            found.append((at + words[1][first][0], at + words[1][max(first, last - 1)][1]))
    # A wording that was rewritten throughout does not tell which words count.
    return tuple(found) if 0 < len(found) <= _CHANGES else None


def ragged(passage: Passage, rng: Random) -> tuple[int, int]:
    """Borders as a search may set them: some words more, or some of the first words missing."""
    words = find_words(passage.text)
    inside = np.flatnonzero((words[:, 0] >= passage.start) & (words[:, 1] <= passage.end)).tolist()
    if len(inside) < 2:
        return passage.start, passage.end
    first, last = inside[0], inside[-1]
    if rng.random() < _TRIMMED and len(inside) > 4:
        first += rng.randint(1, min(3, len(inside) - 3))
    elif rng.random() < _WIDENED:
        first = max(0, first - rng.randint(0, 2))
        last = min(len(words) - 1, last + rng.randint(0, 2))
    return int(words[first, 0]), int(words[last, 1])


def random_rows(rows: Sequence[ContrastRow], count: int, rng: Random) -> Iterator[ContrastRow]:
    """Phrases with the spans of others."""
    for row in rng.sample(rows, min(count, len(rows))):
        other = rng.choice(rows)
        if other.phrase != row.phrase:
            yield replace(other, phrase=row.phrase, says=False, kind="random", against=None)
