"""Run records: what made a file of hits, in a file of JSON beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import orjson

from slice_os.encoder.model_folder import files_hash
from slice_os.errors import InputError
from slice_os.records import record
from slice_os.tables.replacing import replacing
from slice_os.tables.table import json_object

ENDING = ".run.json"


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic of a run: its name, the SHA-256 of its file, and the least that its hits needed."""

    name: str
    sha256: str
    threshold: float | None = None
    min_probability: float | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run: the phrases or topics, the store, the model, and the time.

    Attributes:
        command: ``search``, ``mine`` or ``scan``.
        version: of SLICE-OS.
        date: of its beginning, in UTC, as in 2026-11-23T16:00:00Z.
        model: name of the encoder.
        model_hash: its id: of the SHA-256 of the model's files, the first 16 digits.
        verifier: name of what read the hits; None if nothing did.
        store: folder or address; None if there was none.
        phrases: that were looked for; none if topics were.
        topics: that were looked for.
        wanted_hash: SHA-256 of the phrases, counter-phrases and topics.
        threshold: least cosine of a hit; None if there was none, or each topic has its own.
        min_probability: likewise, for the probability.
        options: further options that were given, by name.
    """

    command: str
    version: str
    date: str
    model: str
    model_hash: str
    verifier: str | None
    store: str | None
    phrases: tuple[str, ...]
    topics: tuple[TopicRecord, ...]
    wanted_hash: str
    threshold: float | None = None
    min_probability: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def told(self) -> dict[str, str]:
        """The run for people: names and texts, without what there is none of."""
        topics = (f"{one.name} ({one.sha256[:16]})" for one in self.topics)
        cuts = {"cosine": self.threshold, "probability": self.min_probability}
        lines = {
            "command": self.command,
            "model": f"{self.model} ({self.model_hash})",
            "verifier": self.verifier or "",
            "store": self.store or "",
            "phrases": "; ".join(f"“{one}”" for one in self.phrases),
            "topics": ", ".join(topics),
            "phrases or topics, SHA-256": self.wanted_hash,
            "cut": " and ".join(f"{k} from {v:g}" for k, v in cuts.items() if v is not None),
            **{name.replace("_", " "): _plain(value) for name, value in self.options.items()},
            "version": self.version,
            "date": self.date,
        }
        return {name: text for name, text in lines.items() if text}


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The record beside a file of hits: its run, the number of its hits, and its own SHA-256."""

    run: RunRecord
    hits: int
    sha256: str

    def matches(self, path: str | Path) -> bool:
        """Whether the file is still as it was written."""
        return files_hash(Path(path)) == self.sha256


def now() -> str:
    """This moment in UTC, as records have it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_record(run: RunRecord, path: str | Path, hits: int) -> None:
    """Write the record of a complete file of hits."""
    whole = FileRecord(run, hits, files_hash(Path(path)))
    with replacing(record_file(path)) as part:
        part.write_bytes(
            orjson.dumps(asdict(whole), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )


def read_record(path: str | Path) -> FileRecord:
    """The record of a file of hits.

    Raises an `InputError` if there is none, or it cannot be used.
    """
    place = record_file(path)
    try:
        content = place.read_bytes()
    except OSError as error:
        raise InputError(
            f"{place}: no run record ({error.strerror}); `slice-os mine -o` writes one"
        ) from None
    try:
        return record(FileRecord, json_object(content, str(place)))
    except InputError as error:
        raise InputError(f"{place}: no run record ({error})") from None


def record_file(path: str | Path) -> Path:
    """The place of the record of a file: its name with ``.run.json`` at the end."""
    return Path(f"{path}{ENDING}")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
