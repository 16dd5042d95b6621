"""`dra-conformance simulate FILE…`: simulates the scheduling of pending claims and pods, from the output of kubectl.

The reference scheduler works on the objects of the files, in memory. The allocation checker confirms each allocation,
and finds the obstacle for claims that do not fit. The command contacts no cluster and writes no file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from dra_conformance.cli import dump_files
from dra_conformance.cli.node_groups import groups_of, one_more
from dra_conformance.cli.simulation import Outcome, Simulation, completed, pending, restricted
from dra_conformance.cli.terminal import say
from dra_conformance.core.errors import ExitCode, UsageError


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
@click.option(
    "--node-group",
    "groups",
    multiple=True,
    metavar="FILE",
    help="If something does not fit, retry with new nodes of this group, which may have no node yet. FILE is its"
    " template: the Node, its ResourceSlices, and the pods of each node. May be repeated.",
)
@click.option("--needs", is_flag=True, help="Print what a new node must publish for whatever does not fit.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
def command(
    files: tuple[str, ...],
    pods: tuple[str, ...],
    claims: tuple[str, ...],
    nodes: tuple[str, ...],
    like: str | None,
    groups: tuple[str, ...],
    needs: bool,
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
      dra-conformance simulate cluster.yaml --node-group large-gpu.yaml
    """
    if like is not None and groups:
        raise UsageError("--add-node-like and --node-group cannot be used together")
    dump = dump_files.read(files)
    templates = groups_of(groups, dump_files.read)
    batch = pending(dump, pods=pods, claims=claims)
    objects = restricted(completed(dump), nodes, empty=bool(templates))
    first = Simulation(objects).run(batch)
    more: list[Outcome] = []
    if not all(outcome.fits for outcome in first):
        if like is not None:
            more = Simulation([*objects, *one_more(objects, like)]).run(batch)
        elif templates:
            more = Simulation(objects).run_with(batch, templates)
    if form == "json":
        _write_json(first, more, like, [template.name for template in templates])
    else:
        _write_text(first, more, like, needs=needs)
    if not batch:
        return ExitCode.NOTHING_SELECTED
    return ExitCode.OK if all(outcome.fits for outcome in more or first) else ExitCode.FAILURES


def _write_text(first: Sequence[Outcome], more: Sequence[Outcome], like: str | None, *, needs: bool) -> None:
    if not first:
        say("nothing is pending: every pod is bound and every claim is allocated")
        return
    for number, outcome in enumerate(first):
        _write_outcome(outcome)
        last = more[number] if more else outcome
        if more and not outcome.fits:
            _write_with_more(last, like)
        if not last.fits and (needs or last.reasons):
            for sentence in last.needed:
                say(f"  a new node must publish: {sentence}")
    fitting = sum(outcome.fits for outcome in first)
    summary = f"{fitting} of {len(first)} fit"
    if more:
        with_more = f"one more node like {like}" if like is not None else _new_nodes(more)
        summary += f"; {sum(outcome.fits for outcome in more)} with {with_more}"
    say(summary)


def _sizes(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Return the number of new nodes of each group."""
    return dict(Counter(group for group, _ in {(outcome.group, outcome.node) for outcome in outcomes if outcome.group}))


def _new_nodes(outcomes: Sequence[Outcome]) -> str:
    sizes = sorted(_sizes(outcomes).items())
    return ", ".join(f"{size} new of {group}" for group, size in sizes) or "no new node"


def _write_outcome(outcome: Outcome) -> None:
    if outcome.fits:
        say(f"fits    {outcome.kind} {outcome.name} on {_where(outcome)}")
    else:
        say(f"PENDING {outcome.kind} {outcome.name}\n  {outcome.reason}")


def _write_with_more(outcome: Outcome, like: str | None) -> None:
    if like is not None:
        say(f"  with one more node like {like}: {f'fits on {_where(outcome)}' if outcome.fits else outcome.reason}")
    elif outcome.fits:
        say(f"  with new nodes: fits on {_where(outcome)}")
    for group, reason in outcome.reasons:
        say(f"  with a new node of {group}: {reason}")


def _where(outcome: Outcome) -> str:
    return f"{outcome.node}: {', '.join(outcome.devices)}" if outcome.devices else outcome.node


def _write_json(first: Sequence[Outcome], more: Sequence[Outcome], like: str | None, groups: Sequence[str]) -> None:
    def plain(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
        return [
            {
                "kind": outcome.kind,
                "name": outcome.name,
                "fits": outcome.fits,
                "node": outcome.node,
                "devices": list(outcome.devices),
                "reason": outcome.reason,
                "nodeGroup": outcome.group,
                "nodeGroupReasons": dict(outcome.reasons),
                "newNodeMustPublish": list(outcome.needed),
            }
            for outcome in outcomes
        ]

    answer: dict[str, Any] = {"asIs": plain(first), "addNodeLike": like or ""}
    if groups:
        answer["withNodeGroups"] = plain(more)
        answer["newNodes"] = {group: _sizes(more).get(group, 0) for group in groups}
    else:
        answer["withOneMore"] = plain(more)
    click.echo(json.dumps(answer, indent=2))
