"""`dra-conformance verify`: checks the event log of a finished run, and its report against the log."""

from __future__ import annotations

from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode, SuiteError, UsageError
from dra_conformance.report import signature
from dra_conformance.report.verify import signed_by, verify


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path("dra-report"))
@click.option(
    "--allowed-signers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Require a signature of a signer in this file (OpenSSH's allowed_signers format).",
)
def command(folder: Path, allowed_signers: Path | None) -> int:
    """Check the event log of a finished run, and recompute its verdict.

    DIR is the report directory of the run (default dra-report). The command checks that the log is complete and
    unchanged, that it belongs to this version of the suite, and that the report follows from it.
    docs/explanation/evidence.md describes what that proves. Exit codes: 0 verified, 1 not verified.

    \b
    Examples:
      dra-conformance verify dra-report
      dra-conformance verify dra-report --allowed-signers signers.txt
    """
    report, differences = verify(folder)
    signer = ""
    if allowed_signers is not None:
        try:
            signer = f"signed by {signed_by(folder, allowed_signers)}"
        except UsageError:
            raise
        except SuiteError as error:
            differences.append(error.message)
    elif (folder / signature.NAME).is_file():
        signer = "signature not checked (--allowed-signers)"
    for difference in differences:
        click.echo(f"differs: {difference}")
    if differences:
        click.echo(f"not verified: {len(differences)} differences")
        return ExitCode.FAILURES
    click.echo(f"verified: {report.verdict.value}, {len(report.rules)} rules, {len(report.scenarios)} scenarios")
    click.echo(signer or "not signed")
    return ExitCode.OK
