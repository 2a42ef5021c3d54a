"""Loads into an index of Elasticsearch that refuses them, as one of OpenSearch."""

import pytest

from tests.opensearch.test_failures import (
    test_an_index_that_becomes_read_only,
    test_documents_that_do_not_fit_the_mapping,
)

__all__ = ["test_an_index_that_becomes_read_only", "test_documents_that_do_not_fit_the_mapping"]

pytestmark = pytest.mark.release
