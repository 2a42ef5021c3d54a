"""Similarity of phrases without surrounding text, against judgements by people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.datasets.files import DataFile
from slice_os.evaluation.encoders.span_vectors import cosines, phrases_in_context
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Option, Progress, quiet, track
from slice_os.evaluation.measures import ACCURACY, CORRELATIONS, COST, Graded, Measure, measured
from slice_os.evaluation.phrases.phrase_sets import SETS, Choice, GradedPair, PhraseSet, load_sets
from slice_os.evaluation.results import Evaluation, Figure, Row, Series
from slice_os.evaluation.stats import Numbers

PHRASE, IN_CONTEXT = "phrase", "phrase-in-context"
SEVEN, FIVE = "7-choices", "5-choices"
PLOTTED = 2_000

PAIR_MEASURES: tuple[Measure[Graded], ...] = (
    *CORRELATIONS,
    Measure("pairs", lambda one: len(one.gold)),
)
CHOICE_MEASURES: tuple[Measure[Numbers], ...] = (ACCURACY, Measure("pairs", len))


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    sets: Sequence[str] = (),
    limit: int | None = None,
) -> Evaluation:
    """Correlation with graded similarity, and accuracy of choices.

    Raises:
        InputError: if a set is missing or malformed.
    """
    loaded = [_sample(one, limit) for one in load_sets(data, tuple(sets))]
    work = [(encoder, one, how) for encoder in encoders for one in loaded for how in _settings(one)]
    rows: list[Row] = []
    figures: list[Figure] = []
    for encoder, one, setting in track(work, "encoders and sets", len(work), progress):
        before = encoder.cost
        if one.choices:
            cells = measured(CHOICE_MEASURES, choose(encoder, one.choices, setting))
        else:
            scores = score_pairs(encoder, one.pairs, setting)
            gold = [pair.score for pair in one.pairs]
            cells = measured(PAIR_MEASURES, Graded(gold, scores))
            title = f"{encoder.name}, {one.path.name}, {setting}"
            figures.append(_scatter(title, one.pairs, scores))
        about: Row = {"encoder": encoder.name, "set": one.name, "file": one.path.name}
        cost = measured(COST, encoder.cost - before)
        rows.append({**about, "setting": setting, **cells, **cost})
    return Evaluation(
        "phrase-similarity",
        tuple(rows),
        tuple(DataFile.of(one.path, len(one.pairs) + len(one.choices)) for one in loaded),
        {"limit": limit},
        figures=tuple(figures),
    )


def score_pairs(encoder: TextEncoder, pairs: Sequence[GradedPair], setting: str) -> Numbers:
    """``(n,)`` cosines of pairs.

    In the setting ``phrase``, each phrase is encoded by itself, like a sentence; in
    ``phrase-in-context``, it is the tokens of the phrase in "title of its field: phrase".
    """
    fields = [pair.field.lower() + ": " if setting == IN_CONTEXT else "" for pair in pairs] * 2
    phrases = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    if setting == PHRASE:
        vectors = _unique_vectors(encoder, phrases)
    else:
        texts = [field + phrase for field, phrase in zip(fields, phrases, strict=True)]
        places = [[(len(field), len(text))] for field, text in zip(fields, texts, strict=True)]
        vectors = np.concatenate(phrases_in_context(encoder, texts, places))
    return cosines(vectors[: len(pairs)], vectors[len(pairs) :])


def choose(encoder: TextEncoder, choices: Sequence[Choice], setting: str) -> Numbers:
    """Whether the word most similar to each phrase is the right one.

    ``5-choices`` are those without the words of the phrase itself, as in Yu and Ettinger (2020).

    Returns:
        ``(n,)`` 1 if it is, 0 if not; a fraction if several words are equally similar.
    """
    offered = [
        (choice.answer, *(choice.parts if setting == SEVEN else ()), *choice.others)
        for choice in choices
    ]
    phrases = [choice.phrase for choice in choices]
    counts = [len(words) for words in offered]
    vectors = _unique_vectors(encoder, [*phrases, *(word for words in offered for word in words)])
    repeated = np.repeat(vectors[: len(choices)], counts, axis=0)
    scores = np.split(cosines(repeated, vectors[len(choices) :]), np.cumsum(counts)[:-1])
    return np.array([(some[0] == some.max()) / (some == some.max()).sum() for some in scores])


def _settings(one: PhraseSet) -> tuple[str, ...]:
    if one.choices:
        return SEVEN, FIVE
    return (PHRASE, IN_CONTEXT) if any(pair.field for pair in one.pairs) else (PHRASE,)


def _sample(one: PhraseSet, limit: int | None) -> PhraseSet:
    if limit is None or limit >= len(one.pairs) + len(one.choices):
        return one
    size = len(one.pairs) + len(one.choices)
    rows = sorted(np.random.default_rng(0).permutation(size)[:limit].tolist())
    if one.choices:
        return replace(one, choices=tuple(one.choices[row] for row in rows))
    return replace(one, pairs=tuple(one.pairs[row] for row in rows))


def _unique_vectors(encoder: TextEncoder, phrases: Sequence[str]) -> FloatArray:
    unique = {phrase: row for row, phrase in enumerate(dict.fromkeys(phrases))}
    return encoder.sentences(list(unique))[[unique[phrase] for phrase in phrases]]


def _scatter(title: str, pairs: Sequence[GradedPair], scores: Numbers) -> Figure:
    rows = np.random.default_rng(0).permutation(len(pairs))[:PLOTTED]
    points = Series("pairs", tuple(pairs[row].score for row in rows), tuple(scores[rows].tolist()))
    return Figure("scatter", title, "similarity by people", "cosine", (points,))


HARNESS = Harness(
    "phrase-similarity",
    "Phrases by themselves: BiRD, patent phrases, STS-B and Turney's bigrams.\n\n"
    "Correlation of cosines with graded similarity (of patent phrases also with the title of "
    "their class before them), and accuracy of choosing the word that means the same as a bigram.",
    "Folder with the sets (bird*.txt, train.csv of patent phrases, stsb*.csv, turney*.txt), "
    "or the file of one.",
    run,
    options=(
        Option(
            "sets", "Only this one; repeatable.  [default: all sets found]", choices=tuple(SETS)
        ),
        Option("limit", "A random sample of N pairs of each set, the same each time.", least=3),
    ),
)
