"""How many of the exact ten best passages the graphs of Elasticsearch propose, and their size.

    python -m tests.elasticsearch.node &
    python benchmarks/graphs.py http://127.0.0.1:9200 --data ../shared/data \
        --contracts contracts.slice --dialogues dialogues.slice

Passages of local stores go into one index for each kind of vectors and graph, merged into one
segment. For each of 100 phrases and each number of candidates, the share of the ten passages with
the highest exact cosine that the search by vector proposes. Bytes are those of the whole index by
token vector. Prints each row, and saves benchmarks/results/graphs.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import orjson
from opensearchpy import OpenSearch

from slice_os import Corpus, Document, IndexOptions, SpanEncoder
from slice_os.query.query import Query
from slice_os.search.run import make_query
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.cluster.engines.elasticsearch_engine import ELASTICSEARCH
from slice_os.stores.cluster.schema.records import passage_key, passage_source
from slice_os.stores.cluster.schema.settings import IndexSettings, choose, template
from slice_os.stores.cluster.search import searches
from slice_os.stores.cluster.server.connection import parse_location

RESULT = Path(__file__).parent / "results" / "graphs.json"
GRAPHS = (("byte", "hnsw"), ("float", "hnsw"), ("float", "int8_hnsw"), ("float", "bbq_hnsw"))
CANDIDATES = (100, 400, 1_000, 10_000)
BEST = 10
BATCH = 100


def fill(
    client: OpenSearch, name: str, passages: list[StoredPassage], vectors: str, graph: str
) -> IndexSettings:
    """Make an index of passages in one segment."""
    encoder, options = SpanEncoder(), IndexOptions(vectors=vectors, replicas=0)
    settings = choose(options, encoder.card, 128, encoder.projection, ELASTICSEARCH)
    body = template(name, options, settings)["template"]
    body["mappings"]["properties"]["spans"]["properties"]["vec"]["index_options"]["type"] = graph
    client.indices.delete(index=name, ignore=[404])
    client.indices.create(index=name, body=body)
    for first in range(0, len(passages), BATCH):
        lines: list[bytes] = []
        for ordinal, one in enumerate(passages[first : first + BATCH], start=first):
            document = Document(one.doc_id, " " * one.encoded.start + one.text)
            record = passage_source(document, ordinal, one.encoded, "", settings)
            action = {"index": {"_id": passage_key(one.doc_id, ordinal)}}
            lines += [orjson.dumps(action), orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY)]
        answer = client.bulk(
            index=name, body=b"\n".join([*lines, b""]).decode(), request_timeout=600
        )
        assert not answer["errors"], answer
    client.indices.forcemerge(index=name, max_num_segments=1, request_timeout=3_600)
    client.indices.refresh(index=name)
    return settings


def share(
    client: OpenSearch, name: str, settings: IndexSettings, query: Query, best: set[int], size: int
) -> float:
    """The share of the best passages that a search proposes."""
    body = searches.dense(query.phrases.vectors[0], settings, (), size)
    hits = client.search(index=name, body=body)["hits"]["hits"]
    return len(best & {hit["fields"]["ordinal"][0] for hit in hits}) / len(best)


def measure(client: OpenSearch, kind: str, local: Path, phrases: list[str], most: int) -> Any:
    """Rows for the passages of one store."""
    encoder = SpanEncoder()
    with Corpus(local, encoder) as corpus:
        queries = [make_query(encoder, phrase) for phrase in phrases]
        ranked = corpus.store.rank(queries[0], most)
        keys = list(ranked.keys)[:most]
        passages = list(ranked.load(keys).values())
        truth = [
            set(np.argsort(-corpus.store.rank(query, most).cosines[0, : len(keys)])[:BEST].tolist())
            for query in queries
        ]
    tokens = sum(len(one.encoded.vectors) for one in passages)
    rows = []
    for vectors, graph in GRAPHS:
        name, began = f"graphs-{kind}-{vectors}-{graph}".replace("_", "-"), time.perf_counter()
        settings = fill(client, name, passages, vectors, graph)
        size = client.indices.stats(index=name)["_all"]["primaries"]["store"]["size_in_bytes"]
        row: dict[str, Any] = {"corpus": kind, "vectors": vectors, "graph": graph}
        row |= {"passages": len(passages), "tokens": tokens, "bytes_a_token": round(size / tokens)}
        for count in CANDIDATES:
            shares = [
                share(client, name, settings, query, best, count)
                for query, best in zip(queries, truth, strict=True)
            ]
            row[f"overlap_{count}"] = round(statistics.mean(shares), 4)
        row["seconds"] = round(time.perf_counter() - began)
        print(json.dumps(row), flush=True)
        rows.append(row)
        client.indices.delete(index=name)
    return rows


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--contracts", type=Path)
    parser.add_argument("--dialogues", type=Path)
    parser.add_argument("--passages", type=int, default=20_000, help="of each store, at most")
    chosen = parser.parse_args()
    rows = []
    with parse_location(f"{chosen.url}/none").client() as client:
        for kind in ("dialogues", "contracts"):
            if local := getattr(chosen, kind):
                phrases = getattr(corpora, f"{kind[:-1]}_phrases")(chosen.data)
                rows += measure(client, kind, local, phrases, chosen.passages)
                RESULT.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
