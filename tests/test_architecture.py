"""The package keeps its shape: no import cycle, no borrowed module name, no long file."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import slice_os

REPOSITORY = Path(__file__).parents[1]
MOST_LINES = 350
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


def at_runtime(node: ast.AST) -> Iterator[ast.AST]:
    """A syntax tree without what only the type checker reads."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield from at_runtime(child)


def imported_names(name: str) -> Iterator[str]:
    """What a module imports when it loads or later, inside functions and by registries."""
    for node in at_runtime(ast.parse(modules()[name].read_text("utf-8"))):
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
    """Every module with the modules of the package that it needs.

    Importing a.b.c runs a.b as well. The top of the package offers the names of all modules.
    """
    graph: Graph = {name: set() for name in modules()}
    for name in graph:
        for imported in imported_names(name):
            parts = imported.split(".")
            for end in range(1, len(parts) + 1):
                package = ".".join(parts[:end])
                if package in graph and (package == imported or not inside(name, package)):
                    graph[name].add(package)
    graph["slice_os"] |= graph.keys() - {"slice_os"}
    return graph


def inside(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def room(name: str) -> str:
    """The sub-package, or module at the top, that a module belongs to."""
    return ".".join(name.split(".")[:2])


def assert_no_cycle(graph: Graph) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' <- '.join(error.args[1])}", pytrace=False)


def test_no_module_needs_itself() -> None:
    assert_no_cycle(imports())


def test_no_room_needs_itself() -> None:
    rooms: Graph = {}
    for name, needed in imports().items():
        rooms.setdefault(room(name), set()).update(map(room, needed))
    assert_no_cycle({name: needed - {name} for name, needed in rooms.items()})


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


def test_no_file_is_long() -> None:
    lengths = {name: path.read_text("utf-8").count("\n") for name, path in modules().items()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_public_name_is_found() -> None:
    for name in slice_os.__all__:
        assert getattr(slice_os, name) is not None
