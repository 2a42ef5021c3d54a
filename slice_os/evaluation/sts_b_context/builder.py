"""Sets in the form of STS-B-Context, from pairs of sentences and text around one of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from slice_os.datasets.graded_pairs import SentencePair
from slice_os.errors import InputError
from slice_os.evaluation.harness import Progress, quiet, track
from slice_os.evaluation.sts_b_context.chat_endpoint import ChatEndpoint
from slice_os.evaluation.sts_b_context.context_rows import ContextRow, bare, find_verbatim
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words

MAX_WORDS = 60
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# SLICE, section 4.2, word for word.
PROMPT = (
    "Please provide a context to the given phrase, insert it into a long sentence, place it as "
    "part of the larger sentence and use the phrase verbatim. The sentence should also start "
    'with the letter {letter} the phrase is: {phrase}"'
)
_CLAUSE = re.compile(r"[,;:]\s+(?=\S)")


def place_in_text(
    pairs: Sequence[SentencePair], passages: Sequence[str], seed: int = 0
) -> Iterator[ContextRow]:
    """Put the second sentence of each pair, unchanged, into real text of up to `MAX_WORDS` words.

    It is placed between two sentences, or between two clauses without its full stop. The first
    sentence is the query. Each run of sentences of the passages is equally likely.

    Raises:
        InputError: if no passage has a sentence that is short enough.
    """
    rng = random.Random(seed)  # noqa: S311  no secret
    surroundings = [text for passage in passages for text in _runs(passage)]
    if not surroundings:
        raise InputError(
            f"no passage has a sentence of at most {MAX_WORDS} words to place another beside"
        )
    for pair in pairs:
        passage, place = _insert(pair.second, rng.choice(surroundings), rng)
        yield ContextRow(pair.first, pair.second, passage, pair.gold, place)


def generate(
    pairs: Sequence[SentencePair], endpoint: ChatEndpoint, seed: int = 0, progress: Progress = quiet
) -> Iterator[ContextRow]:
    """Have a language model write text around the second sentence of each pair.

    The prompt is that of the paper (SLICE, section 4.2), with a random first letter. Answers that
    do not contain the sentence verbatim, apart from case and the full stop, are left out. In the
    paper, people then removed answers that change how similar the sentences are; that is left to
    the user.

    Raises:
        SliceError: if the endpoint does not answer.
    """
    rng = random.Random(seed)  # noqa: S311  no secret
    prompts = [
        PROMPT.format(letter=rng.choice(LETTERS), phrase=bare(pair.second)) for pair in pairs
    ]
    answers = track(endpoint.answer(prompts), "passages", len(pairs), progress)
    for pair, answer in zip(pairs, answers, strict=True):
        passage = " ".join(answer.split())
        place = find_verbatim(pair.second, passage)
        if place is not None:
            yield ContextRow(pair.first, pair.second, passage, pair.gold, place)


def _runs(passage: str) -> Iterator[str]:
    """Runs of consecutive sentences of a passage: from each sentence on, as many as fit."""
    ends = sentence_ends(passage)
    starts = [0, *ends[:-1]]
    words = find_words(passage)[:, 0]
    for number, start in enumerate(starts):
        fitting = [
            end for end in ends[number:] if ((words >= start) & (words < end)).sum() <= MAX_WORDS
        ]
        if fitting and passage[start : fitting[-1]].strip():
            yield passage[start : fitting[-1]].strip()


def _insert(sentence: str, text: str, rng: random.Random) -> tuple[str, tuple[int, int]]:
    """A text with a sentence inserted at a random border, and the place of the sentence."""
    clauses = [match.end() for match in _CLAUSE.finditer(text)]
    border = rng.choice([0, *sentence_ends(text), *clauses])
    left, right = text[:border].rstrip(), text[border:].lstrip()
    core = bare(sentence)
    point = "," if border in clauses else "" if core[-1] in "!?。！？" else "."
    start = len(left) + 1 if left else 0
    passage = " ".join(part for part in (left, core + point, right) if part)
    return passage, (start, start + len(core))
