"""Errors as answers: one shape, and a status that says what kind of error it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from slice_os.errors import (
    EncoderMismatchError,
    InputError,
    SliceError,
    StoreError,
    UnavailableError,
)
from slice_os.topics.folder import NoSuchTopicError, TopicChangedError, TopicExistsError


class Problem(SliceError):  # noqa: N818  what the answer calls it
    """An error that a request is answered with.

    Args:
        status: of the answer.
        code: what kind of error it is, for programs; such as ``no_such_store``.
        message: one line for people: what, where, what to do.
        headers: further headers of the answer.
    """

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


# The first that fits counts.
_STATUSES: Sequence[tuple[type[SliceError], int, str]] = (
    (NoSuchTopicError, 404, "no_such_topic"),
    (TopicExistsError, 409, "topic_exists"),
    (TopicChangedError, 412, "topic_changed"),
    (InputError, 400, "bad_input"),
    (EncoderMismatchError, 409, "encoder_mismatch"),
    (UnavailableError, 503, "store_unavailable"),
    (StoreError, 503, "store_error"),
)
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def problem_of(error: Exception) -> Problem:
    """What an error of the library is answered with."""
    if isinstance(error, Problem):
        return error
    message = " ".join(str(error).split())
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            return Problem(status, code, message)
    if isinstance(error, SliceError):
        return Problem(500, "library_error", message)
    return Problem(500, "internal_error", "the service failed; its log has the request id")


def error_body(problem: Problem, request_id: str) -> dict[str, Any]:
    """The JSON of an error."""
    error = {"code": problem.code, "message": str(problem), "request_id": request_id}
    return {"error": error}


def error_response(problem: Problem, request_id: str) -> Response:
    """The answer that an error gives."""
    body = error_body(problem, request_id)
    return JSONResponse(body, status_code=problem.status, headers=problem.headers)


def answer_errors(app: FastAPI) -> None:
    """Let an app answer every error in this shape."""

    def known(request: Request, error: Exception) -> Response:
        return error_response(problem_of(error), request.state.request_id)

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        problem = Problem(422, "invalid_request", _first_of(error.errors()))
        return error_response(problem, request.state.request_id)

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        code = _HTTP_CODES.get(error.status_code, "bad_request")
        message = f"{request.method} {request.url.path}: {error.detail}"
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(_methods(request))
        problem = Problem(error.status_code, code, message, headers)
        return error_response(problem, request.state.request_id)

    app.add_exception_handler(SliceError, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def _methods(request: Request) -> list[str]:
    """The methods that a path has; Starlette tells those of one route alone."""
    routes: Sequence[APIRoute] = request.app.state.routes
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    same = (route.methods or () for route in matching if route.path == matching[0].path)
    return sorted({method for methods in same for method in methods})


def _first_of(errors: Sequence[Any]) -> str:
    """The first fault of a request, and where it is.

    Of a body that may have one of several forms, that of the form it is nearest to.
    """
    forms: dict[str, list[str]] = {}
    for error in errors:
        # Of fields, which are in lower case, pydantic names the form before.
        place = [str(part) for part in error["loc"]]
        form = place.pop(1) if len(place) > 1 and place[1][:1].isupper() else ""
        forms.setdefault(form, []).append(f"{'.'.join(place)}: {error['msg']}")
    first, *others = min(forms.values(), key=len)
    return f"{first} (and {len(others)} more)" if others else first
