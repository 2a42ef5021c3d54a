"""Parts of the sources: every source is in one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Corpus, InputError, SpanEncoder
from slice_os.ingest.sources import find_sources
from slice_os.stores.protocol import WHOLE, WorkShare

NAMES = st.text(st.characters(codec="utf-8"), min_size=1)


@given(names=st.sets(NAMES, max_size=30), total=st.integers(1, 20))
def test_parts_are_disjoint_and_together_everything(names: set[str], total: int) -> None:
    held = [name for part in WorkShare(1, total).all() for name in names if part.holds(name)]
    assert sorted(held) == sorted(names)


def test_the_division_never_changes() -> None:
    names = [f"calls/{number}.jsonl" for number in range(12)]
    assert [name for name in names if WorkShare(3, 4).holds(name)] == [
        "calls/1.jsonl",
        "calls/9.jsonl",
    ]


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_text_and_back(first: int, second: int) -> None:
    part = WorkShare(min(first, second), max(first, second))
    assert WorkShare.parse(str(part)) == part


@pytest.mark.parametrize(
    "text", ["", "3", "3/", "/16", "0/16", "17/16", "-1/2", "1/0", "1/20000", "a/b", "1/2/3"]
)
def test_what_is_no_part(text: str) -> None:
    with pytest.raises(InputError, match="16") as caught:
        WorkShare.parse(text)
    assert "\n" not in str(caught.value)


class TestSources:
    def test_each_file_is_in_one_part(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for number in range(20):
            Path(f"{number}.txt").write_text("Please cancel my order.")
        everything = [source.name for source in find_sources(["."])]
        found = [
            [source.name for source in find_sources(["."], part=part)]
            for part in WorkShare(1, 3).all()
        ]
        assert all(found)
        assert sorted(name for names in found for name in names) == sorted(everything)
        assert [source.name for source in find_sources(["."], part=WHOLE)] == everything

    def test_a_part_may_be_empty_but_not_a_path(self, tmp_path: Path) -> None:
        (tmp_path / "one.txt").write_text("Please cancel my order.")
        held = [list(find_sources([tmp_path], part=part)) for part in WorkShare(1, 9).all()]
        assert sorted(map(len, held)) == [0] * 8 + [1]
        with pytest.raises(InputError, match="no such file"):
            find_sources([tmp_path / "two.txt"], part=WorkShare(1, 9))

    def test_standard_input_cannot_be_divided(self) -> None:
        with pytest.raises(InputError, match="standard input has no part 2/3"):
            find_sources(["-"], part=WorkShare(2, 3))


def test_a_folder_is_filled_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoder: SpanEncoder
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        Path(f"{number}.txt").write_text(f"Please cancel order number {number}.")
    with Corpus("store", encoder) as corpus:
        stored = [corpus.ingest(["*.txt"], part=part).documents for part in ("1/2", "2/2")]
        assert sum(stored) == 6
        assert all(stored)
        assert corpus.ingest(["*.txt"]).sources_unchanged == 6
