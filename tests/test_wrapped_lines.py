"""Sentences over several lines or pages are read as one; offsets are those of the text."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slice_os import Corpus, Document, SpanEncoder
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.reading import read_stream
from slice_os.search.scan import scan
from slice_os.text.documents import Segment
from slice_os.text.passage_layout import reading_of
from slice_os.text.wrapped_lines import unwrapped
from slice_os.verifier.claims import Claim, Verdict

from .many_formats import pdf
from .strategies import hard_texts

PROSE = (
    "Neither party is liable to the other for long-term damages. If the Supplier delivers late in "
    "Germany, the Buyer may withdraw from this Agreement, and the Corporation then has to repay "
    "what Acme Inc. paid before the day of delivery, without any deduction."
)


def reading(text: str, *segments: Segment) -> str:
    return unwrapped(Document("d", text, segments=segments)).text


@pytest.mark.parametrize("width", [50, 66, 90])
@pytest.mark.parametrize("prefix", ["", "> ", "    "])
def test_wrapped_prose_is_one_line(width: int, prefix: str) -> None:
    wrapped = textwrap.fill(PROSE, width, initial_indent=prefix, subsequent_indent=prefix)
    text = f"Dear Ann,\n\n{wrapped}\n\nBest,\nBo Ek\nAcme Ltd."
    expected = f"Dear Ann,\n\n{prefix}{PROSE}\n\nBest,\nBo Ek\nAcme Ltd."
    read = reading(text)
    assert re.sub(r" +", " ", read) == re.sub(r" +", " ", expected)


@pytest.mark.parametrize(
    "text",
    ["This agreement belongs to the\nBuyer of the goods.", "I want to\ncancel my subscription"],
)
def test_a_line_that_ends_with_the_goes_on(text: str) -> None:
    assert reading(text) == text.replace("\n", " ")


def test_capitals_go_on() -> None:
    clause = (
        "NEITHER PARTY SHALL BE LIABLE TO THE OTHER FOR ANY\nINDIRECT, SPECIAL, OR OTHER DAMAGES"
    )
    assert reading(clause) == clause.replace("\n", " ")


@pytest.mark.parametrize(
    "text",
    [
        # A poem, a list, items, a table, turns, an address, headings.
        "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\n"
        "Rough winds do shake the darling buds of May,\nAnd summer's lease hath all short a date",
        "Apples from the north of Spain for the kitchen\nPears from the south of Italy for a bar\n"
        "Grapes from the hills of France for the cellar",
        "The Supplier shall at its own expense and in good time\n(a) deliver the goods; and\n"
        "(b) send the bill.",
        "Goods of the first quarter    12,000    13,000    25,000\n"
        "goods of the second quarter   11,000    14,000    25,000",
        "Customer said that he wants to leave the company today\n"
        "Agent told him that this is not possible before May\n"
        "He then asked for the manager who was on leave then",
        "Acme Corporation of Great Britain and Ireland Limited\n12 Main Street\nLondon",
        "1. Term\nThis Agreement begins today.\n2. Termination\nEither party may end it.",
    ],
)
def test_other_lines_stay_apart(text: str) -> None:
    assert reading(text) == text


def test_a_turn_does_not_go_on_in_the_next() -> None:
    first = "I have waited for the delivery of my parcel since the"
    text = f"{first}\nweek before last"
    turns = Segment(0, len(first), "Ann"), Segment(len(first) + 1, len(text), "Bo")
    assert reading(text, *turns) == text


def test_broken_words_are_one() -> None:
    text = (
        "The goods belong to the Cor-\nporation. A long-term plan of the Corporation was a long-\n"
        "term plan of Anglo-\nAmerican banks, and of the Nether\xad\nlands."
    )
    assert reading(text) == (
        "The goods belong to the Corporation. A long-term plan of the Corporation was a long-term "
        "plan of Anglo-\nAmerican banks, and of the Netherlands."
    )


class Listener:
    """A verifier that believes everything, and keeps what it was asked."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        self.claims += claims
        return [Verdict(0.9) for _ in claims]


def pages(*bodies: str) -> Document:
    """A PDF file with a header and a footer on each page, read."""
    texts = (
        f"Contract of Acme\n{body}\nPage {number} of {len(bodies)}"
        for number, body in enumerate(bodies, 1)
    )
    shown = (") Tj 0 -14 Td (".join(text.split("\n")) for text in texts)
    (found,) = read_stream("d", "pdf", io.BytesIO(pdf(*shown)), ReadOptions())
    assert isinstance(found, Document)
    return found


PAGES = (
    "The term of this plan is one year.\nEither party may cancel the sub-",
    "scription of the other at any time without giving a reason, and with",
    "immediate effect. Notices are in writing.",
)


def test_a_sentence_goes_on_over_pages(tmp_path: Path, encoder: SpanEncoder) -> None:
    pytest.importorskip("pypdfium2")
    document = pages(*PAGES)
    sentence = (
        "Either party may cancel the subscription of the other at any time without giving a reason,"
        " and with immediate effect."
    )
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add([document])
        listener = Listener()
        phrase = "either party can cancel the subscription"
        (hit,) = corpus.search(phrase, threshold=0.6, verifier=listener)
        assert hit.text == document.text[hit.start : hit.end]
        assert hit.metadata["page"] == 1
        assert hit.sentence is not None
        whole = document.text[hit.sentence.start : hit.sentence.end]
        assert whole.startswith("Either party may cancel the sub-\nPage 1 of 3\nContract of Acme")
        assert whole.endswith("immediate effect.")
        (claim,) = listener.claims
        assert claim.text == sentence
        assert "cancel the subscription" in claim.text[claim.start : claim.end]
        # What stands at the edges of pages where no sentence goes on is read as it is.
        assert corpus.search("contract of acme", threshold=0.6)


def test_a_hit_says_the_same_however_it_is_wrapped(encoder: SpanEncoder) -> None:
    documents = [Document("a", PROSE), Document("b", textwrap.fill(PROSE, 40))]
    phrase = "the buyer can end the contract"
    listener = Listener()
    hits = list(scan(documents, phrase, encoder=encoder, threshold=0.5, verifier=listener))
    first, second = listener.claims
    assert first == second
    assert first.text.startswith("If the Supplier")
    assert [" ".join(hit.text.split()) for hit in hits] == [hits[0].text] * 2
    assert hits[0].cosine == pytest.approx(hits[1].cosine, abs=1e-6)


@given(hard_texts(40), st.sets(st.integers(0, 60), max_size=12))
@settings(max_examples=200)
def test_offsets_lead_there_and_back(text: str, places: set[int]) -> None:
    edges = sorted(place for place in places if place <= len(text))
    cuts = edges[: len(edges) // 2 * 2]
    read = reading_of(text, cuts, [])
    every = np.arange(len(read.text))
    outer = read.outer(every)
    assert [text[at] for at in outer] == list(read.text)
    assert (read.inner(outer) == every).all()
    assert (read.outer(every + 1, ends=True) == outer + 1).all()
    assert (np.diff(read.inner(np.arange(len(text) + 1))) >= 0).all()


PIECES = st.sampled_from(["#", "7", "9" * 5_000, "a", "-\n", "\n", "\f", " ", "> "])


@given(hard_texts(60) | st.lists(PIECES).map("".join))
@example("> \n> ")
def test_any_text_is_read(text: str) -> None:
    read = unwrapped(Document("d", text))
    kept = reading_of(text, read.cuts, []).text
    assert re.sub(r"\s", " ", kept) == re.sub(r"\s", " ", read.text)
    assert len(read.cuts) % 2 == 0
