"""The parts that the stages of a run share: data, encoders and dev metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
import orjson

from slice_os.encoder.hugging_face import load_encoder
from slice_os.errors import imported
from slice_os.evaluation.measures import pearson as correlation
from slice_os.training.backend import torch
from slice_os.training.config import BASE, DevConfig, Stage, TrainingConfig
from slice_os.training.objectives.contextual import placed_vectors, substituted
from slice_os.training.prepared_sets import Loaded, load_datasets, texts_of
from slice_os.training.progress import Report, Tick, silent
from slice_os.training.record_types import Pair, Record, Substitution
from slice_os.training.span_tensors import best_cosines, text_vectors
from slice_os.training.stage import StageRun
from slice_os.training.teachers import OneTeacher, Teacher, TwoTeachers, sample_phrases
from slice_os.training.training_encoder import TrainingEncoder

_BATCH = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DevResult:
    """Dev metrics; 0 for one without data, or without a difference in them.

    Attributes:
        pearson: correlation of the best span's cosine (single forward pass) with pairs' scores.
        auc: probability that a right substitute's cosine in context is above a wrong one's.
    """

    pearson: float
    auc: float


def _evaluate(
    config: DevConfig,
    datasets: Mapping[str, Loaded],
    encoder: TrainingEncoder,
    progress: Callable[[int, int], None],
) -> DevResult:
    """Measure an encoder on the dev data of a recipe, with the same records and texts every time.

    Progress is the number of records done, and their total.
    """
    rng = Random("dev")  # noqa: S311
    pairs = _sample(datasets, config.pairs, config.limit, Pair)
    substitutions = _sample(datasets, config.substitutions, config.limit, Substitution)

    def batches(records: Sequence[T], before: int) -> Iterator[Sequence[T]]:
        for start in range(0, len(records), _BATCH):
            part = records[start : start + _BATCH]
            yield part
            progress(before + start + len(part), len(pairs) + len(substitutions))

    encoder.network.eval()
    pearson = auc = 0.0
    with torch.no_grad():
        if pairs:
            best = [_best(part, encoder, config.max_words) for part in batches(pairs, 0)]
            scores = [pair.score for pair in pairs]
            pearson = float(np.nan_to_num(correlation(np.concatenate(best), scores)))
        if substitutions:
            parts = batches(substitutions, len(pairs))
            right, wrong = np.hstack([_right_and_wrong(part, encoder, rng) for part in parts])
            auc = float((right[:, None] > wrong).mean() + (right[:, None] == wrong).mean() / 2)
    return DevResult(pearson, auc)


def _sample(datasets: Mapping[str, Loaded], name: str, limit: int, kind: type[T]) -> list[T]:
    found = datasets[name].sample(limit, Random("dev")) if name else []  # noqa: S311
    return [record for record in found if isinstance(record, kind)]


def _best(pairs: Sequence[Pair], encoder: TrainingEncoder, max_words: int) -> np.ndarray:
    phrases = text_vectors(encoder.encode([pair.first for pair in pairs]))
    passages = encoder.encode([pair.passage.text for pair in pairs])
    return np.asarray(best_cosines(passages, phrases[:, None], max_words)[:, 0].cpu())


def _right_and_wrong(
    records: Sequence[Substitution], encoder: TrainingEncoder, rng: Random
) -> np.ndarray:
    """``(2, n)`` cosines of words with one right and one wrong substitute each, in context."""
    original, *sides = (
        np.asarray(placed_vectors(encoder, placed).cpu()) for placed in substituted(records, rng)
    )
    return np.stack([(original * side).sum(axis=1) for side in sides])


STAGES = "stages"


class RunContext:
    """Data, accelerator and encoders of a run; raises the errors of `train`."""

    def __init__(
        self, config: TrainingConfig, data: Path, out: Path, report: Report = silent
    ) -> None:
        self.config = config
        self.out = out
        self.report = report
        accelerate = imported("accelerate", "Training", "train")
        precision = "no" if config.precision == "fp32" else config.precision
        self.accelerator: Any = accelerate.Accelerator(mixed_precision=precision)
        loaded = load_encoder(config.model)
        self._tokenizer = loaded.tokenizer
        self.base = self._encoder(loaded.network)
        self.datasets = load_datasets(config, data, self.base.fits, report)

    def progress(self, part: str) -> Callable[[int, int], None]:
        """A function that reports how much of a part is done, and its total."""
        return lambda done, total: self.report(Tick(part, done, total))

    def encoder(self, name: str, chunk: int = 0) -> TrainingEncoder:
        """A fresh copy of the base model, or of the result of an earlier stage."""
        source = self.config.model if name == BASE else str(self.out / STAGES / name)
        return self._encoder(load_encoder(source).network, chunk)

    def stage(self, stage: Stage) -> StageRun:
        """A stage before its first step."""
        student = self.encoder(stage.start, stage.chunk)
        teacher = self._teacher(stage)
        return StageRun(stage, self.config.seed, self.datasets, student, teacher, self.accelerator)

    def result(self) -> TrainingEncoder:
        """The recipe's result: the last stage, or the average that ``[soup]`` describes."""
        if not self.config.soup:
            return self.encoder(self.config.stages[-1].name)
        mixed = self.encoder(BASE)
        parameters = list(mixed.network.parameters())
        with torch.no_grad():
            starts = [parameter.clone() for parameter in parameters]
            for name, share in self.config.soup.items():
                others = self.encoder(name).network.parameters()
                for own, start, other in zip(parameters, starts, others, strict=True):
                    own.add_(other - start, alpha=share)
        return mixed

    def sample(self, limit: int) -> list[Record]:
        """Records that stages learn from, equally many of each data set as far as it has them."""
        names = _data_names(*self.config.stages)
        rng = Random(f"{self.config.seed}/sample")  # noqa: S311
        share = max(1, limit // len(names))
        return [record for name in names for record in self.datasets[name].sample(share, rng)]

    def measure(self, encoder: TrainingEncoder, part: str = "") -> DevResult:
        """Dev metrics of an encoder; a named part is reported."""
        progress = self.progress(part) if part else lambda done, total: None
        return _evaluate(self.config.dev, self.datasets, encoder, progress)

    def save(self, encoder: TrainingEncoder, folder: Path) -> None:
        """Write a Hugging Face folder: weights in safetensors, configuration, tokenizer.

        The longest window is stored where sentence-transformers stores it.
        """
        encoder.network.save_pretrained(folder, safe_serialization=True)
        self._tokenizer.save_pretrained(folder)
        limit = orjson.dumps({"max_seq_length": self.config.max_length})
        (folder / "sentence_bert_config.json").write_bytes(limit)

    def _teacher(self, stage: Stage) -> Teacher:
        own = self.base if stage.teacher == BASE else self.encoder(stage.teacher)
        own.network.eval().requires_grad_(False)
        records = (r for name in _data_names(stage) for r in self.datasets[name].records)
        texts = [text for record in records for text in texts_of(record)]
        phrases = sample_phrases(texts, self.base, f"{self.config.seed}/{stage.name}/teacher")
        second_teacher = self.config.second_teacher
        if second_teacher is None or not stage.two_teachers:
            return OneTeacher(own, phrases)
        loaded = load_encoder(second_teacher.model)
        network = loaded.network.to(self.accelerator.device).eval().requires_grad_(False)
        other = TrainingEncoder(network, loaded.tokenizer, max_pieces=self.config.max_pieces)
        centres = second_teacher.first_centre, second_teacher.centre
        return TwoTeachers(
            own, other, weight=second_teacher.weight, centres=centres, phrases=phrases
        )

    def _encoder(self, network: Any, chunk: int = 0) -> TrainingEncoder:
        network.to(self.accelerator.device)
        return TrainingEncoder(
            network, self._tokenizer, max_pieces=self.config.max_pieces, chunk=chunk
        )


def _data_names(*stages: Stage) -> list[str]:
    names = (name for stage in stages for term in stage.objectives for name in term.data)
    return list(dict.fromkeys(names))
