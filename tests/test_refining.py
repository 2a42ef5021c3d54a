from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Claim, Corpus, Document, InputError, SpanEncoder, Verdict, scan
from slice_os.arrays import FloatArray
from slice_os.encoder.span_encoder import PieceRange
from slice_os.hits.bands import UNSURE_FROM
from slice_os.hits.hit import Context, Hit, Hits
from slice_os.search.run import make_query, search
from slice_os.verifier.bundled import SimilarityVerifier
from slice_os.verifier.claims import claim_in, claim_of

PHRASE = "I want to cancel my subscription"
TEXTS = [
    "Hello. I want to cancel my subscription today. Thanks!",
    "I would never cancel my subscription, it is great. Have a nice day.",
    "Please end my plan, I no longer need it.",
    "Cancel the subscription.",
    "The weather is nice in May. It was cold in April.",
    *(f"Number {n} wants to cancel order {n}, not a subscription." for n in range(80)),
]


class NeverVerifier:
    """Holds a hit for wrong if its sentence says never, and counts the claims that it gets."""

    def __init__(self) -> None:
        self.checked = 0

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        self.checked += len(claims)
        return [
            Verdict(0.01, ("negated here",))
            if "never" in claim.text
            else Verdict(0.5 + (claim.prior or 0) / 2)
            for claim in claims
        ]


class EagerVerifier(NeverVerifier):
    """Expects, by the cosine alone, what it then holds for wrong."""

    def estimate(self, claims: Sequence[Claim]) -> list[float]:
        return [claim.cosine or 0 for claim in claims]


@pytest.fixture(scope="module")
def store(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refining") / "store"
    with Corpus(folder, encoder) as corpus:
        corpus.add(Document(f"{n:02}", text) for n, text in enumerate(TEXTS))
    return folder


@pytest.fixture
def verifier() -> NeverVerifier:
    return NeverVerifier()


@pytest.fixture
def corpus(store: Path, encoder: SpanEncoder, verifier: NeverVerifier) -> Iterator[Corpus]:
    with Corpus(store, encoder, verifier=verifier) as corpus:
        yield corpus


class TestVerifying:
    def test_gives_probability_and_reasons(self, corpus: Corpus) -> None:
        hits = corpus.search(PHRASE, top_k=5, order="score")
        (negated,) = [hit for hit in hits if hit.doc_id == "01"]
        assert (negated.probability, negated.reasons) == (0.01, ("negated here",))
        assert negated.to_dict()["reasons"] == ["negated here"]

    def test_changes_nothing_else(self, corpus: Corpus) -> None:
        def places(verify: bool) -> list[tuple[str, int, int, float]]:
            hits = corpus.search(PHRASE, top_k=20, verify=verify, order="score")
            return [(hit.doc_id, hit.start, hit.end, hit.score) for hit in hits]

        assert places(True) == places(False)

    def test_is_left_out_on_request(self, corpus: Corpus, verifier: NeverVerifier) -> None:
        hits = corpus.search(PHRASE, verify=False)
        assert verifier.checked == 0
        assert all(hit.reasons == () and hit.probability is not None for hit in hits)

    @pytest.mark.parametrize(("order", "checked"), [("score", 3), (None, 50)])
    def test_checks_only_the_hits_that_it_needs(
        self, corpus: Corpus, verifier: NeverVerifier, order: str | None, checked: int
    ) -> None:
        corpus.search(PHRASE, top_k=3, order=order)
        assert verifier.checked == checked

    def test_applies_to_mining_and_scanning(
        self, corpus: Corpus, encoder: SpanEncoder, verifier: NeverVerifier
    ) -> None:
        mined = corpus.mine(PHRASE, threshold=0.5)
        documents = [Document(f"{n:02}", text) for n, text in enumerate(TEXTS)]
        scanned = scan(documents, PHRASE, threshold=0.5, encoder=encoder, verifier=verifier)
        found = {(hit.doc_id, hit.reasons) for hit in mined}
        assert found == {(hit.doc_id, hit.reasons) for hit in scanned}
        assert any(hit.reasons for hit in mined)


class TestMinProbability:
    @pytest.mark.parametrize("verify", [True, False])
    def test_cuts(self, corpus: Corpus, verify: bool) -> None:
        everything = corpus.search(PHRASE, top_k=50, verify=verify)
        cut = corpus.search(PHRASE, top_k=50, verify=verify, min_probability=0.4)
        assert cut == everything.rethreshold(min_probability=0.4)
        assert 0 < len(cut) < len(everything)

    def test_fills_the_page(self, corpus: Corpus) -> None:
        hits = corpus.search(PHRASE, top_k=4, min_probability=0.4)
        assert len(hits) == 4
        assert "01" not in {hit.doc_id for hit in hits}

    def test_of_hits_in_the_same_words_keeps_the_likely_ones(
        self, encoder: SpanEncoder, verifier: NeverVerifier, tmp_path: Path
    ) -> None:
        texts = [
            "Everybody but never John knows about the refund.",
            "Nobody really cares about the refund in that old shop.",
        ]
        with Corpus(tmp_path / "store", encoder, verifier=verifier) as corpus:
            corpus.add(Document(f"{n}", texts[n % 2]) for n in range(8))
            wanted: dict[str, Any] = {"collapse": True, "top_k": 8}
            (unlikely,) = corpus.search("the refund", order="score", **wanted)
            assert (unlikely.doc_id, unlikely.probability, unlikely.count) == ("0", 0.01, 8)
            for order in ("score", "probability", None):
                verifier.checked = 0
                cut: dict[str, Any] = {"min_probability": 0.4, "order": order, **wanted}
                (hit,) = corpus.search("the refund", **cut)
                assert (hit.doc_id, hit.count, verifier.checked) == ("1", 4, 2)
                assert not corpus.search("the refund", offset=1, **cut)

    def test_of_mining_looks_below_the_threshold_of_the_model(
        self, corpus: Corpus, encoder: SpanEncoder
    ) -> None:
        hits = corpus.mine(PHRASE, min_probability=0.5)
        assert min(hit.cosine for hit in hits) < encoder.card.threshold
        assert hits.threshold == 0.45
        assert [*corpus.iter_mine(PHRASE, min_probability=0.5)] == [*hits]

    @pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan"), "0.5", True])
    def test_is_a_number_from_0_to_1(self, corpus: Corpus, wrong: float) -> None:
        with pytest.raises(InputError, match="give a number from 0 to 1"):
            corpus.search(PHRASE, min_probability=wrong)

    def test_cannot_be_lowered_afterwards(self, corpus: Corpus) -> None:
        hits = corpus.mine(PHRASE, min_probability=0.6)
        with pytest.raises(ValueError, match=r"selected with min_probability 0\.6; search again"):
            hits.rethreshold(min_probability=0.5)
        stricter = hits.rethreshold(0.7, min_probability=0.7)
        assert (stricter.threshold, stricter.min_probability) == (0.7, 0.7)
        assert all(hit.cosine >= 0.7 and (hit.probability or 0) >= 0.7 for hit in stricter)


class TestOrder:
    def test_by_probability(self, corpus: Corpus) -> None:
        hits = corpus.search(PHRASE, top_k=50, order="probability")
        values = [hit.probability or 0 for hit in hits]
        assert values == sorted(values, reverse=True)
        assert hits == corpus.search(PHRASE, top_k=50)
        by_score = corpus.search(PHRASE, top_k=50, order="score")
        assert {hit.doc_id for hit in hits} == {hit.doc_id for hit in by_score}

    def test_repetitions_leave_room_for_others(self, encoder: SpanEncoder, tmp_path: Path) -> None:
        verifier = EagerVerifier()
        with Corpus(tmp_path / "store", encoder, verifier=verifier) as corpus:
            corpus.add(Document(f"{n}", f"{PHRASE}, never.") for n in range(12))
            corpus.add([Document("right", "Please end my plan, I no longer need it.")])
            assert corpus.search(PHRASE, top_k=1)[0].doc_id == "right"
            assert corpus.search(PHRASE, top_k=1, offset=1)[0].doc_id == "0"

    @pytest.mark.parametrize("least", [None, 0.3])
    @pytest.mark.parametrize("order", ["score", "probability"])
    def test_pages_make_one_list(self, corpus: Corpus, order: str, least: float | None) -> None:
        def page(offset: int, top_k: int) -> list[Hit]:
            hits = corpus.search(
                PHRASE, top_k=top_k, offset=offset, order=order, min_probability=least
            )
            return [*hits]

        whole = page(0, 50 if least else 80)
        assert [hit for offset in range(0, 80, 20) for hit in page(offset, 20)] == whole

    @pytest.mark.parametrize("given", [{"order": "probability"}, {"min_probability": 0.3}])
    def test_candidates_are_those_of_an_index(self, corpus: Corpus, given: dict[str, Any]) -> None:
        few = [
            hit
            for offset in range(0, 20, 5)
            for hit in corpus.search(PHRASE, top_k=5, offset=offset, num_candidates=3, **given)
        ]
        assert few == [*corpus.search(PHRASE, top_k=20, **given)]

    def test_of_mining(self, corpus: Corpus) -> None:
        hits = corpus.mine(PHRASE, threshold=0.4, order="probability")
        values = [hit.probability or 0 for hit in hits]
        assert values == sorted(values, reverse=True)

    def test_is_known(self, corpus: Corpus) -> None:
        with pytest.raises(InputError, match="no order 'best'; there are score, probability"):
            corpus.search(PHRASE, order="best")


WORDS = st.sampled_from(["I", "left.", "Never!", "Mr.", "ok?", "cancel", "it\n", "now. "])


@pytest.mark.parametrize("unit", ["span", "clause", "sentence", "turn"])
def test_a_claim_is_about_the_span_whatever_is_shown(corpus: Corpus, unit: str) -> None:
    for hit in corpus.search(PHRASE, top_k=5, unit=unit, verify=False):
        text = corpus.text(hit.doc_id)
        span = hit.span or hit
        claim = claim_of(hit)
        assert claim.text[claim.start : claim.end] == text[span.start : span.end]
        assert claim.text in text


@pytest.mark.parametrize(
    ("text", "said", "before"),
    [
        ("Do you want to cancel? Yes.", "Yes", "Do you want to cancel?"),
        ("Hello.\nyou want to cancel\nyes please", "yes", "you want to cancel"),
        ("I want to cancel. Now.", "Now", ""),
        ("Do you want to cancel? No, I only want to pay less.", "No", ""),
        ("Yes.", "Yes", ""),
    ],
)
def test_a_claim_has_what_its_words_answer(text: str, said: str, before: str) -> None:
    start = text.index(said)
    assert claim_in(PHRASE, text, start, start + len(said)).before == before


@given(st.lists(WORDS, min_size=1, max_size=30), st.data())
def test_a_claim_has_the_words_of_the_hit_in_whole_sentences(
    words: list[str], data: st.DataObject
) -> None:
    text = " ".join(words)
    inner = [n for n, character in enumerate(text) if not character.isspace()]
    start = data.draw(st.sampled_from(inner))
    end = data.draw(st.sampled_from([n + 1 for n in inner if n >= start]))
    shift = data.draw(st.integers(0, 100))
    hit = Hit(
        "phrase", "doc", shift + start, shift + end, text[start:end], 0.5, None, 0.5, {},
        Context(shift, shift + len(text), text), 0.25,
    )  # fmt: skip
    claim = claim_of(hit)
    assert claim.text[claim.start : claim.end] == hit.text
    assert claim.text in text
    assert claim.prior == 0.25


class TestBundledVerifier:
    def test_reads_what_the_cosine_cannot(self, store: Path, encoder: SpanEncoder) -> None:
        with Corpus(store, encoder) as corpus:
            hits = {hit.doc_id: hit for hit in corpus.search(PHRASE, top_k=50, verify=True)}
        assert (hits["01"].probability or 0) < (hits["00"].probability or 0)
        assert "never" in hits["01"].reasons[0]

    def test_reads_by_default(self, store: Path, encoder: SpanEncoder) -> None:
        with Corpus(store, encoder) as corpus:
            verified = corpus.search(PHRASE, top_k=10)
            assert corpus.search(PHRASE, top_k=10, verify=True) == verified
            assert corpus.search(PHRASE, top_k=10, verify=False) != verified
            ordered = corpus.search(PHRASE, top_k=50, order="probability")
            assert {hit.probability for hit in verified} <= {hit.probability for hit in ordered}
            counted = [hit for hit in ordered if (hit.probability or 0) >= UNSURE_FROM]
            assert list(verified)[: len(counted)] == counted

    def test_reads_the_vectors_of_the_store(
        self, store: Path, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Corpus(store, encoder) as corpus:
            unread = corpus.search(PHRASE, top_k=10, verify=False)
            corpus.search(PHRASE, top_k=1)
            calls: list[list[PieceRange]] = []
            encode = encoder.encode_ranges

            def counted(ranges: Iterable[PieceRange]) -> Iterator[FloatArray]:
                calls.append([*ranges])
                return encode(calls[-1])

            monkeypatch.setattr(encoder, "encode_ranges", counted)
            hits = corpus.search(PHRASE, top_k=10)
            assert len(calls) == 1  # the phrase, to search with
            assert {type(hit) for hit in hits} == {Hit}
        anew = SimilarityVerifier(encoder).check([claim_of(hit) for hit in unread])
        stored = SimilarityVerifier(encoder).check(
            [replace(claim_of(hit), cosine=None) for hit in with_vectors(store, encoder)]
        )
        given = [one.probability for one in stored]
        assert given == pytest.approx([one.probability for one in anew], abs=0.05)


def with_vectors(store: Path, encoder: SpanEncoder) -> Hits:
    query = make_query(encoder, PHRASE, word_vectors=True)
    with Corpus(store, encoder) as corpus:
        return search(corpus.store, query)
