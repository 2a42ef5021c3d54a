"""A model searches an index over standard streams."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slice_os import Corpus, SpanEncoder
from tests.integrations.conftest import SHORT, anyio_backend
from tests.integrations.test_mcp import test_a_model_searches_over_standard_streams

from .texts import index_of

__all__ = ["anyio_backend", "test_a_model_searches_over_standard_streams"]

pytestmark = [pytest.mark.release, pytest.mark.anyio]


@pytest.fixture(scope="module")
def contracts(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    with index_of((), opensearch_url, encoder) as location:
        with Corpus(location, encoder) as corpus:
            corpus.ingest(SHORT)
        yield location
