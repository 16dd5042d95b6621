"""`dra-conformance report`: prints the report of a finished run, or rewrites its files from the event log."""

from __future__ import annotations

from pathlib import Path

import click
import orjson

from dra_conformance.cli.terminal import width_of_terminal
from dra_conformance.core import documents
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.report import files, junit, merged
from dra_conformance.report.html import render as render_html
from dra_conformance.report.model import to_plain
from dra_conformance.report.terminal import render


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path("dra-report"))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "yaml", "json", "junit", "html", "files"]),
    default="text",
    help="Select the output format; `files` rewrites all report files in DIR.",
)
@click.option(
    "--durations",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="List the N slowest scenarios, rules and steps (format text).",
)
def command(folder: Path, form: str, durations: int) -> int:
    """Print or rewrite the report of a finished run.

    DIR is the report directory of the run (default dra-report).

    \b
    Examples:
      dra-conformance report
      dra-conformance report dra-report --format junit > junit.xml
    """
    if merged.is_merged(folder):
        report = merged.from_folder(folder)
    elif (folder / files.EVENTS).is_file():
        report = files.from_folder(folder)
    else:
        raise UsageError(f"{folder} is not a report directory: {files.EVENTS} is missing")
    with files.events_of_a_run(folder):
        match form:
            case "text":
                click.echo(render(report, folder=folder, durations=durations, width=width_of_terminal()), nl=False)
            case "yaml":
                click.echo(documents.dump(to_plain(report)), nl=False)
            case "json":
                click.echo(orjson.dumps(to_plain(report), option=orjson.OPT_INDENT_2).decode())
            case "junit":
                click.echo(junit.render(report), nl=False)
            case "html":
                click.echo(render_html(report), nl=False)
            case _:
                files.write_all(report, folder)
                click.echo(f"wrote {', '.join(files.NAMES)} in {folder}")
    return ExitCode.OK
