"""Several workers load one index; some are killed, and others start at the wrong time."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread, Timer
from typing import NoReturn

import pytest
from opensearchpy import OpenSearch, TransportError

from slice_os import Corpus, IndexOptions, SpanEncoder, StoreError
from slice_os.ingest.passages import encode_documents
from slice_os.spans.passages import DocumentPart
from slice_os.stores.cluster.engines.opensearch_engine import OPENSEARCH
from slice_os.stores.cluster.loading import lease
from slice_os.stores.cluster.loading import writer as writer_module
from slice_os.stores.cluster.loading.loading import find_faults, leased
from slice_os.stores.cluster.schema import indices
from slice_os.stores.cluster.schema.settings import choose
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.store import OpenSearchStore
from slice_os.stores.protocol import WorkShare

from .proxy import Forward, Proxy, Reply, Request, proxying, refusing
from .support import (
    DEAD,
    Index,
    assert_as_if_in_one_go,
    dialogues,
    documents,
    merge_away,
    run_cli,
    start_cli,
    write_lines,
)

WORKERS = 4
KILLED = (1, 3)
PHRASES = ("what is the status of my order", "please change my seat", "I need a refund")


@pytest.mark.slow
@pytest.mark.release
def test_four_workers_of_which_two_are_killed_equal_one(
    index: Index, address: str, encoder: SpanEncoder, tmp_path: Path
) -> None:
    """Real processes; what they start with is no index at all."""
    first = f"{index.alias}-000001"
    letters = tmp_path / "letters.jsonl"
    for number in range(24):
        write_lines(tmp_path / f"{number:02}.jsonl", dialogues(3, first=3 * number))
    write_lines(tmp_path / "bad.jsonl", [{"id": "bad"}])
    pattern = tmp_path / "*[0-9d].jsonl"

    def start(number: int) -> subprocess.Popen[str]:
        command = ["ingest", pattern, "--store", address, "--dead-letters", letters]
        return start_cli(
            *command, "--part", f"{number + 1}/{WORKERS}", "--threads", "1", cwd=tmp_path
        )

    def writes(number: int) -> bool:
        with suppress(TransportError):
            key = f"writer-{number + 1}-of-{WORKERS}"
            return index.client.exists(index=lease.index_of_leases(first), id=key)
        return False

    seed = random.randrange(1_000_000)
    moments = random.Random(seed)
    workers = [start(number) for number in range(WORKERS)]

    def kill(number: int, after: float) -> None:
        while workers[number].poll() is None and not writes(number):
            time.sleep(0.01)
        time.sleep(after)
        assert workers[number].poll() is None, f"too late to kill (seed {seed})"
        workers[number].kill()
        workers[number].wait()

    try:
        with ThreadPoolExecutor() as executor:
            list(executor.map(kill, KILLED, [moments.uniform(0, 0.5) for _ in KILLED]))
        for number in KILLED:
            workers[number].communicate()
            workers[number] = start(number)
        outputs = [worker.communicate() for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    # One of them had the bad record.
    assert sorted(worker.returncode for worker in workers) == [0, 0, 0, 1], (seed, outputs)
    assert str(tmp_path / "bad.jsonl") in letters.read_text()

    assert index.name == first
    with Corpus(f"{address}-fresh", encoder) as fresh, Corpus(address, encoder) as ours:
        fresh.ingest([pattern], dead_letters=letters)
        for merged in (first, f"{index.alias}-fresh-000001"):
            merge_away(index.client, merged)
        for phrase in PHRASES:
            assert list(ours.search(phrase)) == list(fresh.search(phrase))
        ours_mined, fresh_mined = (store.mine(PHRASES, threshold=0.6) for store in (ours, fresh))
        assert len(ours_mined) > 3
        assert sorted(map(str, ours_mined)) == sorted(map(str, fresh_mined))
    assert_as_if_in_one_go(index.client, index.alias, f"{index.alias}-fresh")
    assert index.settings == (None, "1")
    status, _, errors = run_cli("store", "check", "--store", address, cwd=tmp_path)
    assert (status, "every document has its passages" in errors) == (0, True)


@contextmanager
def written_by(
    corpus: Corpus, part: str, texts: int = 3, first: int = 0
) -> Iterator[OpenSearchStore]:
    """A worker that has written something and is still there."""
    store = corpus.store
    assert isinstance(store, OpenSearchStore)
    with store.writer(WorkShare.parse(part)) as writer:
        for each in encode_documents(documents(first + texts)[first:], corpus.encoder):
            writer.write(each)
        yield store


@pytest.fixture
def corpus(corpus: Corpus) -> Corpus:
    corpus.add([])
    return corpus


@pytest.mark.usefixtures("quick_lease")
class TestTogether:
    def test_the_last_one_restores_the_settings(self, corpus: Corpus, index: Index) -> None:
        index.change(refresh_interval="7s")
        first, second = written_by(corpus, "1/3"), written_by(corpus, "3/3", first=3)
        with second:
            with first:
                assert index.leases() == {"writer-1-of-3", "writer-3-of-3"}
                assert index.settings == ("-1", "0")
            assert index.settings == ("-1", "0")
            assert index.leases() == {"writer-3-of-3"}
        assert index.settings == ("7s", "1")
        assert index.leases() == set()
        assert not {"restore", "load"} & index.meta.keys()
        assert corpus.info().documents == 6

    @pytest.mark.parametrize(
        ("there", "comes", "reason"),
        [
            ("3/16", "3/16", r"writing part 3/16 of it \(process \d+ on .*\); wait until"),
            ("3/16", "1/8", "writing part 3/16 of it"),
            ("3/16", "1/1", "writing part 3/16 of it"),
            ("1/1", "3/16", "writing to it"),
            ("1/1", "1/1", "writing to it"),
        ],
    )
    def test_who_excludes_whom(self, corpus: Corpus, there: str, comes: str, reason: str) -> None:
        with written_by(corpus, there) as store:
            with pytest.raises(StoreError, match=reason) as caught, written_by(corpus, comes):
                pass
            assert "\n" not in str(caught.value)
            if there != "1/1":
                with pytest.raises(StoreError, match=reason), leased(store.handle):
                    pass
        with written_by(corpus, comes):
            pass
        assert corpus.info().documents == 3

    def test_an_error_in_one_is_repaired_by_the_last(
        self, corpus: Corpus, index: Index, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lost(*_: object) -> NoReturn:
            raise StoreError("it can delete nothing any more")

        monkeypatch.setattr(writer_module, "find_faults", lost)
        (whole,) = encode_documents(documents(1, words=2_000), corpus.encoder)
        cut = DocumentPart(whole.document, whole.passages[:-1], last=False)

        def fail(store: OpenSearchStore) -> None:
            with store.writer(WorkShare(2, 2)) as writer:
                writer.write(cut)
                writer.flush()
                raise ZeroDivisionError

        with written_by(corpus, "1/2", first=1) as store:
            with pytest.raises(ZeroDivisionError):
                fail(store)
            # Its passages are there, since the other one may not repair yet.
            assert index.settings[0] == "-1"
            (fault,) = [fault for fault in find_faults(store.handle) if fault.doc_id == "doc-000"]
            assert fault.surplus
        assert not list(find_faults(store.handle))
        assert index.settings == (None, "1")
        assert not {"restore", "load"} & index.meta.keys()
        assert corpus.info().documents == 3

    def test_one_that_never_comes_back_is_waited_for_and_cleared_away(
        self, corpus: Corpus, index: Index
    ) -> None:
        with written_by(corpus, "1/2"):
            index.leave("writer-2-of-2")
        assert index.leases() == set()
        assert index.settings == (None, "1")

    def test_another_division_takes_over_from_the_dead(self, corpus: Corpus, index: Index) -> None:
        with suppress(StoreError), written_by(corpus, "1/8") as store:
            for key in ("writer-1-of-8", "writer-5-of-8"):
                index.leave(key)
            for thread in threading.enumerate():
                if thread.name == "lease":
                    thread.join(60)  # until it sees that it has lost its lease
        assert index.leases() == {"writer-1-of-8", "writer-5-of-8"}
        assert index.meta["load"] == {"parts": 8, "interrupted": False}
        with written_by(corpus, "2/16", first=3):
            assert index.leases() == {"writer-2-of-16"}
        assert index.leases() == set()
        assert index.settings == (None, "1")
        assert not list(find_faults(store.handle))


@pytest.mark.usefixtures("quick_lease")
def test_a_live_writer_whose_process_id_is_unknown_here(corpus: Corpus, index: Index) -> None:
    """As in another container with the same host name."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(ended.pid, 0)
    record = DEAD | {"source": socket.gethostname(), "ordinal": ended.pid}
    gone = Event()

    def beat() -> None:
        while not gone.wait(lease.BEAT_SECONDS):
            index.leave("writer-1-of-1", record)

    index.leave("writer-1-of-1", record)
    holder = Thread(target=beat)
    holder.start()
    try:
        with pytest.raises(StoreError, match=f"process {ended.pid} on {record['source']}"):
            corpus.add(documents(1))
    finally:
        gone.set()
        holder.join()
    assert corpus.add(documents(1)) == 1


@pytest.mark.usefixtures("quick_lease")
def test_one_that_was_cut_off_writes_nothing_after_another_took_over(
    opensearch_url: str, corpus: Corpus, index_name: str, encoder: SpanEncoder
) -> None:
    """Its passages are deleted meanwhile, so the record that it is about to send must not come."""
    cut_off, taken_over = Event(), Event()
    bulk_requests = count()

    def fault(request: Request, forward: Forward) -> Reply:
        if "_bulk" in request.path and next(bulk_requests):
            cut_off.set()
        if cut_off.is_set() and not taken_over.is_set():
            return refusing(503)(request, forward)
        return forward()

    def load(location: str) -> None:
        with Corpus(location, encoder) as late, written_by(late, "1/2", texts=1):
            pass

    with proxying(Proxy(opensearch_url, fault)) as proxy, ThreadPoolExecutor() as executor:
        loading = executor.submit(load, f"{proxy.url}/{index_name}")
        assert cut_off.wait(60)
        with written_by(corpus, "2/2", first=1) as store:
            pass
        taken_over.set()
        with pytest.raises(StoreError, match="another process has taken over"):
            loading.result()
    assert not list(find_faults(store.handle))
    assert set(corpus) == {"doc-001", "doc-002", "doc-003"}


@pytest.mark.usefixtures("quick_lease")
def test_the_last_request_of_a_killed_writer_arrives_late(corpus: Corpus, index: Index) -> None:
    index.leave("writer-1-of-1")
    late = Timer(lease.SILENCE_SECONDS / 2, index.leave, ["writer-1-of-1"])
    late.start()
    try:
        assert corpus.add(documents(1)) == 1
    finally:
        late.join()


@pytest.mark.usefixtures("quick_lease")
def test_after_a_process_was_killed_while_it_began(corpus: Corpus, index: Index) -> None:
    index.leave(lease.GATE_KEY)
    index.note(restore={"refresh_interval": "7s"}, load={"parts": 1, "interrupted": True})
    assert corpus.add(documents(2)) == 2
    assert index.leases() == set()
    assert index.settings[0] == "7s"
    assert "restore" not in index.meta


class TestCreating:
    def test_many_at_once_make_one_index(
        self, opensearch_url: str, index: Index, encoder: SpanEncoder
    ) -> None:
        def make(_: int) -> str:
            with OpenSearch(opensearch_url, timeout=60) as client:
                return OpenSearchStore.create(client, index.alias, encoder).handle.name

        with ThreadPoolExecutor(6) as executor:
            made = set(executor.map(make, range(6)))
        assert made == {index.name} == {f"{index.alias}-000001"}
        assert "unfinished" not in index.meta
        assert not index.client.indices.exists(index=f"{index.alias}-000002")
        other = IndexOptions(policy="all")
        with pytest.raises(StoreError, match="made with another encoder or other options"):
            OpenSearchStore.create(index.client, index.alias, encoder, options=other)

    def test_what_a_killed_process_began_is_completed(
        self, index: Index, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(indices, "finish", killed)
            with pytest.raises(KeyboardInterrupt):
                OpenSearchStore.create(index.client, index.alias, encoder)
        first = f"{index.alias}-000001"
        assert Index(index.client, first).meta["unfinished"]
        store = OpenSearchStore.create(index.client, index.alias, encoder)
        assert store.handle.name == first
        assert store.settings.projection is not None

    def test_unfinished_with_other_settings_is_left_alone(
        self, index: Index, encoder: SpanEncoder
    ) -> None:
        handle = IndexHandle(index.client, index.alias, index.alias)
        options = IndexOptions(policy="all")
        settings = choose(options, encoder.card, 64, encoder.projection, OPENSEARCH)
        indices.make_version(handle, (), options, settings)
        store = OpenSearchStore.create(index.client, index.alias, encoder)
        assert store.handle.name == index.name == f"{index.alias}-000002"
