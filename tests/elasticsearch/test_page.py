"""The page in a real browser on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_page"))

pytestmark = pytest.mark.release
