"""Mined hits as they arrive, in pieces of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import orjson

from slice_os.client.errors import ServiceError, stream_error
from slice_os.hits.hit import Hit

Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Called with the number of what is done, and of all there is to do, if it is known."""


class MinedLines:
    """Reads the lines of a stream of hits.

    Args:
        progress: called now and then.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._rest = b""
        self._summary: dict[str, Any] | None = None

    def hits(self, piece: bytes) -> Iterator[Hit]:
        """The hits whose lines end in a piece of the answer.

        Raises:
            ServiceError: if the service says that it went wrong.
        """
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            for kind, content in orjson.loads(line).items():
                if kind == "hit":
                    yield Hit.from_dict(content)
                elif kind == "progress" and self._progress is not None:
                    self._progress(content["done"], content["of"])
                elif kind == "summary":
                    self._summary = content
                elif kind == "error":
                    raise stream_error(content)

    def exhaustive(self) -> bool:
        """Whether every passage was scored; to be asked when the answer has ended.

        Raises:
            ServiceError: if it ended too early.
        """
        if self._summary is None:
            raise ServiceError("the stream of hits broke off; mine again")
        return bool(self._summary["exhaustive"])
