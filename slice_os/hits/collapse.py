"""Near-identical hits, as one with their count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from slice_os.hits.hit import Hit
from slice_os.query.options import SENTENCE
from slice_os.text.words import find_words


def collapse(hits: Iterable[Hit]) -> list[Hit]:
    """One hit for all of a topic and phrase in the same words, with their count.

    Case, punctuation and white space make no difference. The first one stays; rejected ones stay
    by themselves.
    """
    return [hit for (hit,) in alike(hits)]


def alike(hits: Iterable[Hit], most: int = 1) -> list[list[Hit]]:
    """The hits that `collapse` makes one, by the first of them.

    Of each group, ``most`` hits stay, in sentences that differ, each with the count of those in
    its sentence; the first one also counts what does not stay.
    """
    groups: dict[tuple[bool, str | None, str, tuple[str, ...]], dict[str, Hit]] = {}
    for hit in hits:
        words = [hit.text[start:end].casefold() for start, end in find_words(hit.text).tolist()]
        group = groups.setdefault((hit.label is False, hit.topic, hit.phrase, tuple(words)), {})
        sentence = hit.widened(SENTENCE).text if most > 1 else ""
        if sentence not in group and len(group) == most:
            sentence = next(iter(group))
        known = group.get(sentence)
        group[sentence] = hit if known is None else replace(known, count=known.count + hit.count)
    return [list(group.values()) for group in groups.values()]
