"""Filters on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_filters"))

pytestmark = pytest.mark.release
