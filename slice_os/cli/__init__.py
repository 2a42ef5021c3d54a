"""The command line: `slice-os`."""

from __future__ import annotations

import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from slice_os.errors import SliceError
from slice_os.version import __version__

# A new command is a file and a line here.
COMMANDS = {
    "ingest": "slice_os.cli.ingest:ingest",
    "search": "slice_os.cli.search:search",
    "mine": "slice_os.cli.mine:mine",
    "scan": "slice_os.cli.scan:scan",
    "topics": "slice_os.cli.topics:topics",
    "review": "slice_os.cli.review:review",
    "report": "slice_os.cli.report:report",
    "cut": "slice_os.cli.cut:cut",
    "serve": "slice_os.cli.serve:serve",
    "key": "slice_os.cli.key:key",
    "mcp": "slice_os.cli.mcp_server:mcp",
    "list": "slice_os.cli.listing:list_entries",
    "info": "slice_os.cli.store:info",
    "delete": "slice_os.cli.store:delete",
    "compact": "slice_os.cli.compact:compact",
    "verify": "slice_os.cli.verify:verify",
    "query": "slice_os.cli.query:query",
    "index": "slice_os.cli.index:index",
    "export": "slice_os.cli.export:export",
    "eval": "slice_os.cli.evaluate:eval",
    "train": "slice_os.cli.train:train",
    "data": "slice_os.cli.data:data",
    "doctor": "slice_os.cli.doctor:doctor",
}


class _Commands(click.Group):
    """Imports a command only when it runs, so that `--help` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = pkgutil.resolve_name(COMMANDS[cmd_name])
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _discard_output()  # the reader closed the pipe
            return 0


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="slice-os")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find every passage that says a phrase in other words.

    Ingest documents into a store, then search or mine it. Every hit has exact character offsets,
    a similarity that you can threshold, and its BM25 score.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class _Terminated(KeyboardInterrupt):
    """The process was told to end, by SIGTERM; it ends as after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    The status is 0 for success, 1 for an error, 2 for wrong usage, 130 after Ctrl-C and 143 after
    SIGTERM.
    """
    _open_closed_streams()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        with _notes_shown():
            sys.exit(cli.main(arguments, prog_name="slice-os", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.message)
        sys.exit(0)
    except click.ClickException as error:
        _complain(error.format_message())
        sys.exit(error.exit_code)
    except SliceError as error:
        _complain(str(error))
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort) as error:
        _complain("stopped")
        sys.exit(143 if _Terminated in map(type, (error, error.__context__)) else 130)
    except OSError as error:
        _discard_output()
        _complain(str(error))
        sys.exit(1)
    except UnicodeEncodeError as error:
        _complain(f"{error.object!r}: not valid UTF-8; give names and texts in UTF-8")
        sys.exit(1)


def _open_closed_streams() -> None:
    """Let standard streams that the caller closed lead nowhere; no file gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115


def _discard_output() -> None:
    """Keep the interpreter from failing again at exit, when it flushes standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _notes_shown() -> Iterator[None]:
    """What the library notes goes to standard error, a line each."""
    import logging

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            _complain(record.getMessage())

    notes = Notes(logging.WARNING)
    logger = logging.getLogger("slice_os")
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)


def _terminate(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the first one is enough
    raise _Terminated


def _complain(message: str) -> None:
    from slice_os.cli.render import printable

    click.echo(f"slice-os: {printable(' '.join(message.split()))}", err=True)
