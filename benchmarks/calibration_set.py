"""Labelled sets to calibrate a model on: sentences placed in other people's text.

    python benchmarks/calibration_set.py --data ../shared/data --out calibration

Writes `paraphrases-train.jsonl` and `paraphrases-test.jsonl` for `slice-os eval calibration`. A
query is one side of a Tatoeba paraphrase pair (CC BY 2.0) of 3 words or more; of each group of
paraphrases, the pair that shares fewest words. The other side is placed at a sentence border of a
text: a context of Swords (CC BY 3.0 US), the customer's turns of a MultiDoGO dialogue
(CDLA-Permissive 1.0), or a paragraph of a CUAD contract (CC BY 4.0). One text in three gets no
sentence. The two files share neither texts nor sentences, and no sentence is in
`evaluation-sentence-hashes.txt.gz`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slice_os.datasets.decontamination import normalised, read_hashes, sentence_hash
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words

SEED = 1
TEXTS_OF_A_KIND = 600
LEAST_WORDS = 3


def sentence_pairs(data: Path) -> list[tuple[str, str]]:
    """The pair of each group of paraphrases that shares fewest words: one answer a query."""
    held_out = read_hashes(data / "evaluation-sentence-hashes.txt.gz").hashes
    with gzip.open(data / "tatoeba-pivot-paraphrases" / "pairs.tsv.gz", "rt") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    group: dict[str, str] = {}

    def root(text: str) -> str:
        while group.setdefault(text, text) != text:
            text = group[text]
        return text

    for first, second in rows:
        group[root(first)] = root(second)
    chosen: dict[str, tuple[str, str]] = {}
    for first, second in rows:
        hashes = {sentence_hash(first), sentence_hash(second)}
        least = min(len(find_words(first)), len(find_words(second)))
        if least >= LEAST_WORDS and not hashes & held_out and '"' not in first + second:
            key = root(first)
            chosen[key] = min(chosen.get(key, (first, second)), (first, second), key=shared_words)
    return list(chosen.values())


def shared_words(pair: tuple[str, str]) -> float:
    """Jaccard similarity of the words of both."""
    first, second = (set(normalised(one).split()) for one in pair)
    return len(first & second) / len(first | second)


def texts(data: Path, choose: random.Random) -> list[list[str]]:
    """The texts of each kind, shuffled."""
    swords = []
    for name in ("dev", "test"):
        with gzip.open(data / "swords" / f"swords-v1.1_{name}.json.gz", "rt") as stream:
            contexts = json.load(stream)["contexts"].values()
        swords += [" ".join(context["context"].split()) for context in contexts]
    dialogues = [
        "\n".join(turn["text"] for turn in row["turns"])
        for row in _lines(data / "multidogo" / "turn_level.jsonl.gz")
    ]
    contracts = [
        " ".join(paragraph.split())
        for row in _lines(data / "cuad" / "cuad_spans.half.jsonl.gz")
        if row["thirdparty_split"] == "train"
        for paragraph in row["text"].split("\n\n")
    ]
    kinds = []
    for kind in (swords, dialogues, contracts):
        kept = sorted({text for text in kind if 30 <= len(find_words(text)) <= 90})
        choose.shuffle(kept)
        kinds.append(kept)
    return kinds


def main() -> None:
    """Write both halves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    choose = random.Random(SEED)
    pairs = sentence_pairs(chosen.data)
    choose.shuffle(pairs)
    kinds = texts(chosen.data, choose)
    chosen.out.mkdir(parents=True, exist_ok=True)
    for half, name in enumerate(("train", "test")):
        with (chosen.out / f"paraphrases-{name}.jsonl").open("w", encoding="utf-8") as stream:
            for number, text in enumerate(
                text for kind in kinds for text in kind[half::2][:TEXTS_OF_A_KIND]
            ):
                record: dict[str, Any] = {"id": f"{name}-{number}", "text": text, "queries": []}
                if number % 3:
                    query, answer = pairs.pop()
                    at = choose.choice([0, *sentence_ends(text)])
                    before = text[:at] + (" " if at and not text[at - 1].isspace() else "")
                    record["text"] = f"{before}{answer} {text[at:]}".rstrip()
                    spans = [[len(before), len(before) + len(answer)]]
                    record["queries"] = [{"query": query, "spans": spans}]
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


if __name__ == "__main__":
    main()
