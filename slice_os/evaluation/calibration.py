"""Calibration: how far the probabilities of hits can be trusted."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from slice_os.arrays import Float64Array
from slice_os.corpus import Corpus
from slice_os.datasets.files import DataFile
from slice_os.datasets.span_sets import DocumentSpan, SpanSet, read_span_set, refuse_shared
from slice_os.encoder.calibration import Calibration, fit_calibration
from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, quiet, track
from slice_os.evaluation.measures import Measure, averaged, measured
from slice_os.evaluation.results import Evaluation, Figure, Row, Series
from slice_os.evaluation.span_retrieval.measures import halves_overlap
from slice_os.evaluation.span_retrieval.ranking import CORPUS, ranking_tasks, span_encoder
from slice_os.hits.files import check_place
from slice_os.records import at_least
from slice_os.tables.replacing import replacing
from slice_os.text.words import find_words

BINS = 10


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Probabilities of ``(n,)`` hits, and 1 for each hit that is right, else 0."""

    probabilities: Float64Array
    right: Float64Array


class Bin(NamedTuple):
    """Hits of similar probability: their number, mean probability, and the share that is right."""

    hits: int
    probability: float
    right: float


def reliability(probabilities: Float64Array, right: Float64Array) -> list[Bin]:
    """Bins of equal width, without the empty ones (Guo et al. 2017, section 2)."""
    numbers = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    parts = [numbers == number for number in np.unique(numbers)]
    return [
        Bin(int(part.sum()), float(probabilities[part].mean()), float(right[part].mean()))
        for part in parts
    ]


def expected_calibration_error(probabilities: Float64Array, right: Float64Array) -> float:
    """Mean gap between probability and share right over the bins (Guo et al. 2017, equation 3)."""
    bins = reliability(probabilities, right)
    return sum(one.hits * abs(one.probability - one.right) for one in bins) / max(len(right), 1)


MEASURES: tuple[Measure[Outcomes], ...] = (
    Measure("hits", lambda one: len(one.right)),
    averaged("right", lambda one: one.right),
    averaged("mean", lambda one: one.probabilities),
    Measure("ece", lambda one: expected_calibration_error(one.probabilities, one.right)),
    averaged("brier", lambda one: (one.probabilities - one.right) ** 2, interval=True),
    Measure("brier_of_base_rate", lambda one: float(one.right.mean() * (1 - one.right.mean()))),
)


TOP_K = 10


class Labelled(NamedTuple):
    """Of ``(n,)`` hits: cosines, words of phrase and span, and whether the span is right, 1 or 0.

    ``shown`` is the probability that people see, NaN for none.
    """

    cosines: Float64Array
    phrase_words: Float64Array
    span_words: Float64Array
    shown: Float64Array
    right: Float64Array


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    split: Annotated[str | None, "The split of the set to measure on, if it has splits."] = None,
    train: Annotated[
        tuple[Path, ...],
        "PATH",
        "A set to fit a calibration on; repeatable, to fit it on all together.",
    ] = (),
    limit: Annotated[int | None, at_least(1), "Only the first N documents of each set."] = None,
    fit: Annotated[Path | None, "Write the fitted calibration to this file."] = None,
) -> Evaluation:
    """Measure the probabilities of the first ten hits of each query over all documents."""
    if fit is not None and (len(encoders) > 1 or not train):
        raise InputError("to write a calibration, give one encoder and a training set")
    if fit is not None:
        check_place(fit)
    tested = read_span_set(data, split, limit)
    trained = [read_span_set(path, limit=limit) for path in train]
    for path, one in zip(train, trained, strict=True):
        refuse_shared(path, one, tested)
    rows: list[Row] = []
    figures: list[Figure] = []
    for encoder in encoders:
        spans = span_encoder(encoder)
        hits = label_hits(tested, encoder, progress)
        if not len(hits.right):
            raise InputError("no query has a hit; give documents with words and queries")
        kinds: dict[str, Float64Array] = {"cosine": np.clip(hits.cosines, 0, 1)}
        if spans.calibration is not None:
            kinds["by the cosine"] = spans.calibration.probabilities(*hits[:3])
        if not np.isnan(hits.shown).any():
            kinds["shown"] = hits.shown
        if trained:
            fitted = fit_to(trained, encoder, progress)
            kinds["fitted"] = fitted.probabilities(*hits[:3])
            if fit is not None:
                with replacing(fit) as part:
                    fitted.save(part)
        series = []
        for kind, probabilities in kinds.items():
            cells = measured(MEASURES, Outcomes(probabilities, hits.right))
            rows.append({"encoder": encoder.name, "probability": kind, **cells})
            _, means, shares = zip(*reliability(probabilities, hits.right), strict=True)
            series.append(Series(kind, means, shares))
        title, labels = f"{encoder.name}: reliability", ("probability", "share right")
        figures.append(Figure("line", title, *labels, tuple(series), diagonal=True))
    sets = zip((data, *train), (tested, *trained), strict=True)
    return Evaluation(
        "calibration",
        tuple(rows),
        tuple(DataFile.of(path, len(one.documents)) for path, one in sets),
        {"set": tested.name, "trained_on": [one.name for one in trained], "limit": limit},
        (
            f"Of the first {TOP_K} hits of each query over all documents, by cosine; a hit is "
            "right if half of its span, or of a gold span, is inside the other.",
            f"ece: expected calibration error over {BINS} bins of equal width; cosine: "
            "the cosine, used as a probability; by the cosine: as the model's calibration says; "
            "shown: the probability of the hit, which a verifier has read if it knows the model.",
        ),
        main=("ece", "brier"),
        figures=tuple(figures),
    )


def label_hits(data: SpanSet, encoder: TextEncoder, progress: Progress) -> Labelled:
    """Search all documents of a set for each of its queries, and label the first hits."""
    tasks = ranking_tasks(data, CORPUS)
    rows: list[tuple[float, ...]] = []
    spans = span_encoder(encoder)
    with tempfile.TemporaryDirectory() as folder, Corpus(Path(folder) / "store", spans) as corpus:
        label = f"{encoder.name}: documents of {data.name}"
        corpus.add(track(data.documents, label, len(data.documents), progress))
        label = f"{encoder.name}: queries of {data.name}"
        for task in track(tasks, label, len(tasks), progress):
            for hit in corpus.search(task.query, top_k=TOP_K, fusion="cosine", order="score"):
                words = len(find_words(hit.phrase)), len(find_words(hit.text))
                found = DocumentSpan(hit.doc_id, hit.start, hit.end)
                shown = np.nan if hit.probability is None else hit.probability
                rows.append((hit.cosine, *words, shown, halves_overlap(found, task.gold)))
    return Labelled(*np.array(rows, dtype=np.float64).reshape(-1, 5).T)


def fit_to(sets: Sequence[SpanSet], encoder: TextEncoder, progress: Progress) -> Calibration:
    """Fit a calibration to the labelled hits of some sets."""
    hits = np.hstack([label_hits(one, encoder, progress) for one in sets])
    cosines, phrase_words, span_words, _, right = hits
    return fit_calibration(
        span_encoder(encoder).card.encoder_id,
        cosines,
        phrase_words,
        span_words,
        right,
        f"the first {TOP_K} hits of each query over all documents of "
        + " and of ".join(one.name for one in sets),
    )


HARNESS = Harness(
    "calibration",
    "Reliability, expected calibration error and Brier score of the probabilities of hits. "
    "With a training set, a calibration is fitted as well; to use it, copy it into the model "
    "folder as calibration.json.",
    "A set with gold spans, in any format of `slice-os eval span-retrieval`.",
    run,
)
