"""Requests and answers of httpx, and whether to try again; the same for both clients."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from slice_os.client.calls import Call, Vectors
from slice_os.client.errors import ServiceError, ServiceUnavailableError, error_of
from slice_os.errors import MissingExtraError

if TYPE_CHECKING:
    import httpx

    from slice_os.arrays import FloatArray

T = TypeVar("T")

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
_AGAIN = (429, 503)
_SECONDS = re.compile(r"\d{1,6}")


@dataclass(frozen=True, slots=True)
class Service:
    """Where a service is, and how to ask it.

    Attributes:
        address: such as ``http://127.0.0.1:8000``.
        api_key: sent with every request; None for none.
        store: the store to ask, unless a request names one; None if the service has one alone.
        retries: how often a request is repeated that the service was too busy for.
    """

    address: str
    api_key: str | None
    store: str | None
    retries: int

    def request(self, call: Call[T]) -> dict[str, Any]:
        """The arguments by which httpx makes the request."""
        headers = dict(call.headers)
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        content = None
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            content = orjson.dumps(call.body)
        return {
            "method": call.method,
            "url": f"{self.address.rstrip('/')}/{call.path}",
            "params": call.params,
            "headers": headers,
            "content": content,
        }

    def chosen(self, store: str | None) -> str | None:
        """The store that a call names, or the usual one."""
        return self.store if store is None else store

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options of a request, with the usual store if they name none."""
        return {**given, "store": self.chosen(given.get("store"))}

    def pause_after(self, response: httpx.Response, attempt: int) -> float | None:
        """Seconds until the request should be repeated; None if it should not.

        Args:
            response: to the request.
            attempt: which one it was, from 0.
        """
        if response.status_code not in _AGAIN or attempt >= self.retries:
            return None
        wished = response.headers.get("Retry-After", "")
        seconds = float(wished) if _SECONDS.fullmatch(wished) else FIRST_PAUSE * 2.0**attempt
        return min(seconds, LONGEST_PAUSE)

    def pause_unconnected(self, attempt: int) -> float | None:
        """Seconds until a request should be repeated for which there was no connection."""
        return None if attempt >= self.retries else FIRST_PAUSE * 2.0**attempt

    def unreachable(self, error: Exception) -> ServiceError:
        """The error to raise if there was no answer."""
        why = " ".join(str(error).split()) or type(error).__name__
        return ServiceUnavailableError(
            f"{self.address}: no answer ({why}); is `slice-os serve` running there?"
        )


def load_httpx() -> Any:
    """The module httpx.

    Raises:
        MissingExtraError: if it is not installed.
    """
    try:
        import httpx
    except ModuleNotFoundError:
        raise MissingExtraError("The client", "client") from None
    return httpx


def array(vectors: Vectors) -> FloatArray:
    """Vectors as an array, ``(n, dimension)``."""
    import numpy as np

    rows, dimension = vectors
    return np.array(rows, dtype=np.float32).reshape(len(rows), dimension)


def result(call: Call[T], response: httpx.Response) -> T:
    """What an answer means that has arrived completely.

    Raises:
        ServiceError: if it tells an error.
    """
    if not response.is_success:
        raise error_of(response.status_code, response.content)
    try:
        return call.read(orjson.loads(response.content) if response.content else None)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ServiceError(
            f"{response.url}: not the answer of a SLICE-OS service; check the address",
            response.status_code,
        ) from None
