"""`slice-os eval`: a command a harness, and what is done with their results."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import report_option
from slice_os.cli.progress import StepBar
from slice_os.cli.render import echo_json, wants_json

if TYPE_CHECKING:
    from slice_os.datasets.catalog import Checked
    from slice_os.evaluation.encoders.vector_cache import VectorCache
    from slice_os.evaluation.harness import Harness, Option

_file = click.Path(dir_okay=False, path_type=Path)


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
@click.argument("first", type=_file)
@click.argument("second", type=_file)
@click.option("--wide", is_flag=True, help="Show all columns of the table.")
def compare_command(first: Path, second: Path, wide: bool) -> None:
    """Compare two saved results.

    FIRST and SECOND are files that --out wrote.
    """
    from slice_os.evaluation import Evaluation, compare

    click.echo(compare(Evaluation.load(first), Evaluation.load(second)).table(wide=wide))


@evaluate.command("build-context")
@click.argument("pairs", type=_file)
@click.argument("out", type=_file)
@click.option("--text", type=_file, help="Text to place sentences in: plain text or JSONL.")
@click.option(
    "--endpoint", metavar="URL", help="OpenAI-compatible endpoint, such as https://HOST/v1."
)
@click.option("--model", help="Model to use at the endpoint.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N pairs.")
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
    from slice_os.evaluation.sts_b_context import builder
    from slice_os.evaluation.sts_b_context.builder import ChatEndpoint
    from slice_os.evaluation.sts_b_context.context_rows import save_rows

    loaded = read_sts_b(pairs)[:limit]
    if text is not None and endpoint is None and model is None:
        rows = list(builder.place_in_text(loaded, read_passages(text), seed))
    elif text is None and endpoint is not None and model is not None:
        with closing(StepBar(leave=False)) as bar:
            rows = list(builder.generate(loaded, ChatEndpoint(endpoint, model), seed, bar.update))
    else:
        raise click.UsageError("give --text, or --endpoint and --model")
    save_rows(rows, out)
    click.echo(f"{out}: {len(rows):,} rows; {len(loaded) - len(rows):,} skipped")


@evaluate.command("data")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--strict", is_flag=True, help="Missing files are errors, too.")
@report_option
def check_data(folder: Path, strict: bool, as_json: bool | None) -> None:
    """Check the data sets in FOLDER.

    The report names the files that are there, those that are missing, and wrong checksums.

    docs/data.md lists the data sets, where to get them, and the file names they go to. Exit
    status 1 if a file has other content than expected.
    """
    from slice_os.datasets.catalog import State, check

    found = list(check(folder))
    counts = Counter(one.state.value for one in found)
    totals = {state: counts[state] for state in ("right", "missing", "different")}
    if wants_json(as_json):
        files = [asdict(one) for one in found]
        result = {"folder": str(folder), **totals, "files": files}
        echo_json(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        click.echo("\n".join(map(_describe_file, found)))
        told = ", ".join(f"{count} {state}" for state, count in totals.items())
        click.echo(f"{len(found)} files: {told}")
    faults = {State.DIFFERENT, State.MISSING} if strict else {State.DIFFERENT}
    if any(one.state in faults for one in found):
        raise click.exceptions.Exit(1)


def _describe_file(one: Checked) -> str:
    line = f"{one.state.value:9}  {one.path}"
    if one.state.value != "different":
        return line
    has = f"sha256 {one.found[:12]}…" if one.found else "cannot be unpacked"
    return f"{line}: {has}, expected {one.expected[:12]}…"


def _command(harness: Harness) -> click.Command:
    """The command of a harness: the options that all have, and its own."""

    def run(
        data: Path,
        encoders: tuple[str, ...],
        as_json: bool,
        wide: bool,
        out: Path | None,
        report: Path | None,
        cache: Path | None,
        cache_limit: float,
        no_cache: bool,
        threads: int | None,
        **options: Any,
    ) -> None:
        from slice_os.evaluation import evaluate

        with closing(StepBar(leave=False)) as bar:
            evaluation = evaluate(
                harness.name,
                data,
                encoders,
                cache=None if no_cache else _vector_cache(cache, cache_limit),
                threads=threads,
                progress=bar.update,
                **options,
            )
        if out is not None:
            evaluation.save(out)
        if report is not None:
            from slice_os.evaluation.report.page import render_report

            report.write_text(render_report(evaluation), encoding="utf-8")
        if as_json:
            echo_json(evaluation.to_json())
        else:
            click.echo(evaluation.table(wide=wide))

    return click.Command(
        harness.name,
        callback=run,
        help=harness.description,
        params=[*_shared_options(harness), *map(_option, harness.options)],
    )


def _shared_options(harness: Harness) -> list[click.Option]:
    return [
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
            "[default: the bundled model]",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of a table."),
        click.Option(["--wide"], is_flag=True, help="Show all columns of the table."),
        click.Option(["--out"], type=_file, help="Also save the result as JSON in this file."),
        click.Option(["--report"], type=_file, help="Also write a report, one HTML file."),
        *_cache_options(),
        click.Option(["--no-cache"], is_flag=True, help="Keep no vectors and use none."),
        click.Option(
            ["--threads"], type=click.IntRange(min=1), help="CPU threads; all cores by default."
        ),
    ]


def _cache_options() -> list[click.Option]:
    return [
        click.Option(
            ["--cache"],
            type=click.Path(file_okay=False, path_type=Path),
            help="Folder to keep vectors in.  [default: in the user's cache folder]",
        ),
        click.Option(
            ["--cache-limit"],
            type=click.FloatRange(min=0, min_open=True),
            default=5,
            envvar="SLICE_OS_CACHE_LIMIT",
            metavar="GB",
            help="Most gigabytes of vectors to keep (or set SLICE_OS_CACHE_LIMIT).",
        ),
    ]


def _option(option: Option) -> click.Option:
    """A harness's option on the command line: ``max_sizes`` as ``--max-size``, repeatable."""
    name = option.name.removesuffix("s") if option.multiple else option.name
    flag = f"--{name.replace('_', '-')}"
    kinds: dict[str, Any] = {
        "text": click.Choice(option.choices) if option.choices else click.STRING,
        "number": click.IntRange(option.least, option.most),
        "flag": click.BOOL,
        "file": click.Path(dir_okay=False, path_type=Path),
        "folder": click.Path(file_okay=False, path_type=Path),
        "path": click.Path(path_type=Path),
    }
    settings: dict[str, Any] = {"help": option.help, "metavar": option.metavar}
    if option.kind == "flag":
        if option.default:
            return click.Option([f"{flag}/--no-{flag[2:]}", option.name], default=True, **settings)
        return click.Option([flag, option.name], is_flag=True, **settings)
    settings |= {
        "type": kinds[option.kind],
        "multiple": option.multiple,
        "required": option.required,
        "default": option.default,
    }
    return click.Option([flag, option.name], **settings)


def _vector_cache(folder: Path | None, gigabytes: float) -> VectorCache:
    from slice_os.evaluation.encoders.vector_cache import GIGABYTE, VectorCache, default_cache

    return VectorCache(folder or default_cache(), int(gigabytes * GIGABYTE))


def cache_command(cache: Path | None, cache_limit: float, empty: bool) -> None:
    """Show or delete cached vectors.

    When the cache grows beyond its limit, the vectors used least recently are deleted.
    """
    from slice_os.evaluation.encoders.vector_cache import GIGABYTE

    vectors = _vector_cache(cache, cache_limit)
    usage = vectors.usage()
    click.echo(f"{vectors.folder}: limit {cache_limit:g} GB")
    for one in usage:
        click.echo(
            f"  {one.encoder} ({one.identity}): {one.entries:,} entries, "
            f"{one.size_bytes / GIGABYTE:.3f} GB"
        )
    size, entries = sum(one.size_bytes for one in usage), sum(one.entries for one in usage)
    if empty:
        vectors.empty()
    deleted = "deleted: " if empty else ""
    click.echo(f"{deleted}{entries:,} entries, {size / GIGABYTE:.3f} GB")


evaluate.add_command(
    click.Command(
        "cache",
        callback=cache_command,
        help=cache_command.__doc__,
        params=[
            *_cache_options(),
            click.Option(["--empty"], is_flag=True, help="Delete the vectors."),
        ],
    )
)
