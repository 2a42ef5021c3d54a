"""Writers: one at a time, what one leaves behind, and how it changes the index's settings."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence

import pytest
from opensearchpy import OpenSearch

from slice_os import Corpus, Document, SpanEncoder, StoreError
from slice_os.ingest.passages import encode_documents
from slice_os.spans.passages import DocumentPart
from slice_os.stores.cluster.loading import lease, loading, writer
from slice_os.stores.cluster.loading.bulk import (
    Action,
    BulkSender,
    Outcome,
    delete_action,
    version_of,
)
from slice_os.stores.cluster.loading.loading import Fault, deliver, find_faults
from slice_os.stores.cluster.loading.writer import OpenSearchWriter
from slice_os.stores.cluster.schema.records import passage_key
from slice_os.stores.cluster.search.listing import find_entries
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.store import OpenSearchStore
from slice_os.stores.protocol import WHOLE

from .node import Cluster
from .support import Index, documents


@pytest.mark.usefixtures("quick_lease")
def test_the_first_error_is_the_one_that_is_raised(corpus: Corpus, index: Index) -> None:
    def fail() -> None:
        with corpus.store.writer():
            index.change(**{"blocks.read_only_allow_delete": True})
            raise ZeroDivisionError

    corpus.add(documents(2))
    with pytest.raises(ZeroDivisionError):
        fail()
    # Nothing could be restored, so the note stays, and the next load does it.
    assert index.settings[0] == "-1"
    index.change(**{"blocks.read_only_allow_delete": None})
    corpus.add(documents(3))
    assert index.settings == (None, "1")
    assert "restore" not in index.meta


@pytest.mark.usefixtures("small_requests")
@pytest.mark.parametrize("deletes", [True, False])
def test_who_leaves_has_cleaned_up_only_what_it_touched(
    corpus: Corpus, index: Index, monkeypatch: pytest.MonkeyPatch, deletes: bool
) -> None:
    text = "Please cancel my order. " * 400
    (part,) = encode_documents([Document("doc-000", text)], corpus.encoder)
    looked: list[object] = []

    def look(handle: IndexHandle, doc_ids: object = None) -> Iterator[Fault]:
        looked.append(doc_ids)
        return find_faults(handle, doc_ids)  # type: ignore[arg-type]

    def leave() -> None:
        with corpus.store.writer() as writer:
            writer.write(DocumentPart(part.document, part.passages[:-1], last=False))
            writer.flush()
            if deletes:
                monkeypatch.setattr(OpenSearchWriter, "_former", lambda *_: {"doc-001": range(1)})
                monkeypatch.setattr(BulkSender, "deliver", stop)
                writer.delete(["doc-001"])
            raise KeyboardInterrupt

    def stop(sender: BulkSender, actions: Sequence[Action]) -> list[Outcome]:
        monkeypatch.undo()
        sender.deliver(actions)  # the record alone
        raise KeyboardInterrupt

    corpus.add(documents(20))
    former = corpus.text("doc-000")
    with pytest.raises(KeyboardInterrupt):
        leave()
    assert "restore" not in index.meta
    assert index.settings == (None, "1")
    for module in (loading, writer):
        monkeypatch.setattr(module, "find_faults", look)
    corpus.add([Document("next", "Please cancel my order.")])
    assert looked == []
    assert not index.faults()
    assert corpus.text("doc-000") == former
    assert ("doc-001" in corpus) is not deletes


@pytest.mark.usefixtures("small_requests")
@pytest.mark.parametrize("answers", [True, False])
def test_a_load_that_fails_leaves_the_former_version(
    corpus: Corpus, index: Index, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    former = Document("cut", "A former version. " * 100)
    text = "Please cancel my order. " * 400
    (part,) = encode_documents([Document("cut", text)], corpus.encoder)
    half = part.passages[:-1]
    assert len(half) > 10

    def fail() -> None:
        with corpus.store.writer() as writer:
            writer.write(DocumentPart(part.document, half, last=False))
            writer.flush()
            if not answers:
                monkeypatch.setattr(OpenSearchWriter, "unfinished", refuse)
            raise ZeroDivisionError

    def refuse(_: OpenSearchWriter) -> None:
        raise StoreError("the node is away")

    corpus.add([*documents(2), former])
    with pytest.raises(ZeroDivisionError):
        fail()
    assert index.settings == (None, "1")
    assert corpus.text("cut") == former.text
    faults = index.faults()
    # Where the index cannot be asked any more, the next load deletes what is left.
    surplus = [(fault.doc_id, len(fault.surplus), fault.missing) for fault in faults]
    assert surplus == ([] if answers else [("cut", len(half), 0)])
    corpus.add(documents(3))
    assert not index.faults()
    assert set(corpus.store.find_documents(["cut", "doc-002"])) == {"cut", "doc-002"}
    assert corpus.text("cut") == former.text
    corpus.add([part.document])
    assert corpus.text("cut") == part.document.text
    assert not index.faults()
    assert "restore" not in index.meta


@pytest.mark.usefixtures("quick_lease")
def test_one_writer_at_a_time(address: str, encoder: SpanEncoder) -> None:
    with Corpus(address, encoder) as one, Corpus(address, encoder) as other:
        one.add(documents(1))
        with one.store.writer() as writer:
            with pytest.raises(StoreError, match="another process is writing to it") as caught:
                other.add(documents(2))
            assert socket.gethostname() in str(caught.value)
            # Readers go on, with what was there before.
            assert [hit.doc_id for hit in other.search("cancel my order")] == ["doc-000"]
            for part in encode_documents(documents(3), encoder):
                writer.write(part)
        assert other.info().documents == 3
        other.add(documents(4))
        assert one.info().documents == 4


@pytest.mark.usefixtures("quick_lease")
def test_a_writer_that_seemed_dead_stops(corpus: Corpus, index: Index) -> None:
    (part,) = encode_documents(documents(1), corpus.encoder)

    def write_on() -> None:
        with corpus.store.writer() as writer:
            index.leave(lease.lease_key(WHOLE))
            while True:
                writer.write(part)
                time.sleep(0.05)

    corpus.add(documents(1))
    with pytest.raises(StoreError, match="has taken over"):
        write_on()
    # The settings are the other writer's business; here nobody is there any more.
    assert index.settings[0] == "-1"
    corpus.add(documents(2))
    assert index.settings == (None, "1")


@pytest.mark.slow
@pytest.mark.release
def test_replicas_during_and_after_the_first_load(two_nodes: Cluster, encoder: SpanEncoder) -> None:
    first, second = two_nodes.urls
    with (
        OpenSearch(first, timeout=60) as client,
        Corpus(f"{first}/writers", encoder) as corpus,
        Corpus(f"{second}/writers", encoder) as beside,
    ):
        OpenSearchStore.create(client, "writers", encoder)
        index = Index(client, "writers")
        with corpus.store.writer() as writer:
            assert index.settings == ("-1", "0")
            for part in encode_documents(documents(10), encoder):
                writer.write(part)
        assert index.settings == (None, "1")
        health = client.cluster.health(index=index.name, wait_for_status="green", timeout=60)
        assert (health["status"], health["active_shards"]) == ("green", 2)
        # Now the copies have to follow.
        with corpus.store.writer() as writer:
            assert index.settings == ("-1", "1")
            for part in encode_documents(documents(12)[10:], encoder):
                writer.write(part)
        before = [hit.doc_id for hit in beside.search("cancel my order", top_k=20)]
        assert len(before) == 12
        two_nodes.nodes[1].stop()
        client.cluster.health(index=index.name, wait_for_nodes="1", timeout=60)
        assert [hit.doc_id for hit in corpus.search("cancel my order", top_k=20)] == before
        corpus.add(documents(13))
        assert corpus.info().documents == 13
        two_nodes.nodes[1].start()
        health = client.cluster.health(index=index.name, wait_for_status="green", timeout=60)
        assert health["status"] == "green"
        found = beside.search("cancel my order", top_k=20)
        assert sorted(hit.doc_id for hit in found) == [each.id for each in documents(13)]


def test_a_late_deletion_spares_what_was_written_again(
    opensearch: OpenSearch, corpus: Corpus, index: Index
) -> None:
    corpus.add(documents(1))
    handle = index.handle
    key = passage_key("doc-000", 0)
    (former,) = find_entries(handle, [key])
    opensearch.index(index=handle.name, id=key, body=former["_source"])
    (now,) = find_entries(handle, [key])
    deliver(handle, [delete_action(0, key, version_of(former))])
    assert find_entries(handle, [key]) == [now]
    # A deletion may also be sent twice.
    for _ in range(2):
        deliver(handle, [delete_action(0, key, version_of(now))])
        assert find_entries(handle, [key]) == []
