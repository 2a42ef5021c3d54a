"""Checkpoints: weights, optimizer and step, in safetensors and JSON, written atomically."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from slice_os.errors import InputError
from slice_os.training.backend import torch
from slice_os.training.stage import StageRun

_WEIGHTS = "weights.safetensors"
_OPTIMIZER = "optimizer.safetensors"
_PROGRESS = "progress.json"


@dataclass(frozen=True, slots=True)
class StageState:
    """The steps taken, the best dev score so far, and the evaluations since it."""

    step: int = 0
    best: float = -1e9
    since_best: int = 0


def save_checkpoint(folder: Path, run: StageRun, state: StageState) -> None:
    """Write a checkpoint, replacing the one before it."""
    from safetensors.torch import save_file

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".checkpoint-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        save_file(_weights(run), made / _WEIGHTS)
        save_file(_moments(run), made / _OPTIMIZER)
        (made / _PROGRESS).write_bytes(orjson.dumps(asdict(state)))
        if folder.exists():
            folder.rename(Path(scratch) / "before")
        made.rename(folder)


def load_checkpoint(folder: Path, run: StageRun) -> StageState:
    """Resume a stage from a checkpoint; without one it starts at the beginning.

    Raises:
        InputError: if the checkpoint is damaged or belongs to another network.
    """
    from safetensors.torch import load_file

    if not folder.is_dir():
        return StageState()
    try:
        state = StageState(**orjson.loads((folder / _PROGRESS).read_bytes()))
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
    return state


def delete_checkpoint(folder: Path) -> None:
    """Delete a checkpoint, if there is one."""
    shutil.rmtree(folder, ignore_errors=True)


def _weights(run: StageRun) -> dict[str, Any]:
    return {name: parameter.detach().cpu().contiguous() for name, parameter in run.trained}


def _moments(run: StageRun) -> dict[str, Any]:
    """The optimizer's state as named tensors."""
    state = run.optimizer.state_dict()["state"]
    return {
        f"{index}.{key}": torch.as_tensor(value).cpu().contiguous()
        for index, values in state.items()
        for key, value in values.items()
    }


def _restore_moments(run: StageRun, moments: dict[str, Any]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in moments.items():
        index, key = name.split(".")
        state.setdefault(int(index), {})[key] = tensor
    groups = run.optimizer.state_dict()["param_groups"]
    run.optimizer.load_state_dict({"state": state, "param_groups": groups})
