"""What verifying adds to a search, as a ratio within one run.

    python benchmarks/verify_latency.py --store STORE [--verifier FOLDER]

Searches for each phrase of phrases.txt with and without the verifier, in turn, for pages of ten
and of a hundred hits, and with an order by probability; prints and saves the median times and
their ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from slice_os import Corpus, CrossEncoderVerifier

ROUNDS = 3
PHRASES = Path(__file__).with_name("phrases.txt")
RESULT = Path(__file__).parent / "results" / "verify_latency.json"
SETTINGS = {
    "ten hits": {"top_k": 10},
    "a hundred hits": {"top_k": 100},
    "ten hits by probability": {"top_k": 10, "order": "probability"},
}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--verifier", type=Path)
    parser.add_argument("--phrases", type=int, default=12)
    chosen = parser.parse_args()
    phrases = PHRASES.read_text("utf-8").split("\n")[: chosen.phrases]
    verifier = CrossEncoderVerifier(chosen.verifier)
    result: dict[str, object] = {"phrases": len(phrases), "rounds": ROUNDS}
    with Corpus(chosen.store, verifier=verifier) as corpus:
        result["passages"] = corpus.info().passages
        for name, options in SETTINGS.items():
            times: dict[bool, list[float]] = {False: [], True: []}
            for phrase in phrases:
                corpus.search(phrase, verify=True, **options)  # warm
                for verify in (False, True) * ROUNDS:
                    began = time.perf_counter()
                    corpus.search(phrase, verify=verify, **options)
                    times[verify].append(1000 * (time.perf_counter() - began))
            without, with_it = (statistics.median(times[verify]) for verify in (False, True))
            result[name] = {
                "ms without": round(without, 1),
                "ms with": round(with_it, 1),
                "ratio": round(with_it / without, 2),
            }
            print(name, result[name])
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
