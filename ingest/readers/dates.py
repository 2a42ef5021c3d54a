"""Dates as people and machines write them, read to ISO 8601; what could mean two is refused."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from datetime import date, datetime, timedelta, timezone
from functools import cache
from typing import Any

from slice_os.errors import InputError
from slice_os.query.filter_values import parse_date

ORDERS = "dmy", "mdy"
"""Date formats for numbers such as 03/04/2026: the day first, or the month."""

SERIAL = "excel"
"""The date format of Excel's numbers: days since 1900, with the time as a fraction."""

_MONTHS = (
    # In English, German, French, Spanish, Italian, Portuguese and Dutch, without accents.
    "january february march april may june july august september october november december",
    "januar februar marz april mai juni juli august september oktober november dezember",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
_SHORT = {"mrz": 3, "mrt": 3}
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")
_OF = re.compile(r"(?<=\w) (?:de|of) (?=\w)")
_CHINESE = re.compile(r"(\d{4})\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?日")
_WEEKDAY = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+|"
    r"[a-z]{2,12}[.,]{1,2}\s+(?=\d{1,2}(?:\.?\s+[a-z]|[./]\d))"
)
_COMPACT = re.compile(
    r"((?:19|20)\d\d)(\d\d)(\d\d)(?:[t ]?(\d\d)(\d\d)(\d\d)?([.,]\d+)?(z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_EPOCH = re.compile(r"(?:(\d{9,10})(\.\d+)?|(\d{10})(\d{3}|\d{6}|\d{9}))", re.ASCII)
# Digits that may also be a year, a month, a day and an hour.
_TO_HOURS = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])", re.ASCII)
_TIMED = re.compile(
    r"""
    (?P<day>.+?) (?: (?: (?<=\d)t | ,?\s+(?:(?:at|um|a|om|-)\s+)? )
        (?P<hour>\d{1,2}) : (?P<minute>\d\d) (?: :(?P<second>\d\d) (?:[.,](?P<fraction>\d{1,9}))? )?
        (?: \s*(?P<half>[ap])\.?m\.? )?
        (?: \s*(?P<utc>z|utc|gmt(?!\s*[+-])) |
            \s*(?:gmt|utc)?\s*(?P<zone>[+-]\d\d) (?: :?(?P<minutes>\d\d) )? )?
        (?: \s*\([^()]*\) | \s*uhr )?
    )?
    """,
    re.VERBOSE | re.ASCII,
)
# As Unix and Twitter write dates: the time is before the year.
_YEAR_LAST = re.compile(
    r"(?P<day>[a-z]+ +\d{1,2}) (?P<time>\d\d:\d\d(?::\d\d)?(?: ?[ap]m)?(?: [+-]?\w{1,4})?)"
    r" (?P<year>\d{4})",
    re.ASCII,
)
_NUMERIC = re.compile(r"(?:[a-z]+\.?,?\s+)?\d{1,2}\s*[-/.,\s]\s*\d{1,2}\s*[-/.,\s]\s*\d", re.ASCII)
_SERIAL_NUMBER = re.compile(r"\d{5,6}(?:\.\d+)?", re.ASCII)
_SERIAL_BEGIN = datetime(1899, 12, 30)
_SERIALS = range(10_000, 110_000)
_SAMPLE = datetime(2031, 12, 28, 13, 14, 15, tzinfo=timezone.utc)
_HOURS = "%H", "%I", "%c", "%X"
# What strftime writes in some systems, in the codes that strptime reads.
_CODES = {"%-": "%", "%e": "%d", "%k": "%H", "%l": "%I", "%P": "%p", "%h": "%b"}
_CODES |= {"%D": "%m/%d/%y", "%F": "%Y-%m-%d", "%R": "%H:%M", "%T": "%H:%M:%S"}
_MOST = 80


def check_date_format(wanted: str) -> None:
    """Raise an InputError on a date format that is no order, nor tells day, month and year."""
    if wanted in (*ORDERS, SERIAL):
        return
    told = (
        f"date format {wanted!r}: give dmy, mdy, or a pattern with day, month and year, "
        "such as '%d.%m.%Y %H:%M'"
    )
    pattern = _pattern(wanted)
    try:
        day = datetime.strptime(_SAMPLE.strftime(pattern), pattern).date()
    except ValueError as error:
        raise InputError(f"{told}; this one cannot be read back: {error}") from None
    if day != _SAMPLE.date():
        raise InputError(told)


@cache
def _pattern(wanted: str) -> str:
    return re.sub(r"%.", lambda code: _CODES.get(code[0], code[0]), wanted)


def read_date(value: Any, where: str, wanted: str | None = None) -> str:
    """A date, with or without a time, in ISO 8601; ``where`` is its name in messages.

    It is given as a text or date, in seconds since 1970, or parts of them down to nanoseconds, or
    as a number of Excel. If one of `ORDERS` or a pattern of ``strptime`` is wanted, nothing else
    will do.

    Raises an `InputError` if it is no date, or could be two.
    """
    found = find_date(value, where, wanted)
    if found is None and (wanted is None or wanted in ORDERS):
        found = find_date(value, where, SERIAL)
    if found is None:
        how = "not in the date format " + wanted if wanted else "no date that can be read"
        raise InputError(
            f"{where} is {value!r:.60}, {how}; give one such as 2026-03-02 09:14, or --date-format"
        )
    return found


def find_date(value: Any, where: str, wanted: str | None = None) -> str | None:
    """As `read_date`, but None if it is no date."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = _plain(value)
    if len(text) > _MOST:
        return None
    try:
        if wanted == SERIAL:
            return _serial(text)
        if wanted is not None and wanted not in ORDERS:
            pattern = _pattern(wanted)
            made = datetime.strptime(str(value).strip(), pattern)
            is_timed = any(code in pattern for code in _HOURS)
            return (made if is_timed else made.date()).isoformat()
        told = f"{where} is {value!r}"
        return _epoch(text, told) or _calendar(text.lower(), told, wanted)
    except (ValueError, OverflowError):
        return None


def _plain(value: Any) -> str:
    """A value as text, with plain spaces and dashes, and without accents or unseen characters."""
    text = str(value).strip()
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text[: 2 * _MOST]).translate(_DASHES)
    return "".join(one for one in apart if unicodedata.category(one) not in ("Mn", "Cf")).strip()


def order_shown(value: Any) -> str | None:
    """The one of `ORDERS` in which alone a value is a date; empty if it is another date in each.

    None if the order does not matter.
    """
    if not isinstance(value, str) or not _NUMERIC.match(_plain(value)[:_MOST].lower()):
        return None
    dates = [find_date(value, "", order) for order in ORDERS]
    if dates[0] == dates[1]:
        return None
    return "" if all(dates) else ORDERS[dates[0] is None]


def serial_digits(value: Any) -> int:
    """Digits of the time of a number that may be Excel's date; -1 if it is none."""
    text = str(value).strip()
    return -1 if _serial(text) is None else len(text.partition(".")[2])


def _serial(text: str) -> str | None:
    if not _SERIAL_NUMBER.fullmatch(text) or int(float(text)) not in _SERIALS:
        return None
    made = _SERIAL_BEGIN + timedelta(seconds=round(float(text) * 86_400))
    return (made if "." in text else made.date()).isoformat()


def _epoch(text: str, told: str) -> str | None:
    found = _EPOCH.fullmatch(text)
    if found is None:
        return None
    if _TO_HOURS.fullmatch(text):
        raise InputError(
            f"{told}: seconds since 1970, or a day and its hour; write it as 2026-03-02 09:00"
        )
    seconds, fraction, whole, milliseconds = found.groups()
    moment = datetime.fromtimestamp(int(seconds or whole), timezone.utc).isoformat()
    part = fraction or (f".{milliseconds}" if milliseconds else "")
    return moment.removesuffix("+00:00") + part[:10] + "Z"


def _calendar(text: str, told: str, order: str | None) -> str | None:
    compact = _COMPACT.fullmatch(text)
    if compact is not None:
        year, month, day, hour, minute, second, fraction, zone = compact.groups("")
        clock = f"t{hour}:{minute}{second and ':' + second}{fraction}{zone}" if hour else ""
        text = f"{year}-{month}-{day}{clock}"
    weekday = _WEEKDAY.match(text)
    text = _OF.sub(" ", _CHINESE.sub(r"\1-\2-\3", text[weekday.end() if weekday else 0 :]))
    text = _YEAR_LAST.sub(r"\g<day> \g<year> \g<time>", text)
    found = _TIMED.fullmatch(text)
    if found is None:
        return None
    iso = _day(found["day"], told, order)
    if iso is None:
        return None
    if found["hour"]:
        second = f":{found['second']}" if found["second"] else ""
        fraction = f".{found['fraction']}" if found["fraction"] else ""
        zone = f"{found['zone']}:{found['minutes'] or '00'}" if found["zone"] else ""
        clock = f"{_hour(found):02}:{found['minute']}{second}{fraction}"
        iso = f"{iso}T{clock}{'Z' if found['utc'] else zone}"
    return iso if parse_date(iso) is not None else None


def _hour(found: re.Match[str]) -> int:
    hour, half = int(found["hour"]), found["half"]
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("no hour of half a day")
    return hour % 12 + (12 if half == "p" else 0)


def _day(text: str, told: str, order: str | None) -> str | None:
    """The ISO date of a year, a month and a day in any order that is clear."""
    parts = re.split(
        r"\s*[\s,./-]\s*", re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|(?<=[a-z])\.(?=\s)", "", text)
    )
    if len(parts) != 3:
        return None
    first, second, third = parts
    if len(first) == 4 and first.isdecimal():
        return _iso(first, _month(second), third)
    numeric = first.isdecimal() and second.isdecimal()
    if len(third) != 4 and not (len(third) == 2 and (order or numeric)):
        return None
    year = third if len(third) == 4 else str(datetime.strptime(third, "%y").year)
    if not first.isdecimal():
        return _iso(year, _month(first), second)
    if not second.isdecimal():
        return _iso(year, _month(second), first)
    if order is None and first != second and max(int(first), int(second)) <= 12:
        raise InputError(
            f"{told}: the day or the month may be first; give --date-format dmy or mdy"
        )
    year_first = "-" in text and len(third) == 2 and int(second) <= 12 and int(third) <= 31
    if order is None and year_first:
        return None
    month_first = order == "mdy" or (order is None and int(second) > 12)
    return _iso(year, int(first), second) if month_first else _iso(year, int(second), first)


def _month(text: str) -> int:
    return int(text) if text.isdecimal() else _months().get(text, 0)


@cache
def _months() -> dict[str, int]:
    """The numbers of months by their names, and by three or four letters that are only of one."""
    found: dict[str, set[int]] = defaultdict(set, {name: {at} for name, at in _SHORT.items()})
    for names in _MONTHS:
        for number, name in enumerate(names.split(), 1):
            for own in {name, name[:3], name[:4]}:
                found[own].add(number)
    return {name: min(numbers) for name, numbers in found.items() if len(numbers) == 1}


def _iso(year: str, month: int, day: str) -> str:
    return date(int(year), month, int(day)).isoformat()
