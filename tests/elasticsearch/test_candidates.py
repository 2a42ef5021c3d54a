"""Candidates, and clients of your own, on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_candidates"))

pytestmark = pytest.mark.release
