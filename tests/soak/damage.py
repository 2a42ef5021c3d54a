"""Damages a local store in many ways: no answer may be wrong in silence, and none a traceback.

    python -m tests.soak.damage --count 1050 --out benchmarks/results/soak_damage.json

Each time, one bit of a file is flipped, or a file is cut or emptied. Then the store answers
searches, minings and look-ups, is verified, and repaired. Prints what came of it, as JSON.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from slice_os import Document, LocalStore, SliceError
from slice_os.query.options import SearchOptions
from slice_os.search.run import mine, search
from tests.soak.report import options, tell
from tests.test_local_store import CARD, part_of, query

DOCUMENTS = 24
WORDS = [
    *("number", "version", "plan", "contract", "end", "price", "money", "order", "late", "broken"),
    *("again", "happy"),
]


def build(folder: Path) -> None:
    """A store with replaced and deleted documents, metadata, sources and several passages each."""
    store = LocalStore.create(folder, CARD, 128)
    chosen = random.Random(7)
    for generation in range(2):
        with store.writer() as writer:
            for n in range(generation * 4, DOCUMENTS):
                text = f"number {n} is here. " + " ".join(chosen.choices(WORDS, k=20 + n)) + "."
                document = Document(
                    f"doc {n}", text, {"lang": "en" if n % 3 else "de", "n": n}, source=f"s{n % 4}"
                )
                part = part_of(document, n + generation)
                spoken = (
                    replace(passage, metadata={"speaker": f"speaker {number % 2}"})
                    for number, passage in enumerate(part.passages)
                )
                writer.write(replace(part, passages=tuple(spoken)))
            writer.finish_source("s1", "read")
    with store.writer() as writer:
        writer.delete([f"doc {DOCUMENTS - 1}"])
    store.close()


def questions(folder: Path) -> dict[str, Callable[[], Any]]:
    """What is asked of a store; each opens it afresh, as a process would."""

    def opened(ask: Callable[[LocalStore], Any]) -> Callable[[], Any]:
        def run() -> Any:
            store = LocalStore.open(folder)
            try:
                return ask(store)
            finally:
                store.close()

        return run

    def hits(found: Iterator[Any]) -> list[tuple[Any, ...]]:
        return [
            (h.doc_id, h.start, h.end, h.text, h.cosine, h.bm25, h.score, dict(h.metadata))
            for h in found
        ]

    asked = query("number", "money order")
    return {
        "search": opened(lambda store: hits(iter(search(store, asked, SearchOptions(top_k=30))))),
        "mine": opened(lambda store: hits(mine(store, asked, threshold=0.2))),
        "sources": opened(lambda store: store.source_signatures(f"s{n}" for n in range(4))),
        "texts": opened(lambda store: [store.document_text(f"doc {n}") for n in range(DOCUMENTS)]),
    }


def damage(folder: Path, chosen: random.Random) -> str:
    """Flip a bit or cut a file; returns what was done."""
    files = sorted(path for path in folder.iterdir() if path.stat().st_size)
    database = folder / "store.sqlite"
    file = chosen.choice([*files, *[database] * len(files)])
    content = bytearray(file.read_bytes())
    kind = chosen.choice(["flip"] * 20 + ["cut", "empty", "missing"])
    # Most of a small database is empty room.
    place = chosen.choice([at for at, byte in enumerate(content) if byte])
    if kind == "flip":
        content[place] ^= 1 << chosen.randrange(8)
        file.write_bytes(content)
    elif kind == "missing":
        file.unlink()
    else:
        file.write_bytes(content[: place if kind == "cut" else 0])
    return f"{kind} {file.name} {place}"


def outcome(ask: Callable[[], Any], expected: Any) -> str:
    """How a question of a damaged store ended."""
    try:
        found = ask()
    except SliceError as error:
        return "refused" if "\n" not in str(error) else "traceback"
    except Exception as error:
        return f"traceback {type(error).__name__}: {error}"
    return "right" if found == expected else "wrong"


def run_once(pristine: Path, folder: Path, expected: dict[str, Any], seed: int) -> dict[str, str]:
    """Damage a copy of a store, ask it everything, verify and repair it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pristine, folder)
    results = {"damage": damage(folder, random.Random(seed))}
    asked = questions(folder)
    results |= {name: outcome(ask, expected[name]) for name, ask in asked.items()}

    def verified(repair: bool) -> str:
        store = LocalStore.open(folder)
        try:
            return "sound" if not store.verify(repair=repair) else "faults"
        finally:
            store.close()

    results["verify"] = _kept(lambda: verified(False))
    results["repair"] = _kept(lambda: verified(True))
    if results["repair"] == "faults":
        results["after"] = _kept(lambda: verified(False))
        remaining = _kept(lambda: str(_subset(asked["texts"](), expected["texts"])))
        results["texts after"] = "right" if remaining == "True" else remaining
    wrong = [name for name in asked if results[name] == "wrong"]
    results["end"] = "fine"
    if any(value.startswith("traceback") for value in results.values()):
        results["end"] = "traceback"
    elif wrong and results["verify"] == "sound":
        results["end"] = "silent"
    elif results.get("after", "sound") != "sound" or results.get("texts after") not in (
        None,
        "right",
    ):
        results["end"] = "repaired badly"
    elif wrong:
        results["end"] = "found by verify"
    elif "refused" in (results[name] for name in asked):
        results["end"] = "refused"
    return results


def _kept(act: Callable[[], str]) -> str:
    try:
        return act()
    except SliceError as error:
        return "refused" if "\n" not in str(error) else "traceback"
    except Exception as error:
        return f"traceback {type(error).__name__}: {error}"


def _subset(texts: list[str | None], expected: list[str | None]) -> bool:
    return all(text in (None, wanted) for text, wanted in zip(texts, expected, strict=True))


def run(count: int, first: int = 0) -> tuple[Counter[str], list[dict[str, str]]]:
    """Damage a store that often; returns how it ended, and the cases that did not end well."""
    ends: Counter[str] = Counter()
    bad = []
    with tempfile.TemporaryDirectory() as place:
        pristine = Path(place, "pristine")
        build(pristine)
        expected = {name: ask() for name, ask in questions(pristine).items()}
        for seed in range(first, first + count):
            results = run_once(pristine, Path(place, "damaged"), expected, seed)
            ends[results["end"]] += 1
            if results["end"] in ("silent", "traceback", "repaired badly"):
                bad.append({"seed": str(seed), **results})
    return ends, bad


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=1_050)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    ends, bad = run(chosen.count, chosen.first)
    tell({"damaged": chosen.count, "ends": dict(ends), "bad": bad}, chosen.out)


if __name__ == "__main__":
    main()
