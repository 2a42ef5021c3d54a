"""Ways to keep spans in OpenSearch, side by side on one node.

    python benchmarks/layouts.py --url http://127.0.0.1:9200 --local contracts.slice \
        --data ../shared/data

A sample of contracts is indexed in four ways, each searched for the ten best passages:

- `slice-os`: an index with the default options, scored by Painless and by the native engine;
- `all spans`: every span of 1 to 20 words as a nested float vector, by a plain knn query;
- `one vector`: the mean vector of each passage, with BM25, fused as `convex` does;
- `late interaction`: all token vectors in `_source`, scored by k-NN's `lateInteractionScore`.

Overlap is with the local store's ten best passages by the default fusion for `one vector`, and by
cosine otherwise. Then the same 100 passages are scored by each script in turn. Everything is merged
before it is searched. Saves JSON to benchmarks/results/layouts.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import corpora
import numpy as np
from copy_store import stored_parts
from opensearchpy import OpenSearch, helpers
from timing import percentiles, timed

from slice_os import Corpus, IndexOptions, LocalStore, SpanEncoder
from slice_os.query.fusion import convex
from slice_os.search.run import make_query
from slice_os.spans.passages import DocumentPart
from slice_os.stores.cluster.engines.opensearch_engine import OPENSEARCH
from slice_os.stores.cluster.schema.records import passage_key
from slice_os.stores.cluster.search import scripted, searches
from slice_os.stores.cluster.store import OpenSearchStore

RESULTS = Path(__file__).parent / "results" / "layouts.json"
RESCORED = 100
ROUNDS = 15
TOP = 10
Place = tuple[str, int]


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> dict[str, float]:
    """Median and best time of some work."""
    work()
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - began))
    return {"median_ms": round(statistics.median(found), 1), "best_ms": round(min(found), 1)}


def asked(search: Callable[[int], list[Place]], truth: list[set[Place]]) -> dict[str, float]:
    """Overlap and latency of a search for every phrase."""
    search(0)
    answers, milliseconds = timed(search, range(len(truth)))
    shares = [len(best & set(one)) / len(best) for best, one in zip(truth, answers, strict=True)]
    return {"overlap": round(statistics.mean(shares), 4), **percentiles(milliseconds)}


def places(answer: dict[str, Any]) -> list[Place]:
    """Document and ordinal of every hit."""
    fields = (hit["fields"] for hit in answer["hits"]["hits"])
    return [(field["doc_id"][0], field["ordinal"][0]) for field in fields]


class Bench:
    """The node, the sample and the truth.

    Args:
        url: of the node.
        parts: the documents of the sample.
        phrases: to search for.
        encoder: of the vectors.
    """

    def __init__(
        self, url: str, parts: list[DocumentPart], phrases: list[str], encoder: SpanEncoder
    ) -> None:
        self.url, self.parts, self.encoder = url, parts, encoder
        self.client = OpenSearch(url, timeout=600)
        self.phrases = phrases
        self.queries = [make_query(encoder, phrase) for phrase in phrases]
        self.tokens = sum(len(p.vectors) for part in parts for p in part.passages)
        self.ordinal = {
            (part.document.id, passage.start): ordinal
            for part in parts
            for ordinal, passage in enumerate(part.passages)
        }

    def truth(self, fusion: str) -> list[set[Place]]:
        """The exact ten best passages for every phrase."""
        with tempfile.TemporaryDirectory() as folder, Corpus(f"{folder}/s", self.encoder) as local:
            with local._for_writing().writer() as writer:
                for part in self.parts:
                    writer.write(part)
            return [
                {
                    (hit.doc_id, self.ordinal[hit.doc_id, hit.passage.start])
                    for hit in local.search(phrase, top_k=TOP, fusion=fusion, verify=False)
                }
                for phrase in self.phrases
            ]

    def settle(self, index: str, seconds: float) -> dict[str, float]:
        """Merge, and measure the size."""
        self.client.indices.flush(index=index)
        self.client.indices.put_settings(
            index=index, body={"index.soft_deletes.retention_lease.period": "1s"}
        )
        time.sleep(40)
        self.client.indices.forcemerge(index=index, max_num_segments=1)
        self.client.indices.flush(index=index, params={"force": "true"})
        self.client.indices.refresh(index=index)
        stats = self.client.indices.stats(index=index, metric="store")["_all"]["primaries"]
        return {
            "ingest_tokens_per_second": round(self.tokens / seconds),
            "bytes_per_token": round(stats["store"]["size_in_bytes"] / self.tokens),
        }

    def index_of_ours(
        self, name: str, options: IndexOptions
    ) -> tuple[OpenSearchStore, dict[str, Any]]:
        """An index as slice-os makes it."""
        corpus = Corpus(f"{self.url}/{name}", self.encoder, index=options)
        began = time.perf_counter()
        with corpus._for_writing().writer() as writer:
            for part in self.parts:
                assert not writer.write(part)
            assert not writer.flush()
        store = corpus.store
        assert isinstance(store, OpenSearchStore)
        return store, self.settle(store.handle.name, time.perf_counter() - began)

    def plain_index(
        self, name: str, properties: dict[str, Any], extra: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """An index of passages with one more field."""
        shared = {
            "doc_id": {"type": "keyword"},
            "ordinal": {"type": "integer"},
            "text": {"type": "text", "analyzer": "english"},
        }
        mappings = {"properties": shared | properties}
        settings = {"index": {"knn": True, "number_of_replicas": 0}}
        self.client.indices.delete(index=name, ignore=[404])
        self.client.indices.create(index=name, body={"settings": settings, "mappings": mappings})
        began = time.perf_counter()
        helpers.bulk(self.client, self._rows(name, extra), chunk_size=20, request_timeout=600)
        return self.settle(name, time.perf_counter() - began)

    def _rows(self, name: str, extra: Callable[[Any], dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for part in self.parts:
            for ordinal, passage in enumerate(part.passages):
                text = part.document.text[passage.start : passage.end]
                place = {"doc_id": part.document.id, "ordinal": ordinal, "text": text}
                yield {
                    "_index": name,
                    "_id": passage_key(part.document.id, ordinal),
                    **place,
                    **extra(passage),
                }


def slice_os(bench: Bench, truth: list[set[Place]]) -> dict[str, Any]:
    """Our index, by both engines, whole searches."""
    store, row = bench.index_of_ours("layout-ours", IndexOptions(replicas=0))
    with Corpus(store, bench.encoder) as corpus:
        for engine in (scripted.PAINLESS, scripted.NATIVE):
            store.script_engine(bench.queries[0])
            store._server._engine = engine

            def search(number: int) -> list[Place]:
                hits = corpus.search(
                    bench.phrases[number], top_k=TOP, fusion="cosine", verify=False
                )
                return [(hit.doc_id, bench.ordinal[hit.doc_id, hit.passage.start]) for hit in hits]

            row[engine.lang] = asked(search, truth)
    return row


def all_spans(bench: Bench, truth: list[set[Place]]) -> dict[str, Any]:
    """Every span as a float vector."""
    options = IndexOptions(
        policy="all", vectors="float", truncate_dim=bench.encoder.card.dimension, replicas=0
    )
    store, row = bench.index_of_ours("layout-all", options)

    def search(number: int) -> list[Place]:
        vector = bench.queries[number].phrases.vectors[0]
        body = searches.dense(vector, store.settings, (), 100) | {"size": TOP}
        return places(bench.client.search(index=store.handle.name, body=body))

    return row | {"knn": asked(search, truth)}


def one_vector(bench: Bench, truth: list[set[Place]]) -> dict[str, Any]:
    """The mean vector of each passage, with BM25."""
    vector = {
        "type": "knn_vector",
        "dimension": bench.encoder.card.dimension,
        "space_type": "cosinesimil",
        "method": {"name": "hnsw", "engine": "lucene"},
    }
    name = "layout-one"
    row = bench.plain_index(
        name, {"vec": vector}, lambda passage: {"vec": passage.vectors.mean(axis=0).tolist()}
    )

    def search(number: int) -> list[Place]:
        vector = bench.queries[number].phrases.vectors[0].tolist()
        bodies = [
            {"query": {"knn": {"vec": {"vector": vector, "k": 400}}}},
            {"query": searches.terms(bench.phrases[number], OPENSEARCH)},
        ]
        lines = [
            line
            for body in bodies
            for line in ({"index": name}, body | searches.PLACES | {"size": 400})
        ]
        dense, terms = bench.client.msearch(body=lines)["responses"]
        cosines = dict(zip(places(dense), _scores(dense), strict=True))
        bm25 = dict(zip(places(terms), _scores(terms), strict=True))
        both = list(cosines | bm25)
        fused = convex(
            np.array([2 * cosines.get(place, 0.5) - 1 for place in both], dtype=np.float32),
            np.array([bm25.get(place, 0.0) for place in both], dtype=np.float32),
            max(bm25.values(), default=0.0),
        )
        return [both[column] for column in np.argsort(-fused)[:TOP]]

    return row | {"knn and BM25": asked(search, truth)}


def late_interaction(bench: Bench, truth: list[set[Place]]) -> dict[str, Any]:
    """All token vectors in the source, scored by k-NN's own function."""
    name = "layout-late"
    row = bench.plain_index(
        name,
        {"vectors": {"type": "object", "enabled": False}},
        lambda passage: {"vectors": passage.vectors.round(6).tolist()},
    )

    def search(number: int) -> list[Place]:
        body = searches.PLACES | {"size": TOP, "query": late_query(bench, number, None)}
        return places(bench.client.search(index=name, body=body))

    return row | {"lateInteractionScore": asked(search, truth[:10])}


def late_query(bench: Bench, number: int, ids: list[str] | None) -> dict[str, Any]:
    """The query of `late_interaction` for some passages, or for all."""
    passages = {"match_all": {}} if ids is None else {"bool": {"filter": searches.by_id(ids)}}
    script = {
        "source": "lateInteractionScore(params.vectors, 'vectors', params._source)",
        "params": {"vectors": bench.queries[number].phrases.vectors.tolist()},
    }
    return {"script_score": {"query": passages, "script": script}}


def rescoring(bench: Bench) -> dict[str, Any]:
    """The same passages, scored by every script."""
    chosen = list(islice(sorted(bench.ordinal), RESCORED))
    ids = [passage_key(doc_id, bench.ordinal[doc_id, start]) for doc_id, start in chosen]
    result: dict[str, Any] = {"passages": len(ids)}

    def late() -> None:
        body = searches.PLACES | {"size": TOP, "query": late_query(bench, 0, ids)}
        bench.client.search(index="layout-late", body=body)

    result["lateInteractionScore"] = milliseconds(late)
    for engine in (scripted.PAINLESS, scripted.NATIVE):
        body = scripted.cosines(bench.queries[0], 0, searches.by_id(ids), engine)
        body = {key: value for key, value in body.items() if key not in ("sort", "track_scores")}
        body |= searches.PLACES | {"size": TOP}
        work = lambda body=body: bench.client.search(index="layout-ours", body=body)  # noqa: E731
        found = milliseconds(work, 4 * ROUNDS)
        times = result["lateInteractionScore"]["median_ms"] / found["median_ms"]
        result[engine.lang] = found | {"times_as_fast": round(times, 1)}
    return result


def _scores(answer: dict[str, Any]) -> list[float]:
    return [hit["_score"] for hit in answer["hits"]["hits"]]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=4)
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    with Corpus(chosen.local, encoder) as local:
        assert isinstance(local.store, LocalStore)
        parts = list(islice(stored_parts(local.store, encoder), chosen.documents))
    bench = Bench(chosen.url, parts, corpora.contract_phrases(chosen.data), encoder)
    report: dict[str, Any] = {"tokens": bench.tokens, "passages": len(bench.ordinal)}
    cosine, fused = bench.truth("cosine"), bench.truth("convex")
    for name, work, truth in (
        ("slice-os", slice_os, cosine),
        ("one vector", one_vector, fused),
        ("late interaction", late_interaction, cosine),
        ("all spans", all_spans, cosine),
    ):
        report[name] = work(bench, truth)
        print(name, json.dumps(report[name]), flush=True)
    report["rescoring"] = rescoring(bench)
    print(json.dumps(report["rescoring"]), flush=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
