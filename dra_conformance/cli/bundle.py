"""`dra-conformance bundle DIR`: writes the evidence of a run for Kubernetes AI conformance."""

from __future__ import annotations

import re
from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.events.log import parse
from dra_conformance.report import bundle, files, merged
from dra_conformance.report.bundle import tree
from dra_conformance.report.bundle.published_versions import published
from dra_conformance.report.files import write_atomically
from dra_conformance.report.verify import verify

_SHOWN = 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path("dra-report"))
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("dra-conformance"),
    help="Write the bundle into this folder, which is created.",
    show_default=True,
)
def command(folder: Path, out: Path) -> int:
    """Write the evidence of a run for Kubernetes AI conformance.

    DIR is the report directory of a finished run (default dra-report). The run is verified first. The bundle has
    e2e.log (`go test -v`), results.json (`go test -json`), junit.xml (and the same as junit_01.xml) and
    PRODUCT-fragment.yaml. Each of them has the verdict and its limits. If the run is not conformant, judged only a
    part of the rules, or had simulated components, the bundle says that it is not evidence. Exit codes: 0 written,
    1 the run was not verified, 4 usage.

    \b
    Example:
      dra-conformance bundle dra-report --out v1.37/my-product/dra-conformance
    """
    if not _NAME.fullmatch(out.resolve().name):
        raise UsageError(
            f"--out {out}: the name of the folder is part of links",
            hint="Use a name of letters, digits, dots, hyphens and underscores.",
        )
    report, differences = verify(folder)
    for difference in differences[:_SHOWN]:
        click.echo(f"differs: {difference}")
    if differences:
        click.echo(f"not verified: {len(differences)} differences; no bundle was written")
        return ExitCode.FAILURES
    with files.events_of_a_run(folder):
        logs = files.shard_folders(folder) if merged.is_merged(folder) else [folder]
        versions = published(event for log in logs for event in parse(files.read_log(log), name=files.EVENTS))
        made = bundle.render(report, versions, folder=out.resolve().name)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in made.items():
            write_atomically(out / name, content)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}", hint="Use --out for another folder.") from None
    click.echo(f"verdict: {tree.verdict_line(report)}")
    if not tree.is_evidence(report):
        click.echo("This run is no evidence of conformance; every file of the bundle says so.")
    click.echo(f"wrote the bundle in {out}")
    return ExitCode.OK
