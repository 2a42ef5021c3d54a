"""Changes of hits of topics: by another version of a topic, and since earlier runs."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeVar

from xxhash import xxh3_64_hexdigest

from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.hits.hit import Hit, counting, overlap
from slice_os.labels.label import Label, folded
from slice_os.tables.replacing import append, appending, contents
from slice_os.topics.match import Found
from slice_os.topics.run import labels_of_store, mine_topics
from slice_os.topics.topic import Topic

_FORMER = "\0"
_DIGEST = 24
F = TypeVar("F", bound=Found)


@dataclass(frozen=True, slots=True)
class Change:
    """A hit that only the new version of a topic has, only the old one, or both."""

    kind: Literal["gained", "lost", "kept"]
    hit: Hit


@dataclass(frozen=True, slots=True)
class Changes:
    """The effect of a change of topics on their hits; see `difference`."""

    kept: int
    gained: Sequence[Hit]
    lost: Sequence[Hit]

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Changes:
        """The sum of changes."""
        hits: dict[str, list[Hit]] = defaultdict(list)
        kept = 0
        for change in changes:
            if change.kind == "kept":
                kept += 1
            else:
                hits[change.kind].append(change.hit)
        return cls(kept, hits["gained"], hits["lost"])

    @property
    def before(self) -> int:
        """Number of hits before."""
        return self.kept + len(self.lost)

    @property
    def after(self) -> int:
        """Number of hits now."""
        return self.kept + len(self.gained)


def difference(
    corpus: Corpus,
    old: Sequence[Topic],
    new: Sequence[Topic],
    labels: Sequence[Label] | None = None,
) -> Iterator[Change]:
    """The hits that topics gain, lose and keep by a change, in one pass.

    Changes come by document and position. Hits that overlap are the same. A topic is known by its
    name. Labels and errors are those of `mine_topics`; neither version has a rejected hit.
    """
    former = [replace(topic, name=f"{_FORMER}{topic.name}") for topic in old]
    known = labels_of_store(corpus) if labels is None else labels
    both = [*known, *(replace(label, topic=f"{_FORMER}{label.topic}") for label in known)]
    hits = counting(mine_topics(corpus, [*former, *new], labels=both))
    for _, document in groupby(hits, key=lambda hit: hit.doc_id):
        by_topic: dict[str, list[Hit]] = defaultdict(list)
        for hit in document:
            by_topic[hit.topic or ""].append(hit)
        changes = []
        for name in dict.fromkeys(name.removeprefix(_FORMER) for name in by_topic):
            before = [replace(hit, topic=name) for hit in by_topic.get(f"{_FORMER}{name}", [])]
            after = by_topic.get(name, [])
            changes += [Change("lost", hit) for hit in before if not _among(hit, after)]
            changes += [Change("kept" if _among(hit, before) else "gained", hit) for hit in after]
        yield from sorted(changes, key=lambda change: (change.hit.start, change.hit.end))


def _among(hit: Hit, others: Sequence[Hit]) -> bool:
    return any(overlap(hit, other) for other in others)


class SeenHits:
    """The hits that earlier runs of each topic found on a store, in one file.

    Those of a run join them once it says so, when they are delivered. A hit is known by its topic,
    its document and its words, not by its offsets. So what stays in a document that was replaced
    is not new. The file need not exist. Raises an `InputError` if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fresh: list[str] = []
        self._seen: set[str] = set()
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: no file; move it away to begin one")
        try:
            content = path.read_bytes().decode("ascii") if path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: no record of seen hits ({error})") from None
        lines = content.split("\n")
        if len(lines[-1]) <= len(_line("")) + _DIGEST:
            lines.pop()  # nothing, or what a killed run left of a line
        for number, line in enumerate(lines, 1):
            digest = line[:_DIGEST]
            if len(digest) < _DIGEST or line not in (digest, _line(digest)):
                told = "not as it was written; delete the line, and one hit is new again"
                raise InputError(f"{path}:{number}: {told}")
            self._seen.add(digest)

    def new(self, hits: Iterable[F]) -> Iterator[F]:
        """The hits that no earlier run found."""
        copies: Counter[str] = Counter()
        for hit in hits:
            name = "\0".join((hit.topic or "", hit.doc_id, folded(hit.text)))
            copies[name] += 1
            digest = hashlib.sha256(f"{name}\0{copies[name]}".encode()).hexdigest()[:_DIGEST]
            if digest not in self._seen:
                self._fresh.append(digest)
                yield hit

    def keep(self) -> None:
        """Count the hits that `new` gave as seen.

        Raises an `InputError` if the file cannot be written.
        """
        lines = "".join(f"{_line(digest)}\n" for digest in self._fresh).encode("ascii")
        try:
            with appending(self.path) as file:
                content = contents(file)
                file.truncate(content.rfind(b"\n") + 1)
                append(file, lines)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror})") from None
        self._seen.update(self._fresh)
        self._fresh = []


def _line(digest: str) -> str:
    """The line of a hit: its digest, and the checksum of that; older lines have none."""
    return digest + xxh3_64_hexdigest(digest.encode())
