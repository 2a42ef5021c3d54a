"""The door: `evaluate` in a notebook, and the commands without their extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from slice_os.errors import InputError
from slice_os.evaluation import HARNESSES, Evaluation, evaluate, load_harness, open_encoder
from slice_os.evaluation.measures import Graded, Measure
from slice_os.evaluation.sts_b_context import harness as sts_b_context

from ..command_line import printed

REPOSITORY = Path(__file__).parents[2]
TABLE = """\tline\tparaphrase\tpassage\tgoldsim
0\tA man eats\ta man is eating\tIn the hall a man is eating some bread.\t4.5
1\tA dog runs\tthe cat sleeps\tAfter lunch the cat sleeps on a mat.\t0.5
2\tIt rains\train is falling\tThey said rain is falling in Rome today.\t4.0
3\tWho was it?\twho did that\tNobody knew who did that to the car.\t2.0
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "context.tsv"
    path.write_text(TABLE)
    return path


class TestDoor:
    def test_takes_specifications_and_opened_encoders(self, table: Path) -> None:
        options = {"settings": "single-pass", "max_sizes": 5, "quoted": False}
        by_name = evaluate("sts-b-context", table, "mini=slice-mini", threads=2, **options)
        opened = open_encoder("mini=slice-mini", threads=2)
        of_object = evaluate("sts-b-context", str(table), [opened], **options)
        assert isinstance(by_name, Evaluation)
        assert [row["encoder"] for row in by_name.rows] == ["bm25", "mini"]
        assert [row["pearson"] for row in by_name.rows] == [
            row["pearson"] for row in of_object.rows
        ]

    def test_reports_progress_and_uses_a_cache(self, table: Path, tmp_path: Path) -> None:
        seen: list[tuple[str, int, int]] = []
        first, second = (
            evaluate(
                "sts-b-context",
                table,
                cache=tmp_path / "vectors",
                threads=2,
                progress=lambda *done: seen.append(done),
                settings=["single-pass"],
            )
            for _ in range(2)
        )
        assert str(first.rows) == str(second.rows)
        assert seen[-1][1:] == (4, 4)
        assert list((tmp_path / "vectors").glob("*/*.npz"))

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("sts-b", {}, "no harness 'sts-b'; there are sts-b-context, pic-ps"),
            ("pcpe", {"depth": 3}, "pcpe has no option 'depth'; it has models, split, limit"),
            ("pcpe", {"split": "train"}, "split is 'train'; give dev, test"),
            ("pcpe", {"limit": 1}, "limit is 1; give 2 or more"),
            ("pcpe", {"limit": "ten"}, "limit is 'ten'; give a whole number"),
            ("index", {"phrases": "x", "num_candidates": 10_001}, "give a number from 1 to 10,000"),
            ("index", {}, "index needs the option 'phrases'"),
        ],
    )
    def test_says_in_one_line_what_it_takes(
        self, table: Path, name: str, options: dict[str, object], message: str
    ) -> None:
        with pytest.raises(InputError, match=message) as caught:
            evaluate(name, table, **options)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)

    def test_names_encoders_that_share_a_name(self, table: Path) -> None:
        with pytest.raises(InputError, match=r"two encoders are called 'x'; .* NAME=ENCODER"):
            evaluate("sts-b-context", table, ["x=slice-mini", "x=slice-mini"], threads=2)

    def test_needs_no_click(self, table: Path) -> None:
        script = (
            "import sys; sys.modules['click'] = None\n"
            "from slice_os.evaluation import evaluate, HARNESSES, load_harness\n"
            "for name in HARNESSES: load_harness(name)\n"
            f"print(len(evaluate('sts-b-context', {str(table)!r}, settings='full-context').rows))"
        )
        assert run(script) == "9\n"


class TestWithoutTheExtra:
    HIDE = (
        "import sys\nfor name in ('scipy', 'ir_measures'): sys.modules[name] = None\n"
        "from slice_os.cli import main\n"
    )

    def test_help_works(self) -> None:
        commands = [["--help"], *([name, "--help"] for name in HARNESSES)]
        run(
            f"{self.HIDE}for command in {commands!r}:\n"
            "    sys.argv = ['slice-os', 'eval', *command]\n"
            "    try: main()\n"
            "    except SystemExit as ended: assert not ended.code, command\n"
        )

    def test_running_names_the_install_line(self, table: Path) -> None:
        arguments = ["sts-b-context", "--data", str(table)]
        script = f"{self.HIDE}sys.argv = ['slice-os', 'eval', *{arguments!r}]\nmain()"
        outcome = subprocess.run(
            [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True
        )
        assert outcome.returncode == 1
        assert "pip install 'slice-os[eval]'" in outcome.stderr
        assert len(outcome.stderr.splitlines()) == 1


class TestMeasures:
    def test_a_new_measure_is_a_line(self, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        worst: Measure[Graded] = Measure("worst", lambda one: float(np.min(one.scores)))
        monkeypatch.setattr(sts_b_context, "MEASURES", (*sts_b_context.MEASURES, worst))
        result = evaluate("sts-b-context", table, threads=2, settings="single-pass", quoted=False)
        assert all(-1 <= row["worst"] <= row["worst"] + 1 for row in result.rows)
        assert "worst" in result.table(wide=True)

    def test_options_are_unlike_what_all_harnesses_take(self) -> None:
        reserved = {"name", "data", "encoders", "cache", "threads", "progress", "out", "report"}
        for name in HARNESSES:
            assert reserved.isdisjoint(load_harness(name).options)


def run(script: str) -> str:
    return printed([sys.executable, "-c", script], cwd=REPOSITORY)
