"""A real node behind a proxy that spoils answers: complete, or one line, by every way to score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from slice_os import Corpus, SpanEncoder, StoreError
from slice_os.ingest.pipeline import IngestSummary
from slice_os.stores.cluster.search import server_flows
from slice_os.stores.cluster.search.scripted import NATIVE, PAINLESS, ScriptEngine

from .proxy import (
    Fault,
    Proxy,
    closed,
    cut,
    no_fault,
    no_route,
    page,
    proxying,
    refusing,
    shards_failed,
    shortened,
    timed_out,
)
from .support import assert_as_if_in_one_go, concrete, dialogues, write_lines

PHRASES = ["please change my seat", "I need my boarding pass"]
SPOILING: dict[str, Fault] = {
    "shards failed": shards_failed,
    "timed out": timed_out,
    "short": shortened,
    "page": page,
}
PASSING: dict[str, Fault] = {
    **SPOILING,
    "429": refusing(429),
    "503": refusing(503, "1"),
    "404": no_route,
    "closed": closed,
    "cut": cut,
}


@pytest.fixture
def proxy(opensearch_url: str) -> Iterator[Proxy]:
    with proxying(Proxy(opensearch_url)) as proxy:
        yield proxy


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "dialogues.jsonl", dialogues(6))


def spoil(proxy: Proxy, fault: Fault, number: int) -> None:
    """Spoil one of the requests that come."""
    first = proxy.requests
    proxy.fault = lambda request, forward: (
        fault(request, forward) if request.number - first == number else forward()
    )


def found(corpus: Corpus, how: str) -> list[tuple[Any, ...]]:
    asked: dict[str, Callable[[], Any]] = {
        "search": lambda: corpus.search(PHRASES),
        "mine": lambda: corpus.mine(PHRASES, threshold=0.5),
        "mine candidates": lambda: corpus.mine(PHRASES, threshold=0.5, exhaustive=False),
    }
    return [(hit.phrase, hit.doc_id, hit.start, hit.end) for hit in asked[how]()]


@pytest.mark.parametrize("engine", [NATIVE, PAINLESS, None], ids=["native", "painless", "client"])
def test_answers_are_complete_or_errors(
    proxy: Proxy,
    index_name: str,
    encoder: SpanEncoder,
    lines: Path,
    engine: ScriptEngine | None,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if engine is NATIVE:
        request.getfixturevalue("native_engine")
    monkeypatch.setattr(server_flows, "best_engine", lambda _: engine)
    with Corpus(f"{proxy.url}/{index_name}", encoder) as corpus:
        corpus.ingest([lines])
        for how in ("search", "mine", "mine candidates"):
            found(corpus, how)  # what the server can is known then
            before = proxy.requests
            whole = found(corpus, how)
            assert whole
            needed = proxy.requests - before
            for name, fault in SPOILING.items():
                refused = 0
                for number in range(needed):
                    spoil(proxy, fault, number)
                    try:
                        assert found(corpus, how) == whole, (how, name, number)
                    except StoreError as error:
                        refused += 1
                        told = str(error)
                        assert told.startswith(f"{proxy.url}/{index_name}: "), told
                        assert "\n" not in told
                assert refused, (how, name)
            proxy.fault = no_fault


@pytest.mark.parametrize("fault", PASSING.values(), ids=list(PASSING))
@pytest.mark.usefixtures("small_requests", "quick_lease")
def test_a_load_goes_on_after_what_passes(
    proxy: Proxy,
    opensearch: OpenSearch,
    index_name: str,
    encoder: SpanEncoder,
    lines: Path,
    fault: Fault,
) -> None:
    def spoil_once(summary: IngestSummary) -> None:
        if summary.documents == 3:
            spoil(proxy, fault, 0)

    with Corpus(f"{proxy.url}/{index_name}-fresh", encoder) as corpus:
        corpus.ingest([lines])
    with Corpus(f"{proxy.url}/{index_name}", encoder) as corpus:
        corpus.ingest([lines], progress=spoil_once)
    assert_as_if_in_one_go(opensearch, index_name, f"{index_name}-fresh")


@pytest.mark.usefixtures("small_requests", "quick_lease")
def test_an_index_that_is_deleted_meanwhile(
    opensearch: OpenSearch, address: str, index_name: str, encoder: SpanEncoder, lines: Path
) -> None:

    def delete(summary: IngestSummary) -> None:
        if summary.documents == 3:
            opensearch.indices.delete(index=concrete(opensearch, index_name))

    with Corpus(address, encoder) as corpus, pytest.raises(StoreError, match="deleted"):
        corpus.ingest([lines], progress=delete)
    with Corpus(address, encoder) as corpus:
        assert corpus.ingest([lines]).documents == 6
        assert len(corpus) == 6
