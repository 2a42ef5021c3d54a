"""Hits for other tools, run records, and labels that come back."""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from slice_os import Context, Corpus, Document, Hit, InputError, SpanEncoder, write_hits
from slice_os.hits.files import FORMATS
from slice_os.hits.run_record import read_record
from slice_os.labels.imported import read_answered
from slice_os.labels.label import Label, read_labels

from .command_line import Run
from .strategies import hard_texts

SCHEMAS = Path(__file__).parent / "schemas"
REFI_SCHEMA = etree.XMLSchema(etree.parse(SCHEMAS / "refi-qda.xsd"))
REFI = "{urn:QDA-XML:project:1.0}"
# A span: its document, first code point, one past the last, its topic, its words.
Place: TypeAlias = tuple[str, int, int, str, str]


def valid(name: str, content: Any) -> Any:
    """Content, after a check by the format's schema."""
    jsonschema.validate(content, json.loads((SCHEMAS / name).read_text("utf-8")))
    return content


def read_label_studio(path: Path) -> Iterator[Place]:
    for task in valid("label-studio.json", json.loads(path.read_bytes())):
        for region in task["predictions"][0]["result"]:
            value = region["value"]
            words = task["data"]["text"][value["start"] : value["end"]]
            assert words == value["text"]
            yield task["data"]["doc_id"], value["start"], value["end"], value["labels"][0], words


def read_prodigy(path: Path) -> Iterator[Place]:
    for raw in path.read_bytes().splitlines():
        line = valid("prodigy.json", json.loads(raw))
        for span in line["spans"]:
            words = line["text"][span["start"] : span["end"]]
            assert words == span["text"]
            yield line["meta"]["doc_id"], span["start"], span["end"], span["label"], words


def read_web_annotations(path: Path) -> Iterator[Place]:
    collection = valid("web-annotation.json", json.loads(path.read_bytes()))
    assert collection["total"] == len(collection["first"]["items"])
    for one in collection["first"]["items"]:
        place, quote = one["target"]["selector"]
        doc_id = unquote(one["target"]["source"].removeprefix("urn:slice-os:document:"))
        yield doc_id, place["start"], place["end"], one["body"][0]["value"], quote["exact"]


def read_refi_qda(path: Path) -> Iterator[Place]:
    with zipfile.ZipFile(path) as archive:
        project = etree.fromstring(archive.read("project.qde"))
        REFI_SCHEMA.assertValid(project)
        codes = {one.get("guid"): one.get("name") for one in project.iter(f"{REFI}Code")}
        for source in project.iter(f"{REFI}TextSource"):
            file = source.get("plainTextPath").removeprefix("internal://")
            text = archive.read(f"sources/{file}").decode()
            for one in source.iter(f"{REFI}PlainTextSelection"):
                code = one.find(f"{REFI}Coding/{REFI}CodeRef").get("targetGUID")
                start, end = int(one.get("startPosition")), int(one.get("endPosition"))
                yield source.get("name"), start, end, codes[code], text[start:end]


READERS: dict[str, Callable[[Path], Iterator[Place]]] = {
    ".labelstudio.json": read_label_studio,
    ".prodigy.jsonl": read_prodigy,
    ".jsonld": read_web_annotations,
    ".qdpx": read_refi_qda,
}


def hit(doc_id: str, text: str, start: int, end: int, topic: str) -> Hit:
    place = (doc_id, start, end, text[start:end])
    return Hit(
        "a phrase", *place, 0.7, None, 0.7, {}, Context(0, len(text), text), 0.5, topic=topic
    )


@st.composite
def marked(draw: st.DrawFn) -> tuple[dict[str, str], list[Hit]]:
    """Documents, and hits at random code points of them."""
    texts = {name: draw(hard_texts()) for name in ("a/ü 1", "👍🏽.txt")}
    hits = []
    for name, text in texts.items():
        edges = st.sets(st.integers(0, len(text)), min_size=2, max_size=2)
        places = draw(st.lists(edges, max_size=4)) if text else []
        topics = st.sampled_from(["cancel", "“e\u0301” & <b>"])
        hits += [hit(name, text, min(one), max(one), draw(topics)) for one in places]
    return texts, draw(st.permutations(hits))


class TestFormats:
    @given(marked())
    @settings(max_examples=40)
    def test_hold_the_same_code_points(
        self, tmp_path_factory: pytest.TempPathFactory, some: tuple[dict[str, str], list[Hit]]
    ) -> None:
        texts, hits = some
        folder = tmp_path_factory.mktemp("exchange")
        wanted = sorted((one.doc_id, one.start, one.end, one.group, one.text) for one in hits)
        for ending, read in READERS.items():
            path = folder / f"hits{ending}"
            assert write_hits(iter(hits), path, text_of=texts.__getitem__) == len(hits)
            assert sorted(read(path)) == wanted, ending

    def test_leave_out_what_people_rejected(self, tmp_path: Path) -> None:
        one = hit("call", "Please end it.", 7, 13, "cancel")
        for ending, read in READERS.items():
            path = tmp_path / f"hits{ending}"
            some = [one, replace(one, label=False)]
            assert write_hits(some, path, text_of=lambda _: "Please end it.") == 2
            assert [place[1:3] for place in read(path)] == [(7, 13)], ending

    def test_a_full_disk_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        small = sqlite3.connect("")
        small.execute("PRAGMA max_page_count = 3")
        monkeypatch.setattr(sqlite3, "connect", lambda _: small)
        some = [hit("call", "Please end it. " * 9, 7, 13, "cancel")] * 99
        with pytest.raises(InputError, match=r"temporary file cannot be written \(.*full\); make"):
            write_hits(some, tmp_path / "hits.jsonld")
        assert not list(tmp_path.iterdir())

    def test_hold_names_that_xml_does_not(self, tmp_path: Path) -> None:
        path, text = tmp_path / "hits.qdpx", "a\0b"
        write_hits([hit("x\0\x1b]", text, 0, 3, "t\0")], path, text_of=lambda _: text)
        assert list(read_refi_qda(path)) == [("x\ufffd\ufffd]", 0, 3, "t\ufffd", text)]

    @pytest.mark.parametrize("ending", [".labelstudio.json", ".prodigy.jsonl", ".qdpx"])
    def test_refuse_another_text(self, tmp_path: Path, ending: str) -> None:
        one = hit("call", "Please end it.", 7, 13, "cancel")
        with pytest.raises(InputError, match="call:7-13: the document no longer has the words"):
            write_hits([one], tmp_path / f"hits{ending}", text_of=lambda _: "Please stop.")
        with pytest.raises(InputError, match="holds whole documents"):
            write_hits([one], tmp_path / f"hits{ending}")
        assert not list(tmp_path.iterdir())


CALLS = {
    "1": "👍🏽 Hello. I'd like to cancel my subscription. Now.\nI never\nsaid so.",
    "2": "Please end the plan, thank you.",
    "3": "The weather is nice today.",
}
CANCEL = "phrases = ['I want to cancel my subscription', 'please end my plan']\nthreshold = 0.6\n"


@pytest.fixture
def store(run: Run, encoder: SpanEncoder) -> str:
    Path("cancel.toml").write_text(CANCEL)
    with Corpus("store", encoder) as corpus:
        corpus.add(Document(*one) for one in CALLS.items())
    return "store"


def mine(run: Run, name: str, *options: str) -> Path:
    done = run("mine", "--topics", "cancel.toml", "--store", "store", "-o", name, *options)
    assert (done.status, done.err) == (0, f"{name}: 2 hits\n")
    return Path(name)


@pytest.mark.usefixtures("store")
class TestRunRecords:
    @pytest.mark.parametrize("ending", FORMATS)
    def test_stand_beside_files_of_every_format(self, run: Run, ending: str) -> None:
        path = mine(run, f"hits{ending}")
        record = read_record(path)
        assert (record.hits, record.sha256) == (2, sha256(path.read_bytes()).hexdigest())
        assert (record.run.command, record.run.model, record.run.store) == (
            "mine",
            "slice-mini",
            "store",
        )
        (topic,) = record.run.topics
        assert (topic.name, topic.threshold) == ("cancel", 0.6)
        assert topic.sha256 == sha256(CANCEL.encode()).hexdigest()
        assert re.fullmatch("[0-9a-f]{16}", record.run.model_hash)
        assert re.fullmatch("[0-9a-f]{64}", record.run.wanted_hash)
        if read := READERS.get(ending):
            assert {place[0]: place[3:] for place in read(path)} == {
                "1": ("cancel", "I'd like to cancel my subscription"),
                "2": ("cancel", "Please end the plan, thank you"),
            }

    def test_reproduce_a_report(self, run: Run) -> None:
        ask = ["-p", "I want to cancel my subscription", "--store", "store"]
        for name in ("asked.html", "hits.jsonl"):
            run("mine", *ask, "--min-probability", "0.2", "-o", name)
        assert run("report", "--from", "hits.jsonl").err == "hits.html: 1 hit\n"
        asked, again = (
            re.sub(r"[\d:-]{10}[ T][\d:]+", "", Path(one).read_text())
            for one in ("asked.html", "hits.html")
        )
        assert asked == again
        assert "probability 0.2 or more" in again
        assert read_record("hits.html").run == read_record("hits.jsonl").run
        with Path("hits.jsonl").open("a") as file:
            file.write("\n")
        assert "hits.jsonl: changed since" in run("report", "--from", "hits.jsonl").err
        assert "hits.csv.run.json: no run record" in run("report", "--from", "hits.csv").err
        nowhere = run("report", "hits.jsonl", "-o", "hits.html", "--store", "nowhere").err
        assert "nowhere" in nowhere.splitlines()[-1]
        assert "hits.jsonl" not in nowhere.splitlines()[-1]

    @pytest.mark.parametrize("cut", ["--threshold", "--min-probability"])
    def test_have_all_hits_of_a_report_without_a_cut(self, run: Run, cut: str) -> None:
        ask = ["mine", "-p", "I want to cancel my subscription", "--store", "store", cut, "0"]
        counts = {run(*ask, "-o", f"hits{end}").err.split(": ")[1] for end in (".html", ".jsonl")}
        assert len(counts) == 1
        assert len(Path("hits.jsonl").read_bytes().splitlines()) > 1

    def test_tell_what_was_scanned(self, run: Run) -> None:
        Path("call.txt").write_text(CALLS["2"])
        phrases = ("-p", "please end my plan", "--not", "start a plan")
        done = run("scan", "call.txt", *phrases, "-o", "hits.prodigy.jsonl")
        assert done.err == "hits.prodigy.jsonl: 1 hit\n"
        told = read_record("hits.prodigy.jsonl").run
        assert (told.store, told.phrases) == (None, ("please end my plan",))
        assert told.options == {"counter_phrases": ["start a plan"], "paths": ["call.txt"]}
        assert told.min_probability == 0.15
        assert [place[4] for place in read_prodigy(Path("hits.prodigy.jsonl"))] == [
            "Please end the plan, thank you"
        ]

    def test_spacy_takes_the_spans(self, run: Run) -> None:
        spacy = pytest.importorskip("spacy")
        for raw in mine(run, "hits.prodigy.jsonl").read_bytes().splitlines():
            line = json.loads(raw)
            doc = spacy.blank("en")(line["text"])
            (span,) = (
                doc.char_span(one["start"], one["end"], one["label"]) for one in line["spans"]
            )
            assert (span.text, span.label_) == (line["spans"][0]["text"], "cancel")


def utf16(text: str, offset: int) -> int:
    return len(text[:offset].encode("utf-16-le")) // 2


@pytest.mark.usefixtures("store")
class TestImport:
    def imported(self, run: Run, name: str) -> str:
        done = run("labels", "import", name, "--store", "store", "--reader", "ann")
        return f"{done.status} {done.err}"

    def labels(self) -> dict[tuple[str, str], bool]:
        return {(one.doc_id, one.text): one.right for one in read_labels("store/labels.jsonl")}

    @pytest.mark.parametrize("table", ["name,text\nx,hello\n", "doc_id,text,label\n1,hi,\n", ""])
    def test_a_table_without_labels_is_told(self, run: Run, table: str) -> None:
        Path("none.csv").write_text(table)
        told = self.imported(run, "none.csv")
        assert "none.csv: no row has a label; give hits a column 'label'" in told
        assert told.startswith("1 slice-os: ")
        assert told.count("\n") == 1

    @pytest.mark.parametrize("count", [lambda _, offset: offset, utf16])
    def test_takes_the_answers_of_label_studio(
        self, run: Run, count: Callable[[str, int], int]
    ) -> None:
        """The hit of one call is removed, that of the other kept, and a span is added."""
        tasks = json.loads(mine(run, "hits.labelstudio.json").read_bytes())
        for task in tasks:
            text, regions = task["data"]["text"], task.pop("predictions")[0]["result"]
            if task["data"]["doc_id"] == "1":
                start, end = text.index("I never"), text.index(" so.")
                value = {"start": start, "end": end, "text": "I never\\nsaid", "labels": ["cancel"]}
                regions = [{"type": "labels", "value": value}, {"type": "choices", "value": {}}]
            for value in (region["value"] for region in regions if region["type"] == "labels"):
                value.update({name: count(text, value[name]) for name in ("start", "end")})
            skipped = {"result": [], "was_cancelled": True}
            done = {"result": regions, "completed_by": 3, "created_at": "2026-11-23T16:00:00.12Z"}
            task["annotations"] = [done, skipped]
        Path("export.json").write_text(json.dumps(tasks))
        assert self.imported(run, "export.json").startswith("0 3 labels added to ")
        assert self.labels() == {
            ("1", "I'd like to cancel my subscription"): False,
            ("1", "I never\nsaid"): True,
            ("2", "Please end the plan"): True,
        }
        assert "0 labels added" in self.imported(run, "export.json")
        added = read_labels("store/labels.jsonl")[0]
        assert (added.reader, added.date) == ("label-studio-3", "2026-11-23T16:00:00.12Z")
        assert added.passage is not None
        assert added.passage.text == "I never\nsaid so."
        done = run("mine", "--topics", "cancel.toml", "--store", "store")
        assert {
            line["doc_id"]: line["label"] for line in map(json.loads, done.out.splitlines())
        } == {"1": False, "2": True}

    def test_takes_the_answers_of_prodigy(self, run: Run) -> None:
        lines = [
            json.loads(one) for one in mine(run, "hits.prodigy.jsonl").read_bytes().splitlines()
        ]
        lines[0] |= {"answer": "reject"}
        lines[1] |= {"answer": "accept"}
        Path("out.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in [*lines, lines[1] | {"answer": "ignore"}])
        )
        assert self.imported(run, "out.jsonl").startswith("0 2 labels added")
        assert list(self.labels().values()) == [False, True]
        assert {one.reader for one in read_labels("store/labels.jsonl")} == {"ann"}

    def test_refuses_a_span_without_words(self, run: Run) -> None:
        """A label that cannot be read back would make all of them unreadable."""
        lines = mine(run, "hits.prodigy.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) | {"answer": "accept"} for line in lines]
        rows[1]["spans"].append({"start": 6, "end": 7, "label": "cancel"})
        Path("out.jsonl").write_text("\n \n".join(map(json.dumps, rows)))
        told = self.imported(run, "out.jsonl")
        assert told.startswith("1 slice-os: out.jsonl:3: 2:6-7: text is ' '; give a text\n")
        assert list(self.labels().values()) == [True]

    def test_takes_labelled_hits(self, run: Run) -> None:
        lines = [json.loads(one) for one in mine(run, "hits.jsonl").read_bytes().splitlines()]
        Path("done.jsonl").write_text(
            "".join(json.dumps(one | {"label": True}) + "\n" for one in lines)
        )
        assert self.imported(run, "done.jsonl").startswith("0 2 labels added")
        assert len(self.labels()) == 2

    def test_refuses_words_that_are_elsewhere(self, run: Run) -> None:
        good = Label("cancel", "the plan", True, "2", 11, 19)
        bad = Label("cancel", "the plan", True, "2", 12, 20)
        unknown = Label("cancel", "the plan", True, "nine", 11, 19)
        Path("some.jsonl").write_bytes(b"".join(one.to_json() for one in (bad, good, unknown)))
        told = self.imported(run, "some.jsonl")
        assert told.startswith("1 slice-os: some.jsonl:1: 2:12-20 has 'he plan,', not 'the plan'; ")
        assert "slice-os: some.jsonl:3: store: no document 'nine'\n1 labels added" in told

    def test_refuses_tasks_of_another_text(self, run: Run) -> None:
        lines = mine(run, "hits.prodigy.jsonl").read_text("utf-8").splitlines()
        answered = [line[:-1] + ',"answer":"accept"}\n' for line in lines]
        Path("out.jsonl").write_text("".join([*answered, '{"spans": [], "text": "x"}']))
        with Corpus("store") as corpus:
            corpus.add([Document("2", "Oh! Please end the plan, thank you.")])
        told = self.imported(run, "out.jsonl")
        assert re.match("1 slice-os: out.jsonl:2: 2:0-[0-9]+ has 'Oh! Please", told)
        assert "out.jsonl:3: no answered task that SLICE-OS wrote" in told
        assert "\n1 labels added" in told
        Path("odd.json").write_text("{}")
        assert "odd.json: no list of tasks; export as JSON" in self.imported(run, "odd.json")

    @given(marked())
    @settings(max_examples=40)
    def test_finds_spans_to_the_code_point(
        self, tmp_path_factory: pytest.TempPathFactory, some: tuple[dict[str, str], list[Hit]]
    ) -> None:
        texts, hits = some
        assume(all(one.text.strip() for one in hits))  # no label is of white space alone
        path = tmp_path_factory.mktemp("answers") / "hits.labelstudio.json"
        write_hits(hits, path, text_of=texts.__getitem__)
        tasks = json.loads(path.read_bytes())
        for number, task in enumerate(tasks):
            task["annotations"] = task.pop("predictions")
            task["data"]["hits"] = task["data"]["hits"][number:]  # else they are added spans
        path.write_text(json.dumps(tasks))
        found = [one for one in read_answered(path, texts.__getitem__) if isinstance(one, Label)]
        places = sorted((one.doc_id, one.start, one.end, one.topic, one.text) for one in found)
        assert places == sorted(
            (one.doc_id, one.start, one.end, one.group, one.text) for one in hits
        )
        assert all(one.right and one.text in one.passage.text for one in found if one.passage)
