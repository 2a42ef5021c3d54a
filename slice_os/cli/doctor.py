"""`slice-os doctor`."""

from __future__ import annotations

import click
import orjson

from slice_os.cli.options import (
    EncoderChoice,
    encoder_options,
    optional_store_option,
    report_option,
)
from slice_os.cli.render import echo_json, printable, styled, wants_json


@click.command()
@optional_store_option
@encoder_options
@report_option
def doctor(store: str | None, encoder: EncoderChoice, as_json: bool | None) -> int:
    """Check what works here, and how fast.

    The encoder reads a few texts with the chosen model and provider. With --store, the store and
    its server are checked too. The exit status is 1 if something you asked for does not work.
    """
    from slice_os.doctor import machine_checks, store_checks

    checks = list(machine_checks(encoder.model, encoder.providers, encoder.threads))
    if store:
        checks += store_checks(store, encoder.model)
    usable = all(check.usable for check in checks)
    if wants_json(as_json):
        rows = [
            {"name": one.name, "usable": one.usable, "finding": one.finding, **one.facts}
            for one in checks
        ]
        echo_json(orjson.dumps({"usable": usable, "checks": rows}))
    else:
        for check in checks:
            mark = "" if check.usable else styled("FAILS ", fg="red")
            click.echo(f"{check.name:<20} {mark}{printable(check.finding)}")
    for check in checks:
        if not check.usable:
            click.echo(f"slice-os: {check.name}: {printable(check.finding)}", err=True)
    return 0 if usable else 1
