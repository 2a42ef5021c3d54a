"""`slice-os report`: files of hits, shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import click

from slice_os.cli.hit_options import give, output_file
from slice_os.cli.options import COSINE, PROBABILITY, REPORT, OptionalStore
from slice_os.cli.parameters import argument, command
from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.hits.hit import Hit
    from slice_os.hits.run_record import RunRecord


@command()
def report(
    *,
    hits: Annotated[BinaryIO, argument(type=click.File("rb"), required=False, metavar="[HITS]")],
    recorded: Annotated[
        Path | None,
        "--from",
        "FILE",
        "Instead of HITS: a file of JSON lines with its run record, which tells the cut.",
    ],
    output: Annotated[
        Path | None,
        output_file(
            "Write the report to this file, which ends in .html, or the hits in another "
            "format of `slice-os mine -o`; some need --store.  [default with --from: FILE ending "
            "in .html]"
        ),
    ],
    store: OptionalStore,
    threshold: Annotated[float | None, COSINE, "Hits of a lower cosine are near misses."],
    min_probability: Annotated[
        float | None, PROBABILITY, "Hits of a lower probability are near misses."
    ],
    title: Annotated[str, "Title of the page."] = "Hits",
) -> None:
    """Show HITS in context, with histograms of their scores, on one HTML page.

    HITS is a file of JSON lines as `slice-os mine --json` prints them, or - for standard input.
    The page is self-contained, and shows original pages with --store. Needs pip install
    'slice-os[report]'.
    """
    from slice_os.corpus import Corpus
    from slice_os.hits.files import holds_texts
    from slice_os.hits.run_record import record_file
    from slice_os.originals.copies import is_marked
    from slice_os.originals.finding import find_original

    if (hits is None) == (recorded is None):
        raise click.UsageError("give HITS or --from FILE")
    cuts: dict[str, Any] = {"threshold": threshold, "min_probability": min_probability}
    place = recorded or Path(hits.name)
    run = _run(place) if recorded or record_file(place).exists() else None
    if recorded is not None:
        hits, output = recorded.open("rb"), output or recorded.with_suffix(REPORT)
        if not any(cut is not None for cut in cuts.values()):
            cuts = {name: getattr(run, name) for name in cuts}
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if store is None and (is_marked(output) or holds_texts(output)):
        raise click.UsageError(f"--output {output}: needs --store, where the documents are")
    if output.suffix.lower() != REPORT and any(cut is not None for cut in cuts.values()):
        raise click.UsageError("--threshold and --min-probability are for reports (.html)")
    found = _read(hits)
    if store is None:
        give(found, output, run=run, title=title, **cuts)
        return
    with Corpus(store) as corpus:
        find = partial(find_original, corpus.store)
        give(found, output, run=run, title=title, find=find, text_of=corpus.text, **cuts)


def _read(file: BinaryIO) -> Iterator[Hit]:
    """The hits of a file; an `InputError` of a line has its name."""
    from slice_os.hits.hit import read_hits

    try:
        yield from read_hits(file)
    except InputError as error:
        raise InputError(f"{file.name}, {error}") from None


def _run(path: Path) -> RunRecord:
    """The recorded run of a file of hits; if the file has changed since, a line says so."""
    from slice_os.hits.run_record import read_record

    record = read_record(path)
    if not record.matches(path):
        click.echo(f"slice-os: {path}: changed since its run record was written", err=True)
    return record.run
