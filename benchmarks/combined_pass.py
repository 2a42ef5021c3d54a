"""Time a pass with 50 combined topics beside a pass with the topics that they combine.

    python benchmarks/combined_pass.py --store demo.slice [--topics examples/topics]

Each combined topic has one of the topics, and lacks another one afterwards. Both passes run in
turn; the ratio of their best times is printed and kept.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import islice, permutations
from pathlib import Path

from slice_os import Corpus
from slice_os.topics import Topic, match_topics, mine_topics, read_topics
from slice_os.topics.combination import Combination, Length, Part

RESULT = Path(__file__).parent / "results" / "combined_pass.json"
COUNT, ROUNDS = 50, 3


def main() -> None:
    """Time both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--topics", default="examples/topics")
    options = parser.parse_args()
    plain = [one for one in read_topics([options.topics]) if one.combination is None]
    pairs = islice(permutations([one.name for one in plain], 2), COUNT)
    combined = [Topic(f"rule-{n}", combination=rule(*pair)) for n, pair in enumerate(pairs)]
    seconds: dict[str, list[float]] = {"topics": [], "combined": []}
    counts = {}
    with Corpus(options.store) as corpus:
        for _ in range(ROUNDS):
            for name in seconds:
                began = time.perf_counter()
                if name == "topics":
                    counts[name] = sum(1 for _ in mine_topics(corpus, plain))
                else:
                    counts[name] = sum(1 for _ in match_topics(corpus, [*plain, *combined]))
                seconds[name].append(round(time.perf_counter() - began, 2))
    ratio = round(min(seconds["combined"]) / min(seconds["topics"]), 2)
    result = {"topics": len(plain), "combined": COUNT, "found": counts, "seconds": seconds}
    print(json.dumps(result | {"ratio": ratio}))
    RESULT.write_text(json.dumps(result | {"ratio": ratio}, indent=1) + "\n")


def rule(first: str, second: str) -> Combination:
    """One topic, and not another within ten sentences afterwards."""
    lacks = Part(second, after=first, within=Length(10, "sentences"))
    return Combination(all=(Part(first),), none=(lacks,))


if __name__ == "__main__":
    main()
