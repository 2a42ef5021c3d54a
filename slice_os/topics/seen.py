"""Which hits earlier runs have found, so that a run can tell what is new."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from slice_os.errors import InputError
from slice_os.hits.hit import Hit

FILE = "topics-seen.txt"


class SeenHits:
    """The hits that earlier runs of each topic found on a store, in one file.

    A hit is known by its topic, its document and its words, not by its offsets. So what stays in
    a document that was replaced is not new.

    Args:
        path: the file; it need not exist.

    Raises:
        InputError: if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._seen = set(path.read_text("ascii").split()) if path.exists() else set()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: no record of seen hits ({error})") from None

    def new(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """The hits that no earlier run found; when all are taken, they count as seen.

        Raises:
            InputError: if the file cannot be written.
        """
        copies: Counter[str] = Counter()
        fresh = []
        for hit in hits:
            name = "\0".join((hit.topic or "", hit.doc_id, " ".join(hit.text.casefold().split())))
            copies[name] += 1
            digest = hashlib.sha256(f"{name}\0{copies[name]}".encode()).hexdigest()[:24]
            if digest not in self._seen:
                fresh.append(digest)
                yield hit
        try:
            with self.path.open("a", encoding="ascii") as file:
                file.writelines(f"{digest}\n" for digest in fresh)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror})") from None
        self._seen.update(fresh)
