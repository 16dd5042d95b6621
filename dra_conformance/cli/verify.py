"""`dra-conformance verify`: does the report say what the event log says?"""

from __future__ import annotations

from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("dra-report"))
def command(folder: Path) -> int:
    """Compute a finished run's verdict again from its event log (default folder: dra-report).

    Exits 0 when report and log agree, 1 when they do not.
    """
    from dra_conformance.report.verify import verify

    report, differences = verify(folder)
    for difference in differences:
        click.echo(f"differs: {difference}")
    if differences:
        click.echo(f"{len(differences)} differences: the report is not what the log yields")
        return ExitCode.FAILURES
    click.echo(f"verified: {report.verdict.value}, {len(report.rules)} rules, {len(report.scenarios)} scenarios")
    return ExitCode.OK
