"""Changes the code in small ways, one at a time: tests must notice, or the reason be known.

    python -m tests.soak.mutants --out benchmarks/results/soak_mutants.json

Changed are offsets, spans, scores, filters and how a local store is written: comparisons,
operators, numbers, conditions, and statements that are left out, in a copy of the repository. Each
change runs the tests of its module. Changes that no test notices survive; `survivors.json` says of
those that are known why they are the same program, or do no harm.

Needs an operating system that can fork.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.soak.report import options, tell

ROOT = Path(__file__).parents[2]
KNOWN = Path(__file__).with_name("survivors.json")
STORE_TESTS = ("test_local_store", "test_local_states", "test_local_files", "test_full_disk")
# The first test that fails ends a run.
TESTS: dict[str, Sequence[str]] = {
    "words": ("test_words",),
    "spans": ("test_spans",),
    "passages": ("test_local_store",),
    "scoring": ("test_scoring", "test_local_store"),
    "filters": ("test_filters",),
    "stores/local/writer": STORE_TESTS,
    "stores/local/files": (*STORE_TESTS, "test_local_damage"),
    "stores/local/store": ("test_local_store", "test_named_sources"),
}
# What starts processes takes long and is not needed to notice these changes.
LEFT_OUT = "not Processes and not kill and not another_user and not any_kind and not other_threads"
EXAMPLES = 25
# Loaded once; the code itself is loaded by each run.
LIBRARIES = ("click", "filelock", "numkong", "onnxruntime", "opensearchpy", "orjson")
CPU_SECONDS = 60
PATIENCE = 900
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}

Site: TypeAlias = tuple["ast.expr | ast.stmt", Callable[[], ast.AST]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the module, its line there, the code before and after, and the changed module."""

    module: str
    line: int
    code: str
    before: str
    after: str
    source: str


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """All changes of a module."""
    lines = source.splitlines()
    number = 0
    while True:
        tree = ast.parse(source)
        sites = list(_sites(tree))
        if number == len(sites):
            return
        node, change = sites[number]
        before = ast.unparse(node)
        after = ast.unparse(change())
        line, code = node.lineno, lines[node.lineno - 1].strip()
        yield Mutant(module, line, code, before, after, ast.unparse(tree))
        number += 1


def _sites(tree: ast.Module) -> Iterator[Site]:
    """The places that can be changed: what is there, and how to change it into something else."""
    for node in _code(tree):
        if isinstance(node, ast.Compare):
            yield node, partial(_set, node, ops=[SWAPPED[type(each)]() for each in node.ops])
        elif isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in SWAPPED:
            yield node, partial(_set, node, op=SWAPPED[type(node.op)]())
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, partial(_set, node, value=not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            yield node, partial(_set, node, value=node.value + 1)
        elif isinstance(node, (ast.If, ast.IfExp)):
            yield node.test, partial(_negate, node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node, partial(_set, node, value=ast.Constant(...))
        elif isinstance(node, ast.AugAssign):
            yield node, partial(_set, node, value=ast.Constant(0))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What runs: no annotations, docstrings, decorators or errors."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, (ast.Raise, ast.JoinedStr)):
                yield child
                yield from _code(child)


def _set(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _negate(node: ast.If | ast.IfExp) -> ast.AST:
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node.test


def survives(mutant: Mutant | None, module: str, copy: Path) -> str:
    """How the tests of a module end: ``killed``, ``survived`` or, if they do not end, ``stuck``."""
    file = copy / "slice_os" / f"{module}.py"
    original = file.read_text(encoding="utf-8")
    if mutant:
        file.write_text(mutant.source, encoding="utf-8")
    child = os.fork()
    if not child:
        _run_tests(module, copy)
    began = time.monotonic()
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() - began > PATIENCE:
            os.killpg(child, 9)
        time.sleep(0.2)
    file.write_text(original, encoding="utf-8")
    status = os.waitstatus_to_exitcode(ended[1])
    return "survived" if status == 0 else "killed" if status > 0 else "stuck"


def _run_tests(module: str, copy: Path) -> None:
    """Run the tests of a module in this process, with the copy's code, and end it."""
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "slice_os")]:
        del sys.modules[name]
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)
    sys.path[:] = [str(copy), *(entry for entry in sys.path if Path(entry) != ROOT)]
    paths = [f"tests/{name}.py" for name in TESTS[module]]
    # Failures need no smaller examples.
    phases = (Phase.explicit, Phase.generate)
    checks = (HealthCheck.too_slow,)
    settings.register_profile(
        "mutants",
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=checks,
    )
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", "-k", LEFT_OUT]
    status = pytest.main([*options, *paths])
    os._exit(int(status))


def chosen_mutants(count: int, seed: int) -> list[Mutant]:
    """A sample, modules in turn, so that the first of them are of all modules."""
    chosen = random.Random(seed)
    pools = []
    for module in TESTS:
        source = (ROOT / "slice_os" / f"{module}.py").read_text(encoding="utf-8")
        found = list(mutants(module, source))
        pools.append(chosen.sample(found, len(found)))
    turns = [mutant for turn in range(max(map(len, pools))) for mutant in _at(pools, turn)]
    return turns[:count]


def _at(pools: list[list[Mutant]], turn: int) -> list[Mutant]:
    return [pool[turn] for pool in pools if turn < len(pool)]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=160)
    parser.add_argument("--minutes", type=float, default=60, help="begin no more after that")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    for library in LIBRARIES:
        importlib.import_module(library)
    reasons: dict[str, str] = json.loads(KNOWN.read_text(encoding="utf-8"))
    ends: dict[str, Counter[str]] = {module: Counter() for module in TESTS}
    survivors = []
    end = time.monotonic() + 60 * chosen.minutes
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "repository")
        ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "target")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
        for mutant in chosen_mutants(chosen.count, chosen.seed):
            if time.monotonic() > end:
                break
            result = survives(mutant, mutant.module, copy)
            ends[mutant.module][result] += 1
            print(mutant.module, mutant.line, result, file=sys.stderr, flush=True)  # noqa: T201
            if result == "survived":
                change = f"{mutant.before} -> {mutant.after}"
                why = reasons.get(f"{mutant.code}: {change}", "not known")
                place = {"module": mutant.module, "line": mutant.line, "code": mutant.code}
                survivors.append({**place, "change": change, "why": why})
                print(survivors[-1], file=sys.stderr, flush=True)  # noqa: T201
        for module, counts in ends.items():
            if not counts["survived"] and survives(None, module, copy) != "survived":
                raise SystemExit(f"the tests of {module} fail without any change")
    tell(
        {"ends": ends, "survivors": survivors},
        chosen.out,
        failed=any(survivor["why"] == "not known" for survivor in survivors),
    )


if __name__ == "__main__":
    main()
