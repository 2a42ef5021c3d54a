"""Pages of hits, from searches that return the best passages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slice_os.hits.collapse import collapse
from slice_os.hits.hit import Hit, Hits
from slice_os.query.options import MAX_CANDIDATES
from slice_os.query.query import Query
from slice_os.stores.result_page import PageRequest

_MORE = 4


@dataclass(frozen=True, slots=True)
class FoundHits:
    """The hits in the best passages of a search.

    Attributes:
        hits: by falling score.
        passages: in how many passages they were looked for.
        least: score of the last of these; no hit of another passage has a higher one.
    """

    hits: Hits
    passages: int
    least: float


@dataclass(frozen=True, slots=True)
class FilledPage:
    """Searching until a page is full of hits that count, and no better ones can follow.

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
    def of(
        cls, wanted: PageRequest, query: Query, collapses: bool, exhaustive: bool
    ) -> FilledPage | None:
        """The first search for a page; None if every passage on it is one hit.

        Args:
            wanted: the page.
            query: what to look for.
            collapses: whether only hits in different words count.
            exhaustive: whether the store scores every passage, however many hits are requested.
        """
        loses_hits = collapses or query.counters is not None
        if not loses_hits and wanted.per_passage == 1:
            return None
        most = max(MAX_CANDIDATES if exhaustive else wanted.num_candidates, wanted.end)
        return cls(wanted, collapses, most, min((_MORE if loses_hits else 1) * wanted.end, most))

    @property
    def request(self) -> PageRequest:
        """The page of passages to search for now."""
        return replace(self.wanted, top_k=self.size, offset=0)

    def page(self, found: FoundHits) -> Hits | None:
        """The page; None if another search can find more hits that count.

        Args:
            found: what `request` returned.
        """
        complete = found.passages < self.size or self.size >= self.most
        sure: list[Hit] = [hit for hit in found.hits if complete or hit.score >= found.least]
        counted = collapse(sure) if self.collapses else sure
        if len(counted) < self.wanted.end and not complete:
            return None
        page = counted[self.wanted.offset : self.wanted.end]
        return Hits(tuple(page), found.hits.threshold, found.hits.exhaustive)

    def more(self) -> FilledPage:
        """The next search."""
        return replace(self, size=min(_MORE * self.size, self.most))
