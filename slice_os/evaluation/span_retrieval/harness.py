"""Span retrieval: finding the spans of documents that answer queries, against gold spans."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import orjson
from filelock import FileLock

from slice_os.corpus import Corpus
from slice_os.datasets.files import DataFile
from slice_os.datasets.span_sets import SpanSet, read_span_set, refuse_shared
from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import Cost, TextEncoder
from slice_os.evaluation.harness import Harness, Progress, Settings, quiet
from slice_os.evaluation.measures import COST, holm, measured, paired_effect, paired_randomisation
from slice_os.evaluation.results import Cell, Evaluation, Example, Figure, Row
from slice_os.evaluation.span_retrieval.measures import (
    MEASURES,
    PRIMARY,
    Observed,
    SpanCounts,
    count_spans,
    first_overlap,
    mean,
    ranking_scores,
)
from slice_os.evaluation.span_retrieval.ranking import (
    BM25,
    DENSE,
    DOCUMENT,
    SETTINGS,
    SYSTEMS,
    RankingTask,
    SpanIndex,
    fingerprint,
    ranking_tasks,
    span_encoder,
)
from slice_os.evaluation.span_retrieval.systems import (
    FUSED_SYSTEMS,
    SPAN_SYSTEMS,
    Answers,
    Fit,
    answer,
    first_hits,
    fit,
    hits_and_misses,
    relevant,
)
from slice_os.records import at_least, one_of

COST_FILE = "cost.json"


@dataclass(frozen=True, slots=True)
class SystemResult:
    """A system's row, and its nDCG@10 of each question that has an answer."""

    row: dict[str, Cell]
    primary: Mapping[str, float]


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    settings: Settings = (),
    systems: Annotated[
        tuple[str, ...], one_of(SYSTEMS), "Measure only this; repeatable.  [default: all]"
    ] = (),
    split: Annotated[str | None, "The split of the set to measure on, if it has splits."] = None,
    train: Annotated[
        Path | None, "PATH", "A set to fit the weights of BM25 and thresholds on."
    ] = None,
    train_split: Annotated[
        str | None, "The split of that set, or else of the measured set, to fit on."
    ] = None,
    limit: Annotated[int | None, at_least(1), "Only the first N documents of each set."] = None,
    stores: Annotated[
        Path | None,
        "DIRECTORY",
        "A folder to keep the local stores in, for the next run.  [default: with the vectors]",
    ] = None,
    sentences: Annotated[bool, "Widen the spans of dense and hybrid to whole sentences."] = False,
    per_passage: Annotated[
        int, at_least(1), "Most hits of a passage on the first page of dense and hybrid."
    ] = 1,
) -> Evaluation:
    """Measure retrieval systems on a set of documents with gold spans."""
    for encoder in encoders:
        span_encoder(encoder)
    tested = read_span_set(data, split, limit)
    trained = None
    files = [DataFile.of(data, len(tested.documents))]
    if train is not None or train_split is not None:
        trained = read_span_set(train or data, train_split, limit)
        files.append(DataFile.of(train or data, len(trained.documents)))
        refuse_shared(train or data, trained, tested)
    chosen = [name for name in SYSTEMS if name in (systems or SYSTEMS)]
    by_setting: dict[str, list[SystemResult]] = {setting: [] for setting in settings or SETTINGS}
    figures: list[Figure] = []
    examples: list[Example] = []
    for number, encoder in enumerate(encoders):
        # BM25 depends on the encoder only through where its tokenizer ends passages.
        own = [name for name in chosen if name != BM25 or number == 0]
        fits: dict[str, dict[str, Fit]] = {setting: {} for setting in by_setting}
        if trained is not None:
            with _index(trained, encoder, stores, progress, sentences, per_passage) as index:
                for setting in by_setting:
                    tasks = ranking_tasks(trained, setting)
                    label = f"{encoder.name}: fit, {setting}"
                    fits[setting] = fit(index, tasks, own, label, progress)
        with _index(tested, encoder, stores, progress, sentences, per_passage) as index:
            for setting, found in by_setting.items():
                tasks, label = ranking_tasks(tested, setting), f"{encoder.name}: {setting}"
                answers = answer(index, tasks, own, fits[setting], label, progress)
                found += _measure(encoder, setting, index, tasks, answers, fits[setting])
                if DENSE in answers:
                    figures.append(first_hits(f"{label}: first hits", tasks, answers[DENSE]))
                if DENSE in answers and setting == DOCUMENT:
                    examples += hits_and_misses(encoder.name, tested, tasks, answers[DENSE])
    if not all(by_setting.values()):
        raise InputError("no verifier knows these encoders, so nothing is likeliest; add a system")
    return Evaluation(
        "span-retrieval",
        tuple(row for found in by_setting.values() for row in _tested(found)),
        tuple(files),
        {
            "set": tested.name,
            "trained_on": trained and trained.name,
            "limit": limit,
            "settings": list(by_setting),
            "systems": chosen,
            "sentences": sentences,
            "per_passage": per_passage,
        },
        (
            "A passage is right if it holds half of a gold span, or half of it is inside one; "
            "bm25 and passage give whole passages as spans.",
            _NOT_FITTED if trained is None else _FITTED,
            "difference, effect (Cohen's d) and p (paired randomisation, Holm) are of nDCG@10 "
            "against the best of the setting.",
        ),
        figures=tuple(figures),
        examples=tuple(examples),
    )


@contextmanager
def _index(
    data: SpanSet,
    encoder: TextEncoder,
    stores: Path | None,
    progress: Progress,
    sentences: bool,
    per_passage: int,
) -> Iterator[SpanIndex]:
    spans = span_encoder(encoder)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (stores or Path(scratch)) / f"{fingerprint(data)}-{spans.card.encoder_id}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        with Corpus(folder, spans) as corpus:
            # Another run may be filling the same store.
            with FileLock(f"{folder}.lock"):
                index = SpanIndex(corpus, encoder, data, progress, sentences, per_passage)
                # The cost of filling the store, now or in the run that filled it.
                file = folder / COST_FILE
                if index.span_cost is not None:
                    file.write_bytes(orjson.dumps(asdict(index.span_cost)))
                elif file.is_file():
                    index.span_cost = Cost(**orjson.loads(file.read_bytes()))
            # A cache deletes what was used least recently.
            os.utime(folder)
            yield index


def _measure(
    encoder: TextEncoder,
    setting: str,
    index: SpanIndex,
    tasks: Sequence[RankingTask],
    answers: Mapping[str, Answers],
    fits: Mapping[str, Fit],
) -> Iterator[SystemResult]:
    answering = relevant(index, tasks)
    for system, found in answers.items():
        fitted = fits.get(system, Fit())
        given = (count_spans(found.given(one.id, fitted.threshold), one.gold) for one in tasks)
        observed = Observed(
            ranking_scores(found.rankings, answering),
            [
                first_overlap([hit.span for hit in found.pages[task.id]], task.gold)
                for task in tasks
                if task.id in answering
            ],
            sum(given, SpanCounts()),
        )
        cost = index.span_cost if system in SPAN_SYSTEMS else index.passage_cost
        if system == BM25:
            cost = Cost()
        row: dict[str, Cell] = {
            "encoder": BM25 if system == BM25 else encoder.name,
            "setting": setting,
            "system": system,
            "questions": len(answering),
            **measured(MEASURES, observed),
            "bm25_weight": fitted.weight if system in FUSED_SYSTEMS else None,
            "threshold": fitted.threshold,
            **(measured(COST, cost) if cost else dict.fromkeys(one.name for one in COST)),
            **dict.fromkeys(("difference", "effect", "p_holm")),
        }
        yield SystemResult(row, observed.rankings[PRIMARY])


def _tested(found: Sequence[SystemResult]) -> list[Row]:
    """The rows, each tested against the best one by nDCG@10."""
    best = max(found, key=lambda one: mean(one.primary.values()))
    shared = [key for key in best.primary if all(key in one.primary for one in found)]
    reference = [best.primary[key] for key in shared]
    others = [one for one in found if one is not best]
    values = [[one.primary[key] for key in shared] for one in others]
    adjusted = holm([paired_randomisation(one, reference).p_value for one in values])
    for one, mine, p_value in zip(others, values, adjusted, strict=True):
        difference, effect = mean(mine) - mean(reference), paired_effect(mine, reference)
        one.row.update(difference=difference, effect=effect, p_holm=p_value)
    return [one.row for one in found]


_FITTED = (
    "Weights of BM25 are the best on the training set by nDCG@10, thresholds by F1 of "
    "characters; the spans given are the hits on the first page at or above the threshold."
)
_NOT_FITTED = (
    "Nothing was fitted: weights are the defaults of searches, and only the first hit is given."
)

HARNESS = Harness(
    "span-retrieval",
    "Span retrieval in documents with gold spans. Each question is searched for in its own "
    "document, and each distinct query in all documents. The systems are bm25; passage, the "
    "vector of each passage; dense, the best span of each passage; both fused with BM25; and "
    "likeliest, what a search shows.",
    "CUAD, ContractNLI, QMSum, restaurant8k, SQuAD, or JSON lines of {text, queries: [{query, "
    "spans: [[start, end], ...]}]}.",
    run,
    SETTINGS,
    cached="stores",
)
