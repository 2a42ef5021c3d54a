"""Shared by the tests: the bundled encoder."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from slice_os import SpanEncoder

# A busy machine must not fail a test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def encoder() -> SpanEncoder:
    """The bundled model on two threads."""
    return SpanEncoder(threads=2)
