"""The official client of Elasticsearch under the calls of opensearch-py.

Both servers have the same requests, but for those that `Engine` names. The official client sends
them, with its own connections, retries and tracing; errors become those of opensearch-py.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import opensearchpy
from opensearchpy import OpenSearch, exceptions
from opensearchpy.serializer import JSONSerializer

from slice_os.errors import imported
from slice_os.stores.cluster.engines.engine import Engine

if TYPE_CHECKING:
    from elastic_transport import ApiResponseMeta
    from elasticsearch import AsyncElasticsearch, Elasticsearch

# What the official client keeps for itself, and its transport is told with each request.
_TOLD = ("request_timeout", "max_retries", "retry_on_status", "retry_on_timeout")


def connect(options: Mapping[str, Any], engine: Engine, asynchronous: bool = False) -> Any:
    """A client, or an asyncio client, that sends its requests through an official one.

    Raises a `MissingExtraError` if that is not installed.
    """
    package = imported("elasticsearch", "A store in Elasticsearch", "elasticsearch")
    # The first may be of urllib3, with a limit of its own for connecting.
    renamed = {"timeout": "request_timeout", "pool_maxsize": "connections_per_node"}
    given = {renamed.get(name, name): value for name, value in options.items()}
    made = package.AsyncElasticsearch if asynchronous else package.Elasticsearch
    return adapted(made(**given, retry_on_status=(502, 503, 504)), engine)


def adapted(official: Elasticsearch | AsyncElasticsearch, engine: Engine) -> Any:
    """A client, or an asyncio client, over an official one that is there already."""
    asynchronous = iscoroutinefunction(official.close)
    kind = _AsyncTransport if asynchronous else _Transport
    transport: Any = lambda *_, **__: kind(official, engine)  # noqa: E731
    made = opensearchpy.AsyncOpenSearch if asynchronous else OpenSearch
    return made(transport_class=transport)


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
        ignore = options.pop("ignore", ())
        sent = {"accept": "application/json", **self.official._headers}
        meta, answer = yield {
            **{name: options.pop(name, getattr(self.official, f"_{name}")) for name in _TOLD},
            "method": method,
            "target": f"{url}?{urlencode(options)}" if options else url,
            "headers": sent | ({} if body is None else {"content-type": "application/json"}),
            "body": None if body is None else self.serializer.dumps(body),
        }
        fine = 200 <= meta.status < 300
        if fine and meta.headers.get("x-elastic-product") != self.engine.name:
            told = f"nothing of {self.engine.name}; does a proxy drop its header X-Elastic-Product?"
            raise exceptions.TransportError("N/A", "", {"error": {"reason": told}})
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
