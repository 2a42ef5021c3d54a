"""Progress bars and the summary of a store in notebooks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from slice_os.hits.notebook import NUMBER, TABLE, TEXT
from slice_os.stores.protocol import StoreInfo

if TYPE_CHECKING:
    from slice_os.ingest.pipeline import IngestSummary, SummaryCallback

T = TypeVar("T")

# Shorter work needs no bar.
DELAY_SECONDS = 1.0


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def counted(items: Iterable[T], unit: str, whole: object = None) -> Iterator[T]:
    """Yield the items; in a notebook, a bar counts them, up to the length of ``whole``."""
    if not in_notebook():
        yield from items
        return
    with _bar(unit, len(whole) if isinstance(whole, Sized) else None) as bar:
        for item in items:
            yield item
            bar.update()


@contextmanager
def ingest_bar(progress: SummaryCallback | None) -> Iterator[SummaryCallback | None]:
    """A callback for progress: the given one, or else a bar if this is a notebook."""
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


def corpus_html(name: str, info: StoreInfo) -> str:
    """The counts of a store as a short HTML table, everything in it escaped."""
    facts = {
        "documents": f"{info.documents:,}",
        "passages": f"{info.passages:,}",
        "words": f"{info.words:,}",
        "encoder": info.encoder.name,
        "on disk": f"{info.size_bytes / 1e6:,.1f} MB",
    }
    rows = "".join(
        f'<tr><th scope="row" style="{TEXT}">{label}</th>'
        f'<td style="{NUMBER}">{escape(value)}</td></tr>'
        for label, value in facts.items()
    )
    table = f'<table style="{TABLE}"><tbody>{rows}</tbody></table>'
    return f"<div><code>{escape(name)}</code>{table}</div>"
