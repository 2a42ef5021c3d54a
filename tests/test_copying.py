"""A store is copied with its vectors, goes on after an interruption, and is compared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slice_os import Corpus, Document, SpanEncoder
from slice_os.stores.copying import copy_store, differences
from slice_os.stores.local import LocalStore
from slice_os.text.documents import Segment

from .command_line import Run

TURNS = (Segment(0, 21, speaker="Ann"), Segment(22, 45, speaker="Bob"))
DOCUMENTS = [
    Document("plain", "I want to cancel my subscription today.", {"year": 2026, "half": 0.5}),
    Document("turns", "I lost my card again.\nPlease block it for me.", {"ok": True}, TURNS),
    Document("empty", "  \n"),
]


@pytest.fixture
def first(tmp_path: Path, encoder: SpanEncoder) -> Path:
    with Corpus(tmp_path / "first", encoder) as corpus:
        corpus.add(DOCUMENTS)
    return tmp_path / "first"


def test_a_copy_goes_on_and_is_the_same(first: Path, tmp_path: Path, command_line: Run) -> None:
    second = tmp_path / "second"
    done = command_line("store", "copy", first, second)
    assert (done.status, done.err) == (0, "3 of 3 documents copied; both are the same\n")
    with Corpus(second) as copied, Corpus(first) as given:
        for phrase in ("cancel the contract", "my card is gone"):
            assert copied.mine(phrase, threshold=0.3) == given.mine(phrase, threshold=0.3)
        ids = [document.id for document in DOCUMENTS]
        assert copied.store.find_documents(ids) == given.store.find_documents(ids)
        copied.delete(["turns"])
    again = command_line("store", "copy", first, second)
    assert (again.status, again.err) == (0, "1 of 3 documents copied; both are the same\n")


def test_differences_are_told(first: Path, tmp_path: Path, command_line: Run) -> None:
    second = tmp_path / "second"
    shutil.copytree(first, second)
    with Corpus(second) as corpus:
        corpus.add([Document("more", "One more.")])
    done = command_line("store", "copy", first, second)
    assert done.status == 1
    assert "document 'more' is not the same in both" in done.out


def test_hits_are_compared(first: Path, tmp_path: Path, encoder: SpanEncoder) -> None:
    with Corpus(tmp_path / "other", encoder) as corpus:
        other = [Document(one.id, one.text[::-1], one.metadata) for one in DOCUMENTS]
        corpus.add(other)
    ours, theirs = LocalStore.open(first), LocalStore.open(tmp_path / "other")
    assert any("scores" in told for told in differences(ours, theirs))
    assert copy_store(ours, theirs) == 3
    assert differences(ours, theirs) == []
