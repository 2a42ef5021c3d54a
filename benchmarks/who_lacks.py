"""Measure what `slice-os mine -L` finds against the labels of lawyers.

    python benchmarks/who_lacks.py --data ../shared/data [--read benchmarks/read_contracts.jsonl]

The 70 shortest contracts of CUAD with more than 8,000 characters, and 12 of its categories as
topics of two or three phrases, which were written without a look at the contracts. Prints and saves
how many documents of each finding have the clause, and the area under the curve of the ranking.

With --read, the contracts and categories are those that a person read for this, who answered yes,
no or unclear; what is unclear is left out, and nothing is saved.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import orjson

from slice_os import Corpus, Document
from slice_os.topics import Topic
from slice_os.topics.run import search_topics

RESULT = Path(__file__).parent / "results" / "who_lacks.json"
CONTRACTS, LEAST_LENGTH = 70, 8_000
TOPICS = {
    "Cap On Liability": (
        "liability under this agreement is limited to an amount",
        "in no event shall the total liability exceed the fees paid",
        "the maximum aggregate liability of a party",
    ),
    "Audit Rights": (
        "a party may audit the books and records of the other",
        "shall permit inspection of its records",
    ),
    "Anti-Assignment": (
        "this agreement may not be assigned without consent",
        "neither party may transfer its rights under this agreement",
    ),
    "Insurance": ("shall maintain insurance", "must carry liability insurance coverage"),
    "Exclusivity": ("shall be the exclusive distributor", "grants an exclusive right"),
    "Non-Compete": (
        "shall not compete with the other party",
        "will not engage in a competing business",
    ),
    "Termination For Convenience": (
        "either party may terminate this agreement at any time without cause",
        "may terminate for any reason upon notice",
    ),
    "Renewal Term": (
        "this agreement renews automatically",
        "the term shall be extended for successive periods",
    ),
    "Minimum Commitment": (
        "shall purchase a minimum quantity",
        "guaranteed minimum payments",
    ),
    "Revenue/Profit Sharing": ("shall pay a percentage of revenue", "will share the profits"),
    "Warranty Duration": (
        "the warranty period is one year",
        "warrants for a period of days after delivery",
    ),
    "Governing Law": ("this agreement is governed by the laws of the state",),
}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--read", type=Path)
    chosen = parser.parse_args()
    with gzip.open(chosen.data / "cuad" / "cuad_spans.half.jsonl.gz") as lines:
        texts = {row["title"]: row for row in map(orjson.loads, lines)}
    if chosen.read:
        rows = map(orjson.loads, chosen.read.read_bytes().splitlines())
        has = {row["title"]: _answers(row["answers"]) for row in rows}
    else:
        by_length = sorted(texts.values(), key=lambda row: len(row["text"]))
        some = [row for row in by_length if len(row["text"]) > LEAST_LENGTH][:CONTRACTS]
        has = {row["title"]: {name: bool(row["clauses"][name]) for name in TOPICS} for row in some}
    asked = {
        name.replace("/", " "): name for name in TOPICS if any(name in own for own in has.values())
    }
    topics = [Topic(name, TOPICS[label]) for name, label in asked.items()]
    found: dict[str, Counter[bool]] = defaultdict(Counter)
    scores: dict[str, dict[bool, list[float]]] = defaultdict(lambda: {True: [], False: []})
    with TemporaryDirectory() as folder, Corpus(Path(folder, "store")) as corpus:
        corpus.add(Document(title, texts[title]["text"]) for title in has)
        for cell in search_topics(corpus, topics, None, ()).documents(corpus, "without"):
            label = asked[cell.topic or ""]
            if (right := has[cell.doc_id].get(label)) is not None:
                found[cell.finding or ""][right] += 1
                scores[label][right].append(cell.probability or 0.0)
    result = {
        "findings": {
            name: {"documents": own.total(), "have it": round(own[True] / own.total(), 3)}
            for name, own in found.items()
        },
        "area under the curve": {name: _area(own) for name, own in scores.items()},
    }
    print(json.dumps(result, indent=1))
    if not chosen.read:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


def _answers(given: dict[str, str]) -> dict[str, bool]:
    """Those that are clear."""
    return {name: answer == "yes" for name, answer in given.items() if answer != "unclear"}


def _area(scores: dict[bool, list[float]]) -> float:
    """How often a document with the clause has a higher score than one without."""
    right, wrong = np.array(scores[True])[:, None], np.array(scores[False])
    return round(float((right > wrong).mean() + (right == wrong).mean() / 2), 3)


if __name__ == "__main__":
    main()
