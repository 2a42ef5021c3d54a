"""Topics from Python: files, assignment, mining, tagging, near misses, learning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.arrays import FloatArray
from slice_os.combinations.checks import lint, run_examples
from slice_os.estimates.tallies import Tally, alerts, tally
from slice_os.hits.bands import UNSURE_FROM
from slice_os.hits.hit import Context, Hit
from slice_os.labels.label import Label, read_labels
from slice_os.query.filters import parse_where
from slice_os.topics import Learned, Topic, TopicTagger, mine_topics, read_topic, scan_topics
from slice_os.topics.assignment import Aim, admits, assign
from slice_os.topics.changes import difference
from slice_os.topics.files import read_topics, with_learned, write_learned
from slice_os.topics.learning import fit_threshold, learn
from slice_os.topics.near_misses import suggest
from slice_os.topics.topic import Requirement

CLINC = Path(__file__).parents[2] / "shared" / "data" / "clinc150" / "data_full.json"
CANCEL = Topic(
    "cancel",
    ("I want to cancel my subscription", "please end my plan"),
    counter_phrases=("please cancel my flight",),
    threshold=0.7,
)
WITH_PHRASE = 'phrases = ["a"]\n'
LABELLED = '{"topic": "a", "text": "b", "label": true, '
BILL = Topic("bill", ("my bill is too high", "you charged me twice"), threshold=0.65)


@pytest.fixture(scope="module")
def calls(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("topics") / "calls", encoder)
    corpus.add(
        [
            Document("1", "Hello. I'd like to cancel my subscription.", {"date": "2026-01-01"}),
            Document("2", "Please cancel my flight to Boston.", {"date": "2026-01-02"}),
            Document("3", "My bill is much too high, end my plan.", {"date": "2026-01-02"}),
            Document("4", "The weather is nice today."),
        ]
    )
    return corpus


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


class TestFiles:
    def test_are_read(self, tmp_path: Path) -> None:
        path = write(
            tmp_path,
            "cancel.toml",
            'phrases = ["end my plan"]\nprecision = 0.9\nunit = "sentence"\n'
            'where = {csat = {lt = 3}, domain = ["bank", "airline"]}\n'
            '[learned]\nthreshold = 0.6\nphrases = ["stop it"]\ndate = 2026-06-01\n',
        )
        topic = read_topic(path)
        assert topic.name == "cancel"
        assert topic.all_phrases == ("end my plan", "stop it")
        assert topic.where == parse_where({"csat": {"lt": 3}, "domain": ["bank", "airline"]})
        usual = Requirement(probability=UNSURE_FROM)
        assert topic.requirement(usual) == Requirement(cosine=0.6)
        unlearned = replace(topic, learned=Learned())
        assert unlearned.requirement(usual) == Requirement(probability=0.9)
        assert replace(unlearned, precision=None).requirement(usual) == usual

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "phrases is empty; give at least one"),
            ("phrases = 3", "phrases: 3 is no list; put it between brackets"),
            ('phrases = ["a", " "]', "phrases: one of the texts is empty; write it or delete it"),
            (WITH_PHRASE + "treshold = 0.6", "unknown key treshold; did you mean threshold?"),
            (WITH_PHRASE + "threshold = 6", "threshold is 6; give a number from -1 to 1"),
            (
                WITH_PHRASE + "threshold = 0.6\nprecision = 0.9",
                "threshold and precision: give one of them",
            ),
            (WITH_PHRASE + 'name = "a  b"', "name 'a  b': give letters, digits, -, _ and single"),
            (WITH_PHRASE + 'unit = "page"', "unit is 'page'; give span, clause, sentence or turn"),
            (WITH_PHRASE + "[learned]\nwhen = 1", "learned: unknown key when; there are"),
            ("phrases = [", "not valid TOML"),
        ],
    )
    def test_say_what_is_wrong(self, tmp_path: Path, text: str, told: str) -> None:
        path = write(tmp_path, "t.toml", text)
        with pytest.raises(InputError) as error:
            read_topic(path)
        assert str(error.value).startswith(f"{path}: {told}")
        assert "\n" not in str(error.value)

    def test_need_names_of_their_own(self, tmp_path: Path) -> None:
        for name in ("a.toml", "b.toml"):
            write(tmp_path, name, 'name = "same"\nphrases = ["x"]')
        with pytest.raises(InputError, match="also has topic 'same'"):
            read_topics([tmp_path])

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=4))
    def test_keep_everything_but_what_is_learned(self, texts: list[str]) -> None:
        file = '# mine\nphrases = ["x"] # one\n\n[learned] # machine\nphrases = [\n  "old",\n]\n'
        file += "labels = 3\n\n[where]\ndomain = 'bank' # last\n"
        learned = Learned(phrases=tuple(texts), labels=7, offset=-0.5)
        written = with_learned(file, learned)
        assert with_learned(written, learned) == written
        assert all(comment in written for comment in ("# mine", "# one", "# last"))
        assert "old" not in written or "old" in texts

    def test_are_written_with_what_was_learned(self, tmp_path: Path) -> None:
        path = write(tmp_path, "t.toml", 'phrases = ["x"]')
        learned = Learned(0.625, ('a \\ "b"\t\x7f é',), ("c",), -0.5, 1.25, 20, 9, "2026-06-01")
        write_learned(path, learned)
        assert read_topic(path).learned == learned
        write_learned(path, Learned())
        assert read_topic(path).learned == Learned()
        assert [child.name for child in tmp_path.iterdir()] == ["t.toml"]


def made_hit(phrase: str, start: int, end: int, cosine: float) -> Hit:
    context = Context(0, 100, "x" * 100)
    text = "x" * (end - start)
    return Hit(phrase, "d", start, end, text, cosine, None, cosine, {}, context, cosine)


PHRASES = ["p1", "p2", "q1", "n1", "n2"]
SPANS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.integers(1, 6),
        st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]), min_size=5, max_size=5),
    ),
    max_size=8,
    unique_by=lambda span: span[:2],
)


class TestAssignment:
    @settings(max_examples=200)
    @given(SPANS, st.sampled_from([0.2, 0.5, 0.8]), st.booleans())
    def test_counts_the_nearest_that_no_counter_phrase_is_nearer_to(
        self, spans: list[tuple[int, int, list[float]]], least: float, exclusive: bool
    ) -> None:
        table = {(start, start + size): cosines for start, size, cosines in spans}
        hits = [
            made_hit(phrase, *span, cosine)
            for span, cosines in table.items()
            for phrase, cosine in zip(PHRASES, cosines, strict=True)
        ]

        def cosines(hit: Hit, phrases: Sequence[str]) -> FloatArray:
            row = table[hit.start, hit.end]
            return np.array([row[PHRASES.index(phrase)] for phrase in phrases], dtype=np.float32)

        topics = [
            Topic("p", ("p1", "p2"), counter_phrases=("n1", "q1")),
            Topic("q", ("q1",), counter_phrases=("n2",)),
        ]
        aims = [Aim(topic, Requirement(cosine=least)) for topic in topics]
        found = list(assign(hits, aims, cosines, exclusive))
        for topic in topics:
            own = [hit for hit in found if hit.topic == topic.name]
            for number, hit in enumerate(own):
                near = cosines(hit, topic.phrases).max()
                assert hit.phrase in topic.phrases
                assert hit.cosine >= least
                assert near >= cosines(hit, topic.counter_phrases).max()
                assert all(hit.end <= other.start for other in own[number + 1 :])
            if exclusive:
                continue
            for hit in hits:
                near = cosines(hit, topic.phrases).max()
                countered = near < cosines(hit, topic.counter_phrases).max()
                if hit.phrase in topic.phrases and hit.cosine == near >= least and not countered:
                    assert any(
                        other.start < hit.end
                        and hit.start < other.end
                        and other.cosine >= hit.cosine
                        for other in own
                    )

    def test_exclusive_words_count_for_one_topic(self) -> None:
        hits = [made_hit("p1", 0, 5, 0.8), made_hit("q1", 1, 5, 0.9), made_hit("q1", 8, 9, 0.7)]
        aims = [Aim(Topic(name, (f"{name}1",)), Requirement()) for name in ("p", "q")]

        def none(hit: Hit, phrases: Sequence[str]) -> FloatArray:
            raise AssertionError

        assert [hit.topic for hit in assign(hits, aims, none)] == ["p", "q", "q"]
        assert [hit.topic for hit in assign(hits, aims, none, exclusive=True)] == ["q", "q"]

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({"n": {"gte": 3}}, True),
            ({"n": {"lt": 3}}, False),
            ({"domain": ["BANK", "x"]}, True),
            ({"domain": {"ne": "bank"}}, False),
            ({"none": {"ne": "bank"}}, True),
            ({"none": "bank"}, False),
            ({"_id": ["1", "2"]}, True),
            ({"_id": {"ne": "1"}}, False),
        ],
    )
    def test_conditions_are_those_of_stores(self, where: dict[str, object], expected: bool) -> None:
        assert admits(parse_where(where), "1", {"n": 3, "domain": "bank"}) is expected  # type: ignore[arg-type]


class TestMining:
    def test_finds_all_topics_in_one_pass(self, calls: Corpus) -> None:
        hits = list(mine_topics(calls, [CANCEL, BILL]))
        assert [(hit.doc_id, hit.topic) for hit in hits] == [
            ("1", "cancel"),
            ("3", "cancel"),
            ("3", "bill"),
        ]
        assert hits[0].to_dict()["topic"] == "cancel"

    @pytest.mark.parametrize("verify", [False, True])
    def test_a_topic_has_the_same_hits_beside_others(self, calls: Corpus, verify: bool) -> None:
        own = Topic("own", ("stop my plan", "the invoice is wrong"), min_probability=0.0)
        low = Topic("low", ("the weather",), threshold=-1.0)
        alone = [hit.to_dict() for hit in mine_topics(calls, [own], verify=verify)]
        for topics in ([own, low], [low, own]):
            hits = mine_topics(calls, topics, verify=verify)
            beside = [hit.to_dict() for hit in hits if hit.topic == "own"]
            assert beside == alone != []

    def test_a_counter_phrase_keeps_out_what_is_nearer_to_it(self, calls: Corpus) -> None:
        without = replace(CANCEL, counter_phrases=())
        assert "2" in {hit.doc_id for hit in mine_topics(calls, [without])}
        assert "2" not in {hit.doc_id for hit in mine_topics(calls, [CANCEL])}

    def test_each_topic_has_its_own_cut_and_filter(self, calls: Corpus) -> None:
        first = replace(CANCEL, where=parse_where({"date": {"lt": "2026-01-02"}}))
        third = replace(CANCEL, where=parse_where({"_id": "3"}))
        assert [hit.doc_id for hit in mine_topics(calls, [third])] == ["3"]
        sure = replace(BILL, threshold=None, min_probability=1.0)
        assert [hit.doc_id for hit in mine_topics(calls, [first, sure])] == ["1"]
        likely = replace(CANCEL, name="likely", threshold=None, min_probability=0.5)
        hits = list(mine_topics(calls, [first, likely]))
        assert all((hit.probability or 0) >= 0.5 for hit in hits if hit.topic == "likely")
        assert "1" in {hit.doc_id for hit in hits if hit.topic == "likely"}

    @pytest.mark.parametrize(
        ("unit", "text"),
        [
            ("clause", "My bill is much too high"),
            ("sentence", "My bill is much too high, end my plan."),
            ("turn", "My bill is much too high, end my plan."),
        ],
    )
    def test_hits_are_as_wide_as_a_topic_wants(self, calls: Corpus, unit: str, text: str) -> None:
        wide = replace(BILL, unit=unit)
        (hit, *_) = (hit for hit in mine_topics(calls, [wide]) if hit.doc_id == "3")
        assert hit.text == calls.text("3")[hit.start : hit.end] == text
        span = hit.span or hit
        assert hit.start <= span.start < span.end <= hit.end
        (by_run, *_) = mine_topics(calls, [BILL], unit=unit)
        assert by_run.text == text
        assert Label.of(hit, True).text == text[: span.end][span.start :]

    def test_a_stream_has_the_hits_of_a_store(self, calls: Corpus, encoder: SpanEncoder) -> None:
        documents = [Document(doc_id, calls.text(doc_id)) for doc_id in calls]
        scanned = list(scan_topics(documents, [CANCEL, BILL], encoder=encoder))
        mined = list(mine_topics(calls, [CANCEL, BILL]))
        assert [(hit.topic, hit.doc_id, hit.start, hit.end) for hit in scanned] == [
            (hit.topic, hit.doc_id, hit.start, hit.end) for hit in mined
        ]

    def test_counts_by_topic_document_and_day(self, calls: Corpus) -> None:
        hits = list(mine_topics(calls, [CANCEL, BILL]))
        rows = tally(hits, "topic")
        assert [(row.topic, row.hits, row.documents) for row in rows] == [
            ("bill", 1, 1),
            ("cancel", 2, 2),
        ]
        days = [(row.topic, row.place, row.hits) for row in tally(hits, "day")]
        assert days == [
            ("bill", "2026-01-02", 1),
            ("cancel", "2026-01-01", 1),
            ("cancel", "2026-01-02", 1),
        ]
        values = [(row.topic, row.place, row.hits) for row in tally(hits, "date")]
        assert values == days
        assert {row.place for row in tally(hits, "speaker")} == {"-"}
        months = [(row.topic, row.place, row.within) for row in tally(hits, "month", within="date")]
        assert months == [
            ("bill", "2026-01", "2026-01-02"),
            ("cancel", "2026-01", "2026-01-01"),
            ("cancel", "2026-01", "2026-01-02"),
        ]

    @pytest.mark.parametrize(
        ("last", "told"),
        [(2, []), (3, []), (12, ["go: 12.0 of 100 documents in 2026-01-06, usually 0.0 to 6.4"])],
    )
    def test_a_rate_that_is_not_usual_is_an_alert(self, last: int, told: list[str]) -> None:
        days = [f"2026-01-0{number}" for number in range(1, 7)]
        found = [2, 1, 2, 3, 2, last]
        rows = [Tally("go", *both, both[1]) for both in zip(days, found, strict=True)]
        everywhere = {**dict.fromkeys(days, 100), "-": 7}
        assert list(map(str, alerts(rows, everywhere))) == told
        assert alerts(rows, dict.fromkeys(days[-4:], 100)) == []

    @pytest.mark.parametrize("topics", [[], [CANCEL, CANCEL], [replace(CANCEL, phrases=())]])
    def test_refuses_what_it_cannot_mine(self, calls: Corpus, topics: list[Topic]) -> None:
        with pytest.raises(InputError, match="topic"):
            list(mine_topics(calls, topics))

    def test_ingest_marks_passages_that_filters_then_find(
        self, encoder: SpanEncoder, tmp_path: Path
    ) -> None:
        write(tmp_path, "a.txt", "I'd like to cancel my subscription.")
        write(tmp_path, "b.txt", "The weather is nice, and the subscription is cheap.")
        tagger = TopicTagger([CANCEL], encoder)
        with Corpus(tmp_path / "store", encoder) as corpus:
            corpus.ingest([tmp_path / "a.txt", tmp_path / "b.txt"], enrich=tagger.tag)
            hits = corpus.search("the subscription", where={"topic_cancel": True})
        assert [Path(hit.doc_id).name for hit in hits] == ["a.txt"]
        assert hits[0].metadata["topic_cancel"] is True


class TestImproving:
    def test_examples_say_why_they_fail(self, encoder: SpanEncoder) -> None:
        topic = replace(
            CANCEL,
            must_match=("I want to cancel my subscription now", "please cancel my flight", "…"),
            must_not_match=("nice weather", "could you end my plan?"),
        )
        outcomes = list(run_examples([topic], encoder))
        assert [outcome.right for outcome in outcomes] == [True, False, False, True, False]
        assert "counter-phrase 'please cancel my flight' has" in outcomes[1].why()
        assert outcomes[2].why() == "there is no word in it"

    def test_the_phrase_that_is_told_is_the_one_that_was_read(self, encoder: SpanEncoder) -> None:
        worked = "it worked in the previous version"
        phrases = (worked, "this broke after upgrading", "regression since the last release")
        text = "After updating to 5.2 the build no longer works"
        (outcome,) = run_examples([Topic("broken", phrases, must_match=(text,))], encoder)
        assert outcome.nearest
        assert outcome.nearest.phrase == phrases[1]
        assert outcome.matched
        assert (outcome.nearest.probability or 0) >= outcome.needs.probability

    def test_lint_finds_what_is_odd(self, calls: Corpus, tmp_path: Path) -> None:
        write(tmp_path, "a.toml", 'phrases = ["end my plan", "End  my plan"]\ntreshold = 1')
        write(
            tmp_path,
            "b.toml",
            'phrases = ["end my plan", "I want to cancel my subscription", '
            '"I want to cancel my subscriptions", "the cancellation of a subscription"]\n'
            'counter_phrases = ["stop it"]\nmust_match = ["stop it!"]\nthreshold = 0.6\n',
        )
        told = [problem.told for problem in lint([tmp_path], calls.encoder, calls)]
        assert any(line.startswith("unknown key treshold") for line in told)
        assert "phrases: 'end my plan' occurs 2 times" in told
        assert any(line.startswith("phrase 'end my plan' is also in") for line in told)
        assert any("says what 'I want to cancel my subscription' says" in line for line in told)
        assert any("nearer to counter-phrase 'stop it'" in line for line in told)
        assert any("the cancellation of a subscription' is shadowed" in line for line in told)

    def test_suggestions_are_near_misses(self, calls: Corpus) -> None:
        strict = replace(CANCEL, threshold=0.93, counter_phrases=())
        suggestions = suggest(calls, [strict], margin=0.25)
        assert suggestions
        assert {hit.doc_id for each in suggestions for hit in each.hits} <= {"1", "2", "3"}
        assert all(0.68 <= each.cosine < 0.93 for each in suggestions)
        assert all(each.text and each.documents <= each.spans for each in suggestions)

    def test_a_difference_is_what_is_gained_and_lost(self, calls: Corpus) -> None:
        changed = replace(CANCEL, counter_phrases=("I want to cancel my subscription",))
        changed = replace(changed, phrases=("please cancel my flight", "please end my plan"))
        changes = list(difference(calls, [CANCEL, BILL], [changed, BILL]))
        moved = [change for change in changes if change.kind != "kept"]
        assert [(change.kind, change.hit.doc_id) for change in moved] == [
            ("lost", "1"),
            ("gained", "2"),
        ]
        assert {change.hit.topic for change in moved} == {"cancel"}
        same = difference(calls, [CANCEL, BILL], [CANCEL, BILL])
        assert {change.kind for change in same} == {"kept"}


class TestLearning:
    def test_labels_are_read_from_anywhere(self, tmp_path: Path, calls: Corpus) -> None:
        (hit, *_) = mine_topics(calls, [CANCEL])
        label = Label.of(hit, right=False)
        path = write(
            tmp_path,
            "labels.jsonl",
            '{"topic": "cancel", "text": "end it", "label": 1}\n\n'
            '{"topic": "cancel", "text": "end it", "label": false}\n',
        )
        with path.open("ab") as file:
            file.write(label.to_json())
        assert read_labels(path) == [Label("cancel", "end it", False, end=6), label]

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("[]", "no JSON object"),
            ("{", "not valid JSON"),
            ('{"topic": "a", "label": true}', "text is missing"),
            ('{"topic": "a", "text": "b", "label": "yes"}', "label is 'yes'; give true or false"),
            (LABELLED + '"start": "x"}', "start is 'x'; give a whole number"),
            (
                LABELLED + '"passage": {"start": 0, "end": 1, "text": "c"}}',
                "'passage' does not have 'text'",
            ),
            (LABELLED + '"metadata": ["c"]}', "metadata is ['c'], not a table"),
            ('{"sample": {}}', "'topic' is a name, and 'sample' an object"),
        ],
    )
    def test_says_which_label_is_wrong(self, tmp_path: Path, line: str, told: str) -> None:
        path = write(tmp_path, "labels.jsonl", f"\n{line}\n")
        with pytest.raises(InputError) as error:
            read_labels(path)
        assert str(error.value).startswith(f"{path}:2: {told}")

    def test_whole_sentences_of_its_speaker_teach_a_topic(self, encoder: SpanEncoder) -> None:
        text = "My mother travels with me. Hey, please shut down my account for good."

        def label(start: int, end: int, speaker: str) -> Label:
            place = ("1", start, end, Context(0, len(text), text))
            return Label("cancel", text[start:end], True, *place, speaker=speaker)

        start, end = text.index("with me"), text.index(" account")
        topic = replace(CANCEL, where=parse_where({"speaker": "customer"}), counter_phrases=())
        stops = label(25, 26, "Customer"), Label("cancel", "?!", False)
        labels = [label(start, end, "Customer"), label(0, 9, "agent"), *stops]
        learned = learn(topic, labels, encoder)
        assert learned.phrases == ("Hey, please shut down my account for good.",)
        assert learned.labels == 1
        with pytest.raises(InputError, match="no label has words of a speaker that it is about"):
            learn(topic, [label(start, end, "agent"), *stops], encoder)

    def test_right_hits_become_phrases_and_wrong_ones_counter_phrases(
        self, encoder: SpanEncoder
    ) -> None:
        topic = replace(CANCEL, counter_phrases=())
        labels = [
            Label("cancel", "shut down my account for good", True),
            Label("cancel", "I want to cancel my subscription", True),
            Label("cancel", "cancel my order", False),
            Label("cancel", "the weather is nice", False),
        ]
        learned = learn(topic, labels, encoder)
        assert learned.phrases == ("shut down my account for good",)
        assert learned.counter_phrases == ("cancel my order",)
        assert (learned.labels, learned.right) == (4, 2)
        text = [Document("1", "Hi, could you shut down my account for good?")]
        taught = replace(topic, learned=learned)
        assert not list(scan_topics(text, [topic], encoder=encoder))
        assert list(scan_topics(text, [taught], encoder=encoder))

    def test_learns_no_more_texts_than_a_file_takes(
        self, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slice_os.topics.learning.MOST_TEXTS", 2)
        monkeypatch.setattr("slice_os.topics.learning.LONGEST_TEXT", 20)
        right = ["shut down my account for good", "stop the plan", "leave for good", "quit it"]
        wrong = ["cancel my order", "cancel an order", "cancel our order"]
        labels = [Label("cancel", text, text in right) for text in [*right, *wrong]]
        learned = learn(replace(CANCEL, counter_phrases=()), labels, encoder)
        assert learned.phrases == ("stop the plan", "leave for good")
        assert learned.counter_phrases == ("cancel my order", "cancel an order")

    def test_probabilities_follow_the_labels(self, encoder: SpanEncoder) -> None:
        wrong = [Label("cancel", text, False) for text in ("cancel my order", "end of the plan")]
        doubtful = learn(CANCEL, wrong, encoder)
        sure = learn(CANCEL, [replace(label, right=True) for label in wrong], encoder)
        assert doubtful.probability(0.5) < 0.5 < sure.probability(0.5)

    def test_a_topic_that_asks_for_no_precision_takes_everything(
        self, encoder: SpanEncoder
    ) -> None:
        any_will_do = replace(CANCEL, threshold=None, precision=0.0)
        learned = learn(any_will_do, [Label("cancel", "cancel my order", False)], encoder)
        assert learned.threshold is not None
        assert learned.threshold < 0.2

    def test_without_evidence_a_threshold_stays(self) -> None:
        nothing = np.zeros(0, dtype=np.float32)
        assert fit_threshold(0.65, nothing, nothing, 1) == pytest.approx(0.65)
        wrong = np.full(9, 0.72, dtype=np.float32)
        assert fit_threshold(0.65, nothing, wrong, 1) > 0.68

    def test_only_labels_of_the_topic_count(self, encoder: SpanEncoder) -> None:
        for labels in ([], [Label("bill", "x", True)]):
            with pytest.raises(InputError, match="needs labels of this topic"):
                learn(CANCEL, labels, encoder)

    @pytest.mark.slow
    @pytest.mark.release
    @pytest.mark.skipif(not CLINC.exists(), reason="../shared/data/clinc150 is not there")
    def test_twenty_labels_make_topics_better(self, encoder: SpanEncoder) -> None:
        by_intent: dict[str, list[str]] = {}
        for text, intent in json.loads(CLINC.read_text("utf-8"))["train"]:
            by_intent.setdefault(intent, []).append(text)
        pool = [(text, name) for name in by_intent for text in by_intent[name][5:15]]
        found = [(text, name) for name in by_intent for text in by_intent[name][15:20]]
        of_pool = encoder.encode_phrases([text for text, _ in pool])
        of_found = encoder.encode_phrases([text for text, _ in found])

        def f1(topic: Topic) -> float:
            near = of_found @ encoder.encode_phrases(topic.all_phrases).T
            hits = near.max(axis=1) >= topic.requirement(Requirement()).cosine
            right = np.array([name == topic.name for _, name in found])
            return 2 * float((hits & right).sum() / (hits.sum() + right.sum()))

        before, after = [], []
        for name in sorted(by_intent)[::10]:
            phrases = tuple(by_intent[name][:5])
            topic = Topic(name, phrases, threshold=encoder.card.threshold)
            cosines = (of_pool @ encoder.encode_phrases(topic.phrases).T).max(axis=1)
            wrong = [row for row in np.argsort(-cosines) if pool[row][1] != name][:10]
            labels = [Label(name, text, True) for text in by_intent[name][5:15]]
            labels += [Label(name, pool[row][0], False) for row in wrong]
            learned = learn(topic, labels, encoder, verify=False)
            before.append(f1(topic))
            after.append(f1(replace(topic, learned=learned)))
        assert np.mean(after) > np.mean(before) + 0.05
