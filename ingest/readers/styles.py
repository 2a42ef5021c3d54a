"""Which elements the style sheet of a page hides; only simple selectors without a condition."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SELECTOR = re.compile(r"(?:[A-Za-z][\w-]*)?(?:[.#][\w-]+)*")
_NAME = re.compile(r"[.#]?[\w-]+")
_MOST_RULES = 1_000
_DISPLAY = re.compile(r"(?:^|[;\s])display\s*:\s*([a-z-]+)", re.I)


class _Rule(NamedTuple):
    """How much a selector says, its place, and whether it hides."""

    weight: tuple[int, int, int]
    place: int
    is_hiding: bool
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Styles:
    """What the style sheets of a page say about whether elements are displayed."""

    _rules: defaultdict[str, list[_Rule]] = field(default_factory=lambda: defaultdict(list))

    def add(self, sheet: str) -> None:
        """Add a style sheet."""
        place = sum(map(len, self._rules.values()))
        for selectors, style in _blocks(_COMMENT.sub(" ", sheet)):
            display = _DISPLAY.search(style)
            for selector in selectors.split(",") if display is not None else ():
                names = frozenset(_NAME.findall(selector))
                if not names or not _SELECTOR.fullmatch(selector.strip()) or place >= _MOST_RULES:
                    continue
                ids = sum(name.startswith("#") for name in names)
                classes = sum(name.startswith(".") for name in names)
                weight = ids, classes, len(names) - ids - classes
                is_hiding = display is not None and display[1].lower() == "none"
                rule = _Rule(weight, place, is_hiding, names)
                self._rules[max(names, key=_rarity)].append(rule)
                place += 1

    def hides(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Whether the rule that says most about an element hides it."""
        if not self._rules:
            return False
        names = {tag, f"#{attributes.get('id', '')}"}
        names |= {f".{name}" for name in attributes.get("class", "").split()}
        rules = [
            rule for name in names for rule in self._rules.get(name, ()) if rule.names <= names
        ]
        return bool(rules) and max(rules).is_hiding


def _rarity(name: str) -> tuple[bool, bool]:
    return name.startswith("#"), name.startswith(".")


def _blocks(sheet: str) -> list[tuple[str, str]]:
    """Selectors and styles; what is in a block of another one depends on a condition."""
    found = []
    depth = 0
    selectors = ""
    for part in re.split(r"([{}])", sheet):
        if part == "{":
            depth += 1
        elif part == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            selectors = part.rpartition(";")[2].strip()
        elif depth == 1 and not selectors.startswith("@"):
            found.append((selectors, part))
    return found
