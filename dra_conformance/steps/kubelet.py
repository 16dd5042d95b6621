"""Pods that use claims of a scripted driver, bound by hand to a node whose kubelet is under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dra_api.allocations import results_of
from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.values import expectation
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.errors import KubeletEnded
from dra_conformance.steps.cdi import claim_records, given_ids
from dra_conformance.steps.claim_holders import reserve
from dra_conformance.steps.claims import pod_consumer
from dra_conformance.steps.pods import (
    BY_HAND,
    GRACE_SECONDS,
    add_container,
    add_pod,
    by_name,
    by_template,
    events_about,
    phase_of,
    phase_with_reason,
    pod_object,
)
from dra_conformance.steps.uids import with_uids

_UNNEEDED = "unneeded"
"""The entry of a pod for which no claim is needed."""


@dataclass(slots=True)
class Start:
    """Why the last start of a kubelet failed; empty if it did not."""

    error: str = ""


@given('a pod "{pod}" with the reserved claims "{claims}"')
def _(world: World, pod: str, claims: str) -> None:
    """A pod whose only container uses these claims, which are reserved for it."""
    create_reserved(world, _using(world, pod, words(claims)), words(claims))


@given('a pod "{pod}" with the reserved claims "{claims}" and the containers:')
def _(world: World, pod: str, claims: str, datatable: list[list[str]]) -> None:
    """A pod with the containers of the table.

    Columns: name; the claims that it uses, one request only after a slash; optional: extended resources, one of each;
    optional: env, literal variables; optional: kind, `init` or `sidecar`.
    """
    header, *rows = datatable
    obj = _using(world, pod, words(claims))
    obj["spec"]["containers"] = []
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        container = container_of(cells["name"], words(cells["claims"]), words(cells.get("resources", "")))
        variables = (one.partition("=") for one in words(cells.get("env", "")))
        container["env"] = [{"name": variable, "value": value} for variable, _, value in variables]
        add_container(obj, container, cells.get("kind") or "main")
    create_reserved(world, obj, words(claims))


def _using(world: World, pod: str, claims: list[str]) -> Obj:
    return pod_object(world, pod, [by_name(claim) for claim in claims], scheduler=BY_HAND)


def container_of(name: str, claims: list[str], resources: list[str] | None = None) -> Obj:
    """Return a container that uses claims (`claim` or `claim/request`) and one of each extended resource."""
    container: Obj = {"name": name, "image": "registry.k8s.io/pause:3.10", "resources": {}}
    used = [(claim, request) for claim, _, request in (one.partition("/") for one in claims)]
    if used:
        several = [{"name": claim, "request": request} if request else {"name": claim} for claim, request in used]
        container["resources"]["claims"] = several
    if resources:
        container["resources"]["limits"] = dict.fromkeys(resources, "1")
        container["resources"]["requests"] = dict.fromkeys(resources, "1")
    return container


def create_reserved(world: World, pod: Obj, claims: list[str]) -> None:
    """Create a pod that only the kubelet deletes, and reserve claims for it."""
    pod["spec"]["terminationGracePeriodSeconds"] = GRACE_SECONDS
    add_pod(world, pod)
    for claim in claims:
        reserve(world, claim, [pod_consumer(world, name_of(pod))])


@given('a pod "{pod}" that owns the claims "{claims}" from templates')
def _(world: World, pod: str, claims: str) -> None:
    """A pod with an entry for each claim and one more entry; its status does not list the claims yet."""
    several = words(claims)
    # Between the others, so that a kubelet that ends its list at this entry is detected.
    entries = [by_template(name, "template") for name in (several[0], _UNNEEDED, *several[1:])]
    container = container_of("main", several)
    create_reserved(world, pod_object(world, pod, entries, scheduler=BY_HAND, containers=[container]), several)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid_of(world.get(PODS, pod)), "controller": True}
    for claim in several:
        world.client.patch(RESOURCE_CLAIMS, claim, {"metadata": {"ownerReferences": [owner]}}, world.namespace)


@when('the status of pod "{pod}" lists its claims')
def _(world: World, pod: str) -> None:
    """Write the claims of the pod's templates to its status, as the claim controller does."""
    entries = [
        {"name": entry["name"], **({} if entry["name"] == _UNNEEDED else {"resourceClaimName": entry["name"]})}
        for entry in world.get(PODS, pod)["spec"]["resourceClaims"]
    ]
    world.update(PODS, pod, lambda obj: obj["status"].update(resourceClaimStatuses=entries), subresource="status")
    world.settle()


@given('pod "{pod}" uses the claim "{claim}" for extended resources:')
def _(world: World, pod: str, claim: str, datatable: list[list[str]]) -> None:
    """Write `extendedResourceClaimStatus` as a scheduler does: container, resource and request of the claim."""
    mappings = [
        {"containerName": container, "resourceName": resource, "requestName": request}
        for container, resource, request in datatable[1:]
    ]
    status = {"resourceClaimName": claim, "requestMappings": mappings}
    world.update(PODS, pod, lambda obj: obj["status"].update(extendedResourceClaimStatus=status), subresource="status")


@when('a kubelet starts on "{node}"')
def _(world: World, node: str) -> None:
    """Start the node's kubelet. `the kubelet of "n1" has started` checks the outcome."""
    start = world.state(Start)
    start.error = ""
    try:
        world.node(node).kubelet.start()
    except Exception as error:  # any failure is one of the kubelet under test
        if world.has_real_kubelet and not isinstance(error, KubeletEnded):  # or of this machine
            raise Untestable(f"the kubelet of {node} does not start: {error}") from error
        start.error = f"{type(error).__name__}: {error}"


@then('the kubelet of "{node}" has started')
def _(world: World, node: str) -> None:
    """The last start of the kubelet raised no error."""
    error = world.state(Start).error
    world.check(not error, f"the kubelet of {node} starts", expected="it runs", observed=error or "it runs")


@then('the kubelet of "{node}" has not started, and the error says "{text}"')
def _(world: World, node: str, text: str) -> None:
    """The last start of the kubelet raised an error with this text."""
    error = world.state(Start).error
    message = f"the kubelet of {node} does not start"
    world.check(text in error, message, expected=f"an error with {text!r}", observed=error or "it runs")


@when('"{old}" in the checkpoint of the kubelet of "{node}" is replaced by "{new}"')
def _(world: World, old: str, node: str, new: str) -> None:
    """Change the text of the checkpoint of a stopped kubelet; its checksum stays."""
    file = world.node(node).kubelet.claim_checkpoint
    file.write_text(file.read_text(encoding="utf-8").replace(old, new))


@when('the containers of pod "{pod}" on "{node}" end in phase {phase:word}')
def _(world: World, pod: str, node: str, phase: str) -> None:
    """The containers of a running pod end by themselves, all with success or all with an error."""
    if phase not in ("Succeeded", "Failed"):
        raise SpecificationError(f"{world.scenario.where}: a pod ends as Succeeded or Failed, not {phase}")
    if world.get(PODS, pod)["spec"].get("restartPolicy", "Always") == "Always":
        raise SpecificationError(f"{world.scenario.where}: a kubelet starts pod {pod} again, by its restart policy")
    world.node(node).kubelet.finish_pod(world.namespace, pod, phase)  # type: ignore[arg-type]


@then('the kubelet of "{node}" has each CDI id of claim "{claim}" once')
def _(world: World, node: str, claim: str) -> None:
    """The kubelet's record of the claim, from which containers get their devices, repeats no CDI id."""
    found = given_ids(world, node, claim)
    several = sorted({one for one in found if found.count(one) > 1})
    expected = sorted(set(found)) or None
    world.check(bool(found) and not several, "CDI ids of the claim", expected=expected, observed=sorted(found))


@then('the kubelet of "{node}" has each device of claim "{claim}" for its request')
def _(world: World, node: str, claim: str) -> None:
    """For each allocation result, its driver returned a device of this pool and name for this request.

    A driver under test may return no device at all (NV-049); the other drivers of a scenario return all.
    """
    results = results_of(world.get(RESOURCE_CLAIMS, claim))
    records = claim_records(world, node, claim)
    found = {
        f"{result['request']}: {driver}/{device.pool_name}/{device.device_name}"
        for result in results
        for record in records
        for driver, device in record.devices(result["request"])
    }
    without_devices = {world.run.options.driver_name} - {driver for one in records for driver, _ in one.devices()}
    wanted = {
        f"{result['request']}: {result['driver']}/{result['pool']}/{result['device']}"
        for result in results
        if result["driver"] not in without_devices
    }
    world.check(found == wanted, "devices of the claim", expected=sorted(wanted), observed=sorted(found))


@then('pod "{pod}" does not run')
def _(world: World, pod: str) -> None:
    """The pod is in none of the phases Running and Succeeded after everything has settled."""

    def look() -> Seen[str]:
        return phase_of(world, pod) not in ("Running", "Succeeded"), phase_with_reason(world, pod)

    world.stays(f"pod {pod} does not run", look, expected="Pending")


@then('an event of pod "{pod}" says "{text}"')
def _(world: World, pod: str, text: str) -> None:
    """An event about the pod has this text in its message."""
    wanted = world.text(text)

    def look() -> Seen[str]:
        seen = [str(event.get("message") or event.get("note")) for event in events_about(world, "Pod", pod)]
        return any(wanted in message for message in seen), in_words(seen)

    world.eventually(f"messages of the events of {pod}", look, expected=f"…{wanted}…")


@then('an event of pod "{pod}" has:')
def _(world: World, pod: str, datatable: list[list[str]]) -> None:
    """The fields of one event about the pod meet the expectations of the table."""
    wanted = {path: expectation(with_uids(world, text), world.clock.now()) for path, text in datatable[1:]}

    def look() -> Seen[dict[str, Any] | None]:
        seen = None
        for event in events_about(world, "Pod", pod):
            found = {path: manifests.look_up(event, path) for path in wanted}
            seen = {path: one.show(found[path]) for path, one in wanted.items()}
            if all(one.is_met(found[path]) for path, one in wanted.items()):
                return True, seen
        return False, seen

    expected = {path: one.shown for path, one in wanted.items()}
    world.eventually(f"an event of {pod}; observed: the last one", look, expected=expected)
