"""Learning topics from labels: phrases, counter-phrases, a threshold and a calibration.

Few labels must not undo what is known: each number has a prior, where it stays without evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from itertools import pairwise
from math import log, log2

import numpy as np

from slice_os.arrays import Float64Array, FloatArray, IntArray
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.labels.label import SPEAKER, Label
from slice_os.query.options import HitOptions
from slice_os.search.refinement import Refinement, refinement
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words, touched_words
from slice_os.topics.assignment import admits
from slice_os.topics.topic import LONGEST_TEXT, MOST_TEXTS, Learned, Topic
from slice_os.verifier.claims import Claim, claim_in

# Chosen on training utterances of CLINC150, checked on those of Banking77.
STEEPNESS = 30.0
PRIOR_WIDTH = 0.04
TOWARDS_RIGHT = 0.25
RAISE = 0.04
SHARE_OF_RIGHT = 0.25
BELOW_IF_EXCLUSIVE = 0.1

KNOWN_COSINE = 0.95
NEAR_THRESHOLD = 0.1
OFFSET_WIDTH = 1.0
SCALE_WIDTH = 0.3
LEAST_SCALE = 0.1
SUREST = 0.99
EDGE = 1e-9
_GRID = np.arange(0.3, 0.9501, 0.005)
_NEWTON_STEPS = 25
_PASSAGES_KEPT = 64
# sentencex takes some short words for abbreviations, as in "with me. Hey".
_STOP = re.compile(r"\b[a-z]{2,}[.?!]\s+(?=[A-Z])")


def learn(
    topic: Topic,
    labels: Sequence[Label],
    encoder: SpanEncoder,
    *,
    exclusive: bool = False,
    verify: bool | None = None,
) -> Learned:
    """Learn a topic from labels alone, whatever it learned before.

    The sentence of a right hit that no phrase is near becomes a phrase. That of a wrong one that
    comes near the threshold becomes a counter-phrase, unless a right one would be out by it. A
    topic with conditions on the speaker learns from what such speakers say. Labels without a word
    teach nothing. Threshold and calibration are fitted to the cosines that the labelled words have
    without their own label. Raises an `InputError` if there is no label that teaches the topic, or
    it combines others.

    Args:
        topic: as its file has it.
        labels: of this topic.
        encoder: of the store that the topic is for.
        exclusive: words count for the nearest of many topics alone, so that the others keep out
            what a lower threshold lets in.
        verify: whether the probabilities of hits will be those of the verifier.
    """
    if topic.combination is not None:
        raise InputError(
            f"topic {topic.name!r} combines others and learns nothing; teach those that it names"
        )
    if not labels or any(label.topic != topic.name for label in labels):
        raise InputError(
            f"topic {topic.name!r}: learning needs labels of this topic, and no others"
        )
    labels = [label for label in labels if _teaches(topic, label)]
    if not labels:
        raise InputError(f"topic {topic.name!r}: no label has words of a speaker that it is about")
    vectors = label_vectors(labels, encoder)
    sentences = [sentence_of(label) for label in labels]
    whole = encoder.encode(sentences)
    is_right = np.array([label.right for label in labels])
    right, wrong = np.flatnonzero(is_right), np.flatnonzero(~is_right)
    given = encoder.encode_phrases(topic.phrases)
    longest = encoder.card.max_words
    short = (len(one) <= LONGEST_TEXT and len(find_words(one)) <= longest for one in sentences)
    fits = np.fromiter(short, dtype=bool)
    new = right[fits[right] & ((vectors[right] @ given.T).max(axis=1) < KNOWN_COSINE)]
    added = _unlike(given, whole, new)
    similar = vectors @ np.concatenate([given, whole[added]]).T
    # A label must not tell of itself.
    similar[added, len(given) + np.arange(len(added))] = -1
    cosines, nearest = similar.max(axis=1), similar.argmax(axis=1)
    threshold = fit_threshold(
        encoder.card.threshold if topic.threshold is None else topic.threshold,
        np.concatenate([cosines[right], _among_themselves(given)]),
        cosines[wrong],
        grown=1 + len(added) / len(given),
    )
    if exclusive:
        threshold -= BELOW_IF_EXCLUSIVE
    counters = [
        row
        for row in wrong.tolist()
        if fits[row]
        and cosines[row] >= threshold - NEAR_THRESHOLD
        and sentences[row] not in topic.phrases
        and (vectors[right] @ whole[row] <= cosines[right]).all()
    ][:MOST_TEXTS]
    wordings = [*topic.phrases, *(sentences[row] for row in added)]
    phrases = [wordings[column] for column in nearest]
    refine = refinement(encoder, HitOptions(verify=verify), topic.verifier or None)
    odds = _log_odds(labels, phrases, cosines, encoder, refine)
    offset, scale = (0.0, 1.0) if odds is None else fit_calibration(odds, is_right)
    wished = 0.5 if topic.precision is None else min(max(topic.precision, EDGE), SUREST)
    cut = min(threshold + log(wished / (1 - wished)) / STEEPNESS, 1.0)
    by_cosine = topic.threshold is not None or topic.precision is not None
    by_cosine |= topic.min_probability is None and odds is None
    return Learned(
        threshold=round(cut, 3) if by_cosine else None,
        phrases=_texts(sentences, added),
        counter_phrases=_texts(sentences, counters),
        offset=round(offset, 3),
        scale=round(scale, 3),
        labels=len(labels),
        right=len(right),
        date=date.today().isoformat(),
    )


def fit_threshold(usual: float, right: FloatArray, wrong: FloatArray, grown: float) -> float:
    """The cosine that separates right from wrong hits, or nearly the usual one if they are few.

    Args:
        usual: the threshold without labels.
        right: ``(n_right,)`` cosines of right hits, each with the nearest other phrase.
        wrong: ``(n_wrong,)`` cosines of wrong ones.
        grown: how many times as many phrases there are now: more phrases are nearer to anything.
    """
    tight = float(right.mean()) - usual if len(right) else 0.0
    expected = usual + TOWARDS_RIGHT * tight + RAISE * log2(grown)
    belief = -(((_GRID - expected) / PRIOR_WIDTH) ** 2) / 2
    belief -= SHARE_OF_RIGHT * np.logaddexp(0, STEEPNESS * (_GRID - right[:, None])).sum(axis=0)
    belief -= np.logaddexp(0, STEEPNESS * (wrong[:, None] - _GRID)).sum(axis=0)
    return float(_GRID[belief.argmax()])


def fit_calibration(odds: Float64Array, right: FloatArray) -> tuple[float, float]:
    """Offset and scale of ``(n,)`` log-odds, most likely after ``(n,)`` labels and the prior."""
    features = np.stack([np.ones_like(odds), odds], axis=1)
    prior, spread = np.array([0.0, 1.0]), np.array([OFFSET_WIDTH, SCALE_WIDTH]) ** 2
    weights = prior.copy()
    for _ in range(_NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (likely - right) + (weights - prior) / spread
        bend = (features.T * (likely * (1 - likely))) @ features + np.diag(1 / spread)
        weights = weights - np.clip(np.linalg.solve(bend, slope), -1, 1)
    return float(weights[0]), max(float(weights[1]), LEAST_SCALE)


def label_vectors(labels: Sequence[Label], encoder: SpanEncoder) -> FloatArray:
    """``(n, dimension)`` unit vectors of labelled words, in their passage if it is known."""
    alone = list(dict.fromkeys(label.text for label in labels if label.passage is None))
    vectors = dict(zip(alone, encoder.encode(alone), strict=True))
    encoded = lru_cache(_PASSAGES_KEPT)(encoder.encode_text)
    found = []
    for label in labels:
        if label.passage is None:
            found.append(vectors[label.text])
            continue
        aligned, pieces = encoded(label.passage.text)
        begin, words = label.passage.start, aligned.words
        first, last = touched_words(words, label.start - begin, label.end - begin)
        own = pieces[words[first, 2] : words[last - 1, 3]] if first < last else pieces[:0]
        vector = own.sum(axis=0)
        found.append(vector / max(float(np.linalg.norm(vector)), 1e-12))
    return np.stack(found)


def sentence_of(label: Label) -> str:
    """The sentence with most of a label's words, as far as its passage goes; or the words alone."""
    text, begin, end = label.text, 0, len(label.text)
    if label.passage is not None:
        text, begin = label.passage.text, label.start - label.passage.start
        end += begin
    stops = (stop.end() for stop in _STOP.finditer(text))
    edges = pairwise(sorted({0, *sentence_ends(text), *stops}))
    first, last = max(edges, key=lambda one: min(one[1], end) - max(one[0], begin))
    return " ".join((text[first:last] if label.passage else text).split())


def _teaches(topic: Topic, label: Label) -> bool:
    """Whether a label may teach a topic: it has words, and its speaker, if known, is of it."""
    own = tuple(condition for condition in topic.where if condition.field == SPEAKER)
    ours = not label.speaker or admits(own, label.doc_id, {SPEAKER: label.speaker})
    return ours and all(len(find_words(text)) for text in (label.text, sentence_of(label)))


def _log_odds(
    labels: Sequence[Label],
    phrases: Sequence[str],
    cosines: FloatArray,
    encoder: SpanEncoder,
    refine: Refinement,
) -> Float64Array | None:
    """Log-odds that each label's words say the phrase; None if hits have no probability."""
    given: Float64Array | None = None
    if encoder.calibration is not None:
        lengths = (
            [max(1, len(find_words(text))) for text in texts]
            for texts in (phrases, [label.text for label in labels])
        )
        given = encoder.calibration.probabilities(cosines, *lengths)
    if refine.verifier is not None:
        claims = [
            _claim(label, phrase, None if given is None else float(given[row]))
            for row, (label, phrase) in enumerate(zip(labels, phrases, strict=True))
        ]
        given = np.array([verdict.probability for verdict in refine.verifier.check(claims)])
    if given is None:
        return None
    bounded = np.clip(given, EDGE, 1 - EDGE)
    return np.log(bounded / (1 - bounded))


def _claim(label: Label, phrase: str, prior: float | None) -> Claim:
    if label.passage is None:
        return Claim(phrase, label.text, 0, len(label.text), prior)
    begin, text = label.passage.start, label.passage.text
    return claim_in(phrase, text, label.start - begin, label.end - begin, prior)


def _unlike(given: FloatArray, vectors: FloatArray, rows: IntArray) -> list[int]:
    """The rows that say what neither a phrase nor a row before says, as many as a topic takes."""
    nearest = (vectors[rows] @ given.T).max(axis=1)
    new: list[int] = []
    for place, row in enumerate(rows.tolist()):
        if nearest[place] < KNOWN_COSINE and len(new) < MOST_TEXTS:
            new.append(row)
            nearest = np.maximum(nearest, vectors[rows] @ vectors[row])
    return new


def _among_themselves(vectors: FloatArray) -> FloatArray:
    """The cosine of each with the nearest other one."""
    if len(vectors) < 2:
        return np.zeros(0, dtype=np.float32)
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -1)
    nearest: FloatArray = similar.max(axis=1)
    return nearest


def _texts(sentences: Sequence[str], rows: Sequence[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences[row] for row in rows))
