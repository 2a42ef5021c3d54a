"""Which engine a server runs: found out once for an address, by ``GET /``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson
from opensearchpy import OpenSearch, exceptions

from slice_os.errors import StoreError
from slice_os.stores.cluster.engines.elasticsearch_client import adapted
from slice_os.stores.cluster.engines.elasticsearch_engine import ELASTICSEARCH
from slice_os.stores.cluster.engines.engine import Engine
from slice_os.stores.cluster.engines.opensearch_engine import OPENSEARCH
from slice_os.stores.cluster.server.answers import explain

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

ENGINES = (OPENSEARCH, ELASTICSEARCH)

_found: dict[str, Engine] = {}


def engine_of(client: OpenSearch | AsyncOpenSearch) -> Engine:
    """The engine that a client is for."""
    engine: Engine = getattr(client.transport, "engine", OPENSEARCH)
    return engine


def engine_at(url: str, location: str, options: Mapping[str, Any]) -> Engine:
    """The engine that answers at an address; asked once in a process.

    Args:
        url: of the server.
        location: how messages call the store.
        options: of a client of opensearch-py.

    Raises a `StoreError` if none of ours does, or one that is too old; an `UnavailableError` if
    nobody does.
    """
    if url not in _found:
        engine = _ask(location, options)
        if engine is None:
            return OPENSEARCH
        _found[url] = engine
    return _found[url]


def _ask(location: str, options: Mapping[str, Any]) -> Engine | None:
    """The engine; None if it is not told, as by a proxy that has lost its server."""
    with closing(OpenSearch(**options)) as client:
        try:
            # Who may not ask is told the product all the same.
            connection = client.transport.get_connection()
            status, sent, text = connection.perform_request("GET", "/", ignore=(403, 404))
        except exceptions.OpenSearchException as error:
            raise explain(error, location) from None
    headers = {name.lower(): value for name, value in sent.items()}
    try:
        body = orjson.loads(text)
        number = str(body.get("version", {}).get("number", ""))
    except (ValueError, AttributeError):
        body, number = {}, ""
    engine = next((one for one in ENGINES if one.answers(headers, body)), None)
    if engine is None and status != 200:
        return OPENSEARCH if status == HTTPStatus.FORBIDDEN else None
    supported = " and ".join(one.supported for one in ENGINES)
    if engine is None:
        raise StoreError(
            f"{location}: neither OpenSearch nor Elasticsearch answers; use {supported}"
        )
    version = re.match(r"(\d+)\.(\d+)", number)
    if version and (int(version[1]), int(version[2])) < engine.oldest:
        raise StoreError(f"{location}: {engine.name} {number} answers; supported are {supported}")
    return engine


def as_client(client: Any) -> Any:
    """A client for our calls: as it is, or an official one of Elasticsearch under them."""
    is_official = type(client).__module__.startswith("elasticsearch")
    return adapted(client, ELASTICSEARCH) if is_official else client
