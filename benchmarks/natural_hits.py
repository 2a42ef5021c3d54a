"""Hits of natural phrases over real text, for a reader to label.

    python benchmarks/natural_hits.py contracts phrases.txt --data ../shared/data > to-label.jsonl

The first ten hits of each phrase, and three of the next fifty by chance, in a shuffled order and
without any score, so that the reader judges by the words alone. The labelled lines
({"phrase", "doc_id", "start", "end", "right"}) are kept in benchmarks/natural;
verifier_calibration.py measures and fits by them. No text is used that a harness reports on:
contracts are of CUAD's validation split, dialogues every tenth of MultiDoGO's from the sixth on,
meetings and everyday texts are of the training parts of QMSum and of the web texts of EWT and GUM.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hit_borders import contracts, lines, spoken

from slice_os import Corpus, Document, Hit, SpanEncoder
from slice_os.query.options import SearchOptions
from slice_os.search.run import make_query, search

SEED = 4
SHOWN = 10
DEEP = 60
DEEPER = 3
CONTEXT = 200
KINDS = ("contracts", "dialogues", "everyday", "meetings")
LABELS = Path(__file__).parent / "natural"


def documents(kind: str, data: Path) -> Iterator[Document]:
    """The texts of a kind."""
    if kind == "contracts":
        yield from contracts(data, "validation")
    elif kind == "dialogues":
        for row in islice(lines(data / "multidogo" / "turn_level.jsonl.gz"), 5, None, 10):
            yield spoken(row["id"], [("customer", turn["text"]) for turn in row["turns"]])
    elif kind == "meetings":
        for number, row in enumerate(islice(lines(data / "qmsum" / "train.jsonl.gz"), 15)):
            turns = [(turn["speaker"], turn["content"]) for turn in row["meeting_transcripts"]]
            yield spoken(f"meeting {number}", turns)
    else:
        rows = lines(data / "english-passages" / "passages.jsonl.gz")
        for number, row in enumerate(islice(rows, 0, None, 3)):
            yield Document(f"passage {number}", row["text"])


def found(
    kind: str, phrases: Sequence[str], data: Path, encoder: SpanEncoder
) -> Iterator[tuple[str, tuple[Hit, ...]]]:
    """The first hits of each phrase, with the vectors of their words."""
    with TemporaryDirectory() as folder, Corpus(Path(folder) / "s", encoder) as corpus:
        corpus.add(documents(kind, data))
        for phrase in phrases:
            asked = make_query(encoder, phrase, word_vectors=True)
            yield phrase, tuple(search(corpus.store, asked, SearchOptions(top_k=DEEP)))


def to_label(kind: str, phrases: Sequence[str], data: Path) -> Iterator[dict[str, Any]]:
    """Hits with what surrounds them, each phrase's in a shuffled order."""
    choose = random.Random(SEED)
    texts = {document.id: document.text for document in documents(kind, data)}
    for phrase, hits in found(kind, phrases, data, SpanEncoder()):
        deeper = hits[SHOWN:]
        chosen = [*hits[:SHOWN], *choose.sample(deeper, min(DEEPER, len(deeper)))]
        choose.shuffle(chosen)
        for hit in chosen:
            text = texts[hit.doc_id]
            yield {
                "kind": kind,
                "phrase": phrase,
                "doc_id": hit.doc_id,
                "start": hit.start,
                "end": hit.end,
                "before": text[max(0, hit.start - CONTEXT) : hit.start],
                "text": hit.text,
                "after": text[hit.end : hit.end + CONTEXT],
            }


def main() -> None:
    """Write hits to label."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("phrases", type=Path, help="a phrase a line")
    parser.add_argument("--data", type=Path, required=True)
    chosen = parser.parse_args()
    phrases = [line.strip() for line in chosen.phrases.read_text(encoding="utf-8").splitlines()]
    for row in to_label(chosen.kind, [phrase for phrase in phrases if phrase], chosen.data):
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
