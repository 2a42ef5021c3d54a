"""The asyncio corpus over a local store; tests/opensearch has those over an index."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slice_os import AsyncCorpus, Corpus, Document, InputError, SpanEncoder, StoreError

PHRASES = ["I want to cancel my order", "please change my seat"]


@pytest.fixture(scope="module")
def calls(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with Corpus(tmp_path_factory.mktemp("async") / "store", encoder) as corpus:
        corpus.add(
            Document(str(n), f"Call {n}. Please cancel my order. Change my seat.", {"n": n})
            for n in range(70)
        )
        yield corpus


def test_same_results_at_the_same_time(calls: Corpus, encoder: SpanEncoder) -> None:
    searches: list[dict[str, Any]] = [
        {"phrases": PHRASES},
        {"phrases": PHRASES[0], "top_k": 3, "offset": 2, "fusion": "rrf"},
        {"phrases": PHRASES[1], "threshold": 0.5, "where": {"n": [1, 2]}, "fusion": "cosine"},
        {"phrases": PHRASES[0], "unit": "sentence", "collapse": True, "top_k": 3},
    ]

    async def ask() -> tuple[list[Any], list[Any]]:
        async with AsyncCorpus(Path(calls.info().location), encoder) as there:
            found = await asyncio.gather(*(there.search(**search) for search in searches))
            return found, [hit async for hit in there.mine(PHRASES, threshold=0.5)]

    found, mined = asyncio.run(ask())
    assert found == [calls.search(**search) for search in searches]
    assert mined == list(calls.mine(PHRASES, threshold=0.5))
    assert len(mined) > 64


def test_the_model_of_the_store_is_found(calls: Corpus) -> None:
    async def ask() -> Any:
        async with AsyncCorpus(calls.info().location) as there:
            return await there.search(PHRASES)

    assert asyncio.run(ask()) == calls.search(PHRASES)


def test_stopping_early_leaves_no_thread(calls: Corpus, encoder: SpanEncoder) -> None:
    async def ask() -> None:
        async with AsyncCorpus(calls.info().location, encoder) as there:
            hits = there.mine(PHRASES, threshold=0.5)
            async for _ in hits:
                break
            await hits.aclose()
            assert not [one for one in threading.enumerate() if one.name.startswith("mine")]

    asyncio.run(ask())


def test_errors_are_the_same(calls: Corpus, encoder: SpanEncoder, tmp_path: Path) -> None:
    async def ask(store: str, **search: Any) -> None:
        async with AsyncCorpus(store, encoder) as there:
            await there.search(PHRASES, **search)

    with pytest.raises(InputError, match="no fusion 'sum'"):
        asyncio.run(ask(calls.info().location, fusion="sum"))
    with pytest.raises(StoreError, match="no store here"):
        asyncio.run(ask(str(tmp_path / "none")))
