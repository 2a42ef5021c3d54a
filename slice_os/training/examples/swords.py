"""SWORDS (Lee et al., 2021): substitutes for a word in its context, judged by people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slice_os.datasets.files import DataSource
from slice_os.training.record_types import Substitution

SWORDS = DataSource("SWORDS v1.1 as JSON", "https://github.com/p-lambda/swords")
_RIGHT = 0.5
_WRONG = 0.1
_CONTEXT = 130


def read_swords(path: Path) -> Iterator[Substitution]:
    """Targets with substitutes that at least half of the judges accept, and some that few do.

    Contexts are cut to about 130 characters on either side of the target.

    Raises:
        InputError: if the file is missing or malformed.
    """
    data: Any = SWORDS.json(path)
    try:
        judged: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for key, row in data["substitutes"].items():
            votes = data["substitute_labels"][key]
            share = sum(vote.startswith("TRUE") for vote in votes) / len(votes)
            judged[row["target_id"]].append((row["substitute"], share))
        targets = [
            (key, data["contexts"][row["context_id"]]["context"], row["offset"], row["target"])
            for key, row in data["targets"].items()
        ]
    except (KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        reason = f"lacks fields ({type(error).__name__}: {error})"
        raise SWORDS.malformed(path, reason) from None
    for key, context, offset, target in targets:
        right = tuple(word for word, share in judged[key] if share >= _RIGHT)
        wrong = tuple(word for word, share in judged[key] if share < _WRONG)
        if right and wrong:
            text, start = _near(context, offset, offset + len(target))
            yield Substitution(text, start, start + len(target), right, wrong)


def _near(context: str, start: int, end: int) -> tuple[str, int]:
    """The context around ``start:end``, cut at spaces, and where ``start`` is in it."""
    left, right = max(0, start - _CONTEXT), min(len(context), end + _CONTEXT)
    while left > 0 and not context[left - 1].isspace():
        left -= 1
    while right < len(context) and not context[right].isspace():
        right += 1
    return context[left:right], start - left
