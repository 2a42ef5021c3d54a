"""The command line: `slice-os`."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

try:
    import click

    from slice_os.cli.commands import TopCommands, discard_output
    from slice_os.errors import SliceError
    from slice_os.version import __version__
except KeyboardInterrupt:  # before there is a `main` to tell it
    sys.stderr.write("slice-os: stopped\n")
    sys.exit(130)


# The latest notes, which are not told again.
_NOTES = 8


@click.group(
    cls=TopCommands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="slice-os")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find every passage that says a phrase in other words."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class _Terminated(KeyboardInterrupt):
    """SIGTERM ends the process as Ctrl-C does."""


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
        discard_output()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full; make room, then try again" if full else error.strerror or error
        _complain(f"{error.filename}: {reason}" if error.filename else str(reason))
        sys.exit(1)
    except UnicodeEncodeError as error:
        _complain(f"{error.object!r}: not valid UTF-8; give names and texts in UTF-8")
        sys.exit(1)


def _open_closed_streams() -> None:
    """Open closed standard streams to nowhere, so that no file gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115


@contextmanager
def _notes_shown() -> Iterator[None]:
    """Show the notes of the library on standard error, a line each, but none over and over."""
    import logging

    told: deque[str] = deque(maxlen=_NOTES)

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.getMessage()
            if message not in told:
                told.append(message)
                _complain(message)

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
