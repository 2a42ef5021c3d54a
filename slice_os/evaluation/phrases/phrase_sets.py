"""Data sets of phrase similarity: BiRD, patent phrases, STS-B and Turney's bigrams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from slice_os.datasets.files import DataSource
from slice_os.datasets.graded_pairs import PATENT, STS_B, read_patents, read_sts_b
from slice_os.errors import InputError

BIRD = DataSource(
    "BiRD, a tab-separated table with columns term1, term2 and relatedness score (bird.txt)",
    "http://saifmohammad.com/WebPages/BiRD.html",
)
TITLES = DataSource(
    'titles of patent classes by their symbols, {"A47": "…"} (cpc_titles.json)',
    "https://www.cooperativepatentclassification.org",
)
TURNEY = DataSource(
    "Turney's set, a line each: bigram | right word | its words | other words (turney*.txt)",
    "https://jair.org/index.php/jair/article/view/10778",
)


@dataclass(frozen=True, slots=True)
class GradedPair:
    """Two phrases, how similar people find them, and their field, if known."""

    first: str
    second: str
    score: float
    field: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A bigram, the word that means the same, its own two words, and further wrong words."""

    phrase: str
    answer: str
    parts: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PhraseSet:
    """A data set, read: graded pairs, or choices for Turney's set; its name is one of `SETS`."""

    name: str
    path: Path
    pairs: tuple[GradedPair, ...] = ()
    choices: tuple[Choice, ...] = ()


def read_bird(path: Path) -> PhraseSet:
    """BiRD (Asaadi et al., 2019): relatedness of bigrams, from 0 to 1."""
    columns = ("term1", "term2", "relatedness score")
    pairs = tuple(
        GradedPair(row.text("term1"), row.text("term2"), row.score("relatedness score", 0, 1))
        for row in BIRD.table(path, columns, separator="\t", quoted=False)
    )
    return PhraseSet("bird", path, pairs)


def read_patent(path: Path) -> PhraseSet:
    """Patent phrases, with the titles of patent classes if their file is in the same folder."""
    titles = _titles(path.with_name("cpc_titles.json"))
    pairs = []
    for pair in read_patents(path):
        if titles and pair.symbol not in titles:
            reason = f"line {pair.line}: class {pair.symbol!r} has no title"
            raise PATENT.malformed(path, reason)
        field = titles[pair.symbol] if titles else ""
        pairs.append(GradedPair(pair.anchor, pair.target, pair.score, field))
    return PhraseSet("patent", path, tuple(pairs))


def read_stsb_pairs(path: Path) -> PhraseSet:
    """STS-B (Cer et al., 2017): pairs of sentences, from 0 to 5."""
    pairs = (GradedPair(pair.first, pair.second, pair.gold) for pair in read_sts_b(path))
    return PhraseSet("sts-b", path, tuple(pairs))


def read_turney(path: Path) -> PhraseSet:
    """Turney's bigrams (2012): which of seven words means the same?"""
    choices = []
    for line, text in enumerate(TURNEY.text(path).splitlines(), start=1):
        if text.strip():
            cells = [cell.strip() for cell in text.split("|")]
            if len(cells) < 5 or not all(cells):
                raise TURNEY.malformed(path, f"line {line}: {len(cells)} fields, some empty")
            phrase, answer, *others = cells
            parts = tuple(word for word in others if word in phrase.split())
            rest = tuple(word for word in others if word not in parts)
            choices.append(Choice(phrase, answer, parts, rest))
    return PhraseSet("turney", path, choices=tuple(choices))


PhraseSetReader: TypeAlias = Callable[[Path], PhraseSet]

# Patterns of file names, in a folder and in its direct subfolders.
SETS: dict[str, tuple[str, PhraseSetReader, DataSource]] = {
    "bird": ("bird*.txt", read_bird, BIRD),
    "patent": ("train.csv", read_patent, PATENT),
    "sts-b": ("stsb*.csv", read_stsb_pairs, STS_B),
    "turney": ("turney*.txt", read_turney, TURNEY),
}


def load_sets(data: Path, names: tuple[str, ...] = ()) -> list[PhraseSet]:
    """The sets in a folder, or some of them by name, or the file of the one set named.

    Each file of STS-B except the train split is a set; a ``train.csv`` counts as patent phrases
    only if its header says so.

    Raises:
        InputError: if a named set is missing, no set is found, or one is malformed.
    """
    if data.is_file():
        if len(names) != 1:
            raise InputError(f"{data}: say which set the file is: --set {'|'.join(SETS)}")
        return [SETS[names[0]][1](data)]
    found = []
    for name in names or SETS:
        pattern, read, source = SETS[name]
        paths = [*data.glob(pattern), *data.glob(f"*/{pattern}")]
        paths = [path for path in sorted(paths) if _is_of(path, name)]
        if names and not paths:
            raise source.missing(data / pattern)
        found += [read(path) for path in paths]
    if not found:
        listed = ", ".join(pattern for pattern, _, _ in SETS.values())
        raise InputError(f"{data}: no set of phrase similarity; expected a folder with {listed}")
    return found


def _is_of(path: Path, name: str) -> bool:
    if name == "patent":
        return path.read_bytes()[:200].splitlines()[:1] == [b"id,anchor,target,context,score"]
    return name != "sts-b" or "train" not in path.name


def _titles(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    titles = TITLES.json(path)
    if not isinstance(titles, dict) or not all(isinstance(one, str) for one in titles.values()):
        raise TITLES.malformed(path, "not an object of texts")
    return titles
