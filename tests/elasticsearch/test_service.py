"""The service over an index of Elasticsearch, as over one of OpenSearch."""

import pytest

from tests.opensearch import test_service as shared

from .shared import names_of

globals().update(names_of(shared))

pytestmark = pytest.mark.release
