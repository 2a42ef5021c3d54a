"""Errors of the service, as exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from slice_os.errors import InputError, SliceError, UnavailableError


class ServiceError(SliceError):
    """The service did not do what was asked.

    Args:
        message: one line: what, where, what to do.
        status: of the answer; None if there was none.
        code: the kind of error, such as ``no_such_store``.
        request_id: of the request, in the log of the service.
    """

    def __init__(
        self, message: str, status: int | None = None, code: str = "", request_id: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id


class BadRequestError(ServiceError, InputError):
    """The request cannot be used: status 400, 413 or 422."""


class AccessError(ServiceError):
    """The API key is missing, unknown, or not enough for this: status 401 or 403."""


class NotFoundError(ServiceError):
    """There is no such store, document, topic or label: status 404."""


class ConflictError(ServiceError):
    """It exists already, or somebody else has changed it since: status 409 or 412."""


class ServiceUnavailableError(ServiceError, UnavailableError):
    """The service or its store is busy or does not answer: status 429 or 503, or no answer."""


_STATUSES: Mapping[type[ServiceError], Sequence[int]] = {
    BadRequestError: (400, 413, 422),
    AccessError: (401, 403),
    NotFoundError: (404,),
    ConflictError: (409, 412),
    ServiceUnavailableError: (429, 503),
}
_KINDS = {status: kind for kind, statuses in _STATUSES.items() for status in statuses}


def error_of(status: int, content: bytes) -> ServiceError:
    """The error in an answer, which may come from a proxy before the service."""
    try:
        return told_error(orjson.loads(content)["error"], status)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        kind = _KINDS.get(status, ServiceError)
        said = " ".join(content[:200].decode("utf-8", "replace").split())
        return kind(f"status {status}: {said}" if said else f"status {status}", status)


def told_error(error: Mapping[str, Any], status: int | None = None) -> ServiceError:
    """The error that a service tells; at the end of a stream, its status was sent long before."""
    kind = ServiceError if status is None else _KINDS.get(status, ServiceError)
    return kind(str(error["message"]), status, str(error["code"]), str(error["request_id"]))
