"""Open English WordNet: words in their examples, with synonyms there and in other senses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slice_os.datasets.files import DataRow, DataSource
from slice_os.training.record_types import Passage, Sense, Substitution

SYNSETS = DataSource(
    'synsets of Open English WordNet, JSON Lines of {"pos", "members", "definition", "examples"}',
    "https://github.com/globalwordnet/english-wordnet",
)
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)\Z")
_CONSONANT_Y = re.compile(r"[^aeiou]y\Z")
_LONGEST_EXAMPLE = 30
_LONGEST_CLAUSE = 16
_DOMAIN = re.compile(r"\A\([^)]*\)\s*")


@dataclass(frozen=True, slots=True)
class Synset:
    """A meaning: its part of speech (``n v a r``), its words, definitions and examples."""

    pos: str
    members: tuple[str, ...]
    definitions: tuple[str, ...]
    examples: tuple[str, ...]


def read_synsets(path: Path) -> list[Synset]:
    """All synsets of a file; satellite adjectives count as adjectives."""
    return [
        Synset(
            pos="a" if row.values.get("pos") == "s" else str(row.values.get("pos")),
            members=_texts(row, "members"),
            definitions=_texts(row, "definition"),
            examples=_texts(row, "examples"),
        )
        for row in SYNSETS.json_lines(path)
    ]


def read_substitutions(path: Path) -> Iterator[Substitution]:
    """Words in example sentences that have another sense with other synonyms.

    The other members of the synset can replace the word; members of the word's other synsets
    with the same part of speech cannot. Names and other capitals are left out.
    """
    for used, member, synset, others in _uses(path):
        lemma = member.lower()
        own = {other.lower() for other in synset.members}
        right = [word for word in synset.members if word != member and word.islower()]
        wrong = [
            word for other in others for word in other.members if word.islower() and word not in own
        ]
        if right and wrong:
            surface = used.text[used.start : used.end].lower()
            sides = (
                tuple(inflect(word, surface, lemma, synset.pos) for word in side)
                for side in (right, wrong)
            )
            yield Substitution(used.text, used.start, used.end, *sides)


def read_senses(path: Path) -> Iterator[Sense]:
    """Words in example sentences, with their definition there and those of their other senses."""
    for used, _, synset, synsets in _uses(path):
        definition = short_definition(synset)
        others = tuple(filter(None, map(short_definition, synsets)))
        if definition and others:
            yield Sense(used.text, used.start, used.end, definition, others)


def _uses(path: Path) -> Iterator[tuple[Passage, str, Synset, list[Synset]]]:
    """Examples and a member of their synset in them, the synset, and the member's other synsets."""
    synsets = read_synsets(path)
    senses: dict[tuple[str, str], list[Synset]] = defaultdict(list)
    for synset in synsets:
        for member in synset.members:
            senses[member.lower(), synset.pos].append(synset)
    for synset in synsets:
        for example in synset.examples:
            if not 3 <= len(example.split()) <= _LONGEST_EXAMPLE:
                continue
            for member in synset.members:
                found = find_form(example, member.lower(), synset.pos)
                if found is not None:
                    others = [s for s in senses[member.lower(), synset.pos] if s is not synset]
                    yield Passage(example, *found), member, synset, others
                    break


def short_definition(synset: Synset) -> str:
    """The first clause of a synset's definition, without its domain; empty if it has none."""
    first = _DOMAIN.sub("", synset.definitions[0]) if synset.definitions else ""
    return " ".join(first.split(";")[0].split()[:_LONGEST_CLAUSE])


def find_form(text: str, lemma: str, pos: str) -> tuple[int, int] | None:
    """The place of a regular form of a lemma in a text, in code points."""
    head, space, rest = lemma.partition(" ")
    stem = head[:-1] if head[-1:] in ("e", "y") else head
    forms = re.escape(lemma)
    if pos == "n":
        forms += f"(?:e?s)?|{re.escape(lemma[:-1])}ies" if lemma.endswith("y") else "(?:e?s)?"
    elif pos == "v":
        doubled = re.escape(head + head[-1:])
        forms = (
            f"(?:{re.escape(head)}(?:e?s|e?d|ing)?|{re.escape(stem)}(?:ing|ies|ied|ed)"
            f"|{doubled}(?:ing|ed)){re.escape(space + rest)}"
        )
    match = re.search(rf"\b(?:{forms})\b", text, re.IGNORECASE)
    return match.span() if match else None


def inflect(word: str, surface: str, lemma: str, pos: str) -> str:
    """A word, regularly inflected as the surface form of a lemma is."""
    if surface == lemma:
        return word
    if pos == "n":
        return _with_s(word) if surface.endswith("s") else word
    if pos != "v":
        return word
    head, space, rest = word.partition(" ")
    lemma_head, surface_head = lemma.split(" ")[0], surface.split(" ")[0]
    if surface_head == lemma_head:
        return word
    if surface_head.endswith("ing"):
        silent = head.endswith("e") and not head.endswith("ee")
        return (head[:-1] if silent else head) + "ing" + space + rest
    if surface_head.endswith("s"):
        return _with_s(head) + space + rest
    if head.endswith("e"):
        return head + "d" + space + rest
    return (head[:-1] + "ied" if _CONSONANT_Y.search(head) else head + "ed") + space + rest


def _with_s(word: str) -> str:
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) else "s")


def _texts(row: DataRow, name: str) -> tuple[str, ...]:
    """Members, definitions or examples; an example with a source is an object with a text."""
    given = row.values.get(name) or []
    if not isinstance(given, list):
        raise row.malformed(f"{name!r} is no list")
    parts = [item.get("text") if isinstance(item, dict) else item for item in given]
    return tuple(part for part in parts if isinstance(part, str) and part)
