"""Ray Data on this machine: two workers load an index, and one of them is killed."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slice_os import Corpus, InputError, MissingExtraError, SpanEncoder, StoreError
from slice_os.ingest.readers import ReadOptions
from tests.soak.ray_load import load_by_ray, ray_workers  # before Ray: it sets its variables

from .support import Index, assert_as_if_in_one_go, dialogues, write_lines

pytest.importorskip("ray", reason="needs the extra 'ray'")

from slice_os.ingest.ray_data import EncodeDocuments, IndexSink

pytestmark = [pytest.mark.release, pytest.mark.large]


@pytest.fixture
def workers() -> Iterator[None]:
    """Ray with two workers."""
    with ray_workers(processors=2):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("quick_lease")
def test_a_load_with_killed_workers_equals_one_process_and_excludes_others(
    workers: None,
    index: Index,
    address: str,
    encoder: SpanEncoder,
    tmp_path: Path,
) -> None:
    class KilledEncoder(EncodeDocuments):
        """Its process is killed once, after a batch."""

        def __call__(self, batch: Any) -> Any:
            encoded = super().__call__(batch)
            if not (tmp_path / "encoder-killed").exists():
                (tmp_path / "encoder-killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return encoded

    class KilledSink(IndexSink):
        """The process of one task is killed, with requests under way."""

        def write(self, blocks: Any, ctx: Any) -> Any:
            from slice_os.stores.cluster.loading import bulk, lease, writer

            bulk.CHUNK_ACTIONS, writer.LOOKUP_DOCUMENTS = 5, 2
            lease.BEAT_SECONDS, lease.SILENCE_SECONDS = 0.2, 2.0
            whole = writer.OpenSearchWriter.write
            written = []

            def killed(self: Any, part: Any) -> Any:
                written.append(part)
                if len(written) == 5 and not (tmp_path / "sink-killed").exists():
                    (tmp_path / "sink-killed").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return whole(self, part)

            writer.OpenSearchWriter.write = killed
            try:
                return super().write(blocks, ctx)
            finally:
                writer.OpenSearchWriter.write = whole

    rows = dialogues(24)
    letters = tmp_path / "letters.jsonl"
    sink = KilledSink(address, dead_letters=letters)
    bad = [{"id": "no text", "text": ""}, {"text": "No id."}]
    summary = load_by_ray([*rows, *bad], sink, encode=KilledEncoder)
    assert (tmp_path / "encoder-killed").exists()
    assert (tmp_path / "sink-killed").exists()
    stored = summary.documents + summary.documents_unchanged
    assert (stored, summary.bad_records) == (24, 2)
    reasons = sorted(json.loads(line)["reason"] for line in letters.read_text().splitlines())
    assert reasons[0] == "field 'id' is missing"
    assert "field 'text' is missing or empty" in reasons[1]

    path = write_lines(tmp_path / "dialogues.jsonl", rows)
    with Corpus(f"{address}-fresh", encoder) as fresh, Corpus(address, encoder) as ours:
        fresh.ingest([path], dead_letters=letters)
        for phrase in ("what is the status of my order", "change my seat"):
            assert list(ours.search(phrase)) == list(fresh.search(phrase))
    assert_as_if_in_one_go(index.client, index.alias, f"{index.alias}-fresh", sources=False)
    assert index.settings == (None, "1")

    # Another writer excludes a load for as long as it is there; only what has changed is written.
    changed = [*rows[1:], {**rows[0], "text": "All new."}]
    sink_again = IndexSink(address, dead_letters=letters)
    refused = pytest.raises(StoreError, match="another process is writing")
    with Corpus(address, encoder) as corpus, corpus.store.writer(), refused:
        sink_again.on_write_start()
    again = load_by_ray(changed, sink_again)
    assert (again.documents, again.documents_unchanged) == (1, 23)


def test_a_row_is_in_the_language_that_is_told(tmp_path: Path, encoder: SpanEncoder) -> None:
    Corpus(tmp_path / "store", encoder).add([])
    encode = EncodeDocuments(str(tmp_path / "store"), ReadOptions(language="de"), threads=1)
    (row,) = encode(pa.table({"id": ["a"], "text": ["Bis Nr. 5 gilt das."]})).to_pylist()
    assert json.loads(row["document"])["language"] == "de"


def test_turns_in_several_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="group the dataset before"):
        EncodeDocuments(str(tmp_path), ReadOptions(group_by="call", text_field="turn"))


def test_a_folder_is_refused(tmp_path: Path, encoder: SpanEncoder) -> None:
    Corpus(tmp_path / "store", encoder).add([])
    with pytest.raises(StoreError, match="into OpenSearch"):
        IndexSink(str(tmp_path / "store"))


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    monkeypatch.delitem(sys.modules, "slice_os.ingest.ray_data")
    with pytest.raises(MissingExtraError, match=r"pip install 'slice-os\[ray\]'"):
        importlib.import_module("slice_os.ingest.ray_data")
