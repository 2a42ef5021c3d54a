"""`slice-os export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slice_os.cli.options import COSINE, report_option
from slice_os.cli.render import echo_json, wants_json

if TYPE_CHECKING:
    from slice_os.export.parity import ParityReport


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("out", metavar="OUT", type=click.Path())
@click.option(
    "--precision",
    type=click.Choice(["fp32", "fp16", "int8"]),
    default="fp32",
    show_default=True,
    help="fp32 is exact, fp16 is for GPUs, int8 is smallest, and fastest on CPUs.",
)
@click.option("--name", help="Name for people.  [default: the name of MODEL]")
@click.option(
    "--license",
    "license_name",
    help="SPDX expression of the weights.  [default: what MODEL's README declares]",
)
@click.option(
    "--threshold",
    type=COSINE,
    default=0.6,
    show_default=True,
    help="Cosine from which a span counts as a hit by default.",
)
@click.option("--force", is_flag=True, help="Replace a model folder at OUT.")
@report_option
def export(
    model: str,
    out: str,
    precision: str,
    name: str | None,
    license_name: str | None,
    threshold: float,
    force: bool,
    as_json: bool | None,
) -> None:
    """Turn a Hugging Face encoder into a model folder for --model.

    MODEL is a name on Hugging Face, or a folder of transformers or sentence-transformers. OUT is
    written only if the exported model agrees with torch on real text, padded and unpadded. In
    fp32 every number must be within 1e-5; in fp16 and int8 the cosines of spans of 1 to 20 words
    must agree. Needs pip install 'slice-os[export]'.
    """
    from slice_os.export import export_model

    report = export_model(
        model,
        out,
        precision=precision,
        name=name,
        license_name=license_name,
        threshold=threshold,
        force=force,
        progress=lambda step: click.echo(f"{step} …", err=True),
    )
    if wants_json(as_json):
        echo_json(report.to_json())
    else:
        click.echo(describe(report, out))


def describe(report: ParityReport, out: str) -> str:
    """A parity report as a short table."""
    lines = [
        f"{out}: {report.precision}, compared with torch on {report.tokens:,} word pieces "
        f"and {report.spans:,} spans",
        f"{'':9} {'max abs':>9} {'token cos':>10} {'span cos':>10} {'worst':>8}",
    ]
    for name, run in (("unpadded", report.unpadded), ("padded", report.padded)):
        lines.append(
            f"{name:9} {run.max_abs:9.1e} {run.token_cosine:10.5f} {run.span_cosine:10.5f} "
            f"{run.span_cosine_min:8.4f}"
        )
    return "\n".join(lines)
