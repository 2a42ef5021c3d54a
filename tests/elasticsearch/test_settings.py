"""Addresses and settings on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_settings"))

pytestmark = pytest.mark.release
