"""The bundled verifiers: similarity of words, and a network, decided together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from threading import Event, current_thread

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Claim, SpanEncoder
from slice_os.arrays import FloatArray, IntArray
from slice_os.errors import ModelError
from slice_os.hits.bands import band_of
from slice_os.spans.passages import word_vectors
from slice_os.threads import PACE
from slice_os.verifier import bundled
from slice_os.verifier.bundled import NETWORK, BundledVerifier, SimilarityVerifier
from slice_os.verifier.cross_encoder import ClaimInputs, ClaimRow, CrossEncoderVerifier
from slice_os.verifier.decision import (
    ALIKE,
    CONTRAST,
    DECISION,
    HEARD,
    Decision,
    read_decision,
)
from slice_os.verifier.similarity import SimilarityReader

PHRASE = "I want to cancel my subscription"


def claim(text: str) -> Claim:
    return Claim(PHRASE, text, 0, len(text))


def words_of(encoder: SpanEncoder, text: str) -> tuple[FloatArray, IntArray]:
    aligned, pieces = encoder.encode_text(text)
    return pieces, aligned.words[:, 2:]


CLAIMS = [
    claim("please end my plan"),
    claim("I would never cancel my subscription"),
    claim("I want to cancel my subscription"),
    claim("I want to cancel my subscription, and soon"),
    claim("the weather is nice"),
]


def test_readers_and_encoders_keep_the_pace_of_who_asks(encoder: SpanEncoder) -> None:
    paced = set()
    verifier = CrossEncoderVerifier(NETWORK)

    def work() -> None:
        PACE.set(lambda: paced.add(current_thread().name.split("_")[0]))
        verifier.check(CLAIMS)
        encoder.encode_phrases([PHRASE])

    copy_context().run(work)
    assert paced >= {"verify", "encode"}


def test_no_verdict_depends_on_other_claims(encoder: SpanEncoder) -> None:
    verifier = BundledVerifier(encoder)
    assert verifier.check(CLAIMS) == [verifier.check([one])[0] for one in CLAIMS]
    assert verifier.check([]) == []


def test_says_what_says_the_phrase(encoder: SpanEncoder) -> None:
    same, denied, exact, _, other = BundledVerifier(encoder).check(CLAIMS)
    assert exact.probability > same.probability > denied.probability
    assert other.probability < 0.05
    assert ("cancel", "end") in same.matches
    assert "never" in denied.reasons[0]
    assert not same.reasons


def test_words_that_a_phrase_repeats_match_once(encoder: SpanEncoder) -> None:
    claim = Claim("it gets slower and slower", "However, this is slow.", 9, 21)
    (verdict,) = SimilarityVerifier(encoder).check([claim])
    assert verdict.matches.count(("slower", "slow")) == 1


@pytest.mark.parametrize(
    ("phrase", "text", "reason"),
    [
        ("the bakery was open", "When I went past, the bakery was not open.", "denied: "),
        ("the train took three hours", "The train took five hours.", "another amount: five"),
        ("Anna invited Ben", "Ben invited Anna to the party.", "other parties: "),
        ("the parcel has arrived", "Has the parcel arrived?", "asked or told: "),
        ("the guests arrived early", "The guests arrived late.", "another fact: late"),
    ],
)
def test_an_unlikely_hit_has_the_words_against_it(
    encoder: SpanEncoder, phrase: str, text: str, reason: str
) -> None:
    (verdict,) = BundledVerifier(encoder).check([Claim(phrase, text, 0, len(text))])
    assert band_of(verdict.probability) == "unlikely"
    assert [one.startswith(reason) for one in verdict.reasons] == [True]
    assert re.search(rf"\b{re.escape(verdict.reasons[0].partition(': ')[2])}\b", text)


@pytest.mark.parametrize(
    ("phrase", "text", "band"),
    [
        ("billing department", "We called the [billing department] about it.", "probable"),
        ("cancel", "Please [cancel] it now.", "probable"),
        ("warranty", "I never got a [warranty] card.", "probable"),
        ("train station", "The hotel is [close to the railway station].", "probable"),
        ("billing department", "We called the [garden centre] about it.", "unlikely"),
        ("written notice of ninety days", "It needs [written notice of thirty days].", "unlikely"),
        ("a dozen rolls", "We ordered [two rolls].", "unlikely"),
    ],
)
def test_phrases_that_only_name_something(
    encoder: SpanEncoder, phrase: str, text: str, band: str
) -> None:
    start, end = text.index("["), text.index("]") - 1
    own = Claim(phrase, re.sub(r"[\[\]]", "", text), start, end)
    verifier = BundledVerifier(encoder)
    (verdict,) = verifier.check([own])
    assert band_of(verdict.probability) == band
    assert verifier.check([*CLAIMS, own])[-1] == verdict


def test_similarity_alone_reads_nothing(encoder: SpanEncoder) -> None:
    verifier = SimilarityVerifier(encoder)
    same, denied, exact, _, other = verifier.check(CLAIMS)
    assert exact.probability > same.probability > other.probability
    assert denied.probability > 0.5
    assert verifier.check([CLAIMS[0]]) == [same]
    assert {one.reasons for one in verifier.check(CLAIMS)} == {()}
    estimates = verifier.estimate(CLAIMS)
    assert sorted(CLAIMS, key=lambda one: estimates[CLAIMS.index(one)])[0] == CLAIMS[-1]


@pytest.mark.parametrize("text", ["", "…", "a" * 20_000])
def test_claims_of_no_word_or_a_very_long_one(encoder: SpanEncoder, text: str) -> None:
    (verdict,) = BundledVerifier(encoder).check([Claim(PHRASE, text, 0, len(text))])
    assert verdict.probability < 0.5
    (verdict,) = SimilarityVerifier(encoder).check([Claim(text, text, 0, len(text))])
    assert 0 <= verdict.probability <= 1


def test_vectors_that_are_given_are_taken(encoder: SpanEncoder) -> None:
    other = word_vectors(*words_of(encoder, "the weather is nice"))
    given = Claim(PHRASE, PHRASE, 0, len(PHRASE), word_vectors=np.resize(other, (6, 384)))
    reader = SimilarityReader(encoder)
    taken, own = reader.read([given, replace(given, word_vectors=None)])
    assert own.cosine == pytest.approx(1, abs=1e-5)
    assert taken.cosine < 0.5
    assert taken.span.words == own.span.words == tuple(PHRASE.lower().split())


def test_hits_in_the_same_words_are_read_once(
    encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    row = ClaimInputs.row

    def counted(self: ClaimInputs, claim: Claim) -> ClaimRow:
        read.append(claim.text)
        return row(self, claim)

    monkeypatch.setattr(ClaimInputs, "row", counted)
    verifier = BundledVerifier(encoder)
    first = verifier.check([CLAIMS[0], CLAIMS[0], CLAIMS[-1]])
    assert verifier.check([CLAIMS[0]]) == first[:1]
    assert read == [CLAIMS[0].text, CLAIMS[-1].text]


odds = st.floats(-20, 20)


@given(read=odds, near=odds, more=st.floats(0, 20))
def test_neither_the_network_nor_similarity_lowers_a_probability(
    read: float, near: float, more: float
) -> None:
    decision = read_decision()
    found = decision.together(read, near)
    assert decision.together(read + more, near) >= found - 1e-9
    assert decision.together(read, near + more) >= found - 1e-9


@given(read=odds, near=odds)
def test_a_small_difference_stays_small(read: float, near: float) -> None:
    decision = read_decision()
    found = decision.together(read, near)
    assert decision.together(read + 1e-3, near + 1e-3) == pytest.approx(found, abs=3e-3)


@given(near=odds, heard=st.floats(-9, 9), behind=st.floats(-9, 9))
def test_a_phrase_that_is_heard_and_a_contrast_are_judged_as_statements(
    near: float, heard: float, behind: float
) -> None:
    decision = read_decision()
    found = decision.together(heard + behind, near, heard)
    stated = decision.together(heard + behind, near)
    if heard >= HEARD or behind < CONTRAST - 1e-9:
        assert found == stated
    elif behind > ALIKE + 1e-9:
        network, words, constant = decision.named
        assert found == pytest.approx(network * behind + words * near + constant, abs=1e-6)


def test_between_four_numbers_is_their_mean() -> None:
    decision = Decision(
        "e", (0.0,), (0.0, 2.0), (0.0, 4.0), ((0.0, 1.0), (2.0, 5.0)), (0.0, 0.0, 0.0), (), ""
    )
    assert decision.together(1, 2) == 2
    assert decision.together(-9, -9) == 0
    assert decision.together(2, 4) == decision.together(9, 9) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"odds": [[0.0]]},
        {"odds": [[0.0], [0.0, 1.0]]},
        {"read": [1.0], "odds": [[0.0] * 6]},
        {"near": [0.0] * 6},
        {"similarity": [1.0]},
        {"near": "none"},
        {"more": 1},
    ],
)
def test_a_file_that_is_no_decision_is_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    path.write_bytes(orjson.dumps({**orjson.loads(DECISION.read_bytes()), **wrong}))
    with pytest.raises(ModelError):
        read_decision(path)


def test_weights_of_another_encoder_are_refused(
    encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(read_decision(), encoder_id="other")
    monkeypatch.setattr(bundled, "read_decision", lambda: other)
    with pytest.raises(ModelError, match="belongs to encoder other"):
        BundledVerifier(encoder)


def test_the_claims_of_who_has_few_are_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = CrossEncoderVerifier(NETWORK, threads=1)
    run, begun, go = verifier._run, Event(), Event()
    read: list[int] = []

    def slow(rows: Sequence[ClaimRow]) -> list[FloatArray]:
        begun.set()
        assert go.wait(60)
        read.append(len(rows[0].ids))
        return run(rows)

    monkeypatch.setattr(verifier, "_run", slow)
    many = verifier.begin([claim(f"please end my plan number {n}") for n in range(200)])
    assert begun.wait(60)
    few = verifier.begin([claim("the weather " * 20)])
    go.set()
    assert len(few()) == 1
    assert read.index(max(read)) == 1
    assert len(many()) == 200


def test_a_failure_is_told_before_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = CrossEncoderVerifier(NETWORK, threads=1)
    run, failed, go = verifier._run, Event(), Event()
    read: list[int] = []

    def failing(rows: Sequence[ClaimRow]) -> list[FloatArray]:
        if not failed.is_set():
            failed.set()
            raise ModelError("it cannot be read")
        go.wait(5)
        read.append(len(rows))
        return run(rows)

    monkeypatch.setattr(verifier, "_run", failing)
    verdicts = verifier.begin([claim(f"please end my plan number {n}") for n in range(200)])
    with pytest.raises(ModelError, match="it cannot be read"):
        verdicts()
    assert not read
    go.set()
