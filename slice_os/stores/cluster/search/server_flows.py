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
from slice_os.stores.cluster.search.searches import Answer, Asked, Body

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
        asked = yield from self.asked(query)
        return (yield from self._scoring(asked, partial(self._best, asked, wanted)))

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Stream[ScoredCandidates]:
        """Passages with a span at or above the threshold; see `Store.scan`."""
        asked = yield from self.asked(query)
        there = yield from self._scoring(asked, partial(self._begin_scan, asked))
        if there is None:
            yield from super().scan(asked.query, threshold, exhaustive)
            return
        engine, best, passages = there
        # Only passages that have a hit are fetched.
        scan = partial(scripted.scan, asked.query, engine=engine, threshold=threshold - PRECISION)
        fetch = partial(self.fetch_above, asked, threshold=threshold, best=best)
        ids = None if exhaustive else (yield from self.near(asked, threshold))
        if ids is None:
            yield from self._scan_ranges(asked, passages, scan, fetch)
            return
        for some in searches.pieces(ids, scripted.LARGEST_ANSWER):
            (answer,) = yield from self.msearch(asked, [scan(searches.by_id(some))])
            yield from fetch(searches.in_stored_order(answer["hits"]["hits"]))

    def _scoring(
        self, asked: Asked, search: Callable[[ScriptEngine], Flow[T | None]]
    ) -> Flow[T | None]:
        """The result of a search by the best engine that runs; None if the server has none."""
        while (engine := (yield from self.find_engine(asked.query))) is not None:
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
            asked = Asked(self.index.settings, query)
            (answer,) = yield from self.msearch(asked, [scripted.measure()])
            self._size = scripted.IndexSize.of(answer)
            self._engine = best_engine(plugins)
            self._known = True
            if self.index.engine.proves_scripts:
                yield from self._prove(asked, searches.ids_of([answer]))
            if self._known:
                logger.info("%s: scored by %s", self.location, self._scorer())
        return self._engine

    def scored_by(self, query: Query) -> Flow[str]:
        """What makes the scores, tried on one passage."""
        yield from self.find_engine(query)
        asked = Asked(self.index.settings, query)
        (answer,) = yield from self.msearch(asked, [scripted.measure()])
        yield from self._prove(asked, searches.ids_of([answer]))
        return self._scorer()

    def _scorer(self) -> str:
        return "client" if self._engine is None else SCORERS[self._engine.lang]

    def _prove(self, asked: Asked, ids: Sequence[str]) -> Flow[None]:
        """Compare the engine's score of a passage, if there is one, with ours; or give it up."""
        if (engine := self._engine) is None:
            return
        body = scripted.best(asked, 0, searches.by_id(ids), engine, Weights(), (0, 1))
        try:
            (answer,) = yield from self._scripted(asked, [searches.with_content(body)])
        except ScriptsRefusedError as refusal:
            if not refusal.passing:
                self._give_up(engine, refusal)
                yield from self._prove(asked, ids)
            return
        hits = answer["hits"]["hits"]
        self._known = bool(hits)
        for hit in hits:
            ours = PassageScorer(stored_passage(hit).encoded, asked.query).best_cosines()[0]
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
        self, asked: Asked, wanted: SearchOptions, engine: ScriptEngine
    ) -> Flow[BestPassages]:
        if wanted.fusion == SERVER:
            return (yield from self._best_fused_there(asked, wanted, engine))
        fusion = load_fusion(wanted.fusion)
        limit = None if isinstance(fusion, Linear) else scripted.LARGEST_ANSWER
        proposals, best = yield from self._propose(asked, wanted.num_candidates, engine, limit)
        if isinstance(fusion, Linear):
            hits = yield from self._best_hits(asked, wanted, engine, proposals, fusion, best)
        else:
            ids = None
            if proposals is not None:
                ids = list(dict.fromkeys(key for one in proposals for key in one.ids))
            found = yield from self._scores(asked, ids, engine)
            rows = zip(found.cosines, found.bm25, best.tolist(), strict=True)
            fused = np.stack([fusion(*row) for row in rows])
            hits = yield from self._fetch(asked, wanted, engine, found, fused)
        return BestPassages((yield from self._load(asked, hits)), exhaustive=proposals is None)

    def _propose(
        self, asked: Asked, num_candidates: int, engine: ScriptEngine, limit: int | None
    ) -> Flow[tuple[list[scripted.Proposals] | None, FloatArray]]:
        """Proposals, or None if every passage is scored, and the highest BM25, of each phrase."""
        affordable = self._size.affordable(CHEAP_PIECES, MOST_NEAREST)
        nearest = max(num_candidates, affordable)
        depth = max(nearest, DEPTH_FOR_SHORT if affordable == MOST_NEAREST else DEPTH)
        ranking = asked.ranking(num_candidates, nearest, depth)
        small = self._size.is_small(engine, limit)
        bodies = asked.best() if small else ranking
        counted = scripted.count(asked.query.where)
        head, *found = yield from self.msearch(asked, [counted, *bodies])
        size = replace(self._size, passages=scripted.counted(head))
        if not asked.query.where:
            self._size = size
        if size.is_small(engine, limit):
            return None, searches.best_bm25(found) if small else searches.ranked_best(found)
        if small:
            # The index has grown.
            found = yield from self.msearch(asked, ranking)
        by_phrase = [
            scripted.Proposals.of(answers, nearest, num_candidates)
            for answers in searches.pieces(found, searches.SEARCHES)
        ]
        return by_phrase, searches.ranked_best(found)

    def _best_hits(
        self,
        asked: Asked,
        wanted: SearchOptions,
        engine: ScriptEngine,
        proposals: Sequence[scripted.Proposals] | None,
        fusion: Linear,
        best: FloatArray,
    ) -> Flow[Mapping[str, RankedHit]]:
        rows = asked.rows
        threshold = -1.0 if wanted.threshold is None else wanted.threshold
        weights = [
            Weights(fusion.cosine, fusion.relative(highest), threshold) for highest in best.tolist()
        ]
        span = (wanted.offset, wanted.top_k) if len(rows) == 1 else (0, wanted.end)
        if proposals is None:
            passages = [asked.admitted] * len(rows)
        else:
            policy = self.index.settings.span_policy
            margins = [scripted.margin(policy, text) for text in asked.texts]
            passages = [
                searches.by_id(found.worth_scoring(weight, wanted, above))
                for found, weight, above in zip(proposals, weights, margins, strict=True)
            ]
        bodies = [
            scripted.best(asked, row, passages[row], engine, weights[row], span) for row in rows
        ]
        if len(bodies) == 1:
            bodies = [searches.with_content(bodies[0])]
        answers = yield from self._scripted(asked, bodies)
        each = map(scripted.ranked_hits, answers, rows, weights)
        merged = scripted.merged(list(each), wanted)
        return merged if fusion.bm25 else (yield from self._add_bm25(asked, merged))

    def _best_fused_there(
        self, asked: Asked, wanted: SearchOptions, engine: ScriptEngine
    ) -> Flow[BestPassages]:
        answers = yield from self.fused_there(asked, wanted.num_candidates)
        ids = searches.ids_of(answers)
        if wanted.threshold is None:
            unscored = np.zeros((len(answers), len(ids)), dtype=np.float32)
            found = ServerScores(ids, unscored, unscored)
        else:
            found = yield from self._scores(asked, ids, engine)
        fused = hybrid.scores(answers, found.ids)
        hits = yield from self._fetch(asked, wanted, engine, found, fused)
        if wanted.threshold is None:
            hits = yield from self._add_bm25(asked, hits)
        return BestPassages((yield from self._load(asked, hits)), exhaustive=False)

    def _scores(
        self, asked: Asked, ids: Sequence[str] | None, engine: ScriptEngine
    ) -> Flow[ServerScores]:
        """Cosines and BM25 of passages, or of all of them."""
        filters = [asked.admitted]
        if ids is not None:
            filters = list(map(searches.by_id, searches.pieces(ids, scripted.LARGEST_ANSWER)))
        each = [(row, passages) for row in asked.rows for passages in filters]
        bodies = [scripted.cosines(asked.query, row, some, engine) for row, some in each]
        bodies += [scripted.bm25(asked, row, some) for row, some in each]
        answers = yield from self._scripted(asked, bodies)
        by_row = list(searches.pieces(answers, len(filters)))
        number = len(asked.rows)
        return scripted.scores(by_row[:number], by_row[number:])

    def _add_bm25(
        self, asked: Asked, found: Mapping[str, RankedHit]
    ) -> Flow[Mapping[str, RankedHit]]:
        """The same passages with their BM25; 0 without a term of the phrase."""
        passages = searches.by_id(list(found))
        bodies = [scripted.bm25(asked, row, passages) for row in asked.rows]
        answers = yield from self.msearch(asked, bodies)
        bm25 = list(map(scripted.scores_by_id, answers))
        return {key: replace(one, bm25=bm25[one.row].get(key, 0.0)) for key, one in found.items()}

    def _fetch(
        self,
        asked: Asked,
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
            body = scripted.best(asked, row, some, engine, Weights(), (0, wanted.top_k))
            bodies.append(searches.with_content(body))
        answers = yield from self._scripted(asked, bodies)
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
        self, asked: Asked, engine: ScriptEngine
    ) -> Flow[tuple[ScriptEngine, FloatArray, int] | None]:
        """The engine, which was tried, best BM25s and passages; None for too many phrases."""
        if len(asked.rows) > engine.scan_phrases:
            return None
        trial = scripted.scan(asked.query, searches.by_id(["none"]), engine, 0.0)
        bodies = [scripted.count(asked.query.where), trial, *asked.best()]
        head, _, *found = yield from self._scripted(asked, bodies)
        return engine, searches.best_bm25(found), scripted.counted(head)

    def _scan_ranges(
        self,
        asked: Asked,
        passages: int,
        scan: Callable[[Body], Body],
        fetch: Callable[..., Stream[ScoredCandidates]],
    ) -> Stream[ScoredCandidates]:
        """Every passage that the query admits, in one state of the index.

        One range of documents comes after the other, so that no more than a page of hits is kept.
        """

        def walk(point: str) -> Stream[ScoredCandidates]:
            ranges = passages * len(asked.rows) // RANGE_PASSAGES
            edges = (yield from self._edges(asked, ranges, point)) if ranges > 1 else []
            for some in asked.ranges(edges):
                body, hits = scan(some), None
                while hits := (yield from next_page(point, body, hits)):
                    yield from fetch(searches.in_stored_order(hits), point=point)

        yield from at_point(self.index.name, self.index.engine, walk)

    def _edges(self, asked: Asked, ranges: int, point: str) -> Flow[list[str]]:
        """Ids of documents that divide the passages into about so many ranges of one size."""
        size = min(EDGE_SAMPLES * ranges, scripted.LARGEST_ANSWER)
        hits = yield from next_page(point, asked.sampled(size), None)
        found = sorted(hit["fields"]["doc_id"][0] for hit in hits)
        return sorted(set(found[:: max(1, len(found) // ranges)]))

    def _load(self, asked: Asked, hits: Mapping[str, RankedHit]) -> Flow[tuple[ScoredPassage, ...]]:
        """The passages of hits, with the token vectors of those that came without."""
        without = [key for key, one in hits.items() if not one.has_tokens]
        loaded: dict[str, Answer] = {}
        if without:
            body = {"size": len(without), "query": searches.by_id(without)}
            (answer,) = yield from self.msearch(asked, [searches.with_content(body)])
            loaded = {hit["_id"]: hit for hit in answer["hits"]["hits"]}
        # One that was deleted meanwhile is left out.
        return tuple(
            one.with_passage(loaded.get(key, one.hit))
            for key, one in hits.items()
            if one.has_tokens or key in loaded
        )

    def _scripted(self, asked: Asked, bodies: Sequence[Body]) -> Flow[list[Answer]]:
        answers = yield from self.answers(asked, bodies)
        scripted.check_scripts(answers, self.location)
        return answers
