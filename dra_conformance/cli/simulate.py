"""`dra-conformance simulate FILE…`: simulates the scheduling of pending claims and pods, from the output of kubectl.

The reference scheduler works on the objects of the files, in memory. The allocation checker confirms each allocation,
and finds the obstacle for claims that do not fit. The command contacts no cluster and writes no file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from dra_conformance.cli import dump_files
from dra_conformance.cli.simulation import Outcome, Simulation, completed, one_more, pending, restricted
from dra_conformance.cli.terminal import say
from dra_conformance.core.errors import ExitCode


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--pod", "pods", multiple=True, metavar="[NS/]NAME", help="Schedule only this pod. May be repeated.")
@click.option(
    "--claim", "claims", multiple=True, metavar="[NS/]NAME", help="Allocate only this claim. May be repeated."
)
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Use only this node. May be repeated.")
@click.option(
    "--add-node-like", "like", metavar="NODE", help="If something does not fit, retry with one more node like this one."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
def command(
    files: tuple[str, ...],
    pods: tuple[str, ...],
    claims: tuple[str, ...],
    nodes: tuple[str, ...],
    like: str | None,
    form: str,
) -> int:
    """Check whether pending claims and pods fit a cluster, and explain why not.

    FILE is YAML or JSON (the output of kubectl, or manifests) with nodes, ResourceSlices, DeviceClasses, claims,
    templates and pods. The simulation schedules every unbound pod in the order of the files, each with the devices
    that earlier pods left, and then every unallocated claim that no such pod uses. Exit codes: 0 all fit, 1 some do
    not, 4 the files cannot be used, 5 nothing is pending.

    \b
    Examples:
      dra-conformance simulate cluster.yaml my-pod.yaml
      dra-conformance simulate cluster.yaml --pod team/train-0 --add-node-like gpu-node-7
    """
    dump = dump_files.read(files)
    batch = pending(dump, pods=pods, claims=claims)
    objects = restricted(completed(dump), nodes)
    first = Simulation(objects).run(batch)
    more: list[Outcome] = []
    if like is not None and not all(outcome.fits for outcome in first):
        more = Simulation([*objects, *one_more(objects, like)]).run(batch)
    _write_json(first, more, like) if form == "json" else _write_text(first, more, like)
    if not batch:
        return ExitCode.NOTHING_SELECTED
    return ExitCode.OK if all(outcome.fits for outcome in more or first) else ExitCode.FAILURES


def _write_text(first: Sequence[Outcome], more: Sequence[Outcome], like: str | None) -> None:
    if not first:
        say("nothing is pending: every pod is bound and every claim is allocated")
        return
    for number, outcome in enumerate(first):
        _write_outcome(outcome)
        if more and not outcome.fits:
            _write_outcome(more[number], f"with one more node like {like}: ")
    fitting = sum(outcome.fits for outcome in first)
    summary = f"{fitting} of {len(first)} fit"
    if more:
        summary += f"; {sum(outcome.fits for outcome in more)} with one more node like {like}"
    say(summary)


def _write_outcome(outcome: Outcome, before: str = "") -> None:
    lead = f"  {before}" if before else f"{'fits' if outcome.fits else 'PENDING':<8}{outcome.kind} {outcome.name} "
    if outcome.fits:
        devices = f": {', '.join(outcome.devices)}" if outcome.devices else ""
        say(f"{lead}{'fits ' if before else ''}on {outcome.node}{devices}")
    elif before:
        say(f"{lead}{outcome.reason}")
    else:
        say(f"{lead.rstrip()}\n  {outcome.reason}")


def _write_json(first: Sequence[Outcome], more: Sequence[Outcome], like: str | None) -> None:
    def plain(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
        return [
            {
                "kind": outcome.kind,
                "name": outcome.name,
                "fits": outcome.fits,
                "node": outcome.node,
                "devices": list(outcome.devices),
                "reason": outcome.reason,
            }
            for outcome in outcomes
        ]

    click.echo(json.dumps({"asIs": plain(first), "addNodeLike": like or "", "withOneMore": plain(more)}, indent=2))
