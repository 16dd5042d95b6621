"""`dra-conformance check FILE…`: checks the allocated claims of a cluster, from the output of kubectl."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import Any

import click

from dra_conformance.cli import dump_files
from dra_conformance.cli.kueue import PodQuota, quotas, read_mappings
from dra_conformance.cli.terminal import say
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.rules.window import Version
from dra_conformance.oracle import (
    Answer,
    Case,
    DoubleOffer,
    DoubleUse,
    Settings,
    Verdict,
    Violation,
    check,
    could_be_allocated,
    double_offers,
    double_uses,
)
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.dumps import KUBECTL, Dump


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--claim", "claims", multiple=True, metavar="[NS/]NAME", help="Check only this claim. May be repeated.")
@click.option(
    "--kubernetes",
    metavar="X.Y",
    help="Require the format that the scheduler of this release writes. [default: accept the format of any release]",
)
@click.option(
    "--gate-off",
    "gates_off",
    multiple=True,
    metavar="GATE",
    help="Treat this feature gate as disabled in the cluster. May be repeated.",
)
@click.option("--pending", is_flag=True, help="Also check whether a valid allocation exists for unallocated claims.")
@click.option(
    "--budget",
    default=200_000,
    show_default=True,
    help="Limit the number of states that --pending tries for one claim.",
)
@click.option(
    "--kueue",
    metavar="FILE",
    help="Also print the quota that Kueue charges for each pod by the deviceClassMappings of this Kueue Configuration.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
@click.option("--quiet", is_flag=True, help="Print violations only, no notes.")
def command(
    files: tuple[str, ...],
    claims: tuple[str, ...],
    kubernetes: str | None,
    gates_off: tuple[str, ...],
    pending: bool,
    budget: int,
    kueue: str | None,
    form: str,
    quiet: bool,
) -> int:
    """Check the allocated claims of a cluster, offline.

    FILE is the YAML or JSON output of kubectl (lists, several documents), a directory of such files, or - for standard
    input. The command also reports devices that a device plugin and a claim use at the same time. Exit codes: 0 no rule
    is broken, 1 a rule is broken or a device is used twice, 4 the files cannot be used, 5 no claim to check.

    \b
    Example:
      kubectl get resourceslices,deviceclasses,resourceclaims,nodes,pods -A -o yaml --show-managed-fields > all.yaml
      dra-conformance check all.yaml
    """
    dump = dump_files.read(files)
    settings = _settings(kubernetes, gates_off)
    chosen = _chosen(dump, claims)
    # Reservations of a claim without an allocation are checked too.
    allocated = [claim for claim in chosen if claim.status.allocation is not None or claim.status.reserved_for]
    waiting = [claim for claim in chosen if claim.status.allocation is None] if pending else []
    _require_whole(dump, [*allocated, *waiting])
    cases = [Case(dump.cluster, claim, settings) for claim in allocated]
    checked = [(case, check(case)) for case in cases]
    answers = [
        (case, could_be_allocated(case, budget=budget))
        for case in (Case(dump.cluster, claim, settings) for claim in waiting)
    ]
    offers, uses = double_offers(dump.cluster), double_uses(dump.cluster)
    pod_quotas = list(quotas(dump, read_mappings(kueue))) if kueue else []
    if form == "json":
        _write_json(checked, answers, offers, uses, pod_quotas)
    else:
        _write_double([] if quiet else offers, uses)
        _write_text(checked, answers, len(chosen), quiet=quiet)
        for pod_quota in pod_quotas:
            say(f"QUOTA   {pod_quota}")
    if uses:
        return ExitCode.FAILURES
    if not checked and not answers and not pod_quotas:
        return ExitCode.NOTHING_SELECTED
    return ExitCode.OK if all(verdict.valid for _, verdict in checked) else ExitCode.FAILURES


def _settings(kubernetes: str | None, gates_off: tuple[str, ...]) -> Settings:
    release = None
    if kubernetes:
        try:
            release = Version.parse(kubernetes).minor
        except ValueError as error:
            raise UsageError(f"--kubernetes: {error}") from None
    # Not fresh: the objects may have changed between the allocation and the dump.
    return Settings(release=release, gates_off=frozenset(gates_off), fresh=False)


def _chosen(dump: Dump, names: tuple[str, ...]) -> list[Any]:
    """Return the selected claims, in the order of the files. Raises UsageError for a name that no claim has."""
    claims = list(dump.cluster.claims)
    for name in names:
        if not any(_named(claim, name) for claim in claims):
            known = ", ".join(sorted(claim.title for claim in claims)[:10]) or "none"
            raise UsageError(f"--claim {name}: not in the files (claims: {known})")
    return [claim for claim in claims if not names or any(_named(claim, name) for name in names)]


def _named(claim: Any, name: str) -> bool:
    return name in (claim.title, claim.metadata.name)


def _require_whole(dump: Dump, claims: list[Any]) -> None:
    """Raise UsageError for an incomplete cluster: without slices or classes every claim would look invalid."""
    cluster: Cluster = dump.cluster
    if not any(claim.requests_by_name for claim in claims):
        return
    for what, there in (("ResourceSlice", cluster.slices), ("DeviceClass", cluster.classes)):
        if not there:
            raise UsageError(
                f"the files contain no {what}, so no claim can be checked", hint=f"Dump everything: {KUBECTL}"
            )


def _write_double(offers: list[DoubleOffer], uses: list[DoubleUse]) -> None:
    for state, several in (("TWICE", uses), ("note", offers)):
        for one in several:
            say(f"{state:<7} node {one.node}")
            for line in textwrap.wrap(one.message, 105):
                say(f"  {line}")


def _write_text(
    checked: list[tuple[Case, Verdict]], answers: list[tuple[Case, Answer]], found: int, *, quiet: bool
) -> None:
    broken = remarked = 0
    for case, verdict in checked:
        shown = [*verdict.violations, *(() if quiet else verdict.remarks)]
        broken += len(verdict.violations)
        remarked += len(verdict.remarks)
        if shown:
            state = "BROKEN" if verdict.violations else "note"
            say(f"{state:<7} claim {case.claim.title}")
        for violation in shown:
            _write_violation(violation, "note: " if violation in verdict.remarks else "")
    for case, answer in answers:
        say(f"{answer.verdict:<7} claim {case.claim.title} {_pending(answer)}")
    invalid = sum(not verdict.valid for _, verdict in checked)
    if not checked and not answers:
        say(f"none of {found} claims is allocated; --pending checks whether they could be")
        return
    if checked:
        parts = f"{broken} violations in {invalid} claims" if broken else "no rule is broken"
        notes = f", {remarked} remarks" if remarked and not quiet else ""
        say(f"{len(checked)} allocated claims checked: {parts}{notes}")


def _write_violation(violation: Violation, kind: str) -> None:
    text = f"{kind}{violation.message}"
    lines = textwrap.wrap(text, 96) or [""]
    say(f"  {violation.rule}  {lines[0]}")
    for line in lines[1:]:
        say(f"           {line}")
    say(f"           at {violation.path}")


def _pending(answer: Answer) -> str:
    where = f"on node {answer.node}" if answer.node else "on any node"
    devices = ", ".join(f"{pick.request}={'/'.join(pick.device)}" for pick in answer.witness)
    if answer.verdict == "yes":
        return f"could be allocated {where}: {devices}"
    if answer.verdict == "no":
        return f"cannot be allocated: {answer.reason}"
    return f"may or may not be allocated: {answer.reason}"


def _write_json(
    checked: list[tuple[Case, Verdict]],
    answers: list[tuple[Case, Answer]],
    offers: list[DoubleOffer],
    uses: list[DoubleUse],
    pod_quotas: list[PodQuota],
) -> None:
    click.echo(
        json.dumps(
            {
                "checked": [
                    {
                        "namespace": case.claim.metadata.namespace,
                        "name": case.claim.metadata.name,
                        "valid": verdict.valid,
                        "violations": [asdict(violation) for violation in verdict.violations],
                        "remarks": [asdict(remark) for remark in verdict.remarks],
                    }
                    for case, verdict in checked
                ],
                "pending": [
                    {
                        "namespace": case.claim.metadata.namespace,
                        "name": case.claim.metadata.name,
                        **asdict(answer),
                    }
                    for case, answer in answers
                ],
                "double_offers": [asdict(one) for one in offers],
                "double_uses": [asdict(one) for one in uses],
                "quotas": [asdict(one) for one in pod_quotas],
            },
            indent=2,
        )
    )
