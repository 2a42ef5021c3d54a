"""Odd values in fields: `tests.soak.fields` asks with all of them, this with some of each kind."""

from __future__ import annotations

from itertools import islice

import pytest
from starlette.testclient import TestClient

from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings
from tests.soak.fields import fault, odd_requests, prepare


@pytest.mark.parametrize("first", range(4))
def test_odd_values_are_answered_or_refused_in_one_line(
    settings: ServiceSettings, caplog: pytest.LogCaptureFixture, first: int
) -> None:
    app = create_app(settings)
    with TestClient(app, "http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        prepare(client)
        for asked in islice(odd_requests(), 67 * first, None, 4 * 67):
            status, why = fault(client, asked)
            assert not why, f"{status} {asked}"
    assert not [one for one in caplog.records if one.exc_info]
