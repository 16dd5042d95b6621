"""BindRequests: written by hand in the scheduler's place, judged where the scheduler wrote them, carried out or not.

Source: KAI-Scheduler docs/dra/README.md (the documented revision) and release 0.17 (pkg/scheduler/cache/cache.go,
pkg/binder/controllers/bindrequest_controller.go); rules KAI-001 to KAI-235.
"""

from __future__ import annotations

import re
from collections import Counter

import orjson

from dra_api.objects import BIND_REQUESTS, NODES, PODS, RESOURCE_CLAIMS, Obj, meta, name_of, owner_reference, uid_of
from dra_conformance.errors import Untestable
from dra_conformance.steps import faults
from dra_conformance.steps.cdi import files
from dra_conformance.steps.claims import allocation_on, results_of, template_object
from dra_conformance.steps.nodes import make_node, publish, simulated_driver, slice_object
from dra_conformance.steps.pods import by_name, condition, pod_object, scheduler_of
from dra_conformance.suite import manifests
from dra_conformance.suite.vocabulary import given, then, when
from dra_conformance.suite.world import Seen, World, show

GPU_RESOURCE = "nvidia.com/gpu"
IMEX_DRIVER = "compute-domain.nvidia.com"


# Key of World.memory: the names of the BindRequests that the scenario wrote.
WRITTEN = "bind-requests"

# -- plain functions ---------------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    """The parts of a comma-separated text."""
    return [part.strip() for part in text.split(",") if part.strip()]


def paper_results(world: World, node: str, devices: str, *, request: str = "gpu") -> list[Obj]:
    """Results that give devices of the driver on paper to one request."""
    driver, pool = simulated_driver(world), world.name(node)
    return [{"request": request, "driver": driver, "pool": pool, "device": device} for device in words(devices)]


def request_object(world: World, name: str, pod: str, node: str, entries: list[Obj] | None = None) -> Obj:
    """A BindRequest as release 0.17 writes it; owned by the pod where there is one."""
    owner = world.client.find(PODS, pod, world.namespace)
    metadata: Obj = {"name": name, "namespace": world.namespace, "labels": {"selected-node": world.name(node)}}
    if owner is not None:
        metadata["ownerReferences"] = [owner_reference({**owner, "apiVersion": "v1", "kind": "Pod"})]
    spec: Obj = {
        "podName": pod,
        "selectedNode": world.name(node),
        "receivedResourceType": "Regular",
        "receivedGPU": {"portion": "0.00"},
    }
    if entries:
        spec["resourceClaimAllocations"] = entries
    return {
        "apiVersion": BIND_REQUESTS.api_version,
        "kind": BIND_REQUESTS.kind,
        "metadata": metadata,
        "spec": spec,
    }


def write(world: World, obj: Obj) -> None:
    """Create a BindRequest and remember that it was written by hand."""
    world.create(obj)
    world.memory.setdefault(WRITTEN, []).append(name_of(obj))


def entry(world: World, reference: str, node: str, devices: str, config: list[Obj] | None = None) -> Obj:
    """One entry of resourceClaimAllocations: the pod's own name of the claim, and what it gets."""
    return {
        "name": reference,
        "allocation": allocation_on(world.name(node), paper_results(world, node, devices), config),
    }


def requests_of(world: World, pod: str) -> list[Obj]:
    """The BindRequests that name a pod, as last seen, those being deleted left out."""
    return [
        request
        for request in world.all_seen(BIND_REQUESTS)
        if (request.get("spec") or {}).get("podName") == pod and "deletionTimestamp" not in meta(request)
    ]


def request_of(world: World, pod: str) -> Obj | None:
    """The BindRequest of a pod, where there is one."""
    return next(iter(requests_of(world, pod)), None)


def entries_of(request: Obj | None) -> dict[str, Obj]:
    """Its allocations by the pod's own names for the claims."""
    found = ((request or {}).get("spec") or {}).get("resourceClaimAllocations") or ()
    return {str(item.get("name")): item.get("allocation") or {} for item in found}


def devices_in(allocation: Obj | None) -> list[str]:
    """The devices of an allocation, by name."""
    return sorted(
        str(result.get("device")) for result in ((allocation or {}).get("devices") or {}).get("results") or ()
    )


def holds(observed: object, wanted: object) -> bool:
    """Whether `observed` has everything that `wanted` has: fields of mappings, and lists item by item."""
    if isinstance(wanted, dict):
        return isinstance(observed, dict) and all(holds(observed.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(observed, list)
            and len(observed) == len(wanted)
            and all(holds(one, two) for one, two in zip(observed, wanted, strict=True))
        )
    return observed == wanted


def _status(request: Obj | None) -> Obj:
    found = (request or {}).get("status")
    return found if isinstance(found, dict) else {}


# -- nodes, pods and claims of these scenarios -------------------------------------------------------------------------


@given('node "{node}" with {count:d} GPUs of a device plugin')
def _(world: World, node: str, count: int) -> None:
    """A ready Node whose allocatable has nvidia.com/gpu; no slice."""
    name = make_node(world, node)

    def change(stored: Obj) -> None:
        for field in ("allocatable", "capacity"):
            stored["status"][field][GPU_RESOURCE] = str(count)

    world.update(NODES, name, change, subresource="status")


@given('an IMEX channel on "{node}"')
def _(world: World, node: str) -> None:
    """A slice of compute-domain.nvidia.com with the device channel-0; the driver itself exists on paper only."""
    obj = slice_object(world, node, [{"name": "channel-0", "attributes": {"type": {"string": "channel"}}}])
    obj["metadata"]["name"] = f"imex-{world.name(node)}"
    obj["spec"]["driver"] = IMEX_DRIVER
    publish(world, obj)


@given('a pod "{pod}" with {count:d} GPUs of a device plugin')
def _(world: World, pod: str, count: int) -> None:
    """A pod without claims that asks for nvidia.com/gpu."""
    resources = {"requests": {GPU_RESOURCE: str(count)}, "limits": {GPU_RESOURCE: str(count)}}
    containers = [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources}]
    world.create(pod_object(world, pod, [], scheduler=scheduler_of(world), containers=containers))


@given('pods "{prefix}" 1 to {count:d} each using a claim of their own for 1 of "{name}"')
def _(world: World, prefix: str, count: int, name: str) -> None:
    """Pods prefix-1 …, each with a claim of the same name that asks for one device of a class."""
    for number in range(1, count + 1):
        claim = f"{prefix}-{number}"
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": world.name(name)}}]}}
        metadata = {"name": claim, "namespace": world.namespace}
        world.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec})
        world.create(pod_object(world, claim, [by_name(claim)], scheduler=scheduler_of(world)))


@given('a pod "{pod}" of scheduler "{scheduler}" without claims')
def _(world: World, pod: str, scheduler: str) -> None:
    """A pod that names a scheduler."""
    world.create(pod_object(world, pod, [], scheduler=scheduler))


@given('a pod "{pod}" with a scheduling gate using claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """A pod that is not to be scheduled yet."""
    obj = pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world))
    obj["spec"]["schedulingGates"] = [{"name": "dra-conformance/wait"}]
    world.create(obj)


@when('the scheduling gates of pod "{pod}" are removed')
def _(world: World, pod: str) -> None:
    """Let the pod be scheduled."""

    def change(obj: Obj) -> None:
        obj["spec"].pop("schedulingGates", None)

    world.update(PODS, pod, change)


@given('pod "{pod}" has a finalizer')
def _(world: World, pod: str) -> None:
    """Hold the pod in deletion until the scenario ends."""
    world.cleanup.callback(_let_go, world, pod)

    def change(obj: Obj) -> None:
        obj["metadata"]["finalizers"] = ["dra-conformance/hold"]

    world.update(PODS, pod, change)


def _let_go(world: World, pod: str) -> None:
    if world.client.find(PODS, pod, world.namespace) is not None:
        world.client.patch(PODS, pod, {"metadata": {"finalizers": None}}, world.namespace)


@given('a pod "{pod}" using claim "{claim}" as "{names}"')
def _(world: World, pod: str, claim: str, names: str) -> None:
    """A pod that names one claim under several names of its own."""
    references = [{"name": name, "resourceClaimName": claim} for name in words(names)]
    world.create(pod_object(world, pod, references, scheduler=scheduler_of(world)))


@given('claim "{claim}" holds the devices "{devices}" of "{node}"')
@when('claim "{claim}" holds the devices "{devices}" of "{node}"')
def _(world: World, claim: str, devices: str, node: str) -> None:
    """Write an allocation to devices on paper into a claim, in the place of a scheduler; no reservation."""

    def change(obj: Obj) -> None:
        allocation = allocation_on(world.name(node), paper_results(world, node, devices))
        obj.setdefault("status", {})["allocation"] = allocation

    world.update(RESOURCE_CLAIMS, claim, change, subresource="status")
    world.require(
        f"claim {claim} is seen allocated",
        lambda: (bool(results_of(world.seen(RESOURCE_CLAIMS, claim))), "not allocated"),
    )


@given('claim "{claim}" is remembered')
def _(world: World, claim: str) -> None:
    """Keep the claim as it is once everything has come to rest, to be compared later.

    What the steps before wrote is then known to everybody: a binder that reads the pod from its cache, as KAI's does,
    is not blamed for a binding that nobody has told it of.
    """
    world.settle()
    world.memory[f"claim/{claim}"] = world.get(RESOURCE_CLAIMS, claim)


@then('claim "{claim}" stays as remembered')
def _(world: World, claim: str) -> None:
    """Nobody has written to the claim, also after everything has come to rest."""
    wanted = world.memory[f"claim/{claim}"]["metadata"]["resourceVersion"]

    def look() -> Seen:
        seen = world.seen(RESOURCE_CLAIMS, claim)
        return seen is not None and seen["metadata"]["resourceVersion"] == wanted, (seen or {}).get("status") or seen

    world.stays(f"claim {claim} is left alone", look, expected="the claim as it was before")


# -- BindRequests by hand ----------------------------------------------------------------------------------------------


@given('a BindRequest "{name}" of pod "{pod}" to "{node}"')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created')
def _(world: World, name: str, pod: str, node: str) -> None:
    """Write a BindRequest without claims."""
    write(world, request_object(world, name, pod, node))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" giving claim "{claim}" the devices "{devices}"')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" giving claim "{claim}" the devices "{devices}" is created')
def _(world: World, name: str, pod: str, node: str, claim: str, devices: str) -> None:
    """Write a BindRequest that gives one claim (by the pod's own name for it) devices on paper."""
    write(world, request_object(world, name, pod, node, [entry(world, claim, node, devices)]))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" giving:')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created giving:')
def _(world: World, name: str, pod: str, node: str, docstring: str) -> None:
    """Write a BindRequest with several entries; the YAML below maps the pod's own names of claims to devices."""
    wanted: dict[str, str | None] = manifests.parse_value(docstring)
    entries = [
        {"name": claim} if devices is None else entry(world, claim, node, devices) for claim, devices in wanted.items()
    ]
    write(world, request_object(world, name, pod, node, entries))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" with:')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created with:')
def _(world: World, name: str, pod: str, node: str, docstring: str) -> None:
    """Write a BindRequest whose spec has also the fields below (YAML; `null` takes one away)."""
    obj = request_object(world, name, pod, node)
    for key, value in manifests.parse_value(world.text(docstring)).items():
        manifests.set_at(obj["spec"], key, value)
    write(world, obj)


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" that is being deleted')
def _(world: World, name: str, pod: str, node: str) -> None:
    """Write a BindRequest and delete it; a finalizer keeps it until the scenario ends. The binder must be stopped."""
    obj = request_object(world, name, pod, node)
    obj["metadata"]["finalizers"] = ["dra-conformance/hold"]
    write(world, obj)
    world.client.delete(BIND_REQUESTS, name, world.namespace)
    no_finalizers = {"metadata": {"finalizers": None}}
    world.cleanup.callback(world.client.patch, BIND_REQUESTS, name, no_finalizers, world.namespace)


@given('BindRequest "{name}" outlives its pod')
def _(world: World, name: str) -> None:
    """Take the owner away from a BindRequest, so that garbage collection leaves it."""
    world.client.patch(BIND_REQUESTS, name, {"metadata": {"ownerReferences": None}}, world.namespace)


@when('BindRequest "{name}" is touched')
def _(world: World, name: str) -> None:
    """Change an annotation of a BindRequest."""
    world.client.patch(BIND_REQUESTS, name, {"metadata": {"annotations": {"touched": "yes"}}}, world.namespace)


@given('BindRequest "{name}" is {phase:word} by hand')
@when('BindRequest "{name}" is {phase:word} by hand')
def _(world: World, name: str, phase: str) -> None:
    """Write a phase into the status of a BindRequest, in the place of the binder."""
    _judge(world, name, phase, None)


@given('BindRequest "{name}" is {phase:word} by hand after {count:d} attempts')
@when('BindRequest "{name}" is {phase:word} by hand after {count:d} attempts')
def _(world: World, name: str, phase: str, count: int) -> None:
    """The same, with a number of failed attempts."""
    _judge(world, name, phase, count)


@when('the BindRequest of pod "{pod}" is {phase:word} by hand')
def _(world: World, pod: str, phase: str) -> None:
    """Write a phase into the BindRequest that the scheduler wrote, and remember which it was."""
    world.require(f"pod {pod} has a BindRequest", lambda: (request_of(world, pod) is not None, "none"))
    request = request_of(world, pod)
    if request is not None:
        world.memory[f"request/{pod}"] = uid_of(request)
        _judge(world, name_of(request), phase, None)


def _judge(world: World, name: str, phase: str, attempts: int | None) -> None:
    status: Obj = {"phase": phase}
    if phase == "Failed":
        status["reason"] = "refused by hand"
    if attempts is not None:
        status["failedAttempts"] = attempts
    world.client.patch(BIND_REQUESTS, name, {"status": status}, world.namespace, subresource="status")


# -- seats -------------------------------------------------------------------------------------------------------------


@given('the scheduler speaks revision "{revision}"')
def _(world: World, revision: str) -> None:
    """Have the scheduler write BindRequests of this revision, with dynamic resource allocation on."""
    if world.seats.spec("scheduler").kind == "reference":
        world.seats.restart("scheduler", settings={"revision": revision})


@given("the scheduler has dynamic resource allocation off")
def _(world: World) -> None:
    """Start the scheduler anew with the feature gate off."""
    if world.seats.spec("scheduler").kind != "reference":
        raise Untestable("the run cannot choose the settings of a scheduler that is not the reference")
    world.seats.restart("scheduler", settings={"dynamic-resource-allocation": "false"})


def ours(world: World, seat: str) -> None:
    """Raise Untestable for a seat whose holder the run can neither stop nor start."""
    kind = world.seats.spec(seat).kind
    if kind not in ("reference", "exec"):
        raise Untestable(f"the {seat} is {kind}; it is not ours to stop")


@given("the {seat:word} is stopped")
@when("the {seat:word} is stopped")
def _(world: World, seat: str) -> None:
    """Empty a seat."""
    ours(world, seat)
    world.seats.kill(seat)


@when("the {seat:word} is started")
def _(world: World, seat: str) -> None:
    """Fill a seat that was emptied."""
    world.seats.start(seat)


@when("the {seat:word} is started again")
def _(world: World, seat: str) -> None:
    """End what is in a seat and start it anew, with nothing in memory."""
    ours(world, seat)
    world.settle()
    world.seats.restart(seat)


# -- what the scheduler wrote ------------------------------------------------------------------------------------------


@then('pod "{pod}" gets exactly one BindRequest')
def _(world: World, pod: str) -> None:
    """One BindRequest comes to name the pod, and no second follows."""

    def look() -> Seen:
        found = [name_of(request) for request in requests_of(world, pod)]
        return len(found) == 1, found or "none"

    seen = world.wait(lambda: (bool(requests_of(world, pod)), "none"))
    world.check(seen[0], f"pod {pod} has a BindRequest", expected="one BindRequest", observed=seen[1])
    world.stays(f"pod {pod} has one BindRequest", look, expected="one BindRequest")


@then('pod "{pod}" gets a BindRequest to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """A BindRequest for the pod comes to name this node."""

    def look() -> Seen:
        request = request_of(world, pod)
        where = ((request or {}).get("spec") or {}).get("selectedNode")
        return where == world.name(node), where or "no BindRequest"

    world.eventually(f"pod {pod} has a BindRequest", look, expected=world.name(node))


@then('pod "{pod}" gets no BindRequest')
def _(world: World, pod: str) -> None:
    """No BindRequest has named the pod, also none that is gone again, and none does once all has come to rest."""

    def look() -> Seen:
        told = [event.data for event in world.log.kept("object") if event.data["resource"] == BIND_REQUESTS.plural]
        ours = [data for data in told if str(data["name"]).startswith(f"{world.namespace}/")]
        made = {data["name"] for data in ours if data["summary"].get("pod") == pod}
        return not made, sorted(made) or "none"

    world.stays(f"pod {pod} has no BindRequest", look, expected="no BindRequest")


@then('the BindRequest of pod "{pod}" goes as well')
def _(world: World, pod: str) -> None:
    """The garbage collector takes it, which looks for kinds that are new to it every half minute."""
    # Nobody's seat: kube-controller-manager collects what was made before it knew BindRequests after its next look.
    within = max(world.run.patience, _COLLECTED_WITHIN_S) if world.run.has_controllers else None

    def look() -> Seen:
        left = [name_of(request) for request in requests_of(world, pod)]
        return not left, left or "none"

    world.eventually(f"the BindRequest of pod {pod} goes with it", look, expected="none", within=within)


_COLLECTED_WITHIN_S = 75.0


@then('pod "{pod}" gets another BindRequest')
def _(world: World, pod: str) -> None:
    """The BindRequest that was judged by hand goes, and a new one comes."""
    former = world.memory.get(f"request/{pod}")

    def look() -> Seen:
        found = {name_of(request): _status(request).get("phase") for request in requests_of(world, pod)}
        uids = [uid_of(request) for request in requests_of(world, pod)]
        return len(uids) == 1 and uids[0] != former, found or "none"

    world.eventually(f"pod {pod} has a new BindRequest only", look, expected="one BindRequest, with another uid")


@then('the BindRequest of pod "{pod}" has "{path}" {value}')
def _(world: World, pod: str, path: str, value: str) -> None:
    """A field of the pod's BindRequest comes to this value (YAML; `null`: the field is not there)."""
    wanted = manifests.parse_value(world.text(value))

    def look() -> Seen:
        request = request_of(world, pod)
        if request is None:
            return False, "no BindRequest"
        found = manifests.look_up(request, path)
        return found == wanted, found

    world.eventually(f"{path} of the BindRequest of {pod}", look, expected=wanted)


@then('the BindRequest of pod "{pod}" is owned by the pod alone')
def _(world: World, pod: str) -> None:
    """One owner reference: the pod by name and uid, and it is no controller."""
    world.wait(lambda: (request_of(world, pod) is not None, "none"))
    owner = world.get(PODS, pod)
    wanted = [{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid_of(owner)}]
    seen = meta(request_of(world, pod) or {}).get("ownerReferences") or []
    bare = [{key: value for key, value in one.items() if value is not False} for one in seen]
    world.check(bare == wanted, "the BindRequest goes with its pod", expected=wanted, observed=seen)


@then('the BindRequest of pod "{pod}" is named like its pod')
def _(world: World, pod: str) -> None:
    """The name of the BindRequest is the pod's."""
    world.eventually(
        f"the BindRequest of {pod} has a name", lambda: _name_like(world, pod, re.escape(pod)), expected=pod
    )


@then('the BindRequest of pod "{pod}" is named after its pod with a suffix')
def _(world: World, pod: str) -> None:
    """The name of the BindRequest is the pod's, a hyphen and a generated part."""
    pattern = re.escape(pod) + r"-[a-z0-9]+"
    expected = f"{pod}-<suffix>"
    world.eventually(f"the BindRequest of {pod} has a name", lambda: _name_like(world, pod, pattern), expected=expected)


def _name_like(world: World, pod: str, pattern: str) -> Seen:
    request = request_of(world, pod)
    name = name_of(request) if request is not None else ""
    return re.fullmatch(pattern, name) is not None, name or "no BindRequest"


@then('the BindRequest of pod "{pod}" names a node that exists, in its spec and in its label')
def _(world: World, pod: str) -> None:
    """The label selected-node equals spec.selectedNode, and there is such a Node."""

    def look() -> Seen:
        request = request_of(world, pod) or {}
        node = (request.get("spec") or {}).get("selectedNode")
        label = (meta(request).get("labels") or {}).get("selected-node")
        there = bool(node) and world.observer.get(NODES, str(node)) is not None
        return there and label == node, {"label": label, "selectedNode": node, "exists": there}

    world.eventually("the BindRequest names its node", look, expected="an existing node, in both places")


@then('the BindRequest of pod "{pod}" says what "{path}" says')
def _(world: World, pod: str, path: str) -> None:
    """Labels and spec of the BindRequest hold everything that a manifest of fixtures/ holds."""
    wanted = world.manifest(path)
    pick = {"labels": meta(wanted).get("labels"), "spec": wanted["spec"]}

    def look() -> Seen:
        request = request_of(world, pod)
        if request is None:
            return False, "no BindRequest"
        found = {"labels": meta(request).get("labels"), "spec": request.get("spec")}
        return holds(found, pick), found

    world.eventually(f"the BindRequest of {pod} has its documented shape", look, expected=pick)


@then('the BindRequest of pod "{pod}" gives claim "{claim}" {count:d} devices on its node')
def _(world: World, pod: str, claim: str, count: int) -> None:
    """An entry under the pod's own name of the claim has so many results, all from the pool of the selected node."""

    def look() -> Seen:
        request = request_of(world, pod)
        allocation = entries_of(request).get(claim)
        results = ((allocation or {}).get("devices") or {}).get("results") or []
        pools = {result.get("pool") for result in results}
        distinct = {result.get("device") for result in results}
        node = ((request or {}).get("spec") or {}).get("selectedNode")
        return len(results) == len(distinct) == count and pools == {node}, allocation or entries_of(request)

    world.eventually(f"the BindRequest of {pod} allocates {claim}", look, expected=f"{count} devices of its node")


@then('the BindRequest of pod "{pod}" gives claim "{claim}" the devices "{devices}"')
def _(world: World, pod: str, claim: str, devices: str) -> None:
    """An entry under the pod's own name of the claim has exactly these devices, in any order."""

    def look() -> Seen:
        found = entries_of(request_of(world, pod))
        return devices_in(found.get(claim)) == sorted(words(devices)), found

    world.eventually(f"the BindRequest of {pod} allocates {claim}", look, expected=sorted(words(devices)))


@then('the BindRequest of pod "{pod}" is about the claims "{claims}" and no other')
def _(world: World, pod: str, claims: str) -> None:
    """There is one entry for each of these names of the pod, in any order."""

    def look() -> Seen:
        spec = (request_of(world, pod) or {}).get("spec") or {}
        found = [str(item.get("name")) for item in spec.get("resourceClaimAllocations") or ()]
        return Counter(found) == Counter(words(claims)), found

    world.eventually(f"the BindRequest of {pod} lists its claims", look, expected=sorted(words(claims)))


@then('the entry of claim "{claim}" for pod "{pod}" can be used on the selected node alone')
def _(world: World, claim: str, pod: str) -> None:
    """The node selector of the entry names the selected node."""

    def look() -> Seen:
        request = request_of(world, pod)
        node = ((request or {}).get("spec") or {}).get("selectedNode")
        selector = (entries_of(request).get(claim) or {}).get("nodeSelector")
        wanted = allocation_on(str(node), [])["nodeSelector"]
        return node is not None and selector == wanted, selector

    world.eventually(f"the allocation of {claim} names its node", look, expected="metadata.name In [selectedNode]")


@then('the entry of claim "{claim}" for pod "{pod}" has configuration of "{sources}"')
def _(world: World, claim: str, pod: str, sources: str) -> None:
    """The configuration of an entry comes from these sources, in this order."""

    def look() -> Seen:
        config = ((entries_of(request_of(world, pod)).get(claim) or {}).get("devices") or {}).get("config") or []
        return [item.get("source") for item in config] == words(sources), config

    world.eventually(f"the allocation of {claim} carries configuration", look, expected=words(sources))


@then('the BindRequest of pod "{pod}" stays without status')
def _(world: World, pod: str) -> None:
    """The one who writes the request does not judge it."""

    def look() -> Seen:
        request = request_of(world, pod)
        return request is not None and not _status(request), _status(request) if request else "no BindRequest"

    world.stays(f"the BindRequest of {pod} has no status", look, expected="no status")


@then("{count:d} pods get BindRequests, with {devices:d} distinct devices")
def _(world: World, count: int, devices: int) -> None:
    """So many pods have a BindRequest, no pod has two, and no device is promised twice."""

    def look() -> Seen:
        requests = world.all_seen(BIND_REQUESTS)
        pods = Counter(str((request.get("spec") or {}).get("podName")) for request in requests)
        promised = [
            device for request in requests for one in entries_of(request).values() for device in devices_in(one)
        ]
        ok = len(pods) == len(requests) == count and len(promised) == len(set(promised)) == devices
        return ok, {"pods": sorted(pods), "devices": sorted(promised)}

    world.wait(look)
    world.stays("every device is promised once", look, expected=f"{count} pods, {devices} distinct devices")


# -- what the binder did -----------------------------------------------------------------------------------------------


@then('BindRequest "{name}" comes to phase {phase:word}')
def _(world: World, name: str, phase: str) -> None:
    """The binder's judgement comes to be this."""

    def look() -> Seen:
        seen = _status(world.seen(BIND_REQUESTS, name))
        return seen.get("phase") == phase, seen or "no status"

    world.eventually(f"BindRequest {name} is {phase}", look, expected=phase)


@then('BindRequest "{name}" stays {phase:word}')
def _(world: World, name: str, phase: str) -> None:
    """The binder's judgement is this, and remains so."""

    def look() -> Seen:
        seen = _status(world.seen(BIND_REQUESTS, name))
        return seen.get("phase") == phase, seen or "no status"

    world.stays(f"BindRequest {name} stays {phase}", look, expected=phase)


@then('BindRequest "{name}" stays without phase')
def _(world: World, name: str) -> None:
    """The binder has not judged the request."""

    def look() -> Seen:
        seen = world.seen(BIND_REQUESTS, name)
        return seen is not None and not _status(seen).get("phase"), _status(seen) if seen else "no BindRequest"

    world.stays(f"BindRequest {name} is not judged", look, expected="no phase")


@then('BindRequest "{name}" fails with a reason')
def _(world: World, name: str) -> None:
    """The phase comes to be Failed, and status.reason tells something."""
    _fails(world, name, "")


@then('BindRequest "{name}" fails with a reason that names "{text}"')
def _(world: World, name: str, text: str) -> None:
    """The phase comes to be Failed, and status.reason holds this text."""
    _fails(world, name, world.text(text))


@then('BindRequest "{name}" fails, or succeeds with annotation "{key}" on pod "{pod}"')
def _(world: World, name: str, key: str, pod: str) -> None:
    """Failed and the pod unbound, or Succeeded and the pod bound with the annotation; so it comes to be and remains."""

    def look() -> Seen:
        found = world.seen(PODS, pod) or {}
        phase = _status(world.seen(BIND_REQUESTS, name)).get("phase")
        node, told = (found.get("spec") or {}).get("nodeName"), (meta(found).get("annotations") or {}).get(key)
        holds = (not node and phase == "Failed") or bool(node and phase == "Succeeded" and told)
        return holds, {"phase": phase, "nodeName": node, key: told}

    world.eventually(
        f"pod {pod} is unbound or has {key}", look, expected="Failed and unbound, or Succeeded, bound and annotated"
    )
    world.stays(f"pod {pod} is unbound or has {key}", look, expected="as it was")


def _fails(world: World, name: str, text: str) -> None:
    def look() -> Seen:
        seen = _status(world.seen(BIND_REQUESTS, name))
        reason = str(seen.get("reason") or "")
        return seen.get("phase") == "Failed" and bool(reason) and text in reason, seen or "no status"

    world.eventually(f"BindRequest {name} fails", look, expected=f"phase Failed, a reason that names {text!r}")


@then('BindRequest "{name}" counts {count:d} failed attempts')
def _(world: World, name: str, count: int) -> None:
    """status.failedAttempts comes to this number (0: also absent) and does not pass it."""

    def look() -> Seen:
        seen = _status(world.seen(BIND_REQUESTS, name))
        return int(seen.get("failedAttempts") or 0) == count and bool(seen.get("phase")), seen

    world.wait(look)
    world.stays(f"BindRequest {name} counts attempts", look, expected=count)


@then('claim "{claim}" holds the allocation that BindRequest "{name}" gives "{reference}"')
def _(world: World, claim: str, name: str, reference: str) -> None:
    """Devices, configuration and node selector of the claim are those of the entry."""
    wanted = entries_of(world.get(BIND_REQUESTS, name)).get(reference) or {}
    wanted = {key: value for key, value in wanted.items() if key != "allocationTimestamp"}

    def look() -> Seen:
        seen = ((world.seen(RESOURCE_CLAIMS, claim) or {}).get("status") or {}).get("allocation") or {}
        return holds(seen, wanted), seen or "not allocated"

    world.eventually(f"claim {claim} is allocated as requested", look, expected=wanted)


@then('claim "{claim}" is reserved once for each of the pods "{pods}" and for no other')
def _(world: World, claim: str, pods: str) -> None:
    """reservedFor comes to name these pods by uid, each once."""

    def look() -> Seen:
        users = ((world.seen(RESOURCE_CLAIMS, claim) or {}).get("status") or {}).get("reservedFor") or []
        wanted = Counter(uid_of(world.seen(PODS, pod) or {}) for pod in words(pods))
        return Counter(user.get("uid") for user in users) == wanted, users

    world.eventually(f"claim {claim} is reserved", look, expected=f"{pods}, each once")


@then('pod "{pod}" stays bound to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """The pod is on this node and stays there."""

    def look() -> Seen:
        where = ((world.seen(PODS, pod) or {}).get("spec") or {}).get("nodeName")
        return where == world.name(node), where

    world.stays(f"pod {pod} stays where it is", look, expected=world.name(node))


@then('pod "{pod}" has annotation "{key}" {value}')
def _(world: World, pod: str, key: str, value: str) -> None:
    """An annotation of the pod comes to this text (`null`: it is not there); a JSON text is compared as JSON."""
    wanted = manifests.parse_value(world.text(value))

    def look() -> Seen:
        found = (meta(world.seen(PODS, pod) or {}).get("annotations") or {}).get(key)
        read = manifests.parse_value(found) if isinstance(found, str) and isinstance(wanted, (dict, list)) else found
        return read == wanted, found

    world.eventually(f"annotation {key} of {pod}", look, expected=wanted)


@then('pod "{pod}" is not said to be bound')
def _(world: World, pod: str) -> None:
    """The condition PodBound is not True, also after everything has come to rest."""

    def look() -> Seen:
        found = condition(world.seen(PODS, pod), "PodBound")
        return found.get("status") != "True", found or "no such condition"

    world.stays(f"pod {pod} is not said to be bound", look, expected="no condition PodBound=True")


@then("nobody but the harness has created a BindRequest")
def _(world: World) -> None:
    """Every BindRequest of the namespace was written by hand."""
    mine = set(world.memory.get(WRITTEN, ()))

    def look() -> Seen:
        found = {name_of(request) for request in world.all_seen(BIND_REQUESTS)}
        return found <= mine, sorted(found - mine)

    world.stays("the binder creates no BindRequest", look, expected=f"{sorted(mine)} at most")


@then("the API server serves {kind:word} as a namespaced resource with a status of its own")
def _(world: World, kind: str) -> None:
    """Discovery lists the resource of this kind in its version, namespaced, with the subresource status."""
    from dra_conformance.steps.objects import resource_named

    resource = resource_named(kind)
    answer = world.client.transport.request("GET", f"/apis/{resource.group}/{resource.version}")
    served = orjson.loads(answer.body).get("resources") if answer.status == 200 else None
    listed = {str(one["name"]): one for one in served or ()}
    main, status = listed.get(resource.plural) or {}, listed.get(f"{resource.plural}/status") or {}
    ok = main.get("kind") == kind and main.get("namespaced") is True and bool(status)
    world.check(
        ok, f"discovery lists {kind}", expected=f"{resource.plural}, namespaced, /status", observed=show(listed)
    )


@given('claim "{claim}" has {count:d} other consumers')
@when('claim "{claim}" has {count:d} more consumers')
def _(world: World, claim: str, count: int) -> None:
    """Put pods that do not exist into reservedFor."""

    def change(obj: Obj) -> None:
        users = obj.setdefault("status", {}).setdefault("reservedFor", [])
        start = len(users)
        users += [{"resource": "pods", "name": f"p{n}", "uid": f"uid-{n}"} for n in range(start, start + count)]

    wanted = len(
        ((world.update(RESOURCE_CLAIMS, claim, change, subresource="status")).get("status") or {})["reservedFor"]
    )
    world.require(
        "the consumers are seen",
        lambda: (len((world.seen(RESOURCE_CLAIMS, claim) or {})["status"].get("reservedFor") or ()) == wanted, "fewer"),
    )
    world.settle()


# -- claims by their pods ----------------------------------------------------------------------------------------------


def claim_of(world: World, pod: str, reference: str) -> str:
    """The name of the claim behind a pod's own name for it; empty while it is not known."""
    seen = world.seen(PODS, pod) or {}
    for found in (seen.get("spec") or {}).get("resourceClaims") or ():
        if found.get("name") == reference and found.get("resourceClaimName"):
            return str(found["resourceClaimName"])
    for status in (seen.get("status") or {}).get("resourceClaimStatuses") or ():
        if status.get("name") == reference:
            return str(status.get("resourceClaimName") or "")
    return ""


@given('the claim of pod "{pod}" called "{reference}" is known as "{name}"')
def _(world: World, pod: str, reference: str, name: str) -> None:
    """Wait for the claim of a template, and remember it under a name."""
    world.require(
        f"pod {pod} has its claim", lambda: (bool(found := claim_of(world, pod, reference)), found or "no claim yet")
    )
    world.memory[f"known/{name}"] = claim_of(world, pod, reference)


@then('the claim known as "{name}" holds the devices "{devices}" and is reserved for pod "{pod}"')
def _(world: World, name: str, devices: str, pod: str) -> None:
    """Status of a generated claim: these devices, this pod."""
    claim = world.memory[f"known/{name}"]

    def look() -> Seen:
        status = (world.seen(RESOURCE_CLAIMS, claim) or {}).get("status") or {}
        uids = [user.get("uid") for user in status.get("reservedFor") or ()]
        held = devices_in(status.get("allocation"))
        return held == sorted(words(devices)) and uids == [uid_of(world.seen(PODS, pod) or {})], status

    world.eventually(f"claim {claim} of {pod}", look, expected=f"{devices}, reserved for {pod}")


@then('the claim of pod "{pod}" called "{reference}" is allocated what its BindRequest gave it')
def _(world: World, pod: str, reference: str) -> None:
    """Devices and configuration of claim and entry are the same."""

    def look() -> Seen:
        claim = world.seen(RESOURCE_CLAIMS, claim_of(world, pod, reference))
        held = ((claim or {}).get("status") or {}).get("allocation") or {}
        given_by = entries_of(request_of(world, pod)).get(reference) or {}
        same = bool(held) and held.get("devices") == given_by.get("devices")
        return same, {"claim": held.get("devices"), "BindRequest": given_by.get("devices")}

    world.eventually(f"claim {reference} of {pod} is allocated as requested", look, expected="the same devices")


@then('claim "{claim}" keeps the devices "{devices}"')
def _(world: World, claim: str, devices: str) -> None:
    """The allocation is and stays this one."""

    def look() -> Seen:
        held = devices_in(((world.seen(RESOURCE_CLAIMS, claim) or {}).get("status") or {}).get("allocation"))
        return held == sorted(words(devices)), held or "not allocated"

    world.stays(f"claim {claim} keeps its devices", look, expected=sorted(words(devices)))


@then("{count:d} claims come to be allocated, and no device is in two of them")
def _(world: World, count: int) -> None:
    """So many claims hold devices, each its own."""

    def look() -> Seen:
        claims = world.all_seen(RESOURCE_CLAIMS)
        held = [(one["driver"], one["pool"], one["device"]) for claim in claims for one in results_of(claim)]
        allocated = sum(bool(results_of(claim)) for claim in claims)
        return allocated == count and len(held) == len(set(held)), sorted(held)

    world.wait(look)
    world.stays("each device is in one claim", look, expected=f"{count} allocated claims, all devices distinct")


@given('a ResourceClaimTemplate "{template}" for every "{name}"')
def _(world: World, template: str, name: str) -> None:
    """A template of claims for all devices of a class on one node."""
    spec = {
        "devices": {
            "requests": [{"name": "gpu", "exactly": {"deviceClassName": world.name(name), "allocationMode": "All"}}]
        }
    }
    world.create(template_object(world, template, spec))


@given('claim "{claim}" is not reserved yet for pod "{pod}"')
def _(world: World, claim: str, pod: str) -> None:
    """State, for a reader, that reservedFor is empty; a precondition that is checked."""
    world.require(
        f"claim {claim} has no consumer",
        lambda: (not ((world.get(RESOURCE_CLAIMS, claim).get("status") or {}).get("reservedFor")), "it has"),
    )


@given('pod "{pod}" gets into claim "{claim}" while the binder writes it')
def _(world: World, pod: str, claim: str) -> None:
    """Refuse the binder's next status update with a conflict that is real: somebody else was first."""
    rival = world.get(PODS, pod)

    def reserve(obj: Obj) -> None:
        users = obj.setdefault("status", {}).setdefault("reservedFor", [])
        users.append({"resource": "pods", "name": pod, "uid": uid_of(rival)})

    def act() -> None:
        world.update(RESOURCE_CLAIMS, claim, reserve, subresource="status")

    faults.before_status_update(world, claim=claim, act=act)


# -- pods of the same name ---------------------------------------------------------------------------------------------


@when('a pod "{pod}" without claims is created')
def _(world: World, pod: str) -> None:
    """A pod that needs no devices, as what happens in the scenario."""
    world.create(pod_object(world, pod, [], scheduler=scheduler_of(world)))


@given('pod "{pod}" is replaced by another of its name while the binder writes claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """Once the binder writes the claim: delete the pod at once and create it again, with the same name."""
    former = world.get(PODS, pod)
    world.memory[f"former/{pod}"] = uid_of(former)

    def replace() -> None:
        world.client.delete(PODS, pod, world.namespace, grace_period_seconds=0)
        claims = former["spec"]["resourceClaims"]
        world.client.create(PODS, pod_object(world, pod, claims, scheduler=former["spec"]["schedulerName"]))

    faults.before_status_update(world, claim=claim, act=replace)


@then('the API server has replaced pod "{pod}"')
def _(world: World, pod: str) -> None:
    """There is a pod of this name with another uid than before."""

    def look() -> Seen:
        uid = uid_of(world.seen(PODS, pod) or {})
        return uid not in ("", world.memory[f"former/{pod}"]), uid or "no such pod"

    world.eventually(f"pod {pod} is another one", look, expected="another uid")


@given('a pod "{pod}" without claims in a namespace of its own')
def _(world: World, pod: str) -> None:
    """A pod outside the scenario's namespace."""
    other = f"{world.namespace}-other"
    metadata: Obj = {"name": other, "labels": {"dra-conformance/run": world.run.run_id}}
    world.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    obj = pod_object(world, pod, [], scheduler=scheduler_of(world))
    obj["metadata"]["namespace"] = other
    world.create(obj)
    world.cleanup.callback(world.client.delete, PODS, pod, other, grace_period_seconds=0)


@then('the pod "{pod}" of the other namespace stays unbound')
def _(world: World, pod: str) -> None:
    """Nobody binds it."""

    def look() -> Seen:
        seen = world.observer.get(PODS, pod, f"{world.namespace}-other")
        where = ((seen or {}).get("spec") or {}).get("nodeName")
        return seen is not None and not where, where or ("not bound" if seen else "no such pod")

    world.stays(f"pod {pod} of the other namespace is not bound", look, expected="not bound")


@then('the CDI files of "{node}" come to be those of before')
def _(world: World, node: str) -> None:
    """What was prepared on the node is unprepared in the end: a pod that is deleted at once is cleaned up after it."""
    before: set[str] = world.memory["cdi-before"]

    def look() -> Seen:
        left = sorted(files(world, node) - before)
        return not left, left or "the same"

    world.eventually("CDI files of the claim are removed", look, expected=sorted(before))
