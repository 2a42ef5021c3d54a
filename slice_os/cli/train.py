"""`slice-os train`."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click
import orjson

from slice_os.cli.options import RenamedOption, report_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slice_os.training.data.datasets import Loaded
    from slice_os.training.estimate import Estimate
    from slice_os.training.run import Summary, Tick


@click.command()
@click.argument("recipe", type=click.Path(dir_okay=False))
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    required=True,
    help="Folder that the recipe's file names are relative to.",
)
@click.option("--out", type=click.Path(file_okay=False), help="Folder for the model and its logs.")
@click.option("--model", help="Encoder to begin with.  [default: the recipe's]")
@click.option(
    "--second-teacher",
    cls=RenamedOption,
    formerly="--guide",
    help="Second teacher, where the recipe has one.  [default: the recipe's]",
)
@click.option("--seed", type=int, help="Of all that is drawn at random.  [default: the recipe's]")
@click.option("--tensorboard", is_flag=True, help="Write TensorBoard events beside log.jsonl.")
@click.option("--dry-run", is_flag=True, help="Say what the run would take, and write nothing.")
@report_option
def train(
    recipe: str,
    data: str,
    out: str | None,
    model: str | None,
    second_teacher: str | None,
    seed: int | None,
    tensorboard: bool,
    dry_run: bool,
    as_json: bool | None,
) -> None:
    """Train an encoder by a RECIPE, a TOML file.

    OUT becomes a Hugging Face folder for `slice-os export`, with log.jsonl and the model card
    beside the weights. The same command goes on with a run that was stopped. On several GPUs:
    accelerate launch -m slice_os.cli train …. Needs pip install 'slice-os[train]'.
    """
    from slice_os.training import estimate, read_config
    from slice_os.training import train as carry_out

    config = read_config(recipe)
    config = replace(
        config, model=model or config.model, seed=config.seed if seed is None else seed
    )
    if second_teacher is not None:
        if config.second_teacher is None:
            raise click.UsageError("--second-teacher: the recipe has no [second_teacher]")
        config = replace(
            config, second_teacher=replace(config.second_teacher, model=second_teacher)
        )
    as_json = not sys.stdout.isatty() if as_json is None else as_json
    if dry_run:
        expected = estimate(config, data)
        click.echo(_json(expected) if as_json else describe_estimate(expected))
        return
    if out is None:
        raise click.UsageError("give --out, or --dry-run")
    with _Bar() as bar:
        summary = carry_out(config, data, out, tensorboard=tensorboard, progress=bar.update)
    click.echo(_json(summary) if as_json else describe(summary))


def describe_estimate(expected: Estimate) -> str:
    """An estimate as a short table."""
    lines = [*_counts(expected.datasets), f"on {expected.device}:"]
    for stage in expected.stages:
        lines.append(
            f"  {stage.name}: {stage.steps:,} steps of {stage.step_seconds:.2f} s, "
            f"{stage.seconds / 60:.0f} min; {stage.parameters:,} numbers trained"
        )
    lines.append(f"  memory: {expected.memory_bytes / 2**30:.1f} GiB")
    return "\n".join(lines)


def describe(summary: Summary) -> str:
    """A summary as a short table."""
    return "\n".join(
        [
            *_counts(summary.datasets),
            f"dev Pearson {summary.before.pearson:.3f} → {summary.after.pearson:.3f}, "
            f"AUC {summary.before.auc:.3f} → {summary.after.auc:.3f}, "
            f"{summary.seconds / 60:.0f} min",
            f"{summary.folder}: ready for `slice-os export`",
        ]
    )


def _counts(datasets: Mapping[str, Loaded]) -> list[str]:
    return [
        f"{name}: {len(loaded.records):,} records, {loaded.contaminated:,} dropped with an "
        f"evaluation sentence, {loaded.unfit:,} unfit"
        for name, loaded in datasets.items()
    ]


def _json(result: Estimate | Summary) -> str:
    """A result with its data sets as counts."""
    counts = {
        name: {
            "records": len(loaded.records),
            "contaminated": loaded.contaminated,
            "unfit": loaded.unfit,
        }
        for name, loaded in result.datasets.items()
    }
    values: dict[str, Any] = asdict(replace(result, datasets={})) | {"datasets": counts}
    return orjson.dumps(values, default=str, option=orjson.OPT_INDENT_2).decode()


class _Bar:
    """A bar for each stage on standard error, where that is a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def update(self, tick: Tick) -> None:
        from tqdm import tqdm

        if tick.stage != self._stage:
            self._close()
            self._stage = tick.stage
            self._bar = tqdm(
                total=tick.steps,
                desc=tick.stage,
                initial=tick.step - 1,
                disable=not sys.stderr.isatty(),
                dynamic_ncols=True,
            )
        self._bar.set_postfix_str(f"loss {tick.loss:.3f}", refresh=False)
        self._bar.update(tick.step - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()
