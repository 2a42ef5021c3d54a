"""Writes docs/cli.md: what every command says for `--help`, word for word.

`make docs` runs it in the root of the repository; a test keeps the page equal to the commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from slice_os.cli import cli

HEAD = """\
# The command line

What `slice-os` and each of its commands say for `--help`. `make docs` writes this page.

Exit status: 0 all went well, 1 an error or records that could not be used, 2 wrong usage, 130
stopped by Ctrl-C, 143 by SIGTERM. A command that is stopped keeps what is complete. Errors are one
line on standard error. Into a pipe, answers are JSON lines; on a terminal they are made for people.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for path in _paths(cli, ()):
        title = " ".join(["slice-os", *path])
        parts.append(f"## {title}\n\n```text\n{_help(path)}```\n")
    return "\n".join(parts)


def _paths(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A command and those below it, as they are typed."""
    yield path
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield from _paths(below, (*path, name))


def _help(path: tuple[str, ...]) -> str:
    # 78 columns are what a terminal of 80 gets.
    answer = CliRunner().invoke(cli, [*path, "--help"], prog_name="slice-os", terminal_width=78)
    assert answer.exit_code == 0, answer.output
    return answer.output


if __name__ == "__main__":
    Path("docs/cli.md").write_text(page(), encoding="utf-8")
