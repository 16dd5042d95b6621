"""`dra-conformance badge REPORT`: prints an SVG badge with the verdict."""

from __future__ import annotations

from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.report import badge, stored
from dra_conformance.report.files import write_atomically


@click.command()
@click.argument("report", metavar="[REPORT]", type=click.Path(path_type=Path), default=Path("dra-report"))
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the badge into this file.")
def command(report: Path, out: Path | None) -> int:
    """Print an SVG badge with the verdict of a run.

    REPORT is a report.json, a report.yaml, or the report directory of a run (default dra-report). The badge needs no
    network. A verdict on a simulated control plane is marked as a rehearsal.

    \b
    Example:
      dra-conformance badge dra-report --out badge.svg
    """
    svg = badge.render(stored.read(report))
    if out is None:
        click.echo(svg)
        return ExitCode.OK
    try:
        write_atomically(out, f"{svg}\n".encode())
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}", hint="Use --out for another file.") from None
    return ExitCode.OK
