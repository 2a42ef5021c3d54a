"""A stratified sample of all passages of a store, for people to say which of them say a topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np
import orjson
from xxhash import xxh3_64_hexdigest

from slice_os.arrays import FloatArray, IntArray
from slice_os.corpus import Corpus
from slice_os.errors import InputError, StoreError
from slice_os.estimates.recall import Stratum, TopicEstimate, allocated, estimate
from slice_os.hits.bands import PROBABLE_FROM, UNSURE_FROM
from slice_os.hits.hit import Hit, without_vectors
from slice_os.labels.label import Label, LabelKey
from slice_os.search.hit_builder import HitBuilder
from slice_os.search.run import all_hits
from slice_os.stores.candidates import ScoredCandidates
from slice_os.stores.protocol import StoreInfo
from slice_os.topics.journal import LabelJournal
from slice_os.topics.run import TopicQuery, make_aims
from slice_os.topics.table import topic_table
from slice_os.topics.topic import Topic

DEFAULT_SIZE = 140

# Below all that a verifier has read, the passages nearest by cosine, as shares of the rest.
_NEAREST = (0.01, 0.05, 0.2)
_STEP = 0.08
# Share of right passages that is expected at least, so that low strata are sampled, too.
_RARE = 0.002
# What no verifier has read is scored by cosine less this, below all that one has.
_UNREAD = 2.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Passages to label, and the strata that they are from.

    Attributes:
        topic: name.
        size: passages asked for.
        seed: of the choice.
        cut: score from which passages have a hit.
        strata: by falling score, without labels.
        words: of each stratum, the words to label in each passage that is sampled.
        hits: these words as hits; empty if they are not at hand, as in a sample that was kept.
    """

    topic: str
    size: int
    seed: int
    cut: float
    strata: tuple[Stratum, ...]
    words: tuple[tuple[LabelKey, ...], ...]
    hits: tuple[Hit, ...] = ()

    @property
    def keys(self) -> set[LabelKey]:
        """All words to label."""
        return set(chain.from_iterable(self.words))

    def waiting(self, labels: Iterable[Label]) -> list[Hit]:
        """The hits without a label, in random order, so that nothing tells what is expected."""
        known = {label.key for label in labels}
        left = [hit for hit in self.hits if _key(hit) not in known]
        return Random("0/order").sample(left, len(left))  # noqa: S311

    def is_labelled(self, labels: Iterable[Label]) -> bool:
        """Whether all of it has a label."""
        return self.keys <= {label.key for label in labels}

    def estimate(self, labels: Iterable[Label]) -> TopicEstimate:
        """The estimate by the labels; `InputError` if none is of this sample."""
        right = {label.key: label.right for label in labels}
        counted = []
        for stratum, words in zip(self.strata, self.words, strict=True):
            answers = Counter(right[key] for key in words if key in right)
            known = answers.total()
            counted.append(Stratum(stratum.least, stratum.passages, known, answers[True]))
        if not any(one.labelled for one in counted):
            raise InputError(f"no passage of the sample for {self.topic!r} has a label yet")
        return estimate(counted, self.cut)

    def to_row(self, state: str) -> dict[str, Any]:
        """The sample as plain JSON types, to be kept with its labels."""
        return {
            "state": state,
            "size": self.size,
            "seed": self.seed,
            "cut": self.cut,
            "strata": [[one.least, one.passages] for one in self.strata],
            "words": [[list(key[1:]) for key in some] for some in self.words],
        }

    @classmethod
    def of_row(cls, topic: str, row: Mapping[str, Any]) -> Sample:
        """The sample that `to_row` gave."""
        words = tuple(tuple((topic, *one) for one in some) for some in row["words"])
        strata = tuple(Stratum(*one) for one in row["strata"])
        return cls(topic, row["size"], row["seed"], row["cut"], strata, words)


def sample_state(info: StoreInfo, topic: Topic) -> str:
    """A key of what a sample depends on: meaning and cut of the topic, and what is in the store."""
    bare = replace(topic, name="", description="", unit="", must_match=(), must_not_match=())
    counts = [info.documents, info.passages, info.words, info.pieces]
    return xxh3_64_hexdigest(orjson.dumps([topic_table(bare), info.encoder.encoder_id, counts]))


def kept_samples(info: StoreInfo, topic: Topic, drawn: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """The samples that were drawn for a topic as it and the store are now, the largest first.

    ``drawn`` has all that were drawn for it, as `LabelJournal.samples` gives them.
    """
    state = sample_state(info, topic)
    rows = [row for row in drawn if row.get("state") == state][::-1]
    rows.sort(key=itemgetter("size"), reverse=True)
    return [Sample.of_row(topic.name, row) for row in rows]


def known_estimate(
    info: StoreInfo, topic: Topic, drawn: Sequence[Mapping[str, Any]], labels: Sequence[Label]
) -> TopicEstimate | None:
    """The estimate by the largest labelled sample; None without one. See `kept_samples`."""
    kept = kept_samples(info, topic, drawn)
    return next((one.estimate(labels) for one in kept if one.is_labelled(labels)), None)


def draw(
    corpus: Corpus,
    topic: Topic,
    journal: LabelJournal,
    labels: Sequence[Label],
    size: int | None = None,
    seed: int | None = None,
) -> Sample:
    """The sample to label, which is kept with the labels; without hits if nothing is left to do.

    Without size or seed, those of the largest sample hold, or else `DEFAULT_SIZE` and 0.
    """
    info = corpus.info()
    kept = kept_samples(info, topic, journal.samples().get(topic.name, ()))
    largest = kept[0] if kept else None
    size = size or (largest.size if largest else DEFAULT_SIZE)
    seed = seed if seed is not None else largest.seed if largest else 0
    same = next((one for one in kept if (one.size, one.seed) == (size, seed)), None)
    if same is not None and same.is_labelled(labels):
        return same
    drawn = sample(corpus, topic, size, seed)
    if same is None or same.words != drawn.words:
        journal.add_sample(topic.name, drawn.to_row(sample_state(info, topic)))
    return drawn


@dataclass(frozen=True, slots=True)
class PassageScores:
    """The score of every passage of a store for a topic.

    Attributes:
        topic: name.
        asked: the query that they were scored by.
        cut: score from which passages have a hit.
        scores: ``(n_passages,)``, in the order of the store.
        edges: ``(n_strata,)`` least score of each stratum, falling.
        strata: ``(n_passages,)`` number of the stratum of each.
        best: the best hit of those with one, also of one that fails the cut, by number.
    """

    topic: str
    asked: TopicQuery
    cut: float
    scores: FloatArray
    edges: FloatArray
    strata: IntArray
    best: Mapping[int, Hit]

    def chosen(self, size: int, seed: int = 0) -> list[list[int]]:
        """The numbers of so many passages, by stratum; the same for the same seed."""
        random = Random(f"{seed}/{self.topic}")  # noqa: S311
        members = [np.flatnonzero(self.strata == n).tolist() for n in range(len(self.edges))]
        means = [float(self.scores[own].mean()) if own else 0.0 for own in members]
        guesses = [min(0.95, max(_RARE, mean)) for mean in means]
        wanted = allocated(list(map(len, members)), guesses, size)
        return [sorted(random.sample(own, n)) for own, n in zip(members, wanted, strict=True)]

    def sample(self, corpus: Corpus, size: int, seed: int = 0) -> Sample:
        """The chosen passages, read from the store.

        Raises a `StoreError` if passages were added or deleted since they were scored.
        """
        chosen = self.chosen(size, seed)
        unread = {n for some in chosen for n in some if n not in self.best}
        best = {**self.best, **_nearest(corpus, self.asked, unread, len(self.scores))}
        counts = np.bincount(self.strata, minlength=len(self.edges)).tolist()
        hits = [[replace(best[n], topic=self.topic) for n in some] for some in chosen]
        return Sample(
            self.topic,
            size,
            seed,
            self.cut,
            tuple(map(Stratum, self.edges.tolist(), counts)),
            tuple(tuple(map(_key, some)) for some in hits),
            tuple(chain.from_iterable(hits)),
        )


def sample(corpus: Corpus, topic: Topic, size: int, seed: int = 0) -> Sample:
    """So many passages of a store, more of where right and wrong ones are mixed.

    The same store, topic, size and seed give the same sample. Raises an `InputError` as
    `score_passages`.
    """
    return score_passages(corpus, topic).sample(corpus, size, seed)


def score_passages(corpus: Corpus, topic: Topic) -> PassageScores:
    """Score every passage of a store for a topic.

    A passage is scored by its best hit: by its probability, or by cosine if the topic has a
    threshold. What no verifier has read comes below that, by cosine. Raises an `InputError` as
    `mine_topics`, or if the topic's conditions leave no passage.
    """
    (aim,) = make_aims([topic], corpus.encoder, verifier=corpus.refinement().verifier)
    asked = TopicQuery.of([aim], corpus.encoder, topic.where)
    by_probability = bool(aim.needs.probability)
    cut = aim.needs.probability or aim.needs.cosine

    def score(hit: Hit) -> float:
        if by_probability and hit.probability is None:  # in another language
            return cut if aim.admits(hit) else hit.cosine - _UNREAD
        return (hit.probability or 0.0) if by_probability else hit.cosine

    parts: list[FloatArray] = []
    best: dict[int, Hit] = {}
    begin = 0
    for candidates in corpus.store.scan(asked.query, -1.0, exhaustive=True):
        scores = candidates.cosines.max(axis=0, initial=-1.0)
        scores -= _UNREAD if by_probability else 0.0
        found = np.zeros(len(scores), dtype=bool)
        for number, hit in _judged(candidates, asked):
            found[number] |= aim.admits(hit)
            former = best.get(begin + number)
            if former is None or score(hit) > score(former):
                best[begin + number] = hit
                scores[number] = score(hit) if by_probability else scores[number]
        # A counter-phrase may be nearer to all that reaches the cut.
        scores[~found & (scores >= cut)] = np.nextafter(np.float32(cut), np.float32(-1.0))
        parts.append(scores)
        begin += len(scores)
    scores = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
    if not len(scores):
        raise InputError(f"topic {topic.name!r}: no passage to sample; see its where")
    edges = _edges(scores, cut, by_probability)
    strata = np.searchsorted(-edges, -scores, side="left")
    return PassageScores(topic.name, asked, cut, scores, edges, strata, best)


def _judged(candidates: ScoredCandidates, asked: TopicQuery) -> Iterator[tuple[int, Hit]]:
    """The hits of the topic in some passages, those that fail its cut too, with their passage."""
    near = candidates.at_least(min(asked.least))
    numbers = {key: number for number, key in enumerate(candidates.keys)}
    loaded = near.load(near.keys)
    at = {(one.doc_id, one.encoded.start): numbers[key] for key, one in loaded.items()}
    below: list[Hit] = []
    hits = list(asked.assign(all_hits(near, asked.query, asked.least), below=below.append))
    yield from ((at[hit.doc_id, hit.passage.start], hit) for hit in (*hits, *below))


def _nearest(corpus: Corpus, asked: TopicQuery, wanted: set[int], total: int) -> dict[int, Hit]:
    """The nearest span of some passages, by their number among those of the store."""
    found = {}
    begin = 0
    for candidates in corpus.store.scan(asked.query, -1.0, exhaustive=True):
        own = [n for n in range(len(candidates.keys)) if begin + n in wanted]
        loaded = candidates.load([candidates.keys[n] for n in own])
        for n in own:
            row = int(candidates.cosines[:, n].argmax())
            (hit,) = HitBuilder(loaded[candidates.keys[n]], asked.query).hits(row, limit=1)
            found[begin + n] = without_vectors(hit)
        begin += len(candidates.keys)
    if begin != total:
        raise StoreError(
            f"{corpus.store.info().location}: changed while passages were chosen; run it again"
        )
    return found


def _edges(scores: FloatArray, cut: float, by_probability: bool) -> FloatArray:
    """The least score of each stratum, falling; one is the cut, and none is empty."""
    if by_probability:
        edges = {PROBABLE_FROM, UNSURE_FROM, UNSURE_FROM / 3, 0.9, 0.4, cut, 0.0}
    else:
        edges = {cut + _STEP * step for step in range(-2, 3)}
    rest = np.sort(scores[scores < min(edges)])[::-1]
    edges |= {float(rest[int(len(rest) * share)]) for share in _NEAREST if len(rest)}
    falling = np.array(sorted({*edges, float(scores.min())}, reverse=True), dtype=scores.dtype)
    counts = np.bincount(np.searchsorted(-falling, -scores, side="left"), minlength=len(falling))
    kept: FloatArray = falling[(counts[: len(falling)] > 0) | (falling == scores.dtype.type(cut))]
    return kept


def _key(hit: Hit) -> LabelKey:
    return Label.of(hit, right=True).key
