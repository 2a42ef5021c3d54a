"""Scripts of an engine that nobody has tried are compared with our scores before they are used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slice_os import SpanEncoder
from slice_os.search.run import make_query
from slice_os.stores.cluster.engines.opensearch_engine import OPENSEARCH
from slice_os.stores.cluster.search import scripted, server_flows
from slice_os.stores.cluster.search.exchange import Driver
from slice_os.stores.cluster.search.listing import require_index
from slice_os.stores.cluster.search.scripted import PAINLESS, ScriptEngine
from slice_os.stores.cluster.search.server_flows import ServerFlows
from slice_os.stores.cluster.server.connection import IndexHandle

COUNT = 3


@pytest.mark.parametrize(
    ("spoils", "expected", "told"),
    [
        ({}, PAINLESS, ""),
        ({"best_span": "1.7"}, None, "scripts of painless score a passage with 0.7000, which is "),
    ],
)
def test_a_script_is_proved_once(
    location: str,
    encoder: SpanEncoder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    spoils: dict[str, str],
    expected: ScriptEngine | None,
    told: str,
) -> None:
    read = scripted._painless
    monkeypatch.setattr(scripted, "_painless", lambda name: spoils.get(name) or read(name))
    monkeypatch.setattr(server_flows, "best_engine", lambda plugins: PAINLESS)
    handle = IndexHandle.at(location)
    index = require_index(handle)
    unproved = replace(index.settings, engine=replace(OPENSEARCH, proves_scripts=True))
    flows = ServerFlows(replace(index, settings=unproved), location)
    with handle.client as client:
        query = make_query(encoder, ["I need my boarding pass"])
        for _ in range(2):
            assert Driver(client, location).run(flows.find_engine(query)) is expected
    assert [told in record.getMessage() for record in caplog.records] == [True] * bool(told)
