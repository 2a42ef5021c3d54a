"""The documentation is true: its links resolve and its examples run."""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt
from markdown_it.token import Token

from slice_os import Corpus
from slice_os.cli import cli
from slice_os.query.fusion import BM25_WEIGHT

from .command_line import printed

REPOSITORY = Path(__file__).parents[1]
README = REPOSITORY / "README.md"
ROOM = 0.003
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "demo/*.md",
        "examples/**/*.md",
        "slice_os/models/*/*.md",
    )
    for path in REPOSITORY.glob(pattern)
)


@cache
def tokens(page: Path) -> list[Token]:
    """Every token of a page, including inline ones."""
    parsed = MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))
    return [one for token in parsed for one in (token, *(token.children or ()))]


def fences(page: Path, language: str) -> list[str]:
    return [
        token.content for token in tokens(page) if token.type == "fence" and token.info == language
    ]


def anchors(page: Path) -> set[str]:
    """The anchors of the headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_resolve(page: Path) -> None:
    links = [str(token.attrGet("href") or token.attrGet("src") or "") for token in tokens(page)]
    for link in links:
        path, _, anchor = link.partition("#")
        if not link or "://" in link:
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_command_page_is_current() -> None:
    page = runpy.run_path(str(REPOSITORY / "docs" / "make_cli.py"))["page"]
    written = (REPOSITORY / "docs" / "cli.md").read_text("utf-8")
    assert written == page(), "run `make docs`"


def test_make_targets_in_the_docs_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    for page in PAGES:
        for name in re.findall(r"^make (\w+)", "\n".join(fences(page, "sh")), flags=re.MULTILINE):
            assert re.search(rf"^{name}:", makefile, flags=re.MULTILINE), f"{page}: make {name}"


def test_the_readme_states_the_weight_of_bm25() -> None:
    assert f"with w = {BM25_WEIGHT};" in README.read_text("utf-8").replace("\n", " ")


def test_the_example_hit_is_real(demo_store: Path) -> None:
    (line,) = fences(README, "json")
    example = json.loads(line)
    document = REPOSITORY / "demo" / "contracts" / example["doc_id"]
    text = document.read_bytes().decode()
    assert text[example["start"] : example["end"]] == example["text"]
    with Corpus(demo_store) as corpus:
        (hit,) = corpus.search(example["phrase"], top_k=1)
    real = hit.to_dict()
    assert list(example) == list(real)
    passage, whole = example.pop("passage"), real.pop("passage")
    assert whole["text"].startswith(passage.pop("text").removesuffix(" …"))
    assert passage.items() <= whole.items()
    for name, value in real.items():  # int8 differs between kinds of CPU
        near = pytest.approx(value, abs=0.05) if isinstance(value, float) else value
        assert example[name] == near, name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, demo_store: Path) -> Path:
    """A folder with the demo documents and a store of them, where the examples run in turn."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("demo", "examples"):
        (folder / name).symlink_to(REPOSITORY / name)
    shutil.copytree(demo_store, folder / "demo.slice")
    return folder


def run(command: str | list[str], folder: Path) -> str:
    binaries = Path(sys.executable).parent
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    shell = isinstance(command, str)
    return printed(command, shell=shell, cwd=folder, env=os.environ | {"PATH": path})


def run_here(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a documented command in this process, its patterns and ``> FILE`` as in a shell."""
    monkeypatch.chdir(folder)
    line, _, file = line.partition(" > ")
    words: list[str] = []
    for word in shlex.split(line)[1:]:
        words += sorted(map(str, Path().glob(word))) if "*" in word else [word]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, f"{line}: {done.stderr}"
    if file:
        Path(file).write_bytes(done.stdout_bytes)
    return done.stdout


def assert_room(cosines: list[float], cuts: list[float]) -> None:
    """Small differences of cosines, as between kinds of processors, must not change a page."""
    close = [(one, cut) for cut in cuts for one in cosines if abs(one - cut) < ROOM]
    assert not close, "hits within .003 of a documented cut: choose another example, or a range"


def hits(lines: str, folder: Path) -> list[dict[str, object]]:
    """Parse hits from JSON lines; check those in contracts against the text."""
    found = [json.loads(line) for line in lines.splitlines()]
    for hit in found:
        if hit["doc_id"].endswith(".txt"):
            text = (folder / "demo" / "contracts" / hit["doc_id"]).read_bytes().decode()
            assert text[hit["start"] : hit["end"]] == hit["text"]
    return found


def printed_hits(lines: str) -> list[tuple[float, str, str]]:
    """Cosine, place and text of hits as the examples in Python print them."""
    found = []
    for line in lines.splitlines():
        match = re.fullmatch(r"(0\.\d\d)  (\S+:\d+-\d+)  (.+)", line)
        assert match, line
        found.append((float(match[1]), match[2], match[3]))
    return found


@pytest.mark.slow
def test_the_examples_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [
        line
        for block in fences(README, "sh")
        for line in block.splitlines()
        if line.startswith("slice-os ") and "serve" not in line  # which runs until it is stopped
    ]
    assert {command.split()[1] for command in commands} == {"ingest", "search", "mine", "scan"}
    for command in commands:
        output = run_here(command, folder, monkeypatch)
        if ".jsonl" in command and ">" in command:
            output = (folder / command.split("> ")[1]).read_text("utf-8")
        if "ingest" not in command:
            assert hits(output, folder), command

    _, program = fences(README, "python")
    assert printed_hits(run([sys.executable, "-c", program], folder))


def test_the_first_lines_of_code_find_what_both_pages_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, shown = (fences(README, language)[0] for language in ("python", "text"))
    index = REPOSITORY / "docs" / "index.md"
    assert (program, shown) == (fences(index, "python")[0], fences(index, "text")[0])
    assert len(program.strip().splitlines()) <= 12
    printed = printed_hits(run([sys.executable, "-c", program], tmp_path))
    promised = printed_hits(shown)
    (cut,) = re.findall(r"threshold=(0\.\d+)", program)
    lower = program.replace(cut, str(float(cut) - ROOM)).replace("{hit.cosine:.2f}", "{hit.cosine}")
    monkeypatch.chdir(tmp_path)
    exec(lower, {})
    near = capsys.readouterr().out.splitlines()
    assert_room([float(line.split()[0]) for line in near], [float(cut)])
    assert [hit[1:] for hit in printed] == [hit[1:] for hit in promised]
    for (cosine, *_), (expected, *_) in zip(printed, promised, strict=True):
        assert cosine == pytest.approx(expected, abs=0.02)  # int8 differs between kinds of CPU


def test_whole_texts_have_the_topics_that_the_page_says(tmp_path: Path) -> None:
    page = REPOSITORY / "docs" / "utterances.md"
    printed = run([sys.executable, "-c", fences(page, "python")[-1]], tmp_path)
    (promised,) = fences(page, "text")
    number = re.compile(r"\b0\.\d\d\b")
    assert number.sub("", printed) == number.sub("", promised)
    scores = [[float(score) for score in number.findall(lines)] for lines in (printed, promised)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)  # int8 differs between kinds of CPU


def test_a_letter_in_another_language_is_found_as_the_page_says(tmp_path: Path) -> None:
    page = REPOSITORY / "docs" / "languages.md"
    (program,) = fences(page, "python")
    assert run([sys.executable, "-c", program], tmp_path) == fences(page, "text")[1]


@pytest.mark.slow
def test_the_demo_finds_clauses_on_termination(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = "slice-os ingest demo/contracts demo/dialogues.jsonl --store demo.slice"
    run_here(ingest, folder, monkeypatch)
    phrase = "'either party may end this agreement at any time'"
    search = f"slice-os search {phrase} --store demo.slice --json"
    found = hits(run_here(search, folder, monkeypatch), folder)
    assert len(found) == 10
    ends = [hit for hit in found if re.search("(?i)terminat|cancel", str(hit["passage"]))]
    assert len(ends) == len(found)


SCRIPT = r"-m tests(?:\.\w+)+|(?:benchmarks|recipes|scripts)/\S+"
COMMAND = re.compile(rf"(?:^|[\s(])(slice-os|python3? (?:{SCRIPT}))(?=\s|$)(.*)")


def documented(page: Path, kind: str = "slice-os") -> Iterator[list[str]]:
    """The words of every command of that kind that a page shows, without what a shell reads."""
    shown = fences(page, "sh") + fences(page, "console")
    shown += [token.content for token in tokens(page) if token.type == "code_inline"]
    for line in "\n".join(shown).replace("\\\n", " ").splitlines():
        for part in re.split(r"\s[|<]\s|[&;]", re.sub(r"(^|\s)#\s.*", "", line)):
            if (command := COMMAND.search(part)) and command[1].startswith(kind):
                words = shlex.split(re.sub(r"\s\d?>.*", "", command[2].replace("$((", "")))
                yield [*command[1].split(), *words]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_documented_commands_have_the_options_that_the_page_says(page: Path) -> None:
    for words in documented(page):
        command: click.Command | None = cli
        # A command keeps the help option that its first context gave it.
        context = click.Context(cli, **cli.context_settings)
        left = words[1:]
        while isinstance(command, click.Group) and left and left[0][0] not in "-…":
            command = command.get_command(context, left.pop(0))
        if command is None and page.stem.startswith("extending"):
            continue  # names commands that readers are to add
        assert command, words
        # A page may name an option without its value.
        given, _, _ = command.make_parser(context).parse_args([*left, "…"])
        for option in command.params:
            if isinstance(option.type, click.Choice | click.types._NumberRangeBase):
                assert option.name, words
                option.type_cast_value(context, given.get(option.name))


def parser_of(script: Path) -> argparse.ArgumentParser:
    """The parser of a script, read from its source: what it imports need not be there."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    sources = [script]
    if "options(__doc__)" in script.read_text("utf-8"):
        sources.append(REPOSITORY / "tests" / "soak" / "report.py")
    trees = [ast.parse(source.read_text("utf-8")) for source in sources]
    for call in (call for tree in trees for call in ast.walk(tree)):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
            known = {"action", "nargs", "choices", "required"}
            settings = {}
            for keyword in call.keywords:
                if keyword.arg in known:
                    with suppress(ValueError):  # a name, not a literal
                        settings[keyword.arg] = ast.literal_eval(keyword.value)
                elif isinstance(keyword.value, ast.Name) and keyword.value.id in ("int", "float"):
                    settings["type"] = {"int": int, "float": float}[keyword.value.id]
            parser.add_argument(*map(ast.literal_eval, call.args), **settings)
    return parser


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_documented_scripts_take_the_arguments_that_the_page_says(page: Path) -> None:
    for words in documented(page, "python"):
        is_module = words[1] == "-m"
        name = words[2].replace(".", "/") + ".py" if is_module else words[1]
        script = REPOSITORY / name
        assert script.is_file(), words
        try:
            parser_of(script).parse_args(words[2 + is_module :])
        except (argparse.ArgumentError, SystemExit) as error:
            pytest.fail(f"{page.name}: {' '.join(words)}: {error}")


@pytest.mark.slow
def test_documented_commands_on_the_demo_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    page = REPOSITORY / "docs" / "filters.md"
    commands = [words for words in documented(page) if "demo.slice" in words]
    assert len(commands) >= 3
    for words in commands:
        assert CliRunner().invoke(cli, words[1:]).exit_code == 0, words


@pytest.mark.slow
@pytest.mark.release
def test_the_examples_of_topics_pass_the_documented_check(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(fences(REPOSITORY / "docs" / "topics.md", "sh")).splitlines()
    (lint,) = (line for line in lines if line.startswith("slice-os topics lint "))
    run_here(lint, folder, monkeypatch)


@pytest.mark.slow
def test_the_tutorial_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tutorial = REPOSITORY / "docs" / "tutorial.md"
    local = [
        line
        for block in fences(tutorial, "sh")
        for line in block.splitlines()
        if line.startswith("slice-os ") and "localhost" not in line
    ]
    assert len(local) >= 6
    for command in local:
        run_here(command, folder, monkeypatch)
    thresholds, offsets = fences(tutorial, "python")
    counts = run([sys.executable, "-c", thresholds], folder).splitlines()[-3:]
    assert "It ends with `{}`, `{}` and `{}`.".format(*counts) in tutorial.read_text("utf-8")
    assert run([sys.executable, "-c", offsets], folder)
    cuts = [float(line.split()[0]) for line in counts]
    found = hits((folder / "hits.jsonl").read_text("utf-8"), folder)
    assert 45 <= len(found) <= 55, "the tutorial says about 50"
    assert_room([float(str(hit["cosine"])) for hit in found], cuts)
    first = next(command for command in local if "-k 1" in command)
    head, _, _ = run_here(f"{first} --text", folder, monkeypatch).partition("\n")
    promised = "\n".join(fences(tutorial, "text")[0].splitlines()[:2])
    number = re.compile(r"\d+\.\d+")
    assert number.sub("", head).split() == number.sub("", promised).split()
    scores = [list(map(float, number.findall(text))) for text in (head, promised)]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)  # int8 differs between kinds of CPU


@pytest.mark.slow
@pytest.mark.release
def test_the_examples_of_frameworks_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("langchain_core", "haystack", "llama_index.core", "spacy"):
        pytest.importorskip(name, reason=f"{name} is not installed; `make test` installs it")
    page, vectors = (REPOSITORY / "docs" / name for name in ("frameworks.md", "vectors.md"))
    (ingest,) = (line for line in "".join(fences(page, "sh")).splitlines() if "ingest" in line)
    run_here(ingest, folder, monkeypatch)
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    programs = fences(page, "python") + fences(vectors, "python")
    # spaCy knows the component once slice-os is installed with its entry point.
    importlib.import_module("slice_os.integrations.spacy_spans")
    answers = []
    for program in programs:
        exec(program, {})
        answers.append(capsys.readouterr().out)
    *searches, spans, cosines = answers
    assert [len(printed_hits(answer)) for answer in searches] == [3, 3, 3, 3]
    assert [line[6:30] for line in spans.splitlines()] == [
        "I want to cancel my subs",
        "my card was stolen: Some",
    ]
    assert cosines.startswith("[[")
    (promised,) = fences(page, "text")
    assert [hit[1:] for hit in printed_hits(searches[0])] == [
        hit[1:] for hit in printed_hits(promised)
    ]


@pytest.mark.slow
@pytest.mark.release
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed; `make test` installs it")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        sources = re.findall(
            r"<(?:script|img|source)[^>]*?\ssrc=[\"']?([^\"' >]+)"
            r"|<link[^>]*?rel=[\"']?(?:stylesheet|icon|preconnect)[^>]*?href=[\"']?([^\"' >]+)",
            page.read_text("utf-8"),
        )
        loaded = [source for pair in sources for source in pair if source]
        assert not [source for source in loaded if "//" in source], page


def test_the_files_that_pages_name_exist() -> None:
    folders = "slice_os|ingest|export|docs|tests|benchmarks"
    for page in (REPOSITORY / "docs").rglob("*.md"):
        text = page.read_text("utf-8")
        for name in re.findall(rf"`((?:{folders})/[\w/.-]+)`", text):
            assert (REPOSITORY / name).exists(), f"{page.name}: {name}"


def test_the_modules_that_pages_name_exist() -> None:
    for page in (REPOSITORY / "docs").rglob("*.md"):
        if page.stem.startswith("extending"):  # names modules that readers are to add
            continue
        text = page.read_text("utf-8")
        imported = re.findall(r"^\s*from (slice_os\.[\w.]+) import (\w+)", text, re.MULTILINE)
        named = re.findall(r"`(slice_os(?:\.\w+)+)`", text)
        for name in [*map(".".join, imported), *named]:
            path, module = REPOSITORY, name.split(".")
            while module and (path / module[0]).is_dir():
                path /= module.pop(0)
            if module and (path / f"{module[0]}.py").exists():
                path /= f"{module.pop(0)}.py"
            source = path / "__init__.py" if path.is_dir() else path
            assert not module or re.search(rf"\b{module[0]}\b", source.read_text("utf-8")), name
            assert len(module) <= 1, name


def test_every_promise_of_security_names_tests_that_exist() -> None:
    text = (
        (REPOSITORY / "SECURITY.md").read_text("utf-8").partition("## What the service promises")[2]
    )
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] != " promise "]
    assert len(rows) > 10
    for promise, tests in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", tests)
        assert named, promise
        for path, name in named:
            source = (REPOSITORY / "tests" / path).read_text("utf-8")
            assert re.search(rf"^\s*(?:async )?def {name}\(", source, re.MULTILINE), name
