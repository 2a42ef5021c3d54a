"""Searching and mining with scores from the server, as flows.

A search is two requests: one for candidates, and one that scores them, fuses, and returns a page
with every passage's best span. In an index small enough the second one scores every passage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.query.fusion import Linear
from slice_os.query.options import SERVER, SearchOptions, load_fusion
from slice_os.query.query import Query
from slice_os.spans.choice import PassageScorer
from slice_os.stores.candidates import BestPassages, ScoredCandidates, ScoredPassage, best_columns
from slice_os.stores.cluster.schema.records import stored_passage
from slice_os.stores.cluster.search import hybrid, scripted, searches
from slice_os.stores.cluster.search.exchange import LIST_PLUGINS, Flow, Stream
from slice_os.stores.cluster.search.flows import SearchFlows, at_point, next_page
from slice_os.stores.cluster.search.scripted import (
    NATIVE,
    PAINLESS,
    RankedHit,
    ScriptEngine,
    ScriptsRefusedError,
    ServerScores,
    Weights,
    best_engine,
)
from slice_os.stores.cluster.search.searches import Answer, Body

# Scoring costs little, so as many passages by vector are scored as have that many token vectors.
# Where passages are short, as turns of dialogues are, many are alike: the most are scored, and the
# graph is explored further for them.
CHEAP_PIECES = 100_000
MOST_NEAREST = 2_000
# For how many passages the graph is explored at least; benchmarks/server_search.py measures it.
DEPTH = 1_000
DEPTH_FOR_SHORT = 8_000
# What a script computes in single precision may be that far below the exact cosine.
PRECISION = 3e-4
# Passages times phrases of a range of a scan, so that no request takes long, and how many passages
# of a random sample tell where one ends.
RANGE_PASSAGES = 8_000
EDGE_SAMPLES = 8
SCORERS = {NATIVE.lang: "native", PAINLESS.lang: "painless"}

T = TypeVar("T")

logger = logging.getLogger("slice_os")


@dataclass(eq=False)
class ServerFlows(SearchFlows):
    """Flows over one index that let the server score.

    Whether it may, by which engine, and how large the index is, is found out on first use.
    """

    _known: bool = field(default=False, init=False)
    _engine: ScriptEngine | None = field(default=None, init=False)
    _size: scripted.IndexSize = field(default=scripted.IndexSize(0, 0.0, 1), init=False)

    def best_passages(self, query: Query, wanted: SearchOptions) -> Flow[BestPassages | None]:
        """The best passages; None if the server does not score."""
        if (yield from self.find_engine(query)) is None:
            return None
        query = yield from self.filtered(query)
        return (yield from self._scoring(query, partial(self._best, query, wanted)))

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Stream[ScoredCandidates]:
        """Passages with a span at or above the threshold; see `Store.scan`."""
        query = yield from self.filtered(query)
        there = yield from self._scoring(query, partial(self._begin_scan, query))
        if there is None:
            yield from super().scan(query, threshold, exhaustive)
            return
        engine, best, passages = there
        # Only passages that have a hit are fetched.
        scan = partial(scripted.scan, query, engine=engine, threshold=threshold - PRECISION)
        fetch = partial(self.fetch_above, query=query, threshold=threshold, best=best)
        ids = None if exhaustive else (yield from self.near(query, threshold))
        if ids is None:
            yield from self._scan_ranges(query, passages, scan, fetch)
            return
        for some in searches.pieces(ids, scripted.LARGEST_ANSWER):
            (answer,) = yield from self.msearch([scan(searches.by_id(some))], query)
            yield from fetch(searches.in_stored_order(answer["hits"]["hits"]))

    def _scoring(
        self, query: Query, search: Callable[[ScriptEngine], Flow[T | None]]
    ) -> Flow[T | None]:
        """The result of a search by the best engine that runs; None if the server has none."""
        while (engine := (yield from self.find_engine(query))) is not None:
            try:
                return (yield from search(engine))
            except ScriptsRefusedError as refusal:
                if refusal.passing:
                    return None
                self._give_up(engine, refusal)
        return None

    def find_engine(self, query: Query) -> Flow[ScriptEngine | None]:
        """The engine that scores; None if the server does not."""
        if not self._known:
            try:
                plugins = yield LIST_PLUGINS
            except StoreError:  # not everybody may list them
                plugins = []
            (answer,) = yield from self.msearch([scripted.measure()], query)
            self._size = scripted.IndexSize.of(answer)
            self._engine = best_engine(plugins)
            self._known = True
            if self.index.engine.proves_scripts:
                yield from self._prove(searches.ids_of([answer]), query)
            if self._known:
                logger.info("%s: scored by %s", self.location, self._scorer())
        return self._engine

    def scored_by(self, query: Query) -> Flow[str]:
        """What makes the scores, tried on one passage."""
        yield from self.find_engine(query)
        (answer,) = yield from self.msearch([scripted.measure()], query)
        yield from self._prove(searches.ids_of([answer]), query)
        return self._scorer()

    def _scorer(self) -> str:
        return "client" if self._engine is None else SCORERS[self._engine.lang]

    def _prove(self, ids: Sequence[str], query: Query) -> Flow[None]:
        """Compare the engine's score of a passage, if there is one, with ours; or give it up."""
        if (engine := self._engine) is None:
            return
        body = scripted.best(
            query, 0, searches.by_id(ids), engine, Weights(), (0, 1), self.index.engine
        )
        try:
            (answer,) = yield from self._scripted([searches.with_content(body)], query)
        except ScriptsRefusedError as refusal:
            if not refusal.passing:
                self._give_up(engine, refusal)
                yield from self._prove(ids, query)
            return
        hits = answer["hits"]["hits"]
        self._known = bool(hits)
        for hit in hits:
            ours = PassageScorer(stored_passage(hit).encoded, query).best_cosines()[0]
            if abs(hit["sort"][0] - 1 - ours) > PRECISION:
                self._engine = None
                logger.warning(
                    "%s: scripts of %s score a passage with %.4f, which is %.4f; token vectors are "
                    "fetched instead, and searches are slower",
                    self.location,
                    engine.lang,
                    hit["sort"][0] - 1,
                    ours,
                )

    def _give_up(self, engine: ScriptEngine, refusal: ScriptsRefusedError) -> None:
        self._engine = PAINLESS if engine is NATIVE else None
        if self._engine is None:
            logger.warning(
                "%s: the server may not run scripts (%s), so that token vectors are fetched and "
                "searches are slower; allow inline scripts in the context 'score' and 'field' "
                "(script.allowed_types, script.allowed_contexts)",
                self.location,
                refusal,
            )

    def _best(
        self, query: Query, wanted: SearchOptions, engine: ScriptEngine
    ) -> Flow[BestPassages]:
        if wanted.fusion == SERVER:
            return (yield from self._best_fused_there(query, wanted, engine))
        fusion = load_fusion(wanted.fusion)
        limit = None if isinstance(fusion, Linear) else scripted.LARGEST_ANSWER
        proposals, best = yield from self._propose(query, wanted.num_candidates, engine, limit)
        if isinstance(fusion, Linear):
            hits = yield from self._best_hits(query, wanted, engine, proposals, fusion, best)
        else:
            ids = None
            if proposals is not None:
                ids = list(dict.fromkeys(key for one in proposals for key in one.ids))
            found = yield from self._scores(query, ids, engine)
            rows = zip(found.cosines, found.bm25, best.tolist(), strict=True)
            fused = np.stack([fusion(*row) for row in rows])
            hits = yield from self._fetch(query, wanted, engine, found, fused)
        return BestPassages((yield from self._load(query, hits)), exhaustive=proposals is None)

    def _propose(
        self, query: Query, num_candidates: int, engine: ScriptEngine, limit: int | None
    ) -> Flow[tuple[list[scripted.Proposals] | None, FloatArray]]:
        """Proposals, or None if every passage is scored, and the highest BM25, of each phrase."""
        affordable = self._size.affordable(CHEAP_PIECES, MOST_NEAREST)
        nearest = max(num_candidates, affordable)
        depth = max(nearest, DEPTH_FOR_SHORT if affordable == MOST_NEAREST else DEPTH)
        ranking = searches.ranking(query, self.index.settings, num_candidates, nearest, depth)
        small = self._size.is_small(engine, limit)
        bodies = searches.best(query, self.index.engine) if small else ranking
        head, *found = yield from self.msearch([scripted.count(query.where), *bodies], query)
        size = replace(self._size, passages=scripted.counted(head))
        if not query.where:
            self._size = size
        if size.is_small(engine, limit):
            return None, searches.best_bm25(found) if small else searches.ranked_best(found)
        if small:
            # The index has grown.
            found = yield from self.msearch(ranking, query)
        by_phrase = [
            scripted.Proposals.of(answers, nearest, num_candidates)
            for answers in searches.pieces(found, searches.SEARCHES)
        ]
        return by_phrase, searches.ranked_best(found)

    def _best_hits(
        self,
        query: Query,
        wanted: SearchOptions,
        engine: ScriptEngine,
        proposals: Sequence[scripted.Proposals] | None,
        fusion: Linear,
        best: FloatArray,
    ) -> Flow[Mapping[str, RankedHit]]:
        rows = range(len(query.phrases.texts))
        threshold = -1.0 if wanted.threshold is None else wanted.threshold
        weights = [
            Weights(fusion.cosine, fusion.relative(highest), threshold) for highest in best.tolist()
        ]
        span = (wanted.offset, wanted.top_k) if len(rows) == 1 else (0, wanted.end)
        if proposals is None:
            passages = [searches.admitted(query.where)] * len(rows)
        else:
            policy = self.index.settings.span_policy
            margins = [scripted.margin(policy, text) for text in query.phrases.texts]
            passages = [
                searches.by_id(found.worth_scoring(weight, wanted, above))
                for found, weight, above in zip(proposals, weights, margins, strict=True)
            ]
        bodies = [
            scripted.best(query, row, passages[row], engine, weights[row], span, self.index.engine)
            for row in rows
        ]
        if len(bodies) == 1:
            bodies = [searches.with_content(bodies[0])]
        answers = yield from self._scripted(bodies, query)
        each = map(scripted.ranked_hits, answers, rows, weights)
        merged = scripted.merged(list(each), wanted)
        return merged if fusion.bm25 else (yield from self._add_bm25(query, merged))

    def _best_fused_there(
        self, query: Query, wanted: SearchOptions, engine: ScriptEngine
    ) -> Flow[BestPassages]:
        answers = yield from self.fused_there(query, wanted.num_candidates)
        ids = searches.ids_of(answers)
        if wanted.threshold is None:
            unscored = np.zeros((len(answers), len(ids)), dtype=np.float32)
            found = ServerScores(ids, unscored, unscored)
        else:
            found = yield from self._scores(query, ids, engine)
        fused = hybrid.scores(answers, found.ids)
        hits = yield from self._fetch(query, wanted, engine, found, fused)
        if wanted.threshold is None:
            hits = yield from self._add_bm25(query, hits)
        return BestPassages((yield from self._load(query, hits)), exhaustive=False)

    def _scores(
        self, query: Query, ids: Sequence[str] | None, engine: ScriptEngine
    ) -> Flow[ServerScores]:
        """Cosines and BM25 of passages, or of all of them."""
        filters = [searches.admitted(query.where)]
        if ids is not None:
            filters = list(map(searches.by_id, searches.pieces(ids, scripted.LARGEST_ANSWER)))
        rows = range(len(query.phrases.texts))
        each = [(row, passages) for row in rows for passages in filters]
        bodies = [scripted.cosines(query, row, some, engine) for row, some in each]
        bodies += [scripted.bm25(query, row, some, self.index.engine) for row, some in each]
        answers = yield from self._scripted(bodies, query)
        by_row = list(searches.pieces(answers, len(filters)))
        return scripted.scores(by_row[: len(rows)], by_row[len(rows) :])

    def _add_bm25(
        self, query: Query, found: Mapping[str, RankedHit]
    ) -> Flow[Mapping[str, RankedHit]]:
        """The same passages with their BM25; 0 without a term of the phrase."""
        passages = searches.by_id(list(found))
        rows = range(len(query.phrases.texts))
        bodies = [scripted.bm25(query, row, passages, self.index.engine) for row in rows]
        answers = yield from self.msearch(bodies, query)
        bm25 = list(map(scripted.scores_by_id, answers))
        return {key: replace(one, bm25=bm25[one.row].get(key, 0.0)) for key, one in found.items()}

    def _fetch(
        self,
        query: Query,
        wanted: SearchOptions,
        engine: ScriptEngine,
        found: ServerScores,
        fused: FloatArray,
    ) -> Flow[Mapping[str, RankedHit]]:
        chosen = best_columns(fused, found.cosines, wanted)
        if not chosen:
            return {}
        rows = sorted({row for row, _ in chosen})
        bodies = []
        for row in rows:
            some = searches.by_id([found.ids[column] for at, column in chosen if at == row])
            body = scripted.best(
                query, row, some, engine, Weights(), (0, wanted.top_k), self.index.engine
            )
            bodies.append(searches.with_content(body))
        answers = yield from self._scripted(bodies, query)
        hits = {
            key: hit
            for row, answer in zip(rows, answers, strict=True)
            for key, hit in scripted.ranked_hits(answer, row, Weights()).items()
        }
        best = {}
        for row, column in chosen:
            if (key := found.ids[column]) in hits:
                bm25, score = float(found.bm25[row, column]), float(fused[row, column])
                best[key] = replace(hits[key], bm25=bm25, score=score)
        return best

    def _begin_scan(
        self, query: Query, engine: ScriptEngine
    ) -> Flow[tuple[ScriptEngine, FloatArray, int] | None]:
        """The engine, which was tried, best BM25s and passages; None for too many phrases."""
        if len(query.phrases.texts) > engine.scan_phrases:
            return None
        trial = scripted.scan(query, searches.by_id(["none"]), engine, 0.0)
        bodies = [scripted.count(query.where), trial, *searches.best(query, self.index.engine)]
        head, _, *found = yield from self._scripted(bodies, query)
        return engine, searches.best_bm25(found), scripted.counted(head)

    def _scan_ranges(
        self,
        query: Query,
        passages: int,
        scan: Callable[[Body], Body],
        fetch: Callable[..., Stream[ScoredCandidates]],
    ) -> Stream[ScoredCandidates]:
        """Every passage that the query admits, in one state of the index.

        One range of documents comes after the other, so that no more than a page of hits is kept.
        """

        def walk(point: str) -> Stream[ScoredCandidates]:
            ranges = passages * len(query.phrases.texts) // RANGE_PASSAGES
            edges = (yield from self._edges(query, ranges, point)) if ranges > 1 else []
            for some in searches.ranges(query.where, edges):
                body, hits = scan(some), None
                while hits := (yield from next_page(point, body, hits)):
                    yield from fetch(searches.in_stored_order(hits), point=point)

        yield from at_point(self.index.name, self.index.engine, walk)

    def _edges(self, query: Query, ranges: int, point: str) -> Flow[list[str]]:
        """Ids of documents that divide the passages into about so many ranges of one size."""
        size = min(EDGE_SAMPLES * ranges, scripted.LARGEST_ANSWER)
        hits = yield from next_page(point, searches.sampled(query.where, size), None)
        found = sorted(hit["fields"]["doc_id"][0] for hit in hits)
        return sorted(set(found[:: max(1, len(found) // ranges)]))

    def _load(self, query: Query, hits: Mapping[str, RankedHit]) -> Flow[tuple[ScoredPassage, ...]]:
        """The passages of hits, with the token vectors of those that came without."""
        without = [key for key, one in hits.items() if not one.has_tokens]
        loaded: dict[str, Answer] = {}
        if without:
            body = {"size": len(without), "query": searches.by_id(without)}
            (answer,) = yield from self.msearch([searches.with_content(body)], query)
            loaded = {hit["_id"]: hit for hit in answer["hits"]["hits"]}
        # One that was deleted meanwhile is left out.
        return tuple(
            one.with_passage(loaded.get(key, one.hit))
            for key, one in hits.items()
            if one.has_tokens or key in loaded
        )

    def _scripted(self, bodies: Sequence[Body], query: Query) -> Flow[list[Answer]]:
        answers = yield from self.answers(bodies, query)
        scripted.check_scripts(answers, self.location)
        return answers
