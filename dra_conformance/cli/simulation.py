"""The simulation behind `dra-conformance simulate`: the reference scheduler on objects in memory.

The allocation checker confirms each allocation of the reference scheduler, and finds the obstacle for pods and claims
that do not fit.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dra_api.allocations import results_of_allocation
from dra_api.informer import Change, ChangeType
from dra_api.objects import Obj, key_of, name_of, namespace_of, uid_of
from dra_conformance.cli.node_groups import SUFFIX, NodeGroup, identified
from dra_conformance.core.errors import SuiteError, UsageError
from dra_conformance.oracle import SMALL_BUDGET, Case, Cluster, check, could_all_be_allocated, read_claim
from dra_conformance.oracle.dumps import Dump
from dra_conformance.oracle.needed_devices import needed
from dra_conformance.oracle.obstacles import obstacle
from dra_conformance.oracle.schema import Claim
from reference_impl.scheduler import extended_resources
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.allocator.search import MAX_STEPS
from reference_impl.scheduler.cluster_view import ClusterView
from reference_impl.scheduler.cycle import Cycle, Decision

_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one pod or claim: its node and devices, or the reason why it does not fit.

    `group` is the node group of a new node. `reasons` are those of the node groups, by name, and `needed` is what a new
    node must publish, one sentence for each request.
    """

    kind: str
    name: str
    node: str = ""
    devices: tuple[str, ...] = ()
    reason: str = ""
    group: str = ""
    reasons: tuple[tuple[str, str], ...] = ()
    needed: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the pod or claim fits."""
        return bool(self.node)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pending pod, or a pending claim (in a pod that the simulation makes for it)."""

    kind: str
    name: str
    pod: Obj


def pending(dump: Dump, *, pods: Sequence[str], claims: Sequence[str]) -> list[Wanted]:
    """Return the pods and claims to schedule, in the order of the files.

    Raises UsageError for a name that is not in the files or is not pending.
    """
    waiting = [pod for pod in map(identified, dump.of_kind("Pod")) if _waits(pod)]
    in_files = [identified(obj) for obj in dump.of_kind("ResourceClaim")]
    alone = [claim for claim in in_files if not (claim.get("status") or {}).get("allocation")]
    for option, names, every, ready, state in (
        ("--pod", pods, dump.of_kind("Pod"), waiting, "already bound or has ended"),
        ("--claim", claims, in_files, alone, "already allocated"),
    ):
        for name in names:
            if not _called(every, name):
                raise UsageError(f"{option} {name}: not in the files")
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
    return any(name in (name_of(obj), "/".join(key_of(identified(obj)))) for obj in objects)


def _spec(obj: Obj) -> Obj:
    found: Obj = obj.get("spec") or {}
    return found


def _of_spec(pod: Obj, field_name: str) -> list[Obj]:
    return list(_spec(pod).get(field_name) or ())


def _recorded(pod: Obj) -> list[Obj]:
    return list((pod.get("status") or {}).get("resourceClaimStatuses") or ())


def _with_generated(pod: Obj) -> Obj:
    """Return a pod with the claims of its templates in its status, as the claim controller would record them."""
    known = {entry.get("name") for entry in _recorded(pod)}
    made = [
        {"name": entry["name"], "resourceClaimName": generated_name(pod, entry)}
        for entry in _of_spec(pod, "resourceClaims")
        if entry.get("resourceClaimTemplateName") and entry["name"] not in known
    ]
    status = {**(pod.get("status") or {}), "resourceClaimStatuses": [*_recorded(pod), *made]}
    return {**pod, "status": status}


def generated_name(pod: Obj, entry: Obj) -> str:
    """Return the name of the claim that the simulation makes for a template of a pod."""
    return f"{name_of(pod)}-{entry['name']}{SUFFIX}"


def _pod_for(claim: Obj) -> Obj:
    """Return a pod that uses only this claim."""
    name = f"{name_of(claim)}{SUFFIX}"
    return identified(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace_of(claim)},
            "spec": {"resourceClaims": [{"name": "claim", "resourceClaimName": name_of(claim)}]},
        }
    )


def completed(dump: Dump) -> list[Obj]:
    """Return the objects of the files and the claims that the claim controller would create from templates."""
    templates = {key_of(identified(obj)): obj for obj in dump.of_kind("ResourceClaimTemplate")}
    objects = [
        identified(found.obj) if found.obj.get("kind") in ("Pod", "ResourceClaim") else found.obj
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
                    f"pod {'/'.join(key_of(pod))} uses ResourceClaimTemplate {template}, which is not in the files"
                )
            objects.append(_claim_from(found, pod, generated_name(pod, entry)))
    return objects


def _claim_from(template: Obj, pod: Obj, name: str) -> Obj:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid_of(pod), "controller": True}
    metadata = {"name": name, "namespace": namespace_of(pod), "ownerReferences": [owner]}
    return identified(
        {
            "apiVersion": template.get("apiVersion"),
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": copy.deepcopy(_spec(template).get("spec") or {}),
        }
    )


def restricted(objects: list[Obj], names: Sequence[str], *, empty: bool = False) -> list[Obj]:
    """Return the objects without the nodes that the user did not name.

    Raises UsageError if there is no node, unless `empty` allows it: nodes are added then.
    """
    there = {name_of(obj) for obj in objects if obj.get("kind") == "Node"}
    if not there and not empty:
        raise UsageError("the files contain no Node", hint="Add the output of `kubectl get nodes -o yaml`.")
    for name in names:
        if name not in there:
            raise UsageError(f"--node {name}: not in the files (nodes: {', '.join(sorted(there))})")
    return [obj for obj in objects if not names or obj.get("kind") != "Node" or name_of(obj) in names]


@dataclass
class Simulation:
    """A cluster in memory. Each scheduled pod or claim keeps its devices."""

    objects: list[Obj]
    cluster: Cluster = field(init=False)

    def __post_init__(self) -> None:
        self.view = ClusterView(features=Features(), seed=None, listener=lambda *_: None)
        self.cycle = Cycle(self.view, features=Features(), max_steps=MAX_STEPS)
        self._apply("ADDED", self.objects)
        self.cluster = Cluster.of(self.objects)

    def _apply(self, change: ChangeType, objects: Iterable[Obj]) -> None:
        takers = {
            "Node": self.view.on_node,
            "ResourceSlice": self.view.on_slice,
            "DeviceClass": self.view.on_class,
            "DeviceTaintRule": self.view.on_taint_rule,
            "ResourceClaim": self.view.on_claim,
            "Pod": self.view.on_pod,
        }
        for obj in objects:
            if (take := takers.get(str(obj.get("kind")))) is not None:
                take(Change(change, obj, None))

    def run(self, batch: Sequence[Wanted]) -> list[Outcome]:
        """Schedule the pods and claims in order, and return their results."""
        return [self._place(wanted) for wanted in batch]

    def run_with(self, batch: Sequence[Wanted], groups: Sequence[NodeGroup]) -> list[Outcome]:
        """Schedule the pods and claims in order, with new nodes of the groups for those that do not fit.

        The first group with a node that fits gets one more node. A node on which nothing fits is not added.
        """
        found: list[Outcome] = []
        for wanted in batch:
            # Two groups may name their slices alike: no two new nodes have the same number.
            number = len({outcome.node for outcome in found if outcome.group}) + 1
            found.append(self._place_with(wanted, groups, number))
        return found

    def _place_with(self, wanted: Wanted, groups: Sequence[NodeGroup], number: int) -> Outcome:
        placed = self._placed(wanted)
        if isinstance(placed, Outcome):
            return placed
        reasons: list[tuple[str, str]] = []
        for group in groups:
            brought, before = group.new_node(number), self.cluster
            self._apply("ADDED", brought)
            self.cluster = before.with_objects(brought)
            tried = self._placed(wanted)
            if isinstance(tried, Outcome):
                return replace(tried, group=group.name)
            reasons.append((group.name, self._why(wanted, tried, only=group.node_name(number))))
            self._apply("DELETED", reversed(brought))
            self.cluster = before
        return Outcome(wanted.kind, wanted.name, reason=placed, reasons=tuple(reasons), needed=self.needed(wanted.pod))

    def _place(self, wanted: Wanted) -> Outcome:
        placed = self._placed(wanted)
        if isinstance(placed, Outcome):
            return placed
        return Outcome(wanted.kind, wanted.name, reason=self._why(wanted, placed), needed=self.needed(wanted.pod))

    def _placed(self, wanted: Wanted) -> Outcome | str:
        """Schedule a pod or claim. Return the scheduler's message if it does not fit."""
        with self.view.lock:
            decision = self.cycle.decide(wanted.pod)
            if isinstance(decision, Decision):
                self.view.assume(wanted.pod, decision.node, decision.allocations)
        if not isinstance(decision, Decision):
            return decision.message
        devices: list[str] = []
        for entry, allocation in decision.entries:
            devices += [f"{result['request']}={_device(result)}" for result in results_of_allocation(allocation)]
            # Other claims were allocated by the scheduler of the cluster.
            if key_of(entry.claim) in decision.fresh:
                self._confirm(entry.claim, allocation)
        if decision.extended is not None:
            resource_of = {each["requestName"]: each["resourceName"] for each in decision.extended.wanted.mappings}
            devices += [
                f"{resource_of[result['request']]}={_device(result)}"
                for result in results_of_allocation(decision.extended.allocation)
            ]
        return Outcome(wanted.kind, wanted.name, decision.node, tuple(devices))

    def _confirm(self, claim: Obj, allocation: Obj) -> None:
        """Check the reference scheduler's allocation with the allocation checker. Raises SuiteError if it is wrong."""
        allocated = read_claim({**claim, "status": {"allocation": allocation}})
        self.cluster = self.cluster.with_claims([allocated])
        verdict = check(Case(self.cluster, allocated))
        if verdict.violations:
            first = verdict.violations[0]
            raise SuiteError(
                f"claim {allocated.title}: the reference scheduler's allocation is wrong: {first.rule} {first.message}",
                hint="This is a bug of the suite; please report it with the files.",
            )

    def needed(self, pod: Obj) -> tuple[str, ...]:
        """Return what a node must publish for a pod, one sentence for each request of its claims and resources."""
        claims = self.unallocated(pod)
        if resources := self._extended(pod):
            made = extended_resources.wanted(pod, resources, resources).claim(pod)
            made["metadata"]["name"] = f"{name_of(pod)}-extended-resources"
            claims.append(read_claim(made))
        return tuple(needed(self.cluster, claims))

    def _extended(self, pod: Obj) -> dict[str, str]:
        """Return the extended resources of a pod that classes stand for, each with its class."""
        return extended_resources.requested(self.view.pod_needs(pod), self.view.extended.class_of)

    def _why(self, wanted: Wanted, message: str, *, only: str = "") -> str:
        """Return why a pod does not fit: the obstacle of the devices, or else the scheduler's message.

        `only`: the reason on this node.
        """
        claims = self.unallocated(wanted.pod)
        states = [state for state in self.view.candidates() if not only or state.facts.name == only]
        if only and (refusal := self.cycle.node_refusal(wanted.pod, states[0], self._extended(wanted.pod))):
            return refusal
        states = [state for state in states if not self.cycle.node_refusal(wanted.pod, state)]
        if not claims or not states:
            return message
        reasons: dict[str, list[tuple[str, str]]] = {}
        for state in states:
            name = state.facts.name
            # Then it is not certain that devices are the obstacle.
            if could_all_be_allocated(self.cluster, claims, node=name, budget=SMALL_BUDGET).verdict != "no":
                return message
            found = obstacle(self.cluster, claims, name)
            reasons.setdefault(found.sentence, []).append((name, found.example))
        return "; ".join(_reason(sentence, nodes) for sentence, nodes in reasons.items())

    def unallocated(self, pod: Obj) -> list[Claim]:
        """Return the claims of a pod that need devices."""
        return [claim for claim in self._claims(pod) if claim.status.allocation is None]

    def allocated(self, pod: Obj) -> list[Claim]:
        """Return the claims of a pod that have devices."""
        return [claim for claim in self._claims(pod) if claim.status.allocation is not None]

    def allocation(self, claim: Claim) -> Obj:
        """Return the allocation of a claim as the API has it."""
        return self.view.ledger.allocation(claim.key) or {}

    def _claims(self, pod: Obj) -> list[Claim]:
        names = {entry.get("resourceClaimName") for entry in [*_of_spec(pod, "resourceClaims"), *_recorded(pod)]}
        return [
            claim
            for claim in self.cluster.claims
            if claim.metadata.namespace == namespace_of(pod) and claim.metadata.name in names
        ]


def _device(result: Obj) -> str:
    return "/".join(str(result[key]) for key in ("driver", "pool", "device"))


def _reason(sentence: str, nodes: Sequence[tuple[str, str]]) -> str:
    names = ", ".join(name for name, _ in nodes[:3])
    where = f"{names} and {len(nodes) - 3} more" if len(nodes) > 3 else names
    example = f" ({nodes[0][1]})" if nodes[0][1] else ""
    return f"{sentence}{example} [{where}]"
