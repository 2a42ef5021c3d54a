"""Times as people write them: seconds, clock times, dates."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from slice_os.errors import InputError

_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?", re.ASCII)


def clock_seconds(text: str) -> float | None:
    """The seconds of ``[HH:]MM:SS[.mmm]``; None if the text is something else."""
    found = _CLOCK.fullmatch(text.strip()[:40])
    if found is None:
        return None
    hours, minutes, seconds, fraction = found.groups()
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole + float(f"0.{fraction or 0}")


def moment(value: Any, where: str) -> float:
    """Convert a number, a clock time, or a date and time, which counts from 1970, to seconds.

    Args:
        value: the time as given.
        where: its name, for the error message.

    Raises:
        InputError: if it is none of these.
    """
    if isinstance(value, datetime):
        return _since_1970(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        clock = clock_seconds(value)
        if clock is not None:
            return clock
        for parse in (float, _date):
            try:
                return parse(value)
            except ValueError:
                continue
    shown = f"{value!r:.40}" if isinstance(value, str) else f"a {type(value).__name__}"
    raise InputError(f"{where} is {shown}; give seconds, HH:MM:SS or a date and time")


def _date(text: str) -> float:
    return _since_1970(datetime.fromisoformat(text.strip()[:40].replace("Z", "+00:00")))


def _since_1970(value: datetime) -> float:
    return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
