"""The format of the dates of a column, settled by those of its dates that can be read only so."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from slice_os.ingest.readers.dates import ORDERS, SERIAL, order_shown, serial_digits
from slice_os.ingest.readers.reader import ReadNote

_MOST_SHOWN = 2
_PRECISE = 4


@dataclass
class DateFormats:
    """The orders that the dates of columns show; ``wanted`` holds for all, if it is given."""

    wanted: str | None = None
    _clear: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))
    _unclear: Counter[str] = field(default_factory=Counter)
    _values: Counter[str] = field(default_factory=Counter)
    _serial: Counter[str] = field(default_factory=Counter)
    _precise: Counter[str] = field(default_factory=Counter)

    def look(self, dates: Mapping[str, Iterable[Any]], row: int | None) -> bool:
        """Learn from the dates of a row, by their column; whether one could be two."""
        before = self._unclear.total()
        for column, values in dates.items() if self.wanted is None else ():
            for value in values:
                if value is not None and value != "":
                    self._learn(column, value, row or 1)
        return self._unclear.total() > before

    def _learn(self, column: str, value: Any, row: int) -> None:
        digits, shown = serial_digits(value), order_shown(value)
        self._values[column] += 1
        self._serial[column] += digits >= 0
        self._precise[column] += digits >= _PRECISE
        if shown == "":
            self._unclear[column] += 1
        elif shown is not None:
            rows = self._clear[column].setdefault(shown, [])
            if len(rows) < _MOST_SHOWN and row not in rows:
                rows.append(row)

    def of(self, column: str | None) -> str | None:
        """The date format of a column; None if nothing settles it."""
        if self.wanted is not None or column is None:
            return self.wanted
        count = self._values[column]
        if count and self._serial[column] == count and 2 * self._precise[column] >= count:
            return SERIAL
        shown = list(self._clear.get(column, ()))
        return shown[0] if len(shown) == 1 else None

    def notes(self, source: str) -> Iterator[ReadNote]:
        """The evidence for columns with ambiguous dates, or why there is none."""
        for column, count in self._unclear.items():
            clear = self._clear.get(column, {})
            if order := self.of(column):
                told = f"{order}, settled by {_rows(clear[order])}"
                counts = {f"dates read as {order}": count}
            elif clear:
                shown = [f"{order} by {_rows(clear[order])}" for order in ORDERS]
                told = f"{' and '.join(shown)}, so that others are refused; give --date-format"
                counts = {"dates that could be two": count}
            else:
                continue
            yield ReadNote(source, None, f"dates of {column!r}: {told}", "", counts)


def _rows(numbers: list[int]) -> str:
    return f"row{'s' * (len(numbers) > 1)} {' and '.join(map(str, numbers))}"
