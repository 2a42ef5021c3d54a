"""Health: whether the process lives, and whether it can answer."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from time import monotonic
from typing import Literal

from pydantic import BaseModel
from starlette.responses import Response

from slice_os.errors import SliceError
from slice_os.service.resources.bodies import JsonAnswer, Resource
from slice_os.service.services import Services, Shared

logger = logging.getLogger("slice_os.service")

router = Resource("health")

_KEPT_SECONDS = 1.0


class HealthAnswer(BaseModel):
    """The process lives."""

    status: Literal["ok"]


class ReadyAnswer(BaseModel):
    """The state of the service, and of each store by its name."""

    status: Literal["ready", "not ready"]
    stores: dict[str, Literal["ok", "unavailable"]]


@router.get("/health", response_model=HealthAnswer)
async def health() -> dict[str, str]:
    """Tell that the process lives."""
    return {"status": "ok"}


@router.get("/ready", response_model=ReadyAnswer, responses={503: {"model": ReadyAnswer}})
async def ready(services: Shared) -> Response:
    """Tell whether every store could be read, with its encoder, within the last second."""
    # Nobody needs a key for it: so all who ask within a second have one answer.
    if services.states is None or (
        services.states.done() and monotonic() - services.looked > _KEPT_SECONDS
    ):
        look = services.pool.run(partial(_states, services), "health")
        services.states, services.looked = asyncio.ensure_future(look), monotonic()
    states = await asyncio.shield(services.states)
    fine = all(state == "ok" for state in states.values())
    body = {"status": "ready" if fine else "not ready", "stores": states}
    return JsonAnswer(body, 200 if fine else 503)


def _states(services: Services) -> dict[str, str]:
    states = {}
    for name in services.stores.names:
        try:
            services.stores.get(name).info()
            states[name] = "ok"
        except SliceError as error:
            # This answer needs no key, so the reason is only in the log.
            logger.warning("store %s: %s", name, error)
            states[name] = "unavailable"
    return states
