"""Contrasts: how often what says a phrase is scored above what only looks like it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from slice_os.arrays import Float64Array
from slice_os.datasets.files import DataFile, DataRow, DataSource
from slice_os.evaluation.encoders.span_vectors import cosines, phrases_in_context
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, quiet, track
from slice_os.evaluation.measures import Measure, averaged, measured, ranks
from slice_os.evaluation.results import Evaluation, Row
from slice_os.evaluation.span_retrieval.ranking import span_encoder
from slice_os.text.words import find_words
from slice_os.verifier.claims import Claim
from slice_os.verifier.registry import find_verifier

PAIRS = DataSource(
    'JSON Lines of {"phrase", "says", "contrast", "kind"} with the span between [[ and ]]'
)

_MARKED = re.compile(r"(?P<before>.*?)\[\[(?P<span>.+?)\]\](?P<after>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ContrastPair:
    """A span that says a phrase, and one that differs in its ``kind``, such as ``negation``."""

    says: Claim
    contrast: Claim
    kind: str


def read_pairs(path: Path) -> list[ContrastPair]:
    """The pairs of a file; a text without marks is a span as a whole."""
    pairs = [
        ContrastPair(marked(row, "says"), marked(row, "contrast"), row.text("kind"))
        for row in PAIRS.json_lines(path)
    ]
    if not pairs:
        raise PAIRS.malformed(path, "has no pair")
    return pairs


def marked(row: DataRow, name: str, text: str | None = None) -> Claim:
    """The claim of the ``[[span]]`` in a field of a row, or in one of the texts in that field.

    A text without marks is a span as a whole; `InputError` if there is more than one span.
    """
    phrase, text = row.text("phrase"), row.text(name) if text is None else text
    found = _MARKED.fullmatch(text)
    if found is None:
        return Claim(phrase, text, 0, len(text))
    start = len(found["before"])
    if "[[" in found["after"]:
        raise row.malformed(f"{name!r} has more than one span in [[ ]]")
    return Claim(phrase, "".join(found.groups()), start, start + len(found["span"]))


COSINE, PROBABILITY = "cosine", "probability"
ALL = "all"
LIKELY = 0.5


def right(scores: Float64Array) -> Float64Array:
    """``(n,)`` of ``(2, n)`` scores: 1 where the first is higher, ½ where both are equal."""
    halves: Float64Array = np.heaviside(scores[0] - scores[1], 0.5)
    return halves


def auc(scores: Float64Array) -> float:
    """The probability that a span that says its phrase outscores one that does not, of any pair."""
    n = scores.shape[1]
    placed = ranks(scores.reshape(-1))[:n]
    return float((placed.sum() - n * (n + 1) / 2) / n**2)


# Of ``(2, n)`` scores: of the spans that say the phrases, and of the others.
MEASURES: tuple[Measure[Float64Array], ...] = (
    Measure("pairs", lambda scores: scores.shape[1]),
    averaged("accuracy", right, interval=True),
    Measure("auc", auc),
    averaged("says_likely", lambda scores: scores[0] >= LIKELY),
    averaged("contrast_likely", lambda scores: scores[1] >= LIKELY),
)


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    verifiers: Annotated[
        tuple[str, ...],
        "VERIFIER",
        "A verifier to measure, by name, such as slice-verify, similarity or cross-encoder:FOLDER; "
        "repeatable.",
    ] = (),
) -> Evaluation:
    """Score both spans of each pair by cosine, by probability, and by verifiers."""
    pairs = read_pairs(data)
    kinds = sorted({pair.kind for pair in pairs})
    rows: list[Row] = []
    for encoder in track(encoders, "encoders", len(encoders), progress):
        for scorer, scores in _scored(pairs, encoder, verifiers):
            for kind in (*kinds, ALL):
                chosen = [kind in (pair.kind, ALL) for pair in pairs]
                cells = measured(MEASURES, scores.reshape(2, -1)[:, chosen])
                rows.append({"encoder": encoder.name, "score": scorer, "kind": kind, **cells})
    return Evaluation(
        "contrasts",
        tuple(rows),
        (DataFile.of(data, len(pairs)),),
        {"verifiers": list(verifiers)},
        (
            "accuracy: share of the pairs in which the span that says the phrase has the higher "
            "score; auc: the same over all spans of that kind, also of different pairs; "
            "says_likely, contrast_likely: share of the spans that say the phrase, and of the "
            "others, with a score of .5 or more.",
        ),
        main=("accuracy", "auc"),
    )


def _scored(
    pairs: Sequence[ContrastPair], encoder: TextEncoder, verifiers: Sequence[str]
) -> Iterator[tuple[str, Float64Array]]:
    """The scores of each scorer, first of the spans that say the phrases, then of the others."""
    calibration = span_encoder(encoder).calibration
    claims = [pair.says for pair in pairs] + [pair.contrast for pair in pairs]
    places = [(one.start, one.end) for one in claims]
    spans = phrases_in_context(encoder, [one.text for one in claims], places)
    similar = cosines(encoder.phrases([one.phrase for one in claims]), spans)
    yield COSINE, similar
    if calibration is not None:
        phrase_words = [len(find_words(one.phrase)) for one in claims]
        span_words = [len(find_words(one.text[one.start : one.end])) for one in claims]
        priors = calibration.probabilities(similar, phrase_words, span_words)
        yield PROBABILITY, priors
        known = zip(claims, priors.tolist(), strict=True)
        claims = [replace(one, prior=prior) for one, prior in known]
    for name in verifiers:
        verifier = find_verifier(name, span_encoder(encoder))
        yield name, np.array([verdict.probability for verdict in verifier.check(claims)])


HARNESS = Harness(
    "contrasts",
    "Pairs of spans that differ in one meaning, such as negation, roles or numbers: how often the "
    "one that says the phrase is scored above the other, by cosine, probability and verifiers.",
    'JSON Lines of {"phrase", "says", "contrast", "kind"}; in "says" and "contrast", [[ and ]] '
    "mark the span.",
    run,
)
