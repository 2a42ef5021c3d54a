"""The other files of a run: log, summary and model card."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from slice_os.errors import InputError, imported
from slice_os.tables.replacing import replacing
from slice_os.training.config import Stage, TrainingConfig
from slice_os.training.dev import DevResult
from slice_os.training.prepared_sets import Counts

LOG_FILE = "log.jsonl"
SUMMARY_FILE = "summary.json"


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
        values = orjson.loads(path.read_bytes())
        return TrainingSummary(
            folder,
            float(values["seconds"]),
            DevResult(**values["before"]),
            DevResult(**values["after"]),
            {name: Counts(**counts) for name, counts in values["datasets"].items()},
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
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
