"""The OpenSearch store against the exact local store: overlap, bytes, rates, latency.

    python benchmarks/opensearch_store.py --url http://127.0.0.1:9200 --data ../shared/data

Ingests all contracts and 5,000 dialogues into a local store and into OpenSearch, then searches
both for the ten best passages for phrases from other texts. Overlap is the mean share of the
local store's ten (it scores every span of every passage) that OpenSearch finds as well. Bytes are
the total size of the merged primary. Prints JSON and saves it to benchmarks/results/.
`--all-sample N` sets how many contracts the `all` policy is compared on. With `--work`, a second
run searches what the first one loaded.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import corpora
from timing import percentiles, timed

from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hits
from slice_os.stores.cluster.schema.indices import force_merge
from slice_os.stores.cluster.schema.settings import IndexOptions
from slice_os.stores.cluster.search.listing import require_index
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.registry import store_exists

LEASE_SECONDS = 70
RESULTS = Path(__file__).parent / "results" / "opensearch_store.json"


def passages(hits: Hits) -> set[tuple[str, int]]:
    """The passages that contain hits."""
    return {(hit.doc_id, hit.passage.start) for hit in hits}


def load(location: str, path: Path, encoder: SpanEncoder, options: IndexOptions) -> dict[str, Any]:
    """Ingest a file; tokens a second, and bytes a token after merging."""
    with Corpus(location, encoder, index=options) as corpus:
        summary = corpus.ingest([path])
    merge_seconds = merge(location) if location.startswith("http") else 0.0
    with Corpus(location, encoder) as corpus:
        info = corpus.info()
    return {
        "documents": info.documents,
        "passages": info.passages,
        "tokens": info.pieces,
        "ingest_tokens_per_second": round(summary.pieces / summary.seconds),
        "merge_seconds": round(merge_seconds),
        "bytes_per_token": round(info.size_bytes / info.pieces),
    }


def merge(location: str) -> float:
    """Merge an index until nothing is kept for recovery any more; returns the seconds taken."""
    alias = IndexHandle.at(location)
    index, client = alias.named(require_index(alias).name), alias.client
    # What a load keeps for recovery is dropped by merges, half a minute after its last use.
    client.indices.flush(index=index.name)
    time.sleep(LEASE_SECONDS)
    began = time.monotonic()
    force_merge(index)
    seconds = time.monotonic() - began
    client.indices.flush(index=index.name, params={"force": "true"})
    client.indices.refresh(index=index.name)
    return seconds


def load_once(
    work: Path, location: str, path: Path, encoder: SpanEncoder, options: IndexOptions
) -> dict[str, Any]:
    """The figures of `load`, kept in the work folder, so that a second run only searches."""
    note = work / f"{location.rpartition('/')[2]}-{'remote' if '://' in location else 'local'}.json"
    if not (note.exists() and store_exists(location)):
        note.write_text(json.dumps(load(location, path, encoder, options)))
    figures: dict[str, Any] = json.loads(note.read_text())
    return figures


def ask(corpus: Corpus, phrases: list[str], fusion: str) -> tuple[list[Hits], dict[str, float]]:
    """The ten best passages for every phrase, and milliseconds."""
    corpus.search("warm up")
    answers, milliseconds = timed(
        lambda phrase: corpus.search(phrase, top_k=10, fusion=fusion), phrases
    )
    return answers, percentiles(milliseconds, digits=None)


def compare(
    name: str, path: Path, phrases: list[str], url: str, work: Path, options: IndexOptions
) -> dict[str, Any]:
    """One corpus, both stores."""
    encoder = SpanEncoder()
    label = options.policy.replace(":", "-").replace(",", "-").replace(".", "")
    local, remote = str(work / name), f"{url}/{name}-{label}"
    row: dict[str, Any] = {"corpus": name, "policy": options.policy, "phrases": len(phrases)}
    row["local"] = load_once(work, local, path, encoder, options)
    row["opensearch"] = load_once(work, remote, path, encoder, options)
    with Corpus(local, encoder) as exact, Corpus(remote, encoder) as proposed:
        for fusion in ("cosine", "convex"):
            ours, ours_ms = ask(exact, phrases, fusion)
            theirs, theirs_ms = ask(proposed, phrases, fusion)
            shares = [
                len(passages(a) & passages(b)) / max(1, len(a))
                for a, b in zip(ours, theirs, strict=True)
            ]
            row[f"overlap_{fusion}"] = round(statistics.mean(shares), 4)
            row["local"][fusion], row["opensearch"][fusion] = ours_ms, theirs_ms
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="folder that keeps what is loaded")
    parser.add_argument("--all-sample", type=int, default=4)
    chosen = parser.parse_args()
    options = IndexOptions(replicas=0)
    with tempfile.TemporaryDirectory() as scratch:
        work = chosen.work or Path(scratch)
        work.mkdir(exist_ok=True, parents=True)
        dialogues = corpora.write_dialogues(chosen.data, work)
        contracts = corpora.write_contracts(chosen.data, work)
        ours, theirs = corpora.contract_phrases(chosen.data), corpora.dialogue_phrases(chosen.data)
        rows = [
            compare("dialogues", dialogues, theirs, chosen.url, work, options),
            compare("contracts", contracts, ours, chosen.url, work, options),
        ]
        sample = work / "sample.jsonl"
        with contracts.open(encoding="utf-8") as stream:
            sample.write_text("".join(itertools.islice(stream, chosen.all_sample)))
        for policy in ("all", options.policy):
            sampled = IndexOptions(policy=policy, replicas=0)
            rows.append(compare("sample", sample, ours, chosen.url, work, sampled))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"options": asdict(options), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
