from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import InputError
from slice_os.evaluation.pic.pairs import (
    best_threshold,
    encode_pairs,
    fit_discriminant,
    hold_out,
    load_splits,
)
from slice_os.evaluation.pic.phrase_files import find_phrase, find_splits, load_pairs

from .commands import run_harness

DATA = Path(__file__).parents[3] / "shared" / "data" / "pic"

SENTENCES = [
    ("The {} cost him his job.", "bad mistake", "grave error", "wrong turn"),
    ("She paid the {} in cash.", "whole amount", "full sum", "large crowd"),
    ("They met at the {} of the town.", "old gate", "ancient entrance", "aged fence"),
    ("He kept a {} for the winter.", "warm coat", "thick jacket", "fresh layer of paint"),
]


def make_rows() -> list[dict[str, Any]]:
    return [
        {
            "phrase1": phrase,
            "phrase2": other,
            "sentence1": sentence.format(phrase),
            "sentence2": sentence.format(other),
            "label": label,
            "idx": 0,
        }
        for sentence, phrase, same, different in SENTENCES
        for other, label in ((same, "positive"), (different, "negative"))
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split in ("train", "dev"):
        (tmp_path / f"ps_{split}.json").write_text(json.dumps({"data": make_rows()}))
    return tmp_path


def test_rows_say_setting_and_accuracy_as_a_fraction(folder: Path) -> None:
    rows = run_harness("pic-ps", "--data", folder)["rows"]
    assert [row["setting"] for row in rows] == ["phrase", "phrase-in-context"]
    for row in rows:
        assert row["encoder"] == "slice-mini"
        assert 0.5 <= row["accuracy"] <= 1
        # Train and dev are the same here, and so is what their threshold reaches.
        assert row["accuracy"] == row["train_accuracy"]
        assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
        assert row["pairs"] == len(make_rows())


def test_the_split_asked_for_is_reported_and_test_brings_the_papers_figures(folder: Path) -> None:
    rows = make_rows()[:4]
    (folder / "ps_test.json").write_text(json.dumps(rows))
    by_default = run_harness("pic-ps", "--data", folder, "--setting", "phrase")
    assert by_default["settings"] == {"split": "test"}
    assert by_default["rows"][0]["pairs"] == 4
    quoted = {row["encoder"]: row for row in by_default["rows"][1:]}
    assert quoted["BERT"]["accuracy"] == 0.5105
    assert "quoted" in quoted["BERT"]["source"]
    for named in (["--data", folder, "--split", "dev"], ["--data", folder / "ps_dev.json"]):
        assert run_harness("pic-ps", *named, "--setting", "phrase")["rows"][0]["pairs"] == 8


def test_the_classifier_is_stopped_by_pairs_that_are_not_reported(folder: Path) -> None:
    pytest.importorskip("torch")
    rows = run_harness("pic-ps", "--data", folder, "--method", "classifier", "--setting", "phrase")
    (row,) = rows["rows"]
    assert row["method"] == "classifier"
    assert 0 <= row["accuracy"] <= 1
    pairs = load_splits(folder).pairs["train"]
    held = hold_out(pairs)
    inside = {one.pair.sentence1 for one, out in zip(pairs, held, strict=True) if out}
    outside = {one.pair.sentence1 for one, out in zip(pairs, held, strict=True) if not out}
    assert inside
    assert not inside & outside


def test_the_classifier_learns_what_a_threshold_cannot() -> None:
    pytest.importorskip("torch")
    from slice_os.evaluation.pic.pairs import train_classifier

    # Similar where the two numbers, which are the vectors, have one sign.
    pairs = np.random.default_rng(0).normal(scale=9, size=(1_200, 2)).astype(np.float32)
    labels = pairs[:, 0] * pairs[:, 1] > 0
    train, dev = slice(1_000), slice(1_000, None)
    trained = train_classifier(pairs[train], labels[train], pairs[dev], labels[dev])
    right = np.mean(trained.predict(pairs[dev]) == labels[dev])
    assert right == trained.dev_accuracy > 0.8
    assert trained.epochs <= 100


def test_pairs_whose_phrase_is_not_in_its_sentence_are_left_out_and_counted(folder: Path) -> None:
    rows = make_rows()
    rows[0]["phrase1"] = "nowhere to be seen"
    (folder / "ps_dev.json").write_text(json.dumps({"data": rows}))
    saved = run_harness("pic-ps", "--data", folder, "--setting", "phrase")
    assert saved["rows"][0]["pairs"] == 7
    assert saved["rows"][0]["not_found"] == 1
    assert "1 of dev" in saved["notes"][0]


def test_the_context_changes_a_vector_and_the_phrase_alone_does_not_see_it() -> None:
    from slice_os.evaluation.registry import open_encoder

    encoder = open_encoder()
    path = DATA / "ps_dev.json"
    if not path.is_file():
        pytest.skip("PiC is not here")
    pairs = load_splits(DATA, "dev").pairs["dev"][:20]
    alone, inside = (
        encode_pairs(encoder, pairs, setting) for setting in ("phrase", "phrase-in-context")
    )
    one = pairs[3]
    np.testing.assert_allclose(
        alone.first[3], encoder.phrases([one.pair.phrase1])[0], rtol=0, atol=1e-5
    )
    ((aligned, vectors),) = encoder.tokens([one.pair.sentence1])
    touched = [
        row for row in aligned.words.tolist() if row[0] < one.place1[1] and one.place1[0] < row[1]
    ]
    np.testing.assert_allclose(
        inside.first[3], vectors[touched[0][2] : touched[-1][3]].mean(axis=0), rtol=0, atol=1e-5
    )


def test_published_splits_are_read_as_they_are() -> None:
    if not (DATA / "ps_dev.json").is_file():
        pytest.skip("PiC is not here")
    splits = load_splits(DATA)
    assert splits.split == "dev"
    assert len(splits.pairs["dev"]) == 1_000
    assert sum(one.pair.similar for one in splits.pairs["dev"]) == 500
    assert splits.not_found == {"train": 4, "dev": 0}
    for placed in splits.pairs["train"]:
        start, end = placed.place1
        assert placed.pair.sentence1[start:end] == placed.pair.phrase1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not valid JSON"),
        ('{"rows": []}', "not a list of objects"),
        ('[{"phrase1": "a"}]', "row 1: 'sentence1' is None; text is needed"),
        (
            '[{"phrase1": "a", "sentence1": "a", "phrase2": "b", "sentence2": "b", "label": 7}]',
            "row 1: the label is '7'",
        ),
    ],
)
def test_malformed_files_are_named_in_one_line(
    tmp_path: Path, content: str, complaint: str
) -> None:
    path = tmp_path / "ps_train.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_pairs(path)
    message = str(caught.value)
    assert complaint in message
    assert "https://phrase-in-context.github.io" in message
    assert "\n" not in message


def test_missing_splits_are_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="not found"):
        find_splits(tmp_path / "nowhere", "ps")
    with pytest.raises(InputError, match="no file of PS"):
        find_splits(tmp_path.parent / tmp_path.name, "psd")
    with pytest.raises(InputError, match="not train and test"):
        load_splits(folder, "test")
    (folder / "ps_train_2.json").write_text("[]")
    with pytest.raises(InputError, match="several files for the train split"):
        load_splits(folder)


def test_labels_may_be_numbers_and_rows_a_line_each(tmp_path: Path) -> None:
    rows = [{**row, "label": int(row["label"] == "positive")} for row in make_rows()]
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert [pair.similar for pair in load_pairs(path)] == [True, False] * 4
    assert find_splits(tmp_path, "ps") == {"train": path}


def test_a_phrase_is_found_as_whole_words_first() -> None:
    assert find_phrase("art", "a start for art") == (12, 15)
    assert find_phrase("art", "a start") == (4, 7)
    assert find_phrase("art", "none") is None


scored = st.lists(
    st.tuples(st.integers(-4, 4).map(lambda n: n / 4), st.booleans()), min_size=1, max_size=30
)


@given(scored)
def test_no_threshold_is_better_than_the_best_one(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
    chosen = best_threshold(scores, labels)
    reached = np.mean((scores >= chosen) == labels)
    assert reached == max(np.mean((scores >= one) == labels) for one in scores)
    assert chosen in scores


def test_the_discriminant_agrees_with_scikit_learn() -> None:
    analysis = pytest.importorskip("sklearn.discriminant_analysis")
    draw = np.random.default_rng(1)
    labels = np.arange(300) % 3 == 0
    scores = draw.normal(0.4 + 0.2 * labels, 0.2)
    expected = analysis.LinearDiscriminantAnalysis().fit(scores[:, None], labels)
    found = fit_discriminant(scores, labels)
    assert found.threshold == pytest.approx(float(-expected.intercept_[0] / expected.coef_[0, 0]))
    np.testing.assert_array_equal(found.predict(scores), expected.predict(scores[:, None]))


def test_a_discriminant_may_turn_around_or_see_nothing() -> None:
    labels = np.array([True, True, False, False])
    upside_down = fit_discriminant(np.array([0.1, 0.2, 0.8, 0.9]), labels)
    np.testing.assert_array_equal(upside_down.predict(np.array([0.1, 0.9])), [True, False])
    blind = fit_discriminant(np.ones(4), labels)
    assert np.isnan(blind.threshold)
    assert blind.predict(np.ones(2)).all()
