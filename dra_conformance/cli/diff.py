"""`dra-conformance diff OLD NEW`: compares two reports."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from dra_conformance.cli.terminal import width
from dra_conformance.core.errors import ExitCode
from dra_conformance.report import stored
from dra_conformance.report.comparison import compare
from dra_conformance.report.comparison_text import render


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="Select the output format; `markdown` is for a comment on a pull request.",
)
def command(old: Path, new: Path, form: str) -> int:
    """Compare two reports.

    OLD and NEW are a report.json, a report.yaml, or the report directory of a run. The command prints new failures,
    fixed rules, rules that are newly or no longer judged, added or removed, and the verdicts of the profiles and of
    the run. It says if the runs differ in suite version, Kubernetes version, target or selection.

    \b
    Exit codes:
      0  no regression
      1  a MUST rule fails that did not fail before, or the verdict of a profile
         or of the run got worse
      4  a report cannot be read

    \b
    Examples:
      dra-conformance diff main/dra-report dra-report
      dra-conformance diff v1.2.json v1.3.json --format markdown >> "$GITHUB_STEP_SUMMARY"
    """
    comparison = compare(stored.read(old), stored.read(new))
    match form:
        case "json":
            click.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode())
        case "markdown":
            # Deferred: imports jinja2, which the other formats do not need.
            from dra_conformance.report.markdown import compared

            click.echo(compared(comparison), nl=False)
        case _:
            click.echo(render(comparison, width=width()), nl=False)
    return ExitCode.FAILURES if comparison.regression else ExitCode.OK
