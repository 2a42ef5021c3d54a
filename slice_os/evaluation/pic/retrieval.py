"""PiC phrase retrieval and sense disambiguation: where is a paraphrase in a document?

Ranking of candidate phrases (PiC, section 5.3) for every encoder, and span selection by a head
that is fine-tuned (sections 5.4 and 5.5) for Hugging Face models; answers are measured as in SQuAD
(Rajpurkar et al., 2016).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from slice_os.datasets.files import DataFile
from slice_os.datasets.span_sets import Span
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, Settings, quiet, track
from slice_os.evaluation.measures import COST, Measure, averaged, measured
from slice_os.evaluation.pic.phrase_files import (
    QUESTIONS,
    PhraseQuestion,
    find_splits,
    load_questions,
)
from slice_os.evaluation.pic.ranking import (
    IN_CONTEXT,
    SETTINGS,
    SINGLE_PASS,
    RankedPhrases,
    rank_phrases,
)
from slice_os.evaluation.pic.span_head import SpanSelector, without
from slice_os.evaluation.results import Cell, Evaluation, Example, Row
from slice_os.records import at_least

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """Whether an answer has the words of the gold one (1 or 0), and F1 of its words against them.

    ``em_loc`` and ``f1_loc`` are 0 if it does not overlap the gold answer in the text (note 2).
    """

    em: float
    f1: float
    em_loc: float
    f1_loc: float


def score_answer(text: str, found: Span, gold: Span) -> AnswerScore:
    """Compare the found span of a text with the gold span."""
    said, right = text[slice(*found)], text[slice(*gold)]
    em, f1 = float(normalise(said) == normalise(right)), token_f1(said, right)
    located = found[0] < gold[1] and gold[0] < found[1]
    return AnswerScore(em, f1, em * located, f1 * located)


def normalise(answer: str) -> str:
    """An answer in lower case, without punctuation, articles and extra spaces, as SQuAD does."""
    bare = answer.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def token_f1(answer: str, gold: str) -> float:
    """F1 of the normalised words of two answers; 1 if neither has any."""
    said, right = normalise(answer).split(), normalise(gold).split()
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    return 2 * shared / (len(said) + len(right))


RANKING, SPAN_SELECTION = "ranking", "span-selection"
# By itself, the phrase is the same at both places of PSD.
IN_TEXT = (IN_CONTEXT, SINGLE_PASS)
EXAMPLES = 5


def _within(k: int, ranked: Sequence[RankedPhrases]) -> list[float]:
    """For each question, 1 if an answer is among the first k candidates."""
    return [float(one.rank <= k) for one in ranked]


# PiC, section 5.3.
RANKING_MEASURES: tuple[Measure[Sequence[RankedPhrases]], ...] = (
    *(averaged(f"top{k}", partial(_within, k), interval=k == 1) for k in (1, 3, 5)),
    averaged("mrr5", lambda ranked: [1 / one.rank if one.rank <= 5 else 0 for one in ranked]),
    Measure("questions", len),
    averaged("candidates", lambda ranked: [len(one.candidates) for one in ranked]),
)
# By wording alone, and only if the place is right, too.
ANSWER_MEASURES: tuple[Measure[Sequence[AnswerScore]], ...] = (
    averaged("em", lambda scores: [one.em for one in scores]),
    averaged("f1", lambda scores: [one.f1 for one in scores]),
    averaged("em_loc", lambda scores: [one.em_loc for one in scores], interval=True),
    averaged("f1_loc", lambda scores: [one.f1_loc for one in scores]),
    Measure("questions", len),
)


def run(
    task: str,
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    settings: Settings = (),
    span_models: Annotated[
        tuple[str, ...],
        "MODEL",
        "Hugging Face name or folder to fine-tune for span selection; repeatable.",
    ] = (),
    train: Annotated[
        Path | None, "What to fine-tune on.  [default: the folder's train split]"
    ] = None,
    limit: Annotated[int | None, at_least(1), "Only the first N questions."] = None,
) -> Evaluation:
    """Rank with each encoder, and select spans with each span model, once fine-tuned."""
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
                best = [(one.candidates[0].start, one.candidates[0].end) for one in ranked]
                cost = measured(COST, encoder.cost - before)
                cells, misses = _answers(label, part, best)
                if task == "pr":
                    cells = measured(RANKING_MEASURES, ranked)
                rows.append(_row(encoder.name, setting, RANKING, subset, cells | cost))
                examples += misses
    for model in span_models:
        selector = SpanSelector(model)
        selector.train(training, dev, progress=progress)
        for subset, part in parts.items():
            label = f"{selector.name}, span selection"
            cells, misses = _answers(label, part, selector.answer(part, progress))
            rows.append(_row(selector.name, None, SPAN_SELECTION, subset, cells))
            examples += misses
    return Evaluation(
        f"pic-{task}",
        tuple(rows),
        tuple(files),
        main=("top1", "mrr5") if task == "pr" else ("em_loc", "f1_loc"),
        examples=tuple(examples),
    )


def _row(
    encoder: str, setting: str | None, method: str, subset: str, figures: dict[str, Cell]
) -> dict[str, Cell]:
    row: dict[str, Cell] = {"encoder": encoder, "setting": setting, "method": method}
    return row | ({"subset": subset} if subset else {}) | figures


def _answers(
    label: str, questions: Sequence[PhraseQuestion], found: Sequence[Span]
) -> tuple[dict[str, Cell], list[Example]]:
    """Figures of answers, and the first few wrong ones."""
    pairs = list(zip(questions, found, strict=True))
    scores = [score_answer(one.context, place, one.place) for one, place in pairs]
    misses = [
        Example(f"{label}: misses", one.query, one.context, place, one.place, "")
        for (one, place), score in zip(pairs, scores, strict=True)
        if not score.em_loc
    ]
    return measured(ANSWER_MEASURES, scores), misses[:EXAMPLES]


def _harness(task: str, description: str, settings: tuple[str, ...]) -> Harness:
    return Harness(
        f"pic-{task}",
        f"{description}\n\nN-grams of 2 and 3 words and the gold phrase are ranked by their "
        "cosine with the query. --span-model fine-tunes a model's start and end head as well.",
        f"File of PiC {task.upper()}, or a folder with its splits.",
        partial(run, task),
        settings,
    )


PR = _harness(
    "pr", "PiC phrase retrieval: which phrase of a document paraphrases the query?", SETTINGS
)
PSD = _harness(
    "psd",
    "PiC phrase sense disambiguation: which of two places of a phrase has the query's sense?",
    IN_TEXT,
)
