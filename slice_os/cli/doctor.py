"""`slice-os doctor`."""

from __future__ import annotations

import click

from slice_os.cli.options import EncoderChoice, OptionalStore, ReportAsJson
from slice_os.cli.parameters import command
from slice_os.cli.render import printable, show, styled


@command()
def doctor(store: OptionalStore, encoder: EncoderChoice, as_json: ReportAsJson) -> int:
    """Check what works here, and how fast.

    The encoder reads a few texts with the chosen model and provider. With --store, the store and
    its server are checked too. The exit status is 1 if something you asked for does not work.
    """
    from slice_os.doctor import machine_checks, store_checks

    checks = list(machine_checks(encoder.model, encoder.providers, encoder.threads))
    if store:
        checks += store_checks(store, encoder.model)
    usable = all(check.usable for check in checks)
    rows = [
        {"name": one.name, "usable": one.usable, "finding": one.finding, **one.facts}
        for one in checks
    ]
    fails = styled("FAILS ", fg="red")
    lines = [
        f"{one.name:<20} {'' if one.usable else fails}{printable(one.finding)}" for one in checks
    ]
    show({"usable": usable, "checks": rows}, "\n".join(lines), as_json)
    for check in checks:
        if not check.usable:
            click.echo(f"slice-os: {check.name}: {printable(check.finding)}", err=True)
    return 0 if usable else 1
