"""Similarity of phrases without surrounding text, against judgements by people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from slice_os.arrays import Float64Array
from slice_os.datasets.files import DataFile, DataSource
from slice_os.datasets.graded_pairs import PATENT, STS_B, GradedPair, read_patents, read_sts_b
from slice_os.errors import InputError
from slice_os.evaluation.encoders.span_vectors import cosines, distinct_vectors, phrases_in_context
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, quiet, track
from slice_os.evaluation.measures import ACCURACY, CORRELATIONS, COST, Graded, Measure, measured
from slice_os.evaluation.results import Evaluation, Figure, Row, Series
from slice_os.records import at_least, one_of

BIRD = DataSource(
    "BiRD, a tab-separated table with columns term1, term2 and relatedness score (bird.txt)",
    "http://saifmohammad.com/WebPages/BiRD.html",
)
TITLES = DataSource(
    'titles of patent classes by their symbols, {"A47": "…"} (cpc_titles.json)',
    "https://www.cooperativepatentclassification.org",
)
TURNEY = DataSource(
    "Turney's set, a line each: bigram | right word | its words | other words (turney*.txt)",
    "https://jair.org/index.php/jair/article/view/10778",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A bigram, the word that means the same, its own two words, and further wrong words."""

    phrase: str
    answer: str
    parts: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PhraseSet:
    """One of `SETS`, read: items are of `Choice` for Turney's bigrams, else of `GradedPair`."""

    name: str
    path: Path
    items: Sequence[Any]


def read_bird(path: Path) -> list[GradedPair]:
    """BiRD (Asaadi et al., 2019): relatedness of bigrams, from 0 to 1."""
    columns = ("term1", "term2", "relatedness score")
    return [
        GradedPair(row.text("term1"), row.text("term2"), row.score("relatedness score", 0, 1))
        for row in BIRD.table(path, columns, separator="\t", quoted=False)
    ]


def read_patent(path: Path) -> list[GradedPair]:
    """Patent phrases, with the titles of patent classes if their file is in the same folder."""
    beside = path.with_name("cpc_titles.json")
    titles = TITLES.json(beside) if beside.is_file() else {}
    if not isinstance(titles, dict) or not all(isinstance(one, str) for one in titles.values()):
        raise TITLES.malformed(beside, "not an object of texts")
    pairs = list(read_patents(path))
    if titles and (unknown := {pair.field for pair in pairs} - titles.keys()):
        raise TITLES.malformed(beside, f"class {min(unknown)!r} has no title")
    return [replace(pair, field=titles.get(pair.field, "")) for pair in pairs]


def read_turney(path: Path) -> list[Choice]:
    """Turney's bigrams (2012): which of seven words means the same?"""
    choices = []
    for line, text in enumerate(TURNEY.text(path).splitlines(), start=1):
        if text.strip():
            cells = [cell.strip() for cell in text.split("|")]
            if len(cells) < 5 or not all(cells):
                raise TURNEY.malformed(path, f"line {line}: {len(cells)} fields, some empty")
            phrase, answer, *others = cells
            parts = tuple(word for word in others if word in phrase.split())
            rest = tuple(word for word in others if word not in parts)
            choices.append(Choice(phrase, answer, parts, rest))
    return choices


# Patterns of file names, in a folder and in its direct subfolders.
SETS: dict[str, tuple[str, Callable[[Path], Sequence[Any]], DataSource]] = {
    "bird": ("bird*.txt", read_bird, BIRD),
    "patent": ("train.csv", read_patent, PATENT),
    "sts-b": ("stsb*.csv", read_sts_b, STS_B),
    "turney": ("turney*.txt", read_turney, TURNEY),
}


def load_sets(data: Path, names: tuple[str, ...] = ()) -> list[PhraseSet]:
    """The sets in a folder, or some of them by name, or the file of the one set named.

    Each file of STS-B except the train split is a set; a ``train.csv`` counts as patent phrases
    only if its header says so.
    """
    if data.is_file():
        if len(names) != 1:
            raise InputError(f"{data}: say which set the file is: --set {'|'.join(SETS)}")
        return [_read(names[0], data)]
    found = []
    for name in names or SETS:
        pattern, _, source = SETS[name]
        paths = [*data.glob(pattern), *data.glob(f"*/{pattern}")]
        paths = [path for path in sorted(paths) if _is_of(path, name)]
        if names and not paths:
            raise source.missing(data / pattern)
        found += [_read(name, path) for path in paths]
    if not found:
        listed = ", ".join(pattern for pattern, _, _ in SETS.values())
        raise InputError(f"{data}: no set of phrase similarity; expected a folder with {listed}")
    return found


def _read(name: str, path: Path) -> PhraseSet:
    _, read, source = SETS[name]
    items = read(path)
    if not items:
        raise source.malformed(path, "has no rows")
    return PhraseSet(name, path, items)


def _is_of(path: Path, name: str) -> bool:
    if name == "patent":
        return path.read_bytes()[:200].splitlines()[:1] == [b"id,anchor,target,context,score"]
    return name != "sts-b" or "train" not in path.name


PHRASE, IN_CONTEXT = "phrase", "phrase-in-context"
SEVEN, FIVE = CHOICES = ("7-choices", "5-choices")
PLOTTED = 2_000

PAIR_MEASURES: tuple[Measure[Graded], ...] = (
    *CORRELATIONS,
    Measure("pairs", lambda one: len(one.gold)),
)
CHOICE_MEASURES: tuple[Measure[Float64Array], ...] = (ACCURACY, Measure("pairs", len))


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    sets: Annotated[
        tuple[str, ...],
        one_of(tuple(SETS)),
        "Measure only this; repeatable.  [default: all sets found]",
    ] = (),
    limit: Annotated[
        int | None, at_least(3), "A random sample of N pairs of each set, the same each time."
    ] = None,
) -> Evaluation:
    """Correlation with graded similarity, and accuracy of choices."""
    loaded = [_sample(one, limit) for one in load_sets(data, sets)]
    work = [(encoder, one, how) for encoder in encoders for one in loaded for how in _settings(one)]
    rows: list[Row] = []
    figures: list[Figure] = []
    for encoder, one, setting in track(work, "encoders and sets", len(work), progress):
        before = encoder.cost
        if setting in CHOICES:
            cells = measured(CHOICE_MEASURES, choose(encoder, one.items, setting))
        else:
            scores = score_pairs(encoder, one.items, setting)
            gold = np.array([pair.score for pair in one.items])
            cells = measured(PAIR_MEASURES, Graded(gold, scores))
            title = f"{encoder.name}, {one.path.name}, {setting}"
            shown = np.random.default_rng(0).permutation(len(gold))[:PLOTTED]
            points = Series("pairs", tuple(gold[shown].tolist()), tuple(scores[shown].tolist()))
            figures.append(Figure("scatter", title, "similarity by people", "cosine", (points,)))
        about: Row = {"encoder": encoder.name, "set": one.name, "file": one.path.name}
        cost = measured(COST, encoder.cost - before)
        rows.append({**about, "setting": setting, **cells, **cost})
    return Evaluation(
        "phrase-similarity",
        tuple(rows),
        tuple(DataFile.of(one.path, len(one.items)) for one in loaded),
        {"limit": limit},
        figures=tuple(figures),
    )


def score_pairs(encoder: TextEncoder, pairs: Sequence[GradedPair], setting: str) -> Float64Array:
    """``(n,)`` cosines of pairs.

    In the setting ``phrase``, each phrase is encoded by itself, like a sentence; in
    ``phrase-in-context``, it is the tokens of the phrase in "title of its field: phrase".
    """
    fields = [pair.field.lower() + ": " if setting == IN_CONTEXT else "" for pair in pairs] * 2
    phrases = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    if setting == PHRASE:
        vectors = distinct_vectors(encoder.sentences, phrases)
    else:
        texts = [field + phrase for field, phrase in zip(fields, phrases, strict=True)]
        places = [(len(field), len(text)) for field, text in zip(fields, texts, strict=True)]
        vectors = phrases_in_context(encoder, texts, places)
    return cosines(vectors[: len(pairs)], vectors[len(pairs) :])


def choose(encoder: TextEncoder, choices: Sequence[Choice], setting: str) -> Float64Array:
    """``(n,)`` 1 if the word most similar to a phrase is the right one, 0 if another is.

    It is a fraction if several words are equally similar. ``5-choices`` are those without the words
    of the phrase itself, as in Yu and Ettinger (2020).
    """
    offered = [
        (choice.answer, *(choice.parts if setting == SEVEN else ()), *choice.others)
        for choice in choices
    ]
    phrases = [choice.phrase for choice in choices]
    counts = [len(words) for words in offered]
    vectors = distinct_vectors(
        encoder.sentences, [*phrases, *(word for words in offered for word in words)]
    )
    repeated = np.repeat(vectors[: len(choices)], counts, axis=0)
    scores = np.split(cosines(repeated, vectors[len(choices) :]), np.cumsum(counts)[:-1])
    return np.array([(some[0] == some.max()) / (some == some.max()).sum() for some in scores])


def _settings(one: PhraseSet) -> tuple[str, ...]:
    if one.name == "turney":
        return CHOICES
    return (PHRASE, IN_CONTEXT) if any(pair.field for pair in one.items) else (PHRASE,)


def _sample(one: PhraseSet, limit: int | None) -> PhraseSet:
    rows = np.random.default_rng(0).permutation(len(one.items))[:limit]
    return replace(one, items=[one.items[row] for row in sorted(rows)])


HARNESS = Harness(
    "phrase-similarity",
    "Phrases by themselves: BiRD, patent phrases, STS-B and Turney's bigrams.\n\n"
    "Correlation of cosines with graded similarity (of patent phrases also with the title of "
    "their class before them), and accuracy of choosing the word that means the same as a bigram.",
    "Folder with the sets (bird*.txt, train.csv of patent phrases, stsb*.csv, turney*.txt), "
    "or the file of one.",
    run,
)
