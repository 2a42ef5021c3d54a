"""Data sets as a recipe describes them: read, decontaminated, cut, split, ready to sample."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from random import Random

from slice_os.datasets.decontamination import Decontamination, read_hashes
from slice_os.errors import InputError
from slice_os.text.sentences import sentence_ends
from slice_os.training.config import DataConfig, TrainingConfig
from slice_os.training.examples.formats import read_files
from slice_os.training.progress import Report, silent, tracked
from slice_os.training.record_types import Pair, Passage, Record, Sense, Substitution

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


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of records of a data set.

    Attributes:
        records: kept.
        contaminated: dropped because they contain an evaluation sentence.
        unfit: dropped because a text is too long for the recipe, or has no word.
    """

    records: int
    contaminated: int
    unfit: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set, ready to be sampled; second phrases are placed in its contexts, if any."""

    records: tuple[Record, ...]
    contexts: tuple[str, ...]
    counts: Counts

    def at(self, index: int, rng: Random) -> Record:
        """A record; the second phrase of a pair is placed in a new text each time."""
        record = self.records[index]
        if self.contexts and isinstance(record, Pair):
            return replace(record, passage=place(record.second, self.contexts, rng))
        return record

    def sample(self, limit: int, rng: Random) -> list[Record]:
        """Different records at random, or all if there are not so many."""
        count = min(limit, len(self.records))
        return [self.at(index, rng) for index in rng.sample(range(len(self.records)), count)]

    def batch(self, position: int, count: int, seed: str) -> list[Record]:
        """The batch at a position of an endless sequence of shuffled epochs.

        It depends on the arguments alone, so a resumed run reads the same batches.
        """
        rng = Random(f"{seed}/{position}")  # noqa: S311
        records = []
        for place_in_sequence in range(position * count, (position + 1) * count):
            epoch, offset = divmod(place_in_sequence, len(self.records))
            order = _shuffled(len(self.records), f"{seed}/{epoch}")
            records.append(self.at(order[offset], rng))
        return records


@lru_cache(maxsize=64)
def _shuffled(size: int, key: str) -> tuple[int, ...]:
    return tuple(Random(key).sample(range(size), size))  # noqa: S311


def load_datasets(
    config: TrainingConfig, folder: Path, fits: Callable[[str], bool], report: Report = silent
) -> dict[str, Loaded]:
    """Every data set of a recipe, without records of which a text does not fit the encoder.

    `InputError` if a file is missing or malformed, or no record of a data set is left.
    """
    hashes = read_hashes(folder / config.hashes) if config.hashes else Decontamination()
    raw = {
        name: _read(name, data, folder, hashes, fits)
        for name, data in tracked(config.data.items(), "reading data", report)
    }
    return {
        name: replace(loaded, contexts=_contexts(config.data[name], raw))
        for name, loaded in raw.items()
    }


def _contexts(data: DataConfig, raw: Mapping[str, Loaded]) -> tuple[str, ...]:
    if not data.place_in:
        return ()
    passages = [record for record in raw[data.place_in].records if isinstance(record, Passage)]
    contexts = tuple(context_sentences(passages))
    if not contexts:
        raise InputError(f"data set {data.place_in!r} has no sentence of 6 to 24 words")
    return contexts


def _read(
    name: str, data: DataConfig, folder: Path, hashes: Decontamination, fits: Callable[[str], bool]
) -> Loaded:
    kept: list[Record] = []
    contaminated = unfit = 0
    files = [folder / file for file in data.files]
    for whole in read_files(data.format, files, data.split):
        if not data.holds(part_key(whole)):
            continue
        if hashes.contaminated(texts_of(whole)):
            contaminated += 1
            continue
        for record in _cut(whole, data.max_words):
            if all(fits(text) for text in texts_of(record)):
                kept.append(record)
            else:
                unfit += 1
    if not kept:
        raise InputError(f"data set {name!r}: no record is left of {', '.join(data.files)}")
    return Loaded(tuple(kept), (), Counts(len(kept), contaminated, unfit))


def _cut(record: Record, max_words: int) -> Sequence[Record]:
    """The pieces of a passage, equally long in words; other records stay whole."""
    if not isinstance(record, Passage) or record.end > record.start:
        return [record]
    words = record.text.split()
    pieces = -(-len(words) // max_words)
    return [
        Passage(" ".join(words[len(words) * i // pieces : len(words) * (i + 1) // pieces]))
        for i in range(pieces)
    ]


def texts_of(record: Record) -> list[str]:
    """All texts of a record that an encoder may read."""
    parts = (part if isinstance(part, tuple) else (part,) for part in astuple(record))
    return [text for part in parts for text in part if isinstance(text, str)]


def part_key(record: Record) -> str:
    """The key that decides the part of a record: its first text, or the word."""
    if isinstance(record, (Substitution, Sense)):
        return record.text[record.start : record.end].lower()
    return texts_of(record)[0]
