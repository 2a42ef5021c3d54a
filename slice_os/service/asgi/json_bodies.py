"""Bodies of JSON: bounded before they are parsed, and checked off the event loop."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from slice_os.service.asgi.work import WorkPool

MOST_VALUES = 500_000
MOST_KEYS = 1_000
DEEPEST = 32
# While so many values are parsed, no other thread runs.
MOST_AT_ONCE = 10_000

_JSON = re.compile(r"application/(\S+\+)?json\s*(;.*)?", re.IGNORECASE)
_SHORT = 1 << 14
_CHUNK = 1 << 18
_COMMA, _END = ord(","), ord("}")
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_MARKS = _STEPS != 0
_MARKS[_COMMA] = True


class JsonRoute(APIRoute):
    """A route whose body of JSON is checked in a lane of its own.

    FastAPI checks bodies on the event loop, and collects their faults, however many.
    """

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Answers a request."""
        handler = super().get_route_handler()
        if self.body_field is None:
            return handler
        kind: Any = self.body_field.field_info.annotation
        adapter = TypeAdapter[Any](kind)

        async def handled(request: Request) -> Response:
            content = await request.body()
            if not content:
                return await handler(_Read(request, content))
            if not _JSON.fullmatch(request.headers.get("Content-Type", "").strip()):
                raise RequestValidationError(
                    [_fault("send it with the header Content-Type: application/json")]
                )
            work = partial(read_body, content, adapter)
            pool: WorkPool = request.app.state.services.pool
            given = work() if len(content) <= _SHORT else await pool.run(work, "bodies")
            return await handler(_Read(request, content, given))

        return handled


class _Read(Request):
    """A request whose body has been read; FastAPI asks what it says if its type is JSON."""

    def __init__(self, request: Request, content: bytes, given: Any = None) -> None:
        super().__init__(request.scope, request.receive)
        self._content = content
        self._given = given

    async def body(self) -> bytes:
        """The body as it came."""
        return self._content

    async def json(self) -> Any:
        """The body, as the route's type."""
        return self._given


def read_body(content: bytes, adapter: TypeAdapter[Any]) -> Any:
    """What a body of JSON says.

    Raises a `RequestValidationError` if it is too deep, has too many values, is no JSON, or says
    something else than it may.
    """
    try:
        _check_structure(content)
        given = json.loads(content.decode("utf-8-sig"), object_hook=_few, parse_constant=_refuse)
        return adapter.validate_python(given)
    except ValidationError as error:
        told = error.errors(include_url=False, include_input=False)
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in told]
    except json.JSONDecodeError as error:
        faults = [_fault(f"no JSON ({error.msg})", error.pos)]
    except ValueError as error:
        faults = [_fault(str(error))]
    raise RequestValidationError(faults)


class _Unfit(ValueError):  # noqa: N818  becomes a fault
    """JSON beyond the bounds."""


def _check_structure(content: bytes) -> None:
    """Bound the values of JSON, how deep they are, and how many are parsed without a break."""
    found, number = [], 0
    for marks in _marks(content):
        found.append(marks)
        number += len(marks)
        if number > 2 * MOST_VALUES:  # values end in a comma or a bracket
            raise _Unfit(f"more than {MOST_VALUES:,} values; send less at a time")
    marks = np.concatenate(found) if found else np.empty(0, np.uint8)
    if _STEPS[marks].cumsum(dtype=np.int64).max(initial=0) > DEEPEST:
        raise _Unfit(f"nested more than {DEEPEST} deep")
    ends = np.flatnonzero(marks == _END)
    if np.diff(ends, prepend=-1, append=len(marks)).max() > 2 * MOST_AT_ONCE:
        raise _Unfit(f"more than {MOST_AT_ONCE:,} values in a row; send less at a time")


def _marks(content: bytes) -> Iterator[npt.NDArray[np.uint8]]:
    """The commas and brackets of JSON outside of its texts."""
    inside, start = np.False_, 0
    while start < len(content):
        chunk = content[start : start + _CHUNK]
        if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:  # what the last one escapes
            chunk += content[start + len(chunk) : start + len(chunk) + 1]
        start += len(chunk)
        part = np.frombuffer(chunk.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
        quoted = np.bitwise_xor.accumulate(part == ord('"')) ^ inside
        inside = quoted[-1] if len(quoted) else inside
        yield part[_MARKS[part] & ~quoted]


def _few(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an object. Other threads may run before each object that calls this."""
    if len(fields) > MOST_KEYS:
        raise _Unfit(f"an object of more than {MOST_KEYS:,} fields")
    return fields


def _refuse(constant: str) -> Any:
    raise _Unfit(f"{constant} is no number of JSON")


def _fault(message: str, *place: int) -> dict[str, Any]:
    return {"type": "json_invalid", "loc": ("body", *place), "msg": message}
