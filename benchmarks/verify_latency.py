"""Measure what verifying adds to a search, as a ratio within one run.

    python benchmarks/verify_latency.py --store STORE [--verifier NAME ...]

Searches for each phrase of phrases.txt with and without the verifier, in turn, for pages of ten and
of a hundred hits, likeliest first, and by score, and mines; prints and saves the median times and
their ratio. A search that reads nothing orders by score. What the network has read is forgotten,
unlike in use, so that every round reads it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slice_os import Corpus, SpanEncoder
from slice_os.verifier import cross_encoder
from slice_os.verifier.registry import DEFAULT, find_verifier

ROUNDS = 3
PHRASES = Path(__file__).with_name("phrases.txt")
RESULT = Path(__file__).parent / "results" / "verify_latency.json"
SETTINGS: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
    "ten hits": (Corpus.search, {"top_k": 10}),
    "ten hits by score": (Corpus.search, {"top_k": 10, "order": "score"}),
    "a hundred hits": (Corpus.search, {"top_k": 100}),
    "mining": (Corpus.mine, {"threshold": 0.5}),
}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--verifier", action="append", help="repeatable; the default one if none")
    parser.add_argument("--phrases", type=int, default=12)
    chosen = parser.parse_args()
    phrases = PHRASES.read_text("utf-8").split("\n")[: chosen.phrases]
    cross_encoder._REMEMBERED = 0
    encoder = SpanEncoder()
    result: dict[str, object] = {"phrases": len(phrases), "rounds": ROUNDS}
    for verifier in chosen.verifier or [DEFAULT]:
        with Corpus(chosen.store, encoder, verifier=find_verifier(verifier, encoder)) as corpus:
            info = corpus.info()
            result["passages"], result["token vectors"] = info.passages, info.pieces
            result[verifier] = {
                name: measured(corpus, phrases, *setting) for name, setting in SETTINGS.items()
            }
        print(verifier, json.dumps(result[verifier], indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def measured(
    corpus: Corpus, phrases: list[str], find: Callable[..., object], options: dict[str, Any]
) -> dict[str, float]:
    """Median milliseconds of a call without and with verifying, and their ratio."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for phrase in phrases:
        find(corpus, phrase, verify=True, **options)  # warm
        for verify in (False, True) * ROUNDS:
            began = time.perf_counter()
            find(corpus, phrase, verify=verify, **options)
            times[verify].append(1000 * (time.perf_counter() - began))
    without, with_it = (statistics.median(times[verify]) for verify in (False, True))
    return {
        "ms without": round(without, 1),
        "ms with": round(with_it, 1),
        "ratio": round(with_it / without, 2),
    }


if __name__ == "__main__":
    main()
