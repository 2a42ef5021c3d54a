"""The progress bar of an ingest: bytes of the sources done, rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slice_os.ingest.pipeline import Summary
    from slice_os.ingest.sources import Format


class ProgressBar:
    """A bar on standard error where that is a terminal; nothing elsewhere.

    Args:
        paths: what will be read, to know how much there is.
        read_as: the format that the paths are read as, if one is given.
    """

    def __init__(self, paths: Sequence[str], read_as: Format | None) -> None:
        from tqdm import tqdm

        on_terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=_total_bytes(paths, read_as) if on_terminal else None,
            unit="B",
            unit_scale=True,
            disable=not on_terminal,
            dynamic_ncols=True,
        )

    def update(self, summary: Summary) -> None:
        """Show the state of the run."""
        if self._bar.disable:
            return
        rate = summary.pieces / max(summary.seconds, 1e-9)
        shown = f"{summary.documents:,} documents, {rate:,.0f} pieces/s"
        if summary.bad_records:
            shown += f", {summary.bad_records:,} bad"
        self._bar.set_postfix_str(shown, refresh=False)
        self._bar.update(summary.bytes - self._bar.n)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()


def _total_bytes(paths: Sequence[str], read_as: Format | None) -> int | None:
    from slice_os.ingest.sources import find_sources

    total = 0
    for source in find_sources(paths, read_as):
        if source.path is None:
            return None
        total += source.path.stat().st_size if source.path.is_file() else 0
    return total
