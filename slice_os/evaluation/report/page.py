"""The report page: the table, plots, and hits and misses in context, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from slice_os.errors import MissingExtraError
from slice_os.evaluation.report.plots import PALETTE, draw
from slice_os.evaluation.result_tables import Table
from slice_os.evaluation.results import Evaluation, Example, Figure, Row

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise MissingExtraError("A report", "eval") from None


def render_report(evaluation: Evaluation) -> str:
    """Render an evaluation as an HTML page.

    The page loads nothing from elsewhere, follows the reader's light or dark colour scheme, and
    escapes everything that comes from the evaluation.
    """
    environment = Environment(
        loader=PackageLoader("slice_os.evaluation.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["plain"] = _plain
    return environment.get_template("report.html").render(
        evaluation=evaluation,
        palette=PALETTE,
        table=Table.of(evaluation.rows),
        quoted=[_is_quoted(row) for row in evaluation.rows],
        plots=[_plot(figure, number) for number, figure in enumerate(evaluation.figures)],
        groups=[
            (group, [_excerpt(example) for example in examples])
            for group, examples in groupby(evaluation.examples, key=lambda example: example.group)
        ],
    )


@dataclass(frozen=True, slots=True)
class _Plot:
    """A figure ready for the template; ``svg`` is None if there is nothing to show."""

    title: str
    svg: Markup | None
    legend: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """An example whose text is cut into pieces of one marking each."""

    query: str
    pieces: tuple[tuple[str, str], ...]
    note: str


def _plot(figure: Figure, number: int) -> _Plot:
    svg = draw(figure, f"plot-{number}")
    # Histograms carry their names on the strips.
    named = figure.series if figure.kind != "histogram" else ()
    legend = tuple((place, one.name) for place, one in enumerate(named) if one.name)
    # The markup is safe: an XML serialiser wrote it.
    return _Plot(figure.title, None if svg is None else Markup(svg), legend)  # noqa: S704


def _excerpt(example: Example) -> _Excerpt:
    """Cut the text where a marking starts or ends; what was found and what is right may overlap."""
    spans = {"found": example.found, "gold": example.gold}
    edges = {0, len(example.text)}
    edges.update(edge for span in spans.values() if span for edge in span)
    cuts = sorted(edge for edge in edges if 0 <= edge <= len(example.text))
    pieces = (
        (_marking(spans, start, end), example.text[start:end]) for start, end in pairwise(cuts)
    )
    return _Excerpt(example.query, tuple(pieces), example.note)


def _marking(spans: dict[str, tuple[int, int] | None], start: int, end: int) -> str:
    """The CSS classes of a piece of text."""
    return " ".join(
        name for name, span in spans.items() if span and span[0] <= start and end <= span[1]
    )


def _is_quoted(row: Row) -> bool:
    return str(row.get("source", "")).startswith("quoted")


def _plain(value: object) -> str:
    """A setting as people read it: lists without brackets."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
