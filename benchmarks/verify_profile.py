"""Say where the processor's time goes in verified searches, as a table.

    python benchmarks/verify_profile.py --store STORE [--phrases 12]

Functions are wrapped, so that the time of each thread counts for the stage that it is in, without
the stages within that one; the rest is what no stage accounts for. What the network has read and
the phrases that were encoded are forgotten before each call. Times are milliseconds of processor
time a phrase, so that waiting and other processes do not count.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import local
from typing import Any

from verify_latency import PHRASES, SETTINGS

from slice_os import Corpus, SpanEncoder
from slice_os.encoder.token_model import TokenModel
from slice_os.search import refinement
from slice_os.search.hit_builder import HitBuilder
from slice_os.spans.choice import PassageScorer
from slice_os.stores.local import snapshot
from slice_os.stores.local.snapshot import Snapshot
from slice_os.threads import on_all_cores
from slice_os.verifier import bundled, cross_encoder
from slice_os.verifier.cross_encoder import ClaimInputs
from slice_os.verifier.registry import find_verifier
from slice_os.verifier.similarity import SimilarityReader

STAGES: dict[str, list[tuple[Any, str]]] = {
    "encoding the phrase": [(SpanEncoder, "encode_phrases"), (TokenModel, "run")],
    "BM25": [(Snapshot, "_bm25")],
    "checksums": [(Snapshot, "_check")],
    "cosines": [(snapshot, "passage_cosines")],
    "loading passages": [(Snapshot, "load")],
    "placing hits: spans": [(PassageScorer, "__init__"), (PassageScorer, "best_spans")],
    "placing hits: borders and clauses": [(HitBuilder, "_clause"), (HitBuilder, "_sentence")],
    "placing hits: the rest": [(HitBuilder, "__init__"), (HitBuilder, "hits")],
    "claims": [(refinement, "claim_of")],
    "similarity": [(SimilarityReader, "read"), (bundled, "numbers_of")],
    "network: word pieces": [(ClaimInputs, "row")],
    "network": [(cross_encoder.CrossEncoderVerifier, "_run")],
}
spent: Counter[str] = Counter()
calls: Counter[str] = Counter()
_here = local()


def counted(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the time of its thread counted for a stage, but for stages within."""

    def call(*given: Any, **named: Any) -> Any:
        outer, began = getattr(_here, "inner", 0), time.thread_time_ns()
        _here.inner = 0
        try:
            return function(*given, **named)
        finally:
            took = time.thread_time_ns() - began
            spent[stage] += took - _here.inner
            calls[stage] += 1
            _here.inner = outer + took

    return call


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--phrases", type=int, default=12)
    chosen = parser.parse_args()
    phrases = PHRASES.read_text("utf-8").split("\n")[: chosen.phrases]
    for stage, places in STAGES.items():
        for place, name in places:
            setattr(place, name, counted(stage, getattr(place, name)))

    def on_cores(work: Callable[[Any], None], parts: Iterable[Any]) -> None:
        on_all_cores(counted("cosines", work), parts)

    setattr(snapshot, "on_all_cores", on_cores)  # noqa: B010
    columns = {name: profile(Path(chosen.store), phrases, *each) for name, each in SETTINGS.items()}
    print("| ms a phrase |", " | ".join(columns), "|")
    print("|---|", "---:|" * len(columns))
    for row in (*STAGES, "the rest", "all", "hits", "read by the network"):
        print(f"| {row} |", " | ".join(f"{each[row]:.1f}" for each in columns.values()), "|")


def profile(
    store: Path, phrases: list[str], find: Callable[..., Any], options: dict[str, Any]
) -> dict[str, float]:
    """Milliseconds of each stage, and numbers of hits, on average over phrases."""
    encoder = SpanEncoder()
    total: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    with Corpus(store, encoder) as corpus:
        find(corpus, "a phrase to warm up", verify=True, **options)
        for phrase in phrases:
            find_verifier.cache_clear()
            find_verifier("slice-verify", encoder)
            for each in (spent, calls):
                each.clear()
            began = time.process_time_ns()
            numbers["hits"] += len(find(corpus, phrase, verify=True, **options))
            total["all"] += time.process_time_ns() - began
            total += spent
            numbers["read by the network"] += calls["network: word pieces"]
    total["the rest"] = total["all"] - sum(total[stage] for stage in STAGES)
    milliseconds = {name: taken / 1e6 for name, taken in total.items()}
    found = {**dict.fromkeys(STAGES, 0.0), **milliseconds, **numbers}
    return {name: each / len(phrases) for name, each in found.items()}


if __name__ == "__main__":
    main()
