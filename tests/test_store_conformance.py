"""The local store keeps the contract of stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store_contract import StoreConformance


class TestLocalStore(StoreConformance):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "store")
