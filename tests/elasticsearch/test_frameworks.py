"""LangChain and Haystack on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_frameworks"))

pytestmark = pytest.mark.release
