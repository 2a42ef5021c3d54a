"""Writes docs/cli.md: what every command says for `--help`, word for word.

`make docs` runs it in the root of the repository; a test keeps the page equal to the commands.
"""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from slice_os.cli import cli
from slice_os.cli.groups import command_paths

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
    for path in command_paths(cli, ()):
        title = " ".join(["slice-os", *path])
        parts.append(f"## {title}\n\n```text\n{_help(path)}```\n")
    return "\n".join(parts)


def _help(path: tuple[str, ...]) -> str:
    # 78 columns are what a terminal of 80 gets.
    answer = CliRunner().invoke(cli, [*path, "--help"], prog_name="slice-os", terminal_width=78)
    assert answer.exit_code == 0, answer.output
    return answer.output


if __name__ == "__main__":
    Path("docs/cli.md").write_text(page(), encoding="utf-8")
