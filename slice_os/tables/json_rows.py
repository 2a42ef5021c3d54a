"""Lines of JSON."""

from __future__ import annotations

from typing import Any

import orjson

from slice_os.errors import InputError


def json_object(line: bytes, where: str) -> dict[str, Any]:
    """Read a line of JSON as an object; ``where`` is its place, for messages.

    Raises:
        InputError: if it is something else.
    """
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(row, dict):
        raise InputError(f"{where}: no JSON object")
    return row
