"""Pods: with claims by name or from templates, bound by a scheduler or by hand; their phases and events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dra_api.clock import parse_timestamp
from dra_api.objects import EVENTS, PODS, Obj, name_of, namespace_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.kai_presets import QUEUE_LABEL, SCHEDULER_NAME
from dra_conformance.core.labels import RUN_LABEL
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps import placement, scheduler_sign

# No scheduler takes pods with this scheduler's name: the scenario binds them by hand.
BY_HAND = "dra-conformance-by-hand"
GRACE_SECONDS = 2
"""The grace period of pods that only the kubelet deletes: with none, the API server would not wait for the kubelet.

It is short, because SIGTERM is lost in a container whose program has not begun to handle it.
"""
ENDS_AT_ONCE = ("show", "-once")
"""The arguments of an init container on a real kubelet, whose program waits otherwise (dra_conformance.go_programs)."""


@dataclass(slots=True)
class RestartPolicy:
    """The restart policy of the pods that later steps create; empty for that of the API server."""

    value: str = ""


@given('new pods have the restart policy "{policy}"')
def _(world: World, policy: str) -> None:
    """Later steps create their pods with this restart policy."""
    world.state(RestartPolicy).value = policy


def pod_object(
    world: World, name: str, claims: list[Obj], *, scheduler: str = "", containers: list[Obj] | None = None
) -> Obj:
    """Return a pod whose containers use all of its claims; `placed` restricts it to nodes once it is complete."""
    spec: Obj = {
        "containers": containers
        or [
            {
                "name": "main",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {"claims": [{"name": claim["name"]} for claim in claims]},
            }
        ],
        "resourceClaims": claims,
        # Without a kubelet only pods with a grace period of 0 are gone when they are deleted.
        "terminationGracePeriodSeconds": 0,
    }
    if policy := world.state(RestartPolicy).value:
        spec["restartPolicy"] = policy
    if scheduler:
        spec["schedulerName"] = scheduler
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": world.namespace, **_for_scheduler(world, scheduler)},
        "spec": spec,
    }


def _for_scheduler(world: World, scheduler: str) -> Obj:
    """Return the labels and annotations of pods for the scheduler of the scenario."""
    if scheduler == BY_HAND:
        return {}
    options = world.run.options
    labels = {**(dict((QUEUE_LABEL,)) if scheduler == SCHEDULER_NAME else {}), **options.pod_labels}
    found = {"labels": labels, "annotations": options.pod_annotations}
    return {key: value for key, value in found.items() if value}


def add_container(pod: Obj, container: Obj, kind: str) -> None:
    """Add a container to a pod. Raises SpecificationError if the kind is not main, init or sidecar."""
    spec = pod["spec"]
    match kind:
        case "main":
            spec["containers"].append(container)
        case "init":
            spec.setdefault("initContainers", []).append({**container, "args": list(ENDS_AT_ONCE)})
        case "sidecar":
            spec.setdefault("initContainers", []).append({**container, "restartPolicy": "Always"})
        case _:
            raise SpecificationError(f"a container is main, init or sidecar, not {kind!r}")


def by_name(claim: str) -> Obj:
    """Return a pod's reference to an existing claim, under the claim's own name."""
    return {"name": claim, "resourceClaimName": claim}


def by_template(name: str, template: str) -> Obj:
    """Return a pod's reference to a template."""
    return {"name": name, "resourceClaimTemplateName": template}


def scheduler_of(world: World) -> str:
    """Return the schedulerName of pods for the scheduler of the scenario, or BY_HAND if the scenario has none."""
    if "scheduler" not in world.scenario.tags.components:
        return BY_HAND
    own = world.run.options.scheduler_name_of_pods
    return own or (SCHEDULER_NAME if "kai" in world.scenario.tags.needs else "")


def create_pod(world: World, pod: Obj) -> Obj:
    """Create a pod for the scheduler of the scenario, which has observed all earlier writes of the scenario."""
    wait_observed(world)
    return add_pod(world, pod)


def add_pod(world: World, pod: Obj) -> Obj:
    """Create a pod without waiting for the scheduler."""
    return world.create(placed(world, pod))


def placed(world: World, pod: Obj) -> Obj:
    """Return a complete pod, restricted to the nodes of the scenario; pods that are bound by hand stay as they are."""
    if pod["spec"].get("schedulerName") != BY_HAND:
        placement.place(world, pod)
    return pod


def wait_observed(world: World) -> None:
    """Wait until the scheduler of the scenario has observed all earlier writes of the scenario."""
    scheduler = scheduler_of(world)
    scheduler_sign.wait_observed(world, scheduler, _for_scheduler(world, scheduler))


def look_bound(world: World, pod: str) -> Seen[str]:
    """Return whether a pod is bound, and its node."""
    seen = world.seen(PODS, pod)
    node = ((seen or {}).get("spec") or {}).get("nodeName")
    return bool(node), node or ("not bound" if seen else "no such pod")


def condition(pod: Obj | None, kind: str) -> Obj:
    """Return a condition of a pod, or an empty mapping if it has none of this type."""
    for found in ((pod or {}).get("status") or {}).get("conditions") or ():
        if found.get("type") == kind:
            return dict(found)
    return {}


@given('a pod "{pod}" using claim "{claims}"')
@when('a pod "{pod}" using claim "{claims}" is created')
def _(world: World, pod: str, claims: str) -> None:
    """Create a pod that uses claims by name; commas separate several."""
    create_pod(
        world, pod_object(world, pod, [by_name(claim) for claim in words(claims)], scheduler=scheduler_of(world))
    )


@when('a pod "{pod}" using claim "{claims}" is created with:')
def _(world: World, pod: str, claims: str, docstring: str) -> None:
    """Create a pod that uses claims by name, with additional fields in its spec (YAML)."""
    obj = pod_object(world, pod, [by_name(claim) for claim in words(claims)], scheduler=scheduler_of(world))
    obj["spec"].update(manifests.parse_value(world.text(docstring)))
    create_pod(world, obj)


@given('a pod "{pod}" without claims')
def _(world: World, pod: str) -> None:
    """Create a pod that needs no devices."""
    create_pod(world, pod_object(world, pod, [], scheduler=scheduler_of(world)))


@given('a pod "{pod}" of scheduler "{scheduler}" without claims')
def _(world: World, pod: str, scheduler: str) -> None:
    """Create a pod that names a scheduler."""
    add_pod(world, pod_object(world, pod, [], scheduler=scheduler))


def other_namespace(world: World) -> str:
    """Return the name of a second namespace for this scenario."""
    return f"{world.namespace}-other"


def create_other_namespace(world: World) -> str:
    """Create the second namespace and return its name."""
    other = other_namespace(world)
    metadata: Obj = {"name": other, "labels": {RUN_LABEL: world.run.run_id}}
    world.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return other


@given('a pod "{pod}" without claims in another namespace')
def _(world: World, pod: str) -> None:
    """Create a pod outside the scenario's namespace."""
    other = create_other_namespace(world)
    obj = pod_object(world, pod, [], scheduler=scheduler_of(world))
    obj["metadata"]["namespace"] = other
    add_pod(world, obj)
    world.cleanup.callback(world.client.delete, PODS, pod, other, grace_period_seconds=0)


@then('pod "{pod}" of the other namespace stays unbound')
def _(world: World, pod: str) -> None:
    """The pod outside the scenario's namespace is not bound once the system is idle."""

    def look() -> Seen[str]:
        seen = world.observer.get(PODS, pod, other_namespace(world))
        where = ((seen or {}).get("spec") or {}).get("nodeName")
        return seen is not None and not where, where or ("not bound" if seen else "no such pod")

    world.stays(f"pod {pod} of the other namespace is not bound", look, expected="not bound")


@then('pod "{pod}" of the other namespace is bound')
def _(world: World, pod: str) -> None:
    """The pod outside the scenario's namespace comes to be bound to some node."""

    def look() -> Seen[str]:
        seen = world.observer.get(PODS, pod, other_namespace(world))
        where = ((seen or {}).get("spec") or {}).get("nodeName")
        return bool(where), where or ("not bound" if seen else "no such pod")

    world.eventually(f"pod {pod} of the other namespace is bound", look, expected="a node")


@given('a pod "{pod}" using template "{template}"')
@when('a pod "{pod}" using template "{template}" is created')
def _(world: World, pod: str, template: str) -> None:
    """Create a pod with a claim from a template, under the name `gpu`."""
    create_pod(world, pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world)))


@when('pods "{prefix}" 1 to {count:d} each using template "{template}" are created')
def _(world: World, prefix: str, count: int, template: str) -> None:
    """Create pods prefix-1 …, each with a claim of its own from the template, under the name `gpu`."""
    for number in range(1, count + 1):
        pod = pod_object(world, f"{prefix}-{number}", [by_template("gpu", template)], scheduler=scheduler_of(world))
        add_pod(world, pod)


@given('pod "{pod}" is bound by hand to "{node}"')
@when('pod "{pod}" is bound by hand to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """Bind a pod through pods/binding, in place of scheduler and binder."""
    world.client.bind(world.get(PODS, pod), world.name(node))


@when('pod "{pod}" is deleted')
def _(world: World, pod: str) -> None:
    """Delete a pod with its own grace period."""
    world.client.delete(PODS, pod, world.namespace)


@when('pod "{pod}" is force-deleted')
def _(world: World, pod: str) -> None:
    """Delete a pod with a grace period of 0, and wait until all components have received the deletion."""
    world.client.delete(PODS, pod, world.namespace, grace_period_seconds=0)
    world.settle()


@then('pod "{pod}" is bound to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """The pod comes to be bound to this node."""

    def look() -> Seen[str]:
        bound, where = look_bound(world, pod)
        return bound and where == world.name(node), where

    world.eventually(f"pod {pod} is bound", look, expected=world.name(node))


@then('pod "{pod}" is bound')
def _(world: World, pod: str) -> None:
    """The pod comes to be bound to some node."""
    world.eventually(f"pod {pod} is bound", lambda: look_bound(world, pod), expected="a node")


@then('pods "{one}" and "{other}" are bound to different nodes')
def _(world: World, one: str, other: str) -> None:
    """Both pods come to be bound, each to a node of its own."""

    def look() -> Seen[str]:
        (one_bound, first), (other_bound, second) = look_bound(world, one), look_bound(world, other)
        return one_bound and other_bound and first != second, in_words([first, second])

    world.eventually(f"pods {one} and {other} are bound to different nodes", look, expected="two nodes")


@then('pod "{pod}" stays unbound')
def _(world: World, pod: str) -> None:
    """The pod is not bound once the system is idle."""

    def look() -> Seen[str]:
        bound, where = look_bound(world, pod)
        return not bound, where

    world.stays(f"pod {pod} is not bound", look, expected="not bound")


def phase_of(world: World, pod: str) -> str | None:
    """Return the phase of a pod; None if it has none, or does not exist."""
    phase: str | None = ((world.seen(PODS, pod) or {}).get("status") or {}).get("phase")
    return phase


def phase_with_reason(world: World, pod: str) -> str:
    """Return the phase of a pod as text and, unless it runs or has succeeded, what kubelet and pod say about it."""
    obj = world.seen(PODS, pod)
    if obj is None:
        return "no pod"
    status = obj.get("status") or {}
    phase = status.get("phase") or "no phase"
    if phase in ("Running", "Succeeded"):
        return str(phase)
    states = [state for one in status.get("containerStatuses") or () for state in (one.get("state") or {}).values()]
    said = [reason_of(one) for one in (status, *states)]
    warnings = [event for event in events_about(world, "Pod", pod) if event.get("type") == "Warning"]
    said += [f"{event.get('reason')}: {event_text(event)}" for event in warnings]
    reasons = "; ".join(dict.fromkeys(filter(None, said)))
    return f"{phase} ({reasons})" if reasons else str(phase)


def reason_of(state: Obj) -> str:
    """Return reason and message of a pod's status or of a container's state as text; empty if it has neither."""
    return ": ".join(str(state[key]) for key in ("reason", "message") if state.get(key))


def check_phases(world: World, pods: list[str], phase: str) -> None:
    """Check that each of the pods comes to a phase."""

    def look() -> Seen[dict[str, str]]:
        seen = {pod: phase_with_reason(world, pod) for pod in pods}
        return all(one == phase for one in seen.values()), seen

    world.eventually("phases of the pods", look, expected=dict.fromkeys(pods, phase))


@then('pod "{pod}" reaches phase {phase:word}')
def _(world: World, pod: str, phase: str) -> None:
    """The pod reaches this phase."""

    def look() -> Seen[str]:
        return phase_of(world, pod) == phase, phase_with_reason(world, pod)

    world.eventually(f"pod {pod} is {phase}", look, expected=phase)


def events_about(world: World, kind: str, name: str) -> list[dict[str, Any]]:
    """Return the events about an object."""
    return [
        event
        for event in world.all_seen(EVENTS)
        # core/v1 has involvedObject and message, events.k8s.io/v1 has regarding and note.
        if (event.get("involvedObject") or event.get("regarding") or {}).get("kind") == kind
        and (event.get("involvedObject") or event.get("regarding") or {}).get("name") == name
    ]


def is_event(world: World, pod: str, event: dict[str, Any], kind: str, reason: str) -> bool:
    """Return whether an event of a pod has type and reason, and users can find and read it."""
    return (event.get("type"), event.get("reason")) == (kind, reason) and not event_problems(world, pod, event)


def described_events(world: World, pod: str, events: list[dict[str, Any]]) -> str:
    """Return the events of a pod as text: type, reason and message, and what is wrong with them."""
    lines = []
    for event in events:
        problems = event_problems(world, pod, event)
        wrong = f" ({', '.join(problems)})" if problems else ""
        lines.append(f"{event.get('type')} {event.get('reason')}: {event_text(event)}{wrong}")
    return "; ".join(dict.fromkeys(lines)) or "no event"


def event_problems(world: World, pod: str, event: dict[str, Any]) -> list[str]:
    """Return what keeps users from finding and reading an event of a pod.

    `kubectl describe` selects events by the uid of the pod; an event has a reporter and the time of the observation
    (API documentation of Event in core/v1 and events.k8s.io/v1).
    """
    about = event.get("involvedObject") or event.get("regarding") or {}
    there = world.seen(PODS, pod)
    problems = []
    if about.get("apiVersion") not in (None, "", "v1"):
        problems.append(f"it is about apiVersion {about['apiVersion']!r}, a pod has v1")
    if there is not None and about.get("uid") != uid_of(there):
        problems.append(f"it is about uid {about.get('uid')!r}, the pod has {uid_of(there)!r}")
    if not (event.get("reportingComponent") or (event.get("source") or {}).get("component")):
        problems.append("it has no reporting component")
    if not (event.get("eventTime") or (event.get("firstTimestamp") and event.get("lastTimestamp"))):
        problems.append("it has no time")
    return problems


def events_with_reason(world: World, pod: str, reason: str) -> list[dict[str, Any]]:
    """Return the events about the pod that have this reason."""
    return [event for event in events_about(world, "Pod", pod) if event.get("reason") == reason]


def event_text(event: dict[str, Any]) -> str:
    """Return the message of an event of either API group."""
    return str(event.get("message") or event.get("note") or "")


@when('the event "{reason}" of pod "{pod}" is recorded again, or a second has passed')
def _(world: World, reason: str, pod: str) -> None:
    """Wait until the event is counted up or recorded again, at most a second: recording it once is also correct."""

    def look() -> bool:
        found = events_with_reason(world, pod, reason)
        return sum(int(event.get("count") or 1) for event in found) > 1

    world.log.wait_for(look, 1.0)


@then('pod "{pod}" gets a {kind:word} event "{reason}"')
def _(world: World, pod: str, kind: str, reason: str) -> None:
    """An event (Normal or Warning) with this reason comes to be recorded for the pod."""

    def look() -> Seen[str]:
        events = events_about(world, "Pod", pod)
        ok = any(is_event(world, pod, event, kind, reason) for event in events)
        return ok, described_events(world, pod, events)

    world.eventually(f"event {reason} for {pod}", look, expected=f"{kind} {reason}")


@then('pod "{pod}" gets a {kind:word} event "{reason}" that contains "{text}"')
def _(world: World, pod: str, kind: str, reason: str, text: str) -> None:
    """An event (Normal or Warning) with this reason comes to be recorded for the pod, and its message has this text."""
    wanted = world.text(text)

    def look() -> Seen[str]:
        events = events_about(world, "Pod", pod)
        ok = any(is_event(world, pod, event, kind, reason) and wanted in event_text(event) for event in events)
        return ok, described_events(world, pod, events)

    world.eventually(f"event {reason} for {pod}", look, expected=f"{kind} {reason}: …{wanted}…")


@then('pod "{pod}" gets no event "{reason}"')
def _(world: World, pod: str, reason: str) -> None:
    """No event with this reason is recorded for the pod once the system is idle."""

    def look() -> Seen[list[Any]]:
        found = [event_text(event) for event in events_with_reason(world, pod, reason)]
        return not found, found

    world.stays(f"events {reason} for {pod}", look, expected=[])


@when('the event "{reason}" of pod "{pod}" is deleted')
def _(world: World, reason: str, pod: str) -> None:
    """Delete the events with this reason about the pod, as the API server does when they expire."""
    found = events_with_reason(world, pod, reason)
    if not found:
        raise Untestable(f"there is no event {reason} of pod {pod} to delete")
    for event in found:
        world.client.delete(EVENTS, name_of(event), namespace_of(event))
    gone = {uid_of(event) for event in found}

    def look() -> Seen[list[str]]:
        left = gone & {uid_of(event) for event in events_about(world, "Pod", pod)}
        return not left, sorted(left)

    world.require(f"the event {reason} of {pod} is gone", look)
    world.settle()


@then('the event "{reason}" of pod "{pod}" comes to count {count:d} attempts')
def _(world: World, reason: str, pod: str, count: int) -> None:
    """The pod comes to have one event with this reason for each message, and all of them count so many or more."""
    _count_attempts(world, reason, pod, count)


@then('the event "{reason}" of pod "{pod}" comes to count {count:d} attempts, {seconds:d} seconds apart')
def _(world: World, reason: str, pod: str, count: int, seconds: int) -> None:
    """The events also have the times of a first and a last attempt that are so many seconds apart or more."""
    _count_attempts(world, reason, pod, count, apart=timedelta(seconds=seconds))


def _count_attempts(world: World, reason: str, pod: str, count: int, *, apart: timedelta = timedelta()) -> None:
    def look() -> Seen[str]:
        found = events_with_reason(world, pod, reason)
        messages = [event_text(event) for event in found]
        seen = [
            f"{event_text(one)}, {_attempts(one)} attempts, {_duration(one).total_seconds():g} s apart" for one in found
        ]
        problems = [problem for event in found for problem in event_problems(world, pod, event)]
        right = all(_attempts(event) >= count and _duration(event) >= apart for event in found)
        return bool(found and right and len(set(messages)) == len(messages) and not problems), in_words(
            problems or seen
        )

    expected = f"one event for each message, {count} attempts or more, {apart.total_seconds():g} s apart or more"
    world.eventually(f"attempts in event {reason} for {pod}", look, expected=expected)


def _attempts(event: dict[str, Any]) -> int:
    """Return how often an event was observed; events.k8s.io/v1 counts repetitions in a series."""
    return int((event.get("series") or {}).get("count") or event.get("count") or event.get("deprecatedCount") or 1)


def _duration(event: dict[str, Any]) -> timedelta:
    """Return the time from the first to the last observation of an event."""
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = (event.get("series") or {}).get("lastObservedTime") or event.get("lastTimestamp") or first
    return parse_timestamp(str(last)) - parse_timestamp(str(first)) if first else timedelta()


@then('pod "{pod}" is being deleted or gone')
def _(world: World, pod: str) -> None:
    """The pod comes to be deleted, or to have a deletionTimestamp."""

    def look() -> Seen[str]:
        seen = world.seen(PODS, pod)
        ok = seen is None or "deletionTimestamp" in seen["metadata"]
        return ok, "deleted" if ok else "not deleted"

    world.eventually(f"pod {pod} is being deleted or gone", look, expected="deleted")
