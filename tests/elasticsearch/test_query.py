"""Exported queries on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(
    names_of(
        "opensearch.test_query",
        test_the_examples_in_python_run="one hands over a client of opensearch-py",
    )
)

pytestmark = pytest.mark.release
