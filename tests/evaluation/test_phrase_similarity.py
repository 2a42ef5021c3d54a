from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slice_os import InputError
from slice_os.arrays import FloatArray
from slice_os.evaluation.phrase_similarity import FIVE, SETS, SEVEN, Choice, choose, load_sets

from .commands import run_harness

DATA = Path(__file__).parents[3] / "shared" / "data"

BIRD = "pair\tterm1\tterm2\trelatedness score\tpos\n" + "".join(
    f"({first}, {second})\t{first}\t{second}\t{score}\tn-n\n"
    for first, second, score in (
        ('"old" car', "used car", 0.9),
        ("old car", "blue sky", 0.1),
        ("bank account", "current account", 0.7),
        ("bank account", "river side", 0.2),
    )
)
PATENT = "id,anchor,target,context,score\n" + "".join(
    f"{row},{anchor},{target},{symbol},{score}\n"
    for row, (anchor, target, symbol, score) in enumerate(
        [
            ("abatement", "abatement of pollution", "A47", 0.5),
            ("abatement", "forest region", "A47", 0.0),
            ("air flow", "flow of air", "F24", 1.0),
        ]
    )
)
STS_B = '"A man, old, sings.",A man sings.,4.5\nA dog runs.,A cat sleeps.,0.5\nIt rains.,Rain.,4\n'
TURNEY = "young dog | puppy | young | dog | river | cloud | sugar | keratoplasty\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (
        ("bird-turney/bird.txt", BIRD),
        ("bird-turney/turney2012.txt", TURNEY),
        ("patents/train.csv", PATENT),
        ("patents/cpc_titles.json", json.dumps({"A47": "FURNITURE", "F24": "HEATING"})),
        ("stsb/stsb-en-dev.csv", STS_B),
        ("stsb/stsb-en-train.csv", "never read"),
        ("banking/train.csv", "text,category\na,b\n"),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path


def test_all_sets_of_a_folder_are_measured(folder: Path) -> None:
    rows = run_harness("phrase-similarity", "--data", folder)["rows"]
    assert [(row["set"], row["setting"], row["pairs"]) for row in rows] == [
        ("bird", "phrase", 4),
        ("patent", "phrase", 3),
        ("patent", "phrase-in-context", 3),
        ("sts-b", "phrase", 3),
        ("turney", "7-choices", 1),
        ("turney", "5-choices", 1),
    ]
    for row in rows[:4]:
        assert row["pearson"] > 0.5
        assert row["spearman"] > 0.4
    assert rows[5]["accuracy"] == 1


def test_one_set_is_chosen_by_name_or_file(folder: Path) -> None:
    chosen = run_harness("phrase-similarity", "--data", folder, "--set", "sts-b")
    assert [row["set"] for row in chosen["rows"]] == ["sts-b"]
    file = folder / "bird-turney" / "bird.txt"
    assert (
        run_harness("phrase-similarity", "--data", file, "--set", "bird", "--limit", 3)["rows"][0][
            "pairs"
        ]
        == 3
    )
    with pytest.raises(InputError, match="say which set the file is"):
        load_sets(file)


class Letters:
    """A text is the counts of its letters a to d; nothing else counts."""

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        return np.array([[text.count(letter) for letter in "abcd"] for text in texts], np.float32)


def test_choices_count_the_right_word_and_share_what_is_equal() -> None:
    choices = [
        Choice("aab", "ab", ("aab",), ("c", "d")),
        Choice("aab", "aab", ("c",), ("d", "b")),
        Choice("ccc", "c", (), ("cc", "d")),
        Choice("ccc", "d", (), ("a", "b")),
        Choice("xyz", "c", (), ("x", "y", "z")),
    ]
    encoder: Any = Letters()
    assert choose(encoder, choices, SEVEN).tolist() == [0, 1, 0.5, 1 / 3, 0.25]
    assert choose(encoder, choices, FIVE).tolist() == [1, 1, 0.5, 1 / 3, 0.25]


def test_a_missing_set_says_where_it_can_be_had(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="no set of phrase similarity"):
        load_sets(tmp_path / "nowhere")
    (folder / "bird-turney" / "turney2012.txt").unlink()
    with pytest.raises(InputError, match=r"turney\*.txt: not found; expected .*; get it at http"):
        load_sets(folder, ("turney",))


@pytest.mark.parametrize(
    ("name", "file", "content", "complaint"),
    [
        ("bird", "bird.txt", "a\tb\n", "no column 'term1'"),
        ("bird", "bird.txt", BIRD + "x\ty\n", "line 6: 2 columns of 5"),
        ("patent", "train.csv", PATENT.replace("0.5", "half"), "line 2: 'score' is 'half'"),
        ("sts-b", "stsb.csv", "one,two\n", "line 1: 2 columns of 3"),
        ("turney", "turney.txt", "a | b\n", "line 1: 2 fields"),
        ("bird", "bird.txt", BIRD.partition("\n")[0] + "\n", "has no rows"),
        ("turney", "turney.txt", "\n", "has no rows"),
    ],
)
def test_malformed_sets_are_named_in_one_line(
    tmp_path: Path, name: str, file: str, content: str, complaint: str
) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=complaint) as caught:
        load_sets(tmp_path / file, (name,))
    assert "\n" not in str(caught.value)


def test_published_sets_are_read_as_they_are() -> None:
    if not (DATA / "bird-turney").is_dir():
        pytest.skip("the sets are not here")
    sizes = {one.name: len(one.items) for one in load_sets(DATA)}
    assert sizes["bird"] == 3_345
    assert sizes["patent"] == 36_473
    assert sizes["sts-b"] > 1_000
    assert set(sizes) <= set(SETS)
