from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given

from slice_os import InputError
from slice_os.cli import cli
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.measures import measured
from slice_os.evaluation.pic.phrase_files import PhraseQuestion, load_questions
from slice_os.evaluation.pic.ranking import (
    SETTINGS,
    RankedPhrases,
    find_candidates,
    find_sentences,
    find_tokens,
    rank_phrases,
    widen,
)
from slice_os.evaluation.pic.retrieval import RANKING_MEASURES, normalise, score_answer, token_f1

from ..strategies import hard_texts
from .commands import run_harness

DATA = Path(__file__).parents[3] / "shared" / "data" / "pic"

TEXT = (
    "The committee met twice last year. A grave error in the budget was found by chance. "
    "Nobody could explain the grave error afterwards. The mayor's office paid the full sum."
)


def make_question(query: str, answer: str, text: str = TEXT) -> PhraseQuestion:
    return PhraseQuestion(query, text, answer, text.index(answer))


# What NLTK 3.10's NLTKWordTokenizer gives, but for its `` and '' in place of ".
@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("He paid $3,000.50 at 1:30.", "He paid $ 3,000.50 at 1:30 ."),
        ("They don't know the bank's I.D. card.", "They do n't know the bank 's I.D. card ."),
        ('"Yes," she said (twice).', '" Yes , " she said ( twice ) .'),
        (
            "A cost-effective and/or old-world U.S. plan!",
            "A cost-effective and/or old-world U.S. plan !",
        ),
        ("Wait... what -- now?", "Wait ... what -- now ?"),
        ("O'Neill's 20% rise; he'll see", "O'Neill 's 20 % rise ; he 'll see"),
    ],
)
def test_tokens_follow_nltk(sentence: str, tokens: str) -> None:
    assert [sentence[start:end] for start, end in find_tokens(sentence)] == tokens.split()


def test_candidates_are_n_grams_of_whole_words_within_sentences() -> None:
    text = "The bank's card, he said, was lost. It cost 20 %."
    phrases = [text[one.start : one.end] for one in find_candidates(text)]
    assert phrases == [
        *("The bank's", "bank's card", "card, he", "he said", "said, was", "was lost", "It cost"),
        *("It cost 20", "cost 20"),
    ]


def test_a_longer_gold_phrase_is_a_candidate_too() -> None:
    start = TEXT.index("error in the budget")
    candidates = find_candidates(TEXT, [(start, start + len("error in the budget"))])
    (gold,) = [one for one in candidates if TEXT[one.start : one.end] == "error in the budget"]
    sentence = TEXT[gold.sentence_start : gold.sentence_end]
    assert sentence == "A grave error in the budget was found by chance."
    with pytest.raises(InputError, match="has no word"):
        find_candidates("so – it is", [(3, 4)])


@given(hard_texts())
def test_candidates_of_any_text_lie_in_their_sentences_and_cut_no_word(text: str) -> None:
    sentences = find_sentences(text)
    for one in find_candidates(text):
        assert (one.sentence_start, one.sentence_end) in sentences
        assert one.start < one.end
        assert widen(text, one.start, one.end) == (one.start, one.end)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_phrase_is_ranked_by_its_wording(shipped: TextEncoder, setting: str) -> None:
    ranked = rank_phrases(shipped, make_question("serious mistake", "grave error"), setting)
    wordings = [TEXT[one.start : one.end] for one in ranked.candidates]
    assert wordings[ranked.rank - 1] == "grave error"
    assert "grave error" not in wordings[: ranked.rank - 1]
    assert ranked.rank <= 10
    assert (np.diff(ranked.scores) <= 0).all()
    assert wordings.count("grave error") == (1 if setting == "phrase" else 2)


def test_in_its_sentence_the_query_takes_the_candidates_place(shipped: TextEncoder) -> None:
    question = make_question("full sum", "full sum")
    ranked = rank_phrases(shipped, question, "phrase-in-context")
    assert ranked.rank == 1
    assert ranked.scores[0] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("said", "right", "f1"),
    [
        ("The grave error!", "grave error", 1.0),
        ("grave error", "error", 2 / 3),
        ("office", "error", 0.0),
        ("the", "a", 1.0),
        ("error error", "error", 2 / 3),
    ],
)
def test_answers_are_compared_as_in_squad(said: str, right: str, f1: float) -> None:
    assert token_f1(said, right) == pytest.approx(f1)
    assert (normalise(said) == normalise(right)) == (f1 == 1)


def test_the_right_wording_at_the_wrong_place_counts_only_without_place() -> None:
    first, second = TEXT.index("grave error"), TEXT.rindex("grave error")
    gold = (second, second + len("grave error"))
    wrong = score_answer(TEXT, (first, first + len("grave error")), gold)
    assert (wrong.em, wrong.f1, wrong.em_loc, wrong.f1_loc) == (1, 1, 0, 0)
    partly = score_answer(TEXT, (second + 6, second + len("grave error afterwards")), gold)
    assert (partly.em, partly.em_loc) == (0, 0)
    assert partly.f1 == partly.f1_loc == pytest.approx(0.5)


def hugging_face_rows() -> list[dict[str, Any]]:
    return [
        {
            "id": "1-1",
            "title": "t",
            "query": query,
            "context": TEXT,
            "answers": {"text": [answer], "answer_start": [TEXT.index(answer)]},
        }
        for query, answer in (("serious mistake", "grave error"), ("whole amount", "full sum"))
    ]


def test_ranking_gives_top_k_and_mrr(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text(json.dumps({"data": hugging_face_rows()}))
    saved = run_harness("pic-pr", "--data", tmp_path)
    assert [row["setting"] for row in saved["rows"]] == list(SETTINGS)
    for row in saved["rows"]:
        assert 0 <= row["top1"] <= row["top3"] <= row["top5"] <= 1
        assert row["top1"] <= row["mrr5"] <= row["top5"]
        assert row["questions"] == 2


def test_sense_disambiguation_asks_for_the_place(tmp_path: Path) -> None:
    sentences = TEXT.split(". ")
    passages = [
        {"text": ". ".join(part) + ".", "phrase": ["grave error"], "start": [start]}
        for part in (sentences[:2], sentences[2:])
        if (start := ". ".join(part).index("grave error")) >= 0
    ]
    rows = [
        {"query": "serious mistake", "passages": passages, "gold_passage": gold}
        for gold in (1, None)
    ]
    path = tmp_path / "psd.json"
    path.write_text(json.dumps(rows))
    (question,) = load_questions(path)
    assert question.context[slice(*question.place)] == "grave error"
    assert question.context.count("grave error") == 2
    assert question.start == question.context.rindex("grave error")
    (row,) = run_harness("pic-psd", "--data", path, "--setting", "single-pass")["rows"]
    assert row["em_loc"] <= row["em"]
    assert row["f1_loc"] <= row["f1"]
    assert row["questions"] == 1


def test_squad_is_read_as_well(tmp_path: Path) -> None:
    answer = {"text": "full sum", "answer_start": TEXT.index("full sum")}
    qas = [{"id": "1", "question": "whole amount", "answers": [answer]}]
    path = tmp_path / "test.json"
    squad = {
        "version": "1",
        "data": [{"title": "t", "paragraphs": [{"context": TEXT, "qas": qas}]}],
    }
    path.write_text(json.dumps(squad))
    assert load_questions(path) == (make_question("whole amount", "full sum"),)


def test_published_samples_are_read_as_they_are() -> None:
    path = DATA / "pr_website_samples.json"
    if not path.is_file():
        pytest.skip("PiC is not here")
    questions = load_questions(path)
    assert {one.subset for one in questions} == {"PR-pass", "PR-page"}
    for one in questions:
        assert one.context[slice(*one.place)] == one.answer


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"query": "a", "context": "b"}, "row 1: lacks fields"),
        (
            {"query": "a", "context": "b", "answers": {"text": ["c"], "answer_start": [0]}},
            "row 1: no answer at 0",
        ),
        ({"query": "a", "passages": [], "gold_passage": 1}, "row 1: lacks fields"),
        (
            {"query": None, "context": "b", "answers": {"text": ["b"], "answer_start": [0]}},
            "row 1: None is no query",
        ),
        (
            {"query": "a", "context": "b c", "answers": {"text": ["b"], "answer_start": [-3]}},
            "row 1: no answer at -3",
        ),
    ],
)
def test_malformed_questions_are_named(tmp_path: Path, row: dict[str, Any], complaint: str) -> None:
    path = tmp_path / "pr.json"
    path.write_text(json.dumps([row]))
    with pytest.raises(InputError, match=complaint) as caught:
        load_questions(path)
    assert "\n" not in str(caught.value)


def make_toy_questions(count: int, seed: int) -> list[PhraseQuestion]:
    """The answer is always the same two words, whatever stands around them."""
    draw = np.random.default_rng(seed)
    words = [f"{a}{b}" for a in ("ba", "do", "ki", "lu") for b in ("ra", "ne", "to", "mi")]
    questions = []
    for _ in range(count):
        text = " ".join(words[index] for index in draw.integers(0, len(words), 20))
        place = text.index(" ", int(draw.integers(0, 80))) + 1
        context = f"{text[:place]}full sum {text[place:]}"
        questions.append(PhraseQuestion("whole amount", context, "full sum", place))
    return questions


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from .tiny_models import make_encoder

    texts = [f"{one.query} {one.context}" for one in make_toy_questions(50, 1)]
    return make_encoder(tmp_path_factory.mktemp("tiny") / "tiny-bert", [*texts, TEXT])


def test_a_head_learns_to_select_spans(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slice_os.evaluation.pic import span_head

    # What was never pre-trained learns too slowly at the paper's rate.
    monkeypatch.setattr(span_head, "LEARNING_RATE", 3e-3)
    selector = span_head.SpanSelector(str(tiny_encoder))
    selector.train(make_toy_questions(400, 2), dev=make_toy_questions(40, 3), epochs=4)
    tested = make_toy_questions(40, 4)
    places = selector.answer(tested)
    right = [place == one.place for one, place in zip(tested, places, strict=True)]
    assert np.mean(right) > 0.9


def test_long_documents_are_read_in_windows(tiny_encoder: Path) -> None:
    from slice_os.evaluation.pic.span_head import SpanSelector

    text = " ".join([TEXT] * 6)
    start = text.rindex("full sum")
    question = PhraseQuestion("whole amount", text, "full sum", start)
    selector = SpanSelector(str(tiny_encoder))
    windows = selector._windows([question])
    assert len(windows) > 3
    assert any(window.target != (0, 0) for window in windows)
    for window in windows:
        if window.target != (0, 0):
            first, last = window.target
            assert window.offsets[first, 0] == question.start
            assert window.offsets[last, 1] == question.place[1]
    covered = set()
    for window in windows:
        for begins, ends in window.offsets[window.offsets[:, 0] >= 0].tolist():
            covered.update(range(begins, ends))
    assert covered == {place for place, char in enumerate(text) if not char.isspace()}
    ((begins, ends),) = selector.answer([question])
    assert 0 <= begins < ends <= len(text)


def test_span_selection_trains_on_what_is_not_tested(tmp_path: Path, tiny_encoder: Path) -> None:
    rows = hugging_face_rows()
    (tmp_path / "test.json").write_text(json.dumps(rows[:1]))
    asked = ["--data", tmp_path, "--setting", "phrase", "--span-model", tiny_encoder]
    refused = CliRunner().invoke(cli, ["eval", "pic-pr", *map(str, asked), "--no-cache"])
    assert isinstance(refused.exception, InputError)
    assert "train" in str(refused.exception)
    (tmp_path / "train.json").write_text(json.dumps(rows))
    saved = run_harness("pic-pr", *asked)
    assert saved["data"][1]["rows"] == 1
    row = saved["rows"][-1]
    assert (row["encoder"], row["method"]) == ("tiny-bert", "span-selection")
    assert 0 <= row["em"] <= row["f1"] <= 1
    (tmp_path / "train.json").write_text(json.dumps(rows[:1]))
    refused = CliRunner().invoke(cli, ["eval", "pic-pr", *map(str, asked), "--no-cache"])
    assert "not also tested" in str(refused.exception)


def test_mean_reciprocal_rank_on_voorhees_example() -> None:
    def mrr(*ranks: int) -> object:
        ranked = [RankedPhrases((), np.empty(0), rank) for rank in ranks]
        return measured(RANKING_MEASURES, ranked)["mrr5"]

    # Ranks 3, 2 and 1: (1/3 + 1/2 + 1) / 3, the worked example of many textbooks.
    assert mrr(3, 2, 1) == pytest.approx(11 / 18)
    assert mrr(2, 6) == 1 / 4
