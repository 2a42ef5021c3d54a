"""The asyncio corpus on Elasticsearch returns what the other one returns."""

import pytest

from tests.opensearch.test_async import (
    calls,
    location,
    test_beyond_the_nearest,
    test_same_results_at_the_same_time,
)

__all__ = [
    "calls",
    "location",
    "test_beyond_the_nearest",
    "test_same_results_at_the_same_time",
]

pytestmark = pytest.mark.release
