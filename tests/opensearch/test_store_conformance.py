"""The OpenSearch store keeps the contract of stores."""

from __future__ import annotations

import pytest

from slice_os import IndexOptions
from slice_os.text.documents import Document
from tests.store_contract import StoreConformance
from tests.store_contract.document_contract import fill, random_query


class TestOpenSearchStore(StoreConformance):
    options = IndexOptions(replicas=0)

    @pytest.fixture
    def location(self, opensearch_url: str, index_name: str) -> str:
        return f"{opensearch_url}/{index_name}"

    def test_signs_that_nobody_sees_part_no_terms(self, location: str) -> None:
        store = self.made(location)
        texts = ("Ann's cancelled subscription", "Ann's can\xadcelled sub\u200bscription")
        fill(store, [Document(str(at), text) for at, text in enumerate(texts)])
        for phrase in ("cancel subscriptions", "can\xadcel sub\u2060scriptions"):
            (scores,) = store.rank(random_query(phrase), 10).bm25.tolist()
            assert len(scores) == 2
            assert scores[0] == scores[1] > 0
