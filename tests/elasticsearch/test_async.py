"""The asyncio corpus, and clients of your own, find on Elasticsearch what a corpus finds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch

from slice_os import AsyncCorpus, Corpus, OpenSearchStore, SpanEncoder
from tests.opensearch.test_async import (
    COUNT,
    PHRASES,
    test_beyond_the_nearest,
    test_same_results_at_the_same_time,
)

__all__ = ["COUNT", "test_beyond_the_nearest", "test_same_results_at_the_same_time"]

pytestmark = pytest.mark.release


def test_clients_of_your_own(calls: Corpus, location: str, encoder: SpanEncoder) -> None:
    url, _, name = location.rpartition("/")

    async def ask() -> Any:
        async with AsyncElasticsearch(url) as client:
            async with AsyncCorpus(name, encoder, client=client) as there:
                found = await there.search(PHRASES)
            assert await client.ping(), "whoever made the client closes it"
            return found

    expected = calls.search(PHRASES)
    assert asyncio.run(ask()) == expected
    with Elasticsearch(url) as client:
        assert Corpus(OpenSearchStore(client, name), encoder).search(PHRASES) == expected
        assert client.ping()
