"""Recipes: a TOML file as frozen dataclasses, every value checked.

A wrong value is refused with one line that names the file, the table and the field.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from slice_os.errors import InputError
from slice_os.records import (
    ABOVE_0,
    Count,
    Natural,
    NotNegative,
    Positive,
    at_least,
    known,
    one_of,
    read_record,
    record,
)
from slice_os.training.examples.formats import FORMATS
from slice_os.training.objectives import OBJECTIVES, Objective
from slice_os.training.record_types import Pair, Substitution

BASE = "base"
_FOLDS = 12


@dataclass(frozen=True, slots=True)
class DataConfig:
    """A data set: ``[data.NAME]``.

    Attributes:
        format: how its files are read; see `slice_os.training.examples.formats`.
        files: files, relative to the data folder.
        place_in: name of a data set of passages; second phrases of pairs are placed in its text.
            Empty to leave them alone.
        split: only documents of this split, in formats that have splits.
        max_words: longest piece that passages are cut into, in words.
        part: ``all``; or ``dev`` for a twelfth of the records, chosen by a hash of their first
            text or word, and ``train`` for the others.
        license, source: of the data, for the model card.
    """

    format: Annotated[str, one_of(tuple(FORMATS))]
    files: tuple[str, ...]
    place_in: str = ""
    split: str = ""
    max_words: Annotated[int, at_least(4)] = 60
    part: Annotated[str, one_of(("all", "train", "dev"))] = "all"
    license: str = "unknown"
    source: str = ""

    def __post_init__(self) -> None:
        if not self.files:
            raise InputError("files is empty; name at least one")
        if self.split and not FORMATS[self.format].splits:
            raise InputError(f"split is {self.split!r}; format {self.format!r} has no splits")

    def holds(self, key: str) -> bool:
        """Whether a record of that key is in this part."""
        held_out = zlib.crc32(key.encode()) % _FOLDS == 0
        return self.part == "all" or held_out == (self.part == "dev")


@dataclass(frozen=True, slots=True)
class Term:
    """One objective of a stage: ``[[stages.objectives]]``; the loss is their weighted sum.

    Attributes:
        kind: name of the objective in `slice_os.training.objectives.OBJECTIVES`.
        data: names of data sets; each batch comes from one of them.
        batch: records in a batch, for each process.
        weight: factor of its loss.
        shares: how often each data set is sampled, relative to the others; empty for a share
            by its number of records.
        dimensions: lengths of shortened vectors to take the loss at (Matryoshka); empty for
            whole vectors.
        objective: the objective with its own settings, which are in the same table.
    """

    kind: str
    data: tuple[str, ...]
    batch: Count
    objective: Objective
    weight: NotNegative = 1.0
    shares: Annotated[tuple[float, ...], ABOVE_0] = ()
    dimensions: Annotated[tuple[int, ...], at_least(1)] = ()

    def __post_init__(self) -> None:
        if not self.data:
            raise InputError("data is empty; name at least one data set")
        if self.shares and len(self.shares) != len(self.data):
            raise InputError(f"shares has {len(self.shares)} numbers for {len(self.data)} data")

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Term:
        """A term from its table, which also has the settings of its objective."""
        kind = table.get("kind")
        if kind not in OBJECTIVES:
            raise InputError(f"kind is {kind!r}; there are {', '.join(OBJECTIVES)}")
        common = known(cls, table)
        own = {name: value for name, value in table.items() if name not in common}
        try:
            objective = record(OBJECTIVES[kind], own)
        except InputError as error:
            raise InputError(f"{kind}: {error}") from None
        return record(cls, common, objective=objective)


@dataclass(frozen=True, slots=True)
class SecondTeacherConfig:
    """A second teacher for stages with ``two_teachers``: ``[second_teacher]``.

    Attributes:
        model: Hugging Face name or folder; its vectors are means over word pieces.
        weight: of its cosine; that of the first teacher is 1.
        centre: share of its mean vector that is subtracted from its vectors.
        first_centre: the same for the first teacher.
        license: of that model, for the model card.
    """

    model: str
    weight: Positive = 1.0
    centre: NotNegative = 0.5
    first_centre: NotNegative = 0.0
    license: str = "unknown"


@dataclass(frozen=True, slots=True)
class DevConfig:
    """The watching of a run: ``[dev]``, with data that nothing is trained on.

    Attributes:
        pairs: name of a data set of scored pairs, placed in text; the metric is the Pearson
            correlation of the best span's cosine (single forward pass) with the score.
        substitutions: name of a data set of substitutions; the metric is the area under the
            ROC curve of right against wrong ones. Empty for none.
        every: steps between two evaluations.
        limit: largest number of records of each data set to use.
        max_words: longest span.
    """

    pairs: str = ""
    substitutions: str = ""
    every: Count = 100
    limit: Annotated[int, at_least(2)] = 500
    max_words: Count = 20


@dataclass(frozen=True, slots=True)
class Stage:
    """One part of a run: ``[[stages]]``; the last one makes the result, unless there is a soup.

    Attributes:
        name: unique; the folder of its checkpoints.
        steps: optimizer steps.
        start: ``base`` for the recipe's model, or the name of an earlier stage.
        teacher: the same, for the frozen encoder of objectives that need one.
        two_teachers: whether the recipe's second teacher teaches, too.
        learning_rate: highest learning rate of AdamW.
        warmup: steps over which it rises; then it falls linearly to 0.
        clip: largest norm of a gradient.
        chunk: word pieces that keep activations at a time, for large batches (gradient
            caching); 0 for all.
        dropout: keep the model's dropout; training is steadier without it if student and
            teacher should agree.
        freeze: prefixes of the names of parameters that are not trained.
        save_every: steps between two checkpoints; 0 for none.
    """

    name: str
    steps: Count
    objectives: tuple[Term, ...]
    start: str = BASE
    teacher: str = BASE
    two_teachers: bool = False
    learning_rate: Positive = 1e-4
    warmup: Natural = 20
    weight_decay: NotNegative = 0.01
    clip: Positive = 1.0
    chunk: Natural = 0
    dropout: bool = False
    freeze: tuple[str, ...] = ("embeddings.word_embeddings",)
    save_every: Natural = 200

    @property
    def records(self) -> int:
        """The number of records that its steps read in one process."""
        return self.steps * sum(term.batch for term in self.objectives)

    def __post_init__(self) -> None:
        if not self.objectives:
            raise InputError("objectives is empty; give at least one")
        if not self.name or self.name == BASE or "/" in self.name:
            raise InputError(f"name is {self.name!r}; give another, without a slash")


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """A recipe.

    Attributes:
        model: Hugging Face name or folder of the encoder to start from.
        license: SPDX expression for the resulting weights, for the model card.
        data: data sets by name.
        stages: in the order in which they run.
        soup: shares of stages in the resulting weights; the rest is the model started from. An
            average keeps more of what each was good at than one long run (model soups, WiSE-FT;
            Wortsman et al., 2022). Empty for the last stage alone.
        seed: of all random choices.
        precision: ``fp32``, or mixed with ``bf16`` or ``fp16`` (GPU).
        max_pieces: longest training text in word pieces; longer ones are dropped and counted.
        max_length: longest window of the resulting model in word pieces, special tokens
            included; its export keeps it.
        hashes: file of hashes of evaluation sentences, relative to the data folder; records
            that contain one are dropped and counted. Empty for none. The package brings
            ``evaluation-sentence-hashes.txt.gz``, which is used if the folder has no such file.
    """

    name: str
    model: str
    data: Mapping[str, DataConfig]
    stages: tuple[Stage, ...]
    license: str = "unknown"
    soup: Mapping[str, float] = field(default_factory=dict)
    second_teacher: SecondTeacherConfig | None = None
    dev: DevConfig = field(default_factory=DevConfig)
    seed: int = 0
    precision: Annotated[str, one_of(("fp32", "bf16", "fp16"))] = "fp32"
    max_pieces: Annotated[int, at_least(8)] = 160
    max_length: Annotated[int, at_least(16)] = 256
    hashes: str = ""

    def __post_init__(self) -> None:
        if not self.stages:
            raise InputError("stages is empty; give at least one")
        _check_names(self)


def _check_names(config: TrainingConfig) -> None:
    """Check that every name refers to something, and that data fit their objectives."""

    def records(name: str, where: str) -> type:
        if name not in config.data:
            there = ", ".join(config.data) or "none"
            raise InputError(f"{where}: no data set {name!r}; there are {there}")
        return FORMATS[config.data[name].format].records

    for name, data in config.data.items():
        if data.place_in:
            records(data.place_in, f"data.{name}")
    for wanted, kind in ((config.dev.pairs, Pair), (config.dev.substitutions, Substitution)):
        if wanted and records(wanted, "dev") is not kind:
            raise InputError(f"dev: {wanted!r} holds no {kind.__name__} records")
    earlier = [BASE]
    for stage in config.stages:
        for use in (stage.start, stage.teacher):
            if use not in earlier:
                raise InputError(f"stage {stage.name!r}: no earlier stage {use!r}")
        if stage.two_teachers and config.second_teacher is None:
            raise InputError(
                f"stage {stage.name!r} has two teachers; give a table [second_teacher]"
            )
        if stage.name in earlier:
            raise InputError(f"stage {stage.name!r}: there are two of that name")
        earlier.append(stage.name)
        for term in stage.objectives:
            for name in term.data:
                held = records(name, f"stage {stage.name!r}")
                if held not in term.objective.records:
                    raise InputError(
                        f"stage {stage.name!r}: {term.kind} takes "
                        f"{' or '.join(kind.__name__ for kind in term.objective.records)} records, "
                        f"and {name!r} holds {held.__name__} records"
                    )
    for name, share in config.soup.items():
        if name not in earlier[1:]:
            raise InputError(f"soup: no stage {name!r}; there are {', '.join(earlier[1:])}")
        if not share > 0:
            raise InputError(f"soup: {name} is {share}; give a number above 0")
    if sum(config.soup.values()) > 1 + 1e-9:
        raise InputError(f"soup: shares add up to {sum(config.soup.values()):g}; give 1 at most")


def read_config(path: str | Path) -> TrainingConfig:
    """Read and check a recipe.

    Raises an `InputError` if the file is missing or not TOML, a field is missing, unknown or of
    another type, or a value is out of range.
    """
    return read_record(TrainingConfig, Path(path))
