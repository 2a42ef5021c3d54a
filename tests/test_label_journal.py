"""The file of labels: several programs add to it, and what was answered stays."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import InputError
from slice_os.hits.hit import Context
from slice_os.labels.label import Label, Origin, read_labels
from slice_os.topics import journal as journals
from slice_os.topics.folder import NoSuchTopicError, TopicsFolder
from slice_os.topics.journal import LabelJournal, rename_topic
from tests.soak import kills_topics

ADDING = """
import sys
from slice_os.topics.journal import LabelJournal
from slice_os.labels.label import Label

journal = LabelJournal(sys.argv[1])
for number in range(int(sys.argv[3])):
    journal.add([Label("cancel", "end my plan " * 400, True, sys.argv[2], number, number + 1)])
    print(number, flush=True)
"""


def label(name: str, right: bool = True) -> Label:
    return Label("cancel", "end my plan", right, name, 0, 11)


@pytest.fixture
def journal(tmp_path: Path) -> LabelJournal:
    return LabelJournal(tmp_path / "labels.jsonl")


def test_the_last_answer_counts_and_can_be_taken_back(journal: LabelJournal) -> None:
    assert journal.read() == []
    assert journal.take_back([label("a")]) == []
    journal.add([label("a"), label("b")])
    journal.add([label("a", right=False)])
    assert [(each.number, each.label) for each in journal.read()] == [
        (2, label("b")),
        (3, label("a", right=False)),
    ]
    before = journal.path.read_bytes()
    assert journal.take_back([label("a")]) == [label("a", right=False)]
    assert [each.label for each in journal.read()] == [label("a"), label("b")]
    assert journal.take_back([label("a")]) == [label("a")]
    assert journal.take_back([label("a")]) == []
    assert read_labels(journal.path) == [label("b")]
    assert journal.path.read_bytes().startswith(before)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([True, False, None]))))
def test_it_is_a_stack_for_each_place(
    tmp_path_factory: pytest.TempPathFactory, answers: list[tuple[str, bool | None]]
) -> None:
    journal = LabelJournal(tmp_path_factory.mktemp("labels") / "l.jsonl")
    given_: dict[str, list[Label]] = {}
    for name, right in answers:
        stack = given_.setdefault(name, [])
        if right is None:
            assert journal.take_back([label(name)]) == ([stack.pop()] if stack else [])
        else:
            stack.append(label(name, right))
            journal.add([stack[-1]])
    expected = [stack[-1] for stack in given_.values() if stack]
    found = [each.label for each in journal.read()]
    assert sorted(found, key=lambda each: each.doc_id) == sorted(
        expected, key=lambda each: each.doc_id
    )


def test_several_programs_lose_nothing(journal: LabelJournal) -> None:
    command = [sys.executable, "-c", ADDING, str(journal.path)]
    programs = [subprocess.Popen([*command, str(number), "25"]) for number in range(3)]
    assert [program.wait() for program in programs] == [0, 0, 0]
    found = {(each.label.doc_id, each.label.start) for each in journal.read()}
    assert found == {(str(number), row) for number in range(3) for row in range(25)}


def test_a_killed_program_loses_no_answered_label(journal: LabelJournal) -> None:
    command = [sys.executable, "-c", ADDING, str(journal.path), "killed", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        answered = [int(program.stdout.readline()) for _ in range(20)]
        program.kill()
        answered += [int(line) for line in program.stdout]
    journal.add([label("later")])
    found = journal.read()
    assert set(answered) <= {each.label.start for each in found}
    assert found[-1].label == label("later")


@pytest.mark.parametrize("length", [1, 5, 9, 30, 80])
def test_what_a_killed_writer_left_unfinished_is_cut_off(
    journal: LabelJournal, length: int
) -> None:
    journal.add([label("a")])
    with journal.path.open("ab") as file:
        file.write(label("torn").to_json()[:length])
    assert read_labels(journal.path) == [label("a")]
    assert [each.label for each in journal.read()] == [label("a")]
    journal.add([label("b")])
    assert read_labels(journal.path) == [label("a"), label("b")]


def test_what_a_person_wrote_is_never_cut_off(journal: LabelJournal) -> None:
    journal.path.write_text('{"topic": "cancel", "text": "x", "label": true}')
    journal.add([label("b")])
    assert len(journal.read()) == 2
    written = journal.path.read_text() + "not JSON"
    journal.path.write_text(written)
    with pytest.raises(InputError, match=":3: not valid JSON"):
        journal.read()
    assert journal.path.read_text() == written
    journal.path.write_text('{"topic":' + "[" * 100_000)
    with pytest.raises(InputError, match=":1: not valid JSON"):
        journal.read()


def test_a_full_disk_is_told_and_leaves_nothing(
    journal: LabelJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.add([label("a")])

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="No space left"):
            journal.add([label("b"), label("c")])
    assert read_labels(journal.path) == [label("a")]


def test_a_place_that_cannot_be_is_told(tmp_path: Path) -> None:
    tmp_path.joinpath("file").write_text("")
    with pytest.raises(InputError, match="labels cannot be added"):
        LabelJournal(tmp_path / "file" / "labels.jsonl").add([label("a")])


class TestRenaming:
    @pytest.fixture
    def topics(self, tmp_path: Path, journal: LabelJournal) -> TopicsFolder:
        topics = TopicsFolder(tmp_path / "topics")
        topics.folder.mkdir()
        topics.folder.joinpath("cancel.toml").write_text('phrases = ["end my plan"]  # mine\n')
        journal.add([label("a", right=False), replace(label("b"), topic="other")])
        return topics

    @staticmethod
    def state(topics: TopicsFolder, journal: LabelJournal) -> dict[str, list[tuple[str, bool]]]:
        """The labels of each topic that there is."""
        found, problems = topics.read()
        assert not problems
        answers = [answer.label for answer in journal.read()]
        return {
            one.topic.name: [(a.doc_id, a.right) for a in answers if a.topic == one.topic.name]
            for one in found
        }

    def test_keeps_every_line(self, topics: TopicsFolder, journal: LabelJournal) -> None:
        before = journal.path.read_bytes()
        stored, labels = rename_topic(topics, journal, "cancel", "leave")
        assert (stored.path.name, labels) == ("leave.toml", 1)
        assert journal.path.read_bytes().startswith(before)
        assert [one.label.topic for one in journal.read()] == ["leave", "other"]
        journal.add([label("c")])  # of a new topic of the former name
        assert self.state(topics, journal) == {"leave": [("a", False)]}
        left = replace(label("a", right=False), topic="leave")
        assert journal.take_back([left]) == [left]
        rename_topic(topics, journal, "leave", "cancel")
        assert self.state(topics, journal) == {"cancel": [("c", True)]}

    def test_is_completed_without_labels(self, topics: TopicsFolder, tmp_path: Path) -> None:
        journal = LabelJournal(tmp_path / "none.jsonl")
        left = topics.folder / "cancel.toml"
        left.write_text('name = "leave"\nphrases = ["end my plan"]\n')
        assert rename_topic(topics, journal, "cancel", "leave")[0].path.name == "leave.toml"
        with pytest.raises(NoSuchTopicError):
            rename_topic(topics, journal, "cancel", "leave")
        assert not journal.path.exists()

    def test_that_fails_changes_nothing(
        self, topics: TopicsFolder, journal: LabelJournal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = self.state(topics, journal)
        for name in ("../x", "cancel"):
            content = journal.path.read_bytes()
            with pytest.raises(InputError):
                rename_topic(topics, journal, "cancel", name)
            assert journal.path.read_bytes() == content

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", full)
            with pytest.raises(InputError, match="No space left"):
                rename_topic(topics, journal, "cancel", "leave")
        assert self.state(topics, journal) == before
        assert journal.renaming() == {}
        assert rename_topic(topics, journal, "cancel", "leave")[1] == 1


@pytest.mark.release
def test_a_kill_leaves_topics_and_labels_whole() -> None:
    found = kills_topics.kills(5 * len(kills_topics.OPERATIONS), seed=1)
    assert found["bad"] == []


def test_a_flip_in_topics_and_labels_is_told() -> None:
    assert kills_topics.flips(60, seed=1)["bad"] == []


def test_a_flip_is_told_or_changes_nothing(journal: LabelJournal) -> None:
    context = Context(0, 14, "end my plan ok")
    origin = Origin("mini", "ab12", "s", "1.0", 0.625)
    journal.add([replace(label("a"), passage=context, origin=origin, reader="ann"), label("b")])
    journal.take_back([label("b")])
    journal.add([label("c", right=False)])
    journal.rename("cancel", "leave")
    journal.add([replace(label("c"), topic="leave")])
    whole, answers = journal.path.read_bytes(), journal.read()
    assert len(answers) == 2
    told = 0
    for place in range(len(whole)):
        for bit in (1, 32):
            flipped = bytearray(whole)
            flipped[place] ^= bit
            journal.path.write_bytes(flipped)
            try:
                found = LabelJournal(journal.path).read()
            except InputError:
                told += 1
            else:
                assert found == answers, (place, bit)
    assert told > len(whole)


def test_people_may_edit_and_add_lines(journal: LabelJournal) -> None:
    journal.add([label("a")])
    row = json.loads(journal.path.read_text())
    journal.path.write_text(json.dumps(row, indent=None) + "\n")  # other spaces, same content
    assert [one.label for one in journal.read()] == [label("a")]
    journal.path.write_text(json.dumps({**row, "label": False}) + "\n")
    with pytest.raises(InputError, match="delete its field 'checksum'"):
        journal.read()
    del row["checksum"]
    journal.path.write_text(json.dumps({**row, "label": False}) + "\n")
    assert [one.label.right for one in journal.read()] == [False]


def test_a_file_of_labels_has_a_bound(
    journal: LabelJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "MOST_LINES", 3)
    labels = [Label("cancel", text, right=True) for text in ("a", "b", "c", "d")]
    journal.add(labels[:2])
    with pytest.raises(InputError, match="has 2 lines and 0 MiB, and takes 3 and"):
        journal.add(labels[2:])
    journal.add(labels[2:3])
    monkeypatch.setattr(journals, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="move it away"):
        journal.add_sample("cancel", {})
    assert [one.label for one in journal.read()] == labels[:3]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_what_has_no_end_is_not_read(tmp_path: Path) -> None:
    journal = LabelJournal(tmp_path / "labels.jsonl")
    journal.path.symlink_to("/dev/zero")
    for use in (journal.read, lambda: journal.add([Label("cancel", "end it", right=True)])):
        with pytest.raises(InputError, match=r"labels\.jsonl: no file"):
            use()
    journal.path.unlink()
    os.mkfifo(journal.path)
    with pytest.raises(InputError, match=r"labels\.jsonl: no file"):
        journal.read()


def test_a_file_of_something_else_gets_no_label(journal: LabelJournal, tmp_path: Path) -> None:
    other = tmp_path / "profile"
    other.write_text("export NAME=value\n")
    journal.path.symlink_to(other)
    with pytest.raises(InputError, match=":1: "):
        journal.add([label("a")])
    assert other.read_text() == "export NAME=value\n"
