"""Recognises a checkout whose symbolic links git wrote as text files.

The build hook runs this file on its own, so it imports nothing from the package.
"""

from __future__ import annotations

from pathlib import Path

LINKS = ("demo", "export", "ingest", "mappings")


def broken_links(package: Path) -> str | None:
    """One line that says which links in the folder ``slice_os`` are broken, and how to repair them.

    None if every link leads to a folder, or is one.
    """
    broken = [name for name in LINKS if not (package / name).is_dir()]
    if not broken:
        return None
    paths = " ".join(f"{package.name}/{name}" for name in broken)
    return (
        f"{', '.join(broken)} in {package} are text files instead of links; in the repository, run "
        f"`git config core.symlinks true && git checkout -- {paths}` "
        "(on Windows, turn on Developer Mode first)"
    )
