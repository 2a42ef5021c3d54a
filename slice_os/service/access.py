"""Which requests are answered: by their key, by the host that they ask, and by their origin."""

from __future__ import annotations

import ipaddress
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from slice_os.errors import InputError
from slice_os.service.keys import CURATE, METRICS, READ, WRITE
from slice_os.service.problems import Problem
from slice_os.service.services import Shared
from slice_os.service.settings import ServiceSettings

# Other requests than GET that change nothing.
_READING = {
    "/search",
    "/mine",
    "/scan",
    "/tag",
    "/encode",
    "/export",
    "/documents/{doc_id:path}/highlights",
    "/topics/{name}/test",
    "/topics/{name}/suggest",
}
_bearer = HTTPBearer(auto_error=False, description="A key that `slice-os key` made.")


def check_reach(settings: ServiceSettings) -> None:
    """Refuse to serve others than this machine's users without keys.

    Raises:
        InputError: saying what to give.
    """
    if settings.keys is not None:
        return
    for host in (settings.reached_at and urlsplit(settings.reached_at).hostname, settings.host):
        if host is not None:
            if not is_loopback(host):
                raise InputError(
                    f"{host}: others can reach this address, so that requests need keys; make one "
                    "with `slice-os key`, and give --keys"
                )
            return


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def from_here(request: Request, services: Shared) -> None:
    """Refuse what pages from elsewhere send in a browser.

    Raises:
        Problem: 421 for a foreign host, 403 for a foreign origin.
    """
    host = request.url.hostname or ""
    known = services.settings.reached_at and urlsplit(services.settings.reached_at).hostname
    # A name that a foreign page may have given to this machine; keys protect from it, too.
    if services.keys is None and not is_loopback(host) and host != known:
        message = f"the host {host!r} is not served here; ask 127.0.0.1 or localhost"
        raise Problem(421, "unknown_host", message)
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("Host"):
        raise Problem(403, "foreign_origin", f"pages of {origin} may not use this service")


def with_key(
    request: Request,
    services: Shared,
    sent: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> None:
    """Refuse requests without a key that allows them.

    Raises:
        Problem: 401 without a key, 403 with one that does not allow this.
    """
    key = None
    if services.keys is not None and sent is not None:
        key = services.keys.find(sent.credentials)
    if key is None:
        message = "send a key as `Authorization: Bearer KEY`"
        raise Problem(401, "no_key", message, {"WWW-Authenticate": "Bearer"})
    request.state.key = key.name
    scope = _scope(request.method, request.scope["route"].path)
    if scope not in key.scopes:
        raise Problem(403, "not_allowed", f"the key of {key.name} does not allow {scope!r}")


def _scope(method: str, path: str) -> str:
    """What a key must allow for a request."""
    if path == "/metrics":
        return METRICS
    if method in ("GET", "HEAD") or path in _READING:
        return READ
    return WRITE if path.startswith("/documents") else CURATE
