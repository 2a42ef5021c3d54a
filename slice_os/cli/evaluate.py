"""`slice-os eval`: a command a harness, and what is done with their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    Command,
    as_one,
    report_option,
    stacked,
    threads_option,
)
from slice_os.cli.progress import StepBar
from slice_os.cli.render import show
from slice_os.tables.replacing import replacing

if TYPE_CHECKING:
    from slice_os.datasets.catalog import Checked
    from slice_os.evaluation.encoders.vector_cache import VectorCache
    from slice_os.evaluation.harness import Harness, Option


class _Harnesses(CommandGroup):
    """The commands defined below and one for each harness, imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from slice_os.evaluation import HARNESSES

        return [*HARNESSES, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from slice_os.evaluation import HARNESSES, load_harness

        if cmd_name in HARNESSES:
            return _command(load_harness(cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(name="eval", cls=_Harnesses)
def evaluate() -> None:
    """Measure encoders: the experiments of the papers, and more on data of your own.

    Data sets are read from a path and do not come with slice-os. If one is missing, the message
    says where to get it.
    """


@evaluate.command("compare")
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@click.option("--wide", is_flag=True, help="Show all columns of the table.")
def compare_command(first: Path, second: Path, wide: bool) -> None:
    """Compare two saved results.

    FIRST and SECOND are files that --out wrote.
    """
    from slice_os.evaluation import Evaluation, compare

    click.echo(compare(Evaluation.load(first), Evaluation.load(second)).table(wide=wide))


@evaluate.command("build-context")
@click.argument("pairs", type=FILE)
@click.argument("out", type=FILE)
@click.option("--text", type=FILE, help="Text to place sentences in: plain text or JSONL.")
@click.option(
    "--endpoint", metavar="URL", help="OpenAI-compatible endpoint, such as https://HOST/v1."
)
@click.option("--model", help="Model to use at the endpoint.")
@click.option("--limit", type=COUNT, help="Only the first N pairs.")
@click.option("--seed", type=int, default=0, help="Seed of the random choices.")
def build_context(
    pairs: Path,
    out: Path,
    text: Path | None,
    endpoint: str | None,
    model: str | None,
    limit: int | None,
    seed: int,
) -> None:
    """Build a data set like STS-B-Context.

    PAIRS is STS-B or a CSV file in its format: sentence, sentence, similarity from 0 to 5. With
    --text, the second sentence of each pair is placed, word for word, between two sentences or
    clauses of your text. With --endpoint and --model, a language model writes text around it,
    with the prompt of the paper and a key from OPENAI_API_KEY; answers that lack the sentence
    are skipped. OUT is a table that records where each sentence is.
    """
    from slice_os.datasets.files import read_passages
    from slice_os.datasets.graded_pairs import read_sts_b
    from slice_os.evaluation.sts_b_context import context_rows as made

    loaded = read_sts_b(pairs)[:limit]
    if text is not None and endpoint is None and model is None:
        rows = list(made.place_in_text(loaded, read_passages(text), seed))
    elif text is None and endpoint is not None and model is not None:
        with closing(StepBar(leave=False)) as bar:
            chat = made.ChatEndpoint(endpoint, model)
            rows = list(made.generate(loaded, chat, seed, bar.update))
    else:
        raise click.UsageError("give --text, or --endpoint and --model")
    made.save_rows(rows, out)
    click.echo(f"{out}: {len(rows):,} rows; {len(loaded) - len(rows):,} skipped")


@evaluate.command("data")
@click.argument("folder", type=FOLDER)
@click.option("--strict", is_flag=True, help="Missing files are errors, too.")
@report_option
def check_data(folder: Path, strict: bool, as_json: bool | None) -> None:
    """Check the data sets in FOLDER.

    The report names the files that are there, those that are missing, and wrong checksums.

    docs/data.md lists the data sets, docs/datasets.md where to get them and their file names. Exit
    status 1 if a file has other content than expected.
    """
    from slice_os.datasets.catalog import State, check

    found = list(check(folder))
    counts = Counter(one.state.value for one in found)
    totals = {state: counts[state] for state in ("right", "missing", "different")}
    told = ", ".join(f"{count} {state}" for state, count in totals.items())
    text = "\n".join([*map(_describe_file, found), f"{len(found)} files: {told}"])
    show({"folder": folder, **totals, "files": found}, text, as_json, indent=True)
    faults = {State.DIFFERENT, State.MISSING} if strict else {State.DIFFERENT}
    if any(one.state in faults for one in found):
        raise click.exceptions.Exit(1)


def _describe_file(one: Checked) -> str:
    line = f"{one.state.value:9}  {one.path}"
    if one.state.value != "different":
        return line
    has = f"sha256 {one.found[:12]}…" if one.found else "cannot be unpacked"
    return f"{line}: {has}, expected {one.expected[:12]}…"


def _vector_cache(cache: Path | None, cache_limit: float) -> VectorCache:
    from slice_os.evaluation.encoders.vector_cache import GIGABYTE, VectorCache, default_cache

    return VectorCache(cache or default_cache(), int(cache_limit * GIGABYTE))


_cache_options = as_one(
    "cache",
    _vector_cache,
    click.option(
        "--cache",
        type=FOLDER,
        help="Folder to keep vectors in.  [default: in the user's cache folder]",
    ),
    click.option(
        "--cache-limit",
        type=click.FloatRange(min=0, min_open=True),
        default=5,
        envvar="SLICE_OS_CACHE_LIMIT",
        metavar="GB",
        help="Maximum size of the cached vectors in GB (or set SLICE_OS_CACHE_LIMIT).",
    ),
)


@evaluate.command("cache")
@_cache_options
@click.option("--empty", is_flag=True, help="Delete the vectors.")
def cache_command(cache: VectorCache, empty: bool) -> None:
    """Show or delete cached vectors.

    When the cache grows beyond its limit, the vectors used least recently are deleted.
    """
    from slice_os.evaluation.encoders.vector_cache import GIGABYTE

    usage = cache.usage()
    click.echo(f"{cache.folder}: limit {cache.limit / GIGABYTE:g} GB")
    for one in usage:
        click.echo(
            f"  {one.encoder} ({one.identity}): {one.entries:,} entries, "
            f"{one.size_bytes / GIGABYTE:.3f} GB"
        )
    size, entries = sum(one.size_bytes for one in usage), sum(one.entries for one in usage)
    if empty:
        cache.empty()
    deleted = "deleted: " if empty else ""
    click.echo(f"{deleted}{entries:,} entries, {size / GIGABYTE:.3f} GB")


def _command(harness: Harness) -> click.Command:
    """The command of a harness: the options that all have, and its own."""

    @click.command(harness.name, help=harness.description)
    @click.option(
        "--data", required=True, metavar="PATH", type=click.Path(path_type=Path), help=harness.data
    )
    @click.option(
        "--encoder",
        "encoders",
        multiple=True,
        metavar="[NAME=]ENCODER",
        help="Model or ONNX folder, bundled name, Hugging Face name or folder, glove:FILE, "
        "start-end:MODEL, truncate-N:MODEL or pcpe:MODEL[:PROMPT]; repeatable.  "
        "[default: the bundled model]",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
    @click.option("--wide", is_flag=True, help="Show all columns of the table.")
    @click.option("--out", type=FILE, help="Also save the result as JSON in this file.")
    @click.option("--report", type=FILE, help="Also write a report, one HTML file.")
    @_cache_options
    @click.option("--no-cache", is_flag=True, help="Keep no vectors and use none.")
    @threads_option
    @stacked(*map(_option, harness.options))
    def run(
        data: Path,
        encoders: tuple[str, ...],
        as_json: bool,
        wide: bool,
        out: Path | None,
        report: Path | None,
        cache: VectorCache,
        no_cache: bool,
        **options: Any,
    ) -> None:
        from slice_os.evaluation import evaluate

        with closing(StepBar(leave=False)) as bar:
            evaluation = evaluate(
                harness.name,
                data,
                encoders,
                cache=None if no_cache else cache,
                progress=bar.update,
                **options,
            )
        if out is not None:
            evaluation.save(out)
        if report is not None:
            from slice_os.evaluation.report.page import render_report

            with replacing(report) as part:
                part.write_text(render_report(evaluation), encoding="utf-8")
        show(evaluation.to_json(), evaluation.table(wide=wide), as_json)

    return run


def _option(option: Option) -> Callable[[Command], Command]:
    """A harness's option on the command line: ``max_sizes`` as ``--max-size``, repeatable."""
    flag = f"--{option.name.removesuffix('s') if option.multiple else option.name}"
    flag = flag.replace("_", "-")
    kinds: dict[str, Any] = {
        "text": click.Choice(option.choices) if option.choices else click.STRING,
        "number": click.IntRange(option.least, option.most),
        "flag": click.BOOL,
        "file": FILE,
        "folder": FOLDER,
        "path": click.Path(path_type=Path),
    }
    is_flag = option.kind == "flag"
    if is_flag and option.default:
        flag = f"{flag}/--no-{flag[2:]}"
    return click.option(
        flag,
        option.name,
        type=kinds[option.kind],
        is_flag=is_flag,
        multiple=option.multiple,
        required=option.required,
        default=bool(option.default) if is_flag else option.default,
        help=option.help,
        metavar=option.metavar,
    )
