"""Four processes read a local store while one writes: every answer is complete, and of one state.

    python -m tests.soak.readers --minutes 10 --out benchmarks/results/soak_readers.json

The writer adds, replaces, deletes and compacts. The readers search, mine, list and fetch texts,
with the store open all the time or opened afresh, and linger within an answer. Of each document
they must get exactly the hits that it has in one of its versions, or none if it may be deleted;
some documents are never touched, and must be in every answer.
"""

from __future__ import annotations

import logging
import multiprocessing
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from slice_os import Document, LocalStore
from slice_os.hits.hit import Hit
from slice_os.query.filters import parse_where
from slice_os.query.options import SearchOptions
from slice_os.search.run import mine, search
from tests.soak.report import options, tell
from tests.test_local_store import CARD, part_of, query

DOCUMENTS = 40
UNTOUCHED = 8
VERSIONS = 4
READERS = 4
DUTY = 0.05
WORDS = ("number", "money", "order", "plan", "late", "again")
ASKED = query("number", "money order")
THRESHOLD = 0.3
EVERYTHING = 10_000

# What is told of a hit, by document.
Found = Mapping[int, list[tuple[Any, ...]]]


def document(number: int, version: int) -> Document:
    """A document in one of its versions, which have other lengths and texts."""
    chosen = random.Random(number * VERSIONS + version)
    words = chosen.choices(
        ["number", "money", "order", "plan", "late", "again"], k=12 + 9 * version
    )
    text = f"Version {version} of {number}. {' '.join(words)}."
    return Document(str(number), text, {"version": version, "number": number})


def add(store: LocalStore, numbers: Iterable[int], version: int) -> None:
    """Write documents in one version."""
    with store.writer() as writer:
        for number in numbers:
            writer.write(part_of(document(number, version), number * VERSIONS + version))


def by_document(hits: Iterable[Hit]) -> Found:
    """Hits of each document, apart from what depends on the others: its BM25."""
    found = defaultdict(list)
    for hit in hits:
        span = (hit.start, hit.end, hit.text, hit.phrase, round(hit.cosine, 5))
        found[int(hit.doc_id)].append((hit.metadata["version"], hit.passage, *span))
    return {number: sorted(spans, key=repr) for number, spans in found.items()}


class Reader:
    """Asks a store, and compares the answers with those of each version alone.

    Args:
        folder: the store's.
        own: an empty folder.
        seed: decides what is asked.
    """

    def __init__(self, folder: Path, own: Path, seed: int) -> None:
        self.folder = folder
        self.chosen = random.Random(seed)
        self.mined: list[Found] = []
        self.searched: list[Found] = []
        for version in range(VERSIONS):
            alone = LocalStore.create(own / str(version), CARD, 128)
            add(alone, range(DOCUMENTS), version)
            self.mined.append(by_document(mine(alone, ASKED, threshold=THRESHOLD)))
            self.searched.append(by_document(self.all_passages(alone)))
            alone.close()
        self.store = LocalStore.open(folder)
        self.questions = (self.mine, self.mine_slowly, self.search, self.filter, self.texts)

    def next_question(self) -> Callable[[], None]:
        """What to ask next."""
        if self.chosen.random() < 0.2:
            self.store.close()
            self.store = LocalStore.open(self.folder)
        return self.chosen.choice(self.questions)

    def mine(self) -> None:
        self.compare(by_document(mine(self.store, ASKED, threshold=THRESHOLD)), self.mined)

    def mine_slowly(self) -> None:
        def lingering(hits: Iterator[Hit]) -> Iterator[Hit]:
            for number, hit in enumerate(hits):
                if number % 100 == 0:
                    time.sleep(0.3)
                yield hit

        hits = mine(self.store, ASKED, threshold=THRESHOLD)
        self.compare(by_document(lingering(hits)), self.mined)

    def search(self) -> None:
        self.compare(by_document(self.all_passages(self.store)), self.searched)

    def filter(self) -> None:
        version = self.chosen.randrange(VERSIONS)
        where = parse_where({"version": version})
        found = by_document(mine(self.store, replace(ASKED, where=where), threshold=THRESHOLD))
        self.compare(found, [self.mined[version]], everything=version == 0)

    def texts(self) -> None:
        listed = {int(entry.id) for entry in self.store.list_documents()}
        assert listed.issuperset(range(UNTOUCHED)), "a document is not listed"
        for number in range(DOCUMENTS):
            text = self.store.document_text(str(number))
            versions = {document(number, version).text for version in range(VERSIONS)}
            assert text in versions or (text is None and number >= UNTOUCHED), "another text"

    def all_passages(self, store: LocalStore) -> Iterable[Hit]:
        """The best hit of every passage."""
        return search(store, ASKED, SearchOptions(top_k=EVERYTHING, fusion="cosine"))

    def compare(self, found: Found, versions: list[Found], everything: bool = True) -> None:
        """Each document has the hits of one version, and those never touched of the first."""
        for number, spans in found.items():
            assert any(spans == version.get(number) for version in versions), f"a mix of {number}"
        for number in range(UNTOUCHED) if everything else ():
            assert found.get(number) == versions[0].get(number), f"{number} is missing"


def write_on(folder: Path, ended: Callable[[], bool], seed: int) -> tuple[Counter[str], list[str]]:
    """Write to a store until then; see `repeat`."""
    chosen = random.Random(seed)
    store = LocalStore.open(folder)
    touched = range(UNTOUCHED, DOCUMENTS)

    def write() -> None:
        add(store, chosen.sample(touched, chosen.randint(1, 12)), chosen.randrange(VERSIONS))

    def delete() -> None:
        with store.writer() as writer:
            writer.delete(map(str, chosen.sample(touched, chosen.randint(1, 8))))

    return repeat(lambda: chosen.choice((write, write, delete, store.compact)), ended)


def read_on(folder: Path, minutes: float, seed: int) -> tuple[Counter[str], list[str]]:
    """Read a store for so long; see `repeat`."""
    logging.disable()  # it notes that a version is not there
    with tempfile.TemporaryDirectory() as own:
        reader = Reader(folder, Path(own), seed)
        end = time.monotonic() + 60 * minutes
        return repeat(reader.next_question, lambda: time.monotonic() > end)


def repeat(
    choose: Callable[[], Callable[[], None]], ended: Callable[[], bool]
) -> tuple[Counter[str], list[str]]:
    """Do what is chosen until then, sleeping most of the time; how often what, and what failed."""
    counts: Counter[str] = Counter()
    bad: list[str] = []
    while not ended():
        before = time.process_time()
        act = choose()
        try:
            act()
            counts[act.__name__] += 1
        except Exception as error:
            bad.append(f"{act.__name__}: {error!r}"[:300])
        time.sleep((time.process_time() - before) * (1 / DUTY - 1))
    return counts, bad


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "s")
        store = LocalStore.create(folder, CARD, 128)
        add(store, range(DOCUMENTS), 0)
        store.close()
        with multiprocessing.get_context("spawn").Pool(READERS) as pool:
            seeds = range(chosen.seed, chosen.seed + READERS)
            reading = pool.starmap_async(
                read_on, [(folder, chosen.minutes, seed) for seed in seeds]
            )
            written, failed = write_on(folder, reading.ready, chosen.seed)
            answers = reading.get()
        store = LocalStore.open(folder)
        faults = [str(fault) for fault in store.verify()]
        store.close()
    bad = [*faults, *failed, *(one for _, wrong in answers for one in wrong)]
    counts = sum((read for read, _ in answers), Counter())
    tell(
        {"minutes": chosen.minutes, "written": written, "answers": counts, "bad": bad},
        chosen.out,
        failed=bad,
    )


if __name__ == "__main__":
    main()
