"""Access to the service: by key, by the host that a request asks, and by its origin."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from slice_os.errors import InputError
from slice_os.service.asgi.keys import CURATE, METRICS, READ, WRITE, ApiKey, find_key
from slice_os.service.asgi.problems import Problem
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
}
_BEARER = HTTPBearer(auto_error=False, description="A key that `slice-os key` made.")
SentKey = Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]


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


def host_guard(settings: ServiceSettings) -> Callable[[Request], Awaitable[None]]:
    """A dependency that refuses what pages from elsewhere send in a browser.

    It raises a `Problem`: 421 for a foreign host, 403 for a foreign origin.
    """
    known = urlsplit(settings.reached_at or "").hostname

    async def from_here(request: Request) -> None:
        host = request.url.hostname or ""
        # A foreign page may have given its own name to this machine; keys protect from that, too.
        if settings.keys is None and not is_loopback(host) and host != known:
            message = f"the host {host!r} is not served here; ask 127.0.0.1 or localhost"
            raise Problem(421, "unknown_host", message)
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("Host"):
            raise Problem(403, "foreign_origin", f"pages of {origin} may not use this service")

    return from_here


def key_guard(keys: Sequence[ApiKey]) -> Callable[[Request, SentKey], Awaitable[None]]:
    """A dependency that refuses requests without a key that allows them.

    It raises a `Problem`: 401 without a key, 403 with one that does not allow the request.
    """

    async def with_key(request: Request, sent: SentKey) -> None:
        key = None if sent is None else find_key(keys, sent.credentials)
        if key is None:
            message = "send a key as `Authorization: Bearer KEY`"
            raise Problem(401, "no_key", message, {"WWW-Authenticate": "Bearer"})
        request.state.key = key.name
        scope = _scope(request.method, request.scope["route"].path)
        if scope not in key.scopes:
            raise Problem(403, "not_allowed", f"the key of {key.name} does not allow {scope!r}")

    return with_key


def _scope(method: str, path: str) -> str:
    """The scope that a key needs for a request."""
    if path == "/metrics":
        return METRICS
    if method in ("GET", "HEAD") or path in _READING:
        return READ
    return WRITE if path.startswith("/documents") else CURATE
