"""Dividing the sources of an ingest among several workers."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from slice_os.errors import InputError

MOST_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class WorkShare:
    """One of several parts into which sources are divided; by default everything.

    A hash of a file's path below the folder that was given decides, so every worker knows its
    sources without asking the others. All workers must therefore give the same paths.

    Attributes:
        number: of this part, from 1.
        total: number of parts.

    Raises an `InputError` if there is no such part.
    """

    number: int = 1
    total: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.total <= MOST_PARTS:
            raise InputError(
                f"no part {self}: give NUMBER/TOTAL, such as 3/16, with NUMBER from 1 to TOTAL, "
                f"and TOTAL at most {MOST_PARTS:,}"
            )

    @classmethod
    def parse(cls, text: str) -> WorkShare:
        """Read ``NUMBER/TOTAL``, such as ``3/16``.

        Raises an `InputError` if the text has another form, or there is no such part.
        """
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if not found:
            raise InputError(f"part {text!r}: give NUMBER/TOTAL, such as 3/16")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def holds(self, path: str) -> bool:
        """Whether a file belongs to this part, by its path below the folder that was given."""
        digest = hashlib.sha256(path.encode()).digest()
        return int.from_bytes(digest, "big") % self.total == self.number - 1

    def all(self) -> list[WorkShare]:
        """The parts of the same division, this one included."""
        return [WorkShare(number, self.total) for number in range(1, self.total + 1)]


WHOLE = WorkShare()
