"""Cuts for a target precision: the least probability or cosine from which enough hits are right."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from slice_os.errors import InputError
from slice_os.hits.labelled import labelled_rows

MEASURES = ("probability", "cosine")


@dataclass(frozen=True, slots=True)
class Cut:
    """A least probability or cosine, with the precision of the labelled hits that reach it.

    Attributes:
        by: ``probability`` or ``cosine``.
        value: hits with this value or a higher one stay.
        precision: share of right ones among the labelled hits that stay.
        low: lower end of the 95 % interval of the precision, by Wilson (1927).
        high: its upper end.
        hits: labelled hits that stay.
        right: right ones among them.
        found: share of all right labelled hits that stay.
        labels: labelled hits in all.
    """

    by: str
    value: float
    precision: float
    low: float
    high: float
    hits: int
    right: int
    found: float
    labels: int

    def to_json(self) -> bytes:
        """The cut as one line of JSON, including the newline; floats rounded to six decimals."""
        values = asdict(self).items()
        rounded = {name: round(one, 6) if isinstance(one, float) else one for name, one in values}
        return orjson.dumps(rounded, option=orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class LabelledHits:
    """Whether hits are right, as people say, and their values by measure; None for no value."""

    values: dict[str, tuple[float | None, ...]]
    right: tuple[bool, ...]

    def cut(self, precision: float, by: str = "probability") -> Cut:
        """The cut of `least_cut`, with its errors; InputError, too, if a hit has no such value."""
        values = [value for value in self.values[by] if value is not None]
        if len(values) < len(self.right):
            raise InputError(f"{len(self.right) - len(values)} of the labelled hits have no {by}")
        return least_cut(values, self.right, precision, by)


def least_cut(
    values: npt.ArrayLike, right: npt.ArrayLike, precision: float, by: str = "probability"
) -> Cut:
    """The lowest cut whose precision is surely high enough: the lower end of its interval is.

    So no cut rests on a few hits: for .9, 35 of 35 right ones are needed, or 52 of 53. The cut is
    chosen by the same labels as its precision, which is therefore a little too good.

    Args:
        values: ``(n,)`` of hits.
        right: ``(n,)`` whether each hit is right.
        precision: share of right hits, above 0 and up to 1.
        by: ``probability`` or ``cosine``.

    Raises an `InputError` if there is no label, or no cut is surely as precise.
    """
    if not 0 < precision <= 1:
        raise InputError(f"precision {precision}: give a number above 0 and up to 1, such as 0.9")
    ranked = np.asarray(values, dtype=np.float64)
    falling = np.argsort(-ranked, kind="stable")
    ranked, is_right = ranked[falling], np.asarray(right, dtype=bool)[falling]
    if not len(ranked):
        raise InputError("no labelled hit; label some, right ones and wrong ones")
    counts, found = np.arange(1, len(ranked) + 1), is_right.cumsum()
    # Hits of one value stay or go together.
    ends = np.append(ranked[1:] < ranked[:-1], True)
    pairs = zip(found.tolist(), counts.tolist(), strict=True)
    surely = np.where(ends, [wilson_interval(*pair)[0] for pair in pairs], -1.0)
    enough = np.flatnonzero(surely >= precision)
    if not len(enough):
        best = int(surely.argmax())
        raise InputError(
            f"no {by} surely has a precision of {precision:g}: the best is {ranked[best]:.3f}, "
            f"with {found[best]:,} of {counts[best]:,} right, at least {surely[best]:.2f}; label "
            "more hits, or ask for less"
        )
    last = int(enough[-1])
    hits, n_right = int(counts[last]), int(found[last])
    low, high = wilson_interval(n_right, hits)
    share, recall = n_right / hits, n_right / int(found[-1])
    value = float(ranked[last])
    return Cut(by, value, share, low, high, hits, n_right, recall, len(ranked))


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson (1927); trials are 1 or more."""
    deviations = 1.96
    share, square = successes / trials, deviations**2
    middle = share + square / (2 * trials)
    reach = deviations * sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    total = 1 + square / trials
    return max(0.0, (middle - reach) / total), min(1.0, (middle + reach) / total)


def read_labelled(path: str | Path) -> LabelledHits:
    """Hits as `slice-os mine` writes them, with a ``label``; see `labelled_rows`.

    Raises an `InputError` naming file and place.
    """
    rows = [_checked(row, where) for where, row in labelled_rows(path)]
    read = [row for row in rows if row.get("label") is not None]
    if not read:
        raise InputError(f"{path}: no hit has a label; in JSON lines, 'label' is true or false")
    return LabelledHits(
        {name: tuple(row.get(name) for row in read) for name in MEASURES},
        tuple(bool(row["label"]) for row in read),
    )


def _checked(row: dict[str, Any], where: str) -> dict[str, Any]:
    for name in MEASURES:
        value = row.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
            raise InputError(f"{where}: field {name!r} is no number")
    return row
