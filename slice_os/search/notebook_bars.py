"""Progress bars in notebooks, where nobody sees a terminal; elsewhere there are none."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from slice_os.ingest.summary import IngestSummary, SummaryCallback

T = TypeVar("T")

# What takes less time needs no bar.
DELAY_SECONDS = 1.0


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def counted(items: Iterable[T], unit: str, whole: object = None) -> Iterator[T]:
    """The same items; in a notebook, a bar counts them as they come.

    Args:
        items: in any number.
        unit: what they are.
        whole: what they come from, if it has a length.
    """
    if not in_notebook():
        yield from items
        return
    with _bar(unit, len(whole) if isinstance(whole, Sized) else None) as bar:
        for item in items:
            yield item
            bar.update()


@contextmanager
def ingest_bar(progress: SummaryCallback | None) -> Iterator[SummaryCallback | None]:
    """What to call while documents are read: a bar in a notebook, if nothing else is given."""
    if progress is not None or not in_notebook():
        yield progress
        return
    with _bar("documents", None) as bar:

        def update(summary: IngestSummary) -> None:
            bar.update(summary.documents + summary.documents_unchanged - bar.n)

        yield update


def _bar(unit: str, total: int | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets, it is a line of text
        from tqdm.auto import tqdm
    return tqdm(total=total, unit=f" {unit}", delay=DELAY_SECONDS)
