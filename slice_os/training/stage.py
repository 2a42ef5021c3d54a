"""One stage of a recipe: its networks, its loss, and its optimizer steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from slice_os.errors import InputError
from slice_os.training.backend import torch
from slice_os.training.config import Stage, Term
from slice_os.training.objectives.matryoshka import at_dimensions
from slice_os.training.prepared_sets import Loaded
from slice_os.training.record_types import Record
from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import TrainingEncoder


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
        """Take a step.

        Returns:
            The mean loss of each objective before its weight, and ``loss``, their weighted sum.

        Raises:
            InputError: if the loss is not a number.
        """
        network = self.student.network
        network.train(self.stage.dropout)
        rank = self._accelerator.process_index
        torch.manual_seed(Random(f"{self._seed}/{step}/{rank}").getrandbits(63))  # noqa: S311
        losses: dict[str, float] = {}
        for part in range(self.stage.accumulate):
            turn = step * self.stage.accumulate + part
            for name, value in self._accumulate(turn).items():
                losses[name] = losses.get(name, 0.0) + value / self.stage.accumulate
        self._average_gradients()
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

    def _accumulate(self, turn: int) -> dict[str, float]:
        """Add the gradients of one batch of every objective."""
        losses = {"loss": 0.0}
        for index, term in enumerate(self.stage.objectives):
            position = turn * self._accelerator.num_processes + self._accelerator.process_index
            key = f"{self._seed}/{index}"
            batch = self._batch(term, key, position)
            with self._accelerator.autocast():
                loss = self._loss(term, batch, Random(f"{key}/{position}/in"))  # noqa: S311
            if loss.requires_grad:
                self._accelerator.backward(loss * term.weight / self.stage.accumulate)
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

    def _loss(self, term: Term, batch: list[Record], rng: Random) -> Any:
        if term.dimensions:
            return at_dimensions(
                term.objective, term.dimensions, batch, self.student, self._teacher, rng
            )
        return term.objective(batch, self.student, self._teacher, rng)

    def _average_gradients(self) -> None:
        if self._accelerator.num_processes > 1:
            for _, parameter in self.trained:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad = self._accelerator.reduce(parameter.grad, "mean")


def _trained(network: Any, stage: Stage) -> Iterator[tuple[str, Any]]:
    """The parameters that a stage changes; the others are frozen."""
    for name, parameter in network.named_parameters():
        frozen = name.startswith(stage.freeze) if stage.freeze else False
        parameter.requires_grad_(not frozen and not name.startswith("pooler"))
        if parameter.requires_grad:
            yield name, parameter
