"""`dra-conformance simulate FILE…`: would these claims and pods fit on these nodes, or on one more like one of them?

The reference scheduler decides on the objects of the files, in memory; the judge confirms what it allocates, and says
what stands in the way of what does not fit. Nothing is written, and no cluster is asked.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from dra_api.objects import Obj, key_of, name_of, namespace_of, uid_of
from dra_conformance.core.errors import ExitCode, SuiteError, UsageError

if TYPE_CHECKING:
    from dra_conformance.oracle import Cluster
    from dra_conformance.oracle.dumps import Dump
    from dra_conformance.oracle.schema import Claim

_SUFFIX = "-simulated"
_ENDED = ("Succeeded", "Failed")
_BUDGET = 20_000


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--pod", "pods", multiple=True, metavar="[NS/]NAME", help="Only this pod; may be given again.")
@click.option("--claim", "claims", multiple=True, metavar="[NS/]NAME", help="Only this claim; may be given again.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Only on this node; may be given again.")
@click.option("--add-node-like", "like", metavar="NODE", help="And on one more node, of the shape of this one.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to write the outcome.")
def command(
    files: tuple[str, ...],
    pods: tuple[str, ...],
    claims: tuple[str, ...],
    nodes: tuple[str, ...],
    like: str | None,
    form: str,
) -> int:
    """Tell whether claims and pods would fit, and if not, what stands in the way.

    FILE is YAML or JSON as kubectl writes it, or as a user writes manifests: nodes, slices, classes, claims, templates,
    pods. Every pod that is not bound is tried, one after the other, each with what those before it took; then every
    unallocated claim that no such pod uses. Exit code 0: all fit; 1: some do not; 4: the files cannot be used; 5:
    nothing waits.

    \b
    Examples:
      dra-conformance simulate cluster.yaml my-pod.yaml
      dra-conformance simulate cluster.yaml --pod team/train-0 --add-node-like gpu-node-7
    """
    from dra_conformance.oracle import dumps

    dump = dumps.read(files)
    batch = _batch(dump, pods=pods, claims=claims)
    objects = _restricted(_completed(dump), nodes)
    first = _Simulation(objects).run(batch)
    more: list[Outcome] = []
    if like is not None and not all(outcome.fits for outcome in first):
        more = _Simulation([*objects, *one_more(objects, like)]).run(batch)
    _write_json(first, more, like) if form == "json" else _write_text(first, more, like)
    if not batch:
        return ExitCode.NOTHING_SELECTED
    return ExitCode.OK if all(outcome.fits for outcome in more or first) else ExitCode.FAILURES


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one pod or claim: the node and devices, or why there are none."""

    kind: str
    name: str
    node: str = ""
    devices: tuple[str, ...] = ()
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Whether a place was found."""
        return bool(self.node)


# -- what is asked ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to place: a pod, or a claim alone (in a pod made up for it)."""

    kind: str
    name: str
    pod: Obj


def _batch(dump: Dump, *, pods: Sequence[str], claims: Sequence[str]) -> list[Wanted]:
    """What to place, in the order of the files. Raises UsageError for names that are not there, or placed already."""
    waiting = [pod for pod in map(_identified, dump.of_kind("Pod")) if _waits(pod)]
    in_files = [_identified(obj) for obj in dump.of_kind("ResourceClaim")]
    alone = [claim for claim in in_files if not (claim.get("status") or {}).get("allocation")]
    for option, names, every, ready, state in (
        ("--pod", pods, dump.of_kind("Pod"), waiting, "bound already, or has ended"),
        ("--claim", claims, in_files, alone, "allocated already"),
    ):
        for name in names:
            if not _called(every, name):
                raise UsageError(f"{option} {name}: the files hold no such object")
            if not _called(ready, name):
                raise UsageError(f"{option} {name}: it is {state}")
    if pods or claims:
        waiting = [pod for pod in waiting if any(_called([pod], name) for name in pods)]
        alone = [claim for claim in alone if any(_called([claim], name) for name in claims)]
    else:
        used = {
            (namespace_of(pod), str(entry.get("resourceClaimName")))
            for pod in waiting
            for entry in [*_of_spec(pod, "resourceClaims"), *_recorded(pod)]
        }
        alone = [claim for claim in alone if key_of(claim) not in used]
    batch = [Wanted("pod", "/".join(key_of(pod)), _with_generated(pod)) for pod in waiting]
    return [*batch, *(Wanted("claim", "/".join(key_of(claim)), _pod_for(claim)) for claim in alone)]


def _waits(pod: Obj) -> bool:
    return not _spec(pod).get("nodeName") and (pod.get("status") or {}).get("phase") not in _ENDED


def _called(objects: Iterable[Obj], name: str) -> bool:
    return any(name in (name_of(obj), "/".join(key_of(_identified(obj)))) for obj in objects)


def _spec(obj: Obj) -> Obj:
    found: Obj = obj.get("spec") or {}
    return found


def _of_spec(pod: Obj, field_name: str) -> list[Obj]:
    return list(_spec(pod).get(field_name) or ())


def _recorded(pod: Obj) -> list[Obj]:
    return list((pod.get("status") or {}).get("resourceClaimStatuses") or ())


def _identified(obj: Obj) -> Obj:
    """A namespaced object with the namespace and uid that a server would have given it."""
    metadata = obj.get("metadata") or {}
    namespace = metadata.get("namespace") or "default"
    uid = metadata.get("uid") or f"{obj.get('kind')}/{namespace}/{metadata.get('name')}"
    return {**obj, "metadata": {**metadata, "namespace": namespace, "uid": uid}}


def _with_generated(pod: Obj) -> Obj:
    """A pod whose template claims are recorded in its status, as the claim controller would do."""
    known = {entry.get("name") for entry in _recorded(pod)}
    made = [
        {"name": entry["name"], "resourceClaimName": _generated_name(pod, entry)}
        for entry in _of_spec(pod, "resourceClaims")
        if entry.get("resourceClaimTemplateName") and entry["name"] not in known
    ]
    status = {**(pod.get("status") or {}), "resourceClaimStatuses": [*_recorded(pod), *made]}
    return {**pod, "status": status}


def _generated_name(pod: Obj, entry: Obj) -> str:
    return f"{name_of(pod)}-{entry['name']}{_SUFFIX}"


def _pod_for(claim: Obj) -> Obj:
    """A pod that wants nothing but this claim."""
    name = f"{name_of(claim)}{_SUFFIX}"
    return _identified(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace_of(claim)},
            "spec": {"resourceClaims": [{"name": "claim", "resourceClaimName": name_of(claim)}]},
        }
    )


# -- the cluster -----------------------------------------------------------------------------------------------------


def _completed(dump: Dump) -> list[Obj]:
    """The objects of the files, with the claims that pods' templates stand for."""
    templates = {key_of(_identified(obj)): obj for obj in dump.of_kind("ResourceClaimTemplate")}
    objects = [
        _identified(found.obj) if found.obj.get("kind") in ("Pod", "ResourceClaim") else found.obj
        for found in dump.objects
    ]
    for pod in [obj for obj in objects if obj.get("kind") == "Pod" and _waits(obj)]:
        known = {entry.get("name") for entry in _recorded(pod)}
        for entry in _of_spec(pod, "resourceClaims"):
            template = entry.get("resourceClaimTemplateName")
            if not template or entry["name"] in known:
                continue
            found = templates.get((namespace_of(pod), str(template)))
            if found is None:
                raise UsageError(
                    f"pod {'/'.join(key_of(pod))} uses the ResourceClaimTemplate {template}, which the files lack"
                )
            objects.append(_claim_from(found, pod, _generated_name(pod, entry)))
    return objects


def _claim_from(template: Obj, pod: Obj, name: str) -> Obj:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid_of(pod), "controller": True}
    metadata = {"name": name, "namespace": namespace_of(pod), "ownerReferences": [owner]}
    return _identified(
        {
            "apiVersion": template.get("apiVersion"),
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": copy.deepcopy(_spec(template).get("spec") or {}),
        }
    )


def _restricted(objects: list[Obj], names: Sequence[str]) -> list[Obj]:
    """The objects without the nodes that were not named."""
    there = {name_of(obj) for obj in objects if obj.get("kind") == "Node"}
    if not there:
        raise UsageError("the files hold no Node", hint="Add `kubectl get nodes -o yaml`.")
    for name in names:
        if name not in there:
            raise UsageError(f"--node {name}: the files hold no such Node; they hold {', '.join(sorted(there))}")
    return [obj for obj in objects if not names or obj.get("kind") != "Node" or name_of(obj) in names]


def one_more(objects: Sequence[Obj], like: str) -> list[Obj]:
    """One more node of the shape of `like`, with devices like its own, healthy and unused.

    Slices of that node alone are copied as pools of the new one; network devices come to it by their own selectors,
    through the labels. Taints of devices, and those that the node's state put on it, are not copied. Raises UsageError
    when there is no such node.
    """
    node = next((obj for obj in objects if obj.get("kind") == "Node" and name_of(obj) == like), None)
    if node is None:
        raise UsageError(f"--add-node-like {like}: the files hold no such Node")
    name = f"{like}{_SUFFIX}"
    made = copy.deepcopy(node)
    labels = {**(made["metadata"].get("labels") or {}), "kubernetes.io/hostname": name}
    made["metadata"] = {"name": name, "labels": labels}
    spec = made.get("spec") or {}
    kept = [taint for taint in spec.get("taints") or () if not str(taint.get("key")).startswith("node.kubernetes.io/")]
    made["spec"] = {**{key: value for key, value in spec.items() if key != "unschedulable"}, "taints": kept}
    return [made, *(_copied(obj, name) for obj in objects if _is_slice_of(obj, like))]


def _is_slice_of(obj: Obj, node: str) -> bool:
    return obj.get("kind") == "ResourceSlice" and _spec(obj).get("nodeName") == node


def _copied(piece: Obj, node: str) -> Obj:
    made = copy.deepcopy(piece)
    made["metadata"] = {"name": f"{name_of(piece)}{_SUFFIX}"}
    made["spec"]["nodeName"] = node
    made["spec"]["pool"]["name"] = f"{made['spec']['pool']['name']}{_SUFFIX}"
    for device in made["spec"].get("devices") or ():
        for body in (device, device.get("basic") or {}):
            body.pop("taints", None)
    return made


# -- the simulation --------------------------------------------------------------------------------------------------


@dataclass
class _Simulation:
    """One cluster, in which each thing placed takes its devices from those that come after it."""

    objects: list[Obj]
    cluster: Cluster = field(init=False)

    def __post_init__(self) -> None:
        from dra_api import versions
        from dra_api.informer import Change
        from dra_conformance.oracle import Cluster
        from reference_impl.scheduler.allocator.model import Features
        from reference_impl.scheduler.allocator.search import MAX_STEPS
        from reference_impl.scheduler.cluster_view import ClusterView
        from reference_impl.scheduler.cycle import Cycle

        self.view = ClusterView(features=Features(), seed=None, listener=lambda *_: None)
        self.cycle = Cycle(self.view, features=Features(), max_steps=MAX_STEPS)
        takers = {
            "Node": self.view.on_node,
            "ResourceSlice": self.view.on_slice,
            "DeviceClass": self.view.on_class,
            "DeviceTaintRule": self.view.on_taint_rule,
            "ResourceClaim": self.view.on_claim,
            "Pod": self.view.on_pod,
        }
        for obj in self.objects:
            if (take := takers.get(str(obj.get("kind")))) is not None:
                take(Change("ADDED", versions.in_v1(obj), None))
        self.cluster = Cluster.of(self.objects)

    def run(self, batch: Sequence[Wanted]) -> list[Outcome]:
        """Place one after the other."""
        return [self._place(wanted) for wanted in batch]

    def _place(self, wanted: Wanted) -> Outcome:
        from reference_impl.scheduler.cycle import Decision

        with self.view.lock:
            decision = self.cycle.decide(wanted.pod)
            if isinstance(decision, Decision):
                self.view.assume(wanted.pod, decision.node, decision.allocations)
        if not isinstance(decision, Decision):
            return Outcome(wanted.kind, wanted.name, reason=self._why(wanted, decision.message))
        devices: list[str] = []
        for entry, allocation in decision.entries:
            devices += [
                f"{result['request']}={'/'.join(result[key] for key in ('driver', 'pool', 'device'))}"
                for result in allocation["devices"]["results"]
            ]
            if key_of(entry.claim) in decision.fresh:
                self._confirm(entry.claim, allocation)
        return Outcome(wanted.kind, wanted.name, decision.node, tuple(devices))

    def _confirm(self, claim: Obj, allocation: Obj) -> None:
        """Let the judge see what the reference allocated: two that share no code agree, or there is no answer."""
        from dra_conformance.oracle import Case, check, read_claim

        allocated = read_claim({**claim, "status": {"allocation": allocation}})
        self.cluster = self.cluster.with_claims([allocated])
        verdict = check(Case(self.cluster, allocated))
        if verdict.violations:
            first = verdict.violations[0]
            raise SuiteError(
                f"claim {allocated.title}: the judge refuses the reference's allocation: {first.rule} {first.message}",
                hint="This is a fault of ours; please report it with the files.",
            )

    def _why(self, wanted: Wanted, message: str) -> str:
        """What stands in the way: of the devices, in the judge's words; of all else, in the scheduler's."""
        from dra_conformance.oracle import could_all_be_allocated
        from dra_conformance.oracle.obstacles import obstacle

        claims = self._unallocated(wanted.pod)
        states = [state for state in self.view.candidates() if not self.cycle.node_refusal(wanted.pod, state)]
        if not claims or not states:
            return message
        reasons: dict[str, list[tuple[str, str]]] = {}
        for state in states:
            name = state.facts.name
            if could_all_be_allocated(self.cluster, claims, node=name, budget=_BUDGET).verdict != "no":
                return message
            found = obstacle(self.cluster, claims, name)
            reasons.setdefault(found.sentence, []).append((name, found.example))
        return "; ".join(_reason(sentence, nodes) for sentence, nodes in reasons.items())

    def _unallocated(self, pod: Obj) -> list[Claim]:
        names = {entry.get("resourceClaimName") for entry in [*_of_spec(pod, "resourceClaims"), *_recorded(pod)]}
        return [
            claim
            for claim in self.cluster.claims
            if claim.metadata.namespace == namespace_of(pod)
            and claim.metadata.name in names
            and claim.status.allocation is None
        ]


# -- words -----------------------------------------------------------------------------------------------------------


def _reason(sentence: str, nodes: Sequence[tuple[str, str]]) -> str:
    names = ", ".join(name for name, _ in nodes[:3])
    where = f"{names} and {len(nodes) - 3} more" if len(nodes) > 3 else names
    example = f" ({nodes[0][1]})" if nodes[0][1] else ""
    return f"{sentence}{example} [{where}]"


def _write_text(first: Sequence[Outcome], more: Sequence[Outcome], like: str | None) -> None:
    if not first:
        click.echo("nothing waits: every pod is bound and every claim allocated")
        return
    for number, outcome in enumerate(first):
        _write_outcome(outcome)
        if more and not outcome.fits:
            _write_outcome(more[number], f"with one more node like {like}: ")
    fitting = sum(outcome.fits for outcome in first)
    summary = f"{fitting} of {len(first)} fit"
    if more:
        summary += f"; {sum(outcome.fits for outcome in more)} with one more node like {like}"
    click.echo(summary)


def _write_outcome(outcome: Outcome, before: str = "") -> None:
    lead = f"  {before}" if before else f"{'fits' if outcome.fits else 'PENDING':<8}{outcome.kind} {outcome.name} "
    if outcome.fits:
        devices = f": {', '.join(outcome.devices)}" if outcome.devices else ""
        click.echo(f"{lead}{'fits ' if before else ''}on {outcome.node}{devices}")
    elif before:
        click.echo(f"{lead}{outcome.reason}")
    else:
        click.echo(f"{lead.rstrip()}\n  {outcome.reason}")


def _write_json(first: Sequence[Outcome], more: Sequence[Outcome], like: str | None) -> None:
    import json

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
