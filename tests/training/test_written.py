"""The sets and labels that were made for the verifier: whole, and of their own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from recipes.verifier_parts.contrast_rows import KINDS, ContrastRow
from recipes.verifier_parts.read_hits import LABELLED, labelled_rows
from recipes.verifier_parts.written import written_rows
from slice_os import InputError

REPOSITORY = Path(__file__).parents[2]
SHARED = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="module")
def rows() -> list[ContrastRow]:
    return list(written_rows(Random(1)))


def test_each_span_is_words_of_its_text(rows: list[ContrastRow]) -> None:
    for row in rows:
        assert 0 <= row.start < row.end <= len(row.text)
        assert row.text[row.start : row.end].strip()
        assert "[[" not in row.text
        assert "]]" not in row.text
        assert row.kind in KINDS
        assert row.says == (row.kind == "paraphrase")


def test_every_phrase_is_said_and_not_said(rows: list[ContrastRow]) -> None:
    said = Counter((row.phrase, row.says) for row in rows)
    phrases = {row.phrase for row in rows}
    assert len(phrases) > 3_000
    assert all(said[phrase, True] >= 3 and said[phrase, False] >= 4 for phrase in phrases)


def test_a_malformed_set_is_named(tmp_path: Path) -> None:
    (tmp_path / "sets.jsonl").write_text('{"phrase": 3, "says": ["[[a]]"], "not": []}\n')
    with pytest.raises(InputError, match=r"sets\.jsonl"):
        list(written_rows(Random(1), tmp_path))


def test_labels_are_of_hits_with_a_place() -> None:
    for path in LABELLED.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            hit = json.loads(line)
            assert 0 <= hit["start"] < hit["end"]
            assert hit["right"] in (True, False, None)


def test_labelled_hits_are_in_the_data_sets() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"no data sets at {SHARED}")
    read = list(labelled_rows(SHARED))
    assert len(read) > 10_000
    assert all(0 <= row.start < row.end <= len(row.text) for row in read)
