"""The report page: the table, plots, and hits and misses in context, in one HTML file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import StringIO
from itertools import groupby, pairwise
from math import isfinite
from typing import Any
from xml.etree import ElementTree

from slice_os.errors import MissingExtraError
from slice_os.evaluation.results import Evaluation, Example, Figure, Series, Table

try:
    from markupsafe import Markup
    from matplotlib import style
    from matplotlib.figure import Figure as Canvas

    from slice_os.hits.report.html_page import environment
except ImportError:
    raise MissingExtraError("A report", "eval") from None

# CSS variables of the page: the colour on a light and on a dark ground. Light colours have to
# differ from each other, because they stand for the variables until the SVG is inlined. The series
# colours can be told apart by people with a colour vision deficiency.
PALETTE = {
    "ground": ("#ffffff", "#12161c"),
    "text": ("#1c2128", "#e4e8ee"),
    "soft": ("#5b6471", "#98a2b0"),
    "line": ("#d8dde4", "#323a45"),
    "panel": ("#f6f8fa", "#1a2028"),
    "found": ("#cfe4ff", "#1d3f6b"),
    "gold": ("#1a7f37", "#4cc26a"),
    "series-0": ("#2166c2", "#6fabf5"),
    "series-1": ("#c8500a", "#ff9a5c"),
    "series-2": ("#0f7d5b", "#4ccfa4"),
    "series-3": ("#a8488d", "#e59bcf"),
    "series-4": ("#8a6d00", "#e3c24f"),
    "series-5": ("#3b8fb3", "#8fd3f0"),
    "series-6": ("#5b6470", "#aab4c2"),
    "series-7": ("#b3261e", "#ff8a80"),
}
_INK = {name: light for name, (light, _) in PALETTE.items()}
_SIZE = (5.0, 3.4)
_BINS = 32
# Any: the type of the keys is a Literal of all 300 names that matplotlib knows.
_STYLE: dict[Any, Any] = {
    **dict.fromkeys(("axes.edgecolor", "grid.color", "xtick.color", "ytick.color"), _INK["line"]),
    **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), _INK["soft"]),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "svg.fonttype"), "none"),
    **dict.fromkeys(("axes.axisbelow", "axes.grid"), True),
    **dict.fromkeys(("axes.spines.right", "axes.spines.top"), False),
    "font.size": 11,
    # Names are not formulas: a dollar sign is a dollar sign.
    "text.parse_math": False,
}
_POINTS: dict[str, dict[str, Any]] = {
    "scatter": {"linestyle": "", "alpha": 0.45, "markeredgewidth": 0},
    "line": {"linewidth": 2},
}


def draw(figure: Figure, name: str) -> str | None:
    """Draw a figure as an ``svg`` element; None if it has no points.

    Points that are not finite are left out. Colours are CSS variables named as in `PALETTE`;
    the name is the prefix of the element's ids, unique on the page.
    """
    series = [_finite(one) for one in figure.series]
    if not any(one.x for one in series):
        return None
    written = StringIO()
    # "default" first: a report does not depend on the user's settings of matplotlib.
    styles: list[Any] = ["default", _STYLE, {"svg.hashsalt": name}]
    with style.context(styles), warnings.catch_warnings():
        # The browser has letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas = Canvas(_SIZE, layout="constrained")
        (_histogram if figure.kind == "histogram" else _points)(figure, series, canvas)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        canvas.savefig(written, format="svg", metadata=nothing)
    return _inline(written.getvalue(), name, figure.title, _description(figure, series))


def _points(figure: Figure, series: Sequence[Series], canvas: Canvas) -> None:
    axes = canvas.add_subplot(xlabel=figure.x_label, ylabel=figure.y_label)
    axes.tick_params(length=0)
    if figure.diagonal:
        axes.plot([0, 1], [0, 1], "--", color=_INK["soft"], linewidth=1)
    for number, one in enumerate(series):
        looks = {"color": _INK[f"series-{number}"], **_POINTS[figure.kind]}
        axes.plot(one.x, one.y, marker="o", markersize=5, **looks)


def _histogram(figure: Figure, series: Sequence[Series], canvas: Canvas) -> None:
    """Counts in the same bins, one strip per series, so that none hides another."""
    values = [value for one in series for value in one.x]
    strips = canvas.subplots(len(series), sharex=True, squeeze=False)[:, 0]
    for number, (one, axes) in enumerate(zip(series, strips, strict=True)):
        span = (min(values), max(values))
        axes.hist(one.x, bins=_BINS, range=span, color=_INK[f"series-{number}"], rwidth=0.9)
        title = f"{one.name}: {len(one.x):,} {figure.y_label}"
        axes.set_title(title, loc="left", fontsize=10, pad=3, color=_INK["soft"])
        axes.grid(visible=False, axis="y")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.tick_params(length=0)
    strips[-1].set_xlabel(figure.x_label)


def _description(figure: Figure, series: Sequence[Series]) -> str:
    """Describe the plot for people who cannot see it."""
    parts = [f"{figure.kind.capitalize()} of {figure.y_label} by {figure.x_label}."]
    for one in series:
        named = f"{one.name}: " if one.name else ""
        if not one.x:
            parts.append(f"{named}no points.")
            continue
        points = f"{named}{len(one.x):,} points, {figure.x_label} {_range(one.x)}"
        parts.append(f"{points}, {figure.y_label} {_range(one.y)}." if one.y else f"{points}.")
    return " ".join(parts)


def _range(values: Sequence[float]) -> str:
    return f"from {min(values):.3g} to {max(values):.3g}"


def _inline(svg: str, name: str, title: str, description: str) -> str:
    """Turn a standalone SVG file into an element of the page, described for screen readers."""
    root = ElementTree.fromstring(svg)  # noqa: S314  matplotlib wrote it
    variables = {light: f"var(--{variable})" for variable, light in _INK.items()}
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(key): value for key, value in element.attrib.items()}
        if element.tag == "g":  # ids such as axes_1 repeat in each plot; nothing refers to them
            element.attrib.pop("id", None)
        if css := element.get("style"):
            for light, variable in variables.items():
                css = css.replace(light, variable)
            element.set("style", css)
    for parent in list(root.iter()):  # a style sheet in the SVG would apply to the whole page
        for child in parent.findall("style"):
            parent.remove(child)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-labelledby": f"{name}-title",
        "aria-describedby": f"{name}-desc",
    }
    for place, (tag, text) in enumerate({"title": title, "desc": description}.items()):
        element = ElementTree.Element(tag, id=f"{name}-{tag}")
        element.text = text
        root.insert(place, element)
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


def _finite(series: Series) -> Series:
    if not series.y:
        return Series(series.name, tuple(value for value in series.x if isfinite(value)))
    pairs = [(a, b) for a, b in zip(series.x, series.y, strict=True) if isfinite(a) and isfinite(b)]
    return Series(series.name, tuple(a for a, _ in pairs), tuple(b for _, b in pairs))


def render_report(evaluation: Evaluation) -> str:
    """Render an evaluation as an HTML page.

    The page loads nothing from elsewhere, follows the reader's light or dark colour scheme, and
    escapes everything that comes from the evaluation.
    """
    templates = environment("slice_os.evaluation.report")
    templates.filters["plain"] = _plain
    return templates.get_template("report.html").render(
        evaluation=evaluation,
        palette=PALETTE,
        table=Table.of(evaluation.rows),
        quoted=[str(row.get("source", "")).startswith("quoted") for row in evaluation.rows],
        plots=[_plot(figure, number) for number, figure in enumerate(evaluation.figures)],
        groups=[
            (group, [_excerpt(example) for example in examples])
            for group, examples in groupby(evaluation.examples, key=lambda example: example.group)
        ],
    )


def _plot(figure: Figure, number: int) -> dict[str, Any]:
    """A figure ready for the template; ``svg`` is None if there is nothing to show."""
    svg = draw(figure, f"plot-{number}")
    # Histograms carry their names on the strips.
    named = figure.series if figure.kind != "histogram" else ()
    legend = [(place, one.name) for place, one in enumerate(named) if one.name]
    # The markup is safe: an XML serialiser wrote it.
    return {"title": figure.title, "svg": svg and Markup(svg), "legend": legend}  # noqa: S704


def _excerpt(example: Example) -> dict[str, Any]:
    """Cut the text where a marking starts or ends; what was found and what is right may overlap."""
    marked = (("found", example.found), ("gold", example.gold))
    spans = {name: span for name, span in marked if span}
    edges = {0, len(example.text), *(edge for span in spans.values() for edge in span)}
    cuts = sorted(edge for edge in edges if 0 <= edge <= len(example.text))
    pieces = []
    for start, end in pairwise(cuts):
        classes = [name for name, span in spans.items() if span[0] <= start and end <= span[1]]
        pieces.append((" ".join(classes), example.text[start:end]))
    return {"query": example.query, "pieces": pieces, "note": example.note}


def _plain(value: object) -> str:
    """A setting as people read it: lists without brackets."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
