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
        help="Tables and JSON: records with one value of this field are the turns of one document.",
    ),
    click.option("--speaker-field", metavar="FIELD", help="With --group-by: who says the turn."),
    click.option(
        "--time-field",
        metavar="FIELD",
        help="With --group-by: when the turn begins, in seconds, HH:MM:SS or as date and time.",
    ),
    click.option(
        "--order-by",
        metavar="FIELD",
        help="With --group-by: order of turns; by default the file's.",
    ),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Encoding of text files, such as cp1252; by default it is detected.",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        help="CSV: what separates cells; by default as the header row shows.",
    ),
    click.option(
        "--language",
        default="en",
        metavar="CODE",
        help="Language of the texts, such as de; sentences are cut by its rules.",
    ),
)
