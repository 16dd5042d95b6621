"""`dra-conformance verify`: compares the report of a finished run with its event log."""

from __future__ import annotations

from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode
from dra_conformance.report.verify import verify


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path("dra-report"))
def command(folder: Path) -> int:
    """Recompute the verdict of a finished run from its event log.

    DIR is the report directory of the run (default dra-report). Exit codes: 0 report and log agree, 1 they differ.

    \b
    Example:
      dra-conformance verify dra-report
    """
    report, differences = verify(folder)
    for difference in differences:
        click.echo(f"differs: {difference}")
    if differences:
        click.echo(f"{len(differences)} differences between the report and the event log")
        return ExitCode.FAILURES
    click.echo(f"verified: {report.verdict.value}, {len(report.rules)} rules, {len(report.scenarios)} scenarios")
    return ExitCode.OK
