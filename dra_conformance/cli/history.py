"""`dra-conformance history FOLDER`: lists the reports below a folder."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from dra_conformance.cli.terminal import width
from dra_conformance.core.errors import ExitCode
from dra_conformance.report import history


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
def command(folder: Path, form: str) -> int:
    """List the reports below a folder, oldest first.

    The command reads each report.json, or report.yaml if there is no report.json beside it. It prints the time, the
    verdict, the numbers of rules that passed, failed and were not judged, and the change since the previous report of
    the same target (the same components, Kubernetes release and control plane). Exit codes: 0 all reports were read,
    4 a report could not be read; the others are listed.

    \b
    Example:
      dra-conformance history runs/
    """
    entries, errors = history.read(history.find(folder))
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({"reports": entries}), indent=2).decode())
    elif entries:
        for line in history.render(entries, width=width()):
            click.echo(line)
    for error in errors:
        click.echo(f"error: {error.message}", err=True)
    if errors:
        click.echo(f"  {errors[-1].hint}", err=True)
    return ExitCode.USAGE if errors else ExitCode.OK
