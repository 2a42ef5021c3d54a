"""The lexicon of contrasts: relations of parties, many ways to say each, and their opposites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from slice_os.records import read_record


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of two parties out of the lists ``among``; one of the themes is put for T.

    ``says`` are patterns that say the same, ``opposed`` others that say another thing of the same
    parties. If it is symmetric, the parties may change places.
    """

    among: tuple[str, ...]
    says: tuple[str, ...]
    opposed: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """A state of a subject, and its opposite; to deny an exact one is to say the other."""

    of: tuple[str, ...]
    says: tuple[str, ...]
    opposed: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Amounts:
    """Wordings of amounts.

    Attributes:
        adjuncts: phrases with a place ``{n}`` for a number.
        same: pairs of phrases for one amount.
        bounds: pairs of opposite bounds.
        bounded: phrases with a place ``{b}`` for a bound and ``{n}`` for a number.
        same_bounds: pairs of wordings of one bound.
        units: what they count.
    """

    adjuncts: tuple[str, ...]
    same: tuple[tuple[str, str], ...]
    bounds: tuple[tuple[str, str], ...]
    bounded: tuple[str, ...]
    same_bounds: tuple[tuple[str, str], ...]
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The content of ``lexicon.toml``, which explains each part."""

    light: tuple[tuple[str, str], ...]
    openings: tuple[str, ...]
    contrasted: tuple[tuple[str, str, str], ...]
    of_things: tuple[str, ...]
    modes: Mapping[str, tuple[str, ...]]
    parties: Mapping[str, tuple[str, ...]]
    relations: tuple[Relation, ...]
    states: tuple[State, ...]
    amounts: Amounts
    swaps: Mapping[str, tuple[tuple[str, str], ...]]


@cache
def lexicon() -> Lexicon:
    """The lexicon of the package."""
    return read_record(Lexicon, Path(__file__).with_name("lexicon.toml"))
