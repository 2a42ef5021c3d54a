"""Rows of STS-B-Context, and the making of sets in its form from pairs of sentences."""

from __future__ import annotations

import csv
import os
import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import orjson

from slice_os.datasets.files import DataSource
from slice_os.datasets.graded_pairs import GradedPair
from slice_os.errors import InputError, SliceError
from slice_os.evaluation.harness import Progress, quiet, track
from slice_os.tables.replacing import replacing
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words

SOURCE = DataSource(
    "a tab-separated table with the columns line, paraphrase, passage and goldsim",
    "https://github.com/eyal-orbach/sts-b-test-data, or make one: `slice-os eval build-context`",
)
COLUMNS = ("line", "paraphrase", "passage", "goldsim")


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A phrase, a paraphrase of it, the passage around that, and their similarity from 0 to 5.

    ``place`` is the start and end code point of the paraphrase in the passage; None if it is not
    there verbatim, apart from case and the full stop.
    """

    query: str
    paraphrase: str
    passage: str
    gold: float
    place: tuple[int, int] | None


def load_rows(path: Path) -> tuple[ContextRow, ...]:
    """Read a table as published, in Windows-1252, or as `save_rows` wrote it."""
    table = SOURCE.table(path, COLUMNS, separator="\t", fallback="cp1252")
    rows = tuple(
        ContextRow(
            row.text("line"),
            row.values["paraphrase"],
            row.text("passage"),
            row.score("goldsim"),
            _place(row.values),
        )
        for row in table
    )
    if len(rows) < 2:
        raise SOURCE.malformed(path, "fewer than two rows")
    return rows


def save_rows(rows: Iterable[ContextRow], path: Path) -> None:
    """Write rows in a form that `load_rows` reads: tab-separated, UTF-8, with the places."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(["", *COLUMNS, "start", "end"])
        for number, row in enumerate(rows):
            start, end = row.place or ("", "")
            writer.writerow([number, row.query, row.paraphrase, row.passage, row.gold, start, end])


def bare(sentence: str) -> str:
    """A sentence without its full stop."""
    return sentence.strip().rstrip(".").rstrip() or sentence.strip()


def find_verbatim(sentence: str, passage: str) -> tuple[int, int] | None:
    """The place of a sentence in a passage without its full stop, in its case or else in any."""
    wanted = re.escape(bare(sentence))
    found = re.search(wanted, passage) or re.search(wanted, passage, re.IGNORECASE)
    return found.span() if wanted and found else None


def _place(record: Mapping[str, str]) -> tuple[int, int] | None:
    """The place that the table gives, or else where the paraphrase is found."""
    passage = record["passage"]
    start, end = record.get("start", ""), record.get("end", "")
    if start.isdecimal() and end.isdecimal() and int(start) < int(end) <= len(passage):
        return int(start), int(end)
    return find_verbatim(record["paraphrase"], passage)


KEY_VARIABLE = "OPENAI_API_KEY"
_FORM = "the endpoint's address is not of the form http(s)://HOST[:PORT]/PATH"
ATTEMPTS = 4
TIMEOUT = 120.0
AT_ONCE = 4


class _NoRedirects(HTTPRedirectHandler):
    """Leaves a redirect as an answer: the key must not go to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = build_opener(_NoRedirects)


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Chat completions of one model; the key is taken from ``OPENAI_API_KEY`` if that is set.

    The base address is one such as ``https://api.openai.com/v1``. ``pause`` is the time before the
    first retry of a request, in seconds; it doubles for each further one. Raises an `InputError` if
    the address is not an HTTP one, or has a password or a query.
    """

    url: str
    model: str
    pause: float = 1.0

    def __post_init__(self) -> None:
        # The address may have a secret anywhere, so it is not repeated.
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            raise InputError(_FORM) from None
        if not usable or parts.query or parts.fragment:
            raise InputError(_FORM)
        if "@" in parts.netloc:
            raise InputError(
                f"a password does not belong in the endpoint's address; set {KEY_VARIABLE}"
            )

    def answer(self, prompts: Sequence[str]) -> Iterator[str]:
        """The answer to each prompt, in order; several are requested at a time."""
        with ThreadPoolExecutor(AT_ONCE) as executor:
            try:
                yield from executor.map(self._ask, prompts)
            finally:
                executor.shutdown(cancel_futures=True)

    def _ask(self, prompt: str) -> str:
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                return self._request(prompt)
            except HTTPError as error:
                reason = f"answered {error.code} {error.reason}"
                if error.code != 429 and error.code < 500:
                    break
            except (OSError, HTTPException) as error:
                reason = f"does not answer ({error})"
        raise SliceError(f"{self.url} {reason}; check the address, and {KEY_VARIABLE}")

    def _request(self, prompt: str) -> str:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY_VARIABLE, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise InputError(f"{KEY_VARIABLE}: has characters that a key cannot have")
            headers["Authorization"] = f"Bearer {key}"
        content = {"model": self.model, "messages": [{"role": "user", "content": prompt}]}
        request = Request(  # noqa: S310  the scheme was checked
            f"{self.url.rstrip('/')}/chat/completions", orjson.dumps(content), headers
        )
        with _OPENER.open(request, timeout=TIMEOUT) as response:
            body = response.read()
        try:
            answer = orjson.loads(body)["choices"][0]["message"]["content"]
        except (orjson.JSONDecodeError, LookupError, TypeError):
            answer = None
        if not isinstance(answer, str):
            raise SliceError(f"{self.url} answered without a chat completion; is it one?")
        return answer


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
    pairs: Sequence[GradedPair], passages: Sequence[str], seed: int = 0
) -> Iterator[ContextRow]:
    """Put the second sentence of each pair, unchanged, into real text of up to `MAX_WORDS` words.

    It is placed between two sentences, or between two clauses without its full stop. The first
    sentence is the query. Each run of sentences of the passages is equally likely.
    """
    rng = random.Random(seed)  # noqa: S311  no secret
    # A table would take a carriage return for the end of a row.
    surroundings = [text for one in passages for text in _runs(one.replace("\r", " "))]
    if not surroundings:
        raise InputError(
            f"no passage has a sentence of at most {MAX_WORDS} words to place another beside"
        )
    for pair in pairs:
        passage, place = _insert(pair.second, rng.choice(surroundings), rng)
        yield ContextRow(pair.first, pair.second, passage, pair.score, place)


def generate(
    pairs: Sequence[GradedPair], endpoint: ChatEndpoint, seed: int = 0, progress: Progress = quiet
) -> Iterator[ContextRow]:
    """Have a language model write text around the second sentence of each pair.

    The prompt is that of the paper (SLICE, section 4.2), with a random first letter. Answers that
    do not contain the sentence verbatim, apart from case and the full stop, are left out. In the
    paper, people then removed answers that change how similar the sentences are; that is left to
    the user.
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
            yield ContextRow(pair.first, pair.second, passage, pair.score, place)


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
