"""What people can use, a line each: commands, options, fields of the service, public names.

    python scripts/surface.py > before.txt    # then, after a change: | diff before.txt -

Harnesses with their options and columns of hits are in it, too. Nothing is opened or loaded.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import tempfile
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click

from slice_os.cli import cli
from slice_os.evaluation.registry import HARNESSES, load_harness
from slice_os.hits.hit import Hit
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings

ROOT = Path(__file__).parents[1]


def commands(command: click.Command, name: str = "slice-os") -> Iterator[str]:
    """Commands with their options and arguments."""
    yield f"command {name}"
    for one in command.params:
        flags = [*one.opts, *one.secondary_opts]
        yield f"command {name}: {' '.join(flags)} ({one.type.name}, nargs {one.nargs})"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from commands(found, f"{name} {inner}")


def service() -> Iterator[str]:
    """Routes with their parameters, and the fields that requests and answers have."""
    with tempfile.TemporaryDirectory() as folder:
        described = create_app(ServiceSettings({"store": folder}, Path(folder))).openapi()
    schemas = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            name = f"service {method.upper()} {path}"
            yield name
            yield from (f"{name}: {one['in']} {one['name']}" for one in route.get("parameters", []))
            takes = route.get("requestBody", {})
            yield from sorted({f"{name}: takes {one}" for one in _inside(takes, schemas, ())})
            for status, answer in route["responses"].items():
                if status.startswith("2"):
                    found = {f"{name}: answers {one}" for one in _inside(answer, schemas, ())}
                    yield from sorted(found)


def _inside(schema: Any, schemas: dict[str, Any], seen: tuple[str, ...]) -> Iterator[str]:
    """The names of all fields in a schema, with those that they lie in."""
    if isinstance(schema, list):
        for one in schema:
            yield from _inside(one, schemas, seen)
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name not in seen:
            yield from _inside(schemas[name], schemas, (*seen, name))
    for key, value in schema.items():
        if key == "properties":
            for name, inner in value.items():
                yield name
                yield from (f"{name}.{one}" for one in _inside(inner, schemas, seen))
        elif key != "$ref":
            yield from _inside(value, schemas, seen)


def names() -> Iterator[str]:
    """What packages export and docs/api shows, with members, fields and parameters."""
    for package in ("slice_os", *(f"slice_os.{one}" for one in ("client", "topics", "export"))):
        module = importlib.import_module(package)
        yield from (f"name {package}.{one}" for one in module.__all__)
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        for path in re.findall(r"^::: (\S+)", page.read_text("utf-8"), re.MULTILINE):
            yield from _members(path)


def _members(path: str) -> Iterator[str]:
    found: Any = pkgutil.resolve_name(path)
    short = f"name {path.rsplit('.', 1)[1]}"
    yield short
    if inspect.ismodule(found):
        for name, value in vars(found).items():
            if getattr(value, "__module__", "") == path and not name.startswith("_"):
                yield from _members(f"{path}.{name}")
    if is_dataclass(found):
        yield from (f"{short}: field {one.name}" for one in fields(found))
    members = vars(found).items() if inspect.isclass(found) else [("()", found)]
    for member, value in members:
        if not member.startswith("_"):
            call = getattr(value, "__func__", value)
            taken = inspect.signature(call).parameters if inspect.isfunction(call) else ()
            yield f"{short}: {member} {' '.join(taken)}".rstrip()


def main() -> None:
    """Print every line, sorted."""
    harnesses = [
        f"harness {name}: {option}" for name in HARNESSES for option in load_harness(name).options
    ]
    columns = [f"hit {one.name} {one.kind}" for one in Hit.columns()]
    lines = {*commands(cli), *service(), *names(), *harnesses, *columns}
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main()
