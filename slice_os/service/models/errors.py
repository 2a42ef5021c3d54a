"""Errors in answers, and which of them there are."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class ErrorDetail(BaseModel):
    """What went wrong.

    Attributes:
        code: what kind of error it is, for programs.
        message: one line for people: what, where, what to do.
        request_id: as in the answer's header and in the log.
    """

    code: str
    message: str
    request_id: str


class ErrorAnswer(BaseModel):
    """The answer of a request that failed."""

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
