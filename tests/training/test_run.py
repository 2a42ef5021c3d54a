"""Whole runs: trained, stopped and resumed, watched, exported."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra `train`")

from slice_os.errors import InputError, ModelError  # noqa: E402
from slice_os.training import estimate, read_config, train  # noqa: E402

from .conftest import write_data, write_recipe  # noqa: E402


def weights(folder):
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def same(left, right) -> bool:
    return all(np.array_equal(left[name], right[name]) for name in left)


@pytest.fixture(scope="module")
def trained(tiny_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = read_config(write_recipe(folder, tiny_model))
    return train(config, write_data(folder / "data"), folder / "out")


@pytest.fixture
def finished(trained, tmp_path):
    """A copy of a run."""
    out = shutil.copytree(trained.folder, tmp_path / "out")
    return replace(trained, folder=out), out


def test_a_run_makes_a_hugging_face_folder_with_card_and_log(finished, tiny_model):
    from transformers import AutoModel, AutoTokenizer

    summary, out = finished
    assert summary.folder == out
    AutoModel.from_pretrained(out)
    assert AutoTokenizer.from_pretrained(out).is_fast
    assert not same(weights(out), weights(tiny_model))
    card = (out / "README.md").read_text()
    assert "| texts (all) | 20 | 0 | 0 |" in card
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    assert [line["step"] for line in steps] == [1, 2, 3, 4, 5, 6]
    kinds = ("0-slice", "1-in-batch", "2-distillation", "3-contextual", "4-senses", "5-graded")
    assert steps[0]["loss"] == pytest.approx(sum(steps[0][kind] for kind in kinds), rel=1e-5)
    assert [line["step"] for line in lines if "dev/pearson" in line] == [4]
    assert not (out / "checkpoint" / "first").exists()
    assert json.loads((out / "sentence_bert_config.json").read_text())["max_seq_length"] == 256
    assert np.load(out / "projection.npy").shape == (16, 16)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights_and_another_gives_others(
    finished, recipe, data, tmp_path
):
    _, out = finished
    again = train(read_config(recipe()), data, tmp_path / "again").folder
    assert same(weights(out), weights(again))
    other = train(replace(read_config(recipe()), seed=1), data, tmp_path / "other").folder
    assert not same(weights(out), weights(other))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["", "chunk = 40"])
def test_a_resumed_run_ends_with_the_same_weights(recipe, data, tmp_path, stage):
    config = read_config(recipe(6, stage))
    whole = train(config, data, tmp_path / "whole").folder

    def stop(tick):
        if (tick.part, tick.done) == ("first", 5):
            raise KeyboardInterrupt

    out = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        train(config, data, out, progress=stop)
    seen = []
    train(config, data, out, progress=seen.append)
    assert [tick.done for tick in seen if tick.loss is not None] == [4, 5, 6]
    parts = list(dict.fromkeys(tick.part for tick in seen))
    assert parts == [
        "reading data",
        "dev metrics before",
        "first",
        "dev metrics after",
        "projection",
    ]
    last = {tick.part: tick for tick in seen}
    assert all(last[part].done == last[part].total for part in parts)
    assert same(weights(whole), weights(out))


def test_a_finished_run_does_nothing_twice(finished, recipe, data):
    summary, out = finished
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    config = read_config(recipe())
    again = train(config, data, out, progress=lambda tick: pytest.fail("nothing is left to do"))
    assert again == summary
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    (out / "summary.json").write_text("{}")
    with pytest.raises(InputError, match=r"summary.json: damaged .*; delete it to finish"):
        train(config, data, out)


def test_a_run_that_lacks_its_summary_is_finished_again(finished, recipe, data):
    summary, out = finished
    trained = weights(out)
    (out / "summary.json").unlink()
    parts = []
    again = train(read_config(recipe()), data, out, progress=lambda tick: parts.append(tick.part))
    assert "first" not in parts
    assert (again.before, again.after) == (summary.before, summary.after)
    assert same(weights(out), trained)


@pytest.mark.slow
def test_pairs_with_one_score_have_no_correlation(recipe, data, tmp_path):
    rows = (data / "sts.csv").read_text().splitlines()
    (data / "sts.csv").write_text("".join(f"{row.rpartition(',')[0]},3\n" for row in rows))
    config = read_config(recipe(1))
    summary = train(config, data, tmp_path / "out")
    assert summary.before.pearson == summary.after.pearson == 0
    assert train(config, data, tmp_path / "out") == summary


def test_another_recipe_does_not_take_over_the_folder(finished, recipe, data):
    _, out = finished
    with pytest.raises(InputError, match="holds a run of another recipe"):
        train(read_config(recipe(7)), data, out)


def test_a_folder_with_other_files_is_left_alone(recipe, data, tmp_path):
    (tmp_path / "thesis.txt").write_text("do not touch")
    with pytest.raises(InputError, match="choose another folder"):
        train(read_config(recipe()), data, tmp_path)


@pytest.mark.slow
def test_a_later_stage_starts_from_and_learns_from_earlier_ones(recipe, data, tmp_path):
    path = recipe(2)
    with path.open("a") as stream:
        stream.write(
            '[[stages]]\nname = "second"\nsteps = 2\nstart = "first"\nteacher = "first"\n'
            '[[stages.objectives]]\nkind = "distillation"\ndata = ["texts"]\nbatch = 2\n'
        )
    out = train(read_config(path), data, tmp_path / "out").folder
    assert same(weights(out), weights(out / "stages" / "second"))
    assert not same(weights(out), weights(out / "stages" / "first"))


@pytest.mark.slow
def test_a_soup_averages_stages_and_the_model_begun_with(recipe, data, tmp_path, tiny_model):
    path = recipe(2)
    text = path.read_text()
    second = text[text.index("[[stages]]") :].replace('name = "first"', 'name = "second"')
    path.write_text(text.replace("[dev]", "[soup]\nfirst = 0.5\nsecond = 0.25\n\n[dev]") + second)
    out = train(read_config(path), data, tmp_path / "out").folder
    start, mixed = weights(tiny_model), weights(out)
    first, last = (weights(out / "stages" / name) for name in ("first", "second"))
    assert not same(first, last)
    for name, value in mixed.items():
        expected = 0.5 * first[name] + 0.25 * last[name] + 0.25 * start[name]
        np.testing.assert_allclose(value, expected, atol=1e-6)
    card = (out / "README.md").read_text()
    assert f"Weights: 0.5 of first + 0.25 of second + 0.25 of {tiny_model}." in card


@pytest.mark.slow
def test_a_second_teacher_teaches_stages_with_two_teachers(recipe, data, tmp_path, tiny_model):
    def run(two_teachers: bool, out: str):
        path = recipe(2, f"two_teachers = {str(two_teachers).lower()}")
        second_teacher = f'[second_teacher]\nmodel = "{tiny_model}"\nlicense = "MIT"\n'
        path.write_text(path.read_text().replace("[dev]", f"{second_teacher}\n[dev]"))
        return train(read_config(path), data, tmp_path / out).folder

    with_second_teacher, without = run(True, "with"), run(False, "without")
    assert not same(weights(with_second_teacher), weights(without))
    assert f"Second teacher: {tiny_model} (MIT)" in (with_second_teacher / "README.md").read_text()


@pytest.mark.slow
def test_a_dry_run_estimates_time_and_memory(recipe, data):
    expected = estimate(read_config(recipe(1000)), data)
    (stage,) = expected.stages
    assert stage.seconds == pytest.approx(1000 * stage.step_seconds)
    assert stage.parameters > 1000
    assert expected.memory_bytes > 2**20
    assert expected.datasets["texts"].records == 20


def test_a_missing_model_is_one_line(recipe, data, tmp_path):
    config = replace(read_config(recipe()), model=str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match="no folder") as caught:
        train(config, data, tmp_path / "out")
    assert "\n" not in str(caught.value)
