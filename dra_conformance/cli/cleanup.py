"""`dra-conformance cleanup`: removes what a killed run left on a cluster, by its run id."""

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


@click.command(epilog="Exit code 13 when something is still there, 10 when the cluster cannot be reached.")
@click.option("--run-id", metavar="ID", default=None, help="The run, as its first line and its report name it.")
@click.option("--all", "every", is_flag=True, help="What is left of any run, running ones included.")
@click.option("--kubeconfig", metavar="FILE", default="", help="The cluster (default KUBECONFIG, then ~/.kube/config).")
@click.option("--dry-run", is_flag=True, help="Only show what is there.")
@click.option("--patience", type=click.FloatRange(0), default=60.0, metavar="S", help="Seconds to wait (default 60).")
def command(run_id: str | None, every: bool, kubeconfig: str, dry_run: bool, patience: float) -> int:
    """Remove what a killed run left on a cluster.

    Every object that a run makes there carries the label dra-conformance/run with the run's id. What lies in a
    namespace that a run made goes with it, and so do ResourceSlices of its nodes. Nothing else is touched.
    Without --run-id it shows what is there of every run.

    \b
    Examples:
      dra-conformance cleanup                         what is left, of which run
      dra-conformance cleanup --run-id f75a9eff --dry-run
      dra-conformance cleanup --run-id f75a9eff --kubeconfig ./config
    """
    if run_id is not None and every:
        raise UsageError("--run-id and --all: one of them")
    if run_id is not None and not re.fullmatch(r"[0-9a-f]{8}", run_id):
        raise UsageError(f"--run-id {run_id!r} is no run id", hint="It has eight hexadecimal digits, like f75a9eff.")
    plane = KubeconfigControlPlane(kubeconfig)
    plane.start()
    calls = Calls()
    try:
        client = KubeClient(CallsTransport(plane.transport(), calls), user_agent=CLEANER)
        return _clean(client, run_id or "", look=dry_run or not (run_id or every), patience=patience)
    except (ApiError, TransportError) as error:
        raise TargetUnreachable(f"the cleanup stopped: {error}", hint="It can be started again.") from None
    finally:
        plane.stop()
        if refused := calls.take_refused():
            click.echo(missing.told(refused), err=True)


def _clean(client: KubeClient, run_id: str, *, look: bool, patience: float) -> int:
    found = leftovers.find(client, run_id)
    for each in found.leftovers:
        click.echo(f"{each.run_id}  {each.created or '-':<20}  {each}")
    for kind in found.unseen:
        click.echo(f"not looked at: {kind} (this user may not list them)", err=True)
    if not found.leftovers:
        click.echo("nothing is left" + (f" of run {run_id}" if run_id else ""))
        return ExitCode.LEFTOVERS if found.unseen else ExitCode.OK
    runs = sorted({each.run_id for each in found.leftovers})
    if look:
        click.echo(f"{len(found.leftovers)} objects of {len(runs)} runs; nothing was removed")
        click.echo(f"`dra-conformance cleanup --run-id {runs[0]}` removes those of {runs[0]}.")
        return ExitCode.LEFTOVERS
    remaining = leftovers.remove(client, found, clock=RealClock(), patience=patience)
    for each in remaining:
        click.echo(f"still there: {each}", err=True)
    click.echo(f"removed {len(found.leftovers) - len(remaining)} of {len(found.leftovers)} objects")
    return ExitCode.LEFTOVERS if remaining or found.unseen else ExitCode.OK
