"""Searches that the server's scripts score, their answers, and the passages worth scoring.

A passage's nearest indexed span gives a rough cosine. The exact one, the best over all spans, is
hardly ever more than a margin away, so a passage that cannot reach the page is not scored.

Two engines run the same scripts over the field ``tokens``, see `records`: Painless, which every
distribution has, and the native engine of the plugin in ``plugin/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.query.options import SearchOptions
from slice_os.query.query import Query, Where
from slice_os.stores.candidates import ScoredPassage
from slice_os.stores.cluster.schema.records import passage_key, stored_passage
from slice_os.stores.cluster.schema.span_policy import SpanPolicy
from slice_os.stores.cluster.search import searches
from slice_os.stores.cluster.search.searches import STORED_ORDER, Answer, Asked, Body, id_of
from slice_os.stores.cluster.server.answers import reason_of, refusal

PLUGIN = "slice-os-span-score"

Script = dict[str, Any]

# OpenSearch's index.max_result_window.
LARGEST_ANSWER = 10_000
# Passages without a hit score 0.
LEAST_SCORE = 1e-6
SCAN_WEIGHT = 0.5
SPAN = "span"
# By how much the exact cosine may lie above and below that of the nearest indexed span. The vector
# of that span is cut to bytes and to some dimensions; the best span need not be indexed.
# docs/notebook/2026-11-opensearch-search.md has what they cost.
ABOVE = 0.1
BELOW = 0.1
# How much further above if no single words are indexed, which short phrases resemble.
ABOVE_PER_WORD = 0.5
TOO_MANY_REQUESTS = 429
# Of `script.allowed_types`, `script.allowed_contexts`, `search.allow_expensive_queries`, and of
# servers without the language or the query.
_REFUSALS = (
    "cannot execute",
    "script score",
    "script_score",
    "script_lang",
    "scripts are disabled",
)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the best cosine and BM25 in a score; passages below the threshold score 0."""

    cosine: float = 1.0
    bm25: float = 0.0
    threshold: float = -1.0


@dataclass(frozen=True, slots=True)
class ScriptEngine:
    """An engine that runs the scripts in a language, and how much work suits it.

    Up to so many exhaustive token vectors per shard, scoring every passage is as quick as finding
    candidates first; up to so many phrases, a scan is left to the server.
    """

    lang: str
    exhaustive_pieces: int
    scan_phrases: int

    def best_span(self, vectors: FloatArray, query: Query, weights: Weights) -> Script:
        """The script that scores a passage by its best span for any of the vectors.

        The score is 1 + the weighted sum, or 0 if no span reaches the threshold.
        """
        parts = {"cosine_weight": weights.cosine, "bm25_weight": weights.bm25}
        return self._script("best_span", vectors, query, {"threshold": weights.threshold, **parts})

    def place_span(self, vector: FloatArray, query: Query) -> Script:
        """The script that returns the best span's cosine, start, end and number of words."""
        return self._script("place_span", vector[None], query, {})

    def _script(
        self, name: str, vectors: FloatArray, query: Query, more: Mapping[str, float]
    ) -> Script:
        source = _painless(name) if self.lang == "painless" else name
        words = {"min_words": query.min_words, "max_words": query.max_words}
        params = {"vectors": vectors.tolist(), **words, **more}
        return {"lang": self.lang, "source": source, "params": params}


# docs/notebook/2026-11-opensearch-search.md has what these are chosen by.
PAINLESS = ScriptEngine("painless", exhaustive_pieces=100_000, scan_phrases=40)
NATIVE = ScriptEngine("slice_os", exhaustive_pieces=250_000, scan_phrases=200)


def best_engine(plugins: Iterable[Mapping[str, Any]]) -> ScriptEngine:
    """The fastest engine that all nodes have, by the answer of ``_cat/plugins?format=json``."""
    there = [(plugin["name"], PLUGIN in plugin["component"]) for plugin in plugins]
    native = {name for name, is_native in there if is_native}
    return NATIVE if native and native == {name for name, _ in there} else PAINLESS


@cache
def _painless(name: str) -> str:
    folder = files(__package__) / "scripts"
    return "".join((folder / f"{part}.painless").read_text() for part in ("span_scores", name))


def count(where: Where) -> Body:
    """Count the passages that a query admits."""
    return {"size": 0, "track_total_hits": True, "query": searches.admitted(where)}


def measure() -> Body:
    """Count all passages, and their token vectors on average; and one of them."""
    one = searches.PLACES | {"size": 1}
    return count(()) | one | {"aggs": {"pieces": {"avg": {"field": "n_pieces"}}}}


def best(
    asked: Asked,
    row: int,
    passages: Body,
    engine: ScriptEngine,
    weights: Weights,
    span: tuple[int, int],
) -> Body:
    """The best passages for the phrase in a row, of those that a filter admits, and their spans.

    The span is hits to skip, and hits to return; the weights are of cosine and BM25.
    """
    query, vector = asked.query, asked.query.phrases.vectors[row]
    scored = searches.with_bm25(passages, {"0": asked.terms(asked.texts[row])})
    body = _by_script(scored, engine.best_span(vector[None], query, weights)) | {
        "from": span[0],
        "size": span[1],
        "sort": [{"_score": "desc"}, *STORED_ORDER],
        "_source": searches.SHOWN,
        "script_fields": {SPAN: {"script": engine.place_span(vector, query)}},
    }
    return body | ({"min_score": LEAST_SCORE} if weights.threshold > -1 else {})


def cosines(query: Query, row: int, passages: Body, engine: ScriptEngine) -> Body:
    """The best cosine of each passage for one phrase, as its score less 1."""
    script = engine.best_span(query.phrases.vectors[row : row + 1], query, Weights())
    return _by_script(passages, script) | _places() | {"track_scores": True}


def bm25(asked: Asked, row: int, passages: Body) -> Body:
    """The BM25 of the passages that have a term of a phrase."""
    found = {"bool": {"must": [asked.terms(asked.texts[row])], "filter": [passages]}}
    return {"query": found, "track_scores": True} | _places()


def scan(query: Query, passages: Body, engine: ScriptEngine, threshold: float) -> Body:
    """Passages with a span at or above the threshold for any of the phrases."""
    weights = Weights(cosine=SCAN_WEIGHT, threshold=threshold)
    script = engine.best_span(query.phrases.vectors, query, weights)
    return _by_script(passages, script) | _places() | {"min_score": LEAST_SCORE}


def _by_script(passages: Body, script: Script) -> Body:
    return {"query": {"script_score": {"query": passages, "script": script}}}


def _places() -> Body:
    """As many passages as an answer may have, by place alone."""
    return {"size": LARGEST_ANSWER, "stored_fields": "_none_", "sort": STORED_ORDER}


class ScriptsRefusedError(StoreError):
    """The server may not run a script; if ``passing``, it may later."""

    def __init__(self, reason: str, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Passages and primary shards of an index, and the mean number of a passage's token vectors."""

    passages: int
    mean_pieces: float
    shards: int

    @classmethod
    def of(cls, answer: Answer) -> IndexSize:
        """The size, from an answer to `measure`."""
        mean = answer["aggregations"]["pieces"]["value"] or 0.0
        return cls(counted(answer), mean, answer["_shards"]["total"])

    def affordable(self, pieces: int, most: int) -> int:
        """The number of passages that have so many token vectors, up to a limit."""
        return min(most, int(pieces / max(self.mean_pieces, 1.0)))

    def is_small(self, engine: ScriptEngine, most: int | None) -> bool:
        """Whether every passage is scored; not if there are more than a limit."""
        pieces_per_shard = self.passages * self.mean_pieces / max(self.shards, 1)
        few = most is None or self.passages <= most
        return few and pieces_per_shard <= engine.exhaustive_pieces


def counted(answer: Answer) -> int:
    """The number of passages in an answer to `count`."""
    total: int = answer["hits"]["total"]["value"]
    return total


def check_scripts(answers: Sequence[Answer], location: str) -> None:
    """Refuse answers of a server that did not run the scripts.

    Raises a `ScriptsRefusedError` if it may not run them, and a `StoreError` if something else
    failed.
    """
    for answer in answers:
        if "error" not in answer:
            continue
        error = answer["error"]
        reason = reason_of(error)
        if answer["status"] == TOO_MANY_REQUESTS and "compilation" in reason:
            raise ScriptsRefusedError(reason, passing=True)
        cause = (error.get("root_cause") or [error])[0]
        told = f"{cause.get('reason')} {reason}"
        if cause.get("type") != "script_exception" and any(word in told for word in _REFUSALS):
            raise ScriptsRefusedError(reason, passing=False)
        raise refusal(answer, location)


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A hit of `best`, as the server returned it, for the phrase in a row of the query.

    The place is document and ordinal of the passage; the score fuses BM25 and the best cosine.
    """

    row: int
    place: tuple[str, int]
    bm25: float
    score: float
    hit: Answer

    @property
    def has_tokens(self) -> bool:
        """Whether the server returned the passage's token vectors."""
        return "tokens" in self.hit["fields"]

    def with_passage(self, hit: Answer) -> ScoredPassage:
        """The passage, as a hit with its token vectors has it."""
        return ScoredPassage(self.row, stored_passage(hit), self.bm25, self.score)


def ranked_hits(answer: Answer, row: int, weights: Weights) -> dict[str, RankedHit]:
    """The hits of `best` by passage id; passages without a span are left out.

    Their BM25 is what the score has beyond the cosine, or 0 if it has no weight.
    """
    found = {}
    for hit in answer["hits"]["hits"]:
        span = hit.get("fields", {}).get(SPAN)
        if not span:
            continue
        score, *place = hit["sort"]
        matched = weights.bm25 > 0 and "matched_queries" in hit
        rest = score - 1 - weights.cosine * span[0]
        found[passage_key(*place)] = RankedHit(
            row=row,
            place=(place[0], place[1]),
            bm25=max(0.0, rest / weights.bm25) if matched else 0.0,
            score=score - 1,
            hit=hit,
        )
    return found


def merged(found: Sequence[Mapping[str, RankedHit]], wanted: SearchOptions) -> dict[str, RankedHit]:
    """One page of the hits of several phrases, by passage id.

    A passage counts with the phrase that scores best in it; equal scores are in stored order.
    """
    if len(found) == 1:
        return dict(found[0])
    items = (item for hits in found for item in hits.items())
    best: dict[str, RankedHit] = {}
    for key, one in sorted(items, key=lambda item: (-item[1].score, item[1].place)):
        best.setdefault(key, one)
    return dict(list(best.items())[wanted.offset : wanted.end])


@dataclass(frozen=True, slots=True)
class ServerScores:
    """Scores of passages in stored order, each ``(n_phrases, n_passages)``."""

    ids: Sequence[str]
    cosines: FloatArray
    bm25: FloatArray


def scores(cosines: Sequence[Sequence[Answer]], bm25: Sequence[Sequence[Answer]]) -> ServerScores:
    """The scores in answers to `cosines` and `bm25`."""
    found = list(map(_by_place, cosines))
    # Passages that were deleted between two answers are missing from one of them.
    places = sorted(set(found[0]).intersection(*found[1:]))
    shape = (len(cosines), len(places))
    exact = [[row[place] - 1 for place in places] for row in found]
    terms = [[row.get(place, 0.0) for place in places] for row in map(_by_place, bm25)]
    return ServerScores(
        [passage_key(*place) for place in places],
        np.array(exact, dtype=np.float32).reshape(shape),
        np.array(terms, dtype=np.float32).reshape(shape),
    )


def scores_by_id(answer: Answer) -> dict[str, float]:
    """The scores in an answer that is sorted by place, by passage id."""
    return {passage_key(*place): score for place, score in _by_place([answer]).items()}


def _by_place(answers: Sequence[Answer]) -> dict[tuple[str, int], float]:
    return {
        (hit["sort"][0], hit["sort"][1]): hit["_score"]
        for answer in answers
        for hit in answer["hits"]["hits"]
    }


def margin(policy: SpanPolicy, phrase: str) -> float:
    """The most that an exact cosine may exceed that of the nearest indexed span."""
    if policy.kind == "grid" and min(policy.sizes) > 1:
        return ABOVE + ABOVE_PER_WORD / max(len(phrase.split()), 1)
    return ABOVE


@dataclass(frozen=True, slots=True)
class Proposals:
    """The results of the searches for candidates for one phrase.

    Attributes:
        cosines: rough cosines of the passages nearest by vector, by passage id.
        bm25: BM25 of the passages that rank first by it, by passage id.
        others: ids of passages proposed without a score.
        far: rough cosine that no other passage exceeds.
        low: BM25 that no other passage exceeds.
    """

    cosines: dict[str, float]
    bm25: dict[str, float]
    others: Sequence[str]
    far: float
    low: float

    @classmethod
    def of(cls, answers: Sequence[Answer], nearest: int, num_candidates: int) -> Proposals:
        """The proposals in answers to `Asked.ranking` for one phrase.

        It requested ``nearest`` passages by vector and ``num_candidates`` by BM25.
        """
        dense, bm25, verbatim = (answer["hits"]["hits"] for answer in answers)
        # Lucene scores a cosine as (1 + cosine) / 2.
        cosines = {id_of(hit): 2 * hit["_score"] - 1 for hit in dense}
        terms = {id_of(hit): hit["_score"] for hit in bm25}
        return cls(
            cosines=cosines,
            bm25=terms,
            others=[id_of(hit) for hit in verbatim],
            far=min(cosines.values()) if len(cosines) >= nearest else -1.0,
            low=min(terms.values()) if len(terms) >= num_candidates else 0.0,
        )

    @property
    def ids(self) -> list[str]:
        """All of them, without duplicates."""
        return list(dict.fromkeys([*self.cosines, *self.bm25, *self.others]))

    def worth_scoring(self, weights: Weights, wanted: SearchOptions, above: float) -> list[str]:
        """Those that may be on a page, if exact cosines exceed rough ones by ``above`` at most."""
        ids = self.ids
        if len(ids) <= wanted.end:
            return ids
        rough = np.array([self.cosines.get(key, self.far) for key in ids])
        bm25 = weights.bm25 * np.array([self.bm25.get(key, self.low) for key in ids])
        known = np.array([key in self.cosines for key in ids])
        most = weights.cosine * (rough + above) + bm25
        least = np.where(known, weights.cosine * (rough - BELOW) + bm25, -np.inf)
        bar = np.sort(least)[-wanted.end] if wanted.end else np.inf
        return [key for key, reaches in zip(ids, most >= bar, strict=True) if reaches]
