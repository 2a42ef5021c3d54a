"""`slice-os eval`: a command a harness, and what is done with their results."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import click

from slice_os.cli.groups import CommandGroup
from slice_os.cli.options import COUNT, NEW_FILE, ReportAsJson, Threads
from slice_os.cli.parameters import FOLDER, Group, NumberRange, argument, command, option
from slice_os.cli.progress import StepBar
from slice_os.cli.render import show
from slice_os.tables.replacing import replacing

if TYPE_CHECKING:
    from slice_os.datasets.catalog import Checked
    from slice_os.evaluation.encoders.vector_cache import VectorCache
    from slice_os.evaluation.harness import Harness


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
def compare_command(
    first: Annotated[Path, argument()],
    second: Annotated[Path, argument()],
    wide: Annotated[bool, "Show all columns of the table."],
) -> None:
    """Compare two saved results.

    FIRST and SECOND are files that --out wrote.
    """
    from slice_os.evaluation import Evaluation, compare

    click.echo(compare(Evaluation.load(first), Evaluation.load(second)).table(wide=wide))


@evaluate.command("build-context")
def build_context(
    *,
    pairs: Annotated[Path, argument()],
    out: Annotated[Path, argument(type=NEW_FILE)],
    text: Annotated[Path | None, "Text to place sentences in: plain text or JSONL."],
    endpoint: Annotated[str | None, "URL", "OpenAI-compatible endpoint, such as https://HOST/v1."],
    model: Annotated[str | None, "Model to use at the endpoint."],
    limit: Annotated[int | None, COUNT, "Only the first N pairs."],
    seed: Annotated[int, "Seed of the random choices."] = 0,
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
def check_data(
    folder: Annotated[Path, argument(type=FOLDER)],
    strict: Annotated[bool, "Missing files are errors, too."],
    as_json: ReportAsJson,
) -> None:
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


_cache = {
    "cache": option(FOLDER, "Folder to keep vectors in.  [default: in the user's cache folder]"),
    "cache_limit": option(
        NumberRange(0, 1_000_000, min_open=True),
        "GB",
        "Maximum size of the cached vectors in GB (or set SLICE_OS_CACHE_LIMIT).",
        default=5,
        envvar="SLICE_OS_CACHE_LIMIT",
    ),
}
Cache: TypeAlias = Annotated["VectorCache", Group(_vector_cache, _cache)]


@evaluate.command("cache")
def cache_command(cache: Cache, empty: Annotated[bool, "Delete the vectors."]) -> None:
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

    def run(
        data: Path,
        encoders: Annotated[
            tuple[str, ...],
            "--encoder",
            "[NAME=]ENCODER",
            "Model or ONNX folder, bundled name, Hugging Face name or folder, glove:FILE, "
            "start-end:MODEL, truncate-N:MODEL or pcpe:MODEL[:PROMPT]; repeatable.  "
            "[default: the bundled model]",
        ],
        as_json: Annotated[bool, "--json", "Print JSON instead of a table."],
        wide: Annotated[bool, "Show all columns of the table."],
        out: Annotated[Path | None, NEW_FILE, "Also save the result as JSON in this file."],
        report: Annotated[Path | None, NEW_FILE, "Also write a report, one HTML file."],
        cache: Cache,
        no_cache: Annotated[bool, "Keep no vectors and use none."],
        threads: Threads,
        own: dict[str, Any],
    ) -> None:
        from slice_os.evaluation import evaluate

        if report is not None:
            from slice_os.evaluation.report.page import render_report

        with closing(StepBar(leave=False)) as bar:
            evaluation = evaluate(
                harness.name,
                data,
                encoders,
                cache=None if no_cache else cache,
                threads=threads,
                progress=bar.update,
                **own,
            )
        if out is not None:
            evaluation.save(out)
        if report is not None:
            with replacing(report) as part:
                part.write_text(render_report(evaluation), encoding="utf-8")
        show(evaluation.to_json(), evaluation.table(wide=wide), as_json)

    given = option("PATH", help=harness.data, required=True)
    options = Group(dict, harness.options)
    run.__annotations__ |= {"data": Annotated[Path, given], "own": Annotated[Any, options]}
    return command(name=harness.name, help=harness.description)(run)
