"""Workers that load together, of which some are killed on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_workers", TestCreating="makes clients of opensearch-py"))

pytestmark = pytest.mark.release
