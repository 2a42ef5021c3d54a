"""Make the contrasts that verifiers are trained on: JSON Lines of phrases with spans.

    python recipes/contrasts.py DATA OUT [--rows N] [--seed N]

DATA is the folder with the data sets; the files that are read are listed in
`recipes/verifier_parts/builder.py`. The same data and seed give the same rows.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from recipes.verifier_parts.builder import build_rows
from recipes.verifier_parts.contrast_rows import write_rows


def main() -> None:
    """Make the rows, write them, and print their number by source, kind and label."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = build_rows(options.data, options.rows, options.seed)
    write_rows(rows, options.out)
    print(f"{options.out}: {len(rows):,} rows")
    counts = Counter((row.source, row.kind, row.says) for row in rows)
    for (source, kind, says), count in sorted(counts.items()):
        print(f"{source:14}{kind:12}{'says it' if says else 'does not':10}{count:8,}")


if __name__ == "__main__":
    main()
