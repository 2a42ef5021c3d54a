"""Make a table of calls, and print what a person counted in it, to compare with `slice-os mine`.

    python benchmarks/counted_by_hand.py --data ../shared/data --out turns.csv
    slice-os ingest turns.csv --store calls.slice --group-by call --speaker-field speaker \
        --time-field time
    slice-os mine -p "how much does it cost" -p "what is the price" --store calls.slice \
        --filter speaker=customer --counts week

A person read the 120 dialogues of benchmarks/read_dialogues.jsonl (Schema-Guided Dialogue, test
part) and noted in which of them a customer asks the price, needs nothing else, or wants another
time. Ten of them fall on each working day. Prints the number of calls by week and by queue.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import orjson
from corpora import at_work, queue_of, write_turns

READ = Path(__file__).with_name("read_dialogues.jsonl")
BEGIN = datetime(2026, 6, 1, 8)


def main() -> None:
    """Write the turns, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    read = {row["id"]: row["says"] for row in map(orjson.loads, READ.read_bytes().splitlines())}
    with gzip.open(chosen.data / "sgd-dialogues" / "test.jsonl.gz") as lines:
        calls = {row["id"]: row for row in map(orjson.loads, lines) if row["id"] in read}
    counts: Counter[tuple[str, str, str]] = Counter()
    timed = [(calls[name], at_work(BEGIN, number)) for number, name in enumerate(read)]
    write_turns(chosen.out, timed, lambda _: timedelta(seconds=10))
    for call, begin in timed:
        week = str(begin.date() - timedelta(days=begin.weekday()))
        counts.update((topic, week, queue_of(call)) for topic in read[call["id"]])
    for (topic, monday, queue), own in sorted(counts.items()):
        print(json.dumps({"topic": topic, "week": monday, "queue": queue, "calls": own}))


if __name__ == "__main__":
    main()
