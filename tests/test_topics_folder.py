"""Topics as a folder that several people change: what is written is read again, nothing is lost."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import InputError
from slice_os.query.filters import parse_where
from slice_os.query.options import UNITS
from slice_os.topics import Learned, Topic, read_topic
from slice_os.topics import folder as folders
from slice_os.topics.changes import SeenHits
from slice_os.topics.files import LONGEST_FILE, parse_topic
from slice_os.topics.folder import (
    NoSuchTopicError,
    TopicChangedError,
    TopicExistsError,
    TopicsFolder,
)
from slice_os.topics.table import NAME, read_table, topic_table, topic_text
from slice_os.topics.work import Work

from .strategies import hard_texts

CANCEL = Topic("cancel", ("end my plan",), threshold=0.7)
FILLED = hard_texts(6).filter(str.strip)
TEXTS = st.lists(FILLED, max_size=3).map(tuple)
SCALARS = hard_texts(3) | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9)
NUMBERS = st.integers(-9, 9) | st.floats(-9, 9) | st.just("2026-06-01")
OPERATORS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("eq", "in", "ne"), st.lists(SCALARS, max_size=2) | SCALARS),
        **dict.fromkeys(("lt", "lte", "gt", "gte"), NUMBERS),
    },
).filter(bool)
COSINES, SHARES = st.floats(-1, 1), st.floats(0, 1)
LEARNED = st.builds(
    Learned,
    st.none() | COSINES,
    TEXTS,
    TEXTS,
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.dates().map(str) | hard_texts(2),
)
CUTS = st.fixed_dictionaries({}) | st.one_of(
    st.fixed_dictionaries({"threshold": COSINES}),
    st.fixed_dictionaries({"min_probability": SHARES}),
    st.fixed_dictionaries({"precision": SHARES}),
)


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    """Anything that a topic can be."""
    where = draw(st.dictionaries(hard_texts(2), SCALARS | OPERATORS, max_size=3))
    return Topic(
        name=draw(st.from_regex(NAME, fullmatch=True)),
        phrases=tuple(draw(st.lists(FILLED, min_size=1, max_size=3))),
        description=draw(hard_texts(6)),
        counter_phrases=draw(TEXTS),
        where=parse_where(where),  # type: ignore[arg-type]
        unit=draw(st.sampled_from(("", *UNITS))),
        must_match=draw(TEXTS),
        must_not_match=draw(TEXTS),
        learned=draw(LEARNED),
        **draw(CUTS),
    )


class TestWriting:
    @given(topics())
    @pytest.mark.slow
    def test_what_is_written_is_read_as_the_same(self, topic: Topic) -> None:
        content = topic_text(topic).encode()
        assert parse_topic(content, "another") == (topic, [])
        table = json.loads(json.dumps(topic_table(topic)))
        assert read_table(table, "another") == (topic, [])

    def test_a_file_is_one_that_people_would_write(self) -> None:
        where = {"csat": {"lt": 3}, "domain": ["bank", "airline"], "open": True, "a b": "x"}
        topic = replace(CANCEL, where=parse_where(where), learned=Learned(0.6, date="2026-11-22"))
        assert topic_text(topic) == (
            'name = "cancel"\n'
            "phrases = [\n"
            '    "end my plan",\n'
            "]\n"
            "where = "
            '{csat = {lt = 3}, domain = ["bank", "airline"], open = true, "a b" = "x"}\n'
            "threshold = 0.7\n"
            "\n"
            "[learned]\n"
            "threshold = 0.6\n"
            "date = 2026-11-22\n"
        )

    @pytest.mark.parametrize(
        ("table", "told"),
        [
            ({"phrases": ["a"], "phrase": 1}, "unknown key phrase; did you mean phrases?"),
            ({"phrases": ["\ud800"]}, "phrases: text: lone surrogate U+D800"),
            ({"phrases": ["a"], "name": "../a"}, "name '../a': give letters"),
            ({"phrases": ["a"], "where": {"n": 10**400}}, "where: filter on 'n'"),
            ({"phrases": ["a"], "learned": {"offset": 10**400}}, "learned: offset is 1"),
            ({"phrases": ["a"], "threshold": float("nan")}, "threshold is nan"),
        ],
    )
    def test_tables_say_what_is_wrong(self, table: dict[str, object], told: str) -> None:
        _, problems = read_table(table, "t")
        assert problems[0].startswith(told)


@pytest.fixture
def folder(tmp_path: Path) -> TopicsFolder:
    return TopicsFolder(tmp_path / "topics")


class TestFolder:
    def test_adds_replaces_and_deletes(self, folder: TopicsFolder) -> None:
        assert folder.read() == ([], [])
        added = folder.add(CANCEL)
        assert folder.get("cancel") == added
        assert read_topic(folder.folder / "cancel.toml") == CANCEL
        changed = folder.replace(replace(CANCEL, threshold=0.8), added.etag)
        assert changed.etag != added.etag
        assert folder.get("cancel") == changed
        folder.delete("cancel", changed.etag)
        assert folder.read() == ([], [])
        with pytest.raises(NoSuchTopicError, match="no topic 'cancel'"):
            folder.get("cancel")

    def test_loses_nobodys_work(self, folder: TopicsFolder) -> None:
        first = folder.add(CANCEL)
        with pytest.raises(TopicExistsError):
            folder.add(CANCEL)
        folder.replace(replace(CANCEL, threshold=0.8), first.etag)
        theirs = folder.folder.joinpath("cancel.toml").read_bytes()
        for change in (
            lambda: folder.replace(replace(CANCEL, threshold=0.9), first.etag),
            lambda: folder.write_learned("cancel", Learned(0.5), first.etag),
            lambda: folder.delete("cancel", first.etag),
        ):
            with pytest.raises(TopicChangedError, match="has changed since you read it"):
                change()
        assert folder.folder.joinpath("cancel.toml").read_bytes() == theirs
        folder.delete("cancel", None)

    def test_one_of_many_who_change_the_same_wins(self, folder: TopicsFolder) -> None:
        etag = folder.add(CANCEL).etag
        won, lost = [], []

        def change(number: int) -> None:
            topic = replace(CANCEL, description=str(number))
            try:
                # Every program has an object of its own.
                won.append(TopicsFolder(folder.folder).replace(topic, etag).topic)
            except TopicChangedError:
                lost.append(number)

        threads = [threading.Thread(target=change, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(lost) == 7
        assert [folder.get("cancel").topic] == won

    def test_keeps_comments_if_only_the_learned_table_changes(self, folder: TopicsFolder) -> None:
        folder.folder.mkdir()
        path = folder.folder / "deep" / "mine.toml"
        path.parent.mkdir()
        path.write_text('# by hand\nname = "cancel"\nphrases = ["end my plan"] # one\n')
        etag = folder.get("cancel").etag
        learned = folder.write_learned("cancel", Learned(0.6, labels=3), etag)
        assert folder.get("cancel") == learned
        assert learned.topic.learned == Learned(0.6, labels=3)
        text = path.read_text()
        assert "# by hand" in text
        assert "# one" in text
        same = folder.replace(learned.topic, learned.etag)
        assert same == learned
        assert path.read_text() == text
        path.write_text(f"{text}\n# at the end\n")
        folder.write_learned("cancel", Learned(0.7), None)
        assert path.read_text().endswith("threshold = 0.7\n# at the end\n")
        path.write_text(f"{'#' * (LONGEST_FILE - len(text) - 1)}\n{text}")
        with pytest.raises(InputError, match="would have more than 1,048,576 bytes"):
            folder.write_learned("cancel", Learned(0.6, phrases=("quit it",)), None)
        path.write_text(text)
        folder.replace(replace(learned.topic, description="gone", counter_phrases=("x",)), None)
        text = path.read_text()
        assert text.startswith('# by hand\nname = "cancel"\nphrases = ["end my plan"] # one\n')

    @pytest.mark.parametrize("head", ["# by hand\n", '# by hand\nname = "cancel"  # so\n'])
    def test_a_topic_is_renamed_and_keeps_its_comments(
        self, folder: TopicsFolder, head: str
    ) -> None:
        folder.folder.mkdir()
        folder.folder.joinpath("cancel.toml").write_text(f'{head}phrases = ["end my plan"] # one\n')
        folder.add(Topic("other", ("x",)))
        folder.folder.joinpath("both.toml").write_text('all = ["cancel"]\n')
        with pytest.raises(InputError, match="'both' combines it by this name"):
            folder.rename("cancel", "new")
        folder.delete("both", None)
        for name, error in (
            ("other", TopicExistsError),
            ("../x", InputError),
            ("a\nb", InputError),
        ):
            with pytest.raises(error):
                folder.rename("cancel", name)
        renamed = folder.rename("cancel", "Wants to cancel", folder.get("cancel").etag)
        assert folder.get("Wants to cancel") == renamed
        assert renamed.path.name == "Wants to cancel.toml"
        text = renamed.path.read_text()
        assert "# by hand\n" in text
        assert "# one\n" in text
        assert [stored.topic.name for stored in folder.read()[0]] == ["Wants to cancel", "other"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
    def test_pipes_are_not_read(self, folder: TopicsFolder) -> None:
        stored = folder.add(CANCEL)
        os.mkfifo(folder.folder / "pipe.toml")
        assert folder.read() == ([stored], [])

    @pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="needs devices")
    def test_devices_are_no_files_of_a_store(self, folder: TopicsFolder) -> None:
        work = Work(folder.folder.parent)
        stored = folder.add(CANCEL)
        for link in (folder.folder / "device.toml", work.labels_file, work.seen):
            link.symlink_to("/dev/null")
        assert folder.read() == ([stored], [])
        for read in (work.labels, lambda: SeenHits(work.seen)):
            with pytest.raises(InputError, match="no file; move it away"):
                read()

    def test_seen_hits_are_whole_digests(self, folder: TopicsFolder) -> None:
        seen = Work(folder.folder).seen
        seen.parent.mkdir(exist_ok=True)
        seen.write_text("short\nlines of something else")
        with pytest.raises(InputError, match=":1: not as it was written"):
            SeenHits(seen)

    def test_one_broken_file_does_not_hide_the_others(self, folder: TopicsFolder) -> None:
        folder.add(CANCEL)
        folder.folder.joinpath("broken.toml").write_text("phrases = [")
        folder.folder.joinpath("twice.toml").write_text('name = "cancel"\nphrases = ["x"]')
        folder.folder.joinpath(".half-written.toml").write_text("phra")
        topics, problems = folder.read()
        assert [stored.topic for stored in topics] == [CANCEL]
        assert [line.split(":")[0] for line in problems] == ["broken.toml", "twice.toml"]
        assert problems[1] == "twice.toml: cancel.toml also has topic 'cancel'"

    @pytest.mark.parametrize(
        "name", ["../out", "a/b", "", ".", "a\0", "C:\\x", "x" * 101, "a  b", "a "]
    )
    def test_no_name_leads_out_of_it(self, folder: TopicsFolder, name: str) -> None:
        for store in (folder.add, lambda topic: folder.replace(topic, None)):
            with pytest.raises(InputError, match="name"):
                store(replace(CANCEL, name=name))
        with pytest.raises(NoSuchTopicError):
            folder.delete(name, None)

    def test_says_where_it_cannot_write(self, tmp_path: Path) -> None:
        tmp_path.joinpath("file").write_text("")
        with pytest.raises(InputError, match="file/topics: cannot be written"):
            TopicsFolder(tmp_path / "file" / "topics").add(CANCEL)

    def test_what_the_program_wrote_tells_a_flip(self, folder: TopicsFolder) -> None:
        learned = Learned(0.625, ("stop it",), labels=3, date="2026-06-01")
        stored = folder.add(replace(CANCEL, threshold=0.5, learned=learned))
        path, whole = stored.path, stored.path.read_bytes()
        for place in range(len(whole)):
            for bit in (1, 32):
                flipped = bytearray(whole)
                flipped[place] ^= bit
                path.write_bytes(flipped)
                topics, problems = folder.read()
                assert problems or [one.topic for one in topics] == [stored.topic], (place, bit)
        path.write_bytes(whole)
        folder.write_learned("cancel", replace(learned, threshold=0.75), None)
        assert folder.read()[1] == []
        folder.rename("cancel", "leave")
        assert folder.read()[1] == []

    def test_people_may_edit_what_the_program_wrote(
        self, folder: TopicsFolder, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = folder.add(CANCEL).path
        text = path.read_text()
        path.write_text(text.replace(CANCEL.phrases[0], "another phrase"))
        (stored,), problems = folder.read()
        assert stored.topic.phrases[0] == "another phrase"
        told = "not as slice-os wrote it; if you changed it, delete its line '# checksum …'"
        assert problems == [f"cancel.toml: {told}"]
        assert read_topic(path) == stored.topic
        assert caplog.messages == [f"{path}: {told}"]
        assert folder.write_learned("cancel", Learned(0.6), None).topic.learned == Learned(0.6)
        assert folder.read()[1] == problems  # still nobody has looked at it
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith("# checksum")))
        assert folder.read()[1] == []

    def test_a_table_that_was_learned_tells_a_flip(self, folder: TopicsFolder) -> None:
        folder.folder.mkdir()
        path = folder.folder / "cancel.toml"
        path.write_text('phrases = ["end my plan"] # by hand\n')
        folder.write_learned("cancel", Learned(0.625, labels=3), None)
        path.write_text(path.read_text().replace("end my plan", "end it"))
        assert folder.read()[1] == []
        path.write_text(path.read_text().replace("0.625", "0.225"))
        (stored,), (problem,) = folder.read()
        assert stored.topic.learned.threshold == 0.225
        assert problem.endswith("if you changed it, delete '# checksum …' behind [learned]")
        folder.write_learned("cancel", Learned(0.5), None)
        assert folder.read()[1] == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"phrases = {json.dumps(['a'] * 1_001)}", "1,001 texts; 1,000 are the most"),
        (f"phrases = {json.dumps(['a' * 10_001])}", "a text of 10,001 characters"),
        (f'phrases = ["a"]\ncounter_phrases = {json.dumps(["b"] * 300_000)}', "1,048,576 bytes"),
        (f'phrases = ["a"]\nwhere = {{ b = {json.dumps(["c"] * 1_001)} }}', "1,001 values"),
        (f'phrases = ["a"]\n[learned]\nphrases = {json.dumps(["b"] * 1_001)}', "1,001 texts"),
        (f"all = {json.dumps(['a'] * 101)}", "101 topics; 100 are the most"),
        (f'all = [{{ topic = "a", first = "{"9" * 400} words" }}]', 'give "20 seconds"'),
        (f"phrases = {'[' * 5_000}", "nested too deeply"),
        ("a." * 200_000 + "b = 1", "a key of more than 32 parts"),
        (f"[{'a . ' * 20_000}b]\nc = 1\nd = 1", "a key of more than 32 parts"),
        ("where = { " + '"".' * 40 + "b = 1 }", "a key of more than 32 parts"),
    ],
)
def test_files_beyond_the_bounds_are_told_and_left_out(
    tmp_path: Path, content: str, told: str
) -> None:
    folder = TopicsFolder(tmp_path)
    folder.add(CANCEL)
    (tmp_path / "much.toml").write_text(content)
    for _ in range(2):  # what is known of a file is told again
        found, (problem,) = folder.read()
        assert [one.topic for one in found] == [CANCEL]
        assert problem.startswith("much.toml: ")
        assert told in problem
        assert len(problem.splitlines()) == 1
    with pytest.raises(InputError, match="much"):
        read_topic(tmp_path / "much.toml")


def test_a_folder_takes_so_many_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_TOPICS", 2)
    folder = TopicsFolder(tmp_path)
    for name in "ab":
        folder.add(Topic(name, ("end my plan",)))
    with pytest.raises(InputError, match=r"has 2 topics .* delete some first"):
        folder.add(CANCEL)
    monkeypatch.setattr(folders, "MOST_PHRASES", 3)
    folder.replace(Topic("a", ("end my plan", "stop it")), None)
    with pytest.raises(InputError, match="would have 4 phrases"):
        folder.replace(Topic("b", ("end my plan", "stop it")), None)
    with pytest.raises(InputError, match="would have 4 phrases"):
        folder.rename("b", "c", topic=Topic("c", ("end my plan", "stop it")))
    monkeypatch.setattr(folders, "MOST_BYTES", 1_000)
    with pytest.raises(InputError, match="MiB; it takes 2, 3 and"):
        folder.replace(Topic("b", ("end my plan",), must_match=("a " * 5_000,) * 100), None)
    assert len(folder.read()[0]) == 2
