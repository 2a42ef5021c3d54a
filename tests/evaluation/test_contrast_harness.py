"""Contrast pairs: read from marked texts, scored by cosine, probability and verifiers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slice_os.errors import InputError
from slice_os.evaluation.contrasts import auc, read_pairs, right
from slice_os.verifier.claims import Claim

from .commands import run_harness

pytest.importorskip("scipy", reason="evaluation needs the extra `eval`")
pytest.importorskip("ir_measures", reason="evaluation needs the extra `eval`")

HAND_WRITTEN = Path(__file__).parents[2] / "benchmarks" / "contrasts"
PAIRS = (
    {
        "phrase": "my order has arrived",
        "says": "Good news: [[the parcel got here]] on Friday.",
        "contrast": "Sadly [[my order has not arrived]].",
        "kind": "negation",
    },
    {
        "phrase": "payment within 30 days",
        "says": "a month to pay",
        "contrast": "payment within 90 days",
        "kind": "numbers",
    },
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS))
    return path


def test_marks_become_offsets(pairs: Path) -> None:
    first, second = read_pairs(pairs)
    text = "Good news: the parcel got here on Friday."
    assert first.says == Claim(PAIRS[0]["phrase"], text, 11, 30)
    assert second.contrast == Claim(PAIRS[1]["phrase"], "payment within 90 days", 0, 22)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("", "has no pair"),
        ('{"phrase": "a", "says": "b", "kind": "negation"}', "line 1: 'contrast' is None"),
        (
            '{"phrase": "a", "says": "[[b]] [[c]]", "contrast": "d", "kind": "e"}',
            "line 1: 'says' has more than one span",
        ),
    ],
)
def test_what_is_not_a_pair_is_refused(tmp_path: Path, line: str, error: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=error.replace("[", r"\[")):
        read_pairs(path)


def test_ties_count_half() -> None:
    scores = np.array([[0.9, 0.5, 0.1], [0.5, 0.5, 0.5]])
    assert right(scores).tolist() == [1, 0.5, 0]
    assert auc(scores) == pytest.approx(4.5 / 9)


def test_every_scorer_has_a_row_for_each_kind(pairs: Path) -> None:
    rows = run_harness(
        "contrasts", "--data", str(pairs), "--verifier", "similarity", "--verifier", "slice-verify"
    )["rows"]
    assert [(row["score"], row["kind"], row["pairs"]) for row in rows] == [
        (score, kind, number)
        for score in ("cosine", "probability", "similarity", "slice-verify")
        for kind, number in (("negation", 1), ("numbers", 1), ("all", 2))
    ]
    accuracy = {(row["score"], row["kind"]): row["accuracy"] for row in rows}
    assert accuracy["cosine", "all"] == 0
    assert accuracy["slice-verify", "all"] == 1


@pytest.mark.parametrize(("name", "least"), [("held-out", 40), ("development", 5)])
def test_the_hand_written_pairs_can_be_read(name: str, least: int) -> None:
    written = read_pairs(HAND_WRITTEN / f"{name}.jsonl")
    kinds = [pair.kind for pair in written]
    for kind in ("negation", "roles", "numbers", "tense", "antonym"):
        assert kinds.count(kind) >= least
    assert kinds.count("question") + kinds.count("modality") >= least
    phrases = [pair.says.phrase for pair in written]
    assert len(set(phrases)) == len(phrases)
    for pair in written:
        for side in (pair.says, pair.contrast):
            assert side.text[side.start : side.end].strip() == side.text[side.start : side.end]
