"""The service over an index, by the tests of the service over a folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slice_os import Corpus, SpanEncoder
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.server.detection import engine_of
from tests.elasticsearch.shared import names_of
from tests.service.conftest import DOCUMENTS

from .texts import index_of

globals().update(names_of("service.conftest"))
for _name in ("answers", "client", "documents", "mining", "topics"):
    globals().update(names_of(f"service.test_{_name}"))
# The tests of swaps show it.
del globals()["test_a_store_that_takes_its_place_is_served"]
# An index takes 1,000 fields.
del globals()["test_a_store_of_very_many_fields_is_told_by_some"]

pytestmark = [pytest.mark.release, pytest.mark.large]


@pytest.fixture(scope="module")
def store_folder(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    """The address of an index of the same documents."""
    with index_of(DOCUMENTS, opensearch_url, encoder) as location:
        yield location


@pytest.fixture(scope="module")
def calls(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    """One that the tests of the client may change."""
    with index_of(DOCUMENTS, opensearch_url, encoder) as location:
        yield location


@pytest.fixture
def own_store(opensearch_url: str, index_name: str, encoder: SpanEncoder) -> str:
    """One that a test may change."""
    with Corpus(f"{opensearch_url}/{index_name}", encoder) as corpus:
        corpus.add(DOCUMENTS)
    return f"{opensearch_url}/{index_name}"


@pytest.fixture
def kind(store_folder: str) -> str:
    """Of the store."""
    with IndexHandle.at(store_folder).client as client:
        return engine_of(client).name.lower()
