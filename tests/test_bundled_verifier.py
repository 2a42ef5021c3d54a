"""The bundled verifier: wording and network together."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

import pytest

from slice_os import Claim, SpanEncoder, Verdict
from slice_os.arrays import FloatArray
from slice_os.verifier.bundled import NETWORK, BundledVerifier, together
from slice_os.verifier.cross_encoder import ClaimInputs, ClaimRow, CrossEncoderVerifier

PHRASE = "I want to cancel my subscription"


def claim(text: str, prior: float = 0.5) -> Claim:
    return Claim(PHRASE, text, 0, len(text), prior)


CLAIMS = [
    claim("please end my plan"),
    claim("I would never cancel my subscription"),
    claim("I want to cancel my subscription", 0.01),
    claim("I want to cancel my subscription", 0.99),
    claim("please end my plan", 0.001),
    claim("the weather is nice", 0.001),
]


def test_no_verdict_depends_on_other_claims(encoder: SpanEncoder) -> None:
    verifier = BundledVerifier(encoder)
    assert verifier.check(CLAIMS) == [verifier.check([one])[0] for one in CLAIMS]
    assert verifier.check([]) == []


def test_says_what_says_the_phrase(encoder: SpanEncoder) -> None:
    same, denied, _, exact, *_, other = BundledVerifier(encoder).check(CLAIMS)
    assert exact.probability > same.probability > denied.probability
    assert other.probability < 0.05
    assert ("cancel", "end") in same.matches
    assert denied.reasons == ("negated here",)


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


@pytest.mark.parametrize(
    ("read", "said", "reasons"),
    [
        (Verdict(0.1), Verdict(0.3, ("denied",)), ("denied",)),
        (Verdict(0.9), Verdict(0.3, ("denied",)), ()),
        (Verdict(0.4), Verdict(0.99, ("denied",)), ()),
        (Verdict(0.9), Verdict(0.99), ()),
    ],
)
def test_reasons_need_both(read: Verdict, said: Verdict, reasons: tuple[str, ...]) -> None:
    assert together(read, said).reasons == reasons


def test_the_network_moves_the_probability() -> None:
    said = Verdict(0.6)
    found = [together(Verdict(read), said).probability for read in (0.001, 0.1, 0.5, 0.999)]
    assert found == sorted(found)
    assert found[0] < 0.1 < 0.5 < found[-1]


def test_the_wording_moves_it_too() -> None:
    read = Verdict(0.6)
    found = [together(read, Verdict(said)).probability for said in (0.001, 0.1, 0.5, 0.999)]
    assert found == sorted(found)
    assert found[0] < 0.1 < 0.5 < found[-1]


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
