"""Combined topics: which others a text must have or lack, where, in what order and from whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from slice_os.errors import InputError
from slice_os.records import Count, Reader, record

DOCUMENT, TURN = "document", "turn"
SECONDS, TURNS, SENTENCES, WORDS = MEASURES = ("seconds", "turns", "sentences", "words")
MOST_PARTS = 100
"""Of each kind in a combination."""
_LONGEST_NAME = 1_000
_ORDERS = ("after", "before", "near")
_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) +(second|turn|sentence|word)s?")


@dataclass(frozen=True, slots=True)
class Length:
    """So many seconds, turns, sentences or words."""

    amount: float
    measure: str

    def __str__(self) -> str:
        ending = self.measure[:-1] if self.amount == 1 else self.measure
        return f"{self.amount:g} {ending}"


def _name(value: Any) -> str:
    if isinstance(value, str) and len(value) > _LONGEST_NAME:
        raise InputError(f"a name of {len(value):,} characters; {_LONGEST_NAME} are the most")
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{value!r}: give a name between quotation marks")
    return value


def _length(value: Any) -> Length:
    found = _LENGTH.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise InputError(f'{value!r}: give "20 seconds", "3 turns", "2 sentences" or "10 words"')
    return Length(float(found[1]), f"{found[2]}s")


Name: TypeAlias = Annotated[str, Reader(_name)]
Distance: TypeAlias = Annotated[Length | None, Reader(_length)]


@dataclass(frozen=True, slots=True)
class Part:
    """A topic in a combination, and which of its hits count.

    Attributes:
        topic: name of a topic with phrases.
        speaker: who says it; empty for anybody.
        asked: whether its sentence is a question; None for both.
        first: how far from the beginning of the document its hits begin at most.
        last: the same from the end.
        after: name of a topic of which a hit ends before.
        before: name of a topic of which a hit begins afterwards.
        near: name of a topic of which a hit is on either side.
        within: how far that hit is at most.
        times: least number of hits that count.
        documents: least number of documents that have one.
    """

    topic: Name
    speaker: Name = ""
    asked: bool | None = None
    first: Distance = None
    last: Distance = None
    after: Name = ""
    before: Name = ""
    near: Name = ""
    within: Distance = None
    times: Count = 1
    documents: Count = 1

    @property
    def others(self) -> tuple[str, ...]:
        """The topics that its hits are placed by."""
        return tuple(name for name in (self.after, self.before, self.near) if name)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """All lengths that it names."""
        return tuple(one for one in (self.first, self.last, self.within) if one)


def read_parts(value: Any) -> tuple[Part, ...]:
    """The parts of ``all``, ``any`` or ``none``: names, or tables with a ``topic``.

    Raises an `InputError` that names the key that cannot be used.
    """
    if isinstance(value, list) and len(value) > MOST_PARTS:
        raise InputError(f"{len(value):,} topics; {MOST_PARTS} are the most")
    if not isinstance(value, list) or not value:
        raise InputError('give a list of topics, as ["cancel", { topic = "offer", times = 2 }]')
    return tuple(map(_part, value))


def _part(value: Any) -> Part:
    if isinstance(value, str):
        return Part(_name(value))
    if not isinstance(value, dict) or "topic" not in value:
        raise InputError(f'{value!r}: give the name of a topic, or a table with topic = "NAME"')
    try:
        part = record(Part, value)
    except InputError as error:
        raise InputError(f"{value['topic']}: {error}") from None
    if part.within and not part.others:
        raise InputError(f"within of {part.topic}: of what? add after, before or near")
    if len(part.others) > 1:
        raise InputError(f"{part.topic}: give one of {', '.join(_ORDERS)}")
    return part


Parts: TypeAlias = Annotated[tuple[Part, ...], Reader(read_parts)]


@dataclass(frozen=True, slots=True)
class Combination:
    """A demand on texts: what one must have, and lack, to match.

    Attributes:
        all: parts that it has, every one of them.
        any: parts of which it has one; none if there is no such condition.
        none: parts that it lacks.
        per: what matches as a whole: ``document``, ``turn``, or a metadata field, for all documents
            with the same value.
    """

    all: Parts = ()
    any: Parts = ()
    none: Parts = ()
    per: Name = DOCUMENT

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every part."""
        return self.all + self.any + self.none

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of all topics that it asks for, once."""
        names = (name for part in self.parts for name in (part.topic, *part.others))
        return tuple(dict.fromkeys(names))

    @property
    def only_lacks(self) -> bool:
        """Whether a text without any hit matches."""
        return not self.all and not self.any

    def possible(self, said: Set[str]) -> bool:
        """Whether a document with hits of these topics, and of no others, can be in a match."""
        if self.only_lacks:
            return True
        if self.per not in (DOCUMENT, TURN):
            return not said.isdisjoint(self.topics)
        some = [part.topic for part in self.any]
        return said >= set(_names(self.all)) and (not some or not said.isdisjoint(some))

    def part_of(self, topic: str) -> Part:
        """The part that says which hits of a topic count, to place others by."""
        return next((part for part in self.all + self.any if part.topic == topic), Part(topic))

    def impossible(self) -> Iterator[str]:
        """Why no text can ever match, or some part is idle; one line for each reason."""
        for part in self.none:
            if part in self.all or (part == Part(part.topic) and part.topic in _names(self.all)):
                yield f"none: {part.topic} is in all, too; no text can have and lack it"
        for part in self.parts:
            if part.documents > 1 and self.per in (DOCUMENT, TURN):
                yield (
                    f"documents = {part.documents} for {part.topic}: one {self.per} is never in "
                    "several documents; give the field that they share as per"
                )
            if self.per == TURN and TURNS in (one.measure for one in part.lengths):
                yield f"{part.topic}: within one turn, no distance is in turns; use sentences"

    def circles(self) -> Iterator[str]:
        """A line for each topic whose hits are placed by themselves; nothing can tell these."""
        for name in dict.fromkeys(part.topic for part in self.parts):
            if self._circular(name, ()):
                yield f"{name} is placed by itself, through after, before or near; leave out one"

    def _circular(self, name: str, seen: tuple[str, ...]) -> bool:
        if name in seen:
            return True
        return any(self._circular(one, (*seen, name)) for one in self.part_of(name).others)


def _names(parts: tuple[Part, ...]) -> list[str]:
    return [part.topic for part in parts]
