"""Sets in the form of STS-B-Context, from pairs of sentences and text to put one of them in."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from slice_os.datasets.files import DataSource
from slice_os.errors import InputError
from slice_os.evaluation.harness import Progress, quiet, track
from slice_os.evaluation.sts_b_context.generation import ChatEndpoint
from slice_os.evaluation.sts_b_context.rows import ContextRow, bare, find_verbatim
from slice_os.sentences import sentence_ends
from slice_os.words import find_words

MAX_WORDS = 60
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# SLICE, section 4.2, word for word.
PROMPT = (
    "Please provide a context to the given phrase, insert it into a long sentence, place it as "
    "part of the larger sentence and use the phrase verbatim. The sentence should also start "
    'with the letter {letter} the phrase is: {phrase}"'
)
SOURCE = DataSource(
    "comma-separated rows of sentence, sentence, similarity from 0 to 5",
    "https://github.com/PhilipMay/stsb-multi-mt (STS-B in ten languages)",
)
_CLAUSE = re.compile(r"[,;:]\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences and how similar people find them, 0 to 5."""

    first: str
    second: str
    gold: float


def load_pairs(path: Path) -> tuple[SentencePair, ...]:
    """Read STS-B or a table in its form, with or without a line of titles.

    Raises:
        InputError: if the file is missing, or a row is no pair with its score.
    """
    pairs = []
    try:
        rows = list(csv.reader(io.StringIO(SOURCE.text(path), newline="")))
    except csv.Error as error:
        raise SOURCE.malformed(path, f"not a table ({error})") from None
    for number, row in enumerate(rows, start=1):
        try:
            first, second, gold = row[0], row[1], float(row[2])
        except (ValueError, IndexError):
            if number == 1 and len(row) >= 3:
                continue
            raise SOURCE.malformed(path, f"row {number} is no pair with its score") from None
        if not isfinite(gold) or not first.strip() or not second.strip():
            raise SOURCE.malformed(path, f"row {number} is no pair with its score")
        pairs.append(SentencePair(first, second, gold))
    if not pairs:
        raise SOURCE.malformed(path, "has no rows")
    return tuple(pairs)


def place_in_text(
    pairs: Sequence[SentencePair], passages: Sequence[str], seed: int = 0
) -> Iterator[ContextRow]:
    """Put the second sentence of each pair, unchanged, into real text of up to `MAX_WORDS` words.

    It stands between two sentences, or between two clauses without its end point; the first
    sentence is the query.

    Args:
        pairs: sentence pairs.
        passages: text to draw from; each run of sentences is equally likely.
        seed: of the draws.

    Raises:
        InputError: if no passage has a sentence that is short enough.
    """
    draw = random.Random(seed)  # noqa: S311  no secret
    surroundings = [text for passage in passages for text in _runs(passage)]
    if not surroundings:
        raise InputError(f"no passage has a sentence of at most {MAX_WORDS} words to place one by")
    for pair in pairs:
        passage, place = _insert(pair.second, draw.choice(surroundings), draw)
        yield ContextRow(pair.first, pair.second, passage, pair.gold, place)


def generate(
    pairs: Sequence[SentencePair],
    endpoint: ChatEndpoint,
    seed: int = 0,
    progress: Progress = quiet,
) -> Iterator[ContextRow]:
    """Have a language model write text around the second sentence of each pair.

    By the paper's prompt (SLICE, section 4.2), with a random letter to begin with. Answers
    without the sentence, word for word but for case and its end point, are left out. The paper
    then had people remove answers that change how similar the sentences are; that is left to
    the user.

    Raises:
        SliceError: if the endpoint does not answer.
    """
    draw = random.Random(seed)  # noqa: S311  no secret
    prompts = [
        PROMPT.format(letter=draw.choice(LETTERS), phrase=bare(pair.second)) for pair in pairs
    ]
    answers = track(endpoint.answer(prompts), "passages", len(pairs), progress)
    for pair, answer in zip(pairs, answers, strict=True):
        passage = " ".join(answer.split())
        place = find_verbatim(pair.second, passage)
        if place is not None:
            yield ContextRow(pair.first, pair.second, passage, pair.gold, place)


def _runs(passage: str) -> Iterator[str]:
    """Consecutive sentences of a passage, from each of its sentences on as many as fit."""
    ends = sentence_ends(passage)
    starts = [0, *ends[:-1]]
    words = find_words(passage)[:, 0]
    for number, start in enumerate(starts):
        fitting = [
            end for end in ends[number:] if ((words >= start) & (words < end)).sum() <= MAX_WORDS
        ]
        if fitting and passage[start : fitting[-1]].strip():
            yield passage[start : fitting[-1]].strip()


def _insert(sentence: str, text: str, draw: random.Random) -> tuple[str, tuple[int, int]]:
    """A text with a sentence put in at a border drawn from all, and where it stands then."""
    clauses = [match.end() for match in _CLAUSE.finditer(text)]
    border = draw.choice([0, *sentence_ends(text), *clauses])
    left, right = text[:border].rstrip(), text[border:].lstrip()
    core = bare(sentence)
    point = "," if border in clauses else "" if core[-1] in "!?。！？" else "."
    start = len(left) + 1 if left else 0
    passage = " ".join(part for part in (left, core + point, right) if part)
    return passage, (start, start + len(core))
