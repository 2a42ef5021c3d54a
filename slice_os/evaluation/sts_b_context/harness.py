"""STS-B-Context: how well the best span of a passage predicts its similarity to a phrase.

SLICE, section 4.2 and Table 1: the score of a row is a cosine with its query, of the whole
passage or the greatest over its spans, and it is correlated with people's scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import orjson

from slice_os.datasets.files import DataFile, read_passages
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, Settings, quiet
from slice_os.evaluation.measures import (
    CORRELATIONS,
    COST,
    Graded,
    measured,
    pearson,
    ranks,
    williams_of,
)
from slice_os.evaluation.results import Evaluation, Example, Figure, Row, Series
from slice_os.evaluation.span_retrieval.measures import iou
from slice_os.evaluation.sts_b_context.context_rows import ContextRow, load_rows
from slice_os.evaluation.sts_b_context.passage_scores import (
    SETTINGS,
    SINGLE,
    Okapi,
    Scores,
    score_bm25,
    score_encoder,
)
from slice_os.records import at_least

BANDS = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))
EXAMPLES = 4


def figures(scores: Sequence[Scores], rows: Sequence[ContextRow]) -> tuple[Figure, ...]:
    """A scatter plot of each encoder's scores by gold, and their histograms."""
    gold = np.array([row.gold for row in rows])
    plots: list[Figure] = []
    for one in scores:
        title, label = f"{one.encoder}, {one.setting}", _label(one)
        points = Series("", tuple(gold.tolist()), tuple(one.values.tolist()))
        plots.append(Figure("scatter", title, "similarity by people", label, (points,)))
        bands = []
        for low, high in BANDS:
            below = gold < high if high < BANDS[-1][1] else gold <= high
            values = one.values[(low <= gold) & below]
            bands.append(Series(f"gold {low}–{high}", tuple(values.tolist())))
        plots.append(Figure("histogram", title, label, "rows", tuple(bands)))
    return tuple(plots)


def examples(scores: Sequence[Scores], rows: Sequence[ContextRow]) -> tuple[Example, ...]:
    """For each encoder, paraphrases it found and rows that it ranks far too high or too low."""
    gold_ranks = ranks([row.gold for row in rows])
    shown: list[Example] = []
    for one in scores:
        if one.max_size is None:
            continue
        above = ranks(one.values) - gold_ranks
        right = [
            number
            for number in np.argsort(-(gold_ranks - np.abs(above)))
            if (found := one.places[number]) and (gold := rows[number].place)
            if iou(found, gold) > 0.5
        ]
        for group, order in (
            ("found", right),
            ("ranked too high", np.argsort(-above)),
            ("ranked too low", np.argsort(above)),
        ):
            for i in order[:EXAMPLES]:
                row, title = rows[i], f"{one.encoder}: {group}"
                note = f"gold {row.gold:g} of 5, {_label(one)} {one.values[i]:.3f}"
                shown.append(Example(title, row.query, row.passage, one.places[i], row.place, note))
    return tuple(shown)


def _label(one: Scores) -> str:
    return "BM25" if one.encoder == "bm25" else "cosine"


MEASURES = CORRELATIONS
MAX_SIZE = 20
ABLATION = (5, 10, 15, 20, 25, 30, 35)
# SLICE, Table 1: correlations on all 1,024 rows.
QUOTED = Path(__file__).with_name("quoted.json")


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    settings: Settings = (),
    max_sizes: Annotated[
        tuple[int, ...], at_least(1), "Words of the longest span; repeatable.  [default: 20]"
    ] = (),
    ablation: Annotated[bool, "Measure longest spans of 5, 10, … 35 words."] = False,
    quoted: Annotated[bool, "Add the figures of the paper."] = True,
    corpus: Annotated[
        Path | None, "Text or JSONL for BM25's document statistics.  [default: the passages]"
    ] = None,
) -> Evaluation:
    """Measure encoders and BM25 on STS-B-Context or a set in its format."""
    rows = load_rows(data)
    sizes = tuple(sorted(set(ABLATION if ablation else max_sizes or (MAX_SIZE,))))
    chosen = [setting for setting in SETTINGS if setting in (settings or SETTINGS)]
    passages = read_passages(corpus) if corpus else [row.passage for row in rows]
    okapi = Okapi.of(passages)
    scores: list[Scores] = []
    notes = []
    for setting in chosen:
        scores += score_bm25(okapi, rows, setting, sizes)
        for encoder in encoders:
            if setting == SINGLE and encoder.representation == "whole":
                notes.append(f"{encoder.name} has no token vectors, so no row for {SINGLE}.")
                continue
            label = f"{encoder.name}, {setting}"
            scores += score_encoder(encoder, rows, setting, sizes, label, progress)
    table = _measured(scores, rows)
    if quoted and sizes == (MAX_SIZE,):
        quotes: list[Row] = orjson.loads(QUOTED.read_bytes())
        table += [row for row in quotes if row["setting"] in chosen]
        notes.append(
            "Quoted rows: SLICE (Orbach et al. 2024), Table 1, on the 1,024 rows of STS-B-Context."
        )
    lost = sum(row.place is None for row in rows)
    if lost:
        notes.append(f"{lost} of {len(rows)} paraphrases are not verbatim in their passage.")
    files = [DataFile.of(data, len(rows))]
    if corpus:
        files.append(DataFile.of(corpus, len(passages)))
    shown = [
        one for one in scores if one.setting == chosen[-1] and one.max_size in (None, sizes[-1])
    ]
    return Evaluation(
        harness=HARNESS.name,
        rows=tuple(sorted(table, key=lambda row: SETTINGS.index(str(row["setting"])))),
        data=tuple(files),
        settings={
            "settings": chosen,
            "max_sizes": list(sizes),
            "bm25_statistics": corpus.name if corpus else "passages of the set",
        },
        notes=tuple(notes),
        keys=("max_size",),
        figures=figures(shown, rows),
        examples=examples(shown, rows),
    )


def _measured(scores: Sequence[Scores], rows: Sequence[ContextRow]) -> list[Row]:
    """A row for each of the scores, with Williams' test against the best of its setting."""
    gold = [row.gold for row in rows]
    pearsons = [pearson(gold, one.values) for one in scores]
    table: list[Row] = []
    for one in scores:
        own = one.setting, one.max_size
        alike = [n for n, rival in enumerate(scores) if (rival.setting, rival.max_size) == own]
        best = scores[max(alike, key=pearsons.__getitem__)]
        test = None if best is one else williams_of(gold, best.values, one.values)
        table.append(
            {
                "encoder": one.encoder,
                "setting": one.setting,
                "max_size": one.max_size,
                **measured(MEASURES, Graded(gold, one.values)),
                "williams_t": test.statistic if test else None,
                "williams_p": test.p_value if test else None,
                **measured(COST, one.cost),
                "source": "measured",
            }
        )
    return table


HARNESS = Harness(
    name="sts-b-context",
    description="""How similar is the best span of a text?

    Correlates cosines with people's scores on STS-B-Context (Orbach et al. 2024), in three
    settings: a vector of the whole passage, a forward pass for each of its n-grams, and n-grams
    from a single pass. BM25 and the figures of the paper are added for comparison.
    """,
    data="STS-B-Context, or a table in its format: see build-context.",
    run=run,
    settings=SETTINGS,
)
