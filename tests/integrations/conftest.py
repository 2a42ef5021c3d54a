"""Shared by the tests of frameworks: none of them may report anything, and the demo's contracts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slice_os import Corpus, SpanEncoder

# Read when a framework is imported, which test modules do after this one.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
for _name in (
    "LANGCHAIN_TRACING_V2",
    "LANGSMITH_TRACING",
    "LANGCHAIN_TRACING",
    "LANGSMITH_API_KEY",
):
    os.environ.pop(_name, None)

CONTRACTS = Path(__file__).parents[2] / "demo" / "contracts"
SHORT = sorted(CONTRACTS.glob("[cel]*.txt"), key=lambda path: path.stat().st_size)[:4]
PHRASE = "the contract renews by itself each year"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Tests of asyncio run on asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session")
def contracts(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with four short contracts of the demo."""
    folder = tmp_path_factory.mktemp("contracts") / "store"
    with Corpus(folder, encoder) as corpus:
        corpus.ingest(SHORT)
    return folder
