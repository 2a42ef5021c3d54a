"""Kills what writes topics and labels at chosen lines, and flips bits in all that it keeps.

    python -m tests.soak.kills_topics --count 240 --flips 120 --out benchmarks/results/…

Each operation runs in a process of its own that is killed before one of its lines. Then topics and
their labels must be as before it or as after it, and the same operation must complete it, and leave
no part of a file. A flip must be told by one line, or change nothing that is read.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from slice_os.cli.review import Question, ask_about
from slice_os.errors import InputError, SliceError
from slice_os.estimates.agreement import disputes
from slice_os.hits.hit import Context, Hit
from slice_os.labels.label import Label
from slice_os.topics.changes import SeenHits
from slice_os.topics.combination import Combination, Part
from slice_os.topics.folder import NoSuchTopicError, TopicExistsError, TopicsFolder
from slice_os.topics.journal import LabelJournal, rename_topic
from slice_os.topics.topic import Learned, Topic
from slice_os.topics.work import Work
from tests.soak.report import options, place, tell

WRITERS = ("/slice_os/topics/", "/slice_os/tables/", "/slice_os/cli/review.py")
WORDS = "end my plan"


def label(name: str, right: bool = True, **others: Any) -> Label:
    """A label of the words of a document."""
    return Label("cancel", WORDS, right, name, 0, 11, **others)


def hits() -> list[Hit]:
    scores = {"cosine": 0.7, "bm25": 0.0, "score": 0.7}
    words = {"start": 0, "end": 11, "text": WORDS, "metadata": {}, **scores}
    return [
        Hit(doc_id=f"d{n}", phrase=WORDS, passage=Context(0, 11, WORDS), topic="cancel", **words)
        for n in range(4)
    ]


def prepare(folder: Path) -> None:
    """Topics by hand and by the program, labels with a dispute, and hits that were seen."""
    work = Work(folder)
    topics = TopicsFolder(work.topics)
    topics.folder.mkdir(parents=True)
    by_hand = f'# by hand\nname = "cancel"\nphrases = ["{WORDS}"]\n'
    topics.folder.joinpath("cancel.toml").write_text(by_hand)
    topics.folder.joinpath("unnamed.toml").write_text('phrases = ["pay later"]\n')
    topics.add(Topic("card", ("block my card",)))
    journal = LabelJournal(work.labels_file)
    journal.add([label("a", right=False), label("b")])
    journal.add([replace(label("u", right=False), topic="unnamed")])
    journal.add([label("c", reader="ann"), label("c", right=False, reader="bob")])
    seen = SeenHits(work.seen)
    list(seen.new(hits()[:2]))
    seen.keep()


def answer(work: Work, questions: Sequence[Question], keys: str) -> None:
    """Answer questions as a person at a terminal."""
    sys.stdin = io.TextIOWrapper(io.BytesIO(keys.encode()))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        ask_about(questions, LabelJournal(work.labels_file))


def asked(work: Work, named: Sequence[Label], keys: str) -> None:
    """Ask about what has no label yet, as review and estimate do."""
    known = {one.key for one in work.labels()}
    answer(work, [Question("?", (one,)) for one in named if one.key not in known], keys)


def settle(work: Work) -> None:
    left = disputes(LabelJournal(work.labels_file).of_all_readers())
    said = [[replace(one.label, reader="eve", settled=True) for one in hit.answers] for hit in left]
    answer(work, [Question("?", tuple(some)) for some in said], "y")


def merge(work: Work) -> None:
    """Add the labels of another file that are not known, as `labels import` does."""
    known = {one.key for one in work.labels()}
    others = [label(f"other {n}", reader="zoe") for n in range(50)]
    LabelJournal(work.labels_file).add([one for one in others if one.key not in known])


def see(work: Work) -> None:
    """Deliver the hits that no run has found."""
    seen = SeenHits(work.seen)
    list(seen.new(hits()))
    seen.keep()


def renamed(old: str, new: str, topic: Topic | None = None) -> Callable[[Work], object]:
    """An operation that renames a topic."""

    def rename(work: Work) -> object:
        journal = LabelJournal(work.labels_file)
        return rename_topic(TopicsFolder(work.topics), journal, old, new, None, topic)

    return rename


RULE = Topic("leaves", combination=Combination(all=(Part("cancel"),)))
OPERATIONS: dict[str, Callable[[Work], object]] = {
    "rename": renamed("cancel", "leave"),
    "rename by file": renamed("unnamed", "later"),
    "rename and replace": renamed("cancel", "leave", Topic("leave", (WORDS, "stop it"))),
    "replace": lambda work: TopicsFolder(work.topics).replace(Topic("cancel", ("stop",)), None),
    "rules": lambda work: TopicsFolder(work.topics).add(RULE),
    "learn": lambda work: TopicsFolder(work.topics).write_learned("cancel", Learned(0.6), None),
    "delete": lambda work: TopicsFolder(work.topics).delete("card", None),
    "estimate": lambda work: asked(work, [label(f"e{n}") for n in range(4)], "yyyy"),
    "review": lambda work: asked(work, [label(f"r{n}") for n in range(4)], "yuyyyy"),
    "settle": settle,
    "merge": merge,
    "new hits": see,
}
# Refused once they are done.
DONE = {"rename by file": NoSuchTopicError, "rules": TopicExistsError, "delete": NoSuchTopicError}
# People answer one question after the other, and each answer counts.
STEPWISE = ("estimate", "review", "settle")


def state(folder: Path) -> tuple[Any, ...]:
    """What is read: each topic with its labels, all labels of topics that exist, and seen hits."""
    work = Work(folder)
    found, problems = TopicsFolder(work.topics).read()
    assert not problems, problems
    names = {one.topic.name for one in found}
    labels = [a.label for a in LabelJournal(work.labels_file).of_all_readers()]
    named = sorted(
        (one.topic, one.reader, one.settled, one.doc_id, one.right)
        for one in labels
        if one.topic in names
    )
    return [one.topic for one in found], named, len(list(SeenHits(work.seen).new(hits())))


def lines_run(act: Callable[[], object], most: int | None = None) -> int:
    """How many lines of ours an action runs in a process of its own; it is killed after most."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        status = os.waitpid(child, 0)[1]
        with open(reader, "rb") as pipe:  # noqa: PTH123
            told = pipe.read()
        assert status == 0 or most is not None, "failed"
        return int(told or -1)
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if not any(name in frame.f_code.co_filename for name in WRITERS):
            return None
        if event == "line":
            if count == most:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
        return trace

    sys.settrace(trace)
    act()
    sys.settrace(None)
    os.write(writer, str(count).encode())
    os._exit(0)


def kill(operation: str, line: int, pristine: Path, folder: Path, ends: dict[str, Any]) -> str:
    """Kill an operation before a line; what came of it."""
    shutil.copytree(pristine, folder)
    act = OPERATIONS[operation]
    lines_run(lambda: act(Work(folder)), line)
    left = state(folder)
    before, after = ends[operation]
    # Labels of a topic that has both names for a while are those of the one that is there.
    if operation not in STEPWISE:
        assert left in (before, after), f"neither before nor after: {left}"
    else:
        assert set(before[1]) <= set(left[1]) <= set(after[1]) | set(before[1]), left
    try:
        act(Work(folder))
    except DONE.get(operation, ()):
        assert left == after
    except NoSuchTopicError:
        assert left == after, "repeating is refused"
        assert not LabelJournal(Work(folder).labels_file).renaming()
    assert state(folder) == after, "not completed"
    TopicsFolder(Work(folder).topics).add(Topic("next", ("x",)))
    parts = [path.name for path in folder.rglob(".*") if path.name != ".lock"]
    assert not parts, parts
    return "as before" if left == before else "as after" if left == after else "between"


def kills(count: int, seed: int) -> dict[str, Any]:
    """Kill all operations in turn, at lines spread over each."""
    chosen = random.Random(seed)
    counts: dict[str, Counter[str]] = {name: Counter() for name in OPERATIONS}
    lines, ends, bad = {}, {}, list[str]()
    with tempfile.TemporaryDirectory() as place_:
        root = Path(place_)
        prepare(root / "pristine")
        before = state(root / "pristine")
        for number, (name, act) in enumerate(OPERATIONS.items()):
            done = root / f"done {number}"
            shutil.copytree(root / "pristine", done)
            lines[name] = lines_run(lambda act=act, done=done: act(Work(done)))
            ends[name] = before, state(done)
        for number in range(count):
            name = list(OPERATIONS)[number % len(OPERATIONS)]
            line = chosen.randrange(lines[name])
            folder = root / f"kill {number}"
            try:
                counts[name][kill(name, line, root / "pristine", folder, ends)] += 1
            except Exception as error:
                bad.append(f"{name} before line {line} of {lines[name]}: {place(error)}"[:600])
            shutil.rmtree(folder)
    return {"kills": count, "ends": counts, "lines": lines, "bad": bad}


def flips(count: int, seed: int) -> dict[str, Any]:
    """Flip a bit at a time in all that the program wrote."""
    chosen = random.Random(seed)
    ends: dict[str, Counter[str]] = {}
    bad = []
    with tempfile.TemporaryDirectory() as place_:
        folder = Path(place_) / "work"
        prepare(folder)
        for name in ("rename", "learn", "rules", "replace"):
            try:
                OPERATIONS[name](Work(folder))
            except SliceError:
                TopicsFolder(Work(folder).topics).write_learned("card", Learned(0.6), None)
        whole = state(folder)
        by_hand = {"unnamed.toml", "leave.toml"}
        files = [one for one in sorted(folder.rglob("*")) if one.is_file() and one.stat().st_size]
        files = [one for one in files if one.name not in by_hand]
        for number in range(count):
            file = files[number % len(files)]
            content = file.read_bytes()
            at, bit = chosen.randrange(len(content)), chosen.randrange(8)
            file.write_bytes(content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :])
            try:
                found = state(folder)
                end = "changes nothing" if found == whole else "silent"
            except (InputError, AssertionError) as error:
                end = "told" if "\n" not in str(error) else "not in one line"
            ends.setdefault(file.name, Counter())[end] += 1
            if end not in ("told", "changes nothing"):
                bad.append(f"{end}: {file.name}, byte {at}, bit {bit}")
            file.write_bytes(content)
    return {"flips": count, "ends": ends, "bad": bad}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--flips", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    report = {
        "killed": kills(chosen.count, chosen.seed),
        "flipped": flips(chosen.flips, chosen.seed),
    }
    tell(report, chosen.out, failed=report["killed"]["bad"] or report["flipped"]["bad"])


if __name__ == "__main__":
    main()
