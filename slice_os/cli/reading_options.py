"""Options of how sources are read, for the commands that read some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from slice_os.cli.options import as_one, id_field_option, text_field_option

if TYPE_CHECKING:
    from slice_os.ingest.readers import ReadOptions


def _read_options(
    metadata_fields: tuple[str, ...], delimiter: str | None, **others: Any
) -> ReadOptions:
    from slice_os.ingest.readers import ReadOptions

    return ReadOptions(
        metadata_fields=metadata_fields or None,
        delimiter=delimiter and delimiter.replace("\\t", "\t"),
        **others,
    )


follow_links_option = click.option(
    "--follow-links",
    is_flag=True,
    help="Also read files outside of a folder that links in it lead to.",
)

reading_options = as_one(
    "reading",
    _read_options,
    id_field_option,
    text_field_option,
    click.option(
        "--metadata",
        "metadata_fields",
        multiple=True,
        metavar="FIELD",
        help="Tables and JSON: metadata field to keep; repeatable. By default all plain values.",
    ),
    click.option(
        "--group-by",
        metavar="FIELD",
        help="Tables and JSON: field whose value the turns of one document share.",
    ),
    click.option("--speaker-field", metavar="FIELD", help="With --group-by: field of the speaker."),
    click.option(
        "--time-field",
        metavar="FIELD",
        help="With --group-by: field of a turn's start: seconds, HH:MM:SS, or date and time. The "
        "first date is that of the document.",
    ),
    click.option(
        "--date-field",
        metavar="FIELD",
        help="Tables and JSON: field of the document's date; it becomes the metadata field date.",
    ),
    click.option(
        "--date-format",
        metavar="FORMAT",
        help="Order of dates such as 03/04/2026: dmy or mdy; excel for its numbers; or a pattern "
        "such as '%d.%m.%Y %H:%M'. By default dates that could be two are refused, unless others "
        "of their column settle the order.",
    ),
    click.option(
        "--order-by",
        metavar="FIELD",
        help="With --group-by: field to order turns by; by default the order of the file.",
    ),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Encoding of text files, such as cp1252; detected by default.",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        help="CSV: character between cells; by default detected in the header row.",
    ),
    click.option(
        "--language",
        metavar="CODE",
        help="Language of the texts, such as de, whose rules split sentences.  [default: English, "
        "unless the words of a text show another one]",
    ),
    click.option("--page-edges", is_flag=True, help="Read headers, footers and layouts, too."),
)
