"""Pages of docs/ have the figures of the saved results, and every harness can be asked."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from slice_os.cli import cli
from slice_os.cli.evaluate import evaluate as eval_group
from slice_os.evaluation import HARNESSES, Evaluation, load_harness

REPOSITORY = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(REPOSITORY / "docs" / "make_evaluation.py"))
PAGES: list[Path] = SCRIPT["pages"](REPOSITORY / "docs")
RESULTS = REPOSITORY / "benchmarks" / "results" / "eval"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_what_the_results_give(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == SCRIPT["fill"](page, RESULTS), "run docs/make_evaluation.py"


def test_every_saved_result_is_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for path in sorted(RESULTS.glob("*.json")):
        assert f"<!-- {path.name}" in pages
        evaluation = Evaluation.load(path)
        assert evaluation.harness in HARNESSES
        assert evaluation.data


@pytest.mark.parametrize("name", HARNESSES)
def test_every_harness_is_a_command(name: str) -> None:
    harness = load_harness(name)
    assert harness.name == name
    answer = CliRunner().invoke(cli, ["eval", name, "--help"])
    assert answer.exit_code == 0, answer.output
    assert "--data" in answer.output
    page = (REPOSITORY / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert f"slice-os eval {name} " in "".join(
        (REPOSITORY / "docs" / link).read_text(encoding="utf-8")
        for link in re.findall(r"\| \[[^\]]+\]\((evaluation/[\w-]+\.md)\) \|", page)
    )
    command = eval_group.get_command(click.Context(eval_group), name)
    assert command is not None
    names = [parameter.name for parameter in command.params]
    assert len(names) == len(set(names))
