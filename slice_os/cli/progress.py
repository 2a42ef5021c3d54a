"""Progress bars on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from slice_os.cli.render import complaint

if TYPE_CHECKING:
    from slice_os.ingest.pipeline import IngestSummary
    from slice_os.ingest.readers import BadRecord

SHOWN_BAD_RECORDS = 20


class ProgressBar:
    """The bar of an ingest, and the records that it cannot use."""

    def __init__(
        self, paths: Sequence[str], read_as: str | None, part: str, *, follow_links: bool
    ) -> None:
        from tqdm import tqdm

        on_terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=_total_bytes(paths, read_as, part, follow_links=follow_links)
            if on_terminal
            else None,
            unit="B",
            unit_scale=True,
            disable=not on_terminal,
            dynamic_ncols=True,
            # Documents are stored in bursts; the average since the start is steadier.
            smoothing=0,
        )
        self._bad = 0

    def update(self, summary: IngestSummary) -> None:
        """Show the state of the run."""
        if self._bar.disable:
            return
        rate = summary.pieces / max(summary.seconds, 1e-9)
        shown = f"{summary.documents:,} documents, {rate:,.0f} pieces/s"
        if summary.bad_records:
            shown += f", {summary.bad_records:,} bad"
        self._bar.set_postfix_str(shown, refresh=False)
        # What was stored before took no time, and says nothing about the time left.
        self._bar.initial = summary.bytes_unchanged
        self._bar.update(summary.bytes - self._bar.n)

    def complain(self, record: BadRecord) -> None:
        """Report a record that cannot be used; after the first 20, only count them."""
        self._bad += 1
        if self._bad <= SHOWN_BAD_RECORDS:
            with self._bar.external_write_mode(file=sys.stderr):
                click.echo(complaint(record), err=True)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()


class StepBar:
    """A bar for each step of a run, in a style that tqdm takes."""

    def __init__(self, **style: Any) -> None:
        self._style = style
        self._label: str | None = None
        self._bar: Any = None

    def update(self, label: str, done: int, total: int, note: str = "") -> None:
        """Show how far a step is; one with another label begins a new bar."""
        if label != self._label:
            from tqdm import tqdm

            self.close()
            self._label = label
            self._bar = tqdm(
                total=total,
                desc=label or None,
                initial=max(0, done - 1),
                disable=not sys.stderr.isatty(),
                dynamic_ncols=True,
                **self._style,
            )
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """End the bar of the last step."""
        if self._bar is not None:
            self._bar.close()


def _total_bytes(
    paths: Sequence[str], read_as: str | None, part: str, *, follow_links: bool
) -> int | None:
    from slice_os.ingest.sources import find_sources
    from slice_os.stores.protocol import WorkShare

    total = 0
    for source in find_sources(paths, read_as, WorkShare.parse(part), follow_links=follow_links):
        if source.path is None:
            return None
        total += source.path.stat().st_size if source.path.is_file() else 0
    return total
