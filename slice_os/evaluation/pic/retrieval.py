"""PiC phrase retrieval and sense disambiguation: where does a document say a phrase?

Ranking of candidate phrases (PiC, section 5.3) for every encoder, and span selection by a head
that is fine-tuned (sections 5.4 and 5.5) for Hugging Face models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import click
import numpy as np

from slice_os.datasets.files import DataFile
from slice_os.evaluation.encoders.base import Cost, TextEncoder
from slice_os.evaluation.encoders.in_context import Place
from slice_os.evaluation.harness import Harness, Progress, quiet, track
from slice_os.evaluation.pic.answer_scores import score_answer
from slice_os.evaluation.pic.data import QUESTIONS, PhraseQuestion, find_splits, load_questions
from slice_os.evaluation.pic.ranking import (
    IN_CONTEXT,
    SETTINGS,
    SINGLE_PASS,
    RankedPhrases,
    rank_phrases,
)
from slice_os.evaluation.pic.span_head import SpanSelector, without
from slice_os.evaluation.results import Cell, Evaluation, Example, Row
from slice_os.evaluation.statistics import mean_interval, mean_reciprocal_rank

RANKING, SPAN_SELECTION = "ranking", "span-selection"
# A phrase by itself is the same at both places of PSD.
IN_TEXT = (IN_CONTEXT, SINGLE_PASS)
TOPS = (1, 3, 5)
EXAMPLES = 5


def run(
    task: str,
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    settings: Sequence[str] = (),
    span_models: Sequence[str] = (),
    train: Path | None = None,
    limit: int | None = None,
) -> Evaluation:
    """Rank by each encoder, and select spans by each model that is to be fine-tuned.

    Args:
        task: ``pr`` or ``psd``.
        data: a file of questions, or a folder with a test split of them.
        encoders: what ranks.
        progress: told of each question.
        settings: some of `phrase_ranking.SETTINGS`; all that the task has for none.
        span_models: Hugging Face names or folders to fine-tune for span selection.
        train: a file of questions to fine-tune on; the folder's train split for None.
        limit: of the questions, the first so many.

    Raises:
        InputError: if a file is missing or malformed, or there is nothing to train on.
        MissingExtraError: for span selection without torch.
    """
    splits = find_splits(data, task) if data.is_dir() else {"test": data}
    if "test" not in splits:
        raise QUESTIONS.malformed(data, "has no test split; give the file itself")
    questions = load_questions(splits["test"])[:limit]
    if not questions:
        raise QUESTIONS.malformed(splits["test"], "has no question")
    files = [DataFile.of(splits["test"], len(questions))]
    training: Sequence[PhraseQuestion] = ()
    if span_models:
        path = train or splits.get("train")
        if path is None:
            raise QUESTIONS.malformed(data, "has no train split for span selection; give --train")
        training = without(load_questions(path), questions)
        files.append(DataFile.of(path, len(training)))
    dev = load_questions(splits["dev"]) if training and "dev" in splits else ()

    parts: dict[str, list[PhraseQuestion]] = {}
    for question in questions:
        parts.setdefault(question.subset, []).append(question)
    rows: list[Row] = []
    examples: list[Example] = []
    for encoder in encoders:
        for subset, part in parts.items():
            for setting in settings or (SETTINGS if task == "pr" else IN_TEXT):
                before = encoder.cost
                label = f"{encoder.name}, {setting}"
                ranked = [
                    rank_phrases(encoder, question, setting)
                    for question in track(part, label, len(part), progress)
                ]
                measures = _ranks(ranked) if task == "pr" else _places(part, _best(ranked))
                row = _row(encoder.name, setting, RANKING, subset, measures)
                rows.append(row | _cost(encoder.cost - before))
                examples.extend(_misses(label, part, _best(ranked)))
    for model in span_models:
        selector = SpanSelector(model)
        selector.train(training, dev, progress=progress)
        for subset, part in parts.items():
            found = selector.answer(part, progress)
            rows.append(_row(selector.name, None, SPAN_SELECTION, subset, _places(part, found)))
            examples.extend(_misses(f"{selector.name}, span selection", part, found))
    return Evaluation(f"pic-{task}", tuple(rows), tuple(files), examples=tuple(examples))


def _row(
    encoder: str, setting: str | None, method: str, subset: str, measures: dict[str, Cell]
) -> dict[str, Cell]:
    row: dict[str, Cell] = {"encoder": encoder, "setting": setting, "method": method}
    return row | ({"subset": subset} if subset else {}) | measures


def _ranks(ranked: Sequence[RankedPhrases]) -> dict[str, Cell]:
    """Top-k accuracies and MRR@5 (PiC, section 5.3)."""
    ranks = [one.rank for one in ranked]
    first = np.array(ranks) == 1
    interval = mean_interval(first)
    return {
        **{f"top{k}": float(np.mean([rank <= k for rank in ranks])) for k in TOPS},
        "mrr5": mean_reciprocal_rank(ranks, cutoff=5),
        "top1_low": interval.low,
        "top1_high": interval.high,
        "questions": len(ranks),
        "candidates": float(np.mean([len(one.candidates) for one in ranked])),
    }


def _best(ranked: Sequence[RankedPhrases]) -> list[Place]:
    return [(one.candidates[0].start, one.candidates[0].end) for one in ranked]


def _places(questions: Sequence[PhraseQuestion], found: Sequence[Place]) -> dict[str, Cell]:
    """Means of EM and F1, by wording alone and where the place is right, too."""
    scores = [
        score_answer(question.context, place, (question.start, question.end))
        for question, place in zip(questions, found, strict=True)
    ]
    interval = mean_interval([score.em_loc for score in scores])
    return {
        "em": float(np.mean([score.em for score in scores])),
        "f1": float(np.mean([score.f1 for score in scores])),
        "em_loc": float(np.mean([score.em_loc for score in scores])),
        "f1_loc": float(np.mean([score.f1_loc for score in scores])),
        "em_loc_low": interval.low,
        "em_loc_high": interval.high,
        "questions": len(scores),
    }


def _cost(cost: Cost) -> dict[str, Cell]:
    return {"passes": cost.passes, "tokens": cost.tokens, "seconds": cost.seconds}


def _misses(
    label: str, questions: Sequence[PhraseQuestion], found: Sequence[Place]
) -> Iterator[Example]:
    """The first few answers that are not the gold one."""
    misses = (
        Example(f"{label}: misses", question.query, question.context, place, gold, "")
        for question, place in zip(questions, found, strict=True)
        if not score_answer(question.context, place, gold := (question.start, question.end)).em_loc
    )
    return islice(misses, EXAMPLES)


def _harness(task: str, description: str, settings: tuple[str, ...]) -> Harness:
    return Harness(
        f"pic-{task}",
        f"{description}\n\nN-grams of 2 and 3 words and the gold phrase are ranked by their "
        "cosine with the query. --span-model fine-tunes a model's start and end head as well.",
        f"File of PiC {task.upper()}, or a folder with its splits.",
        partial(run, task),
        settings=settings,
        options=(
            click.Option(
                ["--span-model", "span_models"],
                multiple=True,
                metavar="MODEL",
                help="Hugging Face name or folder to fine-tune for span selection; repeatable.",
            ),
            click.Option(
                ["--train"],
                type=click.Path(dir_okay=False, path_type=Path),
                help="What to fine-tune on.  [default: the folder's train split]",
            ),
            click.Option(
                ["--limit"], type=click.IntRange(min=1), help="Only the first so many questions."
            ),
        ),
    )


PR = _harness(
    "pr", "PiC phrase retrieval: which phrase of a document paraphrases the query?", SETTINGS
)
PSD = _harness(
    "psd",
    "PiC phrase sense disambiguation: which of two places of a phrase has the query's sense?",
    IN_TEXT,
)
