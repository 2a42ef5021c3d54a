"""The official client of Elasticsearch under the calls of opensearch-py.

Both servers have the same requests, but for those that `Engine` names. The official client sends
them, with its own connections, retries and tracing; errors become those of opensearch-py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import opensearchpy
from opensearchpy import OpenSearch, exceptions
from opensearchpy.serializer import JSONSerializer

from slice_os.errors import StoreError, imported
from slice_os.stores.cluster.engines.engine import Engine

if TYPE_CHECKING:
    from elastic_transport import ApiResponseMeta
    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from opensearchpy import AsyncOpenSearch

RETRIED = (502, 503, 504)


def connect(options: Mapping[str, Any], engine: Engine) -> OpenSearch:
    """A client that sends its requests through the official one.

    Raises a `MissingExtraError` if that is not installed.
    """
    return adapted(_official("Elasticsearch", options), engine)


def connect_async(options: Mapping[str, Any], engine: Engine) -> AsyncOpenSearch:
    """As `connect`, an asyncio client."""
    return adapted_async(_official("AsyncElasticsearch", options), engine)


def adapted_async(official: AsyncElasticsearch, engine: Engine) -> AsyncOpenSearch:
    """As `adapted`, of an asyncio client."""
    transport: Any = lambda *_, **__: _AsyncTransport(official, engine)  # noqa: E731
    return opensearchpy.AsyncOpenSearch(transport_class=transport)


def adapted(official: Elasticsearch, engine: Engine) -> OpenSearch:
    """A client over an official one that is there already."""
    transport: Any = lambda *_, **__: _Transport(official, engine)  # noqa: E731
    return OpenSearch(transport_class=transport)


def _official(name: str, options: Mapping[str, Any]) -> Any:
    package = imported("elasticsearch", "A store in Elasticsearch", "elasticsearch")
    limit = options["timeout"]
    renamed = {
        "request_timeout": getattr(limit, "read_timeout", limit),
        "connections_per_node": options["pool_maxsize"],
        "retry_on_status": RETRIED,
    }
    same = {
        name: options[name]
        for name in ("hosts", "headers", "ca_certs", "client_cert", "client_key")
        if name in options
    }
    return getattr(package, name)(**same, **renamed)


@dataclass(eq=False)
class _Requests:
    """Requests as the official transport takes them, and its answers as opensearch-py has them."""

    official: Any
    engine: Engine
    serializer: JSONSerializer = field(default_factory=JSONSerializer)

    def _request(
        self, method: str, url: str, params: Mapping[str, Any], body: Any, timeout: float | None
    ) -> dict[str, Any]:
        headers = {"accept": "application/json", **self.official._headers}
        if body is not None:
            body = self.serializer.dumps(body)
            headers["content-type"] = "application/json"
        target = f"{url}?{urlencode(params)}" if params else url
        limit = {} if timeout is None else {"request_timeout": timeout}
        return {"method": method, "target": target, "headers": headers, "body": body, **limit}

    def _answer(
        self, method: str, meta: ApiResponseMeta, body: Any, ignore: Collection[int]
    ) -> Any:
        fine = 200 <= meta.status < 300
        if fine and meta.headers.get("x-elastic-product") != self.engine.name:
            raise StoreError(
                f"{meta.node.scheme}://{meta.node.host}:{meta.node.port}: not {self.engine.name}, "
                "or a proxy drops its header X-Elastic-Product"
            )
        if method == "HEAD" and meta.status in (200, 404):
            return fine
        if fine or meta.status in ignore:
            return body
        error = body.get("error", body) if isinstance(body, dict) else body
        named = error.get("type", error) if isinstance(error, dict) else error
        kind = exceptions.HTTP_EXCEPTIONS.get(meta.status, exceptions.TransportError)
        raise kind(meta.status, named, body)


class _Transport(_Requests):
    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        options, ignore, timeout = _split(params)
        with _errors_translated():
            meta, answer = self.official.transport.perform_request(
                **self._request(method, url, options, body, timeout)
            )
        return self._answer(method, meta, answer, ignore)

    def close(self) -> None:
        self.official.close()


class _AsyncTransport(_Requests):
    async def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        options, ignore, timeout = _split(params)
        with _errors_translated():
            meta, answer = await self.official.transport.perform_request(
                **self._request(method, url, options, body, timeout)
            )
        return self._answer(method, meta, answer, ignore)

    async def close(self) -> None:
        await self.official.close()


def _split(
    params: Mapping[str, Any] | None,
) -> tuple[dict[str, Any], Collection[int], float | None]:
    """Parameters of the URL, statuses that are no errors, and the time limit."""
    options = dict(params or {})
    ignore, timeout = options.pop("ignore", ()), options.pop("request_timeout", None)
    return options, (ignore,) if isinstance(ignore, int) else ignore, timeout


@contextmanager
def _errors_translated() -> Iterator[None]:
    import elastic_transport

    try:
        yield
    except elastic_transport.TlsError as error:
        raise exceptions.SSLError("N/A", str(error), error) from None
    except elastic_transport.ConnectionTimeout as error:
        raise exceptions.ConnectionTimeout("TIMEOUT", str(error), error) from None
    except elastic_transport.ConnectionError as error:
        raise exceptions.ConnectionError("N/A", str(error), error) from None
    except elastic_transport.SerializationError as error:
        raise exceptions.SerializationError(str(error)) from None
