"""Errors as answers: one JSON shape, and a status for each kind of error."""

from __future__ import annotations

import re
from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from errno import ENOSPC
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from slice_os.errors import (
    EncoderMismatchError,
    InputError,
    RejectedError,
    SliceError,
    StoreError,
    UnavailableError,
)
from slice_os.topics.folder import NoSuchTopicError, TopicChangedError, TopicExistsError


class Problem(SliceError):  # noqa: N818  what the answer calls it
    """An error with the status, code and headers of its answer; see `ErrorDetail`."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


# The first kind that fits is used.
_STATUSES: Sequence[tuple[type[SliceError], int, str]] = (
    (NoSuchTopicError, 404, "no_such_topic"),
    (TopicExistsError, 409, "topic_exists"),
    (TopicChangedError, 412, "topic_changed"),
    (InputError, 400, "bad_input"),
    (EncoderMismatchError, 409, "encoder_mismatch"),
    (RejectedError, 422, "rejected"),
    (UnavailableError, 503, "store_unavailable"),
    (StoreError, 503, "store_error"),
    (SliceError, 500, "library_error"),
)
# Faults of a request that an answer tells.
_TOLD = 3
# Of what a request has, a message quotes so much.
_LONGEST, _LONGEST_MESSAGE = 100, 1_000
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def problem_of(error: BaseException) -> Problem:
    """The problem that an error of the library becomes, or the end of the service."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, CancelledError):
        return Problem(503, "stopping", "the service stops; try again")
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return Problem(503, "disk_full", "the disk of the service is full; make room on it")
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            return Problem(status, code, str(error))
    return Problem(500, "internal_error", "the service failed; its log has the request id")


def error_body(problem: Problem, request_id: str) -> dict[str, Any]:
    """The JSON of an error."""
    # A lone surrogate of the request would be none in an answer.
    message = str(problem).encode(errors="backslashreplace").decode()
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[: _LONGEST_MESSAGE - 4]} […]"
    return {"error": {"code": problem.code, "message": message, "request_id": request_id}}


def error_response(problem: Problem, request_id: str) -> Response:
    """The answer that an error gives."""
    return JSONResponse(error_body(problem, request_id), problem.status, problem.headers)


def answer_errors(app: FastAPI) -> None:
    """Make an app answer every error in this shape."""

    def answer(request: Request, error: Exception) -> Response:
        return error_response(_problem_in(request, error), request.state.request_id)

    for kind in (SliceError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)


def _problem_in(request: Request, error: Exception) -> Problem:
    """The problem that an error of the library, of FastAPI or of Starlette becomes."""
    if isinstance(error, RequestValidationError):
        return Problem(422, "invalid_request", _faults_of(error.errors()))
    if not isinstance(error, HTTPException):
        return problem_of(error)
    code = _HTTP_CODES.get(error.status_code, "bad_request")
    message = f"{request.method} {request.url.path}: {error.detail}"
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    return Problem(error.status_code, code, message, headers)


def _methods(request: Request) -> list[str]:
    """The methods of a path; Starlette's header has those of a single route."""
    routes: Sequence[APIRoute] = request.app.state.routes
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    same = (route.methods or () for route in matching if route.path == matching[0].path)
    return sorted({method for methods in same for method in methods})


# What to do about a kind of fault; values are those of its context.
_ADVICE = {
    "missing": "is needed",
    "extra_forbidden": "is no field of this request",
    "string_type": "give a text",
    "string_too_short": "give a text of {min_length} or more characters",
    "string_too_long": "give a text of at most {max_length} characters",
    "string_pattern_mismatch": "give a text of the form that openapi.json describes",
    "list_type": "give a list",
    "too_short": "give a list of {min_length} or more",
    "too_long": "give a list of at most {max_length}",
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type"), "give an object"
    ),
    **dict.fromkeys(("int_type", "int_from_float"), "give a whole number"),
    "float_type": "give a number",
    "bool_type": "give true or false",
    "literal_error": "give {expected}",
    "greater_than_equal": "give {ge} or more",
    "less_than_equal": "give {le} or less",
}
# How pydantic calls one of several types that a value may have.
_ALTERNATIVE = re.compile(r"constrained-\w+|[\w-]+\[.*\]|PartTable|str|int|float|bool", re.DOTALL)


def _faults_of(errors: Sequence[Any]) -> str:
    """The first faults of a request, and their places.

    A body may have one of several forms: the faults are those of the form with the fewest. So may
    a value: of its forms, those count that fit the furthest.
    """
    forms: dict[str, dict[str, list[str]]] = {}
    for error in errors:
        # Of fields, which are in lower case, pydantic names the form before.
        place = [f"{part!s:.{_LONGEST}}" for part in error["loc"]]
        named = len(place) > 1 and (place[1][:1].isupper() or _ALTERNATIVE.fullmatch(place[1]))
        form = place.pop(1) if named else ""
        place = [*place[:2], *(one for one in place[2:] if not _ALTERNATIVE.fullmatch(one))]
        try:
            advice = _ADVICE[error["type"]].format_map(error.get("ctx", {}))
        except KeyError:
            advice = error["msg"]
        forms.setdefault(form, {}).setdefault(".".join(place), []).append(advice)
    own = min(forms.values(), key=len)
    faults = [
        f"{place}: {', or '.join(dict.fromkeys(told))}"
        for place, told in own.items()
        if not any(other.startswith(f"{place}.") for other in own)
    ]
    more = f" (and {len(faults) - _TOLD} more)" if len(faults) > _TOLD else ""
    return "; ".join(faults[:_TOLD]) + more


class ErrorDetail(BaseModel):
    """The error of a request.

    Attributes:
        code: the kind of error, for programs.
        message: one line for people: what, where, what to do.
        request_id: as in the answer's header and in the log.
    """

    code: str
    message: str
    request_id: str


class ErrorAnswer(BaseModel):
    """The answer to a request that failed."""

    error: ErrorDetail


_MEANINGS = {
    400: "A text, filter or other value cannot be used.",
    401: "There is no key, or an unknown one.",
    403: "The key does not allow this, or the request comes from a foreign page.",
    404: "There is no such store, document or topic.",
    408: "The body came too slowly.",
    409: "There is one of that name already, or the store was made with another encoder.",
    412: "Somebody has changed it since.",
    413: "The body is too large.",
    421: "The service is not reached under this host name.",
    422: "The request does not have the form described here.",
    429: "Too many requests wait; try again after the seconds in Retry-After.",
    500: "The service failed.",
    503: "A store cannot be used at the moment.",
    504: "The time for an answer is over.",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    # Not as a model, which would have the content type of the route's other answers.
    status: {
        "description": meaning,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}},
    }
    for status, meaning in _MEANINGS.items()
}
"""The descriptions of errors, by status."""


def describe_errors(schemas: dict[str, Any]) -> None:
    """Add the shape of errors to the schemas of a description."""
    shape = ErrorAnswer.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(shape.pop("$defs"), ErrorAnswer=shape)
