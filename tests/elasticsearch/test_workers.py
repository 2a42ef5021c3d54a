"""Workers that load together, of which some are killed on Elasticsearch, as on OpenSearch."""

import pytest

from tests.opensearch import test_workers as shared

from .shared import names_of

globals().update(names_of(shared, TestCreating="makes clients of opensearch-py"))

pytestmark = pytest.mark.release
