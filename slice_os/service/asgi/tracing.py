"""Traces with OpenTelemetry, if its usual environment variables ask for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slice_os.errors import MissingExtraError
from slice_os.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def otlp_provider() -> TracerProvider | None:
    """A provider that sends spans to the endpoint in the environment, in batches.

    None if the environment names no endpoint, or turns traces off. Raises a `MissingExtraError` if
    the packages for it are not installed.
    """
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or not any(os.environ.get(name) for name in _ENDPOINTS):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtraError("Tracing (OTEL_EXPORTER_OTLP_ENDPOINT is set)", "tracing") from None
    ours = {SERVICE_VERSION: __version__}
    if "OTEL_SERVICE_NAME" not in os.environ:
        ours[SERVICE_NAME] = "slice-os"
    provider = TracerProvider(resource=Resource.create(ours))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Traced:
    """Makes every request a span in its sender's trace."""

    def __init__(self, app: ASGIApp, provider: TracerProvider) -> None:
        self._app = app
        self._tracer = provider.get_tracer("slice_os.service", __version__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from opentelemetry.trace import SpanKind, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract(dict(Headers(scope=scope)))
        method = scope["method"]
        with self._tracer.start_as_current_span(method, parent, SpanKind.SERVER) as span:

            async def traced(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(StatusCode.ERROR)
                await send(message)

            try:
                await self._app(scope, receive, traced)
            finally:
                route = getattr(scope.get("route"), "path", None)
                span.set_attribute("http.request.method", method)
                span.set_attribute("slice_os.request_id", scope["state"]["request_id"])
                if route is not None:
                    # Not the path, which has the ids of documents.
                    span.set_attribute("http.route", route)
                    span.update_name(f"{method} {route}")
