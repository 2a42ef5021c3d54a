"""The tree of commands: grouped by purpose, imported when they run, open to other packages."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import click

from slice_os.cli.groups import CommandGroup
from slice_os.plugins import plugins

PLUGINS = "slice_os.commands"

# A new command is a file here and a line: its module and name, and what it does.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Fill": {"ingest": ("ingest:ingest", "Read files, folders or standard input into a store.")},
    "Find": {
        "search": ("find:search", "Rank passages that say a phrase, with their best spans."),
        "mine": ("find:mine", "Find every span in a store that says a phrase."),
        "show": ("documents:show", "Print the text of a document."),
        "scan": ("find:scan", "Find every such span in files, without a store."),
    },
    "Decide": {
        "match": ("match:match", "Find documents that combined topics describe."),
        "topics": ("topics:topics", "Check, compare and improve topic files."),
        "review": ("review:review", "Label hits of topics as right or wrong."),
        "labels": ("labels:labels", "Compare, settle and import what readers said."),
        "estimate": ("estimate:estimate", "Estimate what a topic finds and misses."),
        "report": ("hit_files:report", "Show hits in context on one HTML page."),
    },
    "Serve": {
        "serve": ("serve:serve", "Serve stores over HTTP, with a search page."),
        "key": ("serve:key", "Make an API key for the service."),
        "mcp": ("serve:mcp", "Let a language model search stores."),
    },
    "Maintain": {
        "store": ("store:store", "Describe, list, delete, compact, copy or check what is stored."),
        "index": ("index:index", "Plan, migrate and query an index on a server."),
        "doctor": ("doctor:doctor", "Check what works here, and how fast."),
    },
    "Build": {
        "model": ("model:model", "Export or train an encoder."),
        "eval": ("evaluate:evaluate", "Measure encoders, also on your own data."),
    },
}
PLACES = {name: place for group in COMMANDS.values() for name, (place, _) in group.items()}


class TopCommands(CommandGroup):
    """The commands of `COMMANDS` and of installed packages, each imported when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our commands, in the order of the help."""
        return list(PLACES)

    def names(self, ctx: click.Context) -> list[str]:
        """Our names, and those of other packages."""
        return [*PLACES, *(one.name for one in plugins(PLUGINS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command; ours before one of another package."""
        if cmd_name in PLACES:
            command: click.Command = pkgutil.resolve_name(f"{__package__}.{PLACES[cmd_name]}")
            return command
        found = (one for one in plugins(PLUGINS) if one.name == cmd_name)
        return next((one.load(click.Command) for one in found), None)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Nothing: the last line of the help says how commands are used."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Headings, commands and what they do, in three columns; the options on one line."""
        formatter.write_paragraph()
        formatter.write_dl([*_ours(), *_installed()])
        told = "slice-os COMMAND --help explains a command; --version shows the version."
        formatter.write_text(told)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a reader that closes the pipe ends it without an error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            discard_output()
            return 0


def discard_output() -> None:
    """Keep the interpreter from failing again at exit, when it flushes standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ours() -> Iterator[tuple[str, str]]:
    """A row for each of our commands; the first of a group has the heading."""
    for heading, commands in COMMANDS.items():
        for name, (_, told) in commands.items():
            yield f"{heading:<9} {name}", told
            heading = ""


def _installed() -> Iterator[tuple[str, str]]:
    """A row for each command of another package, which is not imported."""
    heading, taken = "Plugins", dict.fromkeys(PLACES, "slice-os")
    for one in plugins(PLUGINS):
        owner = taken.setdefault(one.name, one.package)
        told = one.summary if owner == one.package else f"Not used: {owner} has this command."
        yield f"{heading:<9} {one.name}", f"{told} ({one.package})"
        heading = ""
