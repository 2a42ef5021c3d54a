"""A report as one HTML file: the table, plots as inline SVG, and hits and misses in context."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby, pairwise

from slice_os.evaluation.report.plots import COLOURS, draw
from slice_os.evaluation.results import Evaluation, Example, Figure, Row, Table

STYLE = """
:root { color-scheme: light dark;
  --ground: #ffffff; --text: #1c2128; --soft: #5b6470; --line: #d8dde4; --panel: #f6f8fa;
  --found: #cfe4ff; --gold: #1a7f37; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #12161c; --text: #e4e8ee; --soft: #98a2b0; --line: #323a45; --panel: #1a2028;
  --found: #1d3f6b; --gold: #4cc26a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 78rem; background: var(--ground);
  color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p, ul { margin: .25rem 0; }
.soft, figcaption { color: var(--soft); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { padding: .35rem .7rem; text-align: left; white-space: nowrap; }
th { background: var(--panel); font-weight: 600; position: sticky; top: 0; }
tr + tr td, tbody tr:first-child td { border-top: 1px solid var(--line); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.quoted td { color: var(--soft); font-style: italic; }
.plots { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(28rem, 1fr)); }
figure { margin: 0; padding: .75rem; border: 1px solid var(--line); border-radius: 6px; }
figcaption { font-size: .875rem; margin-bottom: .25rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 11px; font-family: inherit; }
.axis { stroke: var(--line); }
.guide { stroke: var(--soft); stroke-dasharray: 4 4; }
.examples { display: grid; gap: .75rem;
  grid-template-columns: repeat(auto-fill, minmax(26rem, 1fr)); }
article { padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 6px; }
article p { overflow-wrap: anywhere; }
article .query { font-weight: 600; }
article .note { font-size: .8125rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.found { background: var(--found); border-radius: 3px; box-decoration-break: clone;
  -webkit-box-decoration-break: clone; padding: .1em 0; }
.gold { text-decoration: underline 2px var(--gold); text-underline-offset: .2em; }
@media (max-width: 32rem) { body { padding: 1rem; }
  .plots, .examples { grid-template-columns: minmax(0, 1fr); } }
"""


def render_report(evaluation: Evaluation) -> str:
    """The report of an evaluation: self-contained, all data escaped, for light and dark."""
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(evaluation.harness)} – slice-os eval</title>",
        f"<style>{STYLE}{_series_style()}</style></head>",
        f"<body><h1>{escape(evaluation.harness)}</h1>",
        _provenance(evaluation),
        "<h2>Figures</h2>",
        _table(evaluation.rows),
        _notes(evaluation.notes),
    ]
    if evaluation.figures:
        parts += ["<h2>Plots</h2>", '<div class="plots">']
        parts += [_figure(figure) for figure in evaluation.figures]
        parts.append("</div>")
    if evaluation.examples:
        parts.append("<h2>Hits and misses in context</h2>")
        parts.append(
            '<p class="soft"><span class="found">Shaded</span>: what the encoder found. '
            '<span class="gold">Underlined</span>: what is right.</p>'
        )
        for group, examples in groupby(evaluation.examples, key=lambda example: example.group):
            parts += [f"<h3>{escape(group)}</h3>", '<div class="examples">']
            parts += [_example(example) for example in examples]
            parts.append("</div>")
    return "\n".join([*parts, "</body></html>", ""])


def _series_style() -> str:
    """Colours of the series, on light and on dark ground."""
    light = "".join(f"--c{number}: {pair[0]};" for number, pair in enumerate(COLOURS))
    dark = "".join(f"--c{number}: {pair[1]};" for number, pair in enumerate(COLOURS))
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def _provenance(evaluation: Evaluation) -> str:
    files = "; ".join(
        f"{escape(file.name)}, {file.rows:,} rows, sha256 {escape(file.sha256[:12])}…"
        for file in evaluation.data
    )
    settings = ", ".join(
        f"{escape(str(name))} = {escape(_plain(value))}"
        for name, value in evaluation.settings.items()
    )
    lines = [f"slice-os {escape(evaluation.version)}, {escape(evaluation.date)}", files, settings]
    return f'<p class="soft">{"<br>".join(line for line in lines if line)}</p>'


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)


def _table(rows: Sequence[Row]) -> str:
    table = Table.of(rows)
    head = _cells("th", table.titles, table.numeric)
    body = "".join(
        f'<tr class="quoted">{_cells("td", cells, table.numeric)}</tr>'
        if str(row.get("source", "")).startswith("quoted")
        else f"<tr>{_cells('td', cells, table.numeric)}</tr>"
        for row, cells in zip(rows, table.cells, strict=True)
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(tag: str, cells: Sequence[str], numeric: Sequence[bool]) -> str:
    return "".join(
        f'<{tag} class="n">{escape(cell)}</{tag}>' if right else f"<{tag}>{escape(cell)}</{tag}>"
        for cell, right in zip(cells, numeric, strict=True)
    )


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    return f'<ul class="soft">{"".join(f"<li>{escape(note)}</li>" for note in notes)}</ul>'


def _figure(figure: Figure) -> str:
    return f"<figure><figcaption>{escape(figure.title)}</figcaption>{draw(figure)}</figure>"


def _example(example: Example) -> str:
    return (
        f'<article><p class="query">{escape(example.query)}</p>'
        f"<p>{_marked(example)}</p>"
        f'<p class="note">{escape(example.note)}</p></article>'
    )


def _marked(example: Example) -> str:
    """The text with what was found and what is right marked; the two may overlap."""
    spans = {"found": example.found, "gold": example.gold}
    edges = {0, len(example.text)}
    edges.update(place for span in spans.values() if span for place in span)
    cuts = sorted(edge for edge in edges if 0 <= edge <= len(example.text))
    parts = []
    for start, end in pairwise(cuts):
        classes = " ".join(
            name for name, span in spans.items() if span and span[0] <= start and end <= span[1]
        )
        piece = escape(example.text[start:end])
        parts.append(f'<span class="{classes}">{piece}</span>' if classes else piece)
    return "".join(parts)
