"""Real texts for the tests of the OpenSearch store, from the demo documents."""

from __future__ import annotations

import json
from pathlib import Path

from slice_os import Document

DIALOGUES = Path(__file__).parents[2] / "demo" / "dialogues.jsonl"


def dialogues(count: int) -> list[Document]:
    """Some dialogues, every other one with a number in its metadata."""
    lines = DIALOGUES.read_text("utf-8").splitlines()
    return [_document(number, json.loads(line)) for number, line in enumerate(lines[:count])]


def write_dialogues(path: Path, count: int) -> Path:
    """The first lines of the demo's file."""
    lines = DIALOGUES.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:count]), "utf-8")
    return path


def _document(number: int, record: dict) -> Document:
    text = "\n".join(turn["text"] for turn in record["text"])
    return Document(record["id"], text, {"domain": record["domain"], "number": number})
