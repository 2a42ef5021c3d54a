"""Hits of topics, in one pass however many they are: in a store, or in documents that stream by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.corpus import Corpus
from slice_os.encoder.model_folder import files_hash
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.hit import Hit, HitWithVectors, counting
from slice_os.hits.run_record import RunRecord, TopicRecord
from slice_os.ingest.passages import encode_documents
from slice_os.labels.label import Label
from slice_os.query.filters import Filter, parse_where
from slice_os.query.options import LOW_THRESHOLD, SPAN, HitOptions, MineOptions, check_unit
from slice_os.query.query import Query, Where
from slice_os.search.listing import Search, Topics
from slice_os.search.recording import run_record
from slice_os.search.refinement import Refinement, refinement, usual_cut
from slice_os.search.run import make_query, mine
from slice_os.search.scan import part_hits
from slice_os.spans.passages import DocumentPart
from slice_os.text.documents import Document
from slice_os.text.words import find_words
from slice_os.topics.assignment import Aim, admits, answers, assign, countered
from slice_os.topics.files import topic_files
from slice_os.topics.topic import Requirement, Topic
from slice_os.topics.work import Work
from slice_os.verifier.claims import Verifier

FIELD_PREFIX = "topic_"
_STEPS = 1_001


def mine_topics(
    corpus: Corpus,
    topics: Sequence[Topic],
    *,
    where: Filter | None = None,
    exhaustive: bool = True,
    exclusive: bool = False,
    unit: str = SPAN,
    verify: bool | None = None,
    labels: Sequence[Label] | None = None,
    below: Callable[[Hit], None] | None = None,
    to_read: Callable[[Iterable[Hit]], Iterable[Hit]] = iter,
) -> Iterator[Hit]:
    """Every hit of every topic in a store, in one pass, by document, passage, topic and position.

    Options are those of `Corpus.mine`, for topics that do not say them; conditions on metadata are
    added to their own. With ``exclusive``, words count for the nearest topic alone. A topic's own
    verifier reads its hits, or else that of the corpus. Hits have the labels that people gave
    them, rejected ones too; by default, the labels are those in the folder of the store. ``below``
    is called with each hit that fails only for its probability. ``to_read`` leaves out hits of
    phrases before they are verified.

    Raises an `InputError` on no topic, two with one name, or one that needs a probability if the
    model has none.
    """
    known = labels_of_store(corpus) if labels is None else labels
    asked = topic_query(corpus, topics, where=where, unit=unit, verify=verify, labels=known)
    hits = mine(corpus.store, asked.query, threshold=asked.least, exhaustive=exhaustive)
    yield from asked.assign(to_read(hits), exclusive, below)


def search_topics(
    corpus: Corpus,
    topics: Sequence[Topic],
    where: Filter | None,
    labels: Iterable[Label],
    *,
    exhaustive: bool = True,
    exclusive: bool = False,
    **options: Any,
) -> Search:
    """The search of `mine_topics`, with its options, for hits that nobody rejected."""
    asked = topic_query(corpus, topics, where=where, labels=labels, **options)

    def hits(below: Callable[[Hit], None]) -> Iterator[Hit]:
        found = mine(corpus.store, asked.query, threshold=asked.least, exhaustive=exhaustive)
        return counting(asked.assign(found, exclusive, below))

    aims: dict[str | None, Aim] = {aim.topic.name: aim for aim in asked.aims}
    places = {phrase: row for row, phrase in enumerate(asked.query.phrases.texts)}
    rows: Topics = {
        name: [places[one] for one in aim.topic.all_phrases] for name, aim in aims.items()
    }

    def judged(spans: Iterable[Hit], name: str | None) -> Iterator[Hit]:
        aim = aims[name]
        own = (span for span in spans if admits(aim.topic.where, span.doc_id, span.metadata))
        return aim.judged([one for one in own if not countered(one, aim.topic, asked.cosines)])

    return Search(corpus.store, asked.query, rows, judged, hits)


def topic_query(
    corpus: Corpus,
    topics: Sequence[Topic],
    *,
    where: Filter | None = None,
    unit: str = SPAN,
    verify: bool | None = None,
    labels: Iterable[Label] = (),
) -> TopicQuery:
    """The query of `mine_topics`, with its options and errors."""
    encoder = corpus.encoder
    verifier = corpus.refinement(verify).verifier
    aims = make_aims(topics, encoder, unit=unit, verify=verify, verifier=verifier, labels=labels)
    return TopicQuery.of(aims, encoder, parse_where(where))


def labels_of_store(corpus: Corpus) -> list[Label]:
    """The labels in the folder of a store; none for a store without a folder."""
    folder = corpus.store.folder
    return Work.of(folder).labels() if folder else []


def mining_record(
    corpus: Corpus,
    store: str,
    phrases: Sequence[str],
    topics: Sequence[Topic],
    topic_paths: Sequence[str | Path],
    options: MineOptions,
    further: Mapping[str, Any],
) -> RunRecord:
    """The record of a mining that begins now, of phrases or of the topics of files and folders."""
    usual = usual_requirement(corpus.encoder, corpus.refinement(options.verify))
    files = zip(topics, topic_files(topic_paths), strict=True)
    wanted = [_recorded(topic, file, usual) for topic, file in files] or phrases
    return run_record("mine", corpus.encoder, wanted, options, store=store, further=further)


def _recorded(topic: Topic, file: Path, usual: Requirement) -> TopicRecord:
    need = topic.requirement(usual)
    threshold = None if need.cosine == -1 else need.cosine
    return TopicRecord(topic.name, files_hash(file), threshold, need.probability or None)


@dataclass(frozen=True, slots=True)
class TopicQuery:
    """A query for all phrases of some topics, and the aims that assign its hits to topics.

    Attributes:
        query: for their phrases. Its hits are not verified: only those that `assign` leaves are.
        least: a cosine that every hit of these topics has, for each phrase.
        rows: the row in ``vectors`` of each phrase and counter-phrase.
        vectors: ``(n, dimension)`` unit vectors.
    """

    aims: Sequence[Aim]
    query: Query
    least: Sequence[float]
    rows: dict[str, int]
    vectors: FloatArray

    @classmethod
    def of(cls, aims: Sequence[Aim], encoder: SpanEncoder, where: Where = ()) -> TopicQuery:
        """The query of topics, with conditions on metadata for all of them."""
        topics = [aim.topic for aim in aims]
        phrases = dict.fromkeys(text for topic in topics for text in topic.all_phrases)
        others = [text for text in wordings(topics) if text not in phrases]
        compares = any(topic.all_counter_phrases for topic in topics)
        verifies = any(aim.refine.verifies for aim in aims)
        query = make_query(encoder, list(phrases), where, word_vectors=compares or verifies)
        vectors = np.concatenate([query.phrases.vectors, encoder.encode(others)])
        rows = {text: row for row, text in enumerate([*phrases, *others])}
        own = [replace(aim, least=least_cosine(aim, encoder)) for aim in aims]
        # A lower one could choose other words, so that one topic had other hits beside another.
        least = dict.fromkeys(phrases, 1.0)
        for aim in own:
            least |= {one: min(least[one], aim.least) for one in aim.topic.all_phrases}
        return cls(own, query, tuple(least.values()), rows, vectors)

    def assign(
        self,
        hits: Iterable[Hit],
        exclusive: bool = False,
        below: Callable[[Hit], None] | None = None,
    ) -> Iterator[Hit]:
        """The hits of topics among those of the query; see `slice_os.topics.assignment`."""
        return assign(hits, self.aims, self.cosines, exclusive, below)

    def cosines(self, hit: Hit, phrases: Sequence[str]) -> FloatArray:
        """The cosines of the words of a hit with phrases, from the vectors that the hit carries."""
        if not isinstance(hit, HitWithVectors):
            raise TypeError("a hit without vectors cannot be compared with counter-phrases")
        vector = hit.span_vectors.sum(axis=0)
        products = self.vectors[[self.rows[phrase] for phrase in phrases]] @ vector
        cosines: FloatArray = products / max(float(np.linalg.norm(vector)), 1e-12)
        return cosines


class TopicTagger:
    """Finds topics in documents as they come; encodes the phrases once.

    Args:
        topics: what to look for.
        encoder: of the documents.
        exclusive: words count for the nearest topic alone.
        verify: whether a verifier reads the hits; see `Corpus.search`.
        verifier: of topics that name none, or its name; None for the bundled one.

    Raises an `InputError` as `mine_topics`.
    """

    def __init__(
        self,
        topics: Sequence[Topic],
        encoder: SpanEncoder,
        exclusive: bool = False,
        verify: bool | None = None,
        verifier: Verifier | str | None = None,
    ) -> None:
        self._encoder = encoder
        aims = make_aims(topics, encoder, verify=verify, verifier=verifier)
        self._asked = TopicQuery.of(aims, encoder)
        self._exclusive = exclusive

    def scan(self, documents: Iterable[Document]) -> Iterator[Hit]:
        """The hits of topics in documents, as `mine_topics` yields them."""
        for part in encode_documents(documents, self._encoder):
            yield from self.hits(part)

    def hits(self, part: DocumentPart) -> Iterator[Hit]:
        """The hits of topics in a part of a document."""
        hits = part_hits(part, self._asked.query, self._asked.least)
        return self._asked.assign(hits, self._exclusive)

    def tag(self, part: DocumentPart) -> DocumentPart:
        """The part with a field ``topic_NAME``, true, in each passage that has a hit of a topic."""
        found: dict[int, dict[str, bool]] = {}
        for hit in self.hits(part):
            found.setdefault(hit.passage.start, {})[f"{FIELD_PREFIX}{hit.topic}"] = True
        tagged = (
            replace(passage, metadata={**passage.metadata, **found[passage.start]})
            if passage.start in found
            else passage
            for passage in part.passages
        )
        return replace(part, passages=tuple(tagged))


def scan_topics(
    documents: Iterable[Document],
    topics: Sequence[Topic],
    *,
    encoder: SpanEncoder | None = None,
    exclusive: bool = False,
    verify: bool | None = None,
    verifier: Verifier | str | None = None,
) -> Iterator[Hit]:
    """Every hit of every topic in a stream of documents; nothing is stored.

    The arguments are those of `TopicTagger`; without an encoder, the bundled one is used. Hits come
    in the order of `mine_topics`, as do its errors.
    """
    tagger = TopicTagger(topics, encoder or SpanEncoder(), exclusive, verify, verifier)
    yield from tagger.scan(documents)


def make_aims(
    topics: Sequence[Topic],
    encoder: SpanEncoder,
    *,
    unit: str = SPAN,
    verify: bool | None = None,
    verifier: Verifier | str | None = None,
    labels: Iterable[Label] = (),
) -> list[Aim]:
    """Topics with what their hits need, how wide they are, and what verifies them.

    Unit and verifier are for topics that name none; see `Corpus.search`. Hits get the labels.
    Raises an `InputError` as `mine_topics`.
    """
    topics = [topic for topic in topics if topic.combination is None]
    check_topics(topics)
    check_unit(unit)
    said = answers(labels)
    aims = []
    for topic in topics:
        refine = refinement(encoder, HitOptions(verify=verify), topic.verifier or verifier)
        needs = topic.requirement(usual_requirement(encoder, refine))
        if needs.probability and not refine.verifies and encoder.calibration is None:
            raise InputError(
                f"topic {topic.name!r} is cut by probability, but model {encoder.card.name!r} "
                "has no calibration; give the topic a threshold"
            )
        aims.append(Aim(topic, needs, topic.unit or unit, refine, said))
    return aims


def usual_requirement(encoder: SpanEncoder, refine: Refinement) -> Requirement:
    """The cut of topics that set none: that of all hits; see `usual_cut`."""
    cut = usual_cut(encoder, refine.verifies)
    return Requirement(cut.get("threshold") or -1.0, cut.get("min_probability") or 0.0)


def check_topics(topics: Sequence[Topic]) -> None:
    """Refuse no topic, one without a phrase, or two with one name, by an InputError."""
    if not topics:
        raise InputError("no topic with phrases to look for")
    names = [topic.name for topic in topics]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two topics are called {twice!r}; give each a name of its own")
    for topic in topics:
        if not topic.phrases:
            raise InputError(f"topic {topic.name!r} has no phrase")


def wordings(topics: Iterable[Topic]) -> list[str]:
    """Every phrase and counter-phrase of topics, once."""
    texts = (topic.all_phrases + topic.all_counter_phrases for topic in topics)
    return list(dict.fromkeys(chain.from_iterable(texts)))


def least_cosine(aim: Aim, encoder: SpanEncoder) -> float:
    """A cosine that every hit of a topic has; a low one if a verifier decides."""
    if not aim.needs.probability:
        return aim.needs.cosine
    if aim.refine.verifies:
        return LOW_THRESHOLD
    if encoder.calibration is None:
        return -1.0
    cosines = np.linspace(0, 1, _STEPS)[:, None]
    lengths = np.arange(encoder.card.min_words, encoder.card.max_words + 1)
    least = 1.0
    for words in {len(find_words(phrase)) for phrase in aim.topic.all_phrases}:
        given = encoder.calibration.probabilities(cosines, words, lengths).max(axis=1)
        enough = [aim.topic.learned.probability(each) >= aim.needs.probability for each in given]
        least = min(least, max(0, enough.index(True) - 1) / (_STEPS - 1) if any(enough) else 1.0)
    # A higher one could choose other words, so that a topic had other hits than its phrases.
    return min(least, LOW_THRESHOLD)
