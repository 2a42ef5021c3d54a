"""What the tests of the core share: the bundled encoder and real texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from slice_os import SpanEncoder

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def encoder() -> SpanEncoder:
    """The bundled model on two threads."""
    return SpanEncoder(threads=2)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real texts, where they are beside the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"no real texts at {SHARED}")
    return SHARED
