"""Requests to a service, retries, and answers as results; nothing is sent here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import orjson

from slice_os.client.errors import ServiceError, ServiceUnavailableError, error_of

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
AGAIN = (429, 503)
_SECONDS = re.compile(r"\d{1,6}")


@dataclass(frozen=True, slots=True)
class Service:
    """Address and options of a service.

    Attributes:
        address: such as ``http://127.0.0.1:8000``.
        api_key: sent with every request; None for none.
        store: the store to ask, unless a request names one; None if the service has only one.
        retries: number of times that a request is repeated if the service is too busy.
    """

    address: str
    api_key: str | None
    store: str | None
    retries: int

    def request(
        self, method: str, *path: str, body: Any = None, params: Any = None, headers: Any = None
    ) -> dict[str, Any]:
        """The arguments with which httpx builds a request.

        In the body and in the parameters, None stands for the usual store, and leaves out any
        other value. Parts of the path may have any characters.
        """
        headers = dict(headers or {})
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = orjson.dumps(self._given(body))
        return {
            "method": method,
            "url": "/".join([self.address.rstrip("/"), *map(_quoted, path)]),
            "params": self._given(params or {}),
            "headers": headers,
            "content": body,
        }

    def _given(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that are not None, and the usual store where that option is None."""
        named = {**options, "store": self.store} if options.get("store", "") is None else options
        return {name: value for name, value in named.items() if value is not None}

    def unreachable(self, error: Exception) -> ServiceError:
        """The error to raise if there was no answer."""
        why = " ".join(str(error).split()) or type(error).__name__
        return ServiceUnavailableError(
            f"{self.address}: no answer ({why}); is `slice-os serve` running there?"
        )


def pause_after(attempt: int, wished: str) -> float:
    """Seconds until a request should be repeated after its attempt, from 0: as wished, if it is."""
    seconds = float(wished) if _SECONDS.fullmatch(wished) else FIRST_PAUSE * 2.0**attempt
    return min(seconds, LONGEST_PAUSE)


def result(response: httpx.Response, read: Callable[[Any], T]) -> T:
    """The result that ``read`` makes of a complete answer's JSON, or of None if it is empty.

    Raises:
        ServiceError: if the answer is an error, or not that of a service.
    """
    if not response.is_success:
        raise error_of(response.status_code, response.content)
    try:
        return read(orjson.loads(response.content) if response.content else None)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ServiceError(
            f"{response.url}: not the answer of a SLICE-OS service; check the address",
            response.status_code,
        ) from None


def _quoted(part: str) -> str:
    """One part of a path; unquoted dots would lead elsewhere."""
    quoted = quote(part, safe="")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")
