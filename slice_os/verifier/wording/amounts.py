"""Amounts: the numbers, durations and dates of a text, however they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: float(value) for value, word in enumerate(_SMALL.split(" "))}
_WORDS |= {word: 10.0 * value for value, word in enumerate(_TENS.split(" "), start=2)}


def _numbers(table: str) -> dict[str, float]:
    cells = table.split()
    return {word: float(value) for word, value in zip(cells[::2], cells[1::2], strict=True)}


_SCALES = _numbers("hundred 1e2 thousand 1e3 million 1e6 billion 1e9 dozen 12 k 1e3")
_SINGLE = _numbers(
    """
    once 1 twice 2 thrice 3 double 2 triple 3 both 2 pair 2 couple 2 trio 3 half 0.5 quarter 0.25
    noon 12 midnight 0 single 1 first 1 second 2 third 3 fourth 4 fifth 5 tenth 10 decade 10
    quarterly 4 sixth 6 seventh 7 eighth 8 ninth 9
    """
)
_HOURS = {"minute": 1 / 60} | _numbers(
    """
    hour 1 day 24 night 24 week 168 fortnight 336 month 730 year 8760 annum 8760 decade 87600
    quarter 2190
    """
)
_MONTHS = "january february march april june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NAMES = f"{_MONTHS} {_DAYS}".split(" ")
_NAMED = {name: -(index + 1.0) for index, name in enumerate(_NAMES)}
_TOKEN = re.compile(r"\d[\d,]*(?:[.:]\d+)?|[a-z]+")
_HOUR = r"(?P<hour>\d\d?|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))\b"
_PAST_HOUR = re.compile(rf"\b(?P<part>half|a quarter|quarter) past {_HOUR}")
_TO_HOUR = re.compile(rf"\b(?P<part>a quarter|quarter) to {_HOUR}")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, a duration or the name of a month or day, with its text.

    Attributes:
        value: the number; of a name, a negative one.
        hours: of a duration; 0 if it is none.
    """

    value: float
    hours: float
    text: str

    def same(self, other: Amount) -> bool:
        """Whether two amounts are the same, also in other units of time."""
        if self.hours and other.hours:
            return abs(self.hours - other.hours) <= 0.03 * max(self.hours, other.hours)
        halves = {half for one in (self, other) for half in ("am", "pm") if one.text.endswith(half)}
        if len(halves) > 1:
            return False
        first, second = self.value, other.value
        if any("%" in one.text or "percent" in one.text for one in (self, other)):
            first, second = (value * 100 if value < 1 else value for value in (first, second))
        if "pm" in halves and 12 < max(first, second) <= 24:
            return abs(first - second) == 12
        return first == second


def find_amounts(text: str) -> list[Amount]:
    """The amounts of a text in lower case, in order."""
    text = text.replace("half a dozen", "six").replace("three quarters", "0.75")
    text = _PAST_HOUR.sub(lambda found: _clock(found, 1), text)
    text = _TO_HOUR.sub(lambda found: _clock(found, -1), text)
    tokens = [(found[0], found.start(), found.end()) for found in _TOKEN.finditer(text)]
    amounts: list[Amount] = []
    position = 0
    while position < len(tokens):
        word, start, end = tokens[position]
        value = _value(word)
        position += 1
        if value is None:
            unit = _HOURS.get(word.rstrip("s"))
            article = text[:start].rstrip().rsplit(" ", 1)[-1]
            if unit and article in ("a", "an", "per", "each", "every", "entire", "whole"):
                amounts.append(Amount(1.0, unit, f"{article} {word}"))
            continue
        while position < len(tokens):
            following, between = tokens[position][0], text[end : tokens[position][1]]
            if following in _SCALES and len(between) <= 1:
                value *= _SCALES[following]
            elif between in ("-", " ") and value >= 20 and value % 10 == 0 and _unit(following) > 0:
                value += _unit(following)
            else:
                break
            end = tokens[position][2]
            position += 1
        hours = 0.0
        for following, _, stop in tokens[position : position + 2]:
            unit = _HOURS.get(following.rstrip("s"))
            if unit:
                hours, end = value * unit, stop
                position += 1
                break
        tail = re.match(r"\s?(?:%|percent|pm\b|am\b|o'clock)", text[end:])
        end += tail.end() if tail else 0
        amounts.append(Amount(value, hours, text[start:end]))
    return amounts


def unmatched(these: Sequence[Amount], those: Sequence[Amount]) -> list[Amount]:
    """The amounts of one text that another does not have."""
    return [one for one in these if not any(one.same(other) for other in those)]


def _clock(found: re.Match[str], sign: int) -> str:
    """A time such as "half past five" in digits."""
    hour = _value(found["hour"]) or 0.0
    minutes = 30 if found["part"] == "half" else 15
    total = int(hour * 60) + sign * minutes
    return f"{total // 60}:{total % 60:02}"


def _unit(word: str) -> float:
    value = _WORDS.get(word, 0.0)
    return value if value < 10 else 0.0


def _value(word: str) -> float | None:
    if word[0].isdigit():
        digits = word.replace(",", "")
        if ":" in digits:
            hour, _, minute = digits.partition(":")
            return float(hour) + float(minute) / 60 if float(minute) < 60 else float(hour)
        return float(digits)
    for table in (_WORDS, _SINGLE, _NAMED, _SCALES):
        for form in (word, word.removesuffix("s")):
            if form in table and word != "seconds":
                return float(table[form])
    return None
