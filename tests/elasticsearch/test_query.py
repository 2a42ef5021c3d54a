"""Exported queries on Elasticsearch, as on OpenSearch."""

import pytest

from tests.opensearch import test_query as shared

from .shared import names_of

globals().update(
    names_of(shared, test_the_examples_in_python_run="one hands over a client of opensearch-py")
)

pytestmark = pytest.mark.release
