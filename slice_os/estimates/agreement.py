"""Agreement of readers on the same hits, and what they disagree on.

Krippendorff's alpha for nominal data takes any number of readers and missing answers. Its interval
is Bayesian: the kinds of answered hits (how many readers said right, how many wrong) have a
Dirichlet posterior. For two readers its prior is Jeffreys' for their four pairs of answers, so that
a few hits without a disagreement do not give a certain result, as they do in a bootstrap.
(K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011; simulated coverage is in
tests/test_agreement.py.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from slice_os.estimates.recall import Interval, Totals
from slice_os.labels.label import Label, LabelEntry, folded

_DRAWS = 10_000
# Jeffreys' prior of two readers' answers: both right, one of each (in two ways), both wrong.
_PRIOR = {(2, 0): 0.5, (1, 1): 1.0, (0, 2): 0.5}
# Two readers mean the same words if they share this part of the shorter ones.
_SHARED = 0.5
# Of those whose words overlap at a place, the last so many are compared; people have fewer.
_NEAR = 20


@dataclass(frozen=True, slots=True)
class ReadHit:
    """Words that readers answered, whose edges may differ from reader to reader.

    Attributes:
        answers: the last one of each reader with a name, by name.
        labels: all labels of the words.
    """

    answers: tuple[LabelEntry, ...]
    labels: tuple[Label, ...]

    @property
    def disputed(self) -> bool:
        """Whether readers disagree, and nobody has settled it."""
        settled = any(label.settled for label in self.labels)
        return not settled and len({answer.label.right for answer in self.answers}) > 1


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the readers of a topic's hits.

    Attributes:
        topic: its name.
        readers: names of who answered hits that another one answered, too.
        hits: number of those that at least two readers answered.
        disputed: number of those on which they disagree, and that nobody has settled.
        agreed: share of pairs of answers that are the same; a hit weighs as many pairs as it has
            answers, as in alpha.
        alpha: Krippendorff's alpha: 1 if readers always agree, 0 if as often as by chance; None if
            all answers are the same, which tells nothing of chance.
    """

    topic: str
    readers: tuple[str, ...]
    hits: int
    disputed: int
    agreed: Interval
    alpha: Interval | None


def agreement(answers: Iterable[LabelEntry], seed: int = 0) -> list[Agreement]:
    """Agreement on each topic of which two readers have answered the same hits.

    What settles a disagreement is no answer of a reader's own, so it does not count.

    Args:
        answers: of all readers, as `LabelJournal.of_all_readers` gives them.
        seed: of the simulation of the intervals.
    """
    topics: dict[str, list[ReadHit]] = defaultdict(list)
    for hit in read_hits(answers):
        if len(hit.answers) > 1:
            topics[hit.answers[0].label.topic].append(hit)
    found = []
    for name, hits in sorted(topics.items()):
        readers = {answer.label.reader for hit in hits for answer in hit.answers}
        agreed, alpha = _measured([_kind(hit) for hit in hits], seed)
        disputed = sum(hit.disputed for hit in hits)
        found.append(Agreement(name, tuple(sorted(readers)), len(hits), disputed, agreed, alpha))
    return found


def disputes(answers: Iterable[LabelEntry]) -> list[ReadHit]:
    """The hits on which readers disagree, and that nobody has settled, by topic and place."""
    return [hit for hit in read_hits(answers) if hit.disputed]


def read_hits(answers: Iterable[LabelEntry]) -> list[ReadHit]:
    """The words that labels are about, by topic and place.

    Labels of one document are about the same words if they share half of the shorter ones.
    """
    places: dict[tuple[str, str, str], list[LabelEntry]] = defaultdict(list)
    for answer in answers:
        label = answer.label
        words = "" if label.doc_id else folded(label.text)
        places[label.topic, label.doc_id, words].append(answer)
    groups = (group for _, own in sorted(places.items()) for group in _same_words(own))
    return [_read(group) for group in groups]


def _same_words(answers: list[LabelEntry]) -> list[list[LabelEntry]]:
    """The answers of one document, those about the same words together, by place."""
    found: list[list[LabelEntry]] = []
    near: list[list[LabelEntry]] = []
    for answer in sorted(answers, key=lambda one: (one.label.start, one.label.end)):
        near = [group for group in near if group[0].label.end > answer.label.start][-_NEAR:]
        group = next((group for group in near if _same(group[0].label, answer.label)), None)
        if group is None:
            group = []
            near.append(group)
            found.append(group)
        group.append(answer)
    return found


def _same(one: Label, other: Label) -> bool:
    if not one.doc_id:
        return True
    start, end = max(one.start, other.start), min(one.end, other.end)
    shorter = min(one.end - one.start, other.end - other.start)
    shared = (label.text[start - label.start : end - label.start] for label in (one, other))
    return start < end and end - start >= _SHARED * shorter and len(set(shared)) == 1


def _read(answers: list[LabelEntry]) -> ReadHit:
    by_time = sorted(answers, key=lambda answer: answer.number)
    last = {one.label.reader: one for one in by_time if not one.label.settled}
    last.pop("", None)
    named = tuple(last[reader] for reader in sorted(last))
    return ReadHit(named, tuple(answer.label for answer in by_time))


def _kind(hit: ReadHit) -> tuple[int, int]:
    """The numbers of readers who say right, and wrong."""
    right = sum(answer.label.right for answer in hit.answers)
    return right, len(hit.answers) - right


def _measured(kinds: list[tuple[int, int]], seed: int) -> tuple[Interval, Interval | None]:
    """The share of pairs that agree, and alpha; None if it is not defined."""
    counted = Counter(kinds)
    every = sorted({*counted, *_PRIOR})
    plain = np.array([[counted[kind] for kind in every]], dtype=np.float64)
    prior = np.array([_PRIOR.get(kind, 0.0) for kind in every])
    drawn = np.random.default_rng(seed).gamma(plain + prior, size=(_DRAWS, len(every)))
    drawn *= len(kinds) / drawn.sum(axis=1, keepdims=True)
    sizes = np.array(every, dtype=np.float64)
    (agreed,), (alpha,) = _agreement(plain, sizes)
    shares, alphas = _agreement(drawn, sizes)
    known = None if np.isnan(alpha) else Interval.of(float(alpha), [alphas])
    return Interval.of(float(agreed), [shares]), known


def _agreement(numbers: Totals, kinds: Totals) -> tuple[Totals, Totals]:
    """The share of pairs that agree, and alpha, for each of ``(n, k)`` numbers of k kinds."""
    right, wrong = kinds.T
    answers = numbers @ (right + wrong)
    observed = numbers @ (2 * right * wrong / (right + wrong - 1)) / answers
    expected = 2 * (numbers @ right) * (numbers @ wrong) / (answers * np.maximum(answers - 1, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = np.where(expected > 0, 1 - observed / expected, np.nan)
    return 1 - observed, alpha
