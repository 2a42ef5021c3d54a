"""Options that several commands share."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import click

from slice_os.cli.parameters import NumberRange, argument, group, option
from slice_os.ingest.formats import READERS, readers

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.encoder.span_encoder import SpanEncoder
    from slice_os.ingest.readers import ReadOptions
    from slice_os.query.filters import Condition
    from slice_os.stores.cluster.server.connection import IndexHandle
    from slice_os.verifier.claims import Verifier


COSINE = NumberRange(-1, 1)
PROBABILITY = NumberRange(0, 1)
COUNT = click.IntRange(min=1)

# The extension of a report.
REPORT = ".html"


class NewFile(click.Path):
    """A file that is written at the end; one that cannot be is refused at the beginning."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, or an error."""
        from slice_os.hits.files import check_place

        super().convert(value, param, ctx)
        if not value:
            self.fail("give the name of a file.", param, ctx)
        check_place(Path(value))
        return Path(value)


NEW_FILE = NewFile(dir_okay=False)


class HitFile(NewFile):
    """A file for hits, whose extension names the format.

    A PDF or Word file, or a folder, which is made, is for marked copies.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, or an error before anything is searched."""
        from slice_os.hits.files import output_format
        from slice_os.originals.copies import is_marked

        path = super().convert(value, param, ctx)
        if str(value).endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        if not is_marked(path):
            output_format(path)
        return path


_SECRETS = ("PASSWORD", "PASSWORD_FILE", "TOKEN", "TOKEN_FILE", "AWS_REGION")


def _ask_password(
    _context: click.Context, _option: click.Parameter, store: str | None
) -> str | None:
    """Ask for the password of a store's user if nothing else gives one and a person is there.

    It goes into the environment of this process alone, where secrets are read from.
    """
    if store == "":
        raise click.BadParameter("give a folder or an address.")
    given = any(os.environ.get(f"SLICE_OS_{name}") for name in _SECRETS)
    if store and not given and sys.stdin.isatty() and sys.stderr.isatty():
        from slice_os.stores.registry import find_backend

        if login := find_backend(store).login(store):
            question = f"Password of {login}"
            os.environ["SLICE_OS_PASSWORD"] = click.prompt(question, hide_input=True, err=True)
    return store


_store = partial(
    option,
    envvar="SLICE_OS_STORE",
    metavar="STORE",
    callback=_ask_password,
    help="Folder, or http(s)://[user@]host[:port]/index in OpenSearch or Elasticsearch (or set "
    "SLICE_OS_STORE).",
)
Store: TypeAlias = Annotated[str, _store(required=True)]
OptionalStore: TypeAlias = Annotated[str | None, _store()]

HitsAsJson: TypeAlias = Annotated[
    bool | None,
    "--json/--text",
    "JSON lines, or hits in context; by default JSON unless the output is a terminal.",
]
RowsAsJson: TypeAlias = Annotated[
    bool | None,
    "--json/--text",
    "JSON lines, or text; by default JSON unless the output is a terminal.",
]
ReportAsJson: TypeAlias = Annotated[
    bool | None,
    "--json/--text",
    "Report as JSON, or as a table; by default JSON unless the output is a terminal.",
]

id_field = option("Tables and JSON: field of the document id.", default="id")
text_field = option("Tables and JSON: field of the text.", default="text")


class _Format(click.Choice):  # type: ignore[type-arg]
    """The name of a format, perhaps of another package's reader."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        self.choices = tuple(readers())
        return super().convert(value, param, ctx)


FormatName: TypeAlias = Annotated[
    str | None,
    "--format",
    _Format(list(READERS)),
    "NAME",
    "Format of every PATH, as listed below; detected by default, and text for standard input.",
]

# Click keeps the lines of a paragraph that begins with \b.
FORMATS_HELP = "\n".join(
    [
        "\b",
        "Formats:",
        *(
            f"  {name:<7} {' '.join(reader.extensions):<17} {reader.description}"
            for name, reader in READERS.items()
        ),
    ]
)


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

verifier_option = option("NAME", "Verifier to use, such as similarity or cross-encoder:FOLDER.")
VerifierName: TypeAlias = Annotated[str | None, verifier_option]
Threads: TypeAlias = Annotated[int | None, COUNT, "CPU threads; all cores by default."]

# A field does not end in a blank, so that a run of blanks is tried once.
_FILTER = re.compile(
    r"(?P<field>[^=!<>](?:.*?(?<!\s))??)(?:\s*(?P<symbol>[=!<>]+)\s*|\s+in\s+)(?P<value>.*)",
    re.DOTALL,
)


def connect(store: str) -> IndexHandle:
    """The index of a store on a server; a store of another kind is a usage error."""
    from slice_os.stores.cluster.server.connection import IndexHandle
    from slice_os.stores.cluster.store import OpenSearchBackend
    from slice_os.stores.registry import find_backend

    if not isinstance(find_backend(store), OpenSearchBackend):
        raise click.UsageError(
            f"{store}: this is for stores in OpenSearch or Elasticsearch (http://HOST/INDEX)"
        )
    return IndexHandle.at(store)


def _parse_filters(
    _context: click.Context, _option: click.Parameter, filters: tuple[str, ...]
) -> tuple[Condition, ...]:
    """``--filter`` options as conditions; a field may have any of the values given with ``=``."""
    from slice_os.query.filters import SYMBOLS, Condition

    operators = {"==": "eq", **{symbol: name for name, symbol in SYMBOLS.items()}}
    allowed: dict[str, tuple[str, ...]] = {}
    others = []
    for text in filters:
        found = _FILTER.fullmatch(text)
        symbol = found["symbol"] if found else None
        if not found or (symbol and symbol not in operators):
            told = f"has no operator {symbol!r}" if symbol else "is not of the form FIELD=VALUE"
            raise click.UsageError(
                f"--filter {text!r} {told}; there are =, !=, <, <=, >, >= and in"
            )
        field, value = found["field"], found["value"]
        operator = operators[symbol] if symbol else "eq"
        several = (value,) if symbol else tuple(part.strip() for part in value.split(","))
        if operator == "eq":
            allowed[field] = allowed.get(field, ()) + several
        else:
            others.append(Condition(field, operator, several))
    return (*(Condition(field, "eq", values) for field, values in allowed.items()), *others)


where_option = option(
    "--filter",
    "CONDITION",
    "Only passages with this metadata: FIELD=VALUE, or !=, <, <=, >, >= with a number or "
    "date, or 'FIELD in A,B'. Repeatable: all must hold, but = with one field offers alternatives.",
    multiple=True,
    callback=_parse_filters,
)
Conditions: TypeAlias = Annotated["tuple[Condition, ...]", where_option]
ModelName: TypeAlias = Annotated[str | None, "Model folder or name of a bundled model."]


@dataclass(frozen=True)
class EncoderChoice:
    """The model to use, and how it runs."""

    model: ModelName
    providers: Annotated[
        tuple[str, ...],
        "--provider",
        "onnxruntime execution provider, such as CUDA; repeatable, preferred first.",
    ]
    threads: Threads

    def for_store(self) -> SpanEncoder | str | None:
        """The encoder, its name, or None to leave it to the store."""
        return self.load() if self.providers or self.threads is not None else self.model

    def load(self) -> SpanEncoder:
        """The encoder."""
        from slice_os.encoder.span_encoder import SpanEncoder

        return SpanEncoder(self.model, providers=self.providers or None, threads=self.threads)

    def corpus(self, store: str, verifier: Verifier | str | None = None) -> Corpus:
        """A store with the encoder."""
        from slice_os.corpus import Corpus

        return Corpus(store, self.for_store(), verifier=verifier)


def _chosen_index(fields: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """The index options that were given, as arguments of `IndexOptions`, which checks them."""
    from slice_os.stores.cluster.schema.settings import IndexOptions

    chosen = {name: value for name, value in options.items() if value is not None}
    for text in fields:
        name, equals, kind = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--field {text!r} is not of the form NAME=TYPE")
        chosen.setdefault("fields", {})[name] = kind
    IndexOptions(**chosen)
    return chosen


_index = group(
    _chosen_index,
    policy=option("Index: spans to store vectors of: all, grid:SIZE[,SIZE...] or cover:COSINE."),
    vectors=option(click.Choice(["byte", "float"]), "Index: number type of span vectors."),
    truncate_dim=option(
        COUNT, "Index: length of span vectors; by default a quarter of the model's."
    ),
    analyzer=option("Index: name of a text analyzer of the server."),
    fields=option(
        "--field", "NAME=TYPE", "Index: type of a metadata field; repeatable.", multiple=True
    ),
    shards=option(COUNT, "Index: primary shards."),
    replicas=option(click.IntRange(min=0), "Index: copies of each shard."),
)
IndexChoices: TypeAlias = Annotated[dict[str, Any], _index]

WorkFolder: TypeAlias = Annotated[
    Path | None,
    "--work",
    "FOLDER",
    "Folder of topics, labels and seen hits.  [default: that of the store, or the "
    "current one for an index]",
]
Reader: TypeAlias = Annotated[
    str,
    option(
        "NAME",
        "Who answers; '' for nobody in particular.",
        default=lambda: os.environ.get("USER", ""),
        show_default="$USER",
    ),
]
TopicFiles: TypeAlias = Annotated[
    tuple[str, ...], argument(required=True, metavar="TOPICS...", type=click.Path(exists=True))
]
topics_option = partial(
    option,
    "--topics",
    metavar="PATH",
    type=click.Path(exists=True),
    help="Topic file, or folder of topic files; repeatable.",
)
TopicPaths: TypeAlias = Annotated[tuple[str, ...], topics_option()]
Exclusive: TypeAlias = Annotated[bool, "Topics: assign words to the nearest topic only."]
