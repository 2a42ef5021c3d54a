"""Captions that roll up or grow, as live and automatic ones do, are said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from slice_os.ingest.readers.reader import Turn

_LEAST_SHARE = 0.5
_MOST_APART = 0.5


class _Line(NamedTuple):
    """A line on the screen, and the turn that it was first said in."""

    text: str
    turn: int


def captions_roll(cues: Sequence[Turn], least: int) -> bool:
    """Whether the captions of a file roll or grow: each repeats lines of the one before it.

    ``least`` are the repetitions that show it, beside half of the cues that may repeat. In other
    files, two people may say the same words, one after the other.
    """
    if any(cue.speaker for cue in cues):
        return False
    rolled = able = 0
    for one, other in pairwise(cues):
        before, lines = _lines(one), _lines(other)
        if not (before and lines and _follows(one.end_time or 0.0, other)):
            continue
        known = _repeated(before, lines)
        new = before[len(before) - known :] != lines
        # Whoever says the same again does not show that lines stay on the screen.
        able += len(lines) > 1 or (known > 0 and new)
        rolled += known > 0 and new
    return rolled >= max(least, _LEAST_SHARE * able)


def said_once(cues: Sequence[Turn]) -> tuple[list[Turn], int]:
    """Every line of captions that roll, and how often a line was shown again."""
    turns: list[Turn] = []
    shown: list[_Line] = []
    again, last = 0, 0.0
    for cue in cues:
        lines = _lines(cue)
        if not lines:
            continue
        known = _repeated([line.text for line in shown], lines)
        # What is said again after a while is no line that stayed on the screen.
        if known == len(lines) and not _follows(last, cue):
            known = 0
        kept = shown[len(shown) - known :]
        for line, text in zip(kept, lines, strict=False):
            again += line.text == text
            if line.text != text:
                turns[line.turn] = replace(turns[line.turn], text=text, end_time=cue.end_time)
        shown = [_Line(text, line.turn) for line, text in zip(kept, lines, strict=False)]
        for text in lines[known:]:
            shown.append(_Line(text, len(turns)))
            turns.append(replace(cue, text=text))
        last = cue.end_time or 0.0
    return turns, again


def _follows(end: float, cue: Turn) -> bool:
    return (cue.start_time or 0.0) <= end + _MOST_APART


def _lines(cue: Turn) -> list[str]:
    return [line.strip() for line in cue.text.split("\n") if line.strip()]


def _repeated(shown: Sequence[str], lines: Sequence[str]) -> int:
    """How many of the last lines that were shown begin the next cue; the last may have grown."""
    for count in range(min(len(shown), len(lines)), 0, -1):
        before, last = [*shown[len(shown) - count : -1]], shown[-1]
        if before == [*lines[: count - 1]] and _grown(last, lines[count - 1]):
            return count
    return 0


def _grown(line: str, other: str) -> bool:
    return other.startswith(line) and not other[len(line) : len(line) + 1].isalnum()
