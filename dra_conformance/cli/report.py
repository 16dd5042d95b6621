"""`dra-conformance report`: look at a finished run, or write its reports again from the event log."""

from __future__ import annotations

from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode, UsageError


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("dra-report"))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "yaml", "json", "junit", "html", "files"]),
    default="text",
    help="What to print; `files` writes all reports into the folder again.",
)
def command(folder: Path, form: str) -> int:
    """Show a finished run (default folder: dra-report).

    \b
    Examples:
      dra-conformance report
      dra-conformance report dra-report --format junit > junit.xml
    """
    from dra_conformance.core import documents
    from dra_conformance.report import files, junit
    from dra_conformance.report.html import render as render_html
    from dra_conformance.report.model import to_plain
    from dra_conformance.report.terminal import render

    if not (folder / files.EVENTS).is_file():
        raise UsageError(f"{folder} holds no run: {files.EVENTS} is missing")
    report = files.from_folder(folder)
    match form:
        case "text":
            click.echo(render(report, folder=folder), nl=False)
        case "yaml":
            click.echo(documents.dump(to_plain(report)), nl=False)
        case "json":
            import orjson

            click.echo(orjson.dumps(to_plain(report), option=orjson.OPT_INDENT_2).decode())
        case "junit":
            click.echo(junit.render(report), nl=False)
        case "html":
            click.echo(render_html(report), nl=False)
        case _:
            files.write_all(report, folder)
            click.echo(f"wrote {', '.join(files.NAMES)} in {folder}")
    return ExitCode.OK
