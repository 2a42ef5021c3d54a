"""Reading OpenSearch's answers to the requests in `server_bodies`, as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.query.options import SearchOptions
from slice_os.stores.candidates import ScoredPassage
from slice_os.stores.opensearch.schema.records import passage_key, stored_passage
from slice_os.stores.opensearch.search.scripting import Weights
from slice_os.stores.opensearch.search.search_bodies import Answer
from slice_os.stores.opensearch.search.server_bodies import SPAN
from slice_os.stores.opensearch.server.answers import reason_of

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


class ScriptsRefusedError(StoreError):
    """The server may not run a script, or not now.

    Attributes:
        passing: whether it may run it later.
    """

    def __init__(self, reason: str, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


@dataclass(frozen=True, slots=True)
class IndexSize:
    """The size of an index.

    Attributes:
        passages: number of passages.
        mean_pieces: token vectors of a passage, on average.
        shards: primary shards.
    """

    passages: int
    mean_pieces: float
    shards: int

    @classmethod
    def of(cls, answer: Answer) -> IndexSize:
        """The size, from an answer to `server_bodies.measure`."""
        mean = answer["aggregations"]["pieces"]["value"] or 0.0
        return cls(counted(answer), mean, answer["_shards"]["total"])

    def with_passages(self, passages: int) -> IndexSize:
        """The size with another number of passages."""
        return replace(self, passages=passages)

    def affordable(self, pieces: int, most: int) -> int:
        """The number of passages that have so many token vectors, up to a limit."""
        return min(most, int(pieces / max(self.mean_pieces, 1.0)))

    @property
    def pieces_per_shard(self) -> float:
        """Token vectors per shard."""
        return self.passages * self.mean_pieces / max(self.shards, 1)


def counted(answer: Answer) -> int:
    """The number of passages in an answer to `server_bodies.count`."""
    total: int = answer["hits"]["total"]["value"]
    return total


def check_scripts(answers: Sequence[Answer], location: str) -> None:
    """Refuse answers of a server that did not run the scripts.

    Raises:
        ScriptsRefusedError: if it may not run them.
        StoreError: if something else failed.
    """
    for answer in answers:
        if "error" not in answer:
            continue
        error = answer["error"]
        reason = reason_of(error)
        if answer["status"] == TOO_MANY_REQUESTS and "compilation" in reason:
            raise ScriptsRefusedError(reason, passing=True)
        if _is_refusal(error, reason):
            raise ScriptsRefusedError(reason, passing=False)
        raise StoreError(f"{location}: OpenSearch says {reason}")


def _is_refusal(error: Mapping[str, Any], reason: str) -> bool:
    cause = (error.get("root_cause") or [error])[0]
    told = f"{cause.get('reason')} {reason}"
    return cause.get("type") != "script_exception" and any(word in told for word in _REFUSALS)


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A hit of `server_bodies.best`.

    Attributes:
        row: the phrase's row in the query.
        place: document and ordinal of the passage.
        bm25: of the passage for the phrase.
        score: BM25 and the best cosine, fused.
        hit: as the server returned it.
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
    """The hits of `server_bodies.best` by passage id; passages without a span are left out.

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
    best: dict[str, RankedHit] = {}
    for hits in found:
        for key, one in hits.items():
            if key not in best or best[key].score < one.score:
                best[key] = one
    order = sorted(best, key=lambda key: (-best[key].score, best[key].place))
    return {key: best[key] for key in order[wanted.offset : wanted.end]}


@dataclass(frozen=True, slots=True)
class ServerScores:
    """Scores of passages, without the passages.

    Attributes:
        ids: of the passages, in stored order.
        cosines: ``(n_phrases, n_passages)``.
        bm25: ``(n_phrases, n_passages)``.
    """

    ids: Sequence[str]
    cosines: FloatArray
    bm25: FloatArray


def scores(cosines: Sequence[Sequence[Answer]], bm25: Sequence[Sequence[Answer]]) -> ServerScores:
    """The scores in answers to `server_bodies.cosines` and `server_bodies.bm25`."""
    found = [_by_place(answers) for answers in cosines]
    # Passages that were deleted between two answers are missing from one of them.
    places = sorted(set(found[0]).intersection(*found[1:]))
    shape = (len(cosines), len(places))
    exact = np.array([[row[place] - 1 for place in places] for row in found], dtype=np.float32)
    matched = [_by_place(answers) for answers in bm25]
    terms = np.array(
        [[row.get(place, 0.0) for place in places] for row in matched], dtype=np.float32
    )
    ids = [passage_key(*place) for place in places]
    return ServerScores(ids, exact.reshape(shape), terms.reshape(shape))


def scores_by_id(answer: Answer) -> dict[str, float]:
    """The scores in an answer that is sorted by place, by passage id."""
    return {passage_key(*place): score for place, score in _by_place([answer]).items()}


def _by_place(answers: Sequence[Answer]) -> dict[tuple[str, int], float]:
    return {
        (hit["sort"][0], hit["sort"][1]): hit["_score"]
        for answer in answers
        for hit in answer["hits"]["hits"]
    }
