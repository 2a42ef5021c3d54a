"""Count the lines of the library by room: code, docstrings, imports, blank lines and comments.

    python benchmarks/house.py            # a table, largest room first
    python benchmarks/house.py --files    # every file, most code first

A room is a folder of `slice_os/` with what is below it; the modules at the top are one room, too.
A line counts as code if it holds anything else than a docstring, an import or a comment.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
LINKED = ("export", "ingest", "mappings")
KINDS = ("code", "docstrings", "imports", "blank", "comments")
_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package, with its room."""
    for folder in ("slice_os", *LINKED):
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT).parts
            room = inside[0] if folder != "slice_os" else inside[1] if len(inside) > 2 else "(top)"
            yield room, path


def counts(path: Path) -> Counter[str]:
    """The lines of a file by kind."""
    source = path.read_bytes()
    kinds = dict.fromkeys(range(1, source.count(b"\n") + 1), "blank")
    for token in tokenize.tokenize(BytesIO(source).readline):
        if token.type not in _LAYOUT and token.type != tokenize.ENDMARKER:
            kind = "comments" if token.type == tokenize.COMMENT else "code"
            for line in range(token.start[0], token.end[0] + 1):
                if kind == "code" or kinds[line] == "blank":
                    kinds[line] = kind
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            _mark(kinds, node, "imports")
        elif isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            _mark(kinds, node, "docstrings")
    return Counter(kinds.values())


def _mark(kinds: dict[int, str], node: ast.stmt, kind: str) -> None:
    for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        kinds[line] = kind


def main() -> None:
    """Print the table, or every file."""
    files = [(room, path, counts(path)) for room, path in modules()]
    if "--files" in sys.argv:
        for _, path, kinds in sorted(files, key=lambda file: -file[2]["code"]):
            print(f"{kinds['code']:6} {sum(kinds.values()):6}  {path.relative_to(ROOT)}")
        return
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for room, _, kinds in files:
        rooms[room] += kinds + Counter(files=1)
    rooms["all"] = sum((kinds + Counter(files=1) for *_, kinds in files), Counter())
    print("".join(f"{name:>12}" for name in ("room", "files", "lines", *KINDS)))
    for room, kinds in sorted(rooms.items(), key=lambda item: item[1]["code"]):
        lines = sum(kinds[kind] for kind in KINDS)
        print(
            "".join(
                f"{one:>12}"
                for one in (room, kinds["files"], lines, *(kinds[kind] for kind in KINDS))
            )
        )
    lengths = [kinds["code"] for *_, kinds in files]
    whole = [sum(kinds.values()) for *_, kinds in files]
    print(f"most code in a file: {max(lengths)}; median file: {median(whole):.0f} lines")


if __name__ == "__main__":
    main()
