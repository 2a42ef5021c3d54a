"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from slice_os.encoder import SpanEncoder

Command = TypeVar("Command", bound=Callable[..., Any])

store_option = click.option(
    "--store",
    required=True,
    envvar="SLICE_OS_STORE",
    metavar="STORE",
    help="Folder of the local store (or set SLICE_OS_STORE).",
)

output_option = click.option(
    "--json/--text",
    "as_json",
    default=None,
    help="JSON lines, or hits in context; by default JSON unless the output is a terminal.",
)

where_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Only documents whose metadata has this value; the same field again adds a value.",
)


def encoder_options(command: Command) -> Command:
    """Options that choose the model and how it runs."""
    for option in reversed(
        [
            click.option("--model", help="Model folder or bundled name; the bundled default."),
            click.option(
                "--engine",
                default="onnxruntime",
                show_default=True,
                help="Inference engine: onnxruntime or openvino.",
            ),
            click.option(
                "--provider",
                "providers",
                multiple=True,
                help="onnxruntime execution provider, such as CUDA; the first choice first.",
            ),
            click.option(
                "--threads", type=click.IntRange(min=1), help="CPU threads; all cores by default."
            ),
        ]
    ):
        command = option(command)
    return command


def chosen_encoder(
    model: str | None, engine: str, providers: tuple[str, ...], threads: int | None
) -> SpanEncoder | str | None:
    """The encoder that the options ask for; None where all is left to the store.

    Raises:
        ModelError: where there is no such model.
        EngineError: where the engine or provider did not load.
    """
    if engine == "onnxruntime" and not providers and threads is None:
        return model
    from slice_os.encoder import SpanEncoder

    return SpanEncoder(model, engine=engine, providers=providers or None, threads=threads)


def parse_filters(filters: tuple[str, ...]) -> dict[str, list[str]]:
    """``FIELD=VALUE`` options as fields and their admitted values.

    Raises:
        click.UsageError: where there is no ``=`` or no field.
    """
    where: dict[str, list[str]] = {}
    for text in filters:
        field, equals, value = text.partition("=")
        if not equals or not field:
            raise click.UsageError(f"--filter {text!r} is not of the form FIELD=VALUE")
        where.setdefault(field, []).append(value)
    return where
