from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from slice_os import Corpus, Document, SpanEncoder
from slice_os.cli.commands import PLACES

from .command_line import Outcome, Run, printed

REPOSITORY = Path(__file__).parents[1]
COMMAND = [sys.executable, "-c", "from slice_os.cli import main; main()"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def store(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = str(tmp_path_factory.mktemp("cli") / "store")
    clause = "Either party may end this agreement at any time. "
    with Corpus(place, encoder) as corpus:
        corpus.add(
            [
                *(Document(f"same {n}", clause, {"lang": "en", "n": n}) for n in range(7)),
                Document("de", "Jede Partei kann den Vertrag kündigen.", {"lang": "de"}),
                Document("long", "The weather is nice. " * 20 + clause + "Dogs bark. " * 40),
                Document(
                    "emoji", "Ich will 👩‍👩‍👧‍👦 kündigen e\u0301 我想取消订阅。", {"lang": "mix"}
                ),
            ]
        )
    return place


def error_line(outcome: Outcome, status: int) -> str:
    """The one line on standard error of a command that failed."""
    assert outcome.status == status
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("slice-os: ")
    assert "Traceback" not in outcome.err
    return outcome.err.removeprefix("slice-os: ").strip()


class TestIngest:
    def test_reports_its_work_and_does_it_only_once(self, run: Run) -> None:
        Path("a.jsonl").write_text('{"id": "1", "text": "End my plan."}\n')
        first = run("ingest", "a.jsonl", "--store", "s")
        again = run("ingest", "a.jsonl", "--store", "s")
        assert (first.status, first.err, again.status, again.err) == (0, "", 0, "")
        assert orjson.loads(first.out)["documents"] == 1
        assert orjson.loads(again.out)["sources_unchanged"] == 1
        (hit,) = run("search", "cancel my plan", "--store", "s").rows()
        assert (hit["doc_id"], hit["passage"]["text"]) == ("1", "End my plan.")

    def test_reports_file_and_line_of_bad_records(self, run: Run) -> None:
        Path("a.jsonl").write_bytes(b'{"id":"1","text":"good"}\nbad\n{"id":"2"}\n')
        Path("b.txt").write_bytes(b"one\ntwo \x81\n")
        Path("c.md").write_bytes(b"")
        Path("\x1b[31m.txt").write_bytes(b"")
        outcome = run("ingest", ".", "--store", "s")
        assert outcome.status == 1
        assert orjson.loads(outcome.out)["documents"] == 1
        lines = outcome.err.splitlines()
        assert lines[0].startswith("slice-os: \N{REPLACEMENT CHARACTER}[31m.txt: empty")
        assert lines[1].startswith("slice-os: a.jsonl:2: not valid JSON")
        assert lines[2].startswith("slice-os: a.jsonl:3: field 'text' is missing")
        assert lines[3].startswith("slice-os: b.txt:2: not valid UTF-8: byte 0x81")
        assert lines[4].startswith("slice-os: c.md: empty")
        assert lines[5] == "slice-os: 5 records could not be used, see s/dead-letters.jsonl"
        assert len(Path("s/dead-letters.jsonl").read_text().splitlines()) == 5

    def test_scan_reads_as_ingest_does(self, run: Run) -> None:
        Path("calls.csv").write_bytes(
            "id;call;who;said\n1;a;agent;Grüße.\n2;a;customer;Please cancel my order.\n".encode(
                "cp1252"
            )
        )
        reading = ["--group-by", "call", "--speaker-field", "who", "--text-field", "said"]
        reading += ["--encoding", "cp1252", "--delimiter", ";", "--language", "de"]
        run("ingest", "calls.csv", "--store", "s", *reading)
        asked = ["-p", "please cancel my order", "--threshold", "0.9"]
        (mined,) = run("mine", *asked, "--store", "s").rows()
        (scanned,) = run("scan", "calls.csv", *asked, *reading).rows()
        assert (scanned["doc_id"], scanned["text"]) == ("a", "Please cancel my order")
        for name in ("doc_id", "start", "end", "text"):
            assert scanned[name] == mined[name]

    def test_says_which_files_in_an_archive_were_skipped(self, run: Run, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "docs.zip", "w") as archive:
            for name in ("a.txt", "img/b.PNG", "img/c.png", "LICENSE"):
                archive.writestr(name, b"Please cancel my order.")
        archive_path = str(tmp_path / "docs.zip")
        told = "3 files skipped: 2 .png in docs.zip, 1 without extension in docs.zip"
        outcome = run("ingest", archive_path, "--store", "s", "--strict")
        assert outcome.status == 1
        assert told in outcome.err
        assert orjson.loads(outcome.out)["bad_records"] == 0
        outcome = run("scan", archive_path, "-p", "please cancel it")
        assert outcome.status == 0
        assert told in outcome.err

    def test_says_which_files_were_skipped(self, run: Run) -> None:
        Path("calls").mkdir()
        Path("calls/a.txt").write_text("End my plan.")
        for name in ("b.qqq", "c.qqq", "d.\x1bq", "e"):
            (Path("calls") / name).write_bytes(b"?")
        outcome = run("ingest", "calls", "--store", "s")
        assert outcome.status == 0
        assert orjson.loads(outcome.out)["skipped"] == {
            ".\x1bq": 1,
            ".qqq": 2,
            "without extension": 1,
        }
        assert error_line(outcome, 0) == (
            "4 files skipped: 2 .qqq, 1 .\N{REPLACEMENT CHARACTER}q, 1 without extension"
        )
        assert run("ingest", "calls", "--store", "s", "--strict").status == 1
        assert run("ingest", "calls/a.txt", "--store", "s", "--strict").status == 0
        scanned = run("scan", "calls", "-p", "cancel my plan")
        assert (scanned.status, scanned.err) == (0, outcome.err)

    def test_prunes_and_names_sources(self, run: Run) -> None:
        Path("calls").mkdir()
        for name in ("a", "b"):
            Path(f"calls/{name}.txt").write_text("End my plan.")
        options = ["--store", "s", "--source", "crm", "--id-prefix", "x/"]
        assert run("ingest", "calls", *options).status == 0
        Path("calls/a.txt").unlink()
        run("ingest", "calls", *options, "--checksum", "--prune")
        listed = run("store", "list", "--store", "s").out.splitlines()
        assert [orjson.loads(line) for line in listed] == [
            {"id": "x/b.txt", "source": "crm/b.txt", "passages": 1}
        ]

    def test_reports_only_the_first_twenty_bad_records(self, run: Run) -> None:
        Path("a.jsonl").write_text("bad\n" * 1_000)
        outcome = run("ingest", "a.jsonl", "--store", "s", "--dead-letters", "new/dead")
        assert len(outcome.err.splitlines()) == 21
        assert outcome.err.endswith("1000 records could not be used, see new/dead\n")
        assert len(Path("new/dead").read_text().splitlines()) == 1_000

    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            (["nothing", "--store", "s"], 1, "'nothing': no such file or folder"),
            (["a.bin", "--store", "s"], 1, "a.bin: unknown extension '.bin'"),
            (["a.txt", "--store", "a.txt"], 1, "a.txt: cannot be used as a store folder"),
            (["a.txt", "--store", "a.txt/s"], 1, "a.txt/s: cannot be used as a store folder"),
            (["a.txt", "--store", "full"], 1, "full: holds other files"),
            (["a.txt", "--store", "s", "--max-pieces", "2000"], 2, "2000 is not in the range"),
            (["a.txt", "--store", "s", "--format", "doc"], 2, "'doc' is not one of 'text'"),
            (["a.txt", "--store", "s", "--model", "none"], 1, "no model at 'none'"),
            (["a.txt", "--store", "s", "--provider", "none"], 1, "no execution provider 'none'"),
            (["a.txt", "--store", "s", "--threads", "0"], 2, "0 is not in the range"),
            (["a.txt", "--store", ""], 2, "'--store': give a folder or an address"),
            (["a.txt", "--store", "s", "--dead-letters", "a.txt/d"], 1, "a.txt is a file, not a"),
            (["a.txt"], 2, "Missing option '--store'"),
            (["--store", "s"], 2, "Missing argument 'PATH...'"),
        ],
    )
    def test_wrong_use_is_one_line(
        self, run: Run, arguments: list[str], status: int, message: str
    ) -> None:
        Path("a.txt").write_text("text")
        Path("a.bin").write_text("text")
        Path("full").mkdir()
        Path("full/x").write_text("")
        assert message in error_line(run("ingest", *arguments), status)
        assert not Path("s").exists()

    def test_refuses_another_passage_size(self, run: Run, store: str) -> None:
        Path("a.txt").write_text("text")
        outcome = run("ingest", "a.txt", "--store", store, "--max-pieces", "64")
        assert "passages of 128 word pieces, not 64" in error_line(outcome, 1)

    def test_reads_standard_input(self) -> None:
        command = [*COMMAND, "scan", "-", "--format", "jsonl", "-p", "stop", "--threshold", "0.9"]
        given = '{"id": "1", "text": "please stop now"}\n'
        hit = orjson.loads(printed(command, input=given, env=ENVIRONMENT))
        assert (hit["doc_id"], hit["text"], hit["bm25"]) == ("1", "stop", None)


class TestSearching:
    def test_prints_a_json_object_per_hit(self, run: Run, store: str) -> None:
        outcome = run("search", "cancel the contract at will", "--store", store)
        assert (outcome.status, outcome.err) == (0, "")
        hits = outcome.rows()
        assert len(hits) == 10
        with Corpus(store) as corpus:
            for hit in hits:
                assert list(hit) == [
                    *("doc_id", "start", "end", "text", "cosine", "bm25", "score", "probability"),
                    *("band", "reasons", "matches", "phrase", "topic", "metadata", "clause"),
                    *("sentence", "turn", "span", "count", "label", "passage"),
                ]
                text = corpus.text(hit["doc_id"])
                passage = hit["passage"]
                assert text[hit["start"] : hit["end"]] == hit["text"]
                assert text[passage["start"] : passage["end"]] == passage["text"]
                assert passage["start"] <= hit["start"] < hit["end"] <= passage["end"]
        told = [h["probability"] for h in hits if h["probability"] is not None]
        assert told == sorted(told, reverse=True)

    @pytest.mark.parametrize("fusion", ["convex", "rrf", "cosine"])
    def test_pages_together_are_the_whole_ranking(self, run: Run, store: str, fusion: str) -> None:
        def page(offset: int, top_k: int) -> list[dict[str, Any]]:
            wanted = ["--offset", str(offset), "--top-k", str(top_k), "--fusion", fusion]
            return run("search", "end the agreement", "--store", store, *wanted).rows()

        everything = page(0, 100)
        paged = [hit for offset in range(0, 18, 3) for hit in page(offset, 3)]
        assert len(everything) > 10
        assert paged == everything
        assert page(100, 3) == []

    def test_a_passage_may_have_several_hits(self, run: Run, store: str) -> None:
        ask = ("search", "Dogs bark", "--store", store, "-k", "200", "--threshold", "0.6")
        one, three = (run(*ask, "--per-passage", most).rows() for most in ("1", "3"))
        assert max(Counter(h["passage"]["text"] for h in one).values()) == 1
        assert max(Counter(h["passage"]["text"] for h in three).values()) == 3
        told = run(*ask, "--per-passage", "2", "--fusion", "rrf")
        assert (told.status, told.out) == (1, "")
        assert told.err == (
            "slice-os: per_passage 2: fusion 'rrf' ranks passages, not hits; use one of convex, "
            "cosine\n"
        )

    def test_filters_and_thresholds(self, run: Run, store: str) -> None:
        ask = ("search", "end this agreement at any time", "--store", store, "-k", "50")
        assert {h["doc_id"] for h in run(*ask, "--filter", "lang=de").rows()} == {"de"}
        both = run(*ask, "--filter", "lang=en", "--filter", "n=3", "--filter", "n=5").rows()
        assert {h["doc_id"] for h in both} == {"same 3", "same 5"}
        told = run(*ask, "--filter", "lang=fr")
        assert (told.status, told.out) == (0, "")
        assert told.err == (
            f"slice-os: {store}: no passage has lang 'fr'; there are 'en', 'de', 'mix'\n"
        )
        some = run(*ask, "--filter", "n >= 2", "--filter", "n<5", "--filter", "n!=3").rows()
        assert {h["doc_id"] for h in some} == {"same 2", "same 4"}
        assert {h["doc_id"] for h in run(*ask, "--filter", "lang in DE, mix").rows()} == {
            "de",
            "emoji",
        }
        everything = run(*ask).rows()
        above = run(*ask, "--threshold", "0.7").rows()
        assert above == [hit for hit in everything if hit["cosine"] >= 0.7]
        assert 0 < len(above) < len(everything)

    def test_several_phrases_are_alternatives(self, run: Run, store: str) -> None:
        ask = ("search", "end this agreement", "-p", "Dogs bark", "--store", store, "-k", "50")
        hits = run(*ask).rows()
        assert {hit["phrase"] for hit in hits} == {"end this agreement", "Dogs bark"}
        assert run("search", "-p", *ask[1:]).rows() == hits
        heads = [line for line in run(*ask, "--text").out.splitlines() if "  cosine " in line]
        for head, hit in zip(heads, hits, strict=True):
            assert f"  “{hit['phrase']}”  cosine " in head

    def test_mines_every_hit_by_document_without_overlaps(self, run: Run, store: str) -> None:
        outcome = run("mine", "Dogs bark", "-p", "nice weather", "--store", store)
        hits = [hit for hit in outcome.rows() if hit["phrase"] == "Dogs bark"]
        assert len([hit for hit in hits if hit["text"] == "Dogs bark"]) > 30
        places = [(hit["start"], hit["end"]) for hit in hits]
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(places))
        assert all(hit["cosine"] >= 0.6 for hit in outcome.rows())

    def test_mining_and_scanning_agree(self, run: Run, store: str) -> None:
        with Corpus(store) as corpus:
            Path("long.txt").write_text(corpus.text("long"))
        asked = ["-p", "agreement", "--threshold", "0.55"]
        mined = [h for h in run("mine", *asked, "--store", store).rows() if h["doc_id"] == "long"]
        scanned = run("scan", "long.txt", *asked).rows()
        assert [(h["start"], h["end"]) for h in mined] == [(h["start"], h["end"]) for h in scanned]
        for one, other in zip(mined, scanned, strict=True):
            assert one["cosine"] == pytest.approx(other["cosine"], abs=0.01)

    def test_unicode_is_printed_unchanged(self, run: Run, store: str) -> None:
        asked = ["search", "Ich will 取消", "--store", store, "--order", "score"]
        hit = run(*asked, "-k", "1").rows()[0]
        assert hit["doc_id"] == "emoji"
        assert "👩‍👩‍👧‍👦" in hit["passage"]["text"]
        text = run(*asked, "--text").out
        assert "👩" in text
        assert "e\u0301" in text

    def test_an_empty_store_has_no_hits(
        self, run: Run, encoder: SpanEncoder, tmp_path: Path
    ) -> None:
        with Corpus(tmp_path / "s", encoder) as corpus:
            corpus.add([])
        for ask in (["search", "x"], ["mine", "-p", "x"]):
            assert run(*ask, "--store", "s") == Outcome(0, "", "")
            assert run(*ask, "--store", "s", "--text") == Outcome(0, "", "no hits\n")
        assert orjson.loads(run("store", "info", "--store", "s").out)["documents"] == 0
        assert run("store", "info", "--store", "s", "--text").out.startswith("location   ")

    def test_the_environment_may_name_the_store(
        self, run: Run, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SLICE_OS_STORE", store)
        assert len(run("search", "dogs", "-k", "1").rows()) == 1

    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            (["search", "x", "--store", "none"], 1, "none: no store here; make one with"),
            (["search", "x", "--store", "file"], 1, "file: no store here"),
            (["search", "", "--store", "STORE"], 1, "the phrase '' has no word"),
            (["search", "?!", "--store", "STORE"], 1, "the phrase '?!' has no word"),
            (["search", "\udcff", "--store", "STORE"], 1, "lone surrogate"),
            (["search", "x", "--store", "STORE", "--fusion", "x"], 2, "'x' is not one of"),
            (["search", "x", "--store", "STORE", "--threshold", "2"], 2, "2.0 is not in the range"),
            (["search", "x", "--store", "STORE", "--threshold", "x"], 2, "'x' is not a valid"),
            (["search", "x", "--store", "STORE", "--threshold", "nan"], 2, "nan is not in the r"),
            (["mine", "-p", "x", "--store", "STORE", "--threshold", "nan"], 2, "nan is not in the"),
            (["scan", "-", "-p", "x", "--threshold", "nan"], 2, "nan is not in the range -1<=x<=1"),
            (["search", "x", "--store", "STORE", "-k", "0"], 2, "0 is not in the range"),
            (["search", "x", "--store", "STORE", "--offset", "-1"], 2, "-1 is not in the range"),
            (
                ["search", "x", "--store", "STORE", "--filter", "x"],
                2,
                "not of the form FIELD=VALUE",
            ),
            (["search", "x", "--store", "STORE", "--filter", "=x"], 2, "not of the form"),
            (["search", "x", "--store", "STORE", "--filter", "n=>3"], 2, "no operator '=>'; there"),
            (["search", "x", "--store", "STORE", "--filter", "m=3"], 1, "no metadata field 'm'"),
            (["search", "x", "--store", "STORE", "--filter", "n>x"], 1, "n > x: give a number"),
            (["search", "x", "--store", "STORE", "--bogus"], 2, "No such option"),
            (["search", "x", "--store", "STORE", "--model", "file"], 1, "no model at 'file'"),
            (["search", "--store", "STORE"], 2, "give a phrase"),
            (["mine", "--store", "STORE"], 2, "give a phrase or --topics"),
            (["scan", "none", "-p", "x"], 1, "'none': no such file"),
            (["search", "x", "--store", "STORE", "-o", ""], 2, "'--output': give the name of a"),
            (["store", "info", "--store", "none"], 1, "no store here"),
            (["store", "delete", "x", "--store", "none"], 1, "no store here"),
            (["store", "delete", "--store", "STORE"], 2, "Missing argument"),
            (["bogus"], 2, "No such command 'bogus'"),
        ],
    )
    def test_wrong_use_is_one_line(
        self, run: Run, store: str, arguments: list[str], status: int, message: str
    ) -> None:
        Path("file").write_text("x")
        arguments = [store if argument == "STORE" else argument for argument in arguments]
        assert message in error_line(run(*arguments), status)

    def test_documents_and_sources_are_listed(self, run: Run, store: str) -> None:
        listed = [
            orjson.loads(line) for line in run("store", "list", "--store", store).out.splitlines()
        ]
        assert [entry["id"] for entry in listed] == [
            "de",
            "emoji",
            "long",
            *(f"same {n}" for n in range(7)),
        ]
        shown = run("store", "list", "--store", store, "--sources", "--text")
        assert shown.out.split() == ["name", "documents", "10"]
        assert run("store", "list", "--store", store, "--sources", "--json").out == (
            '{"name":"","documents":10}\n'
        )

    def test_scan_reports_bad_records(self, run: Run) -> None:
        Path("a.jsonl").write_text('bad\n{"id": "1", "text": "please stop"}\n')
        Path("b.txt").write_bytes(b"\xff")
        outcome = run("scan", "a.jsonl", "b.txt", "-p", "stop", "--threshold", "0.9")
        assert outcome.status == 1
        assert [hit["text"] for hit in outcome.rows()] == ["stop"]
        assert [line.split(": ")[1] for line in outcome.err.splitlines()] == [
            "a.jsonl:1",
            "b.txt:1",
        ]


def test_deleting_counts_what_was_there(run: Run, encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "s", encoder) as corpus:
        corpus.add([Document("a", "one"), Document("b", "two")])
    assert run("store", "delete", "a", "x", "--store", "s") == Outcome(
        1, "", "1 of 2 documents deleted; not found: x\n"
    )
    assert run("store", "delete", "b", "--store", "s") == Outcome(
        0, "", "1 of 1 documents deleted\n"
    )
    assert orjson.loads(run("store", "info", "--store", "s").out)["documents"] == 0


class TestHelp:
    def test_needs_no_heavy_imports(self) -> None:
        # `eval` imports every harness to list them.
        commands = ["", *(name for name in PLACES if name != "eval")]
        code = (
            "import sys\nfrom slice_os.cli import main\n"
            "for command in sys.argv[1:]:\n"
            "    try: main([*command.split(), '--help'])\n"
            "    except SystemExit: pass\n"
            "    heavy = {'numpy', 'onnxruntime', 'tokenizers', 'torch', 'sqlite3'}\n"
            "    print(f'\\f{command}: {sorted(heavy & set(sys.modules))}', end='\\f')"
        )
        # What measures coverage imports sqlite3 itself.
        variables = {name: value for name, value in ENVIRONMENT.items() if "COVERAGE" not in name}
        shown = printed([sys.executable, "-c", code, *commands], env=variables)
        *told, end = shown.split("\f")
        assert (told[1::2], end) == ([f"{command}: []" for command in commands], "")
        assert all(shown.startswith(("Usage: slice-os", "  Find every")) for shown in told[::2])

    def test_is_shown_if_no_command_is_given(self, run: Run) -> None:
        status, out, err = run()
        assert (status, err) == (0, "")
        assert out.startswith("  Find every passage")
        assert "\nFill      ingest  " in out
        assert run("--help") == run("-h") == (status, out, err)

    @pytest.mark.parametrize("group", ["index", "store", "model", "eval"])
    def test_a_group_alone_prints_it(self, run: Run, group: str) -> None:
        status, out, err = run(group)
        assert (status, err) == (0, "")
        assert out.startswith(f"Usage: slice-os {group} [OPTIONS] ")
        assert "\nCommands:\n" in out

    def test_fits_on_a_screen(self, run: Run) -> None:
        lines = run("--help").out.splitlines()
        assert len(lines) < 24  # and the prompt
        assert max(map(len, lines)) < 80

    @pytest.mark.parametrize(
        ("typed", "meant"),
        [
            ("serch", "`slice-os search`"),
            ("delete", "`slice-os store delete` or `slice-os index delete`"),
            ("query", "`slice-os index query`"),
            ("store inof", "`slice-os store info`"),
            ("topics lnt", "`slice-os topics lint`"),
        ],
    )
    def test_a_mistyped_command_is_answered_with_the_nearest(
        self, run: Run, typed: str, meant: str
    ) -> None:
        line = error_line(run(*typed.split()), 2)
        assert line == f"No such command {typed.split()[-1]!r}. Did you mean {meant}?"

    def test_an_unknown_command_is_answered_with_the_help(self, run: Run) -> None:
        told = error_line(run("store", "xyzzy"), 2)
        assert told == "No such command 'xyzzy'. See `slice-os store --help`."


class TestInterruption:
    def test_a_closed_pipe_is_not_an_error(self, store: str) -> None:
        with subprocess.Popen(
            [*COMMAND, "mine", "-p", "weather", "--threshold", "-1", "--store", store],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert orjson.loads(process.stdout.readline())
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(60) == 0

    def test_ctrl_c_while_it_starts_ends_in_a_line(self, tmp_path: Path) -> None:
        (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
        search_path = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])
        variables = {**ENVIRONMENT, "PYTHONPATH": search_path}
        done = subprocess.run(COMMAND, capture_output=True, env=variables, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"slice-os: stopped\n")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("sent", "status"),
        [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.release)],
    )
    def test_a_signal_stops_an_ingest_that_later_resumes(
        self, run: Run, tmp_path: Path, sent: signal.Signals, status: int
    ) -> None:
        record = b'{"text": "%s"}\n' % (b"the goods are delivered on the agreed date, " * 30)
        (tmp_path / "a.jsonl").write_bytes(record * 40)
        ingest = ["ingest", "a.jsonl", "--store", "s", "--threads", "1"]
        with subprocess.Popen(
            [*COMMAND, *ingest],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            # Shells start background jobs with SIGINT ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            vectors = tmp_path / "s/vectors.i8"
            while not (vectors.exists() and vectors.stat().st_size > 1_000_000):
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(sent)
            out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err.strip()) == (status, b"", b"slice-os: stopped")
        kept = orjson.loads(run("store", "info", "--store", "s").out)["documents"]
        assert kept > 0
        finished = orjson.loads(run("ingest", "a.jsonl", "--store", "s").out)
        assert finished["documents"] == 40 - kept
