"""Access to the service: by key, by the host that a request asks, and by its origin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from slice_os.errors import InputError
from slice_os.service.asgi.keys import CURATE, METRICS, READ, WRITE, ApiKey, find_key
from slice_os.service.asgi.problems import Problem
from slice_os.service.asgi.work import SENDER
from slice_os.service.settings import ServiceSettings
from slice_os.stores.addresses import is_loopback

# Other requests than GET that change nothing.
_READING = {
    "/search",
    "/mine",
    "/scan",
    "/tag",
    "/encode",
    "/export",
    "/documents/{doc_id:path}/highlights",
    "/pages/{doc_id:path}",
    "/topics/{name}/test",
    "/topics/{name}/suggest",
    "/match",
    "/matrix",
}
# Requests that change topics or labels, and show passages.
_SHOWING = {"/topics/{name}/learn", "/topics/{name}/estimate"}
# What names a host or a key, and whom; of two, proxies and servers may each take another one.
_ONCE = (b"host", b"origin", b"authorization")
# A name, an IPv4 or a bracketed IPv6 address without a zone, and maybe a port.
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[([0-9A-Fa-f]*:[0-9A-Fa-f:.]*)\])(?::([0-9]{1,5}))?")
_LAST_PORT = 65_535
DESCRIBED = Depends(HTTPBearer(auto_error=False, description="A key that `slice-os key` made."))
"""Describes in OpenAPI how keys are sent; `Guarded` has checked them."""


def check_reach(settings: ServiceSettings) -> None:
    """Refuse to serve other machines without keys, or at no address, with an `InputError`."""
    host = settings.host
    if settings.reached_at:
        host = ""
        with suppress(ValueError):
            host = urlsplit(settings.reached_at).hostname or ""
        if not host:
            raise InputError(
                f"{settings.reached_at}: no address; give one such as https://phrases.example.org"
            )
    if settings.keys is None and not is_loopback(host):
        raise InputError(
            f"{host}: others can reach this address, so that requests need keys; make one with "
            "`slice-os key`, and give --keys"
        )


def opened_to(settings: ServiceSettings) -> str | None:
    """One line that says to whom a service is open that listens beyond this machine without keys.

    None if it does not.
    """
    if settings.keys is not None or is_loopback(settings.host):
        return None
    return (
        f"warning: listens on {settings.host} without keys: whoever reaches this port can read, "
        "change and delete everything; let only this machine reach it, or give --keys"
    )


class Guarded:
    """Refuses requests by host, origin and key, before anything of their bodies is read.

    It raises a `Problem`: 400 for two hosts, origins or keys, 421 for a foreign host or one that is
    no host, 403 for a foreign origin or a key that does not allow the request, 401 without a key.
    What is no resource needs no key.

    Args:
        app: the rest of the service.
        keys: the known ones; None if requests need none.
        routes: of the resources.
        open_routes: those of them that need no key.
    """

    def __init__(
        self,
        app: ASGIApp,
        keys: Sequence[ApiKey] | None,
        routes: Sequence[APIRoute],
        open_routes: Sequence[BaseRoute],
    ) -> None:
        self._app = app
        self._keys = keys
        self._routes = routes
        self._open = open_routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            self._check_host(scope)
            route = next((one for one in self._routes if one.matches(scope)[0] is Match.FULL), None)
            if route is not None:
                scope["route"] = route  # metrics have it
                if self._keys is not None and route not in self._open:
                    self._check_key(Request(scope), route, self._keys)
        await self._app(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        """Refuse what pages from elsewhere send in a browser."""
        # As they were sent: an address made of them has the socket's own host where theirs is odd.
        given: dict[bytes, str] = {}
        for name, value in scope["headers"]:
            if name in _ONCE and name in given:
                raise Problem(400, "bad_request", f"two headers {name.decode().title()}; send one")
            given[name] = value.decode("latin-1")
        host = given.get(b"host")
        # A foreign page may have given its own name to this machine; keys protect from that, too.
        named = _name_of(host)
        if (named is None and host is not None) or (
            self._keys is None and not is_loopback(named or "")
        ):
            message = f"the host {host!r:.100} is not served here; ask 127.0.0.1 or localhost"
            raise Problem(421, "unknown_host", message)
        origin = given.get(b"origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            raise Problem(403, "foreign_origin", f"pages of {origin:.100} may not use this service")
        # Of pictures, scripts and frames browsers tell no origin; a link from elsewhere may come.
        near = given.get(b"sec-fetch-site") in (None, "none", "same-origin")
        in_frame = given.get(b"sec-fetch-dest") not in (None, "document")
        link = given.get(b"sec-fetch-mode") == "navigate" and not in_frame
        if not near and not link:
            raise Problem(403, "foreign_origin", "pages from elsewhere may not use this service")

    def _check_key(self, request: Request, route: APIRoute, keys: Sequence[ApiKey]) -> None:
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        key = find_key(keys, secret.strip()) if kind.lower() == "bearer" else None
        if key is None:
            message = "send a key as `Authorization: Bearer KEY`"
            raise Problem(401, "no_key", message, {"WWW-Authenticate": "Bearer"})
        request.state.key = key.name
        SENDER.set(key.name)
        if more := _scopes(request.method, route.path) - key.scopes:
            raise Problem(403, "not_allowed", f"the key of {key.name} does not allow {min(more)!r}")


def _name_of(host: str | None) -> str | None:
    """The name or address in a header Host; None if it has another form."""
    found = _HOST.fullmatch(host or "")
    if found is None or int(found[3] or 0) > _LAST_PORT:
        return None
    return found[2] or found[1]


def _scopes(method: str, path: str) -> set[str]:
    """The scopes that a key needs for a request."""
    if path == "/metrics":
        return {METRICS}
    if method in ("GET", "HEAD") or path in _READING:
        return {READ}
    own = WRITE if path.startswith("/documents") else CURATE
    return {own, READ} if path in _SHOWING else {own}
