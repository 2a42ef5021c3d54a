"""The OpenSearch store: candidates from the server, exact scores here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from opensearchpy import OpenSearch

from slice_os.errors import EncoderMismatchError, StoreError
from slice_os.model import ModelCard
from slice_os.scoring import best_cosines
from slice_os.stores.base import (
    Evidence,
    PassageKey,
    Query,
    StoredDocument,
    StoredPassage,
    StoreInfo,
)
from slice_os.stores.opensearch import requests
from slice_os.stores.opensearch.indices import Index, errors_explained, loading, resolve
from slice_os.stores.opensearch.records import (
    FetchedPassage,
    document_key,
    fetched,
    source_key,
)
from slice_os.stores.opensearch.repair import repair
from slice_os.stores.opensearch.settings import SCHEMA_VERSION
from slice_os.stores.opensearch.writer import OpenSearchWriter

WALK_PASSAGES = 100
WALK_RECORDS = 1_000
KEEP_ALIVE = "5m"


class OpenSearchStore:
    """An index of passages, their span vectors and their terms.

    The index proposes passages by span vectors and by BM25; every proposed passage is then
    scored exactly over all its spans from its stored token vectors.

    Args:
        client: a client of your own, or one that `parse_location` makes.
        name: index or alias.
        location: how messages call this store; the name by default.

    Raises:
        StoreError: where there is no such index, or not one of ours.
    """

    def __init__(self, client: OpenSearch, name: str, location: str | None = None) -> None:
        self.location = location or name
        self.client = client
        index = resolve(client, name, self.location)
        if index is None:
            raise StoreError(f"{self.location}: no index here; make one with `slice-os ingest`")
        self.name = name
        self.index: Index = index
        self.settings = index.settings

    def check_encoder(self, card: ModelCard) -> None:
        """Refuse another encoder than the index's.

        Raises:
            EncoderMismatchError: naming both.
        """
        stored = self.settings.encoder
        if stored.encoder_id != card.encoder_id:
            raise EncoderMismatchError(
                f"{self.location}: its vectors were made by {stored.name} {stored.precision} "
                f"({stored.encoder_id}), not by {card.name} {card.precision} "
                f"({card.encoder_id}); use that model, or ingest into a new index"
            )

    def info(self) -> StoreInfo:
        """Counts and encoder; see `Store.info`."""
        sums = {name: {"sum": {"field": name}} for name in ("n_words", "n_pieces")}
        body = {"size": 0, "aggs": {"kinds": {"terms": {"field": "kind"}}, **sums}}
        with errors_explained(self.location):
            answer = self.client.search(index=self.index.name, body=body)["aggregations"]
            stats = self.client.indices.stats(index=self.index.name, metric="store")
        kinds = {bucket["key"]: bucket["doc_count"] for bucket in answer["kinds"]["buckets"]}
        return StoreInfo(
            location=self.location,
            schema_version=SCHEMA_VERSION,
            encoder=self.settings.encoder,
            max_pieces=self.settings.max_pieces,
            documents=kinds.get("document", 0),
            passages=kinds.get("passage", 0),
            words=int(answer["n_words"]["value"]),
            pieces=int(answer["n_pieces"]["value"]),
            size_bytes=stats["_all"]["primaries"]["store"]["size_in_bytes"],
        )

    @contextmanager
    def writer(self) -> Iterator[OpenSearchWriter]:
        """A writer; refresh is off while it is open, and what changed is searchable after."""
        name = self.index.name
        with loading(self.client, name, self.location) as cut_off:
            writer = OpenSearchWriter(self.client, name, self.location, self.settings)
            try:
                yield writer
                writer.flush()
            finally:
                writer.close()
            if cut_off:
                repair(self.client, name, self.location)

    def documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        """Those of the documents that are stored, refreshed or not."""
        keys = [document_key(doc_id) for doc_id in doc_ids]
        if not keys:
            return {}
        with errors_explained(self.location):
            found = self.client.mget(index=self.index.name, body={"ids": keys})["docs"]
        records = [answer["_source"] for answer in found if answer.get("found")]
        return {
            record["doc_id"]: StoredDocument(record["source"], record["fingerprint"])
            for record in records
        }

    def documents_of(self, source: str) -> set[str]:
        """Ids of the documents that came from a source."""
        terms = [{"term": {"kind": "document"}}, {"term": {"source": source}}]
        body = {
            "size": WALK_RECORDS,
            "query": {"bool": {"filter": terms}},
            "sort": [{"doc_id": "asc"}],
            "_source": ["doc_id"],
        }
        return {hit["_source"]["doc_id"] for page in self._pages(body) for hit in page}

    def source_signature(self, source: str) -> str | None:
        """The signature under which a source was last read to its end, if it was."""
        with errors_explained(self.location):
            found = self.client.get(index=self.index.name, id=source_key(source), ignore=[404])
        return found["_source"]["signature"] if found.get("found") else None

    def document_text(self, doc_id: str) -> str | None:
        """The text of a document exactly as given, put together from its passages."""
        with errors_explained(self.location):
            found = self.client.get(index=self.index.name, id=document_key(doc_id), ignore=[404])
        if not found.get("found"):
            return None
        terms = [{"term": {"kind": "passage"}}, {"term": {"doc_id": doc_id}}]
        body = {
            "size": WALK_RECORDS,
            "query": {"bool": {"filter": terms}},
            "sort": [{"ordinal": "asc"}],
            "_source": ["gap", "text"],
        }
        texts = [
            hit["_source"]["gap"] + hit["_source"]["text"]
            for page in self._pages(body)
            for hit in page
        ]
        return "".join(texts) + str(found["_source"]["gap"])

    def rank(self, query: Query, depth: int) -> Evidence:
        """Evidence of the ``depth`` passages that the index proposes by vector, and by BM25."""
        searches = [
            body
            for text, vector in zip(query.phrases.texts, query.phrases.vectors, strict=True)
            for body in (
                requests.dense(vector, self.settings, query.where, depth),
                requests.bm25(text, query.where, depth),
            )
        ]
        answers = self._msearch(searches, query)
        found = [hit["_id"] for answer in answers for hit in answer["hits"]["hits"]]
        return self._evidence(query, list(dict.fromkeys(found)), _best(answers[1::2]))

    def sweep(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[Evidence]:
        """Evidence of passages with a span at or above the threshold; see `Store.sweep`."""
        best = _best(
            self._msearch(
                [requests.bm25(text, query.where, 1) for text in query.phrases.texts], query
            )
        )
        if exhaustive:
            body = requests.walk(query.phrases.texts, query.where, WALK_PASSAGES)
            pages = self._pages(body, include_named_queries_score=True)
            found = (_read(page, query, best) for page in pages)
        else:
            proposed = self._proposed(query, threshold)
            starts = range(0, len(proposed), WALK_PASSAGES)
            found = (
                self._evidence(query, proposed[start : start + WALK_PASSAGES], best)
                for start in starts
            )
        for evidence in found:
            kept = np.flatnonzero((evidence.cosines >= threshold).any(axis=0))
            if len(kept):
                yield Evidence(
                    keys=[evidence.keys[column] for column in kept.tolist()],
                    cosines=evidence.cosines[:, kept],
                    bm25=evidence.bm25[:, kept],
                    bm25_best=best,
                )

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages of these keys, which came with the evidence."""
        return {key: key.passage for key in keys if isinstance(key, FetchedPassage)}

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def _proposed(self, query: Query, threshold: float) -> list[str]:
        """Ids of passages that the index's radial search proposes, in stored order."""
        bodies = [
            requests.radial(vector, self.settings, query.where, threshold)
            for vector in query.phrases.vectors
        ]
        answers = self._msearch(bodies, query)
        return sorted({hit["_id"] for answer in answers for hit in answer["hits"]["hits"]})

    def _evidence(self, query: Query, ids: list[str], best: Any) -> Evidence:
        """Fetch passages by id and score them; they come in the order of their ids."""
        hits: list[dict[str, Any]] = []
        if ids:
            body = requests.evidence(ids, query.phrases.texts)
            with errors_explained(self.location):
                answer = self.client.search(
                    index=self.index.name,
                    body=body,
                    params={"include_named_queries_score": "true", **_steady(query)},
                )
            hits = sorted(answer["hits"]["hits"], key=lambda hit: str(hit["_id"]))
        return _read(hits, query, best)

    def _msearch(self, bodies: Sequence[dict[str, Any]], query: Query) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        for body in bodies:
            lines += [{"index": self.index.name, **_steady(query)}, body]
        with errors_explained(self.location):
            answers: list[dict[str, Any]] = self.client.msearch(body=lines)["responses"]
        for answer in answers:
            if "error" in answer:
                cause = (answer["error"].get("root_cause") or [answer["error"]])[0]
                raise StoreError(f"{self.location}: OpenSearch says {cause.get('reason')}")
        return answers

    def _pages(
        self, body: dict[str, Any], include_named_queries_score: bool = False
    ) -> Iterator[list[dict[str, Any]]]:
        """All hits of a sorted query, page by page, in one state of the index."""
        params = {"include_named_queries_score": str(include_named_queries_score).lower()}
        with errors_explained(self.location):
            point = self.client.create_pit(
                index=self.index.name, params={"keep_alive": KEEP_ALIVE}
            )["pit_id"]
            try:
                body = body | {"pit": {"id": point, "keep_alive": KEEP_ALIVE}}
                while hits := self.client.search(body=body, params=params)["hits"]["hits"]:
                    yield hits
                    body = body | {"search_after": hits[-1]["sort"]}
            finally:
                self.client.delete_pit(body={"pit_id": [point]})


def _read(hits: Sequence[dict[str, Any]], query: Query, best: Any) -> Evidence:
    found = [fetched(hit) for hit in hits]
    rows = range(len(query.phrases.texts))
    shape = (len(query.phrases.texts), len(found))
    bm25 = np.array([[item.bm25.get(row, 0.0) for item in found] for row in rows], np.float32)
    cosines = [best_cosines(item.passage.encoded, query) for item in found]
    return Evidence(
        keys=found,
        cosines=np.array(cosines, np.float32).reshape(shape[::-1]).T,
        bm25=bm25.reshape(shape),
        bm25_best=best,
    )


def _best(answers: Sequence[dict[str, Any]]) -> Any:
    """The highest BM25 of each phrase."""
    return np.array([answer["hits"]["max_score"] or 0.0 for answer in answers], np.float32)


def _steady(query: Query) -> dict[str, str]:
    """The same copies of the shards for the same question, so that pages agree."""
    return {"preference": hashlib.sha256("\0".join(query.phrases.texts).encode()).hexdigest()[:16]}
