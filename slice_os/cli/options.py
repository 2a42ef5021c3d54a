"""Options that several commands share."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slice_os.ingest.formats import READERS, readers

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.encoder.span_encoder import SpanEncoder
    from slice_os.query.filters import Condition
    from slice_os.stores.cluster.server.connection import IndexHandle
    from slice_os.verifier.claims import Verifier

Command = TypeVar("Command", bound=Callable[..., Any])


def stacked(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def as_one(
    name: str, make: Callable[..., Any], *options: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options that a command gets as one argument, which ``make`` makes of their values."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(**given: Any) -> Any:
            chosen = {param.name: given.pop(param.name) for param in own}
            return command(**{name: make(**chosen)}, **given)

        others = len(getattr(run, "__click_params__", ()))
        shown: Any = stacked(*options)(run)
        own = shown.__click_params__[others:]
        return run

    return decorate


class NumberRange(click.FloatRange):
    """Numbers of a range; unlike `click.FloatRange`, without NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, or a usage error."""
        number = float(super().convert(value, param, ctx))
        if isnan(number):
            self.fail(f"{number} is not in the range {self.min:g}<=x<={self.max:g}.", param, ctx)
        return number


COSINE = NumberRange(-1, 1)
PROBABILITY = NumberRange(0, 1)
COUNT = click.IntRange(min=1)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

# The extension of a report.
REPORT = ".html"


class HitFile(click.Path):
    """A file for hits, whose extension names the format; one that cannot be written is refused.

    A PDF or Word file, or a folder, which is made, is for marked copies.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, or an error before anything is searched."""
        from slice_os.hits.files import check_place, output_format
        from slice_os.originals.copies import is_marked

        path = Path(value)
        check_place(path)
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
    given = any(os.environ.get(f"SLICE_OS_{name}") for name in _SECRETS)
    if store and not given and sys.stdin.isatty() and sys.stderr.isatty():
        from slice_os.stores.registry import find_backend

        if login := find_backend(store).login(store):
            question = f"Password of {login}"
            os.environ["SLICE_OS_PASSWORD"] = click.prompt(question, hide_input=True, err=True)
    return store


_store_option = partial(
    click.option,
    "--store",
    envvar="SLICE_OS_STORE",
    metavar="STORE",
    callback=_ask_password,
    help="Folder, or http(s)://[user@]host[:port]/index in OpenSearch or Elasticsearch (or set "
    "SLICE_OS_STORE).",
)
store_option = _store_option(required=True)
optional_store_option = _store_option()

_json_option = partial(click.option, "--json/--text", "as_json", default=None)
output_option = _json_option(
    help="JSON lines, or hits in context; by default JSON unless the output is a terminal."
)
rows_option = _json_option(
    help="JSON lines, or text; by default JSON unless the output is a terminal."
)
report_option = _json_option(
    help="Report as JSON, or as a table; by default JSON unless the output is a terminal."
)

id_field_option = click.option(
    "--id-field", default="id", help="Tables and JSON: field of the document id."
)

text_field_option = click.option(
    "--text-field", default="text", help="Tables and JSON: field of the text."
)


class _Format(click.Choice):  # type: ignore[type-arg]
    """The name of a format, perhaps of another package's reader."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        self.choices = tuple(readers())
        return super().convert(value, param, ctx)


format_option = click.option(
    "--format",
    "format_name",
    type=_Format(list(READERS)),
    metavar="NAME",
    help="Format of every PATH, as listed below; detected by default, and text for standard input.",
)

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

verifier_option = click.option(
    "--verifier", metavar="NAME", help="Verifier to use, such as wording or cross-encoder:FOLDER."
)

threads_option = click.option("--threads", type=COUNT, help="CPU threads; all cores by default.")

_FILTER = re.compile(
    r"(?P<field>[^=!<>].*?)(?:\s*(?P<symbol>[=!<>]+)\s*|\s+in\s+)(?P<value>.*)", re.DOTALL
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


where_option = click.option(
    "--filter",
    "where",
    multiple=True,
    metavar="CONDITION",
    callback=_parse_filters,
    help="Only passages with this metadata: FIELD=VALUE, or !=, <, <=, >, >= with a number or "
    "date, or 'FIELD in A,B'. Repeatable: all must hold, but = with one field offers alternatives.",
)


@dataclass(frozen=True)
class EncoderChoice:
    """The model to use, and how it runs."""

    model: str | None
    providers: tuple[str, ...]
    threads: int | None

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


model_option = click.option("--model", help="Model folder or name of a bundled model.")

encoder_options = as_one(
    "encoder",
    EncoderChoice,
    model_option,
    click.option(
        "--provider",
        "providers",
        multiple=True,
        help="onnxruntime execution provider, such as CUDA; repeatable, preferred first.",
    ),
    threads_option,
)


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


index_options = as_one(
    "index_choices",
    _chosen_index,
    click.option(
        "--policy",
        help="Index: spans to store vectors of: all, grid:SIZE[,SIZE...] or cover:COSINE.",
    ),
    click.option(
        "--vectors",
        type=click.Choice(["byte", "float"]),
        help="Index: number type of span vectors.",
    ),
    click.option(
        "--truncate-dim",
        type=COUNT,
        help="Index: length of span vectors; by default a quarter of the model's.",
    ),
    click.option("--analyzer", help="Index: name of a text analyzer in OpenSearch."),
    click.option(
        "--field",
        "fields",
        multiple=True,
        metavar="NAME=TYPE",
        help="Index: type of a metadata field; repeatable.",
    ),
    click.option("--shards", type=COUNT, help="Index: primary shards."),
    click.option("--replicas", type=click.IntRange(min=0), help="Index: copies of each shard."),
)

work_option = click.option(
    "--work",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of topics, labels and seen hits.  [default: that of the store, or the current "
    "one for an index]",
)

reader_option = click.option(
    "--reader",
    metavar="NAME",
    default=lambda: os.environ.get("USER", ""),
    show_default="$USER",
    help="Who answers; '' for nobody in particular.",
)

topic_paths = click.argument(
    "paths", nargs=-1, required=True, metavar="TOPICS...", type=click.Path(exists=True)
)

exclusive_option = click.option(
    "--exclusive", is_flag=True, help="Topics: assign words to the nearest topic only."
)


topics_option = partial(
    click.option,
    "--topics",
    "topic_paths",
    multiple=True,
    metavar="PATH",
    type=click.Path(exists=True),
    help="Topic file, or folder of topic files; repeatable.",
)
