"""The page in a real browser, over a service of an index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slice_os import SpanEncoder
from tests.elasticsearch.shared import taken
from tests.service.page.conftest import DOCUMENTS

from .texts import index_of

TESTS = (
    "test_a_link_reproduces_the_view",
    "test_a_phrase_is_found_in_other_words_with_its_evidence",
    "test_every_hit_of_the_store_is_streamed",
    "test_facets_narrow_the_search_and_count_its_hits",
)
globals().update(taken("service.page.conftest", "browser", "open_page", "page_server"))
globals().update(taken("service.page.test_search", *TESTS))

pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def page_store(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    with index_of(DOCUMENTS, opensearch_url, encoder) as location:
        yield location
