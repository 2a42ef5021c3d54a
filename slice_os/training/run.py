"""A training run: the stages of a recipe in turn, watched, logged and resumable."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import orjson

from slice_os.encoder.model_folder import PROJECTION_FILE
from slice_os.errors import InputError
from slice_os.training import run_files
from slice_os.training.config import Stage, TrainingConfig
from slice_os.training.context import STAGES, RunContext
from slice_os.training.dev import DevResult, evaluate
from slice_os.training.progress import Report, Tick, silent
from slice_os.training.projection import RECORDS, STEPS, learned_projection
from slice_os.training.stage import StageRun, StageState, load_checkpoint, save_checkpoint
from slice_os.training.training_encoder import TrainingEncoder

RECIPE_FILE = "recipe.json"
CHECKPOINT = "checkpoint"
BEST = "best"


def train(
    config: TrainingConfig,
    data: str | Path,
    out: str | Path,
    *,
    tensorboard: bool = False,
    progress: Report = silent,
) -> run_files.TrainingSummary:
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
    _claim(target, config)
    if (finished := run_files.load_summary(target)) is not None:
        return finished
    began = time.monotonic()
    context = RunContext(config, Path(data), target, progress)
    before = _measure(context, context.base, "dev metrics before")
    for stage in config.stages:
        events = tensorboard and context.accelerator.is_main_process
        with closing(run_files.RunLog(target, stage.name, events)) as log:
            _carry_out(stage, context, log)
    result = context.result()
    after = _measure(context, result, "dev metrics after")
    counts = {name: loaded.counts for name, loaded in context.datasets.items()}
    if context.accelerator.is_main_process:
        context.save(result, target)
        _save_projection(context, result)
        card = run_files.model_card(config, counts, before, after)
        (target / "README.md").write_text(card, "utf-8")
    summary = run_files.TrainingSummary(target, time.monotonic() - began, before, after, counts)
    if context.accelerator.is_main_process:
        run_files.save_summary(summary)
    context.accelerator.wait_for_everyone()
    return summary


def _carry_out(stage: Stage, context: RunContext, log: run_files.RunLog) -> None:
    """A stage from its last checkpoint to its end; its result is in the folder of its name."""
    result = context.out / STAGES / stage.name
    if result.is_dir():
        return
    run = context.stage(stage)
    work = context.out / CHECKPOINT / stage.name
    state = load_checkpoint(work / CHECKPOINT, run)
    started, first = time.monotonic(), state.step
    main = context.accelerator.is_main_process
    dev = context.config.dev
    while state.step < stage.steps and not (dev.patience and state.since_best >= dev.patience):
        losses = run.step(state.step)
        state = replace(state, step=state.step + 1)
        if main:
            rate = run.learning_rate(state.step - 1)
            log.write(state.step, {**losses, "learning_rate": rate})
        pace = (time.monotonic() - started) / (state.step - first)
        left = pace * (stage.steps - state.step)
        context.report(Tick(stage.name, state.step, stage.steps, losses["loss"], left))
        if (dev.pairs or dev.substitutions) and state.step % dev.every == 0:
            state = _watch(run, context, state, log, work)
        if main and stage.save_every and state.step % stage.save_every == 0:
            save_checkpoint(work / CHECKPOINT, run, state)
    _finish(run, context, work, result)


def _watch(
    run: StageRun, context: RunContext, state: StageState, log: run_files.RunLog, work: Path
) -> StageState:
    """Evaluate, and keep the weights if they are the best so far."""
    found = evaluate(context.config.dev, context.datasets, run.student)
    if context.accelerator.is_main_process:
        log.write(state.step, {f"dev/{name}": value for name, value in asdict(found).items()})
    if found.score <= state.best:
        return replace(state, since_best=state.since_best + 1)
    state = StageState(state.step, found.score, 0)
    if context.config.dev.patience and context.accelerator.is_main_process:
        save_checkpoint(work / BEST, run, state)
    return state


def _finish(run: StageRun, context: RunContext, work: Path, result: Path) -> None:
    """Write the stage's result: the best weights with early stopping, otherwise the last."""
    context.accelerator.wait_for_everyone()
    if context.config.dev.patience:
        load_checkpoint(work / BEST, run)
    if context.accelerator.is_main_process:
        made = work / "made"
        context.save(run.student, made)
        result.parent.mkdir(parents=True, exist_ok=True)
        made.rename(result)
        shutil.rmtree(work, ignore_errors=True)
    context.accelerator.wait_for_everyone()


def _measure(context: RunContext, encoder: TrainingEncoder, part: str) -> DevResult:
    return evaluate(context.config.dev, context.datasets, encoder, context.progress(part))


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


def _claim(target: Path, config: TrainingConfig) -> None:
    """Take a folder that is empty, or holds a run of the same recipe."""
    recipe = orjson.dumps(asdict(config), option=orjson.OPT_INDENT_2, default=repr)
    note = target / RECIPE_FILE
    if note.is_file():
        if note.read_bytes() != recipe:
            raise InputError(f"{target}: holds a run of another recipe; choose another folder")
        return
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: is not empty and holds no run; choose another folder")
    target.mkdir(parents=True, exist_ok=True)
    note.write_bytes(recipe)
