"""Hits: within a turn, at the borders of clauses, as wide as requested, and collapsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slice_os import Corpus, Document, SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.collapse import collapse
from slice_os.hits.hit import Hit
from slice_os.search.scan import scan
from slice_os.spans.choice import (
    BORDER_MARGIN,
    BORDER_WEIGHT,
    GOOD_BORDER,
    SENTENCE_MARGIN,
    Borders,
    select_spans,
)
from slice_os.text.clause_borders import LEAST, MARKED, border_scores, full_stops
from slice_os.text.clause_words import meaning_of
from slice_os.text.clauses import Sentence
from slice_os.text.documents import Extent, Segment, edges_within, own_extent
from slice_os.text.passage_layout import LAYOUT, layout_of, turn_edges
from slice_os.text.words import find_words
from slice_os.verifier.claims import claim_of

TURNS = [
    "hello, I need some help",
    "I want to cancel",
    "my plan today. Please send",
    "it to me because I moved",
    "thanks. Bye!",
    "no I would never cancel my plan",
]
PHRASE = "cancel my plan"


def conversation(turns: list[str], doc_id: str = "call", speaker: str | None = "Ann") -> Document:
    """A document with a segment for each turn, all of one speaker."""
    segments, position = [], 0
    for turn in turns:
        segments.append(Segment(position, position + len(turn), speaker))
        position += len(turn) + 1
    return Document(doc_id, "\n".join(turns), segments=tuple(segments))


def check(hit: Hit, document: Document) -> None:
    """Text, offsets and extents of a hit agree with its document."""
    assert hit.text == document.text[hit.start : hit.end]
    start, end = (hit.start, hit.end) if hit.span is None else (hit.span.start, hit.span.end)
    assert hit.start <= start < end <= hit.end
    assert hit.turn in [Extent(one.start, one.end) for one in document.segments]
    assert hit.sentence is not None
    assert hit.turn is not None
    assert hit.turn.start <= hit.sentence.start <= start
    assert end <= hit.sentence.end <= hit.turn.end
    assert hit.clause is not None
    assert hit.clause.start <= start
    assert end <= hit.clause.end
    assert LAYOUT not in hit.metadata


@settings(max_examples=15)
@given(
    turns=st.lists(st.sampled_from(TURNS), min_size=1, max_size=6),
    threshold=st.sampled_from([-1.0, 0.0, 0.4]),
    unit=st.sampled_from(["span", "clause", "sentence", "turn"]),
)
def test_no_hit_crosses_a_turn(
    encoder: SpanEncoder, turns: list[str], threshold: float, unit: str
) -> None:
    document = conversation(turns)
    hits = list(scan([document], PHRASE, threshold=threshold, encoder=encoder, unit=unit))
    for hit in hits:
        check(hit, document)
    ends = [hit.end for hit in hits]
    assert all(end <= hit.start for end, hit in zip(ends, hits[1:], strict=False))


@pytest.fixture(scope="module")
def calls(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    documents = [
        conversation(TURNS),
        Document("letter", "I moved. I want to cancel my plan because it is slow, thank you. Bye."),
        Document("copy", "Cancel my plan! I write again."),
        Document("other", "cancel my plan"),
    ]
    with Corpus(tmp_path_factory.mktemp("calls") / "s", encoder) as corpus:
        corpus.add(documents)
        yield corpus


def test_a_store_knows_turns_and_sentences(calls: Corpus) -> None:
    found = {hit.doc_id: hit for hit in calls.search(PHRASE)}
    check(found["call"], conversation(TURNS))
    text = calls.store.document_text("letter")
    assert text is not None
    letter = found["letter"]
    assert letter.turn is None
    assert letter.sentence is not None
    sentence = text[letter.sentence.start : letter.sentence.end]
    assert sentence == "I want to cancel my plan because it is slow, thank you."
    for hit in calls.mine(PHRASE, threshold=-1):
        if hit.doc_id == "call":
            check(hit, conversation(TURNS))


def test_a_claim_is_about_the_words_of_its_hit(encoder: SpanEncoder) -> None:
    """Also in a sentence of several passages, of which a hit has one."""
    parts = [f"party number {number} may end item {number} of the contract" for number in range(80)]
    document = Document("1", "; and ".join(parts) + ".")
    hits = list(scan([document], "end an item", encoder=encoder, threshold=0.3))
    assert len({hit.passage.start for hit in hits}) > 1
    for hit in hits:
        claim = claim_of(hit)
        span, start = hit.span or hit, hit.passage.start
        words = hit.passage.text[span.start - start : span.end - start]
        assert claim.text[claim.start : claim.end] == words


@pytest.mark.parametrize(
    ("unit", "wide"),
    [
        ("clause", "because it is slow"),
        ("sentence", "I want to cancel my plan because it is slow, thank you."),
        ("turn", "I want to cancel my plan because it is slow, thank you."),
    ],
)
def test_hits_are_as_wide_as_requested(calls: Corpus, unit: str, wide: str) -> None:
    (hit,) = (h for h in calls.search("it is slow", unit=unit) if h.doc_id == "letter")
    assert wide in hit.text
    span = hit.span or hit
    text = calls.store.document_text("letter")
    assert text is not None
    assert "slow" in text[span.start : span.end]
    if hit.span is not None:
        assert hit.to_dict()["span"] == {"start": span.start, "end": span.end}
    whole = next(h for h in calls.search("it is slow") if h.doc_id == "letter")
    assert whole.widened(unit) == hit
    assert whole.text == "because it is slow"
    own = whole.span or whole
    assert (own.start, own.end, whole.cosine) == (span.start, span.end, hit.cosine)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        (
            "neither party may assign this agreement without consent",
            "Assignment. [Neither this Agreement nor any right hereunder may be transferred by "
            "either Party, in whole or in part, without the prior written consent of the other], "
            "and any such transfer shall be void.",
        ),
        (
            "neither party is liable for indirect damages",
            "[Except for fees, in no event shall either party be liable for special, incidental or "
            "indirect damages, lost profits or business interruption], or (2) for loss of data.",
        ),
        (
            "no waiver is valid unless in writing",
            "[No waiver of any term shall be effective unless in writing signed by both Parties], "
            "and the Parties may not agree otherwise.",
        ),
        ("I want to book a flight", "hello, [i need to book a flight to delhi], thanks a lot"),
        ("book a table", "[Which restaurant do you want to book a table at]?"),
        ("can I change my seat", "where is my seat [can i change it]"),
        ("I don't want insurance", "ok but [i do not want any insurance for my car], thanks"),
        ("confidential information", "It will keep the [confidential information] in its safe."),
        ("five years after signing", "The term lasts five [(5) years after the date of signing]."),
        (
            "d this section survives termination",
            "It ends. [(d) This Section shall survive any termination].",
        ),
        ("a trial of six months", "[The parties agree on a trial (six months)], to be extended."),
    ],
)
def test_hits_are_whole_clauses(encoder: SpanEncoder, phrase: str, text: str) -> None:
    plain = text.replace("[", "").replace("]", "")
    start = text.index("[")
    (hit, *_) = scan([Document("1", plain)], phrase, encoder=encoder, threshold=0.4, order="score")
    assert plain[start : text.index("]") - 1] == hit.text
    span = hit.span or hit
    assert hit.start <= span.start < span.end <= hit.end


ANY_WORDS = "and or if unless that which shall is i please party may not the of (a) 5.1 Fees so to"


@given(
    words=st.lists(st.sampled_from(ANY_WORDS.split()), min_size=1, max_size=20),
    gaps=st.lists(st.sampled_from([" ", ", ", "; ", " (", ") ", ". "]), min_size=21, max_size=21),
    place=st.tuples(st.integers(0, 19), st.integers(0, 19)),
    phrase=st.sampled_from(["if it is not so", "we pay", "fees"]),
)
def test_a_clause_is_around_its_words(
    words: list[str], gaps: list[str], place: tuple[int, int], phrase: str
) -> None:
    count = len(words)
    sentence = Sentence(words, gaps[: count + 1], [0.0] * (count + 1), [0] * count)
    first, last = sorted(at % count for at in place)
    begin, end = sentence.clause(first, last + 1, meaning_of(phrase))
    assert 0 <= begin <= first
    assert last < end <= count


def test_a_turn_is_a_hit_once(calls: Corpus) -> None:
    hits = calls.mine(PHRASE, threshold=-0.5, unit="turn")
    turns = [(hit.doc_id, hit.turn) for hit in hits if hit.doc_id == "call"]
    assert len(turns) == len(set(turns))


def test_units_are_named(calls: Corpus) -> None:
    with pytest.raises(InputError, match="no unit 'word'; there are span, clause, sentence, turn"):
        calls.search(PHRASE, unit="word")


def test_hits_in_the_same_words_are_one(calls: Corpus) -> None:
    hits = calls.search(PHRASE, collapse=True)
    (first,) = (hit for hit in hits if hit.text.casefold() == PHRASE)
    assert first.count > 1
    assert first.to_dict()["count"] == first.count
    alone = calls.search(PHRASE)
    assert sum(hit.count for hit in hits) == len(alone)
    assert {hit.text.casefold() for hit in hits} == {hit.text.casefold() for hit in alone}
    by_score = calls.search(PHRASE, order="score", collapse=True)
    assert list(by_score) == collapse(calls.search(PHRASE, order="score"))
    mined = calls.mine(PHRASE, threshold=0.5)
    assert sum(hit.count for hit in calls.mine(PHRASE, threshold=0.5, collapse=True)) == len(mined)
    pages = [calls.search(PHRASE, collapse=True, top_k=1, offset=n)[0] for n in range(len(hits))]
    assert [hit.text for hit in pages] == [hit.text for hit in hits]


def test_topics_with_a_phrase_in_common_keep_their_hits(calls: Corpus) -> None:
    hit = calls.search(PHRASE, top_k=1)[0]
    some = [replace(hit, topic=topic) for topic in ("one", "two", "one")]
    assert [(found.topic, found.count) for found in collapse(some)] == [("one", 2), ("two", 1)]


def test_a_store_without_places_finds_sentences_itself(
    encoder: SpanEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_before(*_: object) -> dict[str, str]:
        return {"speaker": "Ann"}

    monkeypatch.setattr("slice_os.ingest.passages.layout_fields", of_before)
    with Corpus(tmp_path / "s", encoder) as corpus:
        corpus.add([Document("letter", "I moved. Please cancel my plan. Bye.")])
        (hit,) = corpus.search(PHRASE)
    assert hit.sentence == Extent(9, 31)
    assert hit.turn is None


edges = (
    st.lists(st.integers(0, 30), max_size=8, unique=True)
    .map(sorted)
    .map(lambda found: found[: len(found) // 2 * 2])
)


@given(edges=edges, start=st.integers(0, 30), length=st.integers(1, 10))
def test_extents_are_what_words_touch(edges: list[int], start: int, length: int) -> None:
    pairs = list(zip(edges[::2], edges[1::2], strict=True))
    touched = [(a, b) for a, b in pairs if a < start + length and start < b]
    within = edges_within(edges, start, start + length)
    assert list(within) == [edge for pair in touched for edge in pair]
    whole = Extent(touched[0][0], touched[-1][1]) if touched else None
    assert own_extent(edges, start, start + length) == whole


@pytest.mark.parametrize("packed", ["", "7", "[]", "[[0]]", '{"turns": "x"}', '{"segments": [[]]}'])
def test_places_that_cannot_be_read_are_none(packed: str) -> None:
    found = layout_of({LAYOUT: packed}, 3)
    assert not found.turns
    assert not found.segments


def test_cues_of_a_recording_are_parts_of_a_turn() -> None:
    said = [("Ann", "I want to"), ("Ann", "cancel."), ("Bob", "Why?")]
    said += [(None, "so we"), (None, "go."), (None, "Well.")]
    text = " ".join(words for _, words in said)
    segments, position = [], 0
    for number, (speaker, words) in enumerate(said):
        segments.append(Segment(position, position + len(words), speaker, number, number + 1))
        position += len(words) + 1
    turns = turn_edges(Document("call", text, segments=tuple(segments)))
    found = [text[start:end] for start, end in zip(turns[::2], turns[1::2], strict=True)]
    assert found == ["I want to cancel.", "Why?", "so we go.", "Well."]
    page = Segment(0, 4, fields={"page": 1})
    assert turn_edges(Document("scan", "text", segments=(page,))) == []


def test_function_words_end_nothing() -> None:
    text = "I want to cancel my plan because it, and"
    scores = border_scores().borders(text, find_words(text)).tolist()
    names = text.replace(",", "").split()
    before = dict(zip(names, scores, strict=False))
    assert before["cancel"] < 0 < before["because"] < MARKED == before["and"]
    assert scores[0] == scores[-1] == MARKED
    assert min(scores) >= LEAST


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("written notice. Furthermore, it", [16]),
        ("ALL DAMAGES. NEITHER party", [13]),
        ("see No. Five of Mr. Lee v. Us", []),
        ('(he said "enough.") Then no', [20]),
        ("", []),
    ],
)
def test_full_stops_in_brackets(text: str, stops: list[int]) -> None:
    assert full_stops(text) == stops


@st.composite
def passages(draw: st.DrawFn) -> tuple[np.ndarray, Borders]:
    words, most = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cosines = seed.uniform(-1, 1, (words, most)).astype(np.float32)
    cosines[np.arange(words)[:, None] + np.arange(most) >= words] = -np.inf
    scores = seed.uniform(LEAST, MARKED, words + 1).astype(np.float32)
    return cosines, Borders(scores, np.sort(seed.integers(0, 4, words)))


@given(passage=passages(), threshold=st.floats(-1, 1))
def test_every_span_is_a_hit_or_overlaps_one(
    passage: tuple[np.ndarray, Borders], threshold: float
) -> None:
    cosines, borders = passage
    chosen = list(select_spans(cosines, threshold, borders=borders))
    taken = np.zeros(len(cosines) + 1, dtype=int)
    for span in chosen:
        assert span.cosine >= threshold
        assert cosines[span.word, span.words - 1] == np.float32(span.cosine)
        taken[span.word : span.word + span.words] += 1
    assert taken.max(initial=0) <= 1
    for word, extra in np.argwhere(cosines >= threshold):
        assert taken[word : word + extra + 1].any()
    if chosen:
        least = cosines.max() - SENTENCE_MARGIN - BORDER_MARGIN
        assert chosen[0].cosine >= least - 1e-6
        assert chosen[0].behind == 0
    for span in chosen[1:]:
        assert span.cosine == pytest.approx(cosines.max() - span.behind, abs=1e-6)


@given(passage=passages(), threshold=st.floats(-1, 1))
def test_the_spans_at_the_best_borders_are_chosen(
    passage: tuple[np.ndarray, Borders], threshold: float
) -> None:
    cosines, borders = passage
    left = [
        (int(word), int(word + extra) + 1, cosines[word, extra])
        for word, extra in np.argwhere(cosines >= threshold)
    ]
    for span in select_spans(cosines, threshold, borders=borders):
        left.sort(key=lambda one: (-one[2], one[0], one[1]))
        first, end, best = left[0]
        near = [one for one in left if one[0] < end and one[1] > first]
        whole = [one for one in near if len(set(borders.sentence[one[0] : one[1]])) == 1]
        if whole and whole[0][2] >= best - SENTENCE_MARGIN:
            near = whole

        def at_borders(one: tuple[int, int, float]) -> float:
            ends = np.minimum(borders.scores[[one[0], one[1]]], GOOD_BORDER)
            return float(one[2] + BORDER_WEIGHT * ends.sum())

        good = [one for one in near if one[2] >= near[0][2] - BORDER_MARGIN]
        word, stop, _ = max(good, key=at_borders)
        assert (span.word, span.word + span.words) == (word, stop)
        left = [one for one in left if one[1] <= word or one[0] >= stop]
    assert not left


def test_a_sentence_is_crossed_only_if_nothing_within_comes_near() -> None:
    cosines = np.array([[0.3, 0.6], [0.3, -np.inf]], dtype=np.float32)
    two = Borders(np.ones(3, dtype=np.float32), np.array([0, 1]))
    assert next(select_spans(cosines, borders=two)).words == 2
    cosines[0, 0] = 0.55
    assert next(select_spans(cosines, borders=two)).words == 1
    assert next(select_spans(cosines, 0.58, borders=two)).words == 2
