"""The store on Elasticsearch keeps the contract of stores."""

from __future__ import annotations

from tests.opensearch.test_store_conformance import TestOpenSearchStore as TestElasticsearchStore

__all__ = ["TestElasticsearchStore"]
