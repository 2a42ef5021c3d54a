"""The package keeps its shape: rooms on floors, no import cycle, no borrowed name, no long file."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import slice_os
from benchmarks.house import counts

REPOSITORY = Path(__file__).parents[1]
MOST_CODE = 350
LINKED = ("export", "ingest", "mappings")
# What a registry names, as MODULE:ATTRIBUTE, is imported later.
REGISTERED = re.compile(r"(slice_os(?:\.\w+)+):\w+")

Graph = dict[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for folder in ("slice_os", *LINKED):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            prefix = () if folder == "slice_os" else ("slice_os",)
            name = ".".join((*prefix, *parts)).removesuffix(".__init__")
            found[name] = path
    return found


def imported_names(name: str) -> Iterator[str]:
    """Whatever a module imports: when it loads, inside functions, for types and by registries."""
    for node in ast.walk(ast.parse(modules()[name].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else str(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            registered = REGISTERED.fullmatch(node.value)
            if registered:
                assert registered[1] in modules(), f"{name}: no module {registered[1]}"
                yield registered[1]


@cache
def imports() -> Graph:
    """Every module with the modules of the package that it needs."""
    return {name: set(imported_names(name)) & modules().keys() - {name} for name in modules()}


def ledger() -> list[tuple[list[str], int]]:
    """The floors of docs/architecture.md from the ground: rooms, and most lines of code."""
    text = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
    table = text.partition("## Floors")[2]
    rows = [row.split("|") for row in table.splitlines()[::-1] if row.startswith("| `")]
    return [(row[1].strip("` ").split("`, `"), int(row[3].replace(",", ""))) for row in rows]


def floors() -> dict[str, int]:
    """Every room with the number of its floor from the ground."""
    return {name: floor for floor, (rooms, _) in enumerate(ledger()) for name in rooms}


def within(package: str) -> Graph:
    """The modules and folders directly in a package, each with those beside it that it needs."""
    depth = package.count(".") + 1
    children: Graph = {}
    for name, needed in imports().items():
        if name.startswith(f"{package}."):
            child = name.split(".")[depth]
            beside = {one.split(".")[depth] for one in needed if one.startswith(f"{package}.")}
            children.setdefault(child, set()).update(beside - {child})
    return children


PACKAGES = sorted({name.rpartition(".")[0] for name in modules()} - {""})


def test_every_room_has_a_floor() -> None:
    assert floors().keys() == within("slice_os").keys()


def test_rooms_use_only_what_stands_below() -> None:
    floor = floors()
    climbs = [
        f"{room} -> {other}"
        for room, needed in within("slice_os").items()
        for other in needed
        if floor[other] >= floor[room]
    ]
    assert climbs == []


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_in_a_room_needs_itself(package: str) -> None:
    try:
        TopologicalSorter(within(package)).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle in {package}: {' <- '.join(error.args[1])}", pytrace=False)


def test_no_module_has_the_name_of_a_library() -> None:
    needed = {canonicalize_name(Requirement(line).name) for line in requires("slice-os") or ()}
    libraries = {
        name
        for name, distributions in packages_distributions().items()
        if needed.intersection(map(canonicalize_name, distributions))
    }
    assert {"click", "numpy", "opensearchpy"} <= libraries
    taken = sys.stdlib_module_names | libraries
    borrowed = {name for name in modules() if name.rpartition(".")[2] in taken}
    assert borrowed == set()


@cache
def lines_of_code() -> dict[str, int]:
    """The lines of code of every module."""
    return {name: counts(path)["code"] for name, path in modules().items()}


def test_rooms_keep_to_their_ledger() -> None:
    code: Counter[str] = Counter()
    for name, lines in lines_of_code().items():
        code[name.split(".")[1] if "." in name else name] += lines
    beyond = [
        f"{', '.join(rooms)}: {lines} lines of code, {most} at most"
        for rooms, most in ledger()
        if (lines := sum(code[room] for room in rooms)) > most
    ]
    assert beyond == []


def test_no_file_is_long() -> None:
    long = {name: lines for name, lines in lines_of_code().items() if lines > MOST_CODE}
    assert long == {}


def test_every_public_name_is_found() -> None:
    for name in slice_os.__all__:
        assert getattr(slice_os, name) is not None
