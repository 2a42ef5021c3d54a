"""Metrics for Prometheus, and an access line of JSON for each request."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from time import perf_counter

import orjson
import prometheus_client as prometheus
from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slice_os.service.asgi.request_frame import SenderLeft
from slice_os.service.asgi.work import WorkPool

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
# As nginx writes it.
_SENDER_LEFT = 499

access_log = logging.getLogger("slice_os.service.access")
router = APIRouter(tags=["health"])


class Observed:
    """Counts every request in a registry, and logs it without its content."""

    def __init__(
        self, app: ASGIApp, registry: prometheus.CollectorRegistry, pool: WorkPool
    ) -> None:
        self._app = app
        prometheus.ProcessCollector(registry=registry)
        labels = ("method", "route")
        self._requests = prometheus.Counter(
            "slice_os_requests", "Requests answered.", (*labels, "status"), registry=registry
        )
        self._seconds = prometheus.Histogram(
            "slice_os_request_seconds",
            "Time from a request to the end of its answer.",
            labels,
            buckets=_SECONDS,
            registry=registry,
        )
        working = prometheus.Gauge(
            "slice_os_working_requests",
            "Requests that are worked on or wait for a thread.",
            registry=registry,
        )
        working.set_function(lambda: pool.admitted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = perf_counter()
        status, size = 500, 0

        async def observed(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except SenderLeft:
            status = _SENDER_LEFT
        finally:
            self._note(scope, status, size, perf_counter() - begun)

    def _note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        # Not paths: they have ids of documents, and any made-up path would be a label of its own.
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if route != "other" else "other"
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(method, route).observe(seconds)
        state = scope.get("state", {})
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "request_id": state.get("request_id"),
            "method": scope["method"],
            "route": route,
            "status": status,
            "milliseconds": round(1_000 * seconds, 3),
            "bytes": size,
            "key": state.get("key"),
        }
        # The page has dozens of files; what is wrong would drown among them.
        if route != "other" or status >= 400:
            access_log.info("%s", orjson.dumps(line).decode())


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {prometheus.CONTENT_TYPE_LATEST.partition(";")[0]: {}}}},
)
async def metrics(request: Request) -> Response:
    """The counters of the service, as Prometheus reads them."""
    counted = prometheus.generate_latest(request.app.state.registry)
    return Response(counted, headers={"Content-Type": prometheus.CONTENT_TYPE_LATEST})
