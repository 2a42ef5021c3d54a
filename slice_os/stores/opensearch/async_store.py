"""The OpenSearch store for reading from asyncio: the flows of `OpenSearchStore`, not blocking."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from slice_os.arrays import FloatArray
from slice_os.query.options import SearchOptions
from slice_os.query.query import Query
from slice_os.stores.candidates import BestPassages, ScoredCandidates
from slice_os.stores.opensearch.schema.indices import Index
from slice_os.stores.opensearch.search.exchange import AsyncDriver
from slice_os.stores.opensearch.search.flows import resolve
from slice_os.stores.opensearch.search.server_flows import ServerFlows
from slice_os.stores.opensearch.server.handle import no_index

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch


class AsyncOpenSearchStore:
    """An index of passages; passages are scored in a thread. Use `AsyncOpenSearchStore.open`."""

    def __init__(self, driver: AsyncDriver, index: Index) -> None:
        self.index = index
        self._driver = driver
        self._server = ServerFlows(index, driver.location)

    @classmethod
    async def open(cls, client: AsyncOpenSearch, name: str, location: str) -> AsyncOpenSearchStore:
        """Open the index of that name, or the one behind an alias of that name.

        Messages call the store by its location.

        Raises:
            StoreError: if there is no such index, or slice-os did not make it.
        """
        driver = AsyncDriver(client, location)
        index = await driver.run(resolve(name, location))
        if index is None:
            raise no_index(location)
        return cls(driver, index)

    async def best_passages(self, query: Query, wanted: SearchOptions) -> BestPassages | None:
        """The best passages; see `ScoringStore`."""
        return await self._driver.run(self._server.best_passages(query, wanted))

    async def rank(self, query: Query, num_candidates: int) -> ScoredCandidates:
        """The ``num_candidates`` best passages by span vector, and by BM25, scored exactly."""
        return await self._driver.run(self._server.rank(query, num_candidates))

    async def rank_fused(
        self, query: Query, num_candidates: int
    ) -> tuple[ScoredCandidates, FloatArray]:
        """The passages that the server's own fusion ranks first, and its scores."""
        return await self._driver.run(self._server.rank_fused(query, num_candidates))

    def scan(
        self, query: Query, threshold: float, exhaustive: bool
    ) -> AsyncGenerator[ScoredCandidates, None]:
        """Passages with a span at or above the threshold; see `Store.scan`."""
        return self._driver.stream(self._server.scan(query, threshold, exhaustive))
