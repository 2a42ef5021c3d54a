"""A training run: the stages of a recipe in turn, watched, logged and resumable, or only tried."""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from slice_os.encoder.model_folder import PROJECTION_FILE
from slice_os.errors import InputError, imported
from slice_os.records import record
from slice_os.tables.replacing import replacing
from slice_os.training.backend import torch
from slice_os.training.config import BASE, Stage, TrainingConfig
from slice_os.training.context import STAGES, DevResult, RunContext
from slice_os.training.prepared_sets import Counts
from slice_os.training.progress import Report, Tick, silent, tracked
from slice_os.training.projection import RECORDS, STEPS, learned_projection
from slice_os.training.stage import load_checkpoint, save_checkpoint
from slice_os.training.training_encoder import TrainingEncoder

RECIPE_FILE = "recipe.json"
CHECKPOINT = "checkpoint"
LOG_FILE = "log.jsonl"
SUMMARY_FILE = "summary.json"
_WARM, _TIMED = 1, 3  # steps of a dry run


class RunLog:
    """A log in ``log.jsonl`` of the run's folder, and in ``tensorboard/`` if requested."""

    def __init__(self, folder: Path, stage: str, tensorboard: bool) -> None:
        self._stage = stage
        self._stream = (folder / LOG_FILE).open("ab")
        self._events: Any = None
        if tensorboard:
            board = imported("torch.utils.tensorboard", "TensorBoard", "train")
            self._events = board.SummaryWriter(str(folder / "tensorboard" / stage))

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Log the losses of a step, or dev metrics after it."""
        line = {"stage": self._stage, "step": step, "time": round(time.time(), 3), **values}
        self._stream.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        self._stream.flush()
        if self._events is not None:
            for name, value in values.items():
                self._events.add_scalar(name, value, step)

    def close(self) -> None:
        """Close the files."""
        self._stream.close()
        if self._events is not None:
            self._events.close()


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """The end of a run.

    Attributes:
        folder: the Hugging Face folder that ``slice-os model export`` takes.
        seconds: from the last start of the run to its end.
        before, after: dev metrics of the recipe's model and of the result; zeros without dev data.
    """

    folder: Path
    seconds: float
    before: DevResult
    after: DevResult
    datasets: Mapping[str, Counts]


def train(
    config: TrainingConfig,
    data: str | Path,
    out: str | Path,
    *,
    tensorboard: bool = False,
    progress: Report = silent,
) -> TrainingSummary:
    """Carry out a recipe, or resume it where it stopped.

    The result, logs and checkpoints are in ``out``. If it holds an unfinished run of the same
    recipe, that run is resumed; a finished one is left alone. TensorBoard events are written beside
    ``log.jsonl``. Progress is a `Tick` after each step, and before and after all steps.

    Raises:
        MissingExtraError: without the extra ``train``.
        InputError: if data are missing or malformed, or the folder holds another run.
        ModelError: if the model cannot be loaded.
    """
    target = Path(out)
    claim_folder(target, config)
    if (finished := load_summary(target)) is not None:
        return finished
    began = time.monotonic()
    context = RunContext(config, Path(data), target, progress)
    before = context.measure(context.base, "dev metrics before")
    for stage in config.stages:
        events = tensorboard and context.accelerator.is_main_process
        with closing(RunLog(target, stage.name, events)) as log:
            _carry_out(stage, context, log)
    result = context.result()
    after = context.measure(result, "dev metrics after")
    counts = {name: loaded.counts for name, loaded in context.datasets.items()}
    if context.accelerator.is_main_process:
        context.save(result, target)
        _save_projection(context, result)
        card = model_card(config, counts, before, after)
        (target / "README.md").write_text(card, "utf-8")
    summary = TrainingSummary(target, time.monotonic() - began, before, after, counts)
    if context.accelerator.is_main_process:
        save_summary(summary)
    context.accelerator.wait_for_everyone()
    return summary


def _carry_out(stage: Stage, context: RunContext, log: RunLog) -> None:
    """A stage from its last checkpoint to its end; its result is in the folder of its name."""
    result = context.out / STAGES / stage.name
    if result.is_dir():
        return
    run = context.stage(stage)
    work = context.out / CHECKPOINT / stage.name
    started, first = time.monotonic(), load_checkpoint(work / CHECKPOINT, run)
    main = context.accelerator.is_main_process
    dev = context.config.dev
    for step in range(first, stage.steps):
        losses = run.step(step)
        done = step + 1
        if main:
            log.write(done, {**losses, "learning_rate": run.learning_rate(step)})
        pace = (time.monotonic() - started) / (done - first)
        left = pace * (stage.steps - done)
        context.report(Tick(stage.name, done, stage.steps, losses["loss"], left))
        if (dev.pairs or dev.substitutions) and done % dev.every == 0:
            found = context.measure(run.student)
            if main:
                log.write(done, {f"dev/{name}": value for name, value in asdict(found).items()})
        if main and stage.save_every and done % stage.save_every == 0:
            save_checkpoint(work / CHECKPOINT, run, done)
    context.accelerator.wait_for_everyone()
    if main:
        made = work / "made"
        context.save(run.student, made)
        result.parent.mkdir(parents=True, exist_ok=True)
        made.rename(result)
        shutil.rmtree(work, ignore_errors=True)
    context.accelerator.wait_for_everyone()


def _save_projection(context: RunContext, result: TrainingEncoder) -> None:
    """Find the projection; a run that has read few records does not spend long on it."""
    read = sum(stage.records for stage in context.config.stages)
    records = context.sample(min(RECORDS, read))
    projection = learned_projection(
        result,
        records,
        f"{context.config.seed}/axes",
        steps=-(-STEPS * min(RECORDS, read) // RECORDS),
        progress=context.progress("projection"),
    )
    np.save(context.out / PROJECTION_FILE, projection.cpu().numpy(), allow_pickle=False)


def claim_folder(target: Path, recipe: Any) -> None:
    """Take a folder that is empty, or holds a run of the same recipe, else raise `InputError`."""
    content = orjson.dumps(asdict(recipe), option=orjson.OPT_INDENT_2, default=repr)
    note = target / RECIPE_FILE
    if note.is_file():
        if note.read_bytes() != content:
            raise InputError(f"{target}: holds a run of another recipe; choose another folder")
        return
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: is not empty and holds no run; choose another folder")
    with replacing(note) as part:
        part.write_bytes(content)


def save_summary(summary: TrainingSummary) -> None:
    """Write a summary into its folder; from then on the run counts as finished."""
    values = asdict(summary)
    del values["folder"]
    content = orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    with replacing(summary.folder / SUMMARY_FILE) as part:
        part.write_bytes(content)


def load_summary(folder: Path) -> TrainingSummary | None:
    """The summary of a finished run, None if it is not finished; `InputError` if damaged."""
    path = folder / SUMMARY_FILE
    if not path.is_file():
        return None
    try:
        return record(TrainingSummary, orjson.loads(path.read_bytes()), folder=folder)
    except (orjson.JSONDecodeError, AttributeError, InputError) as error:
        raise InputError(
            f"{path}: damaged ({type(error).__name__}: {error}); delete it to finish the run again"
        ) from None


def model_card(
    config: TrainingConfig, datasets: Mapping[str, Counts], before: DevResult, after: DevResult
) -> str:
    """A README.md with the license in its front matter, the data, the stages and dev metrics."""
    data = "".join(
        f"| {name} ({config.data[name].part}) | {held.records:,} | {held.contaminated:,} "
        f"| {held.unfit:,} | {config.data[name].license} | {config.data[name].source} |\n"
        for name, held in datasets.items()
    )
    notes = ""
    if config.soup:
        shares = [f"{share:g} of {name}" for name, share in config.soup.items()]
        rest = 1 - sum(config.soup.values())
        notes += f"\nWeights: {' + '.join(shares)} + {rest:g} of {config.model}.\n"
    if (second := config.second_teacher) is not None:
        notes += f"\nSecond teacher: {second.model} ({second.license}).\n"
    stages = "".join(map(_stage_line, config.stages))
    values = {"stages": stages, "notes": notes, "before": before, "after": after}
    template = Path(__file__).with_name("model_card.md").read_text("utf-8")
    return template.format(config=config, data=data, **values)


def _stage_line(stage: Stage) -> str:
    terms = ", ".join(
        f"{term.weight:g} × {term.kind} on {' + '.join(term.data)} (batch {term.batch})"
        for term in stage.objectives
    )
    return (
        f"- {stage.name}: {stage.steps} steps from {stage.start}, learning rate "
        f"{stage.learning_rate:g}{', two teachers' if stage.two_teachers else ''}: {terms}\n"
    )


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """The estimate of a stage; ``seconds`` are for all its steps, without evaluations."""

    name: str
    parameters: int
    steps: int
    step_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of a run; ``memory_bytes`` is the peak of the GPU or else of the process."""

    device: str
    stages: tuple[StageEstimate, ...]
    memory_bytes: int
    datasets: Mapping[str, Counts]


def estimate(config: TrainingConfig, data: str | Path, progress: Report = silent) -> Estimate:
    """Take a few steps of every stage from the recipe's model, and keep nothing.

    Raises the errors of `train`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        context = RunContext(config, Path(data), Path(scratch), progress)
        stages = []
        for stage in tracked(config.stages, "trying stages", progress):
            # Earlier stages have no result yet; the base model has the same size.
            run = context.stage(replace(stage, start=BASE, teacher=BASE))
            for step in range(_WARM):
                run.step(step)
            began = time.perf_counter()
            for step in range(_WARM, _WARM + _TIMED):
                run.step(step)
            pace = (time.perf_counter() - began) / _TIMED
            count = sum(parameter.numel() for _, parameter in run.trained)
            stages.append(StageEstimate(stage.name, count, stage.steps, pace, pace * stage.steps))
        device = context.accelerator.device
        counts = {name: loaded.counts for name, loaded in context.datasets.items()}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory *= 1 if sys.platform == "darwin" else 1024
    if device.type == "cuda":
        memory = torch.cuda.max_memory_allocated()
    return Estimate(str(device), tuple(stages), memory, counts)
