"""`slice-os model`: exporting and training encoders."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import COSINE, ReportAsJson
from slice_os.cli.parameters import argument, option
from slice_os.cli.progress import StepBar
from slice_os.cli.render import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slice_os.export.parity import ParityReport
    from slice_os.training import Estimate, Tick, TrainingSummary
    from slice_os.training.prepared_sets import Counts


@click.group(cls=CommandGroup)
def model() -> None:
    """Make a model folder: export an encoder, or train one."""


@model.command()
def export(
    *,
    source: Annotated[str, argument(metavar="MODEL")],
    out: Annotated[str, argument(metavar="OUT", type=click.Path())],
    precision: Annotated[
        str,
        click.Choice(["fp32", "fp16", "int8"]),
        "fp32 is exact, fp16 is for GPUs, int8 is smallest, and fastest on CPUs.",
    ] = "fp32",
    name: Annotated[str | None, "Display name.  [default: the name of MODEL]"],
    license_name: Annotated[
        str | None,
        "--license",
        "SPDX expression of the weights.  [default: what MODEL's README declares]",
    ],
    threshold: Annotated[float, COSINE, "Lowest cosine of a hit by default."] = 0.6,
    force: Annotated[bool, "Replace a model folder at OUT."],
    as_json: ReportAsJson,
) -> None:
    """Turn a Hugging Face encoder into a model folder for --model.

    MODEL is a name on Hugging Face, or a folder of transformers or sentence-transformers. OUT is
    written only if the exported model agrees with torch on real text, padded and unpadded. In
    fp32 every number must be within 1e-5; in fp16 and int8 the cosines of spans of 1 to 20 words
    must agree. Needs pip install 'slice-os[export]'.
    """
    from slice_os.export import export_model

    report = export_model(
        source,
        out,
        precision=precision,
        name=name,
        license_name=license_name,
        threshold=threshold,
        force=force,
        progress=lambda step: click.echo(f"{step} …", err=True),
    )
    show(report.to_json(), describe_parity(report, out), as_json)


@model.command()
def train(
    recipe: Annotated[Path, argument()],
    data: Annotated[
        Path,
        option(
            "DIRECTORY", "Data folder; the recipe's file names are relative to it.", required=True
        ),
    ],
    out: Annotated[Path | None, "DIRECTORY", "Folder for the model and its logs."],
    start: Annotated[str | None, "--model", "Encoder to start from.  [default: the recipe's]"],
    second_teacher: Annotated[
        str | None, "Second teacher, if the recipe has one.  [default: the recipe's]"
    ],
    seed: Annotated[int | None, click.INT, "Random seed.  [default: the recipe's]"],
    tensorboard: Annotated[bool, "Write TensorBoard events beside log.jsonl."],
    dry_run: Annotated[bool, "Estimate time and memory, but write nothing."],
    as_json: ReportAsJson,
) -> None:
    """Train an encoder from a recipe.

    RECIPE is a TOML file. OUT becomes a Hugging Face folder for `slice-os model export`, with
    weights, model card and log.jsonl. The same command resumes an interrupted run. On several
    GPUs: accelerate launch -m slice_os.cli model train …. Needs pip install 'slice-os[train]'.
    """
    from slice_os.training import estimate, read_config
    from slice_os.training import train as carry_out

    config = read_config(recipe)
    config = replace(
        config, model=start or config.model, seed=config.seed if seed is None else seed
    )
    if second_teacher is not None:
        if config.second_teacher is None:
            raise click.UsageError("--second-teacher: the recipe has no [second_teacher]")
        config = replace(
            config, second_teacher=replace(config.second_teacher, model=second_teacher)
        )
    with closing(StepBar()) as bar:
        progress = partial(_tell, bar)
        if dry_run:
            expected = estimate(config, data, progress)
            show(expected, describe_estimate(expected), as_json, indent=True)
            return
        if out is None:
            raise click.UsageError("give --out, or --dry-run")
        summary = carry_out(config, data, out, tensorboard=tensorboard, progress=progress)
    show(summary, describe(summary), as_json, indent=True)


def describe_parity(report: ParityReport, out: str) -> str:
    """A parity report as a short table."""
    lines = [
        f"{out}: {report.precision}, compared with torch on {report.tokens:,} word pieces "
        f"and {report.spans:,} spans",
        f"{'':9} {'max abs':>9} {'token cos':>10} {'span cos':>10} {'worst':>8}",
    ]
    for name, run in (("unpadded", report.unpadded), ("padded", report.padded)):
        lines.append(
            f"{name:9} {run.max_abs:9.1e} {run.token_cosine:10.5f} {run.span_cosine:10.5f} "
            f"{run.span_cosine_min:8.4f}"
        )
    return "\n".join(lines)


def describe_estimate(expected: Estimate) -> str:
    """An estimate as a few lines of text."""
    lines = [*_counts(expected.datasets), f"on {expected.device}:"]
    for stage in expected.stages:
        lines.append(
            f"  {stage.name}: {stage.steps:,} steps of {stage.step_seconds:.2f} s, "
            f"{stage.seconds / 60:.0f} min; {stage.parameters:,} parameters trained"
        )
    lines.append(f"  memory: {expected.memory_bytes / 2**30:.1f} GiB")
    return "\n".join(lines)


def describe(summary: TrainingSummary) -> str:
    """A summary as a few lines of text."""
    return "\n".join(
        [
            *_counts(summary.datasets),
            f"dev Pearson {summary.before.pearson:.3f} → {summary.after.pearson:.3f}, "
            f"AUC {summary.before.auc:.3f} → {summary.after.auc:.3f}, "
            f"{summary.seconds / 60:.0f} min",
            f"{summary.folder}: ready for `slice-os model export`",
        ]
    )


def _counts(datasets: Mapping[str, Counts]) -> list[str]:
    return [
        f"{name}: {counts.records:,} records, {counts.contaminated:,} dropped with an "
        f"evaluation sentence, {counts.unfit:,} unfit"
        for name, counts in datasets.items()
    ]


def _tell(bar: StepBar, tick: Tick) -> None:
    note = "" if tick.loss is None else f"loss {tick.loss:.3f}"
    bar.update(tick.part, tick.done, tick.total, note)
