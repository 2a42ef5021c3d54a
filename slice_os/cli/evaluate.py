"""`slice-os eval`: a command a harness, and what is done with their results."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slice_os.cli.options import RenamedOption

if TYPE_CHECKING:
    from slice_os.evaluation.encoders.base import TextEncoder
    from slice_os.evaluation.harness import Harness, Progress

_file = click.Path(dir_okay=False, path_type=Path)


class _Harnesses(click.Group):
    """The commands defined below and one for each harness, imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from slice_os.evaluation.harness import HARNESSES

        return [*HARNESSES, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from slice_os.evaluation.harness import HARNESSES, load_harness

        if cmd_name in HARNESSES:
            return _command(load_harness(cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(name="eval", cls=_Harnesses)
def evaluate() -> None:
    """Measure encoders: the experiments of the papers, and some on data of your own.

    Data sets are read from a path and are not part of slice-os; without one, the message says
    where it can be had.
    """


@evaluate.command("compare")
@click.argument("first", type=_file)
@click.argument("second", type=_file)
def compare_command(first: Path, second: Path) -> None:
    """Show how two saved results differ.

    FIRST and SECOND are files that --out wrote.
    """
    from slice_os.evaluation.results import Evaluation, compare

    click.echo(compare(Evaluation.load(first), Evaluation.load(second)).table())


@evaluate.command("build-context")
@click.argument("pairs", type=_file)
@click.argument("out", type=_file)
@click.option("--text", type=_file, help="Real text to place sentences in: text or JSONL.")
@click.option("--endpoint", metavar="URL", help="OpenAI-compatible, such as https://HOST/v1.")
@click.option("--model", help="Model at the endpoint.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first pairs.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn.")
def build_context(
    pairs: Path,
    out: Path,
    text: Path | None,
    endpoint: str | None,
    model: str | None,
    limit: int | None,
    seed: int,
) -> None:
    """Make a table like STS-B-Context.

    PAIRS is STS-B or a CSV file like it: sentence, sentence, similarity from 0 to 5. The second
    sentence is placed, word for word, in text of yours (--text), at the border of a sentence or
    a clause; or a language model writes text around it by the paper's prompt (--endpoint and
    --model, with a key in OPENAI_API_KEY), and answers without the sentence are left out. OUT
    is a table with the place of the sentence.
    """
    from slice_os.datasets.files import read_passages
    from slice_os.datasets.sts_b import read_sts_b
    from slice_os.evaluation.sts_b_context import builder
    from slice_os.evaluation.sts_b_context.generation import ChatEndpoint
    from slice_os.evaluation.sts_b_context.rows import save_rows

    loaded = read_sts_b(pairs)[:limit]
    if text is not None and endpoint is None and model is None:
        rows = list(builder.place_in_text(loaded, read_passages(text), seed))
    elif text is None and endpoint is not None and model is not None:
        with _bar() as progress:
            rows = list(builder.generate(loaded, ChatEndpoint(endpoint, model), seed, progress))
    else:
        raise click.UsageError("give --text, or --endpoint and --model")
    save_rows(rows, out)
    click.echo(f"{out}: {len(rows):,} rows; {len(loaded) - len(rows):,} left out")


def _command(harness: Harness) -> click.Command:
    """The command of a harness: the options that all have, and its own."""

    def run(
        data: Path,
        encoders: tuple[str, ...],
        as_json: bool,
        out: Path | None,
        report: Path | None,
        cache: Path | None,
        no_cache: bool,
        threads: int | None,
        **options: Any,
    ) -> None:
        opened = _open_encoders(encoders, threads, cache, no_cache)
        with _bar() as progress:
            evaluation = harness.run(data, opened, progress=progress, **options)
        if out is not None:
            evaluation.save(out)
        if report is not None:
            from slice_os.evaluation.report.html import render_report

            report.write_text(render_report(evaluation), encoding="utf-8")
        if as_json:
            click.echo(evaluation.to_json(), nl=False)
        else:
            click.echo(evaluation.table())

    return click.Command(
        harness.name,
        callback=run,
        help=harness.description,
        params=[*_shared_options(harness), *harness.options],
    )


def _shared_options(harness: Harness) -> Sequence[click.Option]:
    options = [
        click.Option(
            ["--data"],
            required=True,
            metavar="PATH",
            type=click.Path(path_type=Path),
            help=harness.data,
        ),
        click.Option(
            ["--encoder", "encoders"],
            multiple=True,
            metavar="[NAME=]ENCODER",
            help="Model or ONNX folder, bundled name, Hugging Face name or folder, glove:FILE, "
            "start-end:MODEL, truncate-N:MODEL or pcpe:MODEL[:PROMPT]; repeatable.  "
            "[default: the shipped model]",
        ),
    ]
    if harness.settings:
        options.append(
            RenamedOption(
                ["--setting", "settings"],
                formerly="--setup",
                multiple=True,
                type=click.Choice(harness.settings),
                help="Only this one; repeatable.  [default: all]",
            )
        )
    return [
        *options,
        click.Option(["--json", "as_json"], is_flag=True, help="JSON instead of a table."),
        click.Option(["--out"], type=_file, help="Also save the result as JSON in this file."),
        click.Option(["--report"], type=_file, help="Also write a report, one HTML file."),
        click.Option(
            ["--cache"],
            type=click.Path(file_okay=False, path_type=Path),
            help="Folder where vectors are kept.  [default: the user's cache]",
        ),
        click.Option(["--no-cache"], is_flag=True, help="Keep no vectors and use none."),
        click.Option(
            ["--threads"], type=click.IntRange(min=1), help="CPU threads; all cores by default."
        ),
    ]


def _open_encoders(
    specs: Sequence[str], threads: int | None, cache: Path | None, no_cache: bool
) -> list[TextEncoder]:
    from slice_os.errors import InputError
    from slice_os.evaluation.encoders.cache import CachedEncoder, default_cache
    from slice_os.evaluation.encoders.opening import open_encoder

    opened = [open_encoder(spec, threads) for spec in specs or (None,)]
    names = [encoder.name for encoder in opened]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two encoders are called {name!r}; name them: --encoder NAME=ENCODER")
    if no_cache:
        return opened
    return [CachedEncoder(encoder, cache or default_cache()) for encoder in opened]


@contextmanager
def _bar() -> Iterator[Progress]:
    """A progress bar on standard error where that is a terminal; nothing elsewhere."""
    from tqdm import tqdm

    on_terminal = sys.stderr.isatty()
    with tqdm(disable=not on_terminal, dynamic_ncols=True, leave=False) as bar:

        def progress(label: str, done: int, total: int) -> None:
            if bar.disable:
                return
            if bar.desc != f"{label}: ":
                bar.reset(total)
                bar.set_description(label, refresh=False)
            bar.total = total
            bar.update(done - bar.n)

        yield progress


eval = evaluate  # noqa: A001  the name on the command line
