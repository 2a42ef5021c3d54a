"""An installed package extends slice-os by entry points: `tests/toy_plugin` is one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.errors import PluginError
from slice_os.ingest import formats
from slice_os.stores.cluster.store import OpenSearchBackend
from slice_os.stores.protocol import NewStore
from slice_os.stores.registry import create_store, find_backend, open_store, store_exists
from tests.store_contract import StoreConformance

from .command_line import Run

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def toy_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `tests/toy_plugin` is installed in."""
    folder = tmp_path_factory.mktemp("toy")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder)]
    subprocess.run([*install, *options, str(REPOSITORY / "tests" / "toy_plugin")], check=True)
    return folder


@pytest.fixture
def slice_os(toy_packages: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line in an empty folder, where the toy package is installed."""
    monkeypatch.syspath_prepend(str(toy_packages))
    # This process may have looked for readers before.
    monkeypatch.setattr(formats, "_installed", cache(formats._installed.__wrapped__))
    return run


class TestCommands:
    def test_the_help_lists_them_and_imports_none(self, toy_packages: Path, tmp_path: Path) -> None:
        shown = subprocess.run(
            [sys.executable, "-c", "from slice_os.cli import main; main()", "--help"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{toy_packages}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (shown.returncode, shown.stderr) == (0, "")
        ours, plugins = shown.stdout.split("\nPlugins ")
        assert "wave" not in ours
        lines = [re.sub(" {2,}", "  ", line.strip()) for line in plugins.splitlines()[:3]]
        package = "(toy-plugin 1.0)"
        assert sorted(lines) == [
            f"broken  Toy parts for slice-os. {package}",
            f"search  Not used: slice-os has this command. {package}",
            f"wave  Toy parts for slice-os. {package}",
        ]

    def test_one_runs(self, slice_os: Run, tmp_path: Path) -> None:
        (tmp_path / "ann.txt").write_text("End my plan.")
        assert slice_os("ingest", "ann.txt", "--store", "s", "--source", "x").status == 0
        waved = slice_os("wave", "--store", "s")
        assert (waved.status, waved.out, waved.err) == (0, "Hello, ann.txt!\n", "")
        assert "Greet every document in a store." in slice_os("wave", "--help").out

    def test_a_broken_one_is_told_in_a_line(self, slice_os: Run) -> None:
        done = slice_os("broken", "--help")
        assert (done.status, done.out) == (1, "")
        assert done.err == (
            "slice-os: slice_os.commands: 'broken' of toy-plugin 1.0 does not load: "
            "ModuleNotFoundError: No module named 'toy_plugin.missing'; "
            "update or uninstall the package\n"
        )

    def test_ours_wins(self, slice_os: Run) -> None:
        assert "PHRASE" in slice_os("search", "--help").out

    def test_a_mistyped_one_is_found(self, slice_os: Run) -> None:
        assert "Did you mean `slice-os wave`?" in slice_os("wav").err


class TestStores(StoreConformance):
    @pytest.fixture
    def location(self, toy_packages: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.syspath_prepend(str(toy_packages))
        return f"toy://{uuid4().hex}"

    def test_a_corpus_is_filled_searched_and_mined(
        self, location: str, encoder: SpanEncoder, tmp_path: Path
    ) -> None:
        calls = tmp_path / "calls"
        calls.mkdir()
        (calls / "call.txt").write_text("Hello there. Please cancel my subscription today.")
        (calls / "other.txt").write_text("The weather is nice in May, isn't it?")
        phrases = ["I want to cancel my subscription", "stop billing me"]
        found = []
        for place in (location, str(tmp_path / "calls.slice")):
            with Corpus(place, encoder) as corpus:
                summary = corpus.ingest([calls], dead_letters=tmp_path / "dead-letters.jsonl")
                assert (summary.documents, summary.sources) == (2, 2)
                assert corpus.ingest([calls]).sources_unchanged == 2
                best = corpus.search(phrases, fusion="cosine")
                mined = corpus.mine(phrases, threshold=0.5)
                assert best[0].text in corpus.text(best[0].doc_id)
            found.append(
                [[(h.doc_id, h.start, h.end, h.phrase) for h in hits] for hits in (best, mined)]
            )
        assert found[0] == found[1]
        assert all(found[0])

    def test_one_is_opened_with_its_encoder(self, location: str, encoder: SpanEncoder) -> None:
        assert not store_exists(location)
        create_store(location, NewStore(encoder.card, 64))
        assert open_store(location.replace("toy", "TOY").lower(), encoder.card)
        assert find_backend(location).login(location) is None
        with Corpus(location) as corpus:
            assert str(corpus.default_dead_letters) == "dead-letters.jsonl"
            corpus.add([Document("1", "end my plan")])
            assert corpus.encoder.card == encoder.card
            with pytest.raises(InputError, match="'server' needs"):
                corpus.search("cancel", fusion="server")

    @pytest.mark.usefixtures("location")
    def test_of_ours_win_and_of_another_type_are_refused(self) -> None:
        assert isinstance(find_backend("http://localhost/calls"), OpenSearchBackend)
        with pytest.raises(PluginError, match=r"'half' of toy-plugin 1\.0 is a ABCMeta, not"):
            find_backend("half://x")


class TestVerifiers:
    TEXT = "We end the contract. Shall we end the contract?"

    def test_one_reads_hits_by_its_name(self, slice_os: Run, tmp_path: Path) -> None:
        (tmp_path / "ann.txt").write_text(self.TEXT)
        asked = ("scan", "ann.txt", "-p", "we end the contract", "--threshold", "0.6", "--json")
        done = slice_os(*asked, "--verifier", "careful:0.8")
        assert done.status == 0, done.err
        hits = done.rows()
        assert [(hit["probability"], hit["reasons"]) for hit in hits] == [
            (0.8, []),
            (0.1, ["asks"]),
        ]
        ours = slice_os(*asked, "--verifier", "slice-verify").out
        assert ours == slice_os(*asked).out

    def test_a_topic_names_one(self, slice_os: Run, tmp_path: Path) -> None:
        (tmp_path / "ann.txt").write_text(self.TEXT)
        (tmp_path / "end.toml").write_text(
            'phrases = ["we end the contract"]\nmin_probability = 0.5\nverifier = "careful"\n'
        )
        assert slice_os("ingest", "ann.txt", "--store", "s").status == 0
        mined = slice_os("mine", "--topics", "end.toml", "--store", "s", "--json")
        assert [hit["probability"] for hit in mined.rows()] == [0.9]

    def test_topics_are_tested_and_improved_with_one(self, slice_os: Run, tmp_path: Path) -> None:
        (tmp_path / "ann.txt").write_text(self.TEXT)
        (tmp_path / "end.toml").write_text(
            'phrases = ["we end the contract"]\nmin_probability = 0.5\n'
            'must_match = ["We end the contract."]\n'
        )
        low = ("--verifier", "careful:0.45")
        strict = slice_os("topics", "test", "end.toml", *low, "--json")
        assert (strict.status, strict.json()["matched"]) == (1, False)
        assert slice_os("ingest", "ann.txt", "--store", "s").status == 0
        suggested = slice_os("topics", "suggest", "end.toml", "--store", "s", *low).out
        assert json.loads(suggested)["spans"] == 1

    def test_a_broken_one_is_told_in_a_line(self, slice_os: Run, tmp_path: Path) -> None:
        (tmp_path / "ann.txt").write_text(self.TEXT)
        done = slice_os("scan", "ann.txt", "-p", "we end it", "--verifier", "broken")
        assert (done.status, done.out) == (1, "")
        assert "slice_os.verifiers: 'broken' of toy-plugin 1.0 does not load" in done.err


class TestReaders:
    def found(self, slice_os: Run, *arguments: str, status: int = 0) -> tuple[list[str], str]:
        done = slice_os("scan", *arguments, "-p", "we end the contract", "--threshold", "0.6")
        assert done.status == status, done.err
        return [hit["doc_id"] for hit in done.rows()], done.err

    def test_one_reads_its_extension_and_by_name(self, slice_os: Run, tmp_path: Path) -> None:
        for name in ("board.min", "board.log"):
            (tmp_path / name).write_bytes(b"We end the contract.\n\xff\nThe weather is fine.\n")
        by_extension, told = self.found(slice_os, "board.min", status=1)
        assert by_extension == ["board.min#1"]
        assert "slice-os: board.min:2: 'utf-8' codec can't decode" in told
        by_name, _ = self.found(slice_os, "board.log", "--format", "minutes", status=1)
        assert by_name == ["board.log#1"]

    def test_a_broken_one_is_told_in_a_line_and_stops_nothing(
        self, slice_os: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "ann.txt").write_text("We end the contract.")
        found, told = self.found(slice_os, "ann.txt")
        assert found == ["ann.txt"]
        assert told == (
            "slice-os: slice_os.readers: 'broken' of toy-plugin 1.0 does not load: "
            "ModuleNotFoundError: No module named 'toy_plugin.missing'; "
            "update or uninstall the package\n"
        )
        refused = slice_os("scan", "ann.txt", "-p", "x", "--format", "broken")
        assert refused.status == 2
        assert "'broken' is not one of 'text'" in refused.err
        assert "'minutes'" in refused.err

    def test_ours_wins(self, slice_os: Run, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("id,text\nann,We end the contract.\n")
        assert self.found(slice_os, "a.csv")[0] == ["ann"]
