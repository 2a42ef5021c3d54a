"""Options of how sources are read, for the commands that read some."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from slice_os.cli.options import id_field_option, text_field_option


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of how sources are read, which the command gets as the `ReadOptions` ``reading``."""

    @wraps(command)
    def run(
        *,
        id_field: str,
        text_field: str,
        metadata_fields: tuple[str, ...],
        group_by: str | None,
        speaker_field: str | None,
        time_field: str | None,
        order_by: str | None,
        encoding: str | None,
        delimiter: str | None,
        language: str,
        **others: Any,
    ) -> Any:
        from slice_os.ingest.readers import ReadOptions

        reading = ReadOptions(
            id_field,
            text_field,
            metadata_fields or None,
            group_by,
            speaker_field,
            time_field,
            order_by,
            encoding,
            delimiter and delimiter.replace("\\t", "\t"),
            language,
        )
        return command(reading=reading, **others)

    options = (
        id_field_option,
        text_field_option,
        click.option(
            "--metadata",
            "metadata_fields",
            multiple=True,
            metavar="FIELD",
            help="Tables and JSON: metadata field to keep; repeatable. By default all plain "
            "values.",
        ),
        click.option(
            "--group-by",
            metavar="FIELD",
            help="Tables and JSON: records with one value of this field are the turns of one "
            "document.",
        ),
        click.option(
            "--speaker-field", metavar="FIELD", help="With --group-by: who says the turn."
        ),
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
            show_default=True,
            help="Language of the texts, such as de; sentences are cut by its rules.",
        ),
    )
    chosen: Callable[..., Any] = run
    for option in reversed(options):
        chosen = option(chosen)
    return chosen
