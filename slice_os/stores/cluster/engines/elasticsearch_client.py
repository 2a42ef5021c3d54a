"""The official client of Elasticsearch under the calls of opensearch-py.

Both servers have the same requests, but for those that `Engine` names. The official client sends
them, with its own connections, retries and tracing; errors become those of opensearch-py.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
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

    def exchange(
        self, method: str, url: str, params: Any = None, body: Any = None, headers: Any = None
    ) -> Generator[dict[str, Any], tuple[ApiResponseMeta, Any], Any]:
        """Yields a request, takes what came for it, and returns the answer."""
        options = dict(params or {})
        ignore, limit = options.pop("ignore", ()), options.pop("request_timeout", None)
        sent = {"accept": "application/json", **self.official._headers}
        request = {
            "method": method,
            "target": f"{url}?{urlencode(options)}" if options else url,
            "headers": sent | ({} if body is None else {"content-type": "application/json"}),
            "body": None if body is None else self.serializer.dumps(body),
        }
        meta, answer = yield request | ({} if limit is None else {"request_timeout": limit})
        fine = 200 <= meta.status < 300
        if fine and meta.headers.get("x-elastic-product") != self.engine.name:
            raise StoreError(
                f"{meta.node.scheme}://{meta.node.host}:{meta.node.port}: not {self.engine.name}, "
                "or a proxy drops its header X-Elastic-Product"
            )
        if method == "HEAD" and meta.status in (200, 404):
            return fine
        if fine or meta.status in (ignore if isinstance(ignore, Collection) else (ignore,)):
            return answer
        error = answer.get("error", answer) if isinstance(answer, dict) else answer
        named = error.get("type", error) if isinstance(error, dict) else error
        kind = exceptions.HTTP_EXCEPTIONS.get(meta.status, exceptions.TransportError)
        raise kind(meta.status, named, answer)


class _Transport(_Requests):
    def perform_request(self, *request: Any, **more: Any) -> Any:
        steps = self.exchange(*request, **more)
        with _errors_translated():
            came = self.official.transport.perform_request(**next(steps))
        return _end(steps, came)

    def close(self) -> None:
        self.official.close()


class _AsyncTransport(_Requests):
    async def perform_request(self, *request: Any, **more: Any) -> Any:
        steps = self.exchange(*request, **more)
        with _errors_translated():
            came = await self.official.transport.perform_request(**next(steps))
        return _end(steps, came)

    async def close(self) -> None:
        await self.official.close()


def _end(steps: Generator[Any, Any, Any], came: Any) -> Any:
    try:
        steps.send(came)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("an exchange has one request")


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
