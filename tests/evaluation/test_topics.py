from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import InputError
from slice_os.evaluation.topics.harness import add_labels
from slice_os.evaluation.topics.topic_scores import (
    SCORINGS,
    BestSpans,
    Scored,
    average_precision,
    best_f1,
    f1_at,
    normalised,
    one_threshold,
    precision_at,
)
from slice_os.evaluation.topics.topic_sets import read_topic_set
from slice_os.labels.label import Label
from slice_os.query.options import UTTERANCE_THRESHOLD
from slice_os.topics import Topic
from slice_os.topics.utterances.scores import PhraseVectors

from .commands import run_harness

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "eval"
DATA = Path(__file__).parents[3] / "shared" / "data"
NEITHER = ["the weather is nice today", "my dog likes bones", "two plus two is four"]
TOPICS = {
    "cancel": [
        "I want to cancel my subscription",
        "please end my plan",
        "stop my contract now",
        "I no longer need this subscription",
        "terminate my plan today",
        "how do I end my contract",
        "cancel the subscription for me please",
        "I would like to quit my plan",
    ],
    "password": [
        "I forgot my password",
        "how do I reset my password",
        "my password does not work",
        "I cannot log in with my password",
        "send me a new password",
        "the system rejects my password",
        "I want to change my password",
        "I do not remember my password",
    ],
    "refund": [
        "I want my money back",
        "please refund the payment",
        "when do I get my refund",
        "give me my money back",
        "I was charged twice, refund me",
        "return the payment to my account",
        "I am waiting for my refund",
        "how can I get my money back",
    ],
}


def write_set(path: Path, names: str = "") -> Path:
    rows = [
        {"text": f"{text}{names}", "topic": f"{topic}{names}", "part": part}
        for topic, texts in TOPICS.items()
        for text, part in zip(texts, ["train"] * 6 + ["test"] * 2, strict=True)
    ]
    rows += [{"text": text, "topic": None, "part": "test"} for text in NEITHER]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def evaluate(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run_harness("topics", *arguments)["rows"]
    return rows


class TestData:
    def test_takes_phrases_at_even_distances_and_then_labels(self, tmp_path: Path) -> None:
        data = read_topic_set(write_set(tmp_path / "own.jsonl"), 2, 3)
        assert [topic.name for topic in data.topics] == list(TOPICS)
        texts = TOPICS["cancel"]
        assert data.topics[0].phrases == (texts[0], texts[3])
        assert [one.text for one in data.labelled[:3]] == [texts[1], texts[2], texts[4]]
        assert len(data.documents) == 9
        assert [one.topic for one in data.documents].count(None) == 3

    def test_no_training_text_is_tested(self, tmp_path: Path) -> None:
        path = write_set(tmp_path / "own.jsonl")
        with path.open("a") as stream:
            row = {"text": "Please  END my plan", "topic": "refund", "part": "test"}
            stream.write(json.dumps(row) + "\n")
        data = read_topic_set(path, 2, 3)
        kept = [text for text in TOPICS["cancel"][:6] if text != "please end my plan"]
        assert data.topics[0].phrases == (kept[0], kept[2])

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"text": "a", "topic": "b"}', "line 1: 'part' is None"),
            ('{"text": "", "topic": "b", "part": "test"}', "line 1: 'text' is ''"),
            ('{"text": "a", "topic": "b", "part": "train"}', "topic 'b' has fewer than 2"),
            ("", "has fewer than two topics"),
        ],
    )
    def test_says_what_is_wrong(self, tmp_path: Path, line: str, message: str) -> None:
        path = tmp_path / "own.jsonl"
        path.write_text(line)
        with pytest.raises(InputError, match=message):
            read_topic_set(path, 2, 3)

    @pytest.mark.parametrize("pair", [[1, "a"], ["x", ["a"]]])
    def test_pairs_of_clinc150_are_texts(self, tmp_path: Path, pair: object) -> None:
        parts = {"train": [pair], "oos_train": [], "test": [], "oos_test": []}
        (tmp_path / "data_full.json").write_text(json.dumps(parts))
        with pytest.raises(InputError, match="holds none of the sets"):
            read_topic_set(tmp_path, 1, 1)

    def test_other_folders_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds none of the sets"):
            read_topic_set(tmp_path, 2, 3)
        with pytest.raises(InputError, match="not found; expected JSON lines with text, topic"):
            read_topic_set(tmp_path / "none", 2, 3)

    @pytest.mark.skipif(not DATA.is_dir(), reason="needs the data sets beside the repository")
    @pytest.mark.parametrize(
        ("name", "topics", "documents"),
        [("banking77", 77, 3_080), ("clinc150", 150, 5_500), ("bitext-support-intents", 27, 810)],
    )
    def test_reads_the_published_sets(self, name: str, topics: int, documents: int) -> None:
        data = read_topic_set(DATA / name, 5, 20)
        assert len(data.topics) == topics
        assert len(data.documents) == documents
        assert {len(topic.phrases) for topic in data.topics} == {5}


class TestMeasures:
    GOLD = np.array([[True, False, True, False]])

    def test_by_hand(self) -> None:
        scores = np.array([[0.9, 0.8, 0.7, 0.1]])
        assert average_precision(scores, self.GOLD) == pytest.approx([(1 + 2 / 3) / 2])
        assert precision_at(scores, self.GOLD, 2) == pytest.approx([0.5])
        assert f1_at(scores, self.GOLD, 0.85) == pytest.approx([2 / 3])
        assert f1_at(scores, self.GOLD, [0.7]) == pytest.approx([0.8])
        assert best_f1(scores, self.GOLD) == pytest.approx([0.8])

    def test_equal_scores_are_taken_together(self) -> None:
        scores = np.array([[0.5, 0.5, 0.5, 0.1]])
        assert best_f1(scores, self.GOLD) == pytest.approx([0.8])

    def test_a_document_that_is_out_never_counts(self) -> None:
        scores = np.array([[0.9, -np.inf, -np.inf, -np.inf]])
        assert best_f1(scores, self.GOLD) == pytest.approx([2 / 3])

    @given(st.integers(0, 10_000))
    def test_no_threshold_for_all_beats_one_for_each(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        scores = draw.random((4, 30)).round(1)
        gold = draw.random((4, 30)) < 0.3
        chosen = one_threshold([Scored(scores, scores, gold)])
        assert (f1_at(scores, gold, chosen) <= best_f1(scores, gold) + 1e-12).all()


class TestScoring:
    SPANS = BestSpans(
        PhraseVectors({"a": 0, "b": 1, "c": 2, "d": 3}, np.eye(4, dtype=np.float32)),
        np.array([[0.9, 0.5, 0.8, 0.1], [0.3, 0.6, 0.4, 0.7]], dtype=np.float32),
        np.ones((2, 4), dtype=np.uint8),
        np.array([[0.2, 0.4, 0.6, 0.0], [0.2, 0.2, 0.2, 0.7]], dtype=np.float32),
    )
    GOLD = np.zeros((2, 2), dtype=bool)

    def scores(self, name: str, *topics: Topic) -> list[list[float]]:
        (scoring,) = (one for one in SCORINGS if one.name == name)
        found = scoring.scored(self.SPANS, topics, self.GOLD).scores
        return [[round(float(one), 3) for one in row] for row in found]

    def test_of_each_kind(self) -> None:
        topics = Topic("one", ("a", "b")), Topic("two", ("c", "d"))
        none = float("-inf")
        assert self.scores("cosine", *topics) == [[0.9, 0.6], [0.8, 0.7]]
        assert self.scores("two best phrases", *topics) == [[0.7, 0.45], [0.45, 0.55]]
        assert self.scores("cosine, nearest topic", *topics) == [[0.9, none], [none, 0.7]]
        alone = Topic("one", ("a",)), Topic("two", ("d",), threshold=0.1)
        assert self.scores("cosine, nearest topic", *alone) == [[0.9, none], [none, 0.6]]
        # .3 · .9 + .7 · .2 = .41, and .3 · .1 of the other topic; the threshold is taken off last
        assert self.scores("span and whole text, nearest topic", *alone) == [
            [pytest.approx(0.41 - 0.03 * 0.3, abs=1e-3), none],
            [none, pytest.approx(0.7 - 0.23 * 0.3 - 0.1, abs=1e-3)],
        ]

    def test_phrases_near_other_topics_lose(self) -> None:
        vectors = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], dtype=np.float32)
        near = BestSpans(
            PhraseVectors(self.SPANS.phrases.columns, vectors),
            self.SPANS.cosines,
            self.SPANS.words,
            self.SPANS.whole,
        )
        topics = [Topic(name, (name,)) for name in "abc"]
        # a and c are alike: their cosines with others are 1 and 0.
        assert normalised(near, topics)[0, :3] == pytest.approx([0.65, 0.5, 0.55])

    def test_counter_phrases_put_documents_out(self) -> None:
        topics = Topic("one", ("b",), counter_phrases=("c",)), Topic("two", ("d",))
        assert self.scores("cosine", *topics) == [[float("-inf"), 0.6], [0.1, 0.7]]

    def test_labels_become_phrases_and_counter_phrases(self) -> None:
        labels = [Label("one", "b", True), Label("one", "c", False), Label("one", "a", True)]
        assert add_labels(Topic("one", ("a",)), labels) == Topic(
            "one", ("a", "b"), counter_phrases=("c",)
        )


def test_the_default_threshold_is_the_one_that_was_measured() -> None:
    found = [
        row["threshold"]
        for path in sorted(RESULTS.glob("topics-*.json"))
        for row in json.loads(path.read_text("utf-8"))["rows"]
        if (row["score"], row["labels"]) == (SCORINGS[-1].name, 0)
    ]
    assert len(found) == 2
    assert np.mean(found) == pytest.approx(UTTERANCE_THRESHOLD, abs=0.01)


class TestHarness:
    def test_measures_and_chooses_the_threshold_elsewhere(self, tmp_path: Path) -> None:
        data = write_set(tmp_path / "own.jsonl")
        other = write_set(tmp_path / "other.jsonl", " at once")
        rows = evaluate(
            "--data", str(data), "--tune", str(other), "--phrases", "3", "--labels", "2"
        )
        by_key = {(row["score"], row["labels"]): row for row in rows}
        assert len(by_key) == len(SCORINGS) * 2 + 1
        assert by_key["as topics learn", 2]["f1"] > 0.6
        plain = by_key["cosine", 0]
        assert plain["map"] > 0.9
        assert plain["f1"] <= plain["f1_best_one"] <= plain["f1_best_each"]
        assert by_key["cosine, nearest topic", 2]["f1"] > 0.6

    def test_measures_without_other_sets(self, tmp_path: Path) -> None:
        rows = evaluate("--data", str(write_set(tmp_path / "own.jsonl")), "--phrases", "3")
        assert "f1" not in rows[0]
        assert {row["labels"] for row in rows} == {0}

    @pytest.mark.parametrize("others", [["--labels", "2"], ["--tune", "OTHER"]])
    def test_needs_texts_to_label(self, tmp_path: Path, others: list[str]) -> None:
        data = str(write_set(tmp_path / "own.jsonl"))
        other = str(write_set(tmp_path / "other.jsonl", " at once"))
        others = [other if one == "OTHER" else one for one in others]
        with pytest.raises(InputError, match="no training text is left to label"):
            evaluate("--data", data, "--phrases", "6", *others)

    def test_needs_texts_to_test(self, tmp_path: Path) -> None:
        data = write_set(tmp_path / "own.jsonl")
        data.write_text(data.read_text().replace('"test"', '"train"'))
        with pytest.raises(InputError, match="in its test part"):
            evaluate("--data", str(data))

    def test_refuses_to_choose_on_what_it_measures(self, tmp_path: Path) -> None:
        data = str(write_set(tmp_path / "own.jsonl"))
        with pytest.raises(InputError, match="choose the threshold on other sets"):
            evaluate("--data", data, "--tune", data)
