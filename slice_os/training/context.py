"""The parts that the stages of a run share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson

from slice_os.encoder.hugging_face import load_encoder
from slice_os.errors import imported
from slice_os.training.backend import torch
from slice_os.training.config import BASE, Stage, TrainingConfig
from slice_os.training.prepared_sets import load_datasets, texts_of
from slice_os.training.progress import Report, Tick, silent
from slice_os.training.record_types import Record
from slice_os.training.stage import StageRun
from slice_os.training.teachers import OneTeacher, Teacher, TwoTeachers, sample_phrases
from slice_os.training.training_encoder import TrainingEncoder

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
        self.base = self._encoder(loaded.network, chunk=0)
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

    def _encoder(self, network: Any, chunk: int) -> TrainingEncoder:
        network.to(self.accelerator.device)
        return TrainingEncoder(
            network, self._tokenizer, max_pieces=self.config.max_pieces, chunk=chunk or None
        )


def _data_names(*stages: Stage) -> list[str]:
    names = (name for stage in stages for term in stage.objectives for name in term.data)
    return list(dict.fromkeys(names))
