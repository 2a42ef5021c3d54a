"""Near-identical hits, as one with their count; and pages that are full nevertheless."""

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
class FilledPage:
    """Searching until a page is full of hits that count.

    Attributes:
        wanted: the page.
        collapses: whether only hits in different words count.
        most: passages that can be searched for.
        size: how many to search for now.
    """

    wanted: PageRequest
    collapses: bool
    most: int
    size: int

    @classmethod
    def of(cls, wanted: PageRequest, collapses: bool, exhaustive: bool) -> FilledPage:
        """The first search for a page.

        Args:
            wanted: the page.
            collapses: whether only hits in different words count.
            exhaustive: whether the store scores every passage, however many hits are requested.
        """
        most = MAX_CANDIDATES if exhaustive else wanted.num_candidates
        return cls(wanted, collapses, max(most, wanted.end), min(_MORE * wanted.end, most))

    def hits(self, found: Hits, passages: int) -> Hits | None:
        """The page; None if another search for more hits can have more that count.

        Args:
            found: the hits.
            passages: in how many passages they were looked for.
        """
        count = collapse(found) if self.collapses else list(found)
        if len(count) < self.wanted.end and passages == self.size < self.most:
            return None
        page = count[self.wanted.offset : self.wanted.end]
        return Hits(tuple(page), found.threshold, found.exhaustive)

    def more(self) -> FilledPage:
        """The next search."""
        return replace(self, size=min(_MORE * self.size, self.most))
