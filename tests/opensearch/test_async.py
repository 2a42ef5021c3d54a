"""The asyncio corpus returns what the other one returns, and does not block the event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from slice_os import AsyncCorpus, Corpus, EncoderMismatchError, InputError, SpanEncoder, StoreError
from slice_os.query.options import NUM_CANDIDATES
from slice_os.stores.cluster.search import searches

pytest.importorskip("aiohttp", reason="no aiohttp: pip install 'slice-os[async]'")

COUNT = 24
PHRASES = ["please change my seat", "I need my boarding pass"]


SEARCHES: list[dict[str, Any]] = [
    {"phrases": PHRASES},
    {"phrases": PHRASES[0], "top_k": 3, "offset": 2, "fusion": "rrf", "num_candidates": 5},
    {"phrases": PHRASES[1], "threshold": 0.5, "where": {"number": [1, 2, 3]}, "fusion": "cosine"},
    {"phrases": PHRASES, "unit": "sentence", "collapse": True, "top_k": 20},
    {"phrases": PHRASES, "unit": "sentence", "per_passage": 3, "offset": 4, "fusion": "cosine"},
]
MININGS: list[dict[str, Any]] = [
    {"phrases": PHRASES},
    {"phrases": PHRASES, "threshold": 0.4, "where": {"domain": "airline"}},
    {"phrases": PHRASES, "threshold": 0.4, "exhaustive": False, "unit": "turn"},
]


def test_same_results_at_the_same_time(calls: Corpus, location: str, encoder: SpanEncoder) -> None:
    async def ask() -> tuple[list[Any], list[Any]]:
        async with AsyncCorpus(location, encoder) as there:
            found = await asyncio.gather(*(there.search(**search) for search in SEARCHES))
            mined = []
            for mining in MININGS:
                mined.append([hit async for hit in there.mine(**mining)])
            return found, mined

    found, mined = asyncio.run(ask())
    assert found == [calls.search(**search) for search in SEARCHES]
    assert mined == [list(calls.mine(**mining)) for mining in MININGS]
    assert all(mined)


def test_beyond_the_nearest(
    calls: Corpus, location: str, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "GRAPH_WIDTH", 5)

    async def ask() -> list[Any]:
        async with AsyncCorpus(location, encoder) as there:
            return [hit async for hit in there.mine(PHRASES, threshold=0.4, exhaustive=False)]

    assert asyncio.run(ask()) == list(calls.mine(PHRASES, threshold=0.4, exhaustive=False))


def test_your_own_client_and_the_model_of_the_index(calls: Corpus, location: str) -> None:
    from opensearchpy import AsyncOpenSearch

    url, _, name = location.rpartition("/")

    async def ask() -> Any:
        async with AsyncOpenSearch(url) as client:
            async with AsyncCorpus(name, client=client) as there:
                found = await there.search(PHRASES)
            assert await client.ping(), "whoever made the client closes it"
            return found

    assert asyncio.run(ask()) == calls.search(PHRASES)


def test_stopping_early_leaves_no_point_in_time(location: str, encoder: SpanEncoder) -> None:
    from opensearchpy import AsyncOpenSearch, AsyncTransport

    url, _, name = location.rpartition("/")
    calls: list[str] = []

    class Transport(AsyncTransport):
        async def perform_request(self, method: str, url: str, *args: Any, **more: Any) -> Any:
            if "point_in_time" in url:
                calls.append(method)
            return await super().perform_request(method, url, *args, **more)

    async def ask() -> None:
        client = AsyncOpenSearch(url, transport_class=Transport)
        async with client, AsyncCorpus(name, encoder, client=client) as c:
            hits = c.mine(PHRASES, threshold=0.4)
            async for _ in hits:
                break
            await hits.aclose()
            assert calls == ["POST", "DELETE"]

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("search", "error", "says"),
    [
        (
            {"phrases": PHRASES, "offset": NUM_CANDIDATES},
            InputError,
            f"beyond the {NUM_CANDIDATES}",
        ),
        ({"phrases": PHRASES, "fusion": "sum"}, InputError, "no fusion 'sum'"),
        ({"phrases": []}, InputError, "no phrase"),
    ],
)
def test_errors_are_the_same(
    calls: Corpus,
    location: str,
    encoder: SpanEncoder,
    search: dict[str, Any],
    error: type[Exception],
    says: str,
) -> None:
    async def ask() -> None:
        async with AsyncCorpus(location, encoder) as there:
            await there.search(**search)

    with pytest.raises(error, match=says) as theirs:
        calls.search(**search)
    with pytest.raises(error) as ours:
        asyncio.run(ask())
    assert str(ours.value) == str(theirs.value)


def test_indices_that_cannot_be_searched(
    opensearch_url: str, location: str, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(store: str) -> None:
        async with AsyncCorpus(store, encoder) as there:
            await there.search(PHRASES)

    with pytest.raises(StoreError, match="no index here"):
        asyncio.run(ask(f"{opensearch_url}/test-nothing"))
    monkeypatch.setattr(encoder, "card", replace(encoder.card, encoder_id="other"))
    with pytest.raises(EncoderMismatchError):
        asyncio.run(ask(location))


def test_without_aiohttp_one_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from slice_os import AsyncCorpus, MissingExtraError\n"
        "try: AsyncCorpus('http://localhost:9200/calls')\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.endswith("pip install 'slice-os[async]'\n"), done.stderr
