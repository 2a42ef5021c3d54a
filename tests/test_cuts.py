from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from slice_os.cli import cli
from slice_os.errors import InputError
from slice_os.hits.precision_cut import least_cut, read_labelled, wilson_interval

LABELS = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.6, 0.9]), st.booleans()), min_size=1)


@given(LABELS, st.sampled_from([0.05, 0.25, 0.5, 0.9]))
def test_the_cut_is_the_lowest_one_that_is_surely_as_precise(
    labels: list[tuple[float, bool]], precision: float
) -> None:
    values, right = np.array([one for one, _ in labels]), np.array([one for _, one in labels])
    reached = {float(value): right[values >= value] for value in values}
    shares = {value: float(one.mean()) for value, one in reached.items()}
    surely = {value: wilson_interval(one.sum(), len(one))[0] for value, one in reached.items()}
    enough = [value for value, low in surely.items() if low >= precision]
    if not enough:
        with pytest.raises(InputError, match="the best is"):
            least_cut(values, right, precision)
        return
    cut = least_cut(values, right, precision)
    assert cut.value == min(enough)
    assert (cut.hits, cut.right) == ((values >= cut.value).sum(), right[values >= cut.value].sum())
    assert cut.precision == pytest.approx(shares[cut.value])
    assert cut.low <= cut.precision <= cut.high
    assert cut.found == cut.right / right.sum()
    assert cut.labels == len(labels)


def test_the_interval_is_wilsons() -> None:
    # Newcombe (1998), table I
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson_interval(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)
    assert wilson_interval(29, 29) == pytest.approx((0.8830, 1), abs=1e-4)


@pytest.mark.parametrize("precision", [0, -1, 1.5, float("nan")])
def test_a_precision_is_a_share(precision: float) -> None:
    with pytest.raises(InputError, match="above 0 and up to 1"):
        least_cut([0.5], [True], precision)


def labelled(folder: Path, *rows: object) -> Path:
    path = folder / "labelled.jsonl"
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


def hit(probability: float | None, label: bool | None) -> dict[str, object]:
    return {"probability": probability, "cosine": 0.5, "label": label, "text": "left"}


def test_hits_that_nobody_has_read_do_not_count(tmp_path: Path) -> None:
    path = labelled(tmp_path, hit(0.9, True), hit(0.8, None), "", hit(0.2, False))
    assert read_labelled(path).right == (True, False)
    assert read_labelled(path).cut(0.2).value == 0.9
    assert read_labelled(path).cut(0.05, "cosine").value == 0.5


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", r"jsonl:1: not valid JSON"),
        ("[]", "jsonl:1: no JSON object"),
        ({"label": "yes"}, "jsonl:1: field 'label' is neither true nor false"),
        ({"label": True, "cosine": "0.5"}, "jsonl:1: field 'cosine' is no number"),
        ({"cosine": 0.5}, "no hit has a label"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, row: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labelled(labelled(tmp_path, row))


def test_hits_without_a_probability_cannot_be_cut_by_it(tmp_path: Path) -> None:
    path = labelled(tmp_path, hit(None, True), hit(0.5, False))
    with pytest.raises(InputError, match="1 of the labelled hits have no probability"):
        read_labelled(path).cut(0.9)
    with pytest.raises(InputError, match="no labelled hits"):
        read_labelled(tmp_path / "none.jsonl")


def test_the_command_line(tmp_path: Path) -> None:
    rows = [hit(0.9, True)] * 20 + [hit(0.7, True)] * 15 + [hit(0.3, False)] * 5
    path = str(labelled(tmp_path, *rows, hit(0.2, True)))
    run = CliRunner().invoke(cli, ["cut", path, "--precision", "0.9", "--text"])
    assert run.output == (
        "probability 0.700: 35 of 35 hits from there on are right, 1.00 (95 % 0.90 to 1.00); "
        "expected recall 0.97 (41 labels)\n"
    )
    asked = json.loads(CliRunner().invoke(cli, ["cut", path, "--json"]).output)
    assert (asked["by"], asked["value"], asked["labels"]) == ("probability", 0.7, 41)
    one = str(labelled(tmp_path, hit(0.9, True), hit(0.7, False)))
    failed = CliRunner().invoke(cli, ["cut", one])
    assert isinstance(failed.exception, InputError)
    assert "the best is 0.900, with 1 of 1 right, at least 0.21" in str(failed.exception)
