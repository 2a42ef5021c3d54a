"""One stage of a recipe: its networks, its loss, its optimizer steps, and its checkpoints."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Protocol

import orjson

from slice_os.errors import InputError
from slice_os.training.backend import torch
from slice_os.training.config import Stage, Term
from slice_os.training.objectives.objective import at_dimensions
from slice_os.training.prepared_sets import Loaded
from slice_os.training.record_types import Record
from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import TrainingEncoder

_WEIGHTS = "weights.safetensors"
_OPTIMIZER = "optimizer.safetensors"
_PROGRESS = "progress.json"


class StageRun:
    """A stage, taken step by step.

    Every process holds a whole copy of the network and averages gradients with the others.
    All random choices, dropout included, follow from seed, stage, step and process, so a run
    resumed from a checkpoint takes the same steps as one that never stopped.
    """

    def __init__(
        self,
        stage: Stage,
        seed: int,
        datasets: Mapping[str, Loaded],
        student: TrainingEncoder,
        teacher: Teacher,
        accelerator: Any,
    ) -> None:
        self.stage = stage
        self._seed = f"{seed}/{stage.name}"
        self._datasets = datasets
        self.student = student
        self._teacher = teacher
        self._accelerator = accelerator
        self.trained = list(_trained(student.network, stage))
        optimizer = torch.optim.AdamW(
            [parameter for _, parameter in self.trained],
            lr=stage.learning_rate,
            weight_decay=stage.weight_decay,
        )
        self.optimizer = accelerator.prepare(optimizer)

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        rise = (step + 1) / max(self.stage.warmup, 1)
        fall = 1 - max(step - self.stage.warmup, 0) / max(self.stage.steps - self.stage.warmup, 1)
        return self.stage.learning_rate * min(rise, fall, 1.0)

    def step(self, step: int) -> dict[str, float]:
        """Take a step; `InputError` if the loss is not a number.

        Returns:
            The mean loss of each objective before its weight, and ``loss``, their weighted sum.
        """
        self.student.network.train(self.stage.dropout)
        rank = self._accelerator.process_index
        torch.manual_seed(Random(f"{self._seed}/{step}/{rank}").getrandbits(63))  # noqa: S311
        losses = self._add_gradients(step)
        if self._accelerator.num_processes > 1:
            for _, parameter in self.trained:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad = self._accelerator.reduce(parameter.grad, "mean")
        self._accelerator.clip_grad_norm_([p for _, p in self.trained], self.stage.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(step)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if losses["loss"] != losses["loss"]:
            raise InputError(
                f"stage {self.stage.name!r}, step {step + 1}: the loss is not a number; "
                "lower learning_rate, or train in fp32"
            )
        return losses

    def _add_gradients(self, step: int) -> dict[str, float]:
        losses = {"loss": 0.0}
        for index, term in enumerate(self.stage.objectives):
            position = step * self._accelerator.num_processes + self._accelerator.process_index
            key = f"{self._seed}/{index}"
            batch = self._batch(term, key, position)
            rng = Random(f"{key}/{position}/in")  # noqa: S311
            given = (batch, self.student, self._teacher, rng)
            with self._accelerator.autocast():
                if term.dimensions:
                    loss = at_dimensions(term.objective, term.dimensions, *given)
                else:
                    loss = term.objective(*given)
            if loss.requires_grad:
                self._accelerator.backward(loss * term.weight)
                with self._accelerator.autocast():
                    self.student.replay()
            value = float(loss.detach())
            losses[f"{index}-{term.kind}"] = value
            losses["loss"] += term.weight * value
        return losses

    def _batch(self, term: Term, key: str, position: int) -> list[Record]:
        shares = term.shares or [len(self._datasets[name].records) for name in term.data]
        (name,) = Random(f"{key}/{position}").choices(term.data, shares)  # noqa: S311
        return self._datasets[name].batch(position, term.batch, f"{key}/{name}")


def _trained(network: Any, stage: Stage) -> Iterator[tuple[str, Any]]:
    """The parameters that a stage changes; the others are frozen."""
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(not name.startswith((*stage.freeze, "pooler")))
        if parameter.requires_grad:
            yield name, parameter


class Resumable(Protocol):
    """The content of a checkpoint: named parameters, and their optimizer."""

    trained: list[tuple[str, Any]]
    optimizer: Any


def save_checkpoint(folder: Path, run: Resumable, steps: int) -> None:
    """Write a checkpoint after so many steps, replacing the one before it."""
    from safetensors.torch import save_file

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".checkpoint-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        weights = {name: p.detach().cpu().contiguous() for name, p in run.trained}
        save_file(weights, made / _WEIGHTS)
        save_file(_moments(run), made / _OPTIMIZER)
        (made / _PROGRESS).write_bytes(orjson.dumps({"step": steps}))
        if folder.exists():
            folder.rename(Path(scratch) / "before")
        made.rename(folder)


def load_checkpoint(folder: Path, run: Resumable) -> int:
    """Resume a stage from a checkpoint, and return the steps taken: 0 without one.

    `InputError` if the checkpoint is damaged or belongs to another network.
    """
    from safetensors.torch import load_file

    if not folder.is_dir():
        return 0
    try:
        steps = int(orjson.loads((folder / _PROGRESS).read_bytes())["step"])
        weights, moments = load_file(folder / _WEIGHTS), load_file(folder / _OPTIMIZER)
        with torch.no_grad():
            for name, parameter in run.trained:
                parameter.copy_(weights[name])
        _restore_moments(run, moments)
    except Exception as error:  # the libraries raise many kinds
        reason = " ".join(str(error).split())[:150]
        raise InputError(
            f"{folder}: damaged checkpoint ({reason}); delete it to start the stage again"
        ) from None
    return steps


def _moments(run: Resumable) -> dict[str, Any]:
    state = run.optimizer.state_dict()["state"]
    return {
        f"{index}.{key}": torch.as_tensor(value).cpu().contiguous()
        for index, values in state.items()
        for key, value in values.items()
    }


def _restore_moments(run: Resumable, moments: dict[str, Any]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in moments.items():
        index, key = name.split(".")
        state.setdefault(int(index), {})[key] = tensor
    groups = run.optimizer.state_dict()["param_groups"]
    run.optimizer.load_state_dict({"state": state, "param_groups": groups})
