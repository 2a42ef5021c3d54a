"""The app: routes, what they share, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from slice_os.service.problems import answer_errors
from slice_os.service.request_frame import RequestFrame
from slice_os.service.routes import (
    documents,
    encoding,
    health,
    labels,
    mining,
    search,
    stores,
    tag,
    topics,
)
from slice_os.service.services import Services
from slice_os.service.settings import ServiceSettings
from slice_os.service.web_page import serve_page
from slice_os.service.whole_requests import WholeRequests
from slice_os.version import __version__

# A new group of requests is a file in routes/ and a name here.
ROUTES = (health, stores, search, mining, encoding, documents, topics, labels, tag)


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI app; its stores are opened when they are first used.

    Args:
        settings: what it serves, and how much of it.
    """
    services = Services.of(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(services.close)

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
    answer_errors(app)
    for group in ROUTES:
        app.include_router(group.router)
    serve_page(app)
    # The last one added is the outermost.
    app.add_middleware(WholeRequests, limits=settings.limits)
    app.add_middleware(RequestFrame)
    return app
