"""The OpenSearch store keeps the contract of stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from slice_os import Corpus, IndexOptions, SpanEncoder
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

    def test_bm25_is_that_of_a_local_store(
        self, location: str, tmp_path: Path, encoder: SpanEncoder
    ) -> None:
        texts = [
            "The Kiosk\u2122 and Kiosk\u00ae of the part(ies) in the country(ies). "
            + "More words. " * 9,
            "A termi-\nnation of the agreement ends it.\nAll else is terminated \U0001f600, too.",
            "The parties' agreement of 3,000 words and 9.3 parts ends \u2764\ufe0f today.",
        ]
        scores = []
        for store in (location, str(tmp_path / "store")):
            with Corpus(store, encoder) as corpus:
                corpus.add([Document(str(at), text) for at, text in enumerate(texts)])
                hits = corpus.mine(["ies kiosk agreement", "termination of parts"], threshold=0.0)
                scores.append({(hit.phrase, hit.doc_id): hit.bm25 for hit in hits})
        assert len(scores[0]) == 6
        assert scores[0] == pytest.approx(scores[1], rel=1e-5)
