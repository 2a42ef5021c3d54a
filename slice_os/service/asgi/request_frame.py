"""A request id and security headers for every answer, and an answer even after a crash."""

from __future__ import annotations

import logging
import re
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slice_os.errors import SliceError
from slice_os.service.asgi.problems import error_response, problem_of
from slice_os.service.asgi.whole_requests import SenderLeft

REQUEST_ID = "X-Request-Id"
_SENSIBLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

logger = logging.getLogger("slice_os.service")


class RequestFrame:
    """Adds request ids and security headers, and answers errors.

    Args:
        app: the app.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _SENSIBLE_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started = False

        async def framed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                headers.setdefault("Cache-Control", "no-store")
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            await self._app(scope, receive, framed)
        except SenderLeft:
            raise
        except SliceError as error:
            if started:
                raise
            await error_response(problem_of(error), request_id)(scope, receive, framed)
        except Exception as error:
            logger.exception("request %s failed", request_id)
            if started:
                raise
            await error_response(problem_of(error), request_id)(scope, receive, framed)
