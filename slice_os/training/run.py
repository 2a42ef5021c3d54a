"""A training run: the stages of a recipe one after the other, watched, logged and resumable."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson

from slice_os.errors import InputError, MissingExtraError
from slice_os.hugging_face import load_encoder
from slice_os.model import PROJECTION_FILE
from slice_os.training.backend import torch
from slice_os.training.checkpoints import (
    Progress,
    delete_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from slice_os.training.config import BASE, Stage, TrainingConfig
from slice_os.training.data.datasets import Loaded, load_datasets, texts_of
from slice_os.training.dev import DevResult, evaluate
from slice_os.training.encoding import TrainingEncoder
from slice_os.training.logs import RunLog
from slice_os.training.model_card import model_card
from slice_os.training.projection import learned_projection
from slice_os.training.records import Record
from slice_os.training.stage import StageRun
from slice_os.training.teachers import OneTeacher, Teacher, TwoTeachers, sample_phrases

RECIPE_FILE = "recipe.json"
STAGES = "stages"
CHECKPOINT = "checkpoint"
BEST = "best"
_SAMPLE = 6000


@dataclass(frozen=True, slots=True)
class Tick:
    """What a progress display is told after each step.

    Attributes:
        stage: name.
        step: steps taken in it, of ``steps``.
        steps: steps it has.
        loss: the weighted loss of the step.
        seconds_left: of this stage, by the pace so far.
    """

    stage: str
    step: int
    steps: int
    loss: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run ended.

    Attributes:
        folder: the Hugging Face folder that ``slice-os export`` takes.
        seconds: spent on steps and evaluations since the run was last started.
        before: dev metrics of the recipe's model, where there is dev data.
        after: dev metrics of the result.
        datasets: what was read and what was dropped.
    """

    folder: Path
    seconds: float
    before: DevResult
    after: DevResult
    datasets: Mapping[str, Loaded]


class RunContext:
    """What the stages of a run share: data, the accelerator, and encoders by stage name."""

    def __init__(self, config: TrainingConfig, data: Path, out: Path) -> None:
        self.config = config
        self.out = out
        self.accelerator = _accelerator(config.precision)
        loaded = load_encoder(config.model)
        self._tokenizer = loaded.tokenizer
        self.base = self._encoder(loaded.network, chunk=0)
        self.datasets = load_datasets(config, data, self.base.fits)

    def encoder(self, name: str, chunk: int = 0) -> TrainingEncoder:
        """A fresh copy of the base model, or of what an earlier stage made."""
        source = self.config.model if name == BASE else str(self.out / STAGES / name)
        return self._encoder(load_encoder(source).network, chunk)

    def stage(self, stage: Stage) -> StageRun:
        """A stage at its beginning."""
        student = self.encoder(stage.start, stage.chunk)
        teacher = self._teacher(stage)
        return StageRun(stage, self.config.seed, self.datasets, student, teacher, self.accelerator)

    def _teacher(self, stage: Stage) -> Teacher:
        own = self.base if stage.teacher == BASE else self.encoder(stage.teacher)
        own.network.eval().requires_grad_(False)
        phrases = self._phrases(stage)
        second_teacher = self.config.second_teacher
        if second_teacher is None or not stage.two_teachers:
            return OneTeacher(own, phrases)
        loaded = load_encoder(second_teacher.model)
        network = loaded.network.to(self.accelerator.device).requires_grad_(False)
        other = TrainingEncoder(network, loaded.tokenizer, max_pieces=self.config.max_pieces)
        return TwoTeachers(
            own, other, weight=second_teacher.weight, centre=second_teacher.centre, phrases=phrases
        )

    def sample(self) -> list[Record]:
        """Records that stages learn from, of each data set as many, where it has them."""
        names = _data_names(self.config.stages)
        rng = Random(f"{self.config.seed}/sample")  # noqa: S311
        share = _SAMPLE // len(names)
        return [record for name in names for record in self.datasets[name].sample(share, rng)]

    def _phrases(self, stage: Stage) -> list[str]:
        records = (r for name in _data_names([stage]) for r in self.datasets[name].records)
        texts = [text for record in records for text in texts_of(record)]
        return sample_phrases(texts, self.base, f"{self.config.seed}/{stage.name}/teacher")

    def save(self, encoder: TrainingEncoder, folder: Path) -> None:
        """Write a folder of Hugging Face: weights in safetensors, configuration, tokenizer.

        The longest window is where sentence-transformers has it.
        """
        encoder.network.save_pretrained(folder, safe_serialization=True)
        self._tokenizer.save_pretrained(folder)
        limit = orjson.dumps({"max_seq_length": self.config.max_length})
        (folder / "sentence_bert_config.json").write_bytes(limit)

    def _encoder(self, network: Any, chunk: int) -> TrainingEncoder:
        network.to(self.accelerator.device)
        return TrainingEncoder(
            network, self._tokenizer, max_pieces=self.config.max_pieces, chunk=chunk or None
        )


def train(
    config: TrainingConfig,
    data: str | Path,
    out: str | Path,
    *,
    tensorboard: bool = False,
    progress: Callable[[Tick], None] = lambda tick: None,
) -> Summary:
    """Carry out a recipe, or go on with it where it was stopped.

    Args:
        config: the recipe.
        data: folder of the data files.
        out: folder for the result, logs and checkpoints; one that holds a run of the same
            recipe is gone on with.
        tensorboard: write TensorBoard events beside ``log.jsonl``.
        progress: is told after each step.

    Raises:
        MissingExtraError: without the extra ``train``.
        InputError: on data that are missing or malformed, or a folder that holds another run.
        ModelError: if the model cannot be loaded.
    """
    target = Path(out)
    _claim(target, config)
    context = RunContext(config, Path(data), target)
    began = time.monotonic()
    before = evaluate(config.dev, context.datasets, context.base)
    for stage in config.stages:
        with RunLog(target, stage.name, tensorboard and context.accelerator.is_main_process) as log:
            _carry_out(stage, context, log, progress)
    result = _mixed(context) if config.soup else context.encoder(config.stages[-1].name)
    after = evaluate(config.dev, context.datasets, result)
    if context.accelerator.is_main_process:
        context.save(result, target)
        projection = learned_projection(result, context.sample(), f"{config.seed}/axes")
        np.save(target / PROJECTION_FILE, projection.cpu().numpy(), allow_pickle=False)
        card = model_card(config, context.datasets, before, after)
        (target / "README.md").write_text(card, "utf-8")
    context.accelerator.wait_for_everyone()
    return Summary(target, time.monotonic() - began, before, after, context.datasets)


def _carry_out(
    stage: Stage, context: RunContext, log: RunLog, progress: Callable[[Tick], None]
) -> None:
    """A stage from where it stands to its end; its result is in the folder of its name."""
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
        state = Progress(state.step + 1, state.best, state.since_best)
        if main:
            log.step(state.step, losses, run.learning_rate(state.step - 1))
        pace = (time.monotonic() - started) / (state.step - first)
        left = pace * (stage.steps - state.step)
        progress(Tick(stage.name, state.step, stage.steps, losses["loss"], left))
        if (dev.pairs or dev.substitutions) and state.step % dev.every == 0:
            state = _watch(run, context, state, log, work)
        if main and stage.save_every and state.step % stage.save_every == 0:
            save_checkpoint(work / CHECKPOINT, run, state)
    _finish(run, context, work, result)


def _watch(
    run: StageRun, context: RunContext, state: Progress, log: RunLog, work: Path
) -> Progress:
    """Evaluate, and keep the weights where they are the best so far."""
    found = evaluate(context.config.dev, context.datasets, run.student)
    if context.accelerator.is_main_process:
        log.dev(state.step, found)
    if found.score <= state.best:
        return Progress(state.step, state.best, state.since_best + 1)
    state = Progress(state.step, found.score, 0)
    if context.config.dev.patience and context.accelerator.is_main_process:
        save_checkpoint(work / BEST, run, state)
    return state


def _finish(run: StageRun, context: RunContext, work: Path, result: Path) -> None:
    """Write the stage's result: the best weights where early stopping is on, else the last."""
    context.accelerator.wait_for_everyone()
    if context.config.dev.patience:
        load_checkpoint(work / BEST, run)
    if context.accelerator.is_main_process:
        made = work / "made"
        context.save(run.student, made)
        result.parent.mkdir(parents=True, exist_ok=True)
        made.rename(result)
        delete_checkpoint(work)
    context.accelerator.wait_for_everyone()


def _data_names(stages: Sequence[Stage]) -> list[str]:
    return list(
        dict.fromkeys(name for stage in stages for term in stage.objectives for name in term.data)
    )


def _mixed(context: RunContext) -> TrainingEncoder:
    """The weights of stages and of the base model, averaged by the recipe's shares."""
    mixed = context.encoder(BASE)
    parameters = list(mixed.network.parameters())
    with torch.no_grad():
        starts = [parameter.clone() for parameter in parameters]
        for name, share in context.config.soup.items():
            others = context.encoder(name).network.parameters()
            for own, start, other in zip(parameters, starts, others, strict=True):
                own.add_(other - start, alpha=share)
    return mixed


def _claim(target: Path, config: TrainingConfig) -> None:
    """Take a folder that is empty, or holds a run of the same recipe."""
    recipe = orjson.dumps(asdict(config), option=orjson.OPT_INDENT_2, default=repr)
    digest = hashlib.sha256(recipe).hexdigest()
    note = target / RECIPE_FILE
    if note.is_file():
        if hashlib.sha256(note.read_bytes()).hexdigest() != digest:
            raise InputError(f"{target}: holds a run of another recipe; choose another folder")
        return
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: is not empty and holds no run; choose another folder")
    target.mkdir(parents=True, exist_ok=True)
    note.write_bytes(recipe)


def _accelerator(precision: str) -> Any:
    try:
        from accelerate import Accelerator
    except ImportError:
        raise MissingExtraError("Training", "train") from None
    return Accelerator(mixed_precision="no" if precision == "fp32" else precision)
