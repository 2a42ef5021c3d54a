"""Three nodes hold an index, and lose one of them while it is loaded and one while it is searched.

    python -m tests.soak.three_nodes --out benchmarks/results/soak_three_nodes.json

Four workers load an index of three shards with a replica. Two of them are killed, and start again
with the same part; a node is killed, and starts again, since an empty index is loaded without
replicas. Then another node is killed under searches, and stays away for a while. Every answer is
that of one node with the same documents, or an error of one line. At last, Ray's workers load an
index, of which one is killed, and a node too.

`--vectors 5000000 --texts FOLDER` does so with documents of your own, JSON Lines with `id` and
`text`; otherwise those of the demo are repeated.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

from opensearchpy import OpenSearch

from slice_os import Corpus, IndexOptions, SpanEncoder, StoreError
from slice_os.stores.cluster.loading.loading import find_faults
from slice_os.stores.cluster.schema.records import document_key
from slice_os.stores.cluster.server.connection import IndexHandle
from tests.opensearch.node import Cluster
from tests.opensearch.support import SMALL_REQUESTS, concrete
from tests.soak import asking
from tests.soak.nodes import running_cluster, running_node
from tests.soak.ray_load import kill_a_worker, load_by_ray, ray_workers
from tests.soak.report import options, tell

DEMO_VECTORS = 300_000
WORKERS = 4
SAMPLE = 400
# What was answered just before a node is killed has certainly been acknowledged.
ACKNOWLEDGED_SECONDS = 0.3
LONGEST_SECONDS = 7_200


@dataclass
class ThreeNodes:
    """A cluster, and what is done to it.

    Attributes:
        cluster: of three nodes; requests go to the first.
        plan: how much.
        folder: for the sources of the load.
        encoder: of the questions.
    """

    cluster: Cluster
    plan: asking.Plan
    folder: Path
    encoder: SpanEncoder
    client: OpenSearch = field(init=False)

    def __post_init__(self) -> None:
        self.client = OpenSearch(self.cluster.urls[0], timeout=120)

    def location(self, index: str, node: int = 0) -> str:
        return f"{self.cluster.urls[node]}/{index}"

    def load(self, index: str) -> dict[str, Any]:
        """Four workers load; two of them are killed, and a node."""
        began, began_with = time.monotonic(), self.worked()
        workers = [self.work(index, number) for number in range(WORKERS)]
        refused: list[str] = []

        def again(number: int) -> None:
            with workers[number]:
                workers[number].kill()
            workers[number] = self.work(index, number)

        def check() -> None:
            # As whoever starts workers does: one that begins while its node is away ends at once.
            for number, worker in enumerate(workers):
                if worker.poll():
                    assert worker.stderr
                    lines = worker.stderr.read().splitlines()
                    assert len(lines) == 1, lines
                    assert lines[0].startswith("slice-os: "), lines
                    refused.append(lines[0])
                    time.sleep(self.plan.away / 4)
                    again(number)

        try:
            self.wait_for(index, 0.15, check)
            again(0)
            self.wait_for(index, 0.35, check)
            before = self.worked() - began_with
            away = self.lose_node(index)
            before -= self.worked()
            self.wait_for(index, 0.6, check)
            again(3)
            while any(worker.poll() != 0 for worker in workers):
                check()
                time.sleep(0.1)
        finally:
            for worker in workers:
                with worker:
                    worker.kill()
        seconds = round(time.monotonic() - began)
        times = {
            "seconds": seconds,
            "node_cpu_seconds": round(self.worked() + before),
            "node_away_seconds": round(away),
        }
        return {**times, "workers_refused": refused, **self.loaded(index)}

    def work(self, index: str, number: int) -> subprocess.Popen[str]:
        """A worker, which asks a node of its own."""
        program = ["-c", SMALL_REQUESTS] if self.plan.small else ["-m", "slice_os.cli"]
        options = ["--shards", "3", "--replicas", "1", "--threads", "1", "--source", "texts"]
        location = self.location(index, number % len(self.cluster.nodes))
        part = ["--part", f"{number + 1}/{WORKERS}", "--dead-letters", "letters.jsonl"]
        command = ["ingest", "texts", "--store", location, *options, *part]
        return subprocess.Popen(
            [sys.executable, *program, *command],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def recorded(self, index: str) -> set[str]:
        """Some of the documents that count, refreshed or not."""
        if not self.client.indices.exists(index=index):
            return set()
        every = max(1, len(self.plan.records) // SAMPLE)
        keys = [document_key(record["id"]) for record in self.plan.records[::every]]
        found = self.client.mget(index=index, body={"ids": keys}, _source=False)["docs"]
        return {answer["_id"] for answer in found if answer.get("found")}

    def wait_for(self, index: str, share: float, check: Callable[[], None]) -> None:
        """Wait until a share of the documents is stored."""
        every = max(1, len(self.plan.records) // SAMPLE)
        wanted = share * len(self.plan.records[::every])
        deadline = time.monotonic() + LONGEST_SECONDS
        while len(self.recorded(index)) < wanted:
            assert time.monotonic() < deadline, "no progress"
            check()
            time.sleep(0.05 if self.plan.small else 0.5)

    def lose_node(self, index: str) -> float:
        """Kill the second node, and start it again; the seconds for which it was away."""
        stored = self.recorded(index)
        time.sleep(ACKNOWLEDGED_SECONDS)
        began = time.monotonic()
        self.cluster.nodes[1].kill()
        time.sleep(self.plan.away)
        self.cluster.nodes[1].start()
        assert stored <= self.recorded(index), "lost what was acknowledged"
        return time.monotonic() - began

    def loaded(self, index: str) -> dict[str, Any]:
        """What is there: every document once and whole, and every replica."""
        health = self.client.cluster.health(index=index)
        assert health["status"] == "green", health
        handle = IndexHandle(self.client, concrete(self.client, index), index)
        faults = list(find_faults(handle))
        assert not faults, faults
        with Corpus(self.location(index)) as corpus:
            info = corpus.info()
            assert set(corpus) == {record["id"] for record in self.plan.records}
        sizes = self.client.indices.stats(index=index, metric="store")["_all"]
        primaries, everything = (
            sizes[which]["store"]["size_in_bytes"] for which in ("primaries", "total")
        )
        return {
            "vectors": info.pieces,
            "documents": info.documents,
            "passages": info.passages,
            "bytes": {"primaries": primaries, "with_replicas": everything},
        }

    def load_by_ray(self, index: str) -> dict[str, Any]:
        """Ray's workers load; one of them is killed, and a node."""
        began = time.monotonic()
        options, letters = IndexOptions(shards=3), self.folder / "letters.jsonl"
        records = self.plan.records
        with ThreadPoolExecutor(1) as executor, ray_workers(processors=4):
            from slice_os.ingest.ray_data import IndexSink  # loads Ray

            sink = IndexSink(self.location(index), index=options, dead_letters=letters)
            loading = executor.submit(
                load_by_ray, records, sink, blocks=16, batch_size=32, encoders=2
            )

            def check() -> None:
                assert not loading.done() or loading.result()

            self.wait_for(index, 0.2, check)
            killed = kill_a_worker()
            self.wait_for(index, 0.4, check)
            self.lose_node(index)
            summary = loading.result()
        assert summary.documents + summary.documents_unchanged == len(records)
        seconds = round(time.monotonic() - began)
        return {"seconds": seconds, "worker_killed": killed, **self.loaded(index)}

    def worked(self) -> float:
        """Seconds that processors have worked for the nodes since each started."""
        nodes = self.client.nodes.stats(metric="process")["nodes"].values()
        return float(sum(node["process"]["cpu"]["total_in_millis"] for node in nodes) / 1000)

    def compare(self, index: str, expected: dict[str, asking.Answers]) -> dict[str, Any]:
        """Whether all hits are those of one node; searches may differ in what they propose."""
        with Corpus(self.location(index), self.encoder) as corpus:
            found = asking.ask_all(corpus, self.plan)
        assert found["mined"] == expected["mined"], "other hits than one node's"
        pairs = [(found["searched"][one], expected["searched"][one]) for one in self.plan.phrases]
        shared = [len({*ours} & {*theirs}) / max(1, len(theirs)) for ours, theirs in pairs]
        return {
            "phrases": len(pairs),
            "mined": sum(map(len, found["mined"].values())),
            "searches_equal": sum(ours == theirs for ours, theirs in pairs),
            "searches_shared": round(sum(shared) / len(shared), 4),
        }

    def lose_node_under_searches(self, index: str) -> dict[str, Any]:
        """Kill the third node while questions are asked; what the answers were."""
        ends: dict[str, Counter[str]] = {"before": Counter(), "away": Counter(), "back": Counter()}
        lines: Counter[str] = Counter()
        now, enough = ["before"], Event()

        def ask() -> None:
            some, works = self.plan.phrases[:8], (asking.searched, asking.mined)
            with Corpus(self.location(index), self.encoder) as corpus:
                expected = [work(corpus, self.plan, some) for work in works]
                while not enough.is_set():
                    for work, before in zip(works, expected, strict=True):
                        state = now[0]
                        try:
                            same = work(corpus, self.plan, some) == before
                            assert same, f"another answer while the node is {state}"
                            ends[state]["complete"] += 1
                        except StoreError as error:
                            if "\n" in str(error):
                                raise AssertionError("an error of several lines") from error
                            ends[state]["error of one line"] += 1
                            lines[str(error).replace(self.location(index), "INDEX")] += 1
                    if self.plan.small and now[0] == "away":
                        enough.wait(self.plan.away / 2)  # the node needs the processor to come back

        def wait_for_answers() -> None:
            deadline = time.monotonic() + LONGEST_SECONDS
            wanted = ends[now[0]]["complete"] + 4
            while ends[now[0]]["complete"] < wanted and not answering.done():
                assert time.monotonic() < deadline, "no answers"
                time.sleep(0.05)

        with ThreadPoolExecutor(1) as executor:
            answering = executor.submit(ask)
            try:
                wait_for_answers()
                self.cluster.nodes[2].kill()
                now[0] = "away"
                time.sleep(self.plan.away)
                wait_for_answers()
                self.cluster.nodes[2].start()
                self.client.cluster.health(
                    wait_for_status="green", timeout="600s", request_timeout=700
                )
                now[0] = "back"
                wait_for_answers()
            finally:
                enough.set()
            answering.result()
        return {**{state: dict(found) for state, found in ends.items()}, "errors": dict(lines)}


def answers_of_one_node(
    plan: asking.Plan, encoder: SpanEncoder, location: str, texts: Path
) -> dict[str, asking.Answers]:
    """The answers of one node with the same documents, in as many shards."""
    with Corpus(location, encoder, index=IndexOptions(shards=3, replicas=0)) as corpus:
        corpus.ingest([texts], source="texts", dead_letters=texts.with_suffix(".bad"))
        return asking.ask_all(corpus, plan)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--vectors", type=int, help="by default, all of the texts")
    parser.add_argument("--ray-vectors", type=int, default=100_000)
    parser.add_argument(
        "--texts", type=Path, help="folder of JSON Lines; by default, 300,000 vectors of the demo"
    )
    parser.add_argument("--phrases", type=int, default=60)
    parser.add_argument("--threshold", type=float, default=0.75)
    parser.add_argument("--heap", default="1g", help="of each node")
    parser.add_argument("--expected", help="index on one node that has the same documents already")
    chosen = parser.parse_args()
    sources = sorted(chosen.texts.glob("*.jsonl")) if chosen.texts else [asking.DEMO]
    vectors = chosen.vectors or (None if chosen.texts else DEMO_VECTORS)
    records = list(asking.some_records(sources, vectors))
    plan = asking.Plan(records, asking.some_phrases(records, chosen.phrases), chosen.threshold)
    encoder = SpanEncoder()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        asking.write_texts(records, folder)
        report: dict[str, Any] = {}
        try:
            with running_cluster(chosen.heap, brief=False) as cluster:
                three = ThreeNodes(cluster, plan, folder, encoder)
                report["load"] = three.load("calls")
                if chosen.expected:
                    with Corpus(chosen.expected, encoder) as corpus:
                        expected = asking.ask_all(corpus, plan)
                else:
                    with running_node(chosen.heap, brief=False) as node:
                        texts = folder / "texts"
                        expected = answers_of_one_node(plan, encoder, f"{node.url}/one", texts)
                report["equal"] = three.compare("calls", expected)
                report["search"] = three.lose_node_under_searches("calls")
                some = [
                    {"id": record["id"], "text": asking.said(record)}
                    for record in asking.some_records(sources, chosen.ray_vectors)
                ]
                ray = ThreeNodes(cluster, replace(plan, records=some), folder, encoder)
                report["ray"] = ray.load_by_ray("ray")
        finally:
            tell(report, chosen.out)


if __name__ == "__main__":
    main()
