"""Writes docs/answer.svg: real output of `slice-os search`, as a terminal shows it.

`make docs` runs this script in the root of the repository, next to the store of the demo documents.
"""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COMMANDS = [
    'slice-os search "either party can stop the contract by giving written notice" '
    "--store demo.slice -k 2",
    'slice-os search "I cannot log in" --store demo.slice -k 1',
]
WIDTH = 124
THEME = TerminalTheme(
    background=(24, 27, 33),
    foreground=(208, 212, 220),
    normal=[
        (60, 64, 72),
        (224, 108, 117),
        (126, 211, 133),
        (229, 192, 123),
        (97, 175, 239),
        (198, 120, 221),
        (86, 182, 194),
        (208, 212, 220),
    ],
)
# Rich's own template without the fonts that it loads from the web.
TEMPLATE = """\
<svg class="{unique_id}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>Output of slice-os search on the demo documents</title>
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
  <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def run(command: str) -> str:
    """Run a command on a pseudo-terminal and return its output, colours included."""
    ours, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": str(WIDTH - 2)}
    with subprocess.Popen(shlex.split(command), stdout=terminal, env=environment) as process:
        os.close(terminal)
        parts = []
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # Linux reports a closed terminal this way
                part = b""
            if not part:
                break
            parts.append(part)
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"{command}: exit status {process.returncode}")
    return b"".join(parts).decode().replace("\r\n", "\n")


def picture() -> str:
    """Render the commands and their output as SVG."""
    with Path(os.devnull).open("w") as discarded:
        console = Console(width=WIDTH, record=True, file=discarded, force_terminal=True)
        for number, command in enumerate(COMMANDS):
            if number:
                console.print()
            console.print(Text(f"$ {command}\n", style="bold"))
            for line in run(command).rstrip().split("\n"):
                console.print(Text.from_ansi(line))
        return console.export_svg(
            title="slice-os", theme=THEME, code_format=TEMPLATE, unique_id="answer"
        )


if __name__ == "__main__":
    Path("docs/answer.svg").write_text(picture(), encoding="utf-8")
