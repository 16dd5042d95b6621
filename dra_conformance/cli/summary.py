"""`dra-conformance summary REPORT`: prints a Markdown summary of a report."""

from __future__ import annotations

from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode
from dra_conformance.report import stored
from dra_conformance.report.markdown import summary


@click.command()
@click.argument("report", metavar="[REPORT]", type=click.Path(path_type=Path), default=Path("dra-report"))
def command(report: Path) -> int:
    """Print a Markdown summary of a report, for a pull request or a job.

    REPORT is a report.json, a report.yaml, or the report directory of a run (default dra-report). The summary has the
    verdict, the profiles, and for each failed rule the expected and the observed value and the command that repeats
    it. It is shorter than the limit of a comment on GitHub, and text of the target has no effect on its layout.

    \b
    Example:
      dra-conformance summary dra-report >> "$GITHUB_STEP_SUMMARY"
    """
    click.echo(summary(stored.read(report)), nl=False)
    return ExitCode.OK
