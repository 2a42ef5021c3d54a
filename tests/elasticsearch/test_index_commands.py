"""Versions of an index, reindexing and swapping on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_index_commands"))

pytestmark = pytest.mark.release
