"""Texts of any amount, phrases from them, and the answers of a corpus to compare."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from slice_os import Corpus
from tests.opensearch.support import write_lines

DEMO = Path(__file__).parents[2] / "demo" / "dialogues.jsonl"
CHARACTERS = 4.4
FILES = 60

Record = dict[str, Any]
# Of each phrase: document, start, end, cosine, BM25 and score of every hit.
Answers = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Plan:
    """How much, and how long.

    Attributes:
        records: what is loaded.
        phrases: what is asked.
        threshold: of mining.
        away: seconds for which a node is away while it is loaded, or searched.
        small: with small requests, and leases that expire soon.
        bm25: whether BM25 is compared, too; it counts what was deleted until that is merged away.
    """

    records: Sequence[Record]
    phrases: Sequence[str]
    threshold: float = 0.75
    away: float = 20.0
    small: bool = False
    bm25: bool = True


def some_records(sources: Sequence[Path], vectors: int | None) -> Iterator[Record]:
    """Records with about that many word pieces, under other ids when they come again; or all."""
    left = vectors * CHARACTERS if vectors else math.inf
    for number in count() if vectors else range(1):
        for path in sources:
            with path.open(encoding="utf-8") as stream:
                for line in stream:
                    if left <= 0:
                        return
                    record = json.loads(line)
                    left -= len(said(record))
                    yield {"id": f"{record['id']} {number}", "text": record["text"]}


def write_texts(records: Sequence[Record], folder: Path) -> None:
    """The sources of the workers."""
    (folder / "texts").mkdir()
    for number in range(FILES):
        write_lines(folder / "texts" / f"{number}.jsonl", records[number::FILES])


def said(record: Record) -> str:
    """The text of a record."""
    text = record["text"]
    return text if isinstance(text, str) else "\n".join(turn["text"] for turn in text)


def some_phrases(records: Sequence[Record], number: int) -> list[str]:
    """Pieces of 4 to 9 words of some records."""
    choose = random.Random(0)
    phrases: set[str] = set()
    while len(phrases) < number:
        words = re.findall(r"[A-Za-z']+", said(choose.choice(records)))
        start, size = choose.randrange(max(1, len(words) - 9)), choose.randint(4, 9)
        phrases.add(" ".join(words[start : start + size]))
    return sorted(phrases)


def searched(corpus: Corpus, plan: Plan, phrases: Sequence[str]) -> Answers:
    fusion = "convex" if plan.bm25 else "cosine"
    found = {one: corpus.search(one, fusion=fusion, verify=False) for one in phrases}
    return {phrase: _rows(hits, plan) for phrase, hits in found.items()}


def mined(corpus: Corpus, plan: Plan, phrases: Sequence[str]) -> Answers:
    """All hits above the threshold."""
    answers: Answers = {phrase: [] for phrase in phrases}
    for hit in corpus.mine(phrases, threshold=plan.threshold, verify=False):
        answers[hit.phrase] += _rows([hit], plan)
    return {phrase: sorted(hits) for phrase, hits in answers.items()}


def _rows(hits: Any, plan: Plan) -> list[tuple[Any, ...]]:
    return [
        (hit.doc_id, hit.start, hit.end, round(hit.cosine, 6))
        + ((round(hit.bm25, 4), round(hit.score, 5)) if plan.bm25 else ())
        for hit in hits
    ]


def ask_all(corpus: Corpus, plan: Plan) -> dict[str, Answers]:
    """The answers to compare."""
    return {
        "mined": mined(corpus, plan, plan.phrases),
        "searched": searched(corpus, plan, plan.phrases),
    }
