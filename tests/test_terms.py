from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from slice_os import Corpus, Document, SpanEncoder
from slice_os.stores.local.store import LocalStore
from slice_os.stores.local.terms import (
    PASSAGE_TERMS,
    add_terms,
    coarse,
    occurrences,
    prepare,
    terms,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The customers' plan isn't cancelled", ["customers", "plan", "isn_t", "cancelled"]),
        (
            "O'Neill’s non-refundable 3,000 at b.org",
            ["o_neill", "non", "refundable", "3_000", "b_org"],
        ),
        ("____ snake_case ... 😀", ["snake_case", "😀"]),
        ("can\xadcel sub\u200bscrip\u200dtion\u2060s \ufeff", ["cancel", "subscriptions"]),
        ("取消订阅", ["取", "消", "订", "阅"]),
        ("2026年のiPhoneを", ["2026", "年", "の", "iphone", "を"]),
        ("注文をキャンセルしABCコーヒー", [*"注文を", "キャンセル", "し", "abc", "コーヒー"]),
        ("か\u3099ｱﾞ한국어カナ", ["か\u3099", "ｱﾞ", "한국어", "カナ"]),
        ("ยกเลิกOK หนึ่ง3", ["ยกเลิก", "ok", "หนึ่ง", "3"]),
        ("İstanbul'da IŞIK", ["istanbul_da", "işik"]),
        ("to be or not", []),
        ("", []),
    ],
)
def test_terms_are_those_of_lucene(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.slow
def test_a_word_that_is_broken_or_has_signs_that_nobody_sees_is_found(
    tmp_path: Path, encoder: SpanEncoder
) -> None:
    whole = "I want to cancel my subscription to the plan."
    broken = [
        "can\xadcel",
        "can\u200bcel",
        "can\u200ccel",
        "can\u2060cel",
        "can-\ncel",
        "can\xad\ncel",
    ]
    texts = [whole, *(whole.replace("cancel", word) for word in broken)]
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add(Document(str(number), text) for number, text in enumerate(texts))
        hits = list(corpus.search("cancel my subscription", top_k=len(texts)))
        assert {hit.bm25 for hit in hits} == {hits[0].bm25}
        assert len(hits) == len(texts)
        for hit in hits:
            assert texts[int(hit.doc_id)][hit.start : hit.end] == hit.text
            assert hit.text.endswith("subscription to the plan")
    assert LocalStore.open(tmp_path / "store").verify() == []


def test_lengths_are_as_coarse_as_in_lucene() -> None:
    """From the table of Lucene's ``SmallFloat.byte4ToInt``."""
    lengths = np.array([0, 1, 23, 24, 39, 40, 41, 42, 100, 1_000, 100_000])
    kept = [0, 1, 23, 24, 39, 40, 40, 42, 96, 984, 98_328]
    np.testing.assert_array_equal(coarse(lengths), kept)


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_occurrences_are_those_of_the_stored_terms(rows: int) -> None:
    """Also of a term in every passage, and of words that share a stem."""
    connection = sqlite3.connect(":memory:")
    connection.execute(PASSAGE_TERMS)
    texts = [f"card {'cards lost ' * (row % 3)} number {row}" for row in range(rows)]
    for row, text in enumerate(texts):
        add_terms(connection, row + 1, terms(text))
    prepare(connection)
    asked = "lost card, other cards, unknown words"
    for _ in range(2):
        found = {term: (times, *rest) for term, times, *rest in occurrences(connection, asked)}
        assert found.keys() == ({"card", "lost"} if rows > 1 else {"card"})
        times, passages, counts = found["card"]
        assert times == 2
        assert passages.tolist() == list(range(1, rows + 1))
        assert counts.tolist() == [1 + row % 3 for row in range(rows)]
