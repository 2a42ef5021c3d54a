"""`slice-os index …` and the options of `slice-os ingest`, against a real node."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from slice_os import AsyncCorpus, Corpus, Document, Segment, SpanEncoder, StoreError
from slice_os.service.services import Encoders, ServedStores
from slice_os.service.settings import ServiceSettings
from slice_os.stores import current
from slice_os.stores.cluster.schema.records import passage_key
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.versions.reindexing import reindex

from ..command_line import Run
from .proxy import Forward, Proxy, Reply, Request, closed, proxying
from .texts import dialogues, index_of, write_dialogues

COUNT = 12
PHRASES = ["please change my seat", "I lost my card", "thank you for your help"]


@pytest.fixture
def run(command_line: Run) -> Run:
    return command_line


@pytest.fixture
def store(address: str) -> str:
    return address


@pytest.fixture(scope="module")
def kept(opensearch_url: str, encoder: SpanEncoder) -> Iterator[str]:
    """The address of an index that no test changes."""
    with index_of(2, opensearch_url, encoder) as location:
        yield location


@pytest.fixture
def calls(store: str, encoder: SpanEncoder) -> Iterator[Corpus]:
    """An index with some dialogues."""
    with Corpus(store, encoder) as corpus:
        corpus.add(dialogues(COUNT))
        yield corpus


def mined(store: str, encoder: SpanEncoder) -> list[Any]:
    with Corpus(store, encoder) as corpus:
        return [hit.to_dict() for hit in corpus.mine(PHRASES, threshold=0.5)]


def test_ingest_makes_the_index_with_the_given_options(
    run: Run, store: str, tmp_path: Path
) -> None:
    file = write_dialogues(tmp_path / "calls.jsonl", COUNT)
    chosen = ["--policy=grid:4", "--vectors=float", "--truncate-dim=96", "--analyzer=standard"]
    chosen += ["--shards=2", "--replicas=0", "--field=number=integer", "--field=when=date"]
    chosen += ["--force-merge"]
    assert run("ingest", file, "--store", store, *chosen).json()["documents"] == COUNT
    (version,) = run("index", "info", "--store", store).json()["versions"]
    assert version["index"].endswith("-000001")
    assert version["current"]
    assert not version["loading"]
    assert not version["unfinished"]
    assert version["documents"] == COUNT
    made = {name: version[name] for name in ("policy", "vectors", "truncate_dim", "analyzer")}
    assert made == {
        "policy": "grid:4",
        "vectors": "float",
        "truncate_dim": 96,
        "analyzer": "standard",
    }
    assert (version["shards"], version["replicas"]) == (2, 0)
    assert version["fields"] == {"number": "integer", "when": "date"}
    again = run("ingest", file, "--store", store, *chosen)
    assert (again.status, again.json()["sources_unchanged"]) == (0, 1)
    found = run("search", "please change my seat", "--store", store, "-k", 3)
    assert len(found.out.splitlines()) == 3


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--policy=grid:8", "policy grid:1,6, not grid:8"),
        ("--vectors=float", "vectors byte, not float"),
        ("--truncate-dim=384", "truncate_dim 96, not 384"),
        ("--analyzer=standard", "analyzer english, not standard"),
        ("--field=age=integer", "field age undeclared, not integer"),
        ("--replicas=2", "replicas 0, not 2"),
    ],
)
def test_other_options_for_an_existing_index_are_refused(
    run: Run, kept: str, option: str, says: str, tmp_path: Path
) -> None:
    file = write_dialogues(tmp_path / "calls.jsonl", 1)
    done = run("ingest", file, "--store", kept, option)
    assert done.status == 1
    assert says in done.err
    assert "slice-os index reindex" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--policy=all", "--force-merge", "--field=a=integer"])
def test_index_options_are_not_for_folders(run: Run, tmp_path: Path, option: str) -> None:
    file = write_dialogues(tmp_path / "calls.jsonl", 1)
    done = run("ingest", file, "--store", tmp_path / "calls.slice", option)
    assert done.status == 2
    assert "OpenSearch" in done.err
    assert not (tmp_path / "calls.slice").exists()


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--policy=some", "no span policy 'some'"),
        ("--field=age", "NAME=TYPE"),
        ("--field=age=whole", "no type 'whole'"),
        ("--truncate-dim=385", "385 dimensions; the encoder has 384"),
    ],
)
def test_impossible_options_are_refused(
    run: Run, store: str, opensearch: OpenSearch, tmp_path: Path, option: str, says: str
) -> None:
    file = write_dialogues(tmp_path / "calls.jsonl", 1)
    done = run("ingest", file, "--store", store, option)
    assert done.status in (1, 2)
    assert says in done.err
    assert not opensearch.indices.exists(index=store.rpartition("/")[2])


def test_verify_finds_and_repairs(
    run: Run, store: str, opensearch: OpenSearch, index_name: str, tmp_path: Path
) -> None:
    file = write_dialogues(tmp_path / "calls.jsonl", COUNT)
    run("ingest", file, "--store", store)
    assert run("store", "check", "--store", store).status == 0
    doc_id = dialogues(1)[0].id
    orphan = opensearch.get(index=index_name, id=passage_key(doc_id, 0))["_source"]
    opensearch.delete(index=index_name, id=passage_key(doc_id, 0), refresh=True)
    orphan |= {"doc_id": "orphan", "tokens": "", "spans": []}
    opensearch.index(index=index_name, id=passage_key("orphan", 0), body=orphan, refresh=True)
    with Corpus(store) as corpus, pytest.raises(StoreError, match=f"passages of .*{doc_id}.* are"):
        corpus.text(doc_id)
    faulty = run("store", "check", "--store", store)
    assert faulty.status == 1
    faults = [json.loads(line) for line in faulty.out.splitlines()]
    assert {(fault["doc_id"], fault["expected"]) for fault in faults} >= {("orphan", 0)}
    assert {fault["doc_id"] for fault in faults} == {"orphan", doc_id}
    repaired = run("store", "check", "--repair", "--store", store)
    assert repaired.status == 1
    assert doc_id in repaired.err
    assert run("store", "check", "--store", store).status == 0
    again = run("ingest", file, "--store", store).json()
    assert (again["documents"], again["documents_unchanged"]) == (1, COUNT - 1)
    assert run("store", "check", "--store", store).status == 0


def test_reindex_and_swap(run: Run, calls: Corpus, store: str, encoder: SpanEncoder) -> None:
    before = mined(store, encoder)
    assert before
    proposed = [hit.doc_id for hit in calls.search(PHRASES[0], num_candidates=10)]

    same = run("index", "reindex", "--store", store)
    assert same.status == 0
    versions = run("index", "info", "--store", store).json()["versions"]
    assert [version["current"] for version in versions] == [True, False]
    kept = [{**version, "index": "", "current": "", "size_bytes": 0} for version in versions]
    assert kept[0] == kept[1]
    assert mined(f"{store}-000002", encoder) == before
    with Corpus(f"{store}-000002", encoder) as copy:
        assert [hit.doc_id for hit in copy.search(PHRASES[0], num_candidates=10)] == proposed

    choice = ("--policy=cover:0.9", "--vectors=float", "--truncate-dim=384", "--field=number=long")
    assert run("index", "reindex", "--store", store, *choice).status == 0
    assert run("index", "swap", "--delete-old", "--store", store).status == 0
    versions = run("index", "info", "--store", store).json()["versions"]
    states = [(version["index"][-6:], version["current"]) for version in versions]
    assert states == [("000002", False), ("000003", True)]
    assert (versions[1]["policy"], versions[1]["truncate_dim"]) == ("cover:0.9", 384)
    assert mined(store, encoder) == before
    assert run("store", "check", "--store", store).status == 0

    back = run("index", "swap", versions[0]["index"], "--store", store)
    assert back.status == 0
    with Corpus(store, encoder) as corpus:
        document = dialogues(COUNT)[3]
        assert corpus.text(document.id) == document.text
        corpus.add([Document("new", "Please change my seat.")])
        assert corpus.search(PHRASES[0])[0].doc_id == "new"


def test_an_open_corpus_notices_a_swap(
    run: Run, calls: Corpus, store: str, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current, "SECONDS", 0.0)

    async def newest(there: AsyncCorpus) -> str:
        return (await there.search("a brand new wish", top_k=1))[0].doc_id

    async def ask() -> list[str]:
        async with AsyncCorpus(store, encoder) as there:
            before = await newest(there)
            swap()
            return [before, await newest(there)]

    def swap() -> None:
        assert run("index", "reindex", "--store", store).status == 0
        with Corpus(f"{store}-000002", encoder) as copy:
            copy.add([Document("new", "This is a brand new wish.")])
        assert run("index", "swap", "--store", store, "--delete-old").status == 0

    assert "new" not in calls
    before, after = asyncio.run(ask())
    assert before != "new" == after
    assert "new" in calls
    assert calls.add([Document("newer", "This is another brand new wish.")]) == 1
    assert {hit.doc_id for hit in calls.search("a brand new wish", top_k=2)} == {"new", "newer"}


def test_a_swap_leaves_nothing_behind(
    run: Run, calls: Corpus, store: str, index_name: str, tmp_path: Path
) -> None:
    assert run("index", "reindex", "--store", store).status == 0
    calls.add([Document("late", "Please change my seat.")])
    refused = run("index", "swap", "--store", store)
    assert refused.status == 1
    assert f"{index_name}-000001 was written to after {index_name}-000002 was made" in refused.err
    former = calls.store
    with former.writer():
        busy = run("index", "swap", f"{index_name}-000002", "--store", store)
    assert busy.status == 1
    assert "another process is writing" in busy.err
    assert run("index", "reindex", "--swap", "--store", store).status == 0
    with Corpus(store, calls.encoder) as corpus:
        assert corpus.text("late") == "Please change my seat."
    # What was opened before goes on reading, and writes nothing that nobody would find.
    assert former.document_text("late") == "Please change my seat."
    stale = pytest.raises(StoreError, match=f"does not stand for {index_name}-000001 any more")
    with stale, former.writer():
        pass


def test_a_service_follows_a_swap(
    run: Run, calls: Corpus, store: str, index_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current, "SECONDS", 0.0)
    served = ServedStores(ServiceSettings({"calls": store}), Encoders())
    try:
        before = served.get()
        assert served.get() is before
        run("index", "reindex", "--swap", "--store", store)
        with served.writing() as corpus:
            corpus.add([Document("late", "Please change my seat.")])
        run("index", "delete", f"{index_name}-000001", "--yes", "--store", store)
        assert served.get().text("late") == "Please change my seat."
    finally:
        served.close()


def test_reindexed_vectors_are_those_of_an_ingest(
    run: Run, calls: Corpus, store: str, index_name: str, opensearch: OpenSearch
) -> None:
    run("index", "reindex", "--store", store)
    lines = run("index", "query", *PHRASES, "--store", store, "--msearch").out.splitlines()
    answers = []
    for version in ("000001", "000002"):
        body = [json.loads(line) for line in lines]
        for header in body[::2]:
            header["index"] = f"{index_name}-{version}"
        found = opensearch.msearch(body=body)["responses"]
        answers.append([{h["_id"]: h["_score"] for h in one["hits"]["hits"]} for one in found])
    assert answers[0] == answers[1]


def test_no_span_crosses_turns_after_a_reindex(
    run: Run, corpus: Corpus, store: str, encoder: SpanEncoder
) -> None:
    turns = (Segment(0, 16), Segment(17, 42))
    corpus.add([Document("1", "I want to cancel\nmy order, it came too late.", segments=turns)])
    before = corpus.search("cancel my order", verify=False)
    assert run("index", "reindex", "--swap", "--store", store).status == 0
    with Corpus(store, encoder) as swapped:
        assert swapped.search("cancel my order", verify=False) == before


def test_an_interrupted_reindex_starts_again(
    run: Run, calls: Corpus, store: str, index_name: str, opensearch: OpenSearch
) -> None:
    class InterruptedReindexError(Exception):
        pass

    def interrupt(done: int, total: int) -> None:
        assert total == COUNT
        if done == COUNT // 2:
            raise InterruptedReindexError

    with pytest.raises(InterruptedReindexError):
        reindex(IndexHandle(opensearch, index_name, store), {}, on_passage=interrupt)
    versions = run("index", "info", "--store", store).json()["versions"]
    assert [version["unfinished"] for version in versions] == [False, True]
    assert [version["current"] for version in versions] == [True, False]
    refused = run("index", "swap", f"{index_name}-000002", "--store", store)
    assert refused.status == 1
    assert "unfinished" in refused.err
    done = run("index", "reindex", "--swap", "--store", store)
    assert done.status == 0
    versions = run("index", "info", "--store", store).json()["versions"]
    assert [version["unfinished"] for version in versions] == [False, False]
    assert versions[1]["documents"] == COUNT


def test_nobody_writes_while_a_reindex_runs(
    run: Run, calls: Corpus, store: str, index_name: str, opensearch: OpenSearch
) -> None:
    def write(done: int, total: int) -> None:
        if done == 3:
            with pytest.raises(StoreError, match="another process is writing"):
                calls.add([Document("late", "Please change my seat.")])
            assert calls.search(PHRASES[0])

    reindex(IndexHandle(opensearch, index_name, store), {}, on_passage=write)
    with calls.store.writer(), pytest.raises(StoreError, match="another process is writing"):
        reindex(IndexHandle(opensearch, index_name, store), {})
    versions = run("index", "info", "--store", store).json()["versions"]
    assert [version["unfinished"] for version in versions] == [False, False]


def test_delete(
    run: Run,
    calls: Corpus,
    store: str,
    index_name: str,
    opensearch: OpenSearch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("index", "reindex", "--store", store)
    current = run("index", "delete", f"{index_name}-000001", "--yes", "--store", store)
    assert (current.status, "swap to another version first" in current.err) == (1, True)
    unknown = run("index", "delete", "nothing", "--store", store)
    assert (unknown.status, "no version 'nothing'" in unknown.err) == (1, True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda prompt: "n")
    declined = run("index", "delete", "--store", store)
    assert declined.status == 130
    assert len(run("index", "info", "--store", store).json()["versions"]) == 2
    assert run("index", "delete", f"{index_name}-000002", "--yes", "--store", store).status == 0
    assert len(run("index", "info", "--store", store).json()["versions"]) == 1
    assert run("index", "delete", "--yes", "--store", store).status == 0
    assert not opensearch.indices.exists(index=f"{index_name}*", allow_no_indices=False)
    assert not opensearch.indices.exists_index_template(name=f"slice-os-{index_name}")
    gone = run("index", "info", "--store", store)
    assert (gone.status, "no index here" in gone.err) == (1, True)


def test_a_version_is_no_alias(run: Run, kept: str) -> None:
    done = run("index", "info", "--store", f"{kept}-000001")
    assert done.status == 1
    assert done.err.endswith(f"name its alias, such as {kept.rpartition('/')[2]}\n")


@pytest.mark.parametrize(
    "command", ["index info", "index reindex", "index swap", "index delete", "store check"]
)
def test_commands_on_nothing(run: Run, store: str, tmp_path: Path, command: str) -> None:
    missing = run(*command.split(), "--store", store)
    assert (missing.status, "no index here" in missing.err) == (1, True)
    if command.startswith("index"):
        local = run(*command.split(), "--store", tmp_path)
        assert (local.status, "OpenSearch" in local.err) == (2, True)


def test_names_with_dates_may_begin_alike(run: Run, store: str, tmp_path: Path) -> None:
    names = [f"{store}-2026", f"{store}-2026-01", f"{store}-01"]
    for count, name in enumerate(names, start=1):
        file = write_dialogues(tmp_path / f"{count}.jsonl", count)
        assert run("ingest", file, "--store", name).err == ""
    for count, name in enumerate(names, start=1):
        (version,) = run("index", "info", "--store", name).json()["versions"]
        assert version["documents"] == count


def test_an_index_named_like_a_version_is_none(
    run: Run, store: str, opensearch: OpenSearch, index_name: str, tmp_path: Path
) -> None:
    opensearch.indices.create(index=f"{index_name}-01")
    assert run("ingest", write_dialogues(tmp_path / "a.jsonl", 1), "--store", store).status == 0
    (version,) = run("index", "info", "--store", store).json()["versions"]
    assert version["index"] == f"{index_name}-000001"


def test_other_templates_change_no_index(
    run: Run, store: str, opensearch: OpenSearch, index_name: str, tmp_path: Path
) -> None:
    mappings = {"properties": {"text": {"type": "keyword"}, "doc_id": {"type": "text"}}}
    theirs = {"settings": {"number_of_replicas": 3}, "mappings": {"dynamic": False, **mappings}}
    body = {"index_patterns": [f"{index_name}*"], "priority": 900, "template": theirs}
    opensearch.indices.put_index_template(name=f"{index_name}-theirs", body=body)
    file = write_dialogues(tmp_path / "a.jsonl", 2)
    assert run("ingest", file, "--store", store, "--replicas=0").err == ""
    found = opensearch.indices.get(index=store.rpartition("/")[2])[f"{index_name}-000001"]
    assert found["settings"]["index"]["number_of_replicas"] == "0"
    there = found["mappings"]
    assert (there["dynamic"], there["properties"]["doc_id"]["type"]) == ("strict", "keyword")
    assert len(run("search", "please change my seat", "--store", store, "--json").rows()) > 0


def test_a_closed_version_is_not_passed_over(
    run: Run, calls: Corpus, store: str, opensearch: OpenSearch, index_name: str
) -> None:
    assert run("index", "reindex", "--store", store).status == 0
    opensearch.indices.close(index=f"{index_name}-000002")
    for command in (["info"], ["reindex"], ["swap"], ["delete", "--yes"]):
        told = run("index", *command, "--store", store)
        assert (told.status, f"{index_name}-000002 is closed; open it" in told.err) == (1, True)
    assert len(calls.search("please change my seat")) > 0


def test_what_was_done_is_done_though_the_answer_is_lost(
    run: Run, calls: Corpus, opensearch: OpenSearch, opensearch_url: str, index_name: str
) -> None:
    ours = [f"{index_name}-{number:06}" for number in (1, 2)]
    lost: list[str] = []

    def lose(request: Request, forward: Forward) -> Reply:
        """The first answer to whatever makes, names or deletes an index."""
        what = f"{request.method} {request.path.partition('?')[0]}"
        if what in lost or not re.fullmatch(r"POST /_aliases|(PUT|DELETE) /test-[^/]*", what):
            return forward()
        lost.append(what)
        return closed(request, forward)

    with proxying(Proxy(opensearch_url, lose)) as proxy:
        store = f"{proxy.url}/{index_name}"
        assert run("index", "reindex", "--store", store, "--swap").status == 0
        assert run("index", "delete", "--yes", "--store", store).status == 0
    first, second = ([one, f"{one}-leases"] for one in ours)
    made = [f"PUT /{one}" for one in second]
    deleted = [f"DELETE /{one}" for one in (*first, *second)]
    assert lost == [*made, "POST /_aliases", *deleted]
    assert not opensearch.indices.get(index=f"{index_name}*", expand_wildcards="all")
