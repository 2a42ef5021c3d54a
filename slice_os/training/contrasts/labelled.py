"""Sets of pairs that others labelled: does a text say a phrase? As statements, set by set."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from slice_os.datasets.files import DataRow, DataSource
from slice_os.training.contrasts.frames import Statement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Meaning: TypeAlias = Callable[[Mapping[str, Any]], Hashable]
"""What a row of utterances means; rows of the same say the same."""

PAIRS = DataSource('JSON Lines of {"phrase", "text", "says", "label", "kind"}')
GROUPS = DataSource('JSON Lines of {"texts"}, or of {"text"} with what it means')

_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|\w+n't)\b", re.IGNORECASE
)
_DIGIT = re.compile(r"\d+")
_CLAUSE_TYPES = Path(__file__).with_name("clause_types.toml")
_OPPOSED = ("contradiction", "refutes", "contradicts", "other side of the same claim")

# Where the label does not tell what a false pair differs in.
_KINDS = {
    "syntactic-roles": "roles",
    "wikiresnli": "roles",
    "megaveridicality": "modality",
}


def labelled_pairs(path: Path) -> Iterator[Statement]:
    """The pairs of a file in the common form; false ones get the kind that sets them apart."""
    name = path.parent.name
    for row in PAIRS.json_lines(path):
        phrase, text = row.text("phrase"), row.text("text")
        says = row.values["says"]
        kind = "paraphrase" if says else _KINDS.get(name) or _false_kind(row, phrase, text)
        origin = phrase if name in ("cannot", "conj-nli") and not says else ""
        yield Statement(phrase, text, says, kind, name, origin)


def _false_kind(row: DataRow, phrase: str, text: str) -> str:
    """Negation or numbers if the two differ in one, else opposites or near texts by the label."""
    if row.text("label").lower() not in _OPPOSED:
        return "near"
    if bool(_DENIAL.search(phrase)) != bool(_DENIAL.search(text)):
        return "negation"
    numbers = set(_DIGIT.findall(phrase))
    return "numbers" if numbers and not numbers <= set(_DIGIT.findall(text)) else "antonym"


_SLOTS = {"yes or no": "negation", "number": "numbers", "name": "antonym", "value": "antonym"}


def meaning_contrasts(path: Path) -> Iterator[Statement]:
    """A phrase with a text of the same meaning and one that differs in one slot, or in asking."""
    for row in PAIRS.json_lines(path):
        kind = _SLOTS.get(row.text("kind"), "question")
        phrase, yes, no = (row.text(name) for name in ("phrase", "yes", "no"))
        yield Statement(phrase, yes, True, "paraphrase", "meanings")
        yield Statement(phrase, no, False, kind, "meanings")
        yield Statement(no, yes, False, kind, "meanings")


def text_groups(path: Path, near: str, rng: Random) -> Iterator[Statement]:
    """Texts of one group say the same; those of groups with the same ``near`` value do not."""
    rows = [row.values for row in GROUPS.json_lines(path) if len(row.values["texts"]) > 1]
    beside: dict[Any, list[list[str]]] = defaultdict(list)
    for row in rows:
        beside[row.get(near)].append(row["texts"])
    while True:
        row = rng.choice(rows)
        phrase, same = rng.sample(row["texts"], 2)
        yield Statement(phrase, same, True, "paraphrase", path.parent.name)
        others = [texts for texts in beside[row.get(near)] if texts is not row["texts"]]
        if others:
            drawn = [rng.choice(texts) for texts in rng.sample(others, min(8, len(others)))]
            yield Statement(phrase, _nearest(phrase, drawn), False, "near", path.parent.name)


def alike(path: Path, meaning: Meaning, rng: Random) -> Iterator[Statement]:
    """Texts of one meaning say the same; the nearest of several others does not."""
    by_meaning: dict[Any, list[str]] = defaultdict(list)
    for row in GROUPS.json_lines(path):
        by_meaning[meaning(row.values)].append(row.text("text"))
    name = path.parent.name
    several = [key for key, texts in by_meaning.items() if len(set(texts)) > 1 and key]
    everything = list(by_meaning)
    while True:
        key = rng.choice(several)
        phrase, same = rng.sample(sorted(set(by_meaning[key])), 2)
        yield Statement(phrase, same, True, "intent", name)
        others = rng.sample(everything, min(24, len(everything)))
        drawn = [rng.choice(by_meaning[other]) for other in others if other != key]
        yield Statement(phrase, _nearest(phrase, drawn), False, "near", name)


def intent(values: Mapping[str, Any]) -> str:
    """The intent of an utterance."""
    return str(values["intent"])


def modules(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of an utterance's intent, and the slots that it fills."""
    return (*sorted(values["intents"]), *sorted(map(str, values["slots"].items())))


def clause_statements(path: Path, rng: Random) -> Iterator[Statement]:
    """Clauses of CUAD's training part, and whether they say the phrases of types of clauses."""
    phrases = tomllib.loads(_CLAUSE_TYPES.read_text("utf-8"))["types"]
    clauses: dict[str, list[str]] = defaultdict(list)
    for row in GROUPS.json_lines(path):
        if row.values.get("thirdparty_split") == "train":
            for kind in phrases:
                found = row.values["clauses"].get(kind, ())
                clauses[kind] += [" ".join(one["text"].split()) for one in found]
    types = [kind for kind in phrases if clauses[kind]]
    while True:
        kind, other = rng.sample(types, 2)
        phrase, own = rng.choice(phrases[kind]), rng.choice(clauses[kind])
        elsewhere = rng.choice(clauses[other])
        if own not in clauses[other] and elsewhere not in clauses[kind]:
            yield Statement(phrase, own, True, "paraphrase", "cuad-types")
            yield Statement(phrase, elsewhere, False, "near", "cuad-types")


def _nearest(phrase: str, texts: Iterable[str]) -> str:
    """The text with most words of the phrase."""
    words = set(phrase.lower().split())
    return max(texts, key=lambda text: (len(words & set(text.lower().split())), text))
