"""Calibration: how far the probabilities that hits carry can be taken at their word."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np
import numpy.typing as npt

from slice_os.calibration import Calibration, fit_calibration
from slice_os.corpus import Corpus
from slice_os.datasets.files import DataFile
from slice_os.datasets.span_set_formats import read_span_set
from slice_os.datasets.span_sets import SpanSet
from slice_os.errors import InputError
from slice_os.evaluation.encoders.base import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, quiet, track
from slice_os.evaluation.results import Cell, Evaluation, Figure, Row, Series
from slice_os.evaluation.span_retrieval.measures import Gold
from slice_os.evaluation.span_retrieval.ranking import CORPUS, questions, span_encoder
from slice_os.evaluation.statistics import mean_interval
from slice_os.words import find_words

Numbers: TypeAlias = npt.NDArray[np.float64]

TOP_K = 10
BINS = 10


@dataclass(frozen=True, slots=True)
class Labelled:
    """Hits and whether they are right.

    Attributes:
        cosines: ``(n,)``.
        phrase_words: ``(n,)`` words of the phrase.
        span_words: ``(n,)`` words of the span.
        right: ``(n,)`` 1 where the span answers the phrase, else 0.
    """

    cosines: Numbers
    phrase_words: Numbers
    span_words: Numbers
    right: Numbers


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits of similar probability: how many, the mean of it, and the share that is right."""

    hits: int
    probability: float
    right: float


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    split: str | None = None,
    train: Sequence[Path] = (),
    limit: int | None = None,
    fit: Path | None = None,
) -> Evaluation:
    """Measure the probabilities of the first ten hits of each query over all documents.

    Args:
        data: a set of documents with gold spans; see `read_span_set`.
        encoders: those that `Corpus` takes.
        progress: told of queries.
        split: the part of the set that is measured on.
        train: sets to fit a calibration on, all hits of all of them.
        limit: at most that many documents of each set.
        fit: where to write the calibration fitted.

    Raises:
        InputError: on data that cannot be used, training documents that are measured on, or an
            encoder of several that a calibration shall be written for.
    """
    if fit is not None and (len(encoders) > 1 or not train):
        raise InputError("to write a calibration give one encoder, and a training set")
    tested = read_span_set(data, split, limit)
    trained = [read_span_set(path, limit=limit) for path in train]
    measured = {one.text for one in tested.documents}
    for path, one in zip(train, trained, strict=True):
        if not measured.isdisjoint(document.text for document in one.documents):
            raise InputError(f"{path}: training documents are among those measured")
    rows: list[Row] = []
    series: list[Series] = []
    for encoder in encoders:
        spans = span_encoder(encoder)
        hits = label_hits(tested, encoder, progress)
        kinds: dict[str, Numbers] = {"cosine": np.clip(hits.cosines, 0, 1)}
        if spans.calibration is not None:
            kinds["shipped"] = _apply(spans.calibration, hits)
        if trained:
            fitted = fit_to(trained, encoder, progress)
            kinds["fitted"] = _apply(fitted, hits)
            if fit is not None:
                fitted.save(fit)
        for kind, probabilities in kinds.items():
            rows.append({"encoder": encoder.name, "probability": kind, **_row(hits, probabilities)})
            bins = reliability(probabilities, hits.right)
            points = [(one.probability, one.right) for one in bins]
            series.append(Series(f"{encoder.name}, {kind}", *zip(*points, strict=True)))
    sets = zip((data, *train), (tested, *trained), strict=True)
    return Evaluation(
        "calibration",
        tuple(rows),
        tuple(DataFile.of(path, len(one.documents)) for path, one in sets),
        {"set": tested.name, "trained_on": [one.name for one in trained], "limit": limit},
        (
            f"Of the first {TOP_K} hits of each query over all documents, by cosine; right where "
            "half of the span, or of a gold span, lies in the other.",
            f"ece: expected calibration error over {BINS} bins of equal width; cosine: "
            "the cosine taken for a probability.",
        ),
        main=("ece", "brier"),
        figures=(Figure("line", "Reliability", "probability", "share right", tuple(series), True),),
    )


def label_hits(data: SpanSet, encoder: TextEncoder, progress: Progress) -> Labelled:
    """The first hits of each query of a set over all its documents, labelled by its gold spans.

    Args:
        data: the set.
        encoder: one that `Corpus` takes.
        progress: told of the queries done.
    """
    asked = questions(data, CORPUS)
    rows: list[tuple[float, float, float, float]] = []
    spans = span_encoder(encoder)
    with (
        tempfile.TemporaryDirectory() as folder,
        Corpus(Path(folder) / "store", spans) as corpus,
    ):
        label = f"{encoder.name}: documents of {data.name}"
        corpus.add(track(data.documents, label, len(data.documents), progress))
        label = f"{encoder.name}: queries of {data.name}"
        for one in track(asked, label, len(asked), progress):
            for hit in corpus.search(one.query, top_k=TOP_K, fusion="cosine"):
                words = len(find_words(hit.phrase)), len(find_words(hit.text))
                right = answers(hit.doc_id, hit.start, hit.end, one.gold)
                rows.append((hit.cosine, *words, right))
    return Labelled(*np.array(rows, dtype=np.float64).reshape(-1, 4).T)


def answers(doc_id: str, start: int, end: int, gold: Gold) -> bool:
    """Whether at least half of a span, or of a gold span, lies in the other."""
    return any(
        2 * (min(end, b) - max(start, a)) >= min(end - start, b - a)
        for a, b in gold.get(doc_id, ())
    )


def fit_to(sets: Sequence[SpanSet], encoder: TextEncoder, progress: Progress) -> Calibration:
    """Fit a calibration to the labelled hits of some sets.

    Args:
        sets: the training sets.
        encoder: one that `Corpus` takes.
        progress: told of the queries done.

    Raises:
        InputError: if there are too few.
    """
    hits = [label_hits(one, encoder, progress) for one in sets]
    return fit_calibration(
        span_encoder(encoder).card.encoder_id,
        np.concatenate([one.cosines for one in hits]),
        np.concatenate([one.phrase_words for one in hits]),
        np.concatenate([one.span_words for one in hits]),
        np.concatenate([one.right for one in hits]),
        f"the first {TOP_K} hits of each query over all documents of "
        + " and of ".join(one.name for one in sets),
    )


def reliability(probabilities: Numbers, right: Numbers) -> list[Bin]:
    """Hits in bins of equal width of probability, empty ones left out (Guo et al. 2017, section 2).

    Args:
        probabilities: ``(n,)``.
        right: ``(n,)`` 1 for a hit that is right, else 0.
    """
    numbers = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    parts = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    return [
        Bin(len(part), float(probabilities[part].mean()), float(right[part].mean()))
        for part in parts
    ]


def expected_calibration_error(probabilities: Numbers, right: Numbers) -> float:
    """Mean distance of probability and share right over the bins (Guo et al. 2017, equation 3)."""
    bins = reliability(probabilities, right)
    return sum(one.hits * abs(one.probability - one.right) for one in bins) / max(len(right), 1)


def brier_score(probabilities: Numbers, right: Numbers) -> float:
    """Mean squared distance of probability and outcome (Brier 1950), of two classes by one."""
    return float(np.mean((probabilities - right) ** 2))


def _apply(calibration: Calibration, hits: Labelled) -> Numbers:
    return calibration.probabilities(hits.cosines, hits.phrase_words, hits.span_words)


def _row(hits: Labelled, probabilities: Numbers) -> dict[str, Cell]:
    if not len(probabilities):
        raise InputError("no query has a hit; give documents with words and queries")
    base = float(hits.right.mean())
    interval = mean_interval((probabilities - hits.right) ** 2)
    return {
        "hits": len(probabilities),
        "right": base,
        "mean": float(probabilities.mean()),
        "ece": expected_calibration_error(probabilities, hits.right),
        "brier": brier_score(probabilities, hits.right),
        "brier_low": interval.low,
        "brier_high": interval.high,
        "brier_of_base_rate": base * (1 - base),
    }


HARNESS = Harness(
    "calibration",
    "Reliability, expected calibration error and Brier score of the probabilities that hits "
    "carry. With a training set it also fits a calibration; copied into a model folder as "
    "calibration.json, its hits carry it.",
    "A set with gold spans, as `slice-os eval span-retrieval` takes it.",
    run,
    options=(
        click.Option(["--split"], help="The part of the set to measure on, where it has parts."),
        click.Option(
            ["--train"],
            multiple=True,
            type=click.Path(path_type=Path),
            help="A set to fit a calibration on; repeatable, for all together.",
        ),
        click.Option(
            ["--limit"], type=click.IntRange(min=1), help="Only the first documents of each set."
        ),
        click.Option(
            ["--fit"],
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write the calibration fitted to this file.",
        ),
    ),
)
