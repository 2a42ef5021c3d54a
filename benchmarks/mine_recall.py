"""Measure what `mine --candidates` and radial search alone miss on the demo documents.

    python benchmarks/mine_recall.py --url http://127.0.0.1:9200

Ingests demo/ into the index `mine-recall` unless it exists, mines it exhaustively for 30 phrases,
and prints for each threshold the share of those hits that are in passages which the index
proposes: first as loaded, then merged into one segment. Milliseconds are for proposing passages
for one phrase, without scoring them.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

from slice_os.corpus import Corpus
from slice_os.search.run import make_query
from slice_os.stores.cluster.schema.indices import force_merge
from slice_os.stores.cluster.search import searches
from slice_os.stores.cluster.search.listing import hits as all_hits
from slice_os.stores.cluster.store import OpenSearchStore

DEMO = Path(__file__).parents[1] / "demo"
THRESHOLDS = (0.6, 0.7, 0.8)
PHRASES = """
I want to cancel my booking; my phone screen is broken; I lost my card;
what is my account balance; please change my seat; the internet is very slow; I need a refund;
this is too expensive; when will my order arrive; I forgot my password; thank you for your help;
speak to a manager; my bill is wrong; I want to upgrade my plan;
transfer money to another account; the software keeps crashing;
either party may terminate this agreement; this agreement is governed by the laws of New York;
shall not be liable for indirect damages; confidential information must be returned;
the contract renews automatically each year; payment is due within thirty days;
neither party may assign this agreement; best efforts to promote the product;
exclusive right to distribute; independent contractor and not an employee; non compete;
written notice; force majeure; intellectual property belongs to the company
"""

WAYS = {"candidates": searches.nearest, "radial": searches.radial}


def measure(corpus: Corpus, store: OpenSearchStore, phrases: list[str], how: str) -> None:
    """Mine exhaustively, then compare what each way of proposing finds."""
    began = time.perf_counter()
    hits = list(corpus.iter_mine(phrases, threshold=min(THRESHOLDS), verify=False))
    print(f"\n{how}: {len(hits)} hits by scoring all, {time.perf_counter() - began:.0f} s")
    ids = _ids(store)
    cosines: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for hit in hits:
        cosines[hit.phrase].append((ids[hit.doc_id, hit.passage.start], hit.cosine))
    for threshold in THRESHOLDS:
        for name, propose in WAYS.items():
            found = wanted = proposed = 0
            began = time.perf_counter()
            for phrase in phrases:
                query = make_query(corpus.encoder, phrase)
                (vector,) = query.phrases.vectors
                least = searches.proposal_score(threshold)
                body = propose(vector, store.settings, query.where, least)
                assert body is not None
                there = {hit["_id"] for hit in all_hits(store.handle, body)}
                proposed += len(there)
                those = [key for key, cosine in cosines[phrase] if cosine >= threshold]
                wanted += len(those)
                found += sum(key in there for key in those)
            took = 1000 * (time.perf_counter() - began) / len(phrases)
            print(
                f"{threshold}  {name:10}  hits {found}/{wanted} = {found / max(wanted, 1):.3f}  "
                f"passages proposed a phrase {proposed / len(phrases):.0f}  {took:.0f} ms",
                flush=True,
            )


def _ids(store: OpenSearchStore) -> dict[tuple[str, int], str]:
    body = {
        "size": 1_000,
        "query": {"term": {"kind": "passage"}},
        "sort": searches.STORED_ORDER,
        "_source": ["doc_id", "start"],
    }
    return {
        (hit["_source"]["doc_id"], hit["_source"]["start"]): hit["_id"]
        for hit in all_hits(store.handle, body)
    }


def main() -> None:
    """Ingest, then measure twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    url = parser.parse_args().url
    phrases = [phrase.strip() for phrase in PHRASES.split(";")]
    with Corpus(f"{url}/mine-recall") as corpus:
        corpus.ingest([DEMO / "contracts", DEMO / "dialogues.jsonl"])
        store = corpus.store
        assert isinstance(store, OpenSearchStore)
        info = store.info()
        print(f"{info.passages} passages, {info.pieces} token vectors, {store.settings.policy}")
        measure(corpus, store, phrases, "as loaded")
        force_merge(store.handle)
        measure(corpus, store, phrases, "merged")


if __name__ == "__main__":
    main()
