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
import csv
import gzip
import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import orjson

READ = Path(__file__).with_name("read_dialogues.jsonl")
BEGIN = datetime(2026, 6, 1, 8)
SPEAKERS = {"USER": "customer", "SYSTEM": "agent"}


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
    with chosen.out.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["call", "time", "speaker", "queue", "text"])
        for number, (name, says) in enumerate(read.items()):
            week, hour = divmod(number, 50)
            begin = BEGIN + timedelta(weeks=week, days=hour // 10, hours=hour % 10)
            queue = calls[name]["services"][0].split("_")[0].lower()
            counts.update(
                (topic, str(begin.date() - timedelta(days=hour // 10)), queue) for topic in says
            )
            for turn in calls[name]["turns"]:
                rows.writerow([name, begin, SPEAKERS[turn["speaker"]], queue, turn["text"]])
                begin += timedelta(seconds=10)
    for (topic, monday, queue), own in sorted(counts.items()):
        print(json.dumps({"topic": topic, "week": monday, "queue": queue, "calls": own}))


if __name__ == "__main__":
    main()
