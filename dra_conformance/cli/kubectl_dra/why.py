"""`kubectl dra why POD`: every obstacle of a pod, one sentence for all nodes that have it.

The obstacles of the pod come first, then those of nodes as if the pod's own were resolved. The reference scheduler and
the allocation checker look at the cluster as it is, without other pending pods. What a scheduler considers beyond
claims, node selectors, required node affinity, taints, cpu, memory and extended resources is not simulated.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import click

from dra_api.objects import Obj, meta, name_of, namespace_of, uid_of
from dra_conformance.cli.kubectl_dra import extended_claims, node_obstacles, pod_obstacles, quotas, source, table
from dra_conformance.cli.kubectl_dra.source import Source
from dra_conformance.cli.simulation import Simulation, Wanted, completed, pending
from dra_conformance.cli.terminal import say
from dra_conformance.core.errors import ExitCode, UsageError, unknown
from dra_conformance.oracle import SMALL_BUDGET, could_all_be_allocated
from dra_conformance.oracle.device_causes import Cause
from dra_conformance.oracle.dumps import Dump
from dra_conformance.oracle.obstacles import Names, Obstacle, failing_selectors, obstacles
from dra_conformance.oracle.schema import Claim
from reference_impl.scheduler.cycle import Decision, usable_on

_NODES = 6
"""Names of nodes that the text shows for an obstacle."""
_SENTENCES = 10
"""Sentences about devices that the text shows for an obstacle."""
_EVENTS = 5


@dataclass(frozen=True, slots=True)
class DeviceReason:
    """Why devices (or pools) cannot be used: a sentence about the first of them, which holds for all."""

    sentence: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """One obstacle, the nodes that have it (none: it does not depend on the node), and the devices in question."""

    obstacle: str
    nodes: tuple[str, ...] = ()
    devices: tuple[DeviceReason, ...] = ()


@dataclass(frozen=True, slots=True)
class PodEvent:
    """The newest event of one reason about the pod. `seen` is a time as the API has it."""

    seen: str
    reason: str
    source: str
    message: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The state of a pod in a sentence, its obstacles, the devices that it has or could get, and its events.

    `notes` say which obstacles could not be computed.
    """

    pod: str
    state: str
    obstacles: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
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
        held = tuple(_held(dump, pod))
        return Explanation(title, f"is on node {node}: {phase}", problems, devices=held, events=events)
    if phase in ("Succeeded", "Failed"):
        return Explanation(title, f"has ended: {phase}", events=events)
    return _placed(dump, pod, title, events)


def _find(dump: Dump, name: str, namespace: str) -> Obj:
    pods = {name_of(pod): pod for pod in dump.of_kind("Pod") if (namespace_of(pod) or "default") == namespace}
    if name not in pods:
        if not pods:
            raise UsageError(f"there is no pod {name} in namespace {namespace}", hint="-n NS looks at another one.")
        raise unknown(f"pod of namespace {namespace}", name, sorted(pods)[:20])
    return pods[name]


# -- without a node ----------------------------------------------------------------------------------------------------


def _placed(dump: Dump, pod: Obj, title: str, events: tuple[PodEvent, ...]) -> Explanation:
    """Explain a pending pod: its own obstacles, and those of nodes in the cluster without other pending pods."""
    alone = replace(
        dump, objects=tuple(one for one in dump.objects if not pod_obstacles.is_other_pending(one.obj, pod))
    )
    found = pod_obstacles.repair(alone, pod)
    left_out = "; ".join(dict.fromkeys(found.unknown))
    notes = (f"not known, and left out of the obstacles of nodes: {left_out}",) if left_out else ()
    repaired = found.of(alone)
    (wanted,) = pending(repaired, pods=[title], claims=())
    simulation = Simulation(completed(repaired))
    for_resources = extended_claims.of_every_node(simulation.view, wanted.pod)
    own = tuple(Reason(text) for text in [*found.obstacles, *quotas.obstacles(alone, pod, for_resources)])
    of_nodes = tuple(_reasons(simulation, wanted))
    nodes = len(simulation.cluster.nodes)
    none_fits = f"none of {nodes} node{'s'[: nodes != 1]} fits"
    if own:
        state = "is pending: no scheduler can place it yet"
        if of_nodes:
            return Explanation(title, f"{state}, and {none_fits}", (*own, *of_nodes), notes, events=events)
        (outcome,) = simulation.run([wanted])
        notes = (*notes, f"apart from that, the pod fits on node {outcome.node}")
        return Explanation(title, state, own, notes, outcome.devices, events)
    if of_nodes:
        return Explanation(title, f"is pending: {none_fits}", of_nodes, notes, events=events)
    (outcome,) = simulation.run([wanted])
    state = f"is pending, and fits on node {outcome.node}: its scheduler has not placed it there (yet)"
    scheduler = (pod.get("spec") or {}).get("schedulerName") or "default-scheduler"
    return Explanation(title, f"{state}; schedulerName: {scheduler}", devices=outcome.devices, events=events)


def _reasons(simulation: Simulation, wanted: Wanted) -> list[Reason]:
    """Return the obstacles of nodes; none if the pod fits somewhere."""
    view, cycle, pod = simulation.view, simulation.cycle, wanted.pod
    with view.lock:
        decision = cycle.decide(pod)
        if isinstance(decision, Decision):
            return []
        states = [] if decision.for_own_claims else sorted(view.candidates(), key=lambda state: state.facts.name)
        if not states:
            return [Reason(decision.message)]
        extended = extended_claims.of_pod(view, pod)
        names = extended_claims.names(pod, extended, pod_obstacles.generated_names(pod))
        claims = simulation.unallocated(pod)
        nodes_of: defaultdict[str, list[str]] = defaultdict(list)
        causes_of: defaultdict[str, dict[Cause, None]] = defaultdict(dict)
        for state in states:
            found = [Obstacle(text) for text in node_obstacles.obstacles(view, pod, state, extended)]
            found += [
                Obstacle(
                    f"claim {claim.title} is allocated to devices that this node cannot use", causes=_devices(claim)
                )
                for claim in simulation.allocated(pod)
                if not usable_on(simulation.allocation(claim), state)
            ]
            for_resources = extended_claims.claim_on(pod, extended, state.allocatable)
            all_claims = [*claims, *([for_resources] if for_resources else [])]
            found += _lacking(simulation, all_claims, state.facts.name, names)
            # The scheduler's own words, where the obstacle is none of the above.
            for one in found or [Obstacle(decision.message)]:
                nodes_of[one.sentence].append(state.facts.name)
                causes_of[one.sentence].update(dict.fromkeys(one.causes))
    return [Reason(text, tuple(nodes), tuple(_grouped(causes_of[text]))) for text, nodes in nodes_of.items()]


def _devices(claim: Claim) -> tuple[Cause, ...]:
    return tuple(Cause.of_device(result.id, f"is allocated to claim {claim.title}") for result in claim.results)


def _lacking(simulation: Simulation, claims: Sequence[Claim], node: str, names: Names) -> list[Obstacle]:
    """Return what keeps unallocated claims from their devices on a node; nothing if they fit."""
    if not claims:
        return []
    cluster = simulation.cluster
    answer = could_all_be_allocated(cluster, claims, node=node, budget=SMALL_BUDGET)
    if answer.verdict == "no":
        return obstacles(cluster, claims, node, names=names)
    if answer.verdict == "yes":
        return []
    # A selector that fails may end the attempt although there are devices.
    return failing_selectors(cluster, claims, node, names=names) or [
        Obstacle(f"the devices of the node cannot be judged: {answer.reason}")
    ]


def _grouped(causes: Iterable[Cause]) -> Iterator[DeviceReason]:
    """Yield a sentence for all devices that have the same reason."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for cause in causes:
        found[cause.kind, cause.reason].append(cause.name)
    for (kind, reason), devices in found.items():
        more = len(devices) - 1
        others = f" (and {more} more {kind}{'s'[: more != 1]})" if more else ""
        yield DeviceReason(f"{kind} {devices[0]}{others} {reason}", tuple(devices))


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
        say(f"  - {reason.obstacle}")
        if reason.nodes:
            more = len(reason.nodes) - _NODES
            others = f" and {more} more node{'s'[: more != 1]}" if more > 0 else ""
            say(f"    on {', '.join(reason.nodes[:_NODES])}{others}")
        for group in reason.devices[:_SENTENCES]:
            say(f"    - {group.sentence}")
        if rest := sum(len(group.devices) for group in reason.devices[_SENTENCES:]):
            say(f"    - and {rest} more devices: -o json lists all")
    for note in found.notes:
        say(f"  {note}")
    for device in found.devices:
        say(f"  device {device}")
    for event in found.events:
        say(f"  event {event.seen} {event.reason} ({event.source}): {event.message}")
