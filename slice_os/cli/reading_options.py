"""Options of how sources are read, for the commands that read some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from slice_os.cli.options import id_field, text_field
from slice_os.cli.parameters import group, option

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


FollowLinks: TypeAlias = Annotated[
    bool, "Also read files outside of a folder that links in it lead to."
]
_reading = group(
    _read_options,
    id_field=id_field,
    text_field=text_field,
    title_field=option(
        "FIELD", "Tables and JSON: field of words before the text, such as the subject of a ticket."
    ),
    metadata_fields=option(
        "--metadata",
        "FIELD",
        "Tables and JSON: metadata field to keep; repeatable. By default all plain values.",
        multiple=True,
    ),
    group_by=option("FIELD", "Tables and JSON: field whose value the turns of one document share."),
    speaker_field=option("FIELD", "With --group-by: field of the speaker."),
    time_field=option(
        "FIELD",
        "With --group-by: field of a turn's start: seconds, HH:MM:SS, or date and time. The "
        "first date is that of the document.",
    ),
    date_field=option(
        "FIELD",
        "Tables and JSON: field of the document's date; it becomes the metadata field date.",
    ),
    date_format=option(
        "FORMAT",
        "Order of dates such as 03/04/2026: dmy or mdy; excel for its numbers; or a pattern "
        "such as '%d.%m.%Y %H:%M'. By default dates that could be two are refused, unless others "
        "of their column settle the order.",
    ),
    order_by=option(
        "FIELD", "With --group-by: field to order turns by; by default the order of the file."
    ),
    encoding=option("NAME", "Encoding of text files, such as cp1252; detected by default."),
    delimiter=option(
        "CHARACTER", "CSV: character between cells; by default detected in the header row."
    ),
    language=option(
        "CODE",
        "Language of the texts, such as de, whose rules split sentences.  [default: English, "
        "unless the words of a text show another one]",
    ),
    page_edges=option("Read headers, footers and layouts, too.", is_flag=True),
)
Reading: TypeAlias = Annotated["ReadOptions", _reading]
