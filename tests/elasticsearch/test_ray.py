"""Ray Data loads an index of Elasticsearch, as one of OpenSearch."""

import pytest

from tests.opensearch import test_ray as shared

from .shared import names_of

globals().update(names_of(shared))

pytestmark = pytest.mark.release
