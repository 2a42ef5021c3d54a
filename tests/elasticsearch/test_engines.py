"""The engine of a server is found out, or said beforehand; without a node."""

from __future__ import annotations

import base64
import json
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from urllib3 import Timeout

from slice_os import IndexOptions, SliceError
from slice_os.stores.cluster.engines.elasticsearch_engine import ELASTICSEARCH
from slice_os.stores.cluster.engines.opensearch_engine import OPENSEARCH
from slice_os.stores.cluster.schema.settings import choose, settings_of, template
from slice_os.stores.cluster.server import connection, detection
from slice_os.stores.cluster.server.connection import IndexHandle, parse_location
from slice_os.stores.registry import store_exists
from tests.command_line import Run
from tests.opensearch.double import NO_INDEX, Answer, Double, serving
from tests.opensearch.texts import DIALOGUES
from tests.store_contract.document_contract import CARD

KEY = "s3ntinel-k3y=="
OLD = {"version": {"number": "7.10.2"}, "tagline": "The OpenSearch Project"}
NEW = {"version": {"number": "9.5.3"}, "tagline": "You Know, for Search"}
PRODUCT = {"X-Elastic-Product": "Elasticsearch"}


@pytest.fixture
def double() -> Iterator[Double]:
    with serving(Double()) as server:
        yield server


def welcome(double: Double, about: Any, **more: Any) -> None:
    double.welcome = json.dumps(about).encode()
    for name, value in more.items():
        setattr(double, name, value)


@pytest.mark.parametrize(
    ("about", "sent", "status", "engine"),
    [
        ({"version": {"distribution": "opensearch", "number": "3.5.0"}}, {}, 200, OPENSEARCH),
        (OLD, {}, 200, OPENSEARCH),
        (NEW, PRODUCT, 200, ELASTICSEARCH),
        (NEW, {}, 200, ELASTICSEARCH),
        ({"error": "security_exception"}, PRODUCT, 403, ELASTICSEARCH),
        ({"error": "no permissions"}, {}, 403, OPENSEARCH),
    ],
)
def test_the_server_is_asked_once(
    double: Double, about: Any, sent: dict[str, str], status: int, engine: Any
) -> None:
    welcome(double, about, sent=sent, welcome_status=status)
    for _ in range(3):
        with IndexHandle.at(f"{double.url}/calls").client as client:
            assert detection.engine_of(client) is engine
    assert double.welcomed == 1


def test_a_proxy_that_has_lost_its_server_tells_no_engine(double: Double) -> None:
    location = f"{double.url}/calls"
    welcome(double, {"message": "no route"}, welcome_status=404)
    assert IndexHandle.at(location).engine is OPENSEARCH
    welcome(double, NEW, sent=PRODUCT, welcome_status=200)
    assert IndexHandle.at(location).engine is ELASTICSEARCH


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"name": "other"}, "neither OpenSearch nor Elasticsearch answers; use OpenSearch 3.5"),
        (["<html>"], "neither OpenSearch nor Elasticsearch answers"),
        (
            {**NEW, "version": {"number": "8.18.1"}},
            "Elasticsearch 8.18.1 answers; supported are OpenSearch 3.5 or newer and Elasticsearch "
            "8.19 and 9.x",
        ),
    ],
)
def test_a_server_that_does_not_do(double: Double, about: Any, says: str) -> None:
    welcome(double, about)
    with pytest.raises(SliceError, match=rf"^{double.url}/calls: {says}"):
        store_exists(f"{double.url}/calls")


@pytest.mark.parametrize(
    ("about", "answer", "told"),
    [
        ({**NEW, "version": {"number": "7.17.9"}}, (404, NO_INDEX), "Elasticsearch 7.17.9 answers"),
        ({"name": "other"}, (404, NO_INDEX), "neither OpenSearch nor Elasticsearch answers"),
        (NEW, (401, b'{"error": {"type": "security_exception"}}'), r"login refused \(401\)"),
    ],
    ids=["too old", "neither", "an expired key"],
)
@pytest.mark.parametrize("command", [("store", "info"), ("search", "a"), ("ingest", DIALOGUES)])
def test_what_cannot_serve_is_told_in_one_line(
    double: Double,
    command_line: Run,
    about: Any,
    answer: Answer,
    told: str,
    command: tuple[object, ...],
) -> None:
    welcome(double, about, sent=PRODUCT if about != {"name": "other"} else {})
    double.answer = lambda body: answer
    done = command_line(*command, "--store", f"{double.url}/calls")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert re.search(f"^slice-os: {double.url}/calls: {told}", done.err), done.err


def test_an_address_that_says_it_is_not_asked(double: Double) -> None:
    double.sent = PRODUCT
    scheme = f"elasticsearch+{double.url}"
    assert not store_exists(f"{scheme}/calls")
    assert not store_exists(f"opensearch+{double.url}/calls")
    assert double.welcomed == 0


def test_another_product_is_refused_where_elasticsearch_is_said(double: Double) -> None:
    double.answer = lambda body: (200, b"{}")
    with pytest.raises(SliceError, match=f"{double.url}/calls: .* nothing of Elasticsearch; does"):
        store_exists(f"elasticsearch+{double.url}/calls")


def test_logins(double: Double) -> None:
    double.sent = PRODUCT
    environ = {"ELASTIC_API_KEY": KEY}
    logins = [
        (f"elasticsearch+{double.url}/calls", environ, f"ApiKey {KEY}"),
        (f"elasticsearch+{double.url}/calls", {"SLICE_OS_TOKEN": "t0ken"}, "Bearer t0ken"),
        (f"opensearch+{double.url}/calls", environ, None),
        (f"{double.url}/calls", environ, None),
    ]
    for location, variables, expected in logins:
        parsed = parse_location(location, variables)
        assert KEY not in repr(parsed)
        with parsed.client() as client:
            assert not client.indices.exists(index="calls")
        assert double.headers[-1].get("authorization") == expected


def test_a_cloud_id_is_an_address() -> None:
    packed = base64.b64encode(b"eu.example.com$abc$def").decode()
    parsed = parse_location("elasticsearch+cloud://calls", {"ELASTIC_CLOUD_ID": f"my:{packed}"})
    assert parsed.location == "https://abc.eu.example.com:443/calls"
    assert parsed.find_engine() is ELASTICSEARCH
    for environ, says in (
        ({}, "set ELASTIC_CLOUD_ID"),
        ({"ELASTIC_CLOUD_ID": "my:no base64"}, "ELASTIC_CLOUD_ID: not a Cloud id"),
        ({"ELASTIC_CLOUD_ID": "my:bm90aGluZw=="}, "ELASTIC_CLOUD_ID: not a Cloud id"),
    ):
        with pytest.raises(SliceError, match=says):
            parse_location("elasticsearch+cloud://calls", environ)


def test_without_the_client_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    says = r"needs an extra: pip install 'slice-os\[elasticsearch\]'"
    with pytest.raises(SliceError, match=says):
        store_exists("elasticsearch+http://127.0.0.1:9/calls")


@pytest.mark.parametrize("scheme", ["elasticsearch+http", "http"])
def test_a_server_that_is_away(scheme: str) -> None:
    says = r"calls: no answer \(ConnectionError\); is the server run"
    with pytest.raises(SliceError, match=says):
        store_exists(f"{scheme}://127.0.0.1:9/calls")


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_a_host_that_accepts_nobody_is_given_up_soon(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_TIMEOUT", Timeout(connect=0.1, read=60))
    with ExitStack() as opened:
        listening = opened.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        began = time.monotonic()
        with pytest.raises(SliceError, match=r"calls: no answer \(Connection"):
            store_exists(f"{engine}+http://127.0.0.1:{listening.getsockname()[1]}/calls")
        assert time.monotonic() - began < 30


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_an_answer_has_as_long_as_the_store_allows(
    engine: str, double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(body: bytes) -> Answer:
        time.sleep(1)
        return 404, NO_INDEX

    double.answer, double.sent = late, PRODUCT
    location = f"{engine}+{double.url}/calls"
    assert not store_exists(location)
    monkeypatch.setattr(connection, "_TIMEOUT", Timeout(connect=60, read=0.1))
    with pytest.raises(SliceError, match=r"calls: no answer \(ConnectionTimeout\)"):
        store_exists(location)


@pytest.mark.parametrize("dimensions", [0, -1, CARD.dimension + 1])
def test_an_index_has_a_possible_number_of_dimensions(dimensions: int) -> None:
    message = f"^{dimensions} dimensions; the encoder has {CARD.dimension}"
    with pytest.raises(SliceError, match=message):
        choose(IndexOptions(truncate_dim=dimensions), CARD, 128, None, OPENSEARCH)


def test_an_index_of_the_other_engine() -> None:
    options = IndexOptions()
    settings = choose(options, CARD, 128, None, OPENSEARCH)
    mapping = template("calls-0*", options, settings)["template"]["mappings"]
    assert settings_of(mapping, "there", OPENSEARCH) == settings
    says = "^there: its field {} is of type {}, but {} searches {}; the index was copied"
    with pytest.raises(
        SliceError, match=says.format("vec", "knn_vector", "Elasticsearch", "dense_vector")
    ):
        settings_of(mapping, "there", ELASTICSEARCH)
    mapping["properties"]["reading"] = {"type": "keyword"}
    with pytest.raises(SliceError, match=says.format("reading", "keyword", "OpenSearch", "text")):
        settings_of(mapping, "there", OPENSEARCH)
