"""Logs of a run: a JSON object a line, and TensorBoard events if requested."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from slice_os.errors import MissingExtraError
from slice_os.training.dev import DevResult

LOG_FILE = "log.jsonl"


class RunLog:
    """Appends to ``log.jsonl`` in the run's folder, line by line.

    Args:
        folder: of the run.
        stage: name of the stage, on each line.
        tensorboard: write events as well, in ``tensorboard/``.

    Raises:
        MissingExtraError: if TensorBoard is requested and not installed.
    """

    def __init__(self, folder: Path, stage: str, tensorboard: bool) -> None:
        self._stage = stage
        self._stream = (folder / LOG_FILE).open("ab")
        self._events: Any = None
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise MissingExtraError("TensorBoard", "train") from None
            self._events = SummaryWriter(str(folder / "tensorboard" / stage))

    def step(self, step: int, losses: Mapping[str, float], learning_rate: float) -> None:
        """Log a step's losses."""
        self._write(step, {**losses, "learning_rate": learning_rate})

    def dev(self, step: int, found: DevResult) -> None:
        """Log an evaluation."""
        self._write(step, {f"dev/{name}": value for name, value in asdict(found).items()})

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        line = {"stage": self._stage, "step": step, "time": round(time.time(), 3), **values}
        self._stream.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        self._stream.flush()
        if self._events is not None:
            for name, value in values.items():
                self._events.add_scalar(name, value, step)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        if self._events is not None:
            self._events.close()
