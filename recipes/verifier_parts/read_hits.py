"""Hits of searches that were read and labelled, and the texts that they are in."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from slice_os.datasets.files import DataSource
from slice_os.verifier.claims import claim_in

from .contrast_rows import ContrastRow, claim_row

LABELLED = Path(__file__).parents[1] / "labelled"
HITS = DataSource('JSON Lines of {"phrase", "text": hash, "start", "end", "right"}')
_SHORTEST = 60  # code points of a clause of an NDA that is searched
_KEY = 12


def labelled_rows(data: Path, folder: Path = LABELLED) -> Iterator[ContrastRow]:
    """The hits that were labelled, in their sentences; those left open are left out.

    Raises an `InputError` if a file is missing or malformed, and a `KeyError` if the data sets have
    other texts.
    """
    for path in sorted(folder.glob("*.jsonl")):
        texts = {text_key(text): text for text in searched_texts(data, path.stem)}
        for row in HITS.json_lines(path):
            right = row.values["right"]
            if right is not None:
                place = row.values["start"], row.values["end"]
                claim = claim_in(row.text("phrase"), texts[row.text("text")], *place)
                yield claim_row(claim, right, "near", f"read-{path.stem}")


def text_key(text: str) -> str:
    """The beginning of a text's sha1."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:_KEY]


def searched_texts(data: Path, corpus: str) -> Iterable[str]:
    """The texts of a corpus, from the folder with the data sets.

    No text of benchmarks/natural is among them: dialogues are of other customers, contracts of
    CUAD's training part, web texts those that the benchmark leaves, novels all but Sherlock
    Holmes.
    """
    return CORPORA[corpus](data)


def _dialogues(data: Path) -> Iterator[str]:
    for number, row in enumerate(_lines(data / "multidogo/turn_level")):
        if number % 10 != 5:
            yield _said(row["turns"])


def _contracts(data: Path) -> Iterator[str]:
    for row in _lines(data / "cuad/cuad_spans.half"):
        if row["thirdparty_split"] == "train":
            yield from (" ".join(part.split()) for part in row["text"].split("\n\n"))


def _web(data: Path) -> Iterator[str]:
    rows = enumerate(_lines(data / "english-passages/passages"))
    return (row["text"] for number, row in rows if number % 3)


def _clauses(data: Path) -> Iterator[str]:
    for contract in _json(data / "contract-nli/train_truncated.json.gz")["documents"]:
        for start, end in contract["spans"]:
            if end - start > _SHORTEST:
                yield " ".join(contract["text"][start:end].split())


def _banking(data: Path) -> Iterator[str]:
    for path in sorted((data / "banking77").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as stream:
            yield from (row[0] for row in csv.reader(stream))


def _paragraphs(data: Path) -> Iterator[str]:
    for article in _json(data / "squad/squad_du_test_from_train.json.gz")["data"]:
        yield from (paragraph["context"] for paragraph in article["paragraphs"])


def _questions(data: Path) -> Iterator[str]:
    return chain.from_iterable(row["texts"] for row in _lines(data / "advising/groups"))


def _novels(data: Path) -> Iterator[str]:
    for path in sorted((data / "gutenberg-books").glob("*.gz")):
        if "Sherlock" not in path.name:
            with gzip.open(path, "rt", encoding="utf-8") as stream:
                parts = re.split(r"\*\*\*[^\n]*\*\*\*", stream.read())
            paragraphs = re.split(r"\n\s*\n", max(parts, key=len))
            yield from (" ".join(one.split()) for one in paragraphs)


def _sentences(data: Path) -> Iterator[str]:
    for path in sorted((data / "wiki-split").glob("*.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                text = line.split("\t")[1].replace("<::::>", "")
                yield text.replace(" ,", ",").replace(" .", ".").replace("  ", " ")


def _reviews(data: Path) -> Iterator[str]:
    rows = enumerate(_lines(data / "amazon-counterfactual/sentences"))
    return (row["text"] for number, row in rows if number % 5)


def _requests(data: Path) -> Iterator[str]:
    for rows in _json_text(data / "clinc150/data_full.json").values():
        yield from (text for text, _ in rows)
    yield from _fields(data, ("snips/utterances",))
    for row in _json_text(data / "restaurant8k/train_0.json"):
        yield row["userInput"]["text"]


def _examples(data: Path) -> Iterator[str]:
    for row in _lines(data / "open-english-wordnet/synsets"):
        yield from (text for text in row["examples"] if isinstance(text, str))


def _fields(data: Path, names: Iterable[str], field: str = "text") -> Iterator[str]:
    return (row[field] for name in names for row in _lines(data / name))


def _fives(name: Path) -> Iterator[str]:
    """Five turns of a dialogue each."""
    for row in _lines(name):
        for first in range(0, len(row["turns"]), 5):
            yield _said(row["turns"][first : first + 5])


def _said(turns: Iterable[dict[str, Any]]) -> str:
    return "\n".join(turn["text"] for turn in turns)


def _lines(name: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def _json(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)


def _json_text(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


_UTTERANCES = tuple(f"{name}/utterances" for name in ("nlupp", "dstc11-intents", "hwu64"))
_EDITED = ("cad-nli/pairs",)
CORPORA: dict[str, Callable[[Path], Iterable[str]]] = {
    "calls": lambda data: _fives(data / "sgd-dialogues/train"),
    "dialogues": _dialogues,
    "contracts": _contracts,
    "web": _web,
    "nda": _clauses,
    "banking": _banking,
    "squad": _paragraphs,
    "advice": lambda data: chain(_questions(data), _fields(data, _UTTERANCES)),
    "agents": lambda data: _fields(data, ("meanings/multiwoz", "meanings/e2e", "meanings/viggo")),
    "opinions": lambda data: _fields(data, ("argkp/pairs", "perspectrum/pairs")),
    "evidence": lambda data: _fields(data, ("fever-claims/pairs", "fool-me-twice/pairs")),
    "news": lambda data: _fields(data, ("onestop-english/pairs",)),
    "novels": _novels,
    "wiki": _sentences,
    "reviews": _reviews,
    "coffee": lambda data: _fives(data / "taskmaster4/tm4"),
    "captions": lambda data: chain(_fields(data, _EDITED), _fields(data, _EDITED, "phrase")),
    "assistants": _requests,
    "products": lambda data: _fields(data, ("meanings/rnnlg",)),
    "sayings": lambda data: _fields(data, ("impli/pairs", "flute/pairs")),
    "examples": _examples,
    "everyday": lambda data: _fields(data, ("tatoeba-pivot-paraphrases-2/pairs",)),
}
