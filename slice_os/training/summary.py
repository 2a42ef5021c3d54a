"""How a run ended, kept beside its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from slice_os.errors import InputError
from slice_os.training.dev import DevResult
from slice_os.training.loaded_sets import Counts

SUMMARY_FILE = "summary.json"


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """How a run ended.

    Attributes:
        folder: the Hugging Face folder that ``slice-os model export`` takes.
        seconds: from the last start of the run to its end.
        before: dev metrics of the recipe's model; zeros without dev data.
        after: dev metrics of the result.
        datasets: what was read and what was dropped, by name of the data set.
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
    made = summary.folder / f"{SUMMARY_FILE}.new"
    made.write_bytes(content)
    made.replace(summary.folder / SUMMARY_FILE)


def load_summary(folder: Path) -> TrainingSummary | None:
    """The summary of a finished run; None if the run is not finished.

    Raises:
        InputError: if it is damaged.
    """
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
