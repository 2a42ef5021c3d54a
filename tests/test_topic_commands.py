"""Topics from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from slice_os import Corpus, Document, SpanEncoder, write_hits
from slice_os.hits.labelled import labelled_rows
from slice_os.labels.label import Label, read_labels
from slice_os.topics import mine_topics, read_topic, read_topics

from .builders import write
from .command_line import Outcome, Run

EXAMPLES = Path(__file__).parents[1] / "examples" / "topics"
DEMO = Path(__file__).parents[1] / "demo"
CANCEL = """\
# How customers leave.
phrases = ["I want to cancel my subscription", "please end my plan"]
threshold = 0.7
must_match = ["I'd like to cancel the subscription"]
must_not_match = ["the weather is nice"]
"""


@pytest.fixture
def run(run: Run) -> Run:
    """Runs the command line in a folder with a topic."""
    write("topics/cancel.toml", CANCEL)
    return run


@pytest.fixture
def store(run: Run, encoder: SpanEncoder) -> str:
    with Corpus("store", encoder) as corpus:
        corpus.add(
            [
                Document("1", "Hello. I'd like to cancel my subscription. Now."),
                Document("2", "Please end the plan, thank you."),
                Document("3", "The weather is nice today."),
            ]
        )
    return "store"


def test_the_examples_are_as_they_should_be(run: Run) -> None:
    outcome = run("topics", "test", str(EXAMPLES))
    assert (outcome.status, "61 of 61" in outcome.err) == (0, True)
    assert run("topics", "lint", str(EXAMPLES)).status == 0


@pytest.mark.slow
@pytest.mark.release
def test_the_examples_find_what_the_demo_has(run: Run) -> None:
    contracts = sorted((DEMO / "contracts").glob("*.txt"))[:4]
    run("ingest", *map(str, contracts), "--store", "demo")
    shown = run("mine", "--topics", str(EXAMPLES), "--store", "demo", "--text").out
    assert "  termination  cosine" in shown
    assert "  renewal  cosine" in shown


def test_a_failing_example_fails_the_test(run: Run) -> None:
    path = Path("topics/cancel.toml")
    path.write_text(CANCEL.replace("the weather is nice", "end my plan"))
    outcome = run("topics", "test", "topics", "--text")
    assert outcome.status == 1
    assert outcome.out.startswith("cancel: a hit in 'end my plan': cosine 0.")
    assert run("topics", "test", "topics").rows()[-1]["matched"] is True


def test_lint_tells_file_and_problem(run: Run) -> None:
    Path("topics/odd.toml").write_text("phrase = ['a b']\n")
    outcome = run("topics", "lint", "topics")
    assert outcome.status == 1
    problems = [row["problem"] for row in outcome.rows() if row["file"] == "topics/odd.toml"]
    assert problems[0].startswith("unknown key phrase; did you mean phrases?")
    assert run("topics", "lint", "topics/cancel.toml") == Outcome(0, "", "no problem found\n")


def test_mine_tells_topics_and_counts_them(run: Run, store: str) -> None:
    rows = run("mine", "--topics", "topics", "--store", store).rows()
    assert [(row["topic"], row["doc_id"]) for row in rows] == [("cancel", "1"), ("cancel", "2")]
    write("topics/cancel.toml", f"{CANCEL}# checksum {'0' * 16}\n")
    told = run("mine", "--topics", "topics", "--store", store).err
    assert told.count("not as slice-os wrote it") == 1
    counts = run("mine", "--topics", "topics", "--store", store, "--counts", "document").rows()
    assert counts[0] == {"topic": "cancel", "document": "1", "hits": 1, "documents": 1}
    shown = run("mine", "--topics", "topics", "--store", store, "--counts", "topic", "--text")
    assert shown.out.split() == ["2", "hits", "2", "documents", "cancel"]
    Path("topics", "never.toml").write_text('phrases = ["xylophones"]\nthreshold = 1\n')
    every = run("mine", "--topics", "topics", "--store", store, "--counts", "topic").rows()
    assert every[1] == {"topic": "never", "hits": 0, "documents": 0}
    Path("topics", "lost.toml").write_text('all = ["cancel"]\n')
    assert run("mine", "--topics", "topics", "--store", store, "--counts", "topic").rows() == every
    told = run("mine", "--topics", "topics", "--store", store, "--counts", "fortnight").err
    assert "no metadata field 'fortnight'; there " in told
    assert told.endswith("; or count by topic, phrase, document, day, week, month\n")


def test_mine_counts_phrases(run: Run, store: str) -> None:
    mine = ("mine", "-p", "the weather is nice", "-p", "please end my plan", "--store", store)
    plan, weather = run(*mine, "--counts", "phrase").rows()
    assert plan == {"phrase": "please end my plan", "hits": 2, "documents": 2}
    *_, none = run(*mine, "-p", "xylophones", "--counts", "phrase").rows()
    assert none == {"phrase": "xylophones", "hits": 0, "documents": 0}
    assert run(*mine, "--counts", "document").rows() == [
        {"phrase": plan["phrase"], "document": "1", "hits": 1, "documents": 1},
        {"phrase": plan["phrase"], "document": "2", "hits": 1, "documents": 1},
        {"phrase": weather["phrase"], "document": "3", "hits": 1, "documents": 1},
    ]


def test_tables_of_hits_have_the_labels(run: Run, store: str, encoder: SpanEncoder) -> None:
    with Corpus(store, encoder) as corpus:
        (hit, _) = mine_topics(corpus, read_topics(["topics"]))
    Path(store, "labels.jsonl").write_bytes(Label.of(hit, right=True).to_json())
    for name in ("hits.csv", "hits.xlsx"):
        run("mine", "--topics", "topics", "--store", store, "-o", name)
        labels = {row["doc_id"]: row["label"] for _, row in labelled_rows(name)}
        assert labels == {"1": True, "2": None}


class TestDates:
    """From a table of turns to counts: the date of a call, the times of its turns."""

    TURNS = (
        "call,at,who,text\n"
        "a,03/02/2026 9:14:00 AM,agent,Hello.\n"
        "a,03/02/2026 9:18:43 AM,caller,I want to cancel my subscription.\n"
        "b,03/06/2026 1:00:00 PM,caller,Please end my plan.\n"
        "c,04/26/2026 1:00:00 PM,caller,Please end my plan.\n"
    )
    INGEST = ("--group-by", "call", "--speaker-field", "who", "--time-field", "at")
    COUNT = ("mine", "--topics", "topics", "--store", "s", "--counts")

    def ingested(self, run: Run, *options: str) -> Outcome:
        Path("calls.csv").write_text(self.TURNS)
        return run("ingest", "calls.csv", "--store", "s", *options)

    def test_from_turns_to_counts(self, run: Run) -> None:
        assert self.ingested(run, *self.INGEST, "--date-format", "mdy").status == 0
        days = run(*self.COUNT, "day").rows()
        assert [row["day"] for row in days] == ["2026-03-02", "2026-03-06", "2026-04-26"]
        weeks = [(row["week"], row["hits"]) for row in run(*self.COUNT, "week").rows()]
        assert weeks == [("2026-03-02", 2), ("2026-04-20", 1)]
        months = run(*self.COUNT, "month", "--by", "speaker").rows()
        assert [(row["month"], row["speaker"], row["documents"]) for row in months] == [
            ("2026-03", "caller", 2),
            ("2026-04", "caller", 1),
        ]
        head, line = run(*self.COUNT, "month", "--by", "speaker", "--text").out.splitlines()
        assert head.split() == ["cancel", "2026-03", "2026-04", "change"]
        assert line.split() == ["caller", "2", "1", "-1"]
        search = ("search", "end my plan", "--store", "s")
        rows = run(*search, "--filter", "date>=2026-03-06", "--filter", "date<2026-04").rows()
        assert [(row["doc_id"], row["metadata"]["date"]) for row in rows] == [
            ("b", "2026-03-06T13:00:00")
        ]
        shown = run("search", "cancel my subscription", "--store", "s", "-k", "1", "--text").out
        assert "start_time=4:43" in " ".join(shown.split())
        info = orjson.loads(run("store", "info", "--store", "s").out)
        assert info["dates"] == {"first": "2026-03-02", "last": "2026-04-26"}
        with Corpus("s") as corpus:
            assert list(corpus.days()) == ["2026-03-02", "2026-03-06", "2026-04-26"]
            hits = corpus.mine("I want to cancel my subscription", where={"date": "2026-03-02"})
            assert [hit.metadata["start_time"] for hit in hits] == [283]

    def test_what_could_be_two_dates_is_told(self, run: Run) -> None:
        *unsettled, _ = self.TURNS.splitlines(keepends=True)
        Path("calls.csv").write_text("".join(unsettled))
        outcome = run("ingest", "calls.csv", "--store", "s", *self.INGEST)
        assert outcome.status == 1
        assert "calls.csv:2: time field 'at' is '03/02/2026 9:14:00 AM': the day" in outcome.err
        assert "give --date-format dmy or mdy" in outcome.err

    def test_a_store_without_dates_says_what_to_do(self, run: Run) -> None:
        self.ingested(run)
        assert orjson.loads(run("store", "info", "--store", "s").out)["dates"] is None
        what = "documents get a date by --date-field or --time-field of ingest"
        for command in (
            (*self.COUNT, "day"),
            ("search", "x", "--store", "s", "--filter", "date=2026"),
        ):
            outcome = run(*command)
            assert (outcome.status, outcome.out) == (1, "")
            assert what in outcome.err
        assert "did you mean 'at'?" in run(*self.COUNT, "week", "--date-field", "att").err
        told = run(*self.COUNT, "day", "--date-field", "at").err
        assert "at has no dates, but '03/02/2026" in told
        assert "ingest again with --date-field at" in told
        assert run(*self.COUNT, "topic", "--date-field", "at").status == 2


def test_an_alert_is_an_exit_status(run: Run, encoder: SpanEncoder) -> None:
    with Corpus("s", encoder) as corpus:
        corpus.add(
            Document(
                f"{day}-{number}",
                "Please end my plan." if day == 5 else "Dogs bark in the yard.",
                {"date": f"2026-03-0{day}"},
            )
            for day in range(1, 6)
            for number in range(8)
        )
    alerting = ("mine", "-p", "please end my plan", "--store", "s", "--counts", "day", "--alert")
    told = run(*alerting)
    assert (told.status, len(told.rows())) == (3, 1)
    assert told.err.startswith(
        "alert: please end my plan: 100.0 of 100 documents in 2026-03-05, usually 0.0 to "
    )
    with Corpus("s", encoder) as corpus:
        corpus.delete([f"5-{number}" for number in range(8)])
    assert run(*alerting).status == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-p", "x", "--counts", "phrase", "--alert"],
        ["-p", "x", "--by", "kind"],
        ["-p", "x", "--topics", "topics"],
        ["--topics", "topics", "--threshold", "0.5"],
        ["-p", "x", "--counts", "phrase", "-o", "hits.csv"],
        ["-p", "x", "--counts", "phrase", "--order", "probability"],
    ],
)
def test_mine_refuses_what_makes_no_sense(run: Run, store: str, arguments: list[str]) -> None:
    assert run("mine", "--store", store, *arguments).status == 2


def test_new_hits_are_those_that_no_run_found(run: Run, store: str, encoder: SpanEncoder) -> None:
    command = ("mine", "--topics", "topics", "--store", store, "--new")
    assert [row["doc_id"] for row in run(*command).rows()] == ["1", "2"]
    assert run(*command).rows() == []
    with Corpus(store, encoder) as corpus:
        text = "Good morning. I'd like to cancel my subscription. And please end my plan!"
        corpus.add([Document("1", text), Document("4", "I want to cancel my subscription")])
    assert [(row["doc_id"], "plan" in row["text"]) for row in run(*command).rows()] == [
        ("1", True),
        ("4", False),
    ]
    # What was not delivered is not seen.
    failed = run(*command, "--work", ".", "-o", "topics/cancel.toml/hits.csv")
    assert failed.status != 0
    assert not Path("topics-seen.txt").exists()
    elsewhere = run(*command, "--work", ".").rows()
    assert len(elsewhere) == 4
    assert len(Path("topics-seen.txt").read_text().split()) == 4


def test_a_stream_is_tagged(run: Run) -> None:
    lines = '{"text": "please end my plan", "n": 1}\n{"n": 2}\n{"text": "nice weather"}\n'
    outcome = run("topics", "tag", "--topics", "topics", typed=lines)
    assert outcome.status == 1
    assert outcome.rows() == [
        {"text": "please end my plan", "n": 1, "topics": ["cancel"]},
        {"text": "nice weather", "topics": []},
    ]
    assert outcome.err.startswith("slice-os: -:2: field 'text' is missing")
    Path("in.jsonl").write_text(lines.splitlines()[0])
    (row,) = run("topics", "tag", "in.jsonl", "--topics", "topics", "--hits").rows()
    assert row["topic_hits"][0]["text"] == "please end my plan"


def test_odd_lines_are_tagged_or_reported(run: Run) -> None:
    turns = b'{"text": [{"speaker": "A", "text": "Please end my plan"}, {"text": ""}]}'
    Path("in.jsonl").write_bytes(
        b'\xef\xbb\xbf{"text": "nice"}\x0c\n' + turns + b'\n{"text": "\xe9"}\n'
    )
    outcome = run("topics", "tag", "in.jsonl", "--topics", "topics")
    assert outcome.status == 1
    assert [row["topics"] for row in outcome.rows()] == [[], ["cancel"]]
    note, error = outcome.err.splitlines()
    assert note == "slice-os: in.jsonl:2: empty turns: 1"
    where = "byte 0xe9 at byte 10"
    assert error == f"slice-os: in.jsonl:3: not valid UTF-8: {where}; convert it to UTF-8"


REFUND = 'phrases = ["I want my money back", "when do I get my refund"]\n'


def test_whole_texts_are_tagged_line_by_line(run: Run) -> None:
    Path("topics/refund.toml").write_text(REFUND)
    texts = ["👍🏽 could you stop my subscription by May?", "is the shop open on Sunday?", "..."]
    lines = "".join(orjson.dumps({"text": text, "n": 1}).decode() + "\n" for text in texts)
    command = ("topics", "tag", "--topics", "topics", "--utterances")
    outcome = run(*command, typed=lines)
    assert outcome.status == 0
    assert [row["topics"] for row in outcome.rows()] == [["cancel"], [], []]
    assert outcome.rows()[0] == {"text": texts[0], "n": 1, "topics": ["cancel"]}
    first, second, third = run(*command, "--hits", "--least", "-1", typed=lines).rows()
    (hit,) = first["topic_hits"]
    assert texts[0][hit["start"] : hit["end"]] == hit["text"]
    assert "stop my subscription" in hit["text"]
    assert (hit["topic"], hit["runner_up"]) == ("cancel", "refund")
    assert hit["score"] > 0.26 > hit["runner_up_score"]
    assert len(second["topics"]) == len(second["topic_hits"]) == 1
    assert (third["topics"], third["topic_hits"]) == ([], [])


def test_neither_other_lines_nor_rules_end_whole_texts(run: Run) -> None:
    Path("topics/refund.toml").write_text(REFUND)
    Path("topics/both.toml").write_text('all = ["cancel", "refund"]\n')
    Path("in.jsonl").write_text('{"n": 1}\n{"text": "please refund me"}\n')
    outcome = run("topics", "tag", "in.jsonl", "--topics", "topics", "--utterances")
    assert (outcome.status, len(outcome.err.splitlines())) == (1, 1)
    assert outcome.rows() == [{"text": "please refund me", "topics": ["refund"]}]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--utterances", "--exclusive"], "omit --exclusive"),
        (["--least", "0.3"], "--least: only with --utterances"),
        (["--utterances", "--least", "nan"], "nan is not in the range"),
    ],
)
def test_tag_refuses_options_that_make_no_sense(run: Run, options: list[str], told: str) -> None:
    outcome = run("topics", "tag", "--topics", "topics", *options)
    assert outcome.status == 2
    assert told in outcome.err


def test_whole_texts_need_two_topics(run: Run) -> None:
    outcome = run("topics", "tag", "--topics", "topics", "--utterances")
    assert outcome.status == 1
    assert outcome.err == (
        "slice-os: 'cancel' is the only topic; whole texts need two or more to choose from\n"
    )


def test_ingest_makes_topics_a_field(run: Run) -> None:
    Path("a.txt").write_text("please end my plan")
    Path("b.txt").write_text("the plan is nice")
    run("ingest", "a.txt", "b.txt", "--store", "tagged", "--topics", "topics")
    search = ("search", "the plan", "--store", "tagged", "--filter", "topic_cancel=true")
    assert [Path(row["doc_id"]).name for row in run(*search).rows()] == ["a.txt"]


def test_a_topic_is_renamed_with_its_labels(run: Run, store: str) -> None:
    Path("labels.jsonl").write_text('{"topic": "cancel", "text": "x", "label": true}\n')
    done = run("topics", "rename", "topics", "cancel", "Wants to leave")
    told = "topics/Wants to leave.toml: 'cancel' is now 'Wants to leave', in 1 label, too\n"
    assert done == Outcome(0, "", told)
    assert [label.topic for label in read_labels("labels.jsonl")] == ["Wants to leave"]
    assert Path("topics/Wants to leave.toml").read_text().endswith(CANCEL)
    run("ingest", "--topics", "topics", "--store", "marked", "-", "--format", "text", typed=CANCEL)
    hits = run("mine", "-p", "cancel", "--store", "marked", "--filter", "topic_Wants to leave=true")
    assert hits.status == 0
    assert {row["topic"] for row in run("mine", "--topics", "topics", "--store", store).rows()} == {
        "Wants to leave"
    }


def test_an_interrupted_renaming_is_told_and_completed(run: Run, store: str) -> None:
    said = '{"topic": "cancel", "text": "x", "label": true}\n'
    begun = '{"topic": "cancel", "rename": "leave", "state": "begun"}\n'
    Path("labels.jsonl").write_text(said + begun)
    linted = run("topics", "lint", "topics")
    assert linted.status == 1
    assert "run `slice-os topics rename` with 'topics' 'cancel' 'leave' again" in linted.out
    assert {label.topic for label in read_labels("labels.jsonl")} == {"cancel", "leave"}
    assert run("topics", "rename", "topics", "cancel", "leave").status == 0
    assert [label.topic for label in read_labels("labels.jsonl")] == ["leave"]
    assert "not completely renamed" not in run("topics", "lint", "topics").out


def test_a_flip_in_the_record_of_seen_hits_is_told(run: Run, store: str) -> None:
    assert run("mine", "--topics", "topics", "--new", "--store", store).rows()
    seen = Path(store) / "topics-seen.txt"
    content = seen.read_bytes()
    seen.write_bytes(content[:3] + bytes([content[3] ^ 1]) + content[4:])
    told = run("mine", "--topics", "topics", "--new", "--store", store)
    assert (told.status, told.out) == (1, "")
    assert "topics-seen.txt:1: not as it was written; delete the line" in told.err
    seen.write_bytes(content[:-9])  # as a killed run left it: that hit is new
    assert len(run("mine", "--topics", "topics", "--new", "--store", store).rows()) == 1
    assert run("mine", "--topics", "topics", "--new", "--store", store).rows() == []


def test_a_topic_whose_labels_cannot_be_renamed_keeps_its_name(run: Run) -> None:
    Path("labels.jsonl").write_text('{"topic": "cancel"}\nno label\n')
    refused = run("topics", "rename", "topics", "cancel", "Wants to leave")
    assert refused.status == 1
    assert Path("topics/cancel.toml").read_text() == CANCEL


def test_labelled_hits_are_labels_of_the_words_that_were_compared(
    store: str, encoder: SpanEncoder, tmp_path: Path
) -> None:
    with Corpus(store, encoder) as corpus:
        hits = list(mine_topics(corpus, read_topics(["topics"]), unit="sentence"))
    assert any(hit.span for hit in hits)
    write_hits([replace(hit, label=True) for hit in hits], tmp_path / "hits.CSV")
    lines = [json.dumps({**hit.to_dict(), "label": True}) for hit in hits]
    (tmp_path / "hits.jsonl").write_text("\n".join(lines))
    keys = [Label.of(hit, right=True).key for hit in hits]
    for name in ("hits.CSV", "hits.jsonl"):
        assert [label.key for label in read_labels(tmp_path / name)] == keys


def test_suggest_and_diff(run: Run, store: str) -> None:
    strict = CANCEL.replace("0.7", "0.97")
    Path("new").mkdir()
    Path("new/cancel.toml").write_text(strict)
    rows = run("topics", "suggest", "new", "--store", store, "--margin", "0.3").rows()
    assert rows[0]["topic"] == "cancel"
    assert rows[0]["examples"]
    none = run("topics", "suggest", "new", "--store", store, "--margin", "0.01")
    assert none == Outcome(0, "", "nothing to suggest: no near misses within --margin\n")
    changes = run("topics", "diff", "topics", "new", "--store", store)
    assert {row["change"] for row in changes.rows()} == {"lost"}
    assert changes.err.startswith("0 gained, ")
    named = Path("topics/cancel.toml").rename("new/former.toml")
    other = run("topics", "diff", str(named), "new/cancel.toml", "--store", store)
    assert other == changes


def test_review_is_resumable_and_teaches(run: Run, store: str) -> None:
    command = ("review", "topics", "--store", store, "--margin", "0.6")
    first = run(*command, typed="y\nu\n\udcff\nn\ns\nq\n")
    labels = Path(store, "labels.jsonl").absolute()
    assert f"1 labels added to {labels}" in first.err
    (label,) = read_labels(labels)
    assert not label.right
    assert label.passage is not None
    assert label.text in label.passage.text
    again = run(*command, typed="y")
    assert "1 labels so far" in again.err
    assert [label.right for label in read_labels(labels)] == [False, True]
    shown = run("topics", "learn", "topics", "--labels", str(labels), "--dry-run")
    assert "[learned]" in shown.out
    assert "[learned]" not in Path("topics/cancel.toml").read_text()
    taught = run("topics", "learn", "topics", "--store", store)
    assert taught.out.startswith(shown.out.rstrip())
    assert "\n# cut: cosine 0.70 or more before, cosine 0." in taught.out
    assert taught.out.endswith("\n# hits: 1 before, 1 now\n")
    assert run("topics", "learn", "topics").err.endswith("give --store or --labels\n")
    assert Path("topics/cancel.toml").read_text().startswith("# How customers leave.")
    assert read_topic("topics/cancel.toml").learned.labels == 2


def test_a_topic_that_cannot_learn_keeps_no_other_from_it(run: Run) -> None:
    Path("topics/both.toml").write_text('all = ["cancel", "other"]\n')
    lines = (
        f'{{"topic": "{name}", "text": "bye now", "label": true}}\n' for name in ("both", "cancel")
    )
    Path("labels.jsonl").write_text("".join(lines))
    taught = run("topics", "learn", "topics", "--labels", "labels.jsonl")
    told = "slice-os: topic 'both' combines others and learns nothing; teach those that it names\n"
    assert (taught.status, taught.err) == (1, told)
    assert read_topic("topics/cancel.toml").learned.phrases == ("bye now",)


def test_readers_are_blind_agree_and_settle(run: Run, store: str, encoder: SpanEncoder) -> None:
    with Corpus(store, encoder) as corpus:
        corpus.add([Document("4", "Well. PLEASE end the plan, thank you.")])
    command = ("review", "topics", "--store", store, "--margin", "0.3", "--reader")
    ann = run(*command, "ann", typed="ynuyn")
    assert "and 1 more in the same words" in ann.out
    labels = Path(store, "labels.jsonl")
    first = read_labels(labels)
    assert {label.doc_id for label in first if label.right} == {"1", "2", "4"}
    bob = run(*command, "bob", typed="ynn")
    assert "0 labels so far" in bob.err
    assert set(bob.out.splitlines()) == set(ann.out.splitlines())
    assert run(*command, "bob").err.startswith("4 labels so far\n0 to review.")
    rows = [orjson.loads(line) for line in labels.read_bytes().splitlines()]
    assert [row["date"][-1] for row in rows] == ["Z"] * len(rows)
    assert rows[0]["origin"]["threshold"] == 0.7
    assert rows[0]["origin"]["model"] == encoder.card.name
    (told,) = run("labels", "agree", str(labels)).rows()
    assert (told["readers"], told["hits"], told["disputed"]) == (["ann", "bob"], 4, 2)
    shown = run("labels", "agree", str(labels), "--text").out
    assert "  hits      4, of which 2 to settle" in shown
    assert "  alpha     " in shown
    queue = run("labels", "settle", str(labels))
    assert (queue.status, len(queue.rows())) == (1, 2)
    settled = run("labels", "settle", str(labels), "--text", "--reader", "eve", typed="yuynuy")
    assert "cancel: ann: right, bob: wrong" in settled.out
    assert settled.status == 0
    found = {(one.doc_id, one.reader) for one in read_labels(labels) if one.right}
    assert found == {("1", "bob"), ("2", "eve"), ("4", "eve")}
    assert run("labels", "settle", str(labels)) == Outcome(0, "", "")


def test_one_reader_agrees_with_nobody(run: Run) -> None:
    Path("labels.jsonl").write_text('{"topic": "cancel", "text": "x", "label": true}')
    outcome = run("labels", "agree", "labels.jsonl")
    assert outcome == Outcome(1, "", "no hit was answered by two readers with a name\n")


def test_labels_go_on_after_a_line_without_end(run: Run, store: str) -> None:
    Path("labels.jsonl").write_text('{"topic": "cancel", "text": "x", "label": true}')
    run("review", "topics", "--store", store, "--work", ".", typed="y")
    assert len(Path("labels.jsonl").read_text().splitlines()) == 2
