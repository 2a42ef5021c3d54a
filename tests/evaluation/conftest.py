"""Shared by the tests of harnesses: the bundled model as they see it."""

from __future__ import annotations

import pytest

from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.registry import open_encoder


@pytest.fixture(scope="session")
def shipped() -> TextEncoder:
    return open_encoder(threads=1)
