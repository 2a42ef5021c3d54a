"""Near-identical hits, as one with their count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from slice_os.hits.hit import Hit
from slice_os.text.words import find_words


def collapse(hits: Iterable[Hit]) -> list[Hit]:
    """One hit for all of a topic and phrase in the same words, with their count.

    Case, punctuation and white space make no difference. The first one stays; rejected ones stay
    by themselves.
    """
    found: dict[tuple[bool, str | None, str, tuple[str, ...]], Hit] = {}
    for hit in hits:
        words = [hit.text[start:end].casefold() for start, end in find_words(hit.text).tolist()]
        key = (hit.label is False, hit.topic, hit.phrase, tuple(words))
        known = found.get(key)
        found[key] = hit if known is None else replace(known, count=known.count + hit.count)
    return list(found.values())
