"""The page in a real browser on Elasticsearch, as on OpenSearch."""

import pytest

from tests.opensearch import test_page as shared

from .shared import names_of

globals().update(names_of(shared))

pytestmark = pytest.mark.release
