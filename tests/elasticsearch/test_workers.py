"""Workers that load together, of which some are killed on Elasticsearch, as on OpenSearch."""

import pytest

from tests.opensearch import test_workers as shared

from .shared import names_of

globals().update(
    names_of(
        shared,
        TestCreating="makes clients of opensearch-py",
        test_four_workers_of_which_two_are_killed_equal_one="asks no more than single steps",
    )
)

pytestmark = pytest.mark.release
