"""The OpenSearch store keeps the contract of stores."""

from __future__ import annotations

import pytest

from slice_os import IndexOptions
from slice_os.testing import StoreConformance


class TestOpenSearchStore(StoreConformance):
    options = IndexOptions(replicas=0)

    @pytest.fixture
    def location(self, opensearch_url: str, index_name: str) -> str:
        return f"{opensearch_url}/{index_name}"
