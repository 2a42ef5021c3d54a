"""Near-identical hits, as one with their count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from slice_os.page import PageRequest
from slice_os.results import Hit, Hits
from slice_os.search_options import MAX_CANDIDATES
from slice_os.words import find_words

_MORE = 4


def collapse(hits: Iterable[Hit]) -> list[Hit]:
    """One hit for all that say a phrase in the same words, with their count.

    Case, punctuation and white space make no difference. The first one stays.
    """
    found: dict[tuple[str, ...], Hit] = {}
    for hit in hits:
        words = (hit.text[start:end].casefold() for start, end in find_words(hit.text).tolist())
        key = (hit.phrase, *words)
        known = found.get(key)
        found[key] = hit if known is None else replace(known, count=known.count + hit.count)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class CollapsedPage:
    """Searching until enough hits of a page differ.

    Attributes:
        wanted: the page of different hits.
        most: hits that can be searched for.
        size: how many to search for now.
    """

    wanted: PageRequest
    most: int
    size: int

    @classmethod
    def of(cls, wanted: PageRequest, exhaustive: bool) -> CollapsedPage:
        """The first search for a page.

        Args:
            wanted: the page.
            exhaustive: whether the store scores every passage, however many hits are requested.
        """
        most = MAX_CANDIDATES if exhaustive else wanted.num_candidates
        return cls(wanted, max(most, wanted.end), min(_MORE * wanted.end, most))

    def hits(self, found: Hits) -> Hits | None:
        """The page; None if another search for more hits can have more different ones."""
        different = collapse(found)
        if len(different) < self.wanted.end and len(found) == self.size < self.most:
            return None
        page = different[self.wanted.offset : self.wanted.end]
        return Hits(tuple(page), found.threshold, found.exhaustive)

    def more(self) -> CollapsedPage:
        """The next search."""
        return replace(self, size=min(_MORE * self.size, self.most))
