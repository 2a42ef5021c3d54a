"""Reading recipes: a TOML file as a `TrainingConfig`.

A wrong value is refused with one line that names the file, the table and the field.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from slice_os.errors import InputError
from slice_os.training.config import (
    DataConfig,
    DevConfig,
    SecondTeacherConfig,
    Stage,
    Term,
    TrainingConfig,
)
from slice_os.training.objectives import OBJECTIVES
from slice_os.training.settings import as_kind, as_table, from_table, read_toml


def read_config(path: str | Path) -> TrainingConfig:
    """Read and check a recipe.

    Raises:
        InputError: if the file is missing or not TOML, a field is missing, unknown or of another
            type, or a value is out of range.
    """
    table = read_toml(Path(path))
    try:
        return _config(table)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _config(table: dict[str, Any]) -> TrainingConfig:
    data = table.pop("data", {})
    soup = as_table(table.pop("soup", {}), "soup")
    stages = table.pop("stages", [])
    second_teacher = table.pop("second_teacher", None)
    if not isinstance(data, dict) or not isinstance(stages, list):
        raise InputError("write data sets as [data.NAME] and stages as [[stages]]")
    return from_table(
        TrainingConfig,
        table,
        "recipe",
        data={name: from_table(DataConfig, part, f"data.{name}") for name, part in data.items()},
        stages=tuple(_stage(part, f"stages[{index}]") for index, part in enumerate(stages)),
        soup={name: as_kind(share, float, f"soup: {name}") for name, share in soup.items()},
        second_teacher=None
        if second_teacher is None
        else from_table(SecondTeacherConfig, second_teacher, "second_teacher"),
        dev=from_table(DevConfig, table.pop("dev", {}), "dev"),
    )


def _stage(table: Any, where: str) -> Stage:
    table = as_table(table, where)
    terms = table.pop("objectives", [])
    if not isinstance(terms, list):
        raise InputError(f"{where}: write objectives as [[stages.objectives]]")
    objectives = tuple(
        _term(part, f"{where}.objectives[{index}]") for index, part in enumerate(terms)
    )
    return from_table(Stage, table, where, objectives=objectives)


def _term(table: Any, where: str) -> Term:
    table = as_table(table, where)
    kind = table.get("kind")
    if kind not in OBJECTIVES:
        raise InputError(f"{where}: kind is {kind!r}; there are {', '.join(OBJECTIVES)}")
    common = {f.name for f in fields(Term)}
    own = {name: value for name, value in table.items() if name not in common}
    objective = from_table(OBJECTIVES[kind], own, f"{where} ({kind})")
    rest = {name: value for name, value in table.items() if name in common}
    return from_table(Term, rest, where, objective=objective)
