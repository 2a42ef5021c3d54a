"""What the tests of loading share: small corpora, and the whole contents of an index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch, helpers

from slice_os import Document
from slice_os.cli import main
from slice_os.stores.cluster.loading.copies import released
from slice_os.stores.cluster.loading.lease import index_of_leases
from slice_os.stores.cluster.loading.loading import Fault, find_faults
from slice_os.stores.cluster.schema.records import passage_key
from slice_os.stores.cluster.schema.settings import META
from slice_os.stores.cluster.server.connection import IndexHandle

DEMO = Path(__file__).parents[2] / "demo"

# Small requests, so that few documents make many of them; a killed process soon counts as ended.
SMALL_REQUESTS = """
from slice_os.stores.cluster.loading import bulk
from slice_os.stores.cluster.loading import lease
from slice_os.stores.cluster.loading import writer
bulk.CHUNK_ACTIONS, writer.LOOKUP_DOCUMENTS = 10, 4
lease.BEAT_SECONDS, lease.SILENCE_SECONDS = 0.2, 2.0
from slice_os.cli import main
main()
"""


def dialogues(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Demo dialogues, as in the JSON lines file."""
    with (DEMO / "dialogues.jsonl").open(encoding="utf-8") as stream:
        return [json.loads(line) for line in islice(stream, first, first + count)]


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write records as JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def documents(count: int, words: int = 30) -> list[Document]:
    """Documents of one passage each, all with a unique word."""
    return [
        Document(f"doc-{number:03}", f"number{number} " + "please cancel my order " * (words // 4))
        for number in range(count)
    ]


def concrete(client: OpenSearch, alias: str) -> str:
    """The index behind an alias."""
    (name,) = client.indices.get(index=alias)
    return str(name)


def contents(client: OpenSearch, index: str) -> dict[str, Any]:
    """Everything that a load wrote, by id: sources, token vectors and offsets of spans.

    Ordinals are as of documents that replaced none.
    """
    client.indices.refresh(index=index)
    query = {
        "query": {"terms": {"kind": ["passage", "document", "source"]}},
        "docvalue_fields": ["tokens"],
    }
    hits = list(helpers.scan(client, query, index=index))
    entries = [hit["_source"] for hit in hits]
    first = {one["doc_id"]: one["ordinal"] for one in entries if one["kind"] == "document"}
    found = {}
    for hit, entry in zip(hits, entries, strict=True):
        key = hit["_id"]
        if "ordinal" in entry:
            entry["ordinal"] -= first.get(entry["doc_id"], 0)
        if entry["kind"] == "passage":
            key = passage_key(entry["doc_id"], entry["ordinal"])
        found[key] = (entry, hit.get("fields", {}).get("tokens"))
    sums = {name: {"sum": {"field": f"spans.{name}"}} for name in ("start", "end")}
    spans = {"spans": {"nested": {"path": "spans"}, "aggs": sums}}
    ordinals = {"ordinals": {"terms": {"field": "ordinal", "size": 10_000}, "aggs": spans}}
    by_document = {"terms": {"field": "doc_id", "size": 10_000}, "aggs": ordinals}
    body = {"size": 0, "query": {"term": {"kind": "passage"}}, "aggs": {"ids": by_document}}
    buckets = client.search(index=index, body=body)["aggregations"]["ids"]["buckets"]
    return {
        "records": found,
        "spans": {
            (bucket["key"], one["key"] - first.get(bucket["key"], 0)): one["spans"]
            for bucket in buckets
            for one in bucket["ordinals"]["buckets"]
        },
    }


def assert_as_if_in_one_go(
    client: OpenSearch, alias: str, fresh: str, sources: bool = True
) -> None:
    """The two indices have equal contents, and nothing remains of what went wrong.

    Without sources, one of them was loaded by a program.
    """
    index = concrete(client, alias)
    ours, theirs = contents(client, index), contents(client, concrete(client, fresh))
    if not sources:
        for held in (ours, theirs):
            held["records"] = {
                key: ({**record, "source": ""}, tokens)
                for key, (record, tokens) in held["records"].items()
                if record["kind"] != "source"
            }
    assert ours == theirs
    left = Index(client, alias)
    assert not left.faults()
    assert not {"restore", "load"} & left.meta.keys()
    assert not left.leases()


DEAD = {"kind": "writer", "source": "elsewhere", "ordinal": 1, "signature": "x"}


@dataclass(frozen=True)
class Index:
    """An index by its alias, as its server has it."""

    client: OpenSearch
    alias: str

    @property
    def name(self) -> str:
        """Of the index behind the alias."""
        return concrete(self.client, self.alias)

    @property
    def handle(self) -> IndexHandle:
        """As the store has it."""
        return IndexHandle(self.client, self.name, self.alias)

    @property
    def settings(self) -> tuple[str | None, str]:
        """Refresh interval and replicas."""
        settings = self.client.indices.get_settings(index=self.name)[self.name]["settings"]["index"]
        return settings.get("refresh_interval"), settings["number_of_replicas"]

    def change(self, **settings: object) -> None:
        """Change settings of the index."""
        self.client.indices.put_settings(index=self.name, body={"index": settings})

    @property
    def meta(self) -> dict[str, Any]:
        """What the mapping says about the index."""
        mappings = self.client.indices.get_mapping(index=self.name)[self.name]["mappings"]
        found: dict[str, Any] = mappings["_meta"][META]
        return found

    def note(self, **changes: object) -> None:
        """Change what the mapping says."""
        body = {"_meta": {META: self.meta | changes}}
        self.client.indices.put_mapping(index=self.name, body=body)

    def contents(self) -> dict[str, Any]:
        """Everything that a load wrote."""
        return contents(self.client, self.name)

    def faults(self) -> list[Fault]:
        """What a check of the store finds."""
        return list(find_faults(self.handle))

    def leases(self) -> set[str]:
        """Keys of the writers that are there."""
        held = index_of_leases(self.name)
        self.client.indices.refresh(index=held)
        return {hit["_id"] for hit in self.client.search(index=held)["hits"]["hits"]}

    def leave(self, key: str, record: dict[str, Any] = DEAD) -> None:
        """Leave the record of a writer, as one does that is killed."""
        self.client.index(index=index_of_leases(self.name), id=key, body=record)


def start_cli(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """`slice-os` with small requests, in its own process."""
    return subprocess.Popen(
        [sys.executable, "-c", SMALL_REQUESTS, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_cli(*arguments: str | Path, cwd: Path, **environment: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of `slice-os`."""
    with start_cli(*arguments, cwd=cwd, **environment) as process:
        output, errors = process.communicate()
    return process.returncode, output, errors


def call_cli(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """As `run_cli`, in this process."""
    capsys.readouterr()
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stopped:
        captured = capsys.readouterr()
        return int(stopped.code or 0), captured.out, captured.err
    raise AssertionError("the command line always exits")


def merge_away(client: OpenSearch, index: str) -> None:
    """Merge an index to one segment without the records that were written again.

    OpenSearch keeps these, and BM25 counts them, until every copy of the shard has the newer ones
    on disk, which it finds out every 30 seconds.
    """
    patient = {"request_timeout": 120}
    client.indices.flush(index=index, params={"force": "true", **patient})
    assert released(IndexHandle(client, index, index))
    client.indices.flush(index=index, params={"force": "true", **patient})
    client.indices.forcemerge(index=index, params={"max_num_segments": 1, **patient})
    client.indices.refresh(index=index, params=patient)
