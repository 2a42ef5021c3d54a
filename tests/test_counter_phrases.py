"""Counter-phrases: hits whose words say one of them better are left out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slice_os import Corpus, Document, Hit, InputError, SpanEncoder, scan

from .builders import places, said_again
from .command_line import Run

CANCEL, RETURN, KEEP = "cancel my order", "send the item back", "keep my order"
SENTENCES = [
    "Please cancel my order.",
    "I want to keep my order.",
    "Do not cancel the order, I keep it.",
    "I would like to send the item back.",
    "The weather is nice today.",
    "Can you cancel what I ordered yesterday?",
    "I am going to return the item.",
]
# What int8 vectors of a store are off by.
TOLERANCE = 0.02


@pytest.fixture(scope="module")
def corpus(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("counters") / "store", encoder)
    corpus.add(said_again(SENTENCES, 7))
    return corpus


def margin(
    hit: Hit, encoder: SpanEncoder, phrases: Sequence[str], counters: Sequence[str]
) -> float:
    """How much nearer the span of a hit is to the phrases than to the counter-phrases."""
    start, span = hit.passage.start, hit.span or hit
    words = encoder.encode_spans(hit.passage.text, [(span.start - start, span.end - start)])
    near, far = (encoder.encode_phrases(texts) @ words[0] for texts in (phrases, counters))
    return float(near.max() - far.max())


wordings = st.sampled_from([CANCEL, RETURN, KEEP, "stop the delivery", "nice weather"])


@pytest.mark.slow
@settings(max_examples=10)
@given(
    phrases=st.lists(wordings, min_size=1, max_size=2, unique=True),
    counters=st.lists(wordings, min_size=1, max_size=2, unique=True),
    threshold=st.sampled_from([0.4, 0.5, 0.6]),
)
def test_mining_leaves_out_what_is_nearer_to_a_counter_phrase(
    corpus: Corpus, phrases: list[str], counters: list[str], threshold: float
) -> None:
    everything = corpus.mine(phrases, threshold=threshold, verify=False)
    left = corpus.mine(phrases, counter_phrases=counters, threshold=threshold, verify=False)
    margins = [margin(hit, corpus.encoder, phrases, counters) for hit in everything]
    sure = {
        place
        for place, difference in zip(places(everything), margins, strict=True)
        if difference > TOLERANCE
    }
    possible = {
        place
        for place, difference in zip(places(everything), margins, strict=True)
        if difference > -TOLERANCE
    }
    assert sure <= set(places(left)) <= possible


def test_a_page_is_full_of_hits_that_count(corpus: Corpus) -> None:
    counters = [KEEP, "my order"]
    plain = corpus.search(CANCEL, top_k=40, verify=False)
    margins = [margin(hit, corpus.encoder, [CANCEL], counters) for hit in plain]
    right = [hit for hit, near in zip(plain, margins, strict=True) if near > TOLERANCE]
    assert 8 <= len(right) < len(plain)
    assert min(margins) < -TOLERANCE
    left = corpus.search(CANCEL, counter_phrases=counters, top_k=8, verify=False)
    assert len(left) == 8
    assert min(margin(hit, corpus.encoder, [CANCEL], counters) for hit in left) > -TOLERANCE
    pages = [
        corpus.search(CANCEL, counter_phrases=counters, top_k=4, offset=offset, verify=False)
        for offset in (0, 4)
    ]
    assert places([*pages[0], *pages[1]]) == places(left)


def test_more_hits_than_there_are_end(corpus: Corpus) -> None:
    hits = corpus.search(CANCEL, counter_phrases=[CANCEL + " now", KEEP], top_k=500, verify=False)
    assert len(hits) < corpus.info().passages


def test_a_phrase_is_at_least_as_near_as_itself(corpus: Corpus) -> None:
    plain = corpus.mine(CANCEL, threshold=0.5, verify=False)
    same = corpus.mine(CANCEL, counter_phrases=[CANCEL], threshold=0.5, verify=False)
    assert places(same) == places(plain) != []


def test_a_scan_knows_counter_phrases(encoder: SpanEncoder) -> None:
    documents = [Document("a", SENTENCES[0]), Document("b", SENTENCES[1])]
    hits = scan(documents, CANCEL, encoder=encoder, threshold=0.5, verify=False)
    assert {hit.doc_id for hit in hits} == {"a", "b"}
    hits = scan(
        documents, CANCEL, counter_phrases=[KEEP], encoder=encoder, threshold=0.5, verify=False
    )
    assert {hit.doc_id for hit in hits} == {"a"}


def test_a_counter_phrase_needs_a_word(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="no word"):
        corpus.search(CANCEL, counter_phrases=["..."])


def test_the_command_line_has_them(corpus: Corpus, command_line: Run) -> None:
    store = ("--store", corpus.info().location)

    def found(*arguments: str) -> int:
        done = command_line(*arguments, *store, "--threshold", "0.5", "--no-verify", "--json")
        assert done.status == 0
        return len(done.rows())

    for command in (["search", CANCEL, "-k", "40"], ["mine", "-p", CANCEL]):
        assert 0 < found(*command, "--not", KEEP, "--not", "my order") < found(*command)
    told = command_line("mine", "--topics", "examples/topics", "--not", KEEP, *store)
    assert told.status == 2
