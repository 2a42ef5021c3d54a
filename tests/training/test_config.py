"""Recipes: every field checked, with one line that names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="training needs the extra `train`")

from slice_os.errors import InputError
from slice_os.training import read_config

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))


def edited(recipe, old: str, new: str) -> Path:
    path = recipe()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def also(line: str, more: str) -> tuple[str, str]:
    return line, f"{line}\n{more}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 6", "steps = 0", r"stages\[0\]: steps is 0; give 1 or more"),
        ("steps = 6", 'steps = "6"', r"stages\[0\]: steps is '6'; give a whole number"),
        ("steps = 6", "", r"stages\[0\]: steps is missing"),
        ("warmup = 2", "warm = 2", r"stages\[0\]: unknown key warm; did you mean warmup"),
        ("spans = 4", "spans = 0", r"objectives\[2\]: distillation: spans is 0"),
        ("spans = 4", "scale = 4", r"objectives\[2\]: distillation: unknown key scale; there are"),
        ('kind = "slice"', 'kind = "slide"', r"kind is 'slide'; there are slice, in-batch"),
        ('data = ["triples"]', 'data = "triples"', "data is 'triples'; give a list"),
        ('data = ["triples"]', 'data = ["texts"]', "slice takes Triple records, and 'texts'"),
        ('data = ["triples"]', 'data = ["none"]', "no data set 'none'; there are texts, triples"),
        ('place_in = "texts"', 'place_in = "no"', "data.sts: no data set 'no'"),
        ('format = "sts-csv"', 'format = "csv"', "data.sts: format is 'csv'; give"),
        ("every = 4", "every = 0", "dev: every is 0"),
        ('pairs = "sts"', 'pairs = "texts"', "dev: 'texts' holds no Pair records"),
        (*also("steps = 6", "two_teachers = true"), "stage 'first' has two teachers; give a table"),
        ("[dev]", "[soup]\nlast = 0.5\n[dev]", "soup: no stage 'last'; there are first"),
        ("[dev]", "[soup]\nfirst = 1.5\n[dev]", "soup: shares add up to 1.5; give 1 at most"),
        ("[dev]", "[soup]\nfirst = 0\n[dev]", "soup: first"),
        ("[dev]", '[soup]\nfirst = "all"\n[dev]', "soup.first is 'all'; give a number"),
        (
            "[dev]",
            '[second_teacher]\nmodel = "x"\nweight = 0.0\n[dev]',
            "second_teacher: weight is 0",
        ),
        (*also('name = "first"', 'start = "zero"'), "no earlier stage 'zero'"),
        (*also("max_pieces = 120", 'precision = "fp8"'), "precision is 'fp8'; give fp32"),
        ("max_pieces = 120", "max_pieces = ", "not valid TOML"),
        ("max_pieces = 120", f"max_pieces = {'[' * 5_000}", "not valid TOML"),
        ("[dev]", "[[dev]]", "dev is .*, not a table"),
    ],
)
def test_what_will_not_do_is_named(recipe, old, new, message):
    path = edited(recipe, old, new)
    with pytest.raises(InputError, match=message) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_recipe(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_config(tmp_path / "none.toml")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_recipes_of_the_repository_are_valid(path):
    config = read_config(path)
    assert config.hashes, "evaluation sentences have to be kept out"


@pytest.mark.slow
def test_the_command_estimates_and_trains(recipe, data, tmp_path):
    import orjson

    from slice_os.cli import cli

    runner = CliRunner()
    arguments = ["model", "train", str(recipe(2)), "--data", str(data)]
    dry = runner.invoke(cli, [*arguments, "--dry-run", "--text"], catch_exceptions=False)
    assert "first: 2 steps of" in dry.output
    assert "texts: 20 records, 0 dropped with an evaluation sentence" in dry.output
    out = tmp_path / "out"
    run = runner.invoke(cli, [*arguments, "--out", str(out), "--json"], catch_exceptions=False)
    result = orjson.loads(run.stdout)
    assert result["folder"] == str(out)
    assert result["datasets"]["triples"] == {"records": 12, "contaminated": 0, "unfit": 0}
    assert (out / "model.safetensors").is_file()
    assert runner.invoke(cli, arguments).exit_code == 2
