"""Plots of the report as SVG: scatter, histogram and line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log, log10

from slice_os.evaluation.results import Figure, Series

# On light and on dark ground; apart for people who do not see all colours (Okabe and Ito).
COLOURS = (
    ("#2166c2", "#6fabf5"),
    ("#c8500a", "#ff9a5c"),
    ("#0f7d5b", "#4ccfa4"),
    ("#a8488d", "#e59bcf"),
    ("#8a6d00", "#e3c24f"),
    ("#3b8fb3", "#8fd3f0"),
    ("#5b6470", "#aab4c2"),
    ("#b3261e", "#ff8a80"),
)
WIDTH, HEIGHT = 420, 280
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 10, 40
STRIPS_LEFT = 96
BINS = 32


@dataclass(frozen=True, slots=True)
class _Axis:
    """Numbers from ``low`` to ``high`` on a line from ``start`` to ``end`` in the picture."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a number lies."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """About five round numbers within the axis."""
        rough = (self.high - self.low) / 5
        size = 10 ** floor(log10(rough))
        step = min((size * by for by in (1, 2, 5, 10)), key=lambda step: abs(log(step / rough)))
        first = floor(self.low / step)
        marks = [step * (first + number) for number in range(12)]
        slack = step * 1e-6
        return [mark for mark in marks if self.low - slack <= mark <= self.high + slack]


def draw(figure: Figure) -> str:
    """A figure as an ``svg`` element; points that are no numbers are left out."""
    series = [_finite(one) for one in figure.series]
    if not any(one.x for one in series):
        return '<p class="soft">nothing to show</p>'
    return _DRAWINGS[figure.kind](figure, series)


def _scatter(figure: Figure, series: Sequence[Series]) -> str:
    x, y = _axes(series, figure.diagonal)
    points = [
        f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="2.6" fill="var(--c{number})" '
        f'fill-opacity="0.45"/>'
        for number, one in enumerate(series)
        for a, b in zip(one.x, one.y, strict=True)
    ]
    return _plot(figure, x, y, points, series)


def _line(figure: Figure, series: Sequence[Series]) -> str:
    x, y = _axes(series, figure.diagonal)
    marks = []
    for number, one in enumerate(series):
        places = [(x.at(a), y.at(b)) for a, b in zip(one.x, one.y, strict=True)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        colour = f"var(--c{number})"
        marks.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
            'stroke-linejoin="round"/>'
        )
        marks += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places]
    return _plot(figure, x, y, marks, series)


def _histogram(figure: Figure, series: Sequence[Series]) -> str:
    """Counts in common bins, a strip for each series, so that none hides another."""
    low, high = _range([value for one in series for value in one.x])
    width = (high - low) / BINS
    x = _Axis(low, high, STRIPS_LEFT, WIDTH - RIGHT)
    strip = (HEIGHT - BOTTOM - TOP) / len(series)
    marks = []
    for number, one in enumerate(series):
        bins = [0] * BINS
        for value in one.x:
            bins[min(BINS - 1, int((value - low) / width))] += 1
        ground = TOP + strip * (number + 1)
        y = _Axis(0, max(1, *bins), ground, ground - strip + 6)
        marks += [
            f'<rect x="{x.at(low + place * width) + 0.5:.1f}" y="{y.at(count):.1f}" '
            f'width="{x.at(width) - x.at(0) - 1:.1f}" height="{ground - y.at(count):.1f}" '
            f'fill="var(--c{number})"/>'
            for place, count in enumerate(bins)
            if count
        ]
        marks.append(
            f'<line class="axis" x1="{STRIPS_LEFT}" y1="{ground:.1f}" x2="{WIDTH - RIGHT}" '
            f'y2="{ground:.1f}"/>'
            f'<text x="{STRIPS_LEFT - 8}" y="{ground - 16:.1f}" text-anchor="end">'
            f"{escape(one.name)}</text>"
            f'<text x="{STRIPS_LEFT - 8}" y="{ground - 3:.1f}" text-anchor="end">'
            f"{len(one.x):,} {escape(figure.y_label)}</text>"
        )
    return _frame(figure, [*_vertical(x), *marks, _across(figure, x)])


_DRAWINGS: dict[str, Callable[[Figure, Sequence[Series]], str]] = {
    "scatter": _scatter,
    "histogram": _histogram,
    "line": _line,
}


def _plot(
    figure: Figure, x: _Axis, y: _Axis, marks: Sequence[str], series: Sequence[Series]
) -> str:
    """Marks between two axes, with a legend below where the series have names."""
    parts = _vertical(x)
    for tick in y.ticks():
        place = y.at(tick)
        parts.append(
            f'<line class="axis" x1="{LEFT}" y1="{place:.1f}" x2="{WIDTH - RIGHT}" '
            f'y2="{place:.1f}"/><text x="{LEFT - 6}" y="{place + 4:.1f}" '
            f'text-anchor="end">{tick:.10g}</text>'
        )
    if figure.diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        parts.append(
            f'<line class="guide" x1="{x.at(low):.1f}" y1="{y.at(low):.1f}" '
            f'x2="{x.at(high):.1f}" y2="{y.at(high):.1f}"/>'
        )
    parts += [*marks, _across(figure, x)]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text transform="translate(12 {middle:.0f}) rotate(-90)" '
        f'text-anchor="middle">{escape(figure.y_label)}</text>'
    )
    named = [(number, one.name) for number, one in enumerate(series) if one.name]
    for place, (number, name) in enumerate(named):
        left, top = LEFT + 122 * (place % 3), HEIGHT + 18 * (place // 3)
        parts.append(
            f'<rect x="{left}" y="{top}" width="10" height="10" rx="2" fill="var(--c{number})"/>'
            f'<text x="{left + 15}" y="{top + 9}">{escape(name)}</text>'
        )
    return _frame(figure, parts, 18 * ((len(named) + 2) // 3))


def _frame(figure: Figure, parts: Sequence[str], legend: int = 0) -> str:
    return "".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT + legend}" role="img" '
            f'aria-label="{escape(figure.title)}">',
            *parts,
            "</svg>",
        ]
    )


def _vertical(x: _Axis) -> list[str]:
    """Lines at the ticks of the horizontal axis, and their numbers."""
    return [
        f'<line class="axis" x1="{x.at(tick):.1f}" y1="{TOP}" x2="{x.at(tick):.1f}" '
        f'y2="{HEIGHT - BOTTOM}"/><text x="{x.at(tick):.1f}" y="{HEIGHT - BOTTOM + 15}" '
        f'text-anchor="middle">{tick:.10g}</text>'
        for tick in x.ticks()
    ]


def _across(figure: Figure, x: _Axis) -> str:
    """The label of the horizontal axis."""
    return (
        f'<text x="{(x.start + x.end) / 2:.0f}" y="{HEIGHT - 8}" '
        f'text-anchor="middle">{escape(figure.x_label)}</text>'
    )


def _axes(series: Sequence[Series], square: bool) -> tuple[_Axis, _Axis]:
    across = [value for one in series for value in one.x]
    up = [value for one in series for value in one.y]
    if square:
        across = up = [*across, *up, 0.0, 1.0]
    return (
        _Axis(*_range(across), LEFT, WIDTH - RIGHT),
        _Axis(*_range(up), HEIGHT - BOTTOM, TOP),
    )


def _range(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the greatest with a little air; never of no width."""
    low, high = min(values), max(values)
    air = (high - low) * 0.03 or max(abs(low), 1.0) * 0.5
    return low - air, high + air


def _finite(series: Series) -> Series:
    if not series.y:
        return Series(series.name, tuple(value for value in series.x if isfinite(value)))
    pairs = [(a, b) for a, b in zip(series.x, series.y, strict=True) if isfinite(a) and isfinite(b)]
    return Series(series.name, tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
