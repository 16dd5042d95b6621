"""`dra-conformance cleanup`: deletes objects that an interrupted run left behind on a cluster."""

from __future__ import annotations

import re

import click

from dra_api.client import ApiError, KubeClient
from dra_api.clock import RealClock
from dra_api.transport import TransportError
from dra_conformance.control_plane import leftovers
from dra_conformance.control_plane.kubeconfig import KubeconfigControlPlane
from dra_conformance.control_plane.own_objects import CLEANER
from dra_conformance.core.errors import ExitCode, TargetUnreachable, UsageError
from dra_conformance.core.events.calls import Calls, CallsTransport
from dra_conformance.rbac import missing


@click.command(epilog="Exit codes: 0 no object remains, 13 some do, 10 the cluster cannot be reached.")
@click.option(
    "--run-id",
    metavar="ID",
    default=None,
    help="Delete the objects of this run. The first line of the run's output and its report contain the id.",
)
@click.option("--all", "every", is_flag=True, help="Delete the objects of all runs, including those in progress.")
@click.option(
    "--kubeconfig", metavar="FILE", default="", help="Use this cluster. [default: KUBECONFIG, then ~/.kube/config]"
)
@click.option("--dry-run", is_flag=True, help="List the objects without deleting them.")
@click.option(
    "--patience", type=click.FloatRange(0), default=60.0, show_default=True, metavar="S", help="Wait up to S seconds."
)
def command(run_id: str | None, every: bool, kubeconfig: str, dry_run: bool, patience: float) -> int:
    """Delete objects left behind by an interrupted run.

    Deletes only the objects with the label dra-conformance/run=ID, everything in namespaces that the run created, and
    the ResourceSlices of nodes that the run created. Without --run-id and --all, the command only lists the objects of
    all runs.

    \b
    Examples:
      dra-conformance cleanup                         # list the objects of all runs
      dra-conformance cleanup --run-id f75a9eff --dry-run
      dra-conformance cleanup --run-id f75a9eff --kubeconfig ./config
    """
    if run_id is not None and every:
        raise UsageError("--run-id and --all exclude each other", hint="Remove one of them.")
    if run_id is not None and not re.fullmatch(r"[0-9a-f]{8}", run_id):
        raise UsageError(f"--run-id {run_id!r}: must be eight hexadecimal digits", hint="For example f75a9eff.")
    plane = KubeconfigControlPlane(kubeconfig)
    plane.start()
    calls = Calls()
    try:
        client = KubeClient(CallsTransport(plane.transport(), calls), user_agent=CLEANER)
        return _clean(client, run_id or "", look=dry_run or not (run_id or every), patience=patience)
    except (ApiError, TransportError) as error:
        raise TargetUnreachable(f"the cleanup failed: {error}", hint="It can be repeated.") from None
    finally:
        plane.stop()
        if denied := calls.take_denied():
            click.echo(missing.message(denied), err=True)


def _clean(client: KubeClient, run_id: str, *, look: bool, patience: float) -> int:
    found = leftovers.find(client, run_id)
    for each in found.leftovers:
        click.echo(f"{each.run_id}  {each.created or '-':<20}  {each}")
    for kind in found.unseen:
        click.echo(f"not checked: {kind} (this user is not allowed to list them)", err=True)
    if not found.leftovers:
        click.echo("no objects found" + (f" of run {run_id}" if run_id else ""))
        return ExitCode.LEFTOVERS if found.unseen else ExitCode.OK
    runs = sorted({each.run_id for each in found.leftovers})
    if look:
        click.echo(f"{len(found.leftovers)} objects of {len(runs)} runs; none deleted")
        click.echo(f"Run `dra-conformance cleanup --run-id {runs[0]}` to delete those of {runs[0]}.")
        return ExitCode.LEFTOVERS
    remaining = leftovers.remove(client, found, clock=RealClock(), patience=patience)
    for each in remaining:
        click.echo(f"remaining: {each}", err=True)
    click.echo(f"deleted {len(found.leftovers) - len(remaining)} of {len(found.leftovers)} objects")
    return ExitCode.LEFTOVERS if remaining or found.unseen else ExitCode.OK
