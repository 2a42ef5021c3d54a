"""Shared by the tests: threads, the bundled encoder, commands, stores, lanes, CPU time of tests."""

from __future__ import annotations

import gc
import io
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

# Workers side by side must not each take all cores; read when torch and NumPy are loaded.
if "PYTEST_XDIST_WORKER" in os.environ:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

import onnxruntime
import pytest
import tokenizers
from filelock import FileLock
from hypothesis import HealthCheck, settings

import slice_os
from slice_os import SpanEncoder
from slice_os.cli import main
from slice_os.encoder import alignment, token_model
from slice_os.encoder.integers import saturates
from slice_os.encoder.model_folder import content_id
from slice_os.ingest.sources import find_sources
from slice_os.verifier import cross_encoder

from .builders import Read, read_all, write
from .command_line import Outcome, Run

DEMO = Path(__file__).parents[1] / "demo"
BUNDLED = Path(slice_os.__file__).parent / "models"
MOST_CPU_SECONDS = 5.0
Shared = Callable[[str, Callable[[Path], object]], Path]
# What a worker starts for itself: all tests with one of these run on the same worker.
STARTED = {"tight_node", "scriptless_node", "two_nodes", "node"}

# A busy machine must not fail a test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def encoder() -> SpanEncoder:
    """The bundled model; on two threads, if no other worker needs them."""
    return SpanEncoder(threads=1 if "PYTEST_XDIST_WORKER" in os.environ else 2)


def once(make: Callable[..., Any], *key: Callable[..., object]) -> Callable[..., Any]:
    """Calls a function once for each file or folder of the bundled models, while it stays the same.

    ``key`` tells from the arguments what else makes a difference.
    """
    made: dict[tuple[object, ...], Any] = {}

    def shared(path: Any, *others: Any, **named: Any) -> Any:
        if not isinstance(path, (str, Path)) or BUNDLED not in Path(path).parents:
            return make(path, *others, **named)
        files = [Path(path), *sorted(Path(path).glob("*"))]
        states = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
        found = (*states, *(part(*others, **named) for part in key))
        if found not in made:
            made[found] = make(path, *others, **named)
        return made[found]

    return shared


@pytest.fixture(scope="session", autouse=True)
def shared_models() -> Iterator[None]:
    """Each bundled model is hashed and loaded once in a process, however many commands open it."""

    def options(sess_options: onnxruntime.SessionOptions, **others: Any) -> object:
        return sess_options.intra_op_num_threads, saturates(), repr(others)

    class Tokenizer:
        from_file = staticmethod(once(tokenizers.Tokenizer.from_file))
        from_str = tokenizers.Tokenizer.from_str

    with pytest.MonkeyPatch.context() as patch:
        load = onnxruntime.InferenceSession
        patch.setattr(onnxruntime, "InferenceSession", once(load, options))
        patch.setattr(alignment, "Tokenizer", Tokenizer)
        for module in (token_model, cross_encoder):
            patch.setattr(module, "content_id", once(content_id))
        yield


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process; ``typed`` is its standard input."""

    def run(*arguments: object, typed: str = "") -> Outcome:
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode(errors="surrogateescape")))
        )
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        sys.stdout.flush()
        return Outcome(int(ended.value.code or 0), *capfd.readouterr())

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, command_line: Run) -> Run:
    """Runs the command line in an empty folder."""
    return command_line


@pytest.fixture
def read_file(folder: Path) -> Read:
    """Write a file and read it as a PATH argument."""

    def run(path: str, content: str | bytes, **options: Any) -> Any:
        write(path, content)
        (source,) = find_sources([path])
        return read_all(replace(source, name=source.ids), **options)

    return run


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary folder that all workers of this run have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def shared(shared_folder: Path) -> Shared:
    """Makes a file or folder of that name once, for all workers; copy it before changing it."""

    def shared(name: str, make: Callable[[Path], object]) -> Path:
        made, partial = shared_folder / name, shared_folder / "partial" / name
        with FileLock(shared_folder / f"{name}.lock"):
            if not made.exists():
                partial.parent.mkdir(exist_ok=True)
                make(partial)
                partial.rename(made)
        return made

    return shared


@pytest.fixture(scope="session")
def demo_store(shared: Shared) -> Path:
    """A store of the demo documents."""
    sources = [DEMO / "contracts", DEMO / "dialogues.jsonl"]
    command = [sys.executable, "-m", "slice_os.cli", "ingest", *sources, "--store"]
    return shared(
        "demo.slice",
        lambda store: subprocess.run([*command, store], check=True, capture_output=True),
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a test of the lane are not read: frameworks take seconds to import."""
    lane = config.option.markexpr
    if lane not in ("not release", "version") or not collection_path.match("test_*.py"):
        return None
    mark = re.compile(rf"^pytestmark = .*\bpytest\.mark\.{lane.split()[-1]}\b", re.MULTILINE)
    marked = mark.search(collection_path.read_text("utf-8")) is not None
    return marked == lane.startswith("not ") or None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Import without looking for garbage, a fifth of the time, and never look at what it left."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: tests wait for nodes, browsers and processes."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a node or a browser by its fixtures; each worker begins with slow tests.

    Tests that share a node of their own, or a browser, run on one worker.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        groups: dict[str, list[pytest.Item]] = {}
        rest = []
        for item in items:
            started = STARTED.intersection(getattr(item, "fixturenames", ()))
            if "browser" in getattr(item, "fixturenames", ()):
                groups.setdefault(str(item.path), []).append(item)
            elif started or item.get_closest_marker("slow"):
                groups.setdefault(min(started, default=item.nodeid), []).append(item)
            else:
                rest.append(item)
        shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
        for group in groups.values():
            min(shares, key=len).extend(group)
        size, others = -(-len(items) // workers), iter(rest)
        for share in shares:
            share.extend(islice(others, size - len(share)))
        items[:] = chain(*shares, others)
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "elasticsearch_url" in fixtures:
            item.add_marker(pytest.mark.elastic)
        elif fixtures & {"opensearch_runtime", "opensearch_url"}:
            item.add_marker(pytest.mark.node)
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note the CPU time of a test."""
    before = cpu_seconds()
    yield
    item.user_properties.append(("cpu", cpu_seconds() - before))
    marked = item.get_closest_marker("slow") or item.get_closest_marker("release")
    item.user_properties.append(("marked", marked is not None))


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    spent = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that took most CPU time, and those that should be smaller or marked slow.

    They do not fail: a test takes longer on some machines than on others.
    """
    spent = sorted(
        (
            (dict(report.user_properties), report.nodeid)
            for report in terminalreporter.getreports("passed")
            if report.when == "call"
        ),
        key=lambda one: -one[0]["cpu"],
    )
    total = sum(properties["cpu"] for properties, _ in spent)
    terminalreporter.section(f"most CPU time of {total:.0f} s in all")
    for properties, name in spent[:30]:
        terminalreporter.line(f"{properties['cpu']:7.2f}s {name}")
    for properties, name in spent:
        if properties["cpu"] > MOST_CPU_SECONDS and not properties["marked"]:
            terminalreporter.line(
                f"{name} took more than {MOST_CPU_SECONDS:.0f} s of CPU time: make it smaller, or "
                "mark it slow",
                yellow=True,
            )
