"""Candidates, and clients of your own, on Elasticsearch, as on OpenSearch."""

import pytest

from tests.opensearch import test_candidates as shared

from .shared import names_of

globals().update(names_of(shared))

pytestmark = pytest.mark.release
