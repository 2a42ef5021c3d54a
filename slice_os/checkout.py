"""Recognises a checkout whose symbolic links git wrote as text files.

The build hook runs this file on its own, so it imports nothing from the package.
"""

from __future__ import annotations

from pathlib import Path

LINKS = ("demo", "export", "ingest", "mappings")


def broken_links(package: Path) -> str | None:
    """What is wrong with the links in the package's folder and how to repair it, in one line.

    Args:
        package: the folder ``slice_os``.

    Returns:
        The line; None if every link leads to a folder, or is one.
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
