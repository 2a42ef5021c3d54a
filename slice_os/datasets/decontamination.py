"""Keeping evaluation sentences out of training data, by their hashes."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from slice_os.datasets.files import DataSource
from slice_os.text.sentences import sentence_ends

HASHES_FILE = "evaluation-sentence-hashes.txt.gz"
SHIPPED_HASHES = Path(__file__).with_name(HASHES_FILE)
HASHES = DataSource("sha1 hashes of evaluation sentences, one a line")

_OTHER = re.compile(r"[^a-z0-9 ]")
_SHA1 = re.compile(r"[0-9a-f]{40}\Z")


def normalised(sentence: str) -> str:
    """A sentence as it is hashed: lower case, single spaces, only [a-z0-9 ], stripped."""
    return _OTHER.sub("", re.sub(r"\s+", " ", sentence.lower())).strip()


def sentence_hash(sentence: str) -> str:
    """sha1 of a sentence, `normalised`."""
    return hashlib.sha1(normalised(sentence).encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Decontamination:
    """Hashes, by `sentence_hash`, of sentences that no training text may contain."""

    hashes: frozenset[str] = field(default_factory=frozenset)

    def contaminated(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts is, or has among its sentences, one that is hashed."""
        return bool(self.hashes) and any(
            sentence_hash(text[start:end]) in self.hashes
            for text in texts
            for start, end in ((0, None), *itertools.pairwise([0, *sentence_ends(text)]))
        )


def read_hashes(path: Path) -> Decontamination:
    """Read a file of hashes: one sha1 in hexadecimal a line, gzipped or not.

    The list that the package brings is taken if the path has its name, `HASHES_FILE`, and there
    is no such file. `InputError` if one cannot be read, or a line is not a sha1.
    """
    if path.name == HASHES_FILE and not path.exists():
        path = SHIPPED_HASHES
    lines = HASHES.text(path).split()
    for number, line in enumerate(lines, 1):
        if not _SHA1.match(line):
            raise HASHES.malformed(path, f"line {number}: {line[:50]!r} is not a sha1")
    return Decontamination(frozenset(lines))
