"""Writers that fail on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(
    names_of(
        "opensearch.test_writers",
        test_the_first_error_is_the_one_that_is_raised="blocks spare settings",
        test_replicas_during_and_after_the_first_load="needs two nodes",
    )
)

pytestmark = pytest.mark.release
