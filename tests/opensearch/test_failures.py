"""Loads that are killed, or meet a server that is down, full or busy, or that rejects them."""

from __future__ import annotations

import random
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event

import pytest
from opensearchpy import OpenSearch, exceptions

from slice_os import Corpus, Document, SpanEncoder, StoreError
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.pipeline import IngestSummary
from slice_os.stores.cluster.loading.bulk import BulkSender, Outcome, index_action
from slice_os.stores.cluster.loading.writer import OpenSearchWriter
from slice_os.stores.cluster.schema.settings import IndexOptions
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.store import OpenSearchStore

from .node import Node
from .support import (
    DEMO,
    Index,
    assert_as_if_in_one_go,
    call_cli,
    dialogues,
    documents,
    run_cli,
    start_cli,
    write_lines,
)

CONTRACT = min((DEMO / "contracts").glob("*.txt"))
KILLS, WRITES = 4, 24


def operations(index: Index) -> int:
    """How many times something was written or deleted."""
    stats = index.client.indices.stats(index=index.name, metric="indexing")
    written = stats["_all"]["primaries"]["indexing"]
    return int(written["index_total"] + written["delete_total"])


@pytest.mark.slow
@pytest.mark.release
def test_a_load_killed_at_any_moment_resumes(
    index: Index, address: str, encoder: SpanEncoder, tmp_path: Path
) -> None:
    letters = tmp_path / "letters.jsonl"
    records = dialogues(24)
    path = tmp_path / "dialogues.jsonl"
    with Corpus(address, encoder) as corpus:
        # Former versions, longer and shorter than what comes now.
        former = [
            {**record, "text": record["text"] * 3 if number % 2 else record["text"][:2]}
            for number, record in enumerate(records[:16])
        ]
        corpus.ingest([write_lines(path, former)], dead_letters=letters)
    index.change(refresh_interval="7s")
    write_lines(path, records)
    command = ["ingest", path, CONTRACT, "--store", address, "--dead-letters", letters]

    seed = random.randrange(1_000_000)
    moments = random.Random(seed)
    killed = 0
    # Some soon, some late: one in each part of so many writes.
    part = WRITES // KILLS
    for first in moments.sample(range(0, WRITES, part), KILLS):
        began = operations(index)
        until = began + first + moments.randrange(part)
        with start_cli(*command, cwd=tmp_path) as process:
            while process.poll() is None and operations(index) <= until:
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.1))
            killed += process.poll() is None
            process.kill()
        index.client.indices.refresh(index=index.name)
        with Corpus(address, encoder) as corpus:
            assert {record["id"] for record in former} <= set(corpus), f"seed {seed}"
    status, _, errors = run_cli(*command, cwd=tmp_path)
    assert status == 0, f"{errors} (seed {seed}, {killed} killed)"
    with Corpus(f"{address}-fresh", encoder) as fresh:
        fresh.ingest([path, CONTRACT], dead_letters=letters)
    assert_as_if_in_one_go(index.client, index.alias, f"{index.alias}-fresh")
    assert index.settings == ("7s", "1")


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.usefixtures("small_requests")
def test_a_node_that_stops_and_starts_again(
    tight_node: Node, encoder: SpanEncoder, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "dialogues.jsonl", dialogues(16))
    letters = tmp_path / "letters.jsonl"
    with (
        OpenSearch(tight_node.url) as client,
        closing(BulkSender(IndexHandle(client, "plain", "plain"))) as sender,
        ThreadPoolExecutor() as executor,
        Corpus(f"{tight_node.url}/stopped", encoder) as corpus,
        Corpus(f"{tight_node.url}/fresh", encoder) as fresh,
    ):
        client.indices.create(index="plain")
        began: list[Future[list[Outcome]]] = []

        def stop_and_start(summary: IngestSummary) -> None:
            if summary.documents < 8 or began:
                return
            tight_node.stop()
            for number in range(20):
                sender.add(index_action(number, str(number), {"number": number}))
            began.append(executor.submit(lambda: list(sender.outcomes(wait=True))))
            while sender.retries == 0:
                time.sleep(0.01)
            executor.submit(tight_node.start)

        summary = corpus.ingest([path], dead_letters=letters, progress=stop_and_start)
        assert (summary.documents, summary.bad_records) == (16, 0)
        assert sorted(began[0].result(), key=lambda outcome: outcome.owner) == [
            Outcome(number, "") for number in range(20)
        ]
        client.indices.refresh(index="plain")
        assert client.count(index="plain")["count"] == 20
        fresh.ingest([path], dead_letters=letters)
        assert_as_if_in_one_go(client, "stopped", "fresh")


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.usefixtures("small_requests", "quick_lease")
def test_a_node_that_stays_down(
    tight_node: Node,
    encoder: SpanEncoder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write_lines(tmp_path / "dialogues.jsonl", dialogues(12))
    letters, location = tmp_path / "letters.jsonl", f"{tight_node.url}/away"
    command = ["ingest", path, "--store", location, "--dead-letters", letters]

    def stop(summary: IngestSummary) -> None:
        if summary.documents == 6:
            tight_node.stop()

    with monkeypatch.context() as patched, Corpus(location, encoder) as corpus:
        patched.setenv("SLICE_OS_RETRY_SECONDS", "0.5")
        with pytest.raises(StoreError, match=r"no answer.*run the same command again") as caught:
            corpus.ingest([path], dead_letters=letters, progress=stop)
        assert "\n" not in str(caught.value)
    status, output, errors = call_cli(capsys, *command)
    assert (status, output, errors.count("\n")) == (1, "", 1)
    assert "no answer (ConnectionError); is the server running?" in errors

    tight_node.start()
    with OpenSearch(tight_node.url) as client:
        index = Index(client, "away")
        assert index.settings == ("-1", "0")
        with Corpus(location, encoder) as corpus:
            assert corpus.ingest([path], dead_letters=letters).bad_records == 0
        assert index.settings == (None, "1")
        with Corpus(f"{location}-fresh", encoder) as corpus:
            corpus.ingest([path], dead_letters=letters)
        assert_as_if_in_one_go(client, "away", "away-fresh")


@pytest.mark.release
@pytest.mark.usefixtures("small_requests")
def test_a_server_that_is_too_busy(tight_node: Node, encoder: SpanEncoder) -> None:
    given = documents(20)
    crowd = b'{"index": {}}\n{"text": "something else"}\n' * 3_000
    enough = Event()

    def press() -> None:
        with OpenSearch(tight_node.url, max_retries=0) as client:
            while not enough.is_set():
                # As busy for them as for us.
                with suppress(exceptions.TransportError):
                    client.bulk(index="crowd", body=crowd)

    def relent(writer: OpenSearchWriter) -> None:
        while not writer.retries and not enough.wait(0.01):
            pass
        enough.set()

    with ThreadPoolExecutor(5) as executor, Corpus(f"{tight_node.url}/busy", encoder) as corpus:
        corpus.add(documents(1))
        parts = list(encode_documents(given, encoder))
        with corpus.store.writer() as writer:
            executor.map(lambda _: press(), range(4))
            executor.submit(relent, writer)
            try:
                while not enough.is_set():
                    for part in parts:
                        assert not writer.write(part)
            finally:
                enough.set()
            assert not writer.flush()
            assert writer.retries > 0
        assert corpus.info().documents == len(given)
        assert corpus.info().passages == len(given)
        assert all(corpus.text(document.id) == document.text for document in given[::7])


@pytest.mark.parametrize("block", ["read_only_allow_delete", "write"])
@pytest.mark.usefixtures("small_requests", "quick_lease")
def test_an_index_that_becomes_read_only(
    index: Index,
    address: str,
    encoder: SpanEncoder,
    tmp_path: Path,
    block: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write_lines(tmp_path / "dialogues.jsonl", dialogues(10))
    letters = tmp_path / "letters.jsonl"
    command = ["ingest", path, "--store", address, "--dead-letters", letters]

    def set_block(value: bool | None) -> None:
        body = {f"index.blocks.{block}": value}
        index.client.indices.put_settings(index=f"{index.alias}*", body=body)

    request.addfinalizer(lambda: set_block(None))

    def fill_the_disk(summary: IngestSummary) -> None:
        if summary.documents == 5:
            set_block(True)

    with Corpus(address, encoder) as corpus:
        with pytest.raises(StoreError, match=r"is read-only.*run the same command again") as caught:
            corpus.ingest([path], dead_letters=letters, progress=fill_the_disk)
        assert "\n" not in str(caught.value)
    assert not letters.exists()
    status, output, errors = call_cli(capsys, *command)
    assert (status, output, errors.count("\n")) == (1, "", 1)
    assert "is read-only" in errors

    set_block(None)
    status, _, errors = call_cli(capsys, *command)
    assert (status, errors) == (0, "")
    with Corpus(f"{address}-fresh", encoder) as corpus:
        corpus.ingest([path], dead_letters=letters)
    assert_as_if_in_one_go(index.client, index.alias, f"{index.alias}-fresh")
    assert index.settings == (None, "1")


def test_documents_that_do_not_fit_the_mapping(
    index: Index,
    address: str,
    encoder: SpanEncoder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def record(name: str, **fields: object) -> dict[str, object]:
        return {"id": name, "text": f"Please cancel order {name}. " * 30, **fields}

    good = [record("a", year=2020, size=1), record("b", year=2021, size=2)]
    bad = [record("c", year="long ago", size=3), record("d", year=2022, size="large")]
    path = tmp_path / "orders.jsonl"
    letters = tmp_path / "letters.jsonl"
    command = ["ingest", path, "--store", address, "--dead-letters", letters]
    options = IndexOptions(fields={"year": "integer"})
    OpenSearchStore.create(index.client, index.alias, encoder, options=options)
    # All good at first; then one that the declared type, and one that the first value forbids.
    write_lines(path, [*good, record("c", year=1), record("e", year=3)])
    assert call_cli(capsys, *command)[0] == 0
    write_lines(path, [good[0], bad[0], good[1], bad[1], record("e", year=3)])
    for _ in range(2):
        # Also the second time: the source is not finished.
        letters.unlink(missing_ok=True)
        status, output, errors = call_cli(capsys, *command)
        assert status == 1
        assert '"bad_records":2' in output
        written = letters.read_text(encoding="utf-8")
        assert written.count("\n") == 2
        assert "failed to parse field [metadata.year] of type [integer]" in written
        assert "failed to parse field [metadata.size] of type [long]" in written
        assert "2 records could not be used" in errors
    with Corpus(address, encoder) as corpus:
        # Of what is refused, the former version stays.
        assert set(corpus.store.find_documents("abcde")) == {"a", "b", "c", "e"}
        assert corpus.info().passages == sum(
            len(part.passages)
            for part in encode_documents(
                [Document(r["id"], r["text"]) for r in (*good, record("c"), record("e"))],  # type: ignore[arg-type]
                encoder,
            )
        )
    assert not index.faults()
