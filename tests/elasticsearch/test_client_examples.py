"""The programs in examples/clients ask a service of an index of Elasticsearch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slice_os import SpanEncoder
from tests.opensearch.texts import index_of
from tests.test_client_examples import (
    DOCUMENT,
    OTHER,
    folder,
    service,
    test_an_example_finds_what_the_service_finds,
)

__all__ = ["folder", "service", "test_an_example_finds_what_the_service_finds"]

pytestmark = [pytest.mark.release, pytest.mark.large]


@pytest.fixture(scope="module")
def store(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    with index_of([DOCUMENT, OTHER], opensearch_url, encoder) as location:
        yield location
