"""The report page: histograms, and hits and near misses in context, in one HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.resources import files
from math import isfinite, sqrt
from pathlib import Path

from slice_os.errors import MissingExtraError
from slice_os.hits.bands import rounded_down
from slice_os.hits.hit import Hit
from slice_os.hits.report.digest import BINS, Digest, Group, digest
from slice_os.hits.report.pages import DrawPages, Location, Pages
from slice_os.hits.run_record import RunRecord, write_record
from slice_os.tables.replacing import replacing
from slice_os.version import __version__

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise MissingExtraError("A report", "report") from None

# Of the histograms: the size of their SVG, without the scale below.
_WIDTH, _HEIGHT = 500, 120


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a histogram, in units of its SVG; ``near`` is the height of the near misses."""

    x: float
    width: float
    height: float
    near: float
    title: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars that are not empty, places on the x axis, and the count of the highest bar."""

    name: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    most: int


def write_report(
    hits: Iterable[Hit],
    path: str | Path,
    *,
    threshold: float | None = None,
    min_probability: float | None = None,
    title: str = "Hits",
    draw: DrawPages | None = None,
    run: RunRecord | None = None,
) -> int:
    """Write hits as an HTML page, which appears when it is complete; returns how many there were.

    The page loads nothing from elsewhere, follows the reader's light or dark colour scheme, and
    escapes everything that comes from the hits. It shows the best and the weakest hits of each
    topic, or of each phrase, if there are too many for a page.

    Args:
        hits: in any order.
        path: the file.
        threshold: hits with a lower cosine are shown as near misses.
        min_probability: the same for the probability.
        title: of the page.
        draw: draws the original pages of the hits that are shown.
        run: what made the hits, to be shown at the end, and written beside the file.
    """
    found = digest((hit.to_dict() for hit in hits), threshold, min_probability)
    template = environment("slice_os.hits.report").get_template("hits.html")
    style, script = _asset("hits.css"), _asset("hits.js")
    page = template.render(
        found=found,
        originals=draw(_shown(found)) if draw else Pages(),
        title=title,
        run=run.told() if run else {},
        cuts=" and ".join(
            f"{name} {cut:g} or more"
            for name, cut in (("cosine", threshold), ("probability", min_probability))
            if cut is not None and isfinite(cut)
        ),
        version=__version__,
        date=datetime.now(timezone.utc).isoformat(" ", timespec="minutes").removesuffix("+00:00"),
        # The markup is safe: both are files of this package.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        style_hash=_hash(style),
        script_hash=_hash(script),
        bins=BINS,
        rounded_down=rounded_down,
        histograms=lambda group: [_histogram(name, *both) for name, both in group.counts.items()],
        remaining=_remaining,
        width=_WIDTH,
        height=_HEIGHT,
    )
    with replacing(Path(path)) as part:
        part.write_text(page, encoding="utf-8")
    if run is not None:
        write_record(run, path, found.hits)
    return found.hits


def environment(package: str) -> Environment:
    """The templates of a package, which escape what they are given, and miss none of it."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(found: Digest) -> list[Location]:
    """The places of the hits that the report shows, the best of each group first."""
    best = [one.place for group in found.groups for one in group.best]
    return best + [one.place for group in found.groups for one in group.weakest]


def _histogram(name: str, counts: Sequence[int], near: Sequence[int]) -> Histogram:
    """Bars from the tenth below the lowest value up to 1."""
    filled = [number for number, one in enumerate(counts) if one]
    first = min(filled, default=0) // (BINS // 10) * (BINS // 10)
    width = _WIDTH / (BINS - first)
    most = max(counts)
    bars = (
        Bar(
            x=round((number - first) * width + width * 0.06, 1),
            width=round(width * 0.88, 1),
            height=_height(counts[number], most),
            near=round(_height(counts[number], most) * near[number] / counts[number], 1),
            title=f"{number / BINS:.2f} to {(number + 1) / BINS:.2f}: {counts[number]:,}",
        )
        for number in filled
    )
    every = BINS // 10 if first >= BINS // 2 else BINS // 5
    ticks = (
        (round((number - first) * width, 1), f"{number / BINS:.1f}")
        for number in range(first, BINS + 1, every)
    )
    return Histogram(name, tuple(bars), tuple(ticks), most)


def _height(one: int, most: int) -> float:
    """By the square root, so that few hits show beside many near misses."""
    return round(_HEIGHT * sqrt(one / most), 1)


def _remaining(group: Group) -> str:
    """Numbers of hits from each step of the threshold on, for the script of the report."""
    return " ".join(str(sum(group.strengths[number:])) for number in range(BINS + 1))


def _asset(name: str) -> str:
    return files("slice_os.hits.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """The hash by which a content security policy admits an inline element."""
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
