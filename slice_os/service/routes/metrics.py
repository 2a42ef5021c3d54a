"""Metrics for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {CONTENT_TYPE_LATEST.partition(";")[0]: {}}}},
)
async def metrics(request: Request) -> Response:
    """What the service has counted, as Prometheus reads it."""
    counted = generate_latest(request.app.state.metrics.registry)
    return Response(counted, headers={"Content-Type": CONTENT_TYPE_LATEST})
