"""Whether the service lives, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from slice_os.errors import SliceError
from slice_os.service.services import Services, Shared

router = APIRouter(tags=["health"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Whether the process lives."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(services: Shared) -> Response:
    """Whether every store can be read, and its encoder is loaded."""
    states = await services.pool.run(lambda: _states(services))
    fine = all(state == "ok" for state in states.values())
    body = {"status": "ready" if fine else "not ready", "stores": states}
    return JSONResponse(body, status_code=200 if fine else 503)


def _states(services: Services) -> dict[str, str]:
    states = {}
    for name in services.stores.names:
        try:
            services.stores.get(name).info()
            states[name] = "ok"
        except SliceError as error:
            states[name] = " ".join(str(error).split())
    return states
