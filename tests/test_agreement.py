"""How far readers agree, and what they disagree on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.estimates import agreement as module
from slice_os.estimates.agreement import Agreement, agreement, disputes, read_hits
from slice_os.labels.label import Label, LabelEntry

TEXT = "😀 Please cancel my whole plan now, and end my other plan."
RUNS = 1_000


def said(reader: str, right: bool, start: int, end: int, settled: bool = False) -> Label:
    return Label("cancel", TEXT[start:end], right, "1", start, end, reader=reader, settled=settled)


def numbered(*labels: Label) -> list[LabelEntry]:
    return [LabelEntry(number, label) for number, label in enumerate(labels, 1)]


def of_pairs(pairs: list[tuple[bool, bool]]) -> list[LabelEntry]:
    """Answers of two readers about as many hits."""
    return numbered(
        *(
            Label("cancel", "end", right, str(number), 0, 3, reader=reader)
            for number, pair in enumerate(pairs)
            for reader, right in zip(("ann", "bob"), pair, strict=True)
        )
    )


def test_alpha_of_the_paper() -> None:
    """Example B of Krippendorff, "Computing Krippendorff's alpha-reliability"."""
    one, other = map(int, "0100000010"), map(int, "1110010000")
    (found,) = agreement(of_pairs([(bool(a), bool(b)) for a, b in zip(one, other, strict=True)]))
    assert (found.hits, found.disputed, found.readers) == (10, 4, ("ann", "bob"))
    assert found.agreed.value == pytest.approx(0.6)
    assert found.alpha is not None
    assert found.alpha.value == pytest.approx(0.095, abs=5e-4)
    assert found.alpha.low < 0 < found.alpha.value < found.alpha.high


def test_few_hits_tell_little_even_if_all_agree() -> None:
    few, many = (
        agreement(of_pairs([(True, True), (False, False)] * pairs))[0] for pairs in (3, 100)
    )
    for found in (few, many):
        assert found.alpha is not None
        assert found.agreed.value == found.alpha.value == found.alpha.high == 1
    assert few.alpha is not None
    assert many.alpha is not None
    assert few.alpha.low < 0.6 < 0.95 < many.alpha.low
    (same,) = agreement(of_pairs([(True, True)] * 9))
    assert (same.agreed.value, same.alpha) == (1.0, None)


@pytest.mark.parametrize(
    ("cells", "hits"), [((0.4, 0.1, 0.05, 0.45), 60), ((0.8, 0.05, 0.05, 0.1), 100)]
)
def test_intervals_have_the_truth_in_19_of_20_simulated_readings(
    cells: tuple[float, ...], hits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slice_os.estimates.agreement._DRAWS", 1_000)
    both, one, other, _ = cells
    share = both + (one + other) / 2
    truth = 1 - (one + other) / (2 * share * (1 - share))
    outcomes = [(True, True), (True, False), (False, True), (False, False)]
    random = np.random.default_rng(7)
    inside = 0
    for run in range(RUNS):
        drawn = random.choice(4, hits, p=cells)
        (found,) = agreement(of_pairs([outcomes[number] for number in drawn]), seed=run)
        assert found.alpha is not None
        inside += found.alpha.low <= truth <= found.alpha.high
    assert inside >= 0.93 * RUNS, inside


def test_edges_may_differ_but_not_words() -> None:
    shorter, longer, other = (9, 26), (2, 31), (40, 57)
    hits = read_hits(
        numbered(
            said("ann", True, *shorter), said("bob", False, *longer), said("bob", True, *other)
        )
    )
    assert [[one.label.reader for one in hit.answers] for hit in hits] == [["ann", "bob"], ["bob"]]
    assert [hit.disputed for hit in hits] == [True, False]
    moved = Label("cancel", "another text, of a former state", True, "1", 2, 33, reader="ann")
    assert len(read_hits(numbered(moved, said("bob", True, *longer)))) == 2
    touching = numbered(said("ann", True, 2, 20), said("bob", True, 16, 31))
    assert len(read_hits(touching)) == 2


def test_words_that_overlap_many_others_are_compared_with_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []
    monkeypatch.setattr(module, "_same", lambda *_: compared.append(1))
    answers = numbered(*(Label("a", f"{n} b", True, "c", n, 1_000 - n) for n in range(200)))
    assert len(read_hits(answers)) == 200
    assert len(compared) <= 200 * 20


def test_settled_and_nameless_answers_are_no_readings() -> None:
    place = (9, 26)
    answers = [said("ann", True, *place), said("bob", False, *place), said("", False, *place)]
    (found,) = agreement(numbered(*answers))
    assert (found.readers, found.disputed) == (("ann", "bob"), 1)
    assert [one.label.reader for one in disputes(numbered(*answers))[0].answers] == ["ann", "bob"]
    ended = numbered(*answers, said("ann", False, *place, settled=True))
    assert disputes(ended) == []
    (after,) = agreement(ended)
    assert (after.disputed, after.agreed) == (0, found.agreed)
    assert agreement(numbered(said("ann", True, *place), said("", True, *place))) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 5)), max_size=30))
def test_no_answer_is_lost(given_: list[tuple[str, bool, int]]) -> None:
    labels = [said(reader, right, 4 * n, 4 * n + 6) for reader, right, n in given_]
    hits = read_hits(numbered(*labels))
    assert sorted(map(repr, labels)) == sorted(repr(one) for hit in hits for one in hit.labels)
    found: list[Agreement] = agreement(numbered(*labels))
    assert sum(one.hits for one in found) == sum(len(hit.answers) > 1 for hit in hits)
