"""The corpora and phrases of the benchmarks: contracts (CUAD) and dialogues (SGD).

Phrases come from other texts than the corpora: NDA hypotheses and pieces of NDAs
(ContractNLI dev) for the contracts, support utterances (Bitext dev) and pieces of other
dialogues (SGD dev) for the dialogues; pieces are of 2 to 14 words.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

SEED = 1


def write_contracts(data: Path, out: Path) -> Path:
    """All contracts, as JSON Lines."""
    rows = _lines(data / "cuad" / "cuad_spans.half.jsonl.gz")
    return _write(out / "contracts.jsonl", ({"id": r["title"], "text": r["text"]} for r in rows))


def write_dialogues(data: Path, out: Path, count: int = 5_000) -> Path:
    """The first dialogues of the training split, as JSON lines with a list of turns."""
    rows = _lines(data / "sgd-dialogues" / "train.jsonl.gz")
    chosen = (row for row, _ in zip(rows, range(count), strict=False))
    return _write(
        out / "dialogues.jsonl",
        (
            {
                "id": row["id"],
                "text": [
                    {"speaker": turn["speaker"].lower(), "text": turn["text"]}
                    for turn in row["turns"]
                ],
            }
            for row in chosen
        ),
    )


def write_turns(
    out: Path,
    calls: Iterable[tuple[dict[str, Any], datetime]],
    lasts: Callable[[str], timedelta],
) -> None:
    """A CSV file of the turns of calls that begin then, each as long as its text lasts."""
    with out.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["call", "time", "speaker", "queue", "text"])
        for call, moment in calls:
            for turn in call["turns"]:
                speaker = {"USER": "customer", "SYSTEM": "agent"}[turn["speaker"]]
                rows.writerow([call["id"], moment, speaker, queue_of(call), turn["text"]])
                moment += lasts(turn["text"])


def at_work(begin: datetime, number: int) -> datetime:
    """When a call begins: one an hour, ten on each day from Monday to Friday."""
    day, hour = divmod(number, 10)
    return begin + timedelta(days=day + 2 * (day // 5), hours=hour)


def queue_of(call: dict[str, Any]) -> str:
    """What a call is about, such as "hotels"."""
    return str(call["services"][0]).split("_")[0].lower()


def contract_phrases(data: Path) -> list[str]:
    """17 hypotheses about NDAs, and 80 pieces of NDAs."""
    choose = random.Random(SEED)
    with gzip.open(data / "contract-nli" / "dev.json.gz", "rt", encoding="utf-8") as stream:
        content = json.load(stream)
    phrases = [label["hypothesis"] for label in content["labels"].values()]
    texts = [document["text"] for document in content["documents"][:40] for _ in range(2)]
    return phrases + [_piece(text, choose) for text in texts]


def dialogue_phrases(data: Path) -> list[str]:
    """50 support utterances, and 50 pieces of dialogues."""
    choose = random.Random(SEED)
    with (data / "bitext-support-intents" / "dev.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    phrases = [row["utterance"] for row in choose.sample(rows, 50)]
    dialogues = choose.sample(list(_lines(data / "sgd-dialogues" / "dev.jsonl.gz")), 50)
    return phrases + [_piece(choose.choice(row["turns"])["text"], choose) for row in dialogues]


def _piece(text: str, choose: random.Random) -> str:
    words = text.split()
    size = choose.randint(2, 14)
    start = choose.randrange(max(1, len(words) - size))
    return " ".join(words[start : start + size])


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return path
