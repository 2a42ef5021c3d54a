"""Mining 500 phrases in 20 topics over all contracts in one pass: time, memory, hits.

    python benchmarks/topics_pass.py --store contracts.slice --data ../shared/data

The topics are the most frequent clause types of CUAD, their phrases annotated clauses of at most
20 words. Saves JSON to benchmarks/results/topics_pass.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import time
from collections import Counter
from pathlib import Path

from slice_os import Corpus, SpanEncoder
from slice_os.text.words import find_words
from slice_os.topics import Topic, mine_topics

RESULTS = Path(__file__).parent / "results" / "topics_pass.json"
LONGEST = 20


def clause_topics(data: Path, topics: int, phrases: int, threshold: float) -> list[Topic]:
    """The most frequent clause types with annotated clauses, each with so many phrases."""
    clauses: dict[str, dict[str, None]] = {}
    with gzip.open(data / "cuad" / "cuad_spans.half.jsonl.gz", "rt", encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            for kind, spans in row["clauses"].items():
                for span in spans:
                    text = " ".join(span["text"].split())
                    if 4 <= len(find_words(text)) <= LONGEST:
                        clauses.setdefault(kind, {})[text] = None
    frequent = sorted(clauses, key=lambda kind: -len(clauses[kind]))[:topics]
    return [
        Topic(f"topic-{number}", tuple(clauses[kind])[:phrases], kind, threshold=threshold)
        for number, kind in enumerate(frequent)
    ]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--topics", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--phrases", type=int, default=32)
    parser.add_argument("--threshold", type=float, default=0.8)
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    rows: list[dict[str, float]] = []
    with Corpus(chosen.store, encoder) as corpus:
        vectors = corpus.info().pieces
        for number in chosen.topics:
            topics = clause_topics(chosen.data, number, chosen.phrases, chosen.threshold)
            began, worked = time.perf_counter(), time.process_time()
            counts = Counter(hit.topic for hit in mine_topics(corpus, topics))
            rows.append(
                {
                    "topics": len(topics),
                    "phrases": sum(len(topic.phrases) for topic in topics),
                    "seconds": round(time.perf_counter() - began, 1),
                    "cpu_seconds": round(time.process_time() - worked, 1),
                    "hits": sum(counts.values()),
                    "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    rows.sort(key=lambda row: row["topics"])
    result = {
        "vectors": vectors,
        "threshold": chosen.threshold,
        "rows": rows,
        "cpu_ratio": round(rows[-1]["cpu_seconds"] / rows[0]["cpu_seconds"], 1),
    }
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
