"""Workers that load together, of which some are killed on Elasticsearch, as on OpenSearch."""

import pytest

from tests.opensearch import test_workers as shared

from .shared import names_of

globals().update(
    names_of(
        shared,
        test_one_that_was_cut_off_writes_nothing_after_another_took_over="proxy without header",
        TestCreating="makes clients of opensearch-py",
    )
)

pytestmark = pytest.mark.release
