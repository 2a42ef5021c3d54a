"""The OpenSearch store: candidates from the server, exact scores here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from opensearchpy import OpenSearch

from slice_os.arrays import FloatArray
from slice_os.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.encoder import SpanEncoder
from slice_os.model import ModelCard
from slice_os.passages import DEFAULT_MAX_PIECES
from slice_os.query import Query
from slice_os.stores.base import StoredDocument, StoreInfo
from slice_os.stores.opensearch import hybrid, responses, search_bodies
from slice_os.stores.opensearch.indices import Index, create, errors_explained, no_index, resolve
from slice_os.stores.opensearch.lookup import find_records
from slice_os.stores.opensearch.paging import pages
from slice_os.stores.opensearch.records import document_key, source_key
from slice_os.stores.opensearch.retry import retrying
from slice_os.stores.opensearch.search_bodies import Answer, Body
from slice_os.stores.opensearch.settings import SCHEMA_VERSION, IndexOptions
from slice_os.stores.opensearch.writer import OpenSearchWriter, writing

WALK_RECORDS = 1_000


class OpenSearchStore:
    """An index of passages, their span vectors and their terms.

    The index proposes passages by span vectors and by BM25; every proposed passage is then
    scored exactly over all its spans from its stored token vectors.

    Args:
        client: a client of your own, or one that `parse_location` makes.
        name: index or alias.
        location: how messages call this store; the name by default.

    Raises:
        StoreError: if there is no such index, or not one of ours.
    """

    exhaustive = False

    def __init__(self, client: OpenSearch, name: str, location: str | None = None) -> None:
        self.location = location or name
        self.client = client
        index = resolve(client, name, self.location)
        if index is None:
            raise no_index(self.location)
        self.name = name
        self.index: Index = index
        self.settings = index.settings

    def check_encoder(self, card: ModelCard) -> None:
        """Refuse another encoder than the index's.

        Raises:
            EncoderMismatchError: naming both.
        """
        self.settings.encoder.check_made(self.location, card)

    @classmethod
    def create(
        cls,
        client: OpenSearch,
        name: str,
        encoder: SpanEncoder,
        *,
        max_pieces: int = DEFAULT_MAX_PIECES,
        options: IndexOptions | None = None,
    ) -> OpenSearchStore:
        """Make an empty index behind an alias, and open it.

        Raises:
            InputError: on options that do not fit the encoder.
            StoreError: if OpenSearch refuses.
        """
        create(
            client,
            name,
            options or IndexOptions(),
            encoder.card,
            max_pieces,
            name,
            encoder.projection,
        )
        return cls(client, name)

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

    def writer(self) -> AbstractContextManager[OpenSearchWriter]:
        """A writer; refresh is off while it is open, and what changed is searchable after."""
        return writing(self.client, self.index.name, self.location, self.settings)

    def documents(self, doc_ids: Iterable[str]) -> dict[str, StoredDocument]:
        """Those of the documents that are stored, refreshed or not."""
        keys = [document_key(doc_id) for doc_id in doc_ids]
        records = find_records(self.client, self.index.name, keys, self.location)
        return {
            record["doc_id"]: StoredDocument(record["source"], record["fingerprint"])
            for record in records
        }

    @retrying
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

    @retrying
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

    def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        """The ``num_candidates`` passages best by span vector, and by BM25, scored exactly."""
        found = self._msearch(search_bodies.ranking(query, self.settings, num_candidates), query)
        return self._candidates(query, responses.ids_of(found), responses.ranked_best(found))

    def rank_fused(self, query: Query, num_candidates: int) -> tuple[ScoredCandidates, FloatArray]:
        """Evidence of the passages that the server's own fusion puts first, and its scores."""
        with errors_explained(self.location):
            hybrid.require(self.client.cat.plugins(format="json"), self.location)
        found = self._msearch(hybrid.bodies(query, self.settings, num_candidates), query)
        best = responses.best_bm25(self._msearch(search_bodies.best(query), query))
        candidates = self._candidates(query, responses.ids_of(found), best)
        return candidates, hybrid.scores(found, candidates)

    def scan(self, query: Query, threshold: float, exhaustive: bool) -> Iterator[ScoredCandidates]:
        """Evidence of passages with a span at or above the threshold; see `Store.sweep`."""
        best = responses.best_bm25(self._msearch(search_bodies.best(query), query))
        pages = self._walk(query, best) if exhaustive else self._proposed(query, threshold, best)
        for page in pages:
            if kept := responses.at_least(page, threshold):
                yield kept

    def load(self, keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
        """The passages of these keys, which came with the evidence."""
        return responses.passages(keys)

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def _walk(self, query: Query, best: FloatArray) -> Iterator[ScoredCandidates]:
        for hits in self._pages(search_bodies.walk(query), with_bm25=True):
            yield responses.candidates(hits, query, best)

    def _proposed(
        self, query: Query, threshold: float, best: FloatArray
    ) -> Iterator[ScoredCandidates]:
        """Evidence of the passages that the index proposes for a threshold."""
        least = search_bodies.proposal_score(threshold)
        vectors = query.phrases.vectors
        hits = (hit for vector in vectors for hit in self._near(vector, query, least))
        for ids in search_bodies.pieces(
            responses.in_stored_order(hits), search_bodies.WALK_PASSAGES
        ):
            yield self._candidates(query, ids, best)

    def _near(self, vector: FloatArray, query: Query, least: float) -> Iterator[Answer]:
        """Passages with an indexed span at or above a score."""
        nearest = search_bodies.nearest(vector, self.settings, query.where, least)
        hits = self._msearch([nearest], query)[0]["hits"]["hits"]
        yield from hits
        if len(hits) >= search_bodies.GRAPH_WIDTH:
            further = search_bodies.radial(vector, self.settings, query.where, least)
            for page in self._pages(further):
                yield from page

    def _candidates(self, query: Query, ids: Sequence[str], best: FloatArray) -> ScoredCandidates:
        """Fetch passages by id and score them."""
        hits: list[Answer] = []
        for some in search_bodies.pieces(ids, search_bodies.FETCHED_PASSAGES):
            body = search_bodies.candidates(some, query.phrases.texts)
            params = search_bodies.NAMED_SCORES | search_bodies.steady(query)
            with errors_explained(self.location):
                answer = self.client.search(index=self.index.name, body=body, params=params)
            hits += answer["hits"]["hits"]
        return responses.candidates(hits, query, best)

    def _msearch(self, bodies: Sequence[Body], query: Query) -> list[Answer]:
        lines = search_bodies.msearch(self.index.name, bodies, query)
        with errors_explained(self.location):
            answer = self.client.msearch(body=lines)
        return responses.each(answer, self.location)

    def _pages(self, body: Body, with_bm25: bool = False) -> Iterator[list[Answer]]:
        return pages(self.client, self.index.name, body, self.location, with_bm25)
