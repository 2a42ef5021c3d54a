"""Sets of pairs that others labelled: does a text say a phrase? As statements, set by set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from slice_os.datasets.files import DataRow, DataSource
from slice_os.records import read_toml

from . import sources
from .frames import Statement

PAIRS = DataSource('JSON Lines of {"phrase", "text", "says", "label", "kind"}')
GROUPS = DataSource('JSON Lines of {"texts"}, or of {"text"} with its meaning')

_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|\w+n't)\b", re.IGNORECASE
)
_DIGIT = re.compile(r"\d+")
_PAIRS = (
    *("scone", "negnli", "cannot", "cad-nli", "conj-nli", "syntactic-roles", "wikiresnli"),
    *("megaveridicality", "fever-claims", "fever-symmetric", "fool-me-twice", "argkp"),
    *("perspectrum", "impli", "flute", "onestop-english", "disfl-qa"),
)
_UTTERANCES = ("nlupp", "dstc11-intents", "hwu64", "snips")
_GROUPED = ("spider-questions", "advising", "paraqa")
_CLAUSE_TYPES = Path(__file__).with_name("clause_types.toml")
_OPPOSED = ("contradiction", "refutes", "contradicts", "other side of the same claim")

# Where the label does not tell what a false pair differs in.
_KINDS = {"syntactic-roles": "roles", "wikiresnli": "roles", "megaveridicality": "modality"}


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


def intents(folder: Path) -> dict[str, Mapping[Any, list[str]]]:
    """Utterances by what they mean, of each set of them."""
    file = "utterances.jsonl.gz"
    clinc, bitext = folder / "clinc150/data_full.json", folder / "bitext-support-intents/train.csv"
    return {
        "clinc150": sources.clinc_intents(clinc),
        "bitext": sources.bitext_intents(bitext),
        **{name: _by_meaning(folder / name / file) for name in _UTTERANCES},
        **{name: _groups(folder / name / "groups.jsonl.gz") for name in _GROUPED},
    }


def _groups(path: Path) -> dict[int, list[str]]:
    """Texts that say the same, by the line that they stand in."""
    return {row.number: row.values["texts"] for row in GROUPS.json_lines(path)}


def _by_meaning(path: Path) -> dict[tuple[str, ...], list[str]]:
    """Utterances by their intent or its parts, and by the slots that they fill."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in GROUPS.json_lines(path):
        intents = row.values.get("intents") or [row.values.get("intent", "")]
        slots = row.values.get("slots") or {}
        found[(*sorted(intents), *sorted(map(str, slots.items())))].append(row.text("text"))
    return {meaning: texts for meaning, texts in found.items() if meaning != ("",)}


def judged(folder: Path) -> dict[str, list[Statement]]:
    """The sets of pairs that people judged."""
    contracts = folder / "contract-nli/train_truncated.json.gz"
    scope = folder / "scone/scope_of_the_phrase.jsonl.gz"
    pairs = {name: list(labelled_pairs(folder / name / "pairs.jsonl.gz")) for name in _PAIRS}
    return {
        **pairs,
        "scone": [*pairs["scone"], *labelled_pairs(scope)],
        "contract-nli": list(sources.contract_statements(contracts)),
        "snli": list(sources.snli_statements(folder / "snli-dev-test/snli_dev.tsv.gz")),
        "meanings": list(meaning_contrasts(folder / "meanings/contrasts.jsonl.gz")),
    }


def clause_statements(path: Path, rng: Random) -> Iterator[Statement]:
    """Clauses of CUAD's training part, and whether they say the phrases of types of clauses."""
    phrases = read_toml(_CLAUSE_TYPES)["types"]
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
