"""Scores of the passages of a set for its questions, by every system, in a local store."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, unit_rows
from slice_os.corpus import Corpus
from slice_os.datasets.span_sets import DocumentSpan, Span, SpanSet
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import Cost, TextEncoder
from slice_os.evaluation.harness import Progress, track
from slice_os.evaluation.span_retrieval.measures import Gold, answering
from slice_os.query.filters import DOCUMENT_ID
from slice_os.query.fusion import BM25_WEIGHT, weighted
from slice_os.query.options import SENTENCE, SPAN
from slice_os.query.query import Phrases, Query
from slice_os.search.hit_builder import HitBuilder
from slice_os.search.run import make_query
from slice_os.stores.candidates import StoredPassage
from slice_os.threads import one_blas_thread

BM25 = "bm25"
PASSAGE = "passage"
PASSAGE_HYBRID = "passage-hybrid"
DENSE = "dense"
HYBRID = "hybrid"
LIKELIEST = "likeliest"
SYSTEMS = (BM25, PASSAGE, PASSAGE_HYBRID, DENSE, HYBRID, LIKELIEST)

DOCUMENT = "document"
CORPUS = "corpus"
SETTINGS = (DOCUMENT, CORPUS)

RANKED = 100
BATCH_QUERIES = 16
LOAD_PASSAGES = 512


@dataclass(frozen=True, slots=True)
class RankingTask:
    """A query to rank passages for, in one document or in all, and its answers by document."""

    id: str
    query: str
    doc_id: str | None
    gold: Gold


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A hit: its score and its span."""

    score: float
    span: DocumentSpan


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Scores of the ``(n,)`` passages that a task ranks, from passage number ``first`` on.

    ``spans`` is the best cosine over the spans of each passage, ``passages`` the cosine of the
    vector of each passage.
    """

    task: RankingTask
    first: int
    spans: FloatArray
    passages: FloatArray
    bm25: FloatArray

    def scores(self, system: str, weight: float = BM25_WEIGHT) -> FloatArray:
        """``(n,)`` scores by one of `SYSTEMS`; ``-inf`` for passages that it does not rank."""
        if system == BM25:
            return np.where(self.bm25 > 0, self.bm25, -np.inf).astype(np.float32)
        cosines = self.spans if system in (DENSE, HYBRID) else self.passages
        if system in (DENSE, PASSAGE):
            return cosines
        return weighted(weight)(cosines, self.bm25, float(self.bm25.max(initial=0)))

    def ranking(self, scores: FloatArray, most: int = RANKED) -> list[int]:
        """Rows of the best passages by these scores, equal ones by place."""
        order = np.argsort(-scores, kind="stable")[:most]
        return [int(row) for row in order if np.isfinite(scores[row])]


def span_encoder(encoder: TextEncoder) -> SpanEncoder:
    """The part of an encoder that a store accepts."""
    if encoder.spans is None or encoder.representation != "mean":
        raise InputError(
            f"encoder {encoder.name}: this harness goes through a store, which takes model "
            "folders and Hugging Face encoders only"
        )
    return encoder.spans


def ranking_tasks(data: SpanSet, setting: str) -> list[RankingTask]:
    """The rankings of a setting: each question in its document, or each distinct query in all."""
    asked: list[tuple[str, str | None, Gold]] = []
    queries: dict[str, dict[str, Sequence[Span]]] = {}
    for one in data.questions:
        gold = {one.doc_id: one.spans} if one.spans else {}
        asked.append((one.query, one.doc_id, gold))
        queries.setdefault(one.query, {}).update(gold)
    if setting == CORPUS:
        asked = [(query, None, gold) for query, gold in queries.items()]
    return [RankingTask(str(number), *one) for number, one in enumerate(asked)]


def fingerprint(data: SpanSet) -> str:
    """A hash of the documents of a set."""
    digest = hashlib.sha256()
    for document in data.documents:
        digest.update(f"{document.id}\0{document.fingerprint}\0".encode())
    return digest.hexdigest()[:16]


class SpanIndex:
    """The documents of a set in their own corpus, with a vector of each passage.

    The corpus is a local one for the documents of this set only; missing ones are added, and it
    stays open. The encoder is that of the corpus; for the vector of a passage it reads the passage
    by itself. Spans are widened to ``sentences`` if requested; a passage has at most
    ``per_passage`` hits. ``places`` are those of the passages, ``passage_cost`` is that of their
    vectors, and ``span_cost`` of token vectors; None if they were stored before.
    """

    def __init__(
        self,
        corpus: Corpus,
        encoder: TextEncoder,
        data: SpanSet,
        progress: Progress,
        sentences: bool = False,
        per_passage: int = 1,
    ) -> None:
        before, began = encoder.cost, time.perf_counter()
        corpus.add([])
        stored = corpus.store.find_documents([one.id for one in data.documents])
        missing = [
            one
            for one in data.documents
            if one.id not in stored or stored[one.id].fingerprint != one.fingerprint
        ]
        corpus.add(track(missing, f"{encoder.name}: documents", len(missing), progress))
        passes = encoder.cost - before
        taken = Cost(passes.passes, passes.tokens, time.perf_counter() - began)
        self.span_cost = taken if missing else None
        self._unit, self._per_passage = SENTENCE if sentences else SPAN, per_passage
        self._phrases: dict[str, FloatArray] = {}
        self._hits: dict[tuple[str, int], list[RankedHit]] = {}
        self._corpus = corpus
        # A local store ranks all its passages for any query.
        everything = corpus.store.rank(make_query(corpus.encoder, "any"), RANKED)
        self._keys, self._loader = list(everything.keys), everything.load
        self.places: list[DocumentSpan] = []
        texts: list[str] = []
        for _, one in self._load(range(len(self._keys))):
            self.places.append(DocumentSpan(one.doc_id, one.encoded.start, one.encoded.end))
            texts.append(one.text)
        self._numbers = {(doc_id, start): n for n, (doc_id, start, _) in enumerate(self.places)}
        before = encoder.cost
        vectors = encoder.phrases(texts)
        self.passage_cost: Cost = encoder.cost - before
        self._units = unit_rows(vectors)
        self._rows: dict[str | None, slice] = {None: slice(0, len(self._keys))}
        first = 0
        for doc_id, run in itertools.groupby(place.doc_id for place in self.places):
            self._rows[doc_id] = slice(first, first := first + len(list(run)))

    def answers(self, task: RankingTask) -> list[int]:
        """Numbers of the passages that answer a question."""
        numbers: list[int] = []
        for doc_id, spans in task.gold.items():
            rows = self._rows.get(doc_id, slice(0, 0))
            passages = [(place.start, place.end) for place in self.places[rows]]
            numbers += [rows.start + row for row in answering(passages, spans)]
        return numbers

    def score(self, tasks: Iterable[RankingTask]) -> Iterator[TaskScores]:
        """Score the passages of each task; tasks with the same query follow each other."""
        by_query: dict[str, list[RankingTask]] = {}
        for task in tasks:
            by_query.setdefault(task.query, []).append(task)
        queries = iter(by_query)
        while batch := list(itertools.islice(queries, BATCH_QUERIES)):
            query = make_query(self._corpus.encoder, batch)
            candidates = self._corpus.store.rank(query, RANKED)
            cosines: FloatArray = query.phrases.vectors @ self._units.T
            for row, text in enumerate(query.phrases.texts):
                self._phrases[text] = query.phrases.vectors[row]
                for task in by_query[text]:
                    rows = self._rows.get(task.doc_id, slice(0, 0))
                    yield TaskScores(
                        task=task,
                        first=rows.start,
                        spans=candidates.cosines[row, rows],
                        passages=cosines[row, rows],
                        bm25=candidates.bm25[row, rows],
                    )

    @one_blas_thread()
    def hits(
        self, wanted: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[str, int], Sequence[RankedHit]]:
        """The best hits of a passage for a query, for each pair of a query and a passage number.

        The score of the best hit is 0, that of others how far their cosine is below the highest of
        the passage, as a negative number. The queries have to be scored before. Each passage is
        loaded once for all queries, and results are kept.
        """
        card = self._corpus.encoder.card
        queries: dict[int, list[str]] = {}
        for text, number in dict.fromkeys(wanted):
            if (text, number) not in self._hits:
                queries.setdefault(number, []).append(text)
        for number, passage in self._load(sorted(queries)):
            texts = tuple(queries[number])
            phrases = Phrases(texts, np.stack([self._phrases[text] for text in texts]))
            query = Query(phrases, (), card.min_words, card.max_words, unit=self._unit)
            builder = HitBuilder(passage, query)
            for row, text in enumerate(texts):
                hits = builder.hits(row, score=0.0, cosine_weight=1.0, limit=self._per_passage)
                self._hits[text, number] = [
                    RankedHit(hit.score, DocumentSpan(hit.doc_id, hit.start, hit.end))
                    for hit in hits
                ]
        return self._hits

    @property
    def verifies(self) -> bool:
        """Whether a search puts the likeliest hits first; otherwise it is `HYBRID`."""
        return self._corpus.refinement().verifies

    def likeliest(self, task: RankingTask, size: int) -> list[tuple[int, RankedHit]]:
        """The first hits of a search with nothing but the query, each in the number of its passage.

        Their score is their probability.
        """
        hits = self._corpus.search(
            task.query,
            top_k=size,
            where=None if task.doc_id is None else {DOCUMENT_ID: task.doc_id},
            unit=self._unit,
            per_passage=self._per_passage,
        )
        return [
            (
                self._numbers[hit.doc_id, hit.passage.start],
                RankedHit(hit.probability or 0.0, DocumentSpan(hit.doc_id, hit.start, hit.end)),
            )
            for hit in hits
        ]

    def _load(self, numbers: Sequence[int]) -> Iterator[tuple[int, StoredPassage]]:
        for start in range(0, len(numbers), LOAD_PASSAGES):
            part = numbers[start : start + LOAD_PASSAGES]
            loaded = self._loader([self._keys[number] for number in part])
            yield from ((number, loaded[self._keys[number]]) for number in part)
