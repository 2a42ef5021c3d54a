"""How many of the exact ten best passages the graphs of an engine propose, and their size.

    python -m tests.elasticsearch.node &
    python benchmarks/graphs.py http://127.0.0.1:9200 --data ../shared/data \
        --contracts contracts.slice --dialogues dialogues.slice

Passages of local stores go into one index for each kind of vectors and graph, merged into one
segment. For each of 100 phrases and each number of candidates, the share of the ten passages with
the highest exact cosine that the search by vector proposes, and how many passages it proposes. The
graph `flat` compares every span; `early` is a search that Elasticsearch ends early, as it does by
default. Bytes are those of the vectors and their graph by token vector, on Elasticsearch. Prints
each row, and adds it to benchmarks/results/graphs.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
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
from slice_os.stores.cluster.engines.engine import VECTORS
from slice_os.stores.cluster.schema.records import passage_key, passage_source
from slice_os.stores.cluster.schema.settings import IndexSettings, choose, template
from slice_os.stores.cluster.search import searches
from slice_os.stores.cluster.server.connection import parse_location
from slice_os.stores.cluster.server.detection import engine_of

RESULT = Path(__file__).parent / "results" / "graphs.json"
# Vectors, graph, and whether a search may end early.
DEFAULT = ("byte", "hnsw", False)
GRAPHS = (
    DEFAULT,
    ("byte", "hnsw", True),
    ("byte", "flat", False),
    ("float", "hnsw", False),
    ("float", "hnsw", True),
    ("float", "int8_hnsw", False),
    ("float", "bbq_hnsw", False),
)
CANDIDATES = (100, 400, 1_000)
BEST = 10
BATCH = 100


def fill(
    client: OpenSearch,
    name: str,
    passages: list[StoredPassage],
    kind: tuple[str, str, bool],
) -> IndexSettings:
    """Make an index of passages in one segment."""
    vectors, graph, early = kind
    encoder, options = SpanEncoder(), IndexOptions(vectors=vectors, replicas=0)
    settings = choose(options, encoder.card, 128, encoder.projection, engine_of(client))
    body = template(name, options, settings)["template"]
    field = body["mappings"]["properties"]["spans"]["properties"]["vec"]
    if graph == "flat":
        field["index_options"] = {"type": graph}
    elif kind != DEFAULT:
        field["index_options"]["type"] = graph
    client.indices.delete(index=name, ignore=[404])
    client.indices.create(index=name, body=body)
    if (tuning := settings.engine.tuning) and not early:
        client.indices.put_settings(index=name, body=tuning)
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
    client.indices.flush(index=name, force="true")
    client.indices.refresh(index=name)
    return settings


def proposed(
    client: OpenSearch, name: str, settings: IndexSettings, query: Query, size: int
) -> set[int]:
    """The passages that a search proposes."""
    body = searches.Asked(settings, query).dense(query.phrases.vectors[0], size)
    hits = client.search(index=name, body=body)["hits"]["hits"]
    return {hit["fields"]["ordinal"][0] for hit in hits}


def bytes_of_vectors(client: OpenSearch, name: str) -> int:
    """The size of the span vectors; that of an index counts a passing copy for recovery, too."""
    there = client.transport.perform_request(
        "POST", f"/{name}/_disk_usage", params={"run_expensive_tasks": "true"}
    )
    size: int = there[name]["fields"][VECTORS]["total_in_bytes"]
    return size


def measure(
    client: OpenSearch, kind: str, local: Path, phrases: list[str], most: int
) -> Iterator[dict[str, Any]]:
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
    engine = engine_of(client)
    for made in GRAPHS if engine is ELASTICSEARCH else [DEFAULT]:
        name, began = f"graphs-{kind}", time.perf_counter()
        settings = fill(client, name, passages, made)
        row: dict[str, Any] = {"engine": engine.name, "corpus": kind}
        row |= dict(zip(("vectors", "graph", "early"), made, strict=True))
        row |= {"passages": len(passages), "tokens": tokens}
        for count in CANDIDATES:
            found = [proposed(client, name, settings, query, count) for query in queries]
            shares = [len(best & some) / BEST for best, some in zip(truth, found, strict=True)]
            row[f"overlap_{count}"] = round(statistics.mean(shares), 4)
            row[f"proposed_{count}"] = round(statistics.mean(map(len, found)))
        if engine is ELASTICSEARCH:
            row["bytes_a_token"] = round(bytes_of_vectors(client, name) / tokens)
        row["seconds"] = round(time.perf_counter() - began)
        print(json.dumps(row), flush=True)
        client.indices.delete(index=name)
        yield row


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--contracts", type=Path)
    parser.add_argument("--dialogues", type=Path)
    parser.add_argument("--passages", type=int, default=20_000, help="of each store, at most")
    chosen = parser.parse_args()
    rows = json.loads(RESULT.read_text(encoding="utf-8"))
    with parse_location(f"{chosen.url}/none").client() as client:
        for kind in ("dialogues", "contracts"):
            if local := getattr(chosen, kind):
                phrases = getattr(corpora, f"{kind[:-1]}_phrases")(chosen.data)
                for row in measure(client, kind, local, phrases, chosen.passages):
                    rows.append(row)
                    RESULT.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
