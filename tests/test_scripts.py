"""Benchmarks and recipes run at their smallest, over a small part of the data."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from slice_os import Corpus, SpanEncoder

from .conftest import DEMO, Shared
from .service.conftest import served

REPOSITORY = Path(__file__).parents[1]
DATA = REPOSITORY.parent / "shared" / "data"
# Of these files the first lines are enough.
LINES = {
    "english-passages/passages.jsonl.gz": 1_200,
    "cuad/cuad_spans.half.jsonl.gz": 4,
    "sgd-dialogues/train.jsonl.gz": 40,
    "sgd-dialogues/dev.jsonl.gz": 60,
    "multidogo/turn_level.jsonl.gz": 3_000,
    "amazon-counterfactual/sentences.jsonl.gz": 1_000,
    "qmsum/val.jsonl.gz": 1,
    "qmsum/train.jsonl.gz": 2,
}
CONTRACTS = 2
# Of the demo's dialogues, so that every domain has some; of labels, those of the first phrases.
KEPT = {"demo/dialogues.jsonl": (0, None, 40), "benchmarks/natural/reviews.jsonl": (10, 70)}
# Of the sets of intents, topics in order.
TOPICS = 3
# What else a script needs to be installed.
SCRIPTS = [
    ("benchmarks/blind_hits.py --data {data} --kind reviews --verifier similarity",),
    ("benchmarks/calibration_set.py --data {data} --out calibration",),
    ("benchmarks/checksums.py --store {store} --rounds 1",),
    ("benchmarks/engines.py --data {data} --texts 16 --rounds 2", "sentence_transformers"),
    ("benchmarks/estimated_recall.py --data {data} --size 20 --seeds 1 --topics 2",),
    ("benchmarks/exactness.py --data {data} --pairs 9 --contracts 1",),
    ("benchmarks/fusion.py --data {data}/qmsum/val.jsonl.gz --limit 1", "ir_measures"),
    ("benchmarks/hit_borders.py {whole} --dialogues 4 --contracts 1",),
    ("benchmarks/hit_latency.py {store} --rounds 1",),
    ("benchmarks/house.py",),
    ("benchmarks/ingest_memory.py --data {data} --megabytes 0.1",),
    ("benchmarks/local_kernel.py --data {data} --tokens 9000 --rounds 1",),
    ("benchmarks/natural_hits.py reviews benchmarks/natural/reviews.txt --data {data}",),
    ("benchmarks/opposites.py --encoder default",),
    ("benchmarks/original_pages.py --pages 20", "pypdfium2"),
    ("benchmarks/processors.py --texts 1 --rounds 1", "onnx"),
    ("benchmarks/reader_agreement.py",),
    ("benchmarks/reading_order.py --data {data} --kind reviews",),
    ("benchmarks/remembered.py --phrases 9",),
    ("benchmarks/service_load.py --store {store} --clients 2 --requests 1 --seconds 1", "fastapi"),
    ("benchmarks/span_policies.py --store {store} --corpus contracts --data {data} --passages 20",),
    ("benchmarks/topic_labels.py --data {data} --every 70",),
    ("benchmarks/topics_pass.py --store {store} --data {data} --topics 1 --phrases 3",),
    (
        "benchmarks/verifier_fitting.py --data {whole} --read told --kind reviews --kind support "
        "--every 25",
    ),
    ("benchmarks/visible_words.py docs --formats .md --worst 1", "lxml"),
    ("benchmarks/verify_latency.py --store {store} --phrases 1",),
    ("benchmarks/verify_profile.py --store {store} --phrases 1",),
    ("benchmarks/walks.py --data {whole} --dialogues 30 --contracts 2", "playwright"),
    ("benchmarks/wrapped_pages.py --files 1 --pages 4", "pypdfium2"),
    ("docs/make_picture.py",),
    ("docs/make_recall_walk.py {service} {data}/multidogo/turn_level.jsonl.gz", "playwright"),
    ("docs/make_screenshots.py {service}", "playwright"),
    ("benchmarks/page_speed.py {service} --hits 200 --rounds 1", "playwright"),
    ("recipes/border_scores.py {data}",),
    ("recipes/evaluation_hashes.py {data}",),
    ("recipes/hard_negatives.py {pairs} triples.jsonl --negatives 1",),
    ("recipes/found_contrasts.py {data} {contrasts} out.jsonl --hits 40 --contracts 4 --kept 200",),
    ("recipes/read_contrasts.py {whole} {contrasts} read.jsonl --contrasts 10 --hits 10",),
    ("recipes/verifier_floats.py floats", "transformers"),
]

# Those that take half a minute or more, or time what they run.
LARGE = (
    *("checksums", "engines", "hit_latency", "ingest_memory", "local_kernel", "make_recall_walk"),
    *("make_screenshots", "original_pages", "page_speed", "processors", "read_contrasts"),
    *("reading_order", "remembered", "service_load", "topics_pass", "verifier_fitting"),
    *("verify_latency", "verify_profile", "walks", "wrapped_pages"),
)

pytestmark = [pytest.mark.slow, pytest.mark.release]


@pytest.fixture(scope="module")
def place(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what scripts write to, beside links to the rest of the checkout."""
    place = tmp_path_factory.mktemp("scripts")
    for path in REPOSITORY.iterdir():
        if path.name in ("benchmarks", "docs", "demo"):
            shutil.copytree(path, place / path.name)
        elif not path.name.startswith(".") and path.name != "demo.slice":
            (place / path.name).symlink_to(path)
    for name, kept in KEPT.items():
        with (REPOSITORY / name).open("rb") as stream:
            (place / name).write_bytes(b"".join(islice(stream, *kept)))
    (place / "demo.slice").symlink_to(store)
    return place


def run_script(line: str, place: Path) -> None:
    """Run a script in a place; it must end well."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PYTHONPATH": str(REPOSITORY), "PATH": path}
    done = subprocess.run(
        [sys.executable, *line.split()], cwd=place, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-5_000:]


@pytest.fixture(scope="module")
def whole() -> Path:
    """The data sets."""
    if not DATA.is_dir():
        pytest.skip(f"needs the data sets in {DATA}; docs/data.md says where to get them")
    return DATA


@pytest.fixture(scope="module")
def data(whole: Path, shared: Shared) -> Path:
    """The data sets, some of them cut short."""
    return shared("data", cut_short)


def cut_short(data: Path) -> None:
    """Make a folder of the data sets, some of them cut short."""
    for path in filter(Path.is_file, DATA.rglob("*")):
        link = data / path.relative_to(DATA)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    for name, count in LINES.items():
        with gzip.open(DATA / name) as stream:
            replace(data / name, gzip.compress(b"".join(islice(stream, count))))
    path = data / "contract-nli" / "dev.json.gz"
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["documents"] = content["documents"][:CONTRACTS]
    replace(path, gzip.compress(json.dumps(content).encode()))
    path = data / "clinc150" / "data_full.json"
    content = json.loads(path.read_bytes())
    topics = sorted({topic for _, topic in content["train"]})[:TOPICS]
    content["train"] = [row for row in content["train"] if row[1] in topics]
    replace(path, json.dumps(content).encode())
    path = data / "banking77" / "train.csv"
    rows = list(csv.reader(path.read_text("utf-8").splitlines(keepends=True)))
    topics = sorted({topic for _, topic in rows[1:]})[:TOPICS]
    some = io.StringIO(newline="")
    csv.writer(some).writerows([rows[0], *(row for row in rows if row[1] in topics)])
    replace(path, some.getvalue().encode())


def replace(link: Path, content: bytes) -> None:
    """Put a file in the place of a link."""
    link.unlink()
    link.write_bytes(content)


@pytest.fixture(scope="module")
def store(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some of the demo documents."""
    folder = tmp_path_factory.mktemp("store")
    dialogues = folder / "dialogues.jsonl"
    with (DEMO / "dialogues.jsonl").open("rb") as stream:
        dialogues.write_bytes(b"".join(islice(stream, 30)))
    with Corpus(folder / "some.slice", encoder) as corpus:
        corpus.ingest([*sorted((DEMO / "contracts").glob("*.txt"))[:1], dialogues])
    return folder / "some.slice"


@pytest.fixture(scope="module")
def service(demo_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service with the demo documents."""
    if not any(map(shutil.which, ("chromium", "chromium-headless-shell"))):
        pytest.skip("no Chromium on the PATH")
    folder = tmp_path_factory.mktemp("work")
    shutil.copytree(demo_store, folder / "demo.slice")
    with served(str(folder / "demo.slice"), "--work", str(folder / "topics")) as server:
        yield server.address


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of a query and its answer."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    texts = [("my card is gone", "I lost my card."), ("end my plan", "Please cancel my plan.")]
    rows = (json.dumps({"first": first, "second": second}) for first, second in texts)
    path.write_text("\n".join(rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def contrasts(place: Path, data: Path, shared: Shared) -> Path:
    """What the recipe for contrasts makes."""
    command = f"recipes/contrasts.py {data}"
    return shared("contrasts.jsonl", lambda path: run_script(f"{command} {path} --rows 300", place))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, marks=[pytest.mark.large] * (Path(name).stem in LARGE), id=name)
        for script in SCRIPTS
        for name in [script[0].split()[0]]
    ],
)
def test_a_script_runs(
    script: tuple[str, ...], place: Path, request: pytest.FixtureRequest
) -> None:
    line, *needs = script
    for module in needs:
        pytest.importorskip(module, reason=f"{module} is not installed")
    names = re.findall(r"\{(\w+)\}", line)
    run_script(line.format(**{name: request.getfixturevalue(name) for name in names}), place)
