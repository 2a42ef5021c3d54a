"""The app: routes, what they share, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import Depends, FastAPI

from slice_os.service.access import check_reach, from_here, with_key
from slice_os.service.metrics import Metrics, Observed
from slice_os.service.models.errors import ERRORS, describe_errors
from slice_os.service.problems import answer_errors
from slice_os.service.request_frame import RequestFrame
from slice_os.service.routes import (
    counts,
    documents,
    encoding,
    export,
    health,
    labels,
    metrics,
    mining,
    search,
    stores,
    tag,
    topics,
)
from slice_os.service.services import Services
from slice_os.service.settings import ServiceSettings
from slice_os.service.tracing import Traced, otlp_provider
from slice_os.service.tracing import wanted as tracing_wanted
from slice_os.service.web_page import serve_page
from slice_os.service.whole_requests import WholeRequests
from slice_os.version import __version__

# A new group of requests is a file in routes/ and a name here. `health` needs no key.
ROUTES = (
    metrics,
    stores,
    search,
    mining,
    export,
    encoding,
    documents,
    topics,
    counts,
    labels,
    tag,
)


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI app; its stores are opened when they are first used.

    Args:
        settings: what it serves, and how much of it.

    Raises:
        InputError: if the keys cannot be read, or there are none and others than this machine
            could reach the service.
    """
    check_reach(settings)
    services = Services.of(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(services.close)
        if tracer is not None:
            await asyncio.to_thread(tracer.shutdown)

    app = FastAPI(
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
    groups = (health, *ROUTES)
    app.state.routes = [route for group in groups for route in group.router.routes]
    answer_errors(app)
    guards = [Depends(from_here)]
    app.include_router(health.router, dependencies=guards)
    if services.keys is not None:
        guards.append(Depends(with_key))
    for group in ROUTES:
        app.include_router(group.router, dependencies=guards, responses=ERRORS)
    app.openapi = partial(_description, app)  # type: ignore[method-assign]
    serve_page(app)
    # The last one added is the outermost.
    app.add_middleware(WholeRequests, limits=settings.limits)
    app.state.metrics = counted = Metrics(services.pool)
    tracer = otlp_provider() if tracing_wanted() else None
    if tracer is not None:
        app.add_middleware(Traced, provider=tracer)
    app.add_middleware(RequestFrame)
    app.add_middleware(Observed, metrics=counted)
    return app


def _description(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with the shape of errors."""
    description = FastAPI.openapi(app)
    describe_errors(description["components"]["schemas"])
    return description
