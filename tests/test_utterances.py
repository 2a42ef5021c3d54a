"""Topics of whole texts: the best of several, or none."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slice_os import InputError, SpanEncoder
from slice_os.encoder.model_folder import model_folder
from slice_os.encoder.token_model import load_model
from slice_os.evaluation.encoders.model_encoder import ModelEncoder
from slice_os.evaluation.harness import quiet
from slice_os.evaluation.topics.topic_scores import SCORINGS, best_spans, phrase_vectors
from slice_os.query.filters import parse_where
from slice_os.text.words import find_words
from slice_os.topics import Learned, Topic, UtteranceTagger, UtteranceTopic
from slice_os.topics.run import wordings

from .strategies import hard_texts

CANCEL = Topic("cancel", ("I want to cancel my subscription", "please end my plan"))
PASSWORD = Topic("password", ("I forgot my password", "how do I log in again"))
REFUND = Topic("refund", ("I want my money back", "when do I get my refund"))
TOPICS = (CANCEL, PASSWORD, REFUND)
TEXTS = [
    "Hi, could you stop my subscription by the end of May? Thanks",
    "it says my password is wrong",
    "please stop the plan and give me my money back",
    "is the shop open on Sunday?",
    "👩‍👩‍👧‍👦 i cann\u0301ot log in 👍🏽!",
    "please cancel my flight",
]


@pytest.fixture(scope="module")
def tagger(encoder: SpanEncoder) -> UtteranceTagger:
    return UtteranceTagger(TOPICS, encoder)


@pytest.fixture(scope="module")
def nearest(encoder: SpanEncoder) -> UtteranceTagger:
    """A tagger that gives every text with a word a topic."""
    return UtteranceTagger(TOPICS, encoder, -1)


def near(found: UtteranceTopic) -> object:
    """The topic, but for the last digits of its scores."""
    return pytest.approx(asdict(found), abs=1e-5)


class TestTopics:
    def test_each_text_has_the_topic_that_it_is_about(self, tagger: UtteranceTagger) -> None:
        found = tagger.tag(TEXTS)
        names = ["cancel", "password", "cancel", None, "password", "cancel"]
        assert [one.topic for one in found] == names
        assert (found[0].text, found[0].phrase) == ("you stop my subscription", CANCEL.phrases[0])
        assert (found[1].start, found[1].end) == (8, 19)

    def test_what_came_next_says_how_close_it_was(self, tagger: UtteranceTagger) -> None:
        clear, _, both, neither, *_ = tagger.tag(TEXTS)
        assert both.runner_up == "refund"
        assert both.score is not None
        assert clear.score is not None
        assert both.runner_up_score == pytest.approx(both.score, abs=0.15)
        assert clear.runner_up_score < clear.score - 0.3  # type: ignore[operator]
        assert neither == UtteranceTopic(
            runner_up="refund", runner_up_score=pytest.approx(0.05, abs=0.1)
        )

    @pytest.mark.parametrize("text", ["", " \n", "...", "—", "\u0301", "\u200b"])
    def test_a_text_without_a_word_has_none(self, nearest: UtteranceTagger, text: str) -> None:
        assert nearest.tag([text, "my password"])[0] == UtteranceTopic()

    def test_no_text_has_no_topic(self, tagger: UtteranceTagger) -> None:
        assert tagger.tag([]) == []

    def test_a_text_has_its_topic_beside_any_others(self, nearest: UtteranceTagger) -> None:
        together = nearest.tag(TEXTS * 50)
        for text, found in zip(TEXTS, together[-len(TEXTS) :], strict=True):
            assert asdict(nearest.tag([text])[0]) == near(found)


class TestWordings:
    def test_learned_phrases_count(self, encoder: SpanEncoder) -> None:
        text = "is the shop open on Sunday?"
        learned = Learned(phrases=("when are you open",), threshold=0.99)
        topics = [replace(REFUND, learned=learned), CANCEL, PASSWORD]
        (found,) = UtteranceTagger(topics, encoder).tag([text])
        assert (found.topic, found.phrase) == ("refund", "when are you open")

    @pytest.mark.parametrize(
        "contested",
        [
            replace(CANCEL, counter_phrases=("cancel the flight",)),
            replace(CANCEL, learned=Learned(counter_phrases=("cancel the flight",))),
        ],
        ids=["given", "learned"],
    )
    def test_a_counter_phrase_that_is_nearer_rules_a_topic_out(
        self, encoder: SpanEncoder, contested: Topic
    ) -> None:
        tagger = UtteranceTagger([contested, PASSWORD, REFUND], encoder)
        flight, subscription = tagger.tag(["please cancel my flight", TEXTS[0]])
        assert flight.topic is None
        assert flight.runner_up in {"password", "refund"}
        assert subscription.topic == "cancel"

    def test_if_counter_phrases_rule_all_out_there_is_none(self, encoder: SpanEncoder) -> None:
        topics = [replace(one, counter_phrases=("hello there",)) for one in TOPICS]
        assert UtteranceTagger(topics, encoder, -1).tag(["hello there"]) == [UtteranceTopic()]

    def test_cuts_conditions_and_units_do_not_count(
        self, encoder: SpanEncoder, tagger: UtteranceTagger
    ) -> None:
        narrow = [
            replace(one, threshold=0.99, where=parse_where({"a": "b"}), unit="clause")
            for one in TOPICS
        ]
        assert UtteranceTagger(narrow, encoder).tag(TEXTS) == tagger.tag(TEXTS)


class TestOffsets:
    @settings(max_examples=40)
    @given(text=hard_texts())
    def test_are_those_of_the_text(self, nearest: UtteranceTagger, text: str) -> None:
        (found,) = nearest.tag([text])
        if found.topic is None:
            assert found == UtteranceTopic()
            return
        assert found.text == text[found.start : found.end]
        starts, ends = find_words(text).T
        assert found.start in starts
        assert found.end in ends

    @settings(max_examples=20)
    @given(before=st.sampled_from(["👍🏽 ", "e\u0301. ", "§ 5\r\n", "ok ok "]))
    def test_what_is_before_moves_them(self, nearest: UtteranceTagger, before: str) -> None:
        (found,) = nearest.tag([f"{before}my password"])
        assert found.text is not None
        assert found.text.endswith("my password")

    def test_a_long_text_is_read_to_its_end(self, nearest: UtteranceTagger) -> None:
        text = "The weather was nice on that day. " * 200 + "I forgot my password."
        (found,) = nearest.tag([text])
        assert found.topic == "password"
        assert (found.text, found.end) == ("I forgot my password", len(text) - 1)


def test_scores_are_those_of_the_harness(encoder: SpanEncoder) -> None:
    topics = [
        replace(CANCEL, counter_phrases=("please cancel my flight",)),
        PASSWORD,
        replace(REFUND, counter_phrases=("when do you open", "I want my money back")),
    ]
    measured = ModelEncoder(load_model(model_folder(None), threads=2), "slice-mini")
    phrases = phrase_vectors(measured, wordings(topics))
    spans = best_spans(measured, TEXTS, phrases, "", quiet)
    none = np.zeros((len(topics), len(TEXTS)), dtype=bool)
    (scoring,) = (one for one in SCORINGS if one.name == "with regression, nearest topic")
    scored = scoring.scored(spans, topics, none)
    found = UtteranceTagger(topics, encoder, -1).tag(TEXTS)
    for text, own in enumerate(scored.scores.T):
        best = int(own.argmax())
        assert found[text].topic == topics[best].name
        assert found[text].score == pytest.approx(float(own[best]), abs=1e-5)


@pytest.mark.parametrize(
    ("topics", "threshold", "told"),
    [
        ([], 0.3, "no topic"),
        ([CANCEL], 0.3, "'cancel' is the only topic; whole texts need two or more"),
        ([CANCEL, CANCEL], 0.3, "two topics are called 'cancel'"),
        ([CANCEL, Topic("empty", ())], 0.3, "topic 'empty' has no phrase"),
        ([CANCEL, Topic("mute", ("...",))], 0.3, "has no word"),
        (TOPICS, float("nan"), "threshold nan: give a number"),
    ],
)
def test_refuses_what_cannot_be_compared(
    encoder: SpanEncoder, topics: list[Topic], threshold: float, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        UtteranceTagger(topics, encoder, threshold)


def test_refuses_one_text_in_place_of_several(tagger: UtteranceTagger) -> None:
    with pytest.raises(InputError, match="give a list of strings"):
        tagger.tag("my password")
    with pytest.raises(InputError, match="lone surrogate"):
        tagger.tag(["\ud800"])
