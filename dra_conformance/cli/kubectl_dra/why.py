"""`kubectl dra why POD`: every obstacle of a pod, one sentence for all nodes that have it.

The reference scheduler and the allocation checker look at the cluster as it is, without other pending pods. What a
scheduler considers beyond claims, node selectors, required node affinity, taints, cpu, memory and extended resources
is not simulated.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import click

from dra_api.objects import Obj, meta, name_of, namespace_of, uid_of
from dra_conformance.cli.kubectl_dra import quotas, source, table
from dra_conformance.cli.kubectl_dra.source import Source
from dra_conformance.cli.simulation import Simulation, Wanted, completed, pending
from dra_conformance.cli.terminal import say
from dra_conformance.core.errors import ExitCode, UsageError, unknown
from dra_conformance.oracle import could_all_be_allocated
from dra_conformance.oracle.dumps import Dump
from dra_conformance.oracle.obstacles import obstacle
from dra_conformance.oracle.schema import Claim
from reference_impl.scheduler.cycle import Decision, usable_on

_BUDGET = 20_000
_REFERENCES = (("resourceClaimName", "ResourceClaim"), ("resourceClaimTemplateName", "ResourceClaimTemplate"))
"""Fields of a pod's entries, and what they name."""
_EVENTS = 5


@dataclass(frozen=True, slots=True)
class Reason:
    """One obstacle, the nodes that have it (none: it does not depend on the node), and an example from one of them."""

    obstacle: str
    nodes: tuple[str, ...] = ()
    example: str = ""


@dataclass(frozen=True, slots=True)
class PodEvent:
    """The newest event of one reason about the pod. `seen` is a time as the API has it."""

    seen: str
    reason: str
    source: str
    message: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The state of a pod in a sentence, its obstacles, the devices that it has or could get, and its events."""

    pod: str
    state: str
    obstacles: tuple[Reason, ...] = ()
    devices: tuple[str, ...] = ()
    events: tuple[PodEvent, ...] = ()


def explain(dump: Dump, name: str, namespace: str) -> Explanation:
    """Explain a pod. Raises UsageError if it is not there."""
    pod = _find(dump, name, namespace)
    title, events = f"{namespace}/{name_of(pod)}", tuple(_events(dump, pod))
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    phase = str(status.get("phase") or "Pending")
    if meta(pod).get("deletionTimestamp"):
        phase = f"{phase}, and being deleted"
    if node := spec.get("nodeName"):
        problems = tuple(_container_problems(pod))
        return Explanation(title, f"is on node {node}: {phase}", problems, tuple(_held(dump, pod)), events)
    if phase in ("Succeeded", "Failed"):
        return Explanation(title, f"has ended: {phase}", events=events)
    before = [*_gates(pod), *_missing(dump, pod), *quotas.obstacles(dump, pod)]
    if before:
        reasons = tuple(Reason(text) for text in before)
        return Explanation(title, "is pending: no scheduler can place it yet", reasons, events=events)
    return _placed(dump, pod, title, events)


def _find(dump: Dump, name: str, namespace: str) -> Obj:
    pods = {name_of(pod): pod for pod in dump.of_kind("Pod") if (namespace_of(pod) or "default") == namespace}
    if name not in pods:
        if not pods:
            raise UsageError(f"there is no pod {name} in namespace {namespace}", hint="-n NS looks at another one.")
        raise unknown(f"pod of namespace {namespace}", name, sorted(pods)[:20])
    return pods[name]


# -- before a scheduler ------------------------------------------------------------------------------------------------


def _gates(pod: Obj) -> Iterator[str]:
    for gate in _dicts((pod.get("spec") or {}).get("schedulingGates")):
        yield f"scheduling gate {gate.get('name')}: a controller must remove it first"


def _missing(dump: Dump, pod: Obj) -> Iterator[str]:
    """Yield claims and templates of the pod that do not exist."""
    there = {
        (kind, namespace_of(obj) or "default", name_of(obj)) for _, kind in _REFERENCES for obj in dump.of_kind(kind)
    }
    namespace = namespace_of(pod) or "default"
    for entry in (pod.get("spec") or {}).get("resourceClaims") or ():
        for field, kind in _REFERENCES:
            name = entry.get(field)
            if name and (kind, namespace, name) not in there:
                yield f"{kind} {namespace}/{name} of its entry {entry.get('name')} does not exist"


# -- by a scheduler ----------------------------------------------------------------------------------------------------


def _placed(dump: Dump, pod: Obj, title: str, events: tuple[PodEvent, ...]) -> Explanation:
    """Place the pod in the cluster as it is, without the other pending pods."""
    alone = Dump(tuple(one for one in dump.objects if not _waits_beside(one.obj, pod)), dump.cluster)
    (wanted,) = pending(alone, pods=[title], claims=())
    simulation = Simulation(completed(alone))
    reasons = tuple(_reasons(simulation, wanted))
    if reasons:
        nodes = len(simulation.cluster.nodes)
        return Explanation(title, f"is pending: none of {nodes} nodes fits", reasons, events=events)
    (outcome,) = simulation.run([wanted])
    state = f"is pending, and fits on node {outcome.node}: its scheduler has not placed it there (yet)"
    scheduler = (pod.get("spec") or {}).get("schedulerName") or "default-scheduler"
    return Explanation(title, f"{state}; schedulerName: {scheduler}", devices=outcome.devices, events=events)


def _waits_beside(obj: Obj, pod: Obj) -> bool:
    """Whether this is another pod that waits for a node."""
    if obj.get("kind") != "Pod" or (obj.get("spec") or {}).get("nodeName"):
        return False
    return (name_of(obj), namespace_of(obj)) != (name_of(pod), namespace_of(pod))


def _reasons(simulation: Simulation, wanted: Wanted) -> list[Reason]:
    """Return the obstacles of a pod; none if it fits somewhere."""
    view, cycle = simulation.view, simulation.cycle
    with view.lock:
        decision = cycle.decide(wanted.pod)
        if isinstance(decision, Decision):
            return []
        states = [] if decision.for_own_claims else sorted(view.candidates(), key=lambda state: state.facts.name)
        if not states:
            return [Reason(decision.message)]
        claims = simulation.unallocated(wanted.pod)
        nodes_of: defaultdict[str, list[str]] = defaultdict(list)
        example_of: dict[str, str] = {}
        for state in states:
            found = [Reason(text) for text in [cycle.node_refusal(wanted.pod, state)] if text]
            found += [
                Reason(f"claim {claim.title} is allocated to devices that this node cannot use")
                for claim in simulation.allocated(wanted.pod)
                if not usable_on(simulation.allocation(claim), state)
            ]
            found += _lacking(simulation, claims, state.facts.name)
            # The scheduler's own words, where the search is too large or the obstacle is none of the above.
            for one in found or [Reason(decision.message)]:
                nodes_of[one.obstacle].append(state.facts.name)
                example_of.setdefault(one.obstacle, one.example)
    return [Reason(text, tuple(nodes), example_of[text]) for text, nodes in nodes_of.items()]


def _lacking(simulation: Simulation, claims: Sequence[Claim], node: str) -> list[Reason]:
    """Return what keeps unallocated claims from their devices on a node; nothing if they fit, or it is not certain."""
    if not claims or could_all_be_allocated(simulation.cluster, claims, node=node, budget=_BUDGET).verdict != "no":
        return []
    found = obstacle(simulation.cluster, claims, node)
    return [Reason(found.sentence, example=found.example)]


# -- on a node ---------------------------------------------------------------------------------------------------------


def _container_problems(pod: Obj) -> Iterator[Reason]:
    """Yield why the kubelet refused the pod, and what its containers wait for."""
    status = pod.get("status") or {}
    if status.get("reason"):
        yield Reason(_joined(status.get("reason"), status.get("message")))
    for field in ("initContainerStatuses", "containerStatuses"):
        for container in _dicts(status.get(field)):
            waiting = _dict(_dict(container.get("state")).get("waiting"))
            if waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
                yield Reason(f"container {container.get('name')}: {_joined(waiting['reason'], waiting.get('message'))}")


def _joined(*parts: object) -> str:
    return ": ".join(str(part) for part in parts if part)


def _dict(value: object) -> Obj:
    """Return a value of an object that nothing has validated, or an empty one."""
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Obj]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _held(dump: Dump, pod: Obj) -> Iterator[str]:
    """Yield the devices of the claims that are reserved for the pod."""
    for claim in dump.cluster.claims:
        if any(consumer.uid == uid_of(pod) for consumer in claim.status.reserved_for):
            for result in claim.results:
                yield f"{claim.metadata.name}/{result.request}={'/'.join(result.id)}"


def _events(dump: Dump, pod: Obj) -> Iterator[PodEvent]:
    """Yield the newest event of each reason, the newest first."""
    found: dict[str, PodEvent] = {}
    for event in dump.of_kind("Event"):
        about = _dict(event.get("involvedObject") or event.get("regarding"))
        if about.get("kind") != "Pod" or (about.get("namespace") or "default") != (namespace_of(pod) or "default"):
            continue
        if about.get("name") != name_of(pod) or (about.get("uid") and uid_of(pod) and about["uid"] != uid_of(pod)):
            continue
        series = _dict(event.get("series"))
        times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
        one = PodEvent(
            next((str(time) for time in times if time), ""),
            str(event.get("reason") or ""),
            str(event.get("reportingComponent") or _dict(event.get("source")).get("component") or ""),
            str(event.get("message") or event.get("note") or ""),
        )
        if one.reason not in found or found[one.reason].seen <= one.seen:
            found[one.reason] = one
    yield from sorted(found.values(), key=lambda one: one.seen, reverse=True)[:_EVENTS]


# -- output ------------------------------------------------------------------------------------------------------------


@click.command(name="why")
@click.argument("pod", metavar="[NS/]POD")
@source.options
@table.FORMATS
def command(pod: str, source: Source, output: str) -> int:
    """Explain why a pod waits: every obstacle, and the nodes that have it.

    For a pod on a node: its devices, and what the kubelet says.
    """
    namespace, slash, name = pod.rpartition("/")
    found = explain(source.read(events=True), name, namespace if slash else source.default_namespace)
    click.echo(json.dumps(asdict(found), indent=2)) if output == "json" else _write(found)
    return ExitCode.OK


def _write(found: Explanation) -> None:
    say(f"pod {found.pod} {found.state}")
    for reason in found.obstacles:
        example = f" ({reason.example})" if reason.example else ""
        say(f"  - {reason.obstacle}{example}")
        if reason.nodes:
            more = len(reason.nodes) - 6
            names = ", ".join(reason.nodes[:6]) + (f" and {more} more" if more > 0 else "")
            say(f"    on {names}")
    for device in found.devices:
        say(f"  device {device}")
    for event in found.events:
        say(f"  event {event.seen} {event.reason} ({event.source}): {event.message}")
