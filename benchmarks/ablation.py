r"""Measure what each training objective of recipes/ablation.toml adds, at equal steps.

    python benchmarks/ablation.py --data ../shared/data --model MODEL --second-teacher MODEL \
        --work DIR

trains a run for each seed in WORK (an unfinished run is resumed), exports every stage's result to
int8, measures it on STS-B-Context (single pass) and PiC PS (cosine, phrase in its sentence),
writes benchmarks/results/ablation.json and prints the table. Both sets are for reporting only.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from slice_os.training import read_config

RECIPE = Path("recipes/ablation.toml")
RESULT = Path("benchmarks/results/ablation.json")
METRICS = ("pearson", "spearman", "accuracy")


def slice_os(*arguments: object) -> str:
    """Standard output of a command; its progress and errors pass through."""
    command = [str(Path(sys.executable).with_name("slice-os")), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def measure(models: dict[str, str], data: Path, work: Path) -> dict[str, dict[str, float]]:
    """Figures of models on both sets, by name."""
    encoders = {name: work / f"{name}-int8" for name in models}
    for name, model in models.items():
        if not encoders[name].is_dir():
            export = ("model", "export", model, encoders[name])
            slice_os(*export, "--precision", "int8", "--license", "unknown")
    options = [part for name, path in encoders.items() for part in ("--encoder", f"{name}={path}")]
    context = next((data / "sts-b-context").glob("*.tsv"))
    runs = (
        ("sts-b-context", "--data", context, "--setting", "single-pass", "--no-quoted"),
        ("pic-ps", "--data", data / "pic", "--setting", "phrase-in-context", "--method", "cosine"),
    )
    found: dict[str, dict[str, float]] = {name: {} for name in encoders}
    for run in runs:
        rows: list[dict[str, Any]] = json.loads(
            slice_os("eval", *run, *options, "--no-cache", "--json")
        )["rows"]
        for row in rows:
            if row["encoder"] in found:
                found[row["encoder"]].update({k: row[k] for k in METRICS if k in row})
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Means over seeds, with standard deviations."""
    lines = ["| | Pearson | Spearman | PiC PS |", "|---|---|---|---|"]
    for name in dict.fromkeys(row["stage"] for row in rows):
        own = [row for row in rows if row["stage"] == name]
        cells = []
        for metric in METRICS:
            values = [row[metric] for row in own]
            spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.3f}{spread}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Train, measure, save, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--second-teacher", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    stages = read_config(RECIPE).stages
    options.work.mkdir(parents=True, exist_ok=True)
    base = measure({"base": options.model}, options.data, options.work)["base"]
    rows: list[dict[str, Any]] = [{"stage": "base", "seed": None, **base}]
    for seed in range(options.seeds):
        out = options.work / f"seed-{seed}"
        slice_os(
            *("model", "train", RECIPE, "--data", options.data, "--out", out, "--seed", seed),
            *("--model", options.model, "--second-teacher", options.second_teacher),
        )
        models = {stage.name: str(out / "stages" / stage.name) for stage in stages}
        for name, figures in measure(models, options.data, out).items():
            rows.append({"stage": name, "seed": seed, **figures})
        result = {"steps": stages[0].steps, "rows": rows}
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
