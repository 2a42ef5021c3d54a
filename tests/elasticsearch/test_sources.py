"""Sources of documents on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_sources"))

pytestmark = pytest.mark.release
