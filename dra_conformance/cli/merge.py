"""`dra-conformance merge`: writes one report from those of all shards of a run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dra_conformance.cli.terminal import width_of_terminal
from dra_conformance.core.errors import cannot_write
from dra_conformance.core.folder_lock import lock
from dra_conformance.report import files, signature
from dra_conformance.report.merge import merge, write
from dra_conformance.report.terminal import render


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("dra-report"),
    show_default=True,
    help="Write the report to this directory.",
)
@click.option("--partial", is_flag=True, help="Accept missing shards; the verdict is at most partial.")
@click.option(
    "--sign-key", metavar="FILE", type=click.Path(path_type=Path), help="Sign the merged report with this SSH key."
)
def command(folders: tuple[Path, ...], out: Path, partial: bool, sign_key: Path | None) -> int:
    """Merge the reports of all shards of a run (`run --shard I/N`) into one.

    Each DIR is the report directory of one shard. The command verifies each of them, and refuses shards of different
    versions, options or targets, a shard that is given twice, and missing shards. The merged report has the verdict
    that one run of all scenarios would have. Its directory keeps the event logs of the shards, and `verify` checks each
    of them. Exit codes are those of `run`; 4 if the reports cannot be merged.

    \b
    Examples:
      dra-conformance merge shard-1 shard-2 shard-3 --out dra-report
      dra-conformance merge reports/* --partial
    """
    if sign_key is not None:
        signature.check_key(sign_key.expanduser())
    logs, report = merge(folders, partial=partial)
    try:
        out.mkdir(parents=True, exist_ok=True)
        held = lock(out)
    except OSError as error:
        raise cannot_write(error, out) from None
    try:
        write(logs, report, out)
        if sign_key is not None:
            files.write_signature(report, out, sign_key.expanduser())
    finally:
        os.close(held)
    click.echo(render(report, folder=out, width=width_of_terminal()), nl=False)
    return report.exit_code
