"""Access to the service: by key, by the host that a request asks, and by its origin."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from slice_os.errors import InputError
from slice_os.service.asgi.keys import CURATE, METRICS, READ, WRITE, ApiKey, find_key
from slice_os.service.asgi.problems import Problem
from slice_os.service.asgi.request_frame import replayed
from slice_os.service.asgi.work import SENDER
from slice_os.service.settings import ServiceSettings

# Other requests than GET that change nothing.
_READING = {
    "/search",
    "/mine",
    "/scan",
    "/tag",
    "/encode",
    "/export",
    "/precision",
    "/documents/{doc_id:path}/highlights",
    "/pages/{doc_id:path}",
    "/topics/{name}/test",
    "/topics/{name}/suggest",
    "/topics/{name}/estimate",
    "/match",
}
DESCRIBED = Depends(HTTPBearer(auto_error=False, description="A key that `slice-os key` made."))
"""Describes in OpenAPI how keys are sent; `Guarded` has checked them."""


def check_reach(settings: ServiceSettings) -> None:
    """Refuse to serve other machines without keys, with an `InputError`."""
    host = urlsplit(settings.reached_at or "").hostname or settings.host
    if settings.keys is None and not is_loopback(host):
        raise InputError(
            f"{host}: others can reach this address, so that requests need keys; make one with "
            "`slice-os key`, and give --keys"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guarded:
    """Refuses requests by host, origin and key, before anything of their bodies is read.

    It raises a `Problem`: 421 for a foreign host, 403 for a foreign origin or a key that does not
    allow the request, 401 without a key. What is no resource needs no key.

    Args:
        app: the rest of the service.
        settings: of the service.
        keys: the known ones; None if requests need none.
        routes: of the resources.
        open_routes: those of them that need no key.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServiceSettings,
        keys: Sequence[ApiKey] | None,
        routes: Sequence[APIRoute],
        open_routes: Sequence[BaseRoute],
    ) -> None:
        self._app = app
        self._known = urlsplit(settings.reached_at or "").hostname
        self._keys = keys
        self._routes = routes
        self._open = open_routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            route = next((one for one in self._routes if one.matches(scope)[0] is Match.FULL), None)
            if route is None:  # whatever its body is, the answer is the same
                receive = replayed(b"")
            else:
                scope["route"] = route  # metrics have it
                self._check_host(Request(scope))
                if self._keys is not None and route not in self._open:
                    self._check_key(Request(scope), route, self._keys)
        await self._app(scope, receive, send)

    def _check_host(self, request: Request) -> None:
        """Refuse what pages from elsewhere send in a browser."""
        host = request.url.hostname or ""
        # A foreign page may have given its own name to this machine; keys protect from that, too.
        if self._keys is None and not is_loopback(host) and host != self._known:
            message = f"the host {host!r} is not served here; ask 127.0.0.1 or localhost"
            raise Problem(421, "unknown_host", message)
        origin = request.headers.get("Origin")
        if origin is not None and _host_of(origin) != request.headers.get("Host"):
            raise Problem(403, "foreign_origin", f"pages of {origin} may not use this service")

    def _check_key(self, request: Request, route: APIRoute, keys: Sequence[ApiKey]) -> None:
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        key = find_key(keys, secret.strip()) if kind.lower() == "bearer" else None
        if key is None:
            message = "send a key as `Authorization: Bearer KEY`"
            raise Problem(401, "no_key", message, {"WWW-Authenticate": "Bearer"})
        request.state.key = key.name
        SENDER.set(key.name)
        scope = _scope(request.method, route.path)
        if scope not in key.scopes:
            raise Problem(403, "not_allowed", f"the key of {key.name} does not allow {scope!r}")


def _host_of(origin: str) -> str:
    """The host and port of an origin; empty if it has none, or no such form."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _scope(method: str, path: str) -> str:
    """The scope that a key needs for a request."""
    if path == "/metrics":
        return METRICS
    if method in ("GET", "HEAD") or path in _READING:
        return READ
    return WRITE if path.startswith("/documents") else CURATE
