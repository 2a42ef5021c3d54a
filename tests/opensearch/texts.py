"""Real texts for the tests of the OpenSearch store, and small indices made of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from opensearchpy import OpenSearch

from slice_os import Corpus, Document, IndexOptions, SpanEncoder

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


@contextmanager
def own_address(url: str) -> Iterator[str]:
    """The address of an index that is deleted at the end."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield f"{url}/{name}"
    with OpenSearch(url) as client:
        client.indices.delete(index=f"{name}-0*")
        client.indices.delete_index_template(name=f"slice-os-{name}")


@contextmanager
def index_of(documents: int | Iterable[Document], url: str, encoder: SpanEncoder) -> Iterator[str]:
    """The address of an index with some documents, or so many dialogues, for a module of tests."""
    with own_address(url) as address:
        with Corpus(address, encoder, index=IndexOptions(replicas=0)) as corpus:
            corpus.add(dialogues(documents) if isinstance(documents, int) else documents)
        yield address


def _document(number: int, record: dict) -> Document:
    text = "\n".join(turn["text"] for turn in record["text"])
    return Document(record["id"], text, {"domain": record["domain"], "number": number})
