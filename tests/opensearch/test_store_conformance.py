"""The OpenSearch store keeps the contract of stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from slice_os import Corpus, IndexOptions, SpanEncoder
from slice_os.stores.protocol import NewStore, Store
from slice_os.stores.registry import create_store, open_store
from slice_os.text.documents import Document
from tests.store_contract import StoreConformance
from tests.store_contract.document_contract import CARD, MAX_PIECES, fill, random_query


class TestOpenSearchStore(StoreConformance):
    options = IndexOptions(replicas=0)

    @pytest.fixture
    def location(self, address: str) -> str:
        return address

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

    @pytest.mark.slow
    @pytest.mark.release
    @pytest.mark.large
    def test_all_above_a_threshold_of_20_000_passages_is_found(
        self, location: str, tmp_path: Path
    ) -> None:
        """More than an engine proposes at most, where one indexed span stands for three."""
        documents = [Document(f"{number:03}", "some words " * 100) for number in range(200)]
        threshold, near = 0.1, 2e-4  # folders keep token vectors in other bytes
        create_store(str(tmp_path / "store"), NewStore(CARD, MAX_PIECES))
        found = []
        for store in (open_store(str(tmp_path / "store"), CARD), self.made(location)):
            fill(store, documents, words_each=2)
            assert store.info().passages == 20_000
            found.append(above(store, threshold - near))
            store.close()
        local, there = ({place for place in one if one[place] >= threshold} for one in found)
        assert len(local) > 10_000
        assert {place: found[1].get(place, -1) for place in local} == pytest.approx(
            {place: found[0][place] for place in local}, abs=near
        )
        assert there <= found[0].keys()


def above(store: Store, threshold: float) -> dict[tuple[str, int], float]:
    """The best cosines of passages that mining finds above a threshold, by their places."""
    found = {}
    for some in store.scan(random_query("one"), threshold, exhaustive=True):
        passages = some.load(some.keys)
        for key, cosine in zip(some.keys, some.cosines[0].tolist(), strict=True):
            found[passages[key].doc_id, passages[key].encoded.start] = cosine
    return found
