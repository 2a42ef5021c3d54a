"""The app: resources, the layers around them, and the page; and the server that runs it."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from slice_os.errors import InputError
from slice_os.service.asgi import metrics, tracing
from slice_os.service.asgi.access import DESCRIBED, Guarded, check_reach
from slice_os.service.asgi.problems import ERRORS, answer_errors, describe_errors
from slice_os.service.asgi.protocol import PromptProtocol
from slice_os.service.asgi.request_frame import RequestFrame
from slice_os.service.asgi.whole_requests import WholeRequests
from slice_os.service.asgi.work import WorkPool, share_memory
from slice_os.service.resources import (
    counts,
    documents,
    encoding,
    health,
    labels,
    matches,
    mining,
    search,
    stores,
    tag,
    topic_improvement,
    topics,
)
from slice_os.service.services import Services
from slice_os.service.settings import Limits, ServiceSettings
from slice_os.version import __version__

# A new resource is a file in resources/ and a name here. `health` needs no key.
RESOURCES = (
    metrics,
    stores,
    search,
    mining,
    encoding,
    documents,
    topics,
    counts,
    topic_improvement,
    matches,
    labels,
    tag,
)
WEB = Path(__file__).with_name("web")
# Browsers keep the files of the page, but ask each time whether they have changed.
_ASK = {"Cache-Control": "no-cache"}
_UNREAD_MILLISECONDS = 60_000
# To tell those who wait that the service stops.
_TELLING_SECONDS = 2.0
# That a process may have open, at least where the system allows it.
_FILES = 8_192


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI app; it opens a store when a request first needs it.

    Raises:
        InputError: if the keys cannot be read, or there are none and others than this machine
            could reach the service.
    """
    check_reach(settings)
    services = Services(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(services.close)
        if tracer is not None:
            await asyncio.to_thread(tracer.shutdown)

    app = _Described(
        title="SLICE-OS",
        summary="Find every passage that says a phrase in other words.",
        version=__version__,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        # Their pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.services = services
    app.state.routes = routes = [
        route for one in (health, *RESOURCES) for route in one.router.routes
    ]
    answer_errors(app)
    app.include_router(health.router)
    described = [] if services.keys is None else [DESCRIBED]
    for resource in RESOURCES:
        app.include_router(resource.router, dependencies=described, responses=ERRORS)
    _serve_page(app)
    # The last one added is the outermost.
    app.add_middleware(WholeRequests, limits=settings.limits, unread=services.pool.unread)
    unlocked = health.router.routes
    app.add_middleware(Guarded, keys=services.keys, routes=routes, open_routes=unlocked)
    app.state.registry = registry = CollectorRegistry()
    tracer = tracing.otlp_provider()
    if tracer is not None:
        app.add_middleware(tracing.Traced, provider=tracer)
    app.add_middleware(RequestFrame, limits=settings.limits)
    app.add_middleware(metrics.Observed, registry=registry, pool=services.pool)
    return app


def run_service(settings: ServiceSettings, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; running requests may then end.

    ``started`` is called with the address of the page as soon as the service listens.

    Raises an `InputError` if the host or port cannot be listened on.
    """
    _log_to_stderr()
    share_memory()
    app = create_app(settings)
    # Whoever asks a service that restarts would rather be refused than wait for its models, or for
    # its description, which is kept.
    app.state.services.load()
    app.openapi()
    # Passes of the garbage collector stop all threads; what is there to stay needs none.
    gc.collect()
    gc.freeze()
    listener = listening(settings.host, settings.port)
    server = AppServer(app)
    port = listener.getsockname()[1]
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    # Connections wait until the app has started.
    started(f"http://{shown}:{port}/")
    # The server ends gracefully, then raises the signal that stopped it once more.
    with listener, suppress(KeyboardInterrupt):
        server.run([listener])


class AppServer(uvicorn.Server):
    """Serves an app. When it stops, work that does not end in time is told to those who wait."""

    def __init__(self, app: FastAPI) -> None:
        self._pool: WorkPool = app.state.services.pool
        limits: Limits = app.state.services.settings.limits
        self._seconds = limits.stop_seconds
        config = uvicorn.Config(
            app,
            http=partial(  # type: ignore[arg-type]
                PromptProtocol, limits.idle_seconds, _connections(limits.connections), {}
            ),
            ws="none",
            # Its lines would show phrases.
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=round(self._seconds + _TELLING_SECONDS),
        )
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new requests, and let those that run end."""
        asyncio.get_running_loop().call_later(self._seconds, self._pool.stop)
        await super().shutdown(sockets)


def _connections(most: int) -> int:
    """The most connections that leave enough of the files that a process may have open.

    These become as many as the system lets it have; on Windows, connections are no files.
    """
    try:
        import resource
    except ImportError:
        return most
    files, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < _FILES:
        files = min(_FILES, allowed) if allowed > 0 else _FILES
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, allowed))
    return min(most, files // 4)


class _Described(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """The OpenAPI description, with the shape of errors."""
        description = super().openapi()
        describe_errors(description["components"]["schemas"])
        return description


class _Assets(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_ASK)
        return response


def _serve_page(app: FastAPI) -> None:
    """Answer ``/`` with the page, and ``/assets/...`` with its files."""

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(WEB / "index.html", headers=_ASK)

    app.mount("/assets", _Assets(directory=WEB / "assets"), name="assets")


def _log_to_stderr() -> None:
    """Log a line of JSON for every request, and errors."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(message)s"))
    for name, level in (("slice_os.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(lines)
        logger.propagate = False


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; an `InputError` if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise InputError(
            f"{host}:{port}: cannot listen there ({error.strerror}); choose another --host or "
            "--port"
        ) from None
    # Connections inherit both. An answer's head and body go out at once, not 40 ms apart: asyncio
    # sees to that only for sockets that were made with a protocol.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # What is left to send to a reader who takes nothing is dropped.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MILLISECONDS)
    return listener
