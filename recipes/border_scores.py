"""Count the scores of borders between words, which `slice_os.text.clause_borders` reads.

    python recipes/border_scores.py DATA            # compare the shipped scores with DATA
    python recipes/border_scores.py DATA --write    # count them again

A word's score is the log odds that punctuation, or the beginning or end of a turn, is beside it,
against those of any word: once for the place before it, once for the place after it. The counts
are of QMSum's training meetings (MIT), CUAD's training contracts, ContractNLI's training NDAs and
Taskmaster-4 (CC BY 4.0), and Tatoeba's sentences (CC BY 2.0); docs/datasets.md says where to get
them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from math import log
from pathlib import Path

import orjson

from slice_os.text.clause_borders import PUNCTUATION, SCORES
from slice_os.text.words import find_words

LEAST_COUNT = 40
PRIOR = 20
# Words with a score nearer to 0 than this are left out.
LEAST_SCORE = 0.3
MOST_WORDS = 3_000
# Marks of noise in transcripts, and numbers of items, which look like words in brackets.
_NOISE = re.compile(r"\{\w+\}|\(\w{1,4}\)")


def texts(data: Path) -> Iterator[str]:
    """Turns, sentences and contracts."""

    def lines(name: str) -> Iterator[str]:
        with gzip.open(data / name, "rt", encoding="utf-8") as stream:
            yield from stream

    for line in lines("qmsum/train.jsonl.gz"):
        for turn in json.loads(line)["meeting_transcripts"]:
            yield turn["content"]
    for line in lines("taskmaster4/tm4.jsonl.gz"):
        for turn in json.loads(line)["turns"]:
            yield turn["text"]
    for line in lines("tatoeba-pivot-paraphrases/pairs.tsv.gz"):
        yield from line.rstrip("\n").split("\t")[:2]
    for line in lines("cuad/cuad_spans.half.jsonl.gz"):
        contract = json.loads(line)
        if contract["thirdparty_split"] == "train":
            yield contract["text"]
    for document in json.loads("".join(lines("contract-nli/train_truncated.json.gz")))["documents"]:
        yield document["text"]


def counted(data: Path) -> dict[str, dict[str, float]]:
    """The scores, by place and word."""
    everywhere: Counter[str] = Counter()
    beside: dict[str, Counter[str]] = {"first": Counter(), "last": Counter()}
    for text in (_NOISE.sub(" ", found) for found in texts(data)):
        places = find_words(text).tolist()
        words = [text[start:end].casefold() for start, end in places]
        everywhere.update(words)
        ends = [0, *(end for _, end in places)]
        starts = [*(start for start, _ in places), len(text)]
        marked = [
            bool(PUNCTUATION.search(text, end, start))
            for end, start in zip(ends, starts, strict=True)
        ]
        marked[0] = marked[-1] = True
        for number, word in enumerate(words):
            beside["first"][word] += marked[number]
            beside["last"][word] += marked[number + 1]
    total = everywhere.total()
    kept = [word for word, count in everywhere.most_common(MOST_WORDS) if count >= LEAST_COUNT]
    scores = {}
    for place, counts in beside.items():
        share = counts.total() / total
        prior = log(share / (1 - share))
        found = {
            word: round(_log_odds(counts[word], everywhere[word], share) - prior, 2)
            for word in sorted(kept)
        }
        scores[place] = {word: score for word, score in found.items() if abs(score) >= LEAST_SCORE}
    return scores


def _log_odds(hits: int, count: int, share: float) -> float:
    smoothed = (hits + PRIOR * share) / (count + PRIOR)
    return log(smoothed / (1 - smoothed))


def main() -> None:
    """Compare, and write if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    shipped = Path(str(files("slice_os.text") / SCORES))
    scores = orjson.dumps(counted(options.data))
    if options.write:
        shipped.write_bytes(scores + b"\n")
    same = shipped.read_bytes().rstrip() == scores
    print(f"{shipped.name}: {'the same' if same else 'not the same'}")


if __name__ == "__main__":
    main()
