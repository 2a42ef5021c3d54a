"""Data sets as a recipe asks for them: read, decontaminated, cut, parted, ready to draw from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random

from slice_os.datasets.decontamination import Decontamination, read_hashes
from slice_os.errors import InputError
from slice_os.training.config import DataConfig, TrainingConfig
from slice_os.training.data.formats import read_files
from slice_os.training.data.placement import context_sentences, place
from slice_os.training.records import Pair, Passage, Record, Sense, Substitution, Triple


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set and what was kept out of it.

    Attributes:
        name: as the recipe names it.
        records: what can be drawn.
        contexts: sentences to place second phrases in; empty to leave them alone.
        contaminated: records dropped because they hold an evaluation sentence.
        unfit: records dropped because a text is too long for the recipe, or has no word.
    """

    name: str
    records: tuple[Record, ...]
    contexts: tuple[str, ...]
    contaminated: int
    unfit: int

    def at(self, index: int, rng: Random) -> Record:
        """A record; a pair's second phrase is placed in text anew each time."""
        record = self.records[index]
        if self.contexts and isinstance(record, Pair):
            return replace(record, passage=place(record.second, self.contexts, rng))
        return record

    def sample(self, limit: int, rng: Random) -> list[Record]:
        """Different records at random, or all of them where there are no more."""
        count = min(limit, len(self.records))
        return [self.at(index, rng) for index in rng.sample(range(len(self.records)), count)]

    def draw(self, position: int, count: int, seed: str) -> list[Record]:
        """The batch at a position of an endless sequence of shuffled epochs.

        It depends on the arguments alone, so a run that is resumed draws what it would have.
        """
        rng = Random(f"{seed}/{position}")  # noqa: S311
        batch = []
        for place_in_sequence in range(position * count, (position + 1) * count):
            epoch, offset = divmod(place_in_sequence, len(self.records))
            order = _shuffled(len(self.records), f"{seed}/{epoch}")
            batch.append(self.at(order[offset], rng))
        return batch


@lru_cache(maxsize=64)
def _shuffled(size: int, key: str) -> tuple[int, ...]:
    return tuple(Random(key).sample(range(size), size))  # noqa: S311


def load_datasets(
    config: TrainingConfig, folder: Path, fits: Callable[[str], bool]
) -> dict[str, Loaded]:
    """Every data set of a recipe.

    Args:
        config: the recipe.
        folder: what its file names are relative to.
        fits: whether a text has words and is short enough for the encoder.

    Raises:
        InputError: if a file is missing or malformed, or nothing of a data set is left.
    """
    hashes = read_hashes(folder / config.hashes) if config.hashes else Decontamination()
    raw = {name: _read(name, data, folder, hashes, fits) for name, data in config.data.items()}
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
        raise InputError(f"data set {data.place_in!r} has no sentence of 6 to 24 words to place in")
    return contexts


def _read(
    name: str,
    data: DataConfig,
    folder: Path,
    hashes: Decontamination,
    fits: Callable[[str], bool],
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
        raise InputError(f"data set {name!r}: no records are left of {', '.join(data.files)}")
    return Loaded(name, tuple(kept), (), contaminated, unfit)


def _cut(record: Record, max_words: int) -> Sequence[Record]:
    """Passages without a phrase in them are cut into pieces of equal numbers of words."""
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
    if isinstance(record, Passage):
        return [record.text]
    if isinstance(record, Triple):
        return [record.query, record.positive, *record.negatives]
    if isinstance(record, Pair):
        return [record.first, record.second, record.passage.text]
    if isinstance(record, Sense):
        return [record.text, record.definition, *record.others]
    return [record.text, *record.right, *record.wrong]


def part_key(record: Record) -> str:
    """What decides on which side of a split a record falls: its first text, or the word."""
    if isinstance(record, (Substitution, Sense)):
        return record.text[record.start : record.end].lower()
    return texts_of(record)[0]
