"""The command line with odd terminals, closed streams and names that are not UTF-8."""

from __future__ import annotations

import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path

import orjson
import pytest

from slice_os import Corpus, Document, SpanEncoder

REPOSITORY = Path(__file__).parents[1]
COMMAND = [sys.executable, "-c", "from slice_os.cli import main; main()"]
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")
} | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "TERM": "xterm"}
PHRASE = "end this agreement at any time"
# U+009B is CSI, as is ESC [; U+202E turns the direction of the text.
EVIL = "cancel my \x1b[31mplan\x1b[0m\x9b \x07\x7f now \u202eon\r\nthis day"


@pytest.fixture(scope="module")
def store(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = str(tmp_path_factory.mktemp("terminal") / "store")
    fields = {f"field {letter}": "x" * 20 for letter in "abcde"}
    long = "The weather is nice. " * 12 + "Either party may end this agreement at any time, " * 2
    with Corpus(place, encoder) as corpus:
        corpus.add(
            [
                Document("long", long + "Dogs bark. " * 40, fields),
                Document("wide", "我们可以随时终止本协议 " * 30 + PHRASE, {"lang": "zh"}),
                Document("evil", EVIL, {"title": "\x1b]0;x\x07\x85"}),
            ]
        )
    return place


def run(*arguments: str | bytes, shell: str = "", **environment: str) -> tuple[int, str, str]:
    """Run the command line, with redirections of a shell."""
    command: Sequence[str | bytes] = [*COMMAND, *arguments]
    if shell:
        command = ["sh", "-c", f'"$@" {shell}', "sh", *command]
    done = subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT | environment)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def show(*arguments: str, columns: int = 80, **environment: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=ENVIRONMENT | environment,
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
        assert process.wait() == 0
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def cells(line: str) -> int:
    return sum(2 if "\u2e80" <= character <= "\uffef" else 1 for character in line)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_wrap_at_the_width_of_the_terminal(store: str, columns: int) -> None:
    shown = show("search", PHRASE, "--store", store, "-k", "2", columns=columns)
    plain = re.sub(r"\x1b\[\d+m", "", shown)
    lines = plain.splitlines()
    assert max(map(cells, lines)) <= columns
    assert sum(cells(line) > columns - 25 for line in lines) >= 2
    assert all(
        line.startswith("     ") for line in lines if line and not re.match(" *[12]  ", line)
    )
    place, scores = r"\x1b\[1m.*:\d+-\d+\x1b\[0m", r"cosine \d\.\d{3}\s{2,}bm25 \d.*"
    assert re.match(rf"  1  {place}\s{{2,}}{scores}\s{{2,}}probability [01]\.\d\d", shown)
    marked = re.sub(r"\x1b\[0m\s+\x1b\[32m\x1b\[1m\x1b\[4m", " ", shown)
    assert re.search(rf"\x1b\[32m\x1b\[1m\x1b\[4m[^\x1b]*{PHRASE}[^\x1b]*\x1b\[0m", marked)


def test_text_in_a_pipe_marks_the_hit(store: str) -> None:
    status, out, err = run("search", PHRASE, "--store", store, "-k", "1", "--text")
    assert (status, err) == (0, "")
    assert re.search(rf">>[^<>]*{PHRASE}[^<>]*<<", out)
    assert "\x1b" not in out
    head, context, *rest = out.split("\n")
    assert rest == ["", ""]
    assert head.startswith("  1  ")
    assert context.startswith("     ")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_the_hit_is_marked(store: str, environment: dict[str, str]) -> None:
    shown = show("search", PHRASE, "--store", store, "-k", "1", columns=300, **environment)
    assert "\x1b" not in shown
    assert re.search(rf">>[^<>]*{PHRASE}[^<>]*<<", shown)


@pytest.mark.parametrize("output", ["--json", "--text", "coloured"])
def test_a_terminal_is_sent_nothing_to_obey(store: str, output: str) -> None:
    search = ("search", "cancel my plan", "--store", store, "-k", "1")
    if output == "coloured":
        shown = re.sub(r"\x1b\[(0|1|2|4|32|33)m", "", show(*search))
        assert "cancel my \N{REPLACEMENT CHARACTER}[31mplan" in shown
    else:
        shown = show(*search, output, NO_COLOR="1")
    assert not set(shown) & set("\x1b\x07\x7f\x85\x9b\u202e")
    if output == "--json":
        hit = orjson.loads(shown)
        assert hit["passage"]["text"] == EVIL
        assert hit["metadata"] == {"title": "\x1b]0;x\x07\x85"}


def test_a_pipe_gets_json_as_it_is(store: str) -> None:
    _, out, _ = run("search", "cancel my plan", "--store", store, "-k", "1")
    assert "\u202e" in out


def test_ingest_ends_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("End my plan.")
    shown = show("ingest", str(tmp_path / "a.txt"), "--store", str(tmp_path / "s"))
    assert "documents: 1 stored, 0 unchanged, 0 deleted; sources: 1 read" in shown


def test_info_shows_no_control_characters(encoder: SpanEncoder, tmp_path: Path) -> None:
    place = tmp_path / "a\x1b[31m\x9b\u202e"
    with Corpus(place, encoder) as corpus:
        corpus.add([Document("a", "End my plan.")])
    shown = show("store", "info", "--store", str(place))
    assert not set(shown) & set("\x1b\x9b\u202e")
    assert "documents" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "redirection",
    [
        *("> /dev/full", ">&- 2>&- <&-"),
        *(pytest.param(one, marks=pytest.mark.release) for one in (">&-", "2>&-", "<&-")),
    ],
)
def test_closed_and_full_streams(store: str, tmp_path: Path, redirection: str) -> None:
    (tmp_path / "a.txt").write_text("End my plan.")
    full = "full" in redirection
    for arguments in (
        ["search", PHRASE, "--store", store],
        ["store", "info", "--store", store],
        ["ingest", str(tmp_path / "a.txt"), "--store", str(tmp_path / "s")],
        ["--help"],
    ):
        status, _, err = run(*arguments, shell=redirection)
        assert "Traceback" not in err
        assert "Exception" not in err
        told = "slice-os: the disk is full; make room, then try again\n" if full else ""
        assert (status, err) == (full, told)
    with Corpus(tmp_path / "s") as corpus:
        assert corpus.info().documents == 1


def test_closed_standard_input_is_empty(tmp_path: Path) -> None:
    _, _, err = run("ingest", "-", "--store", str(tmp_path / "s"), shell="<&-")
    assert "Traceback" not in err


# Runs the commands of its arguments, which a line break divides, and tells how each ended.
ONE_BY_ONE = """
import sys
from slice_os.cli import main

given = sys.argv[1:]
while given:
    end = given.index("\\n")
    try:
        main(given[:end])
    except SystemExit as ended:
        print(ended.code, file=sys.stderr)
    given = given[end + 1 :]
"""


def test_arguments_that_are_not_utf8(store: str) -> None:
    commands: list[list[str | bytes]] = [
        ["search", b"plan\xff", "--store", store],
        ["search", "plan", "-p", b"\xff", "--store", store],
        ["search", "plan", "--store", store, "--filter", b"lang=\xff"],
        ["search", "plan", "--store", store, "--filter", b"\xff=x"],
        ["store", "delete", b"\xff", "--store", store],
        ["search", "plan", "--store", b"none\xff"],
        ["search", "plan", "--store", store, "--model", b"\xff"],
        ["scan", b"none\xff", "-p", "x"],
        [b"\xff"],
        ["search", "plan", b"--\xff"],
    ]
    given = [argument for command in commands for argument in (*command, "\n")]
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, *given], capture_output=True, check=True, env=ENVIRONMENT
    )
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 2 * len(commands)
    assert all(line.startswith("slice-os: ") for line in lines[::2])
    assert set(lines[1::2]) <= {"1", "2"}


def test_a_store_whose_name_is_not_utf8(encoder: SpanEncoder, tmp_path: Path) -> None:
    place = os.fsencode(tmp_path) + b"/st\xffre"
    with Corpus(os.fsdecode(place), encoder) as corpus:
        corpus.add([Document("a", "End my plan.")])
    status, out, err = run("store", "info", "--store", place)
    assert (status, err) == (0, "")
    assert json.loads(out)["location"].endswith("/st\ufffdre")
    assert run("search", "plan", "--store", place)[0] == 0


@pytest.mark.slow
def test_several_processes_make_one_store(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("End my plan.")
    running = [
        subprocess.Popen(
            [*COMMAND, "ingest", f"{number}.txt", "--store", "s"],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    done = [(*process.communicate(), process.returncode) for process in running]
    assert 0 in [status for _, _, status in done]
    for _, err, status in done:
        busy = "slice-os: s: another process is writing to it; wait until it ends\n"
        assert (status, err) in [(0, ""), (1, busy)]
