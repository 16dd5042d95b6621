"""ComputeDomains and their IMEX channels: the controller's objects, a node's ComputeDomain driver, its claims.

No machine here has NVLink between nodes: the IMEX daemons of a domain are stood in for, and what they would tell the
cluster (a daemon pod, an entry in the clique) is real.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import Any

from dra_api.client import AlreadyExists, KubeClient, NotFound
from dra_api.objects import (
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_api.rpc import ClaimRef, PrepareResult, RpcError
from dra_conformance.control_plane.own_objects import CLEANER
from dra_conformance.errors import SpecificationError, Untestable
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError, KubeletError
from dra_conformance.seats.node import DOMAIN_DRIVER
from dra_conformance.steps.claims import allocate_by_hand, claim_object
from dra_conformance.steps.objects import attempt
from dra_conformance.suite import manifests
from dra_conformance.suite.vocabulary import given, then, when
from dra_conformance.suite.world import Seen, World

DRIVER_NAMESPACE = "dra-driver-nvidia-gpu"
LABEL = "resource.nvidia.com/computeDomain"
FINALIZER = "resource.nvidia.com/computeDomain"
CONFIG_API = "resource.nvidia.com/v1beta1"
CHANNEL = re.compile(r"/dev/nvidia-caps-imex-channels/channel(\d+)")
LABEL_TURN = 0.6
"""Seconds in which a driver that takes nodes over does so: it tries waiting claims again several times a second."""
GIVEN_WITHIN = 15.0
"""Least seconds for a channel to be given: all 2048 of them are much to write, and a driver has 45 for a call."""
AT_ONCE = 5.0
"""Seconds in which an answer that waits for nothing arrives, with room for a busy machine; waiting takes 45."""


@dataclass(slots=True)
class Waiting:
    """A Prepare call that may take as long as it likes: its answer, once there is one."""

    ref: ClaimRef
    thread: threading.Thread | None = None
    answer: PrepareResult | None = None
    error: str = ""
    done: threading.Event = field(default_factory=threading.Event)


# -- domains ---------------------------------------------------------------------------------------------------------


def domain_object(world: World, name: str, *, nodes: int = 0, mode: str = "") -> Obj:
    """A ComputeDomain whose channel template is called `<name>-channel`."""
    channel: Obj = {"resourceClaimTemplate": {"name": f"{name}-channel"}}
    if mode:
        channel["allocationMode"] = mode
    return {
        "apiVersion": COMPUTE_DOMAINS.api_version,
        "kind": "ComputeDomain",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"numNodes": nodes, "channel": channel},
    }


def ensure_driver_namespace(world: World) -> None:
    """The driver's namespace, which its installation makes."""
    try:
        world.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": DRIVER_NAMESPACE}}
        )
    except AlreadyExists:
        return


def make_domain(world: World, obj: Obj) -> Obj:
    """Create a ComputeDomain; when the scenario ends its controller may clean up, and what it leaves is removed."""
    ensure_driver_namespace(world)
    created = world.client.create(COMPUTE_DOMAINS, obj)
    world.cleanup.callback(end_domain, world, created)
    world.memory[f"uid {name_of(created)}"] = uid_of(created)
    return created


def end_domain(world: World, domain: Obj) -> None:
    """Delete a domain and all that was made for it."""
    namespace, name, uid = namespace_of(domain), name_of(domain), uid_of(domain)
    world.client.delete_if_there(COMPUTE_DOMAINS, name, namespace)
    cleaner = world.client.as_agent(CLEANER)
    world.log.wait_for(lambda: world.observer.get(COMPUTE_DOMAINS, name, namespace) is None, 1.0)
    for resource, where in (
        (DAEMON_SETS, DRIVER_NAMESPACE),
        (RESOURCE_CLAIM_TEMPLATES, DRIVER_NAMESPACE),
        (RESOURCE_CLAIM_TEMPLATES, namespace),
        (COMPUTE_DOMAIN_CLIQUES, DRIVER_NAMESPACE),
        (PODS, DRIVER_NAMESPACE),
        (COMPUTE_DOMAINS, namespace),
    ):
        for left in cleaner.list(resource, where).items:
            if (meta(left).get("labels") or {}).get(LABEL) == uid or uid_of(left) == uid:
                _remove(cleaner, resource, left)


def _remove(client: KubeClient, resource: Any, obj: Obj) -> None:
    try:
        if meta(obj).get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            client.patch(resource, name_of(obj), patch, namespace_of(obj))
        client.delete(resource, name_of(obj), namespace_of(obj), grace_period_seconds=0)
    except NotFound:
        return


def domain(world: World, name: str) -> Obj:
    """A ComputeDomain as it is now. Raises Untestable when it is gone."""
    try:
        return world.client.get(COMPUTE_DOMAINS, name, world.namespace)
    except NotFound as error:
        raise Untestable(f"there is no ComputeDomain {name}") from error


def daemon_objects(world: World, uid: str) -> dict[str, Obj]:
    """The DaemonSet and the claim template of a domain in the driver's namespace, by kind."""
    found: dict[str, Obj] = {}
    for resource in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES):
        for obj in world.client.list(resource, DRIVER_NAMESPACE, label_selector=f"{LABEL}={uid}").items:
            found[resource.kind] = obj
    return found


@given('a ComputeDomain "{name}" for {nodes:d} nodes')
def _(world: World, name: str, nodes: int) -> None:
    """A domain whose workloads' claim template is called <name>-channel."""
    make_domain(world, domain_object(world, name, nodes=nodes))


@when('a ComputeDomain "{name}" for {nodes:d} nodes with allocationMode {mode:word} is created')
def _(world: World, name: str, nodes: int, mode: str) -> None:
    """The same, as what happens in the scenario."""
    make_domain(world, domain_object(world, name, nodes=nodes, mode=mode))


@when('a ComputeDomain is created with "{path}" set to {value}')
def _(world: World, path: str, value: str) -> None:
    """Send a ComputeDomain that is well-formed but for one field (YAML; null: without it)."""
    obj = domain_object(world, "subject")
    manifests.set_at(obj, path, manifests.parse_value(value))
    attempt(world, lambda: make_domain(world, obj))


@when('the ComputeDomain "{name}" changes "{path}" to {value}')
def _(world: World, name: str, path: str, value: str) -> None:
    """Read, change and write a domain; the API server may refuse."""

    def change() -> Obj:
        obj = domain(world, name)
        manifests.set_at(obj, path, manifests.parse_value(value))
        return world.client.update(COMPUTE_DOMAINS, {**obj, "apiVersion": CONFIG_API, "kind": "ComputeDomain"})

    # The controller adds its finalizer at first: what is refused shall not be refused as a conflict.
    world.settle()
    attempt(world, change)


@given("the IMEX daemons of ComputeDomains are stood in for")
def _(world: World) -> None:
    """Every node that a domain's DaemonSet selects gets a daemon pod, and its entry in the clique becomes Ready."""
    start_daemons(world)


@when("the IMEX daemons of ComputeDomains come up")
def _(world: World) -> None:
    """The same, as what happens in the scenario."""
    start_daemons(world)


def start_daemons(world: World) -> None:
    """Run the stand-in for DaemonSet controller and nvidia-imex until the scenario ends."""
    from reference_impl.compute_domain.daemon import SimulatedImexDaemons

    ensure_driver_namespace(world)
    daemons = SimulatedImexDaemons(
        KubeClient(world.run.part_transport("fabric"), user_agent="imex-daemons"),
        clock=world.clock,
        namespace=DRIVER_NAMESPACE,
    )
    daemons.start()
    world.cleanup.callback(daemons.stop)


@then('the ComputeDomain "{name}" comes to be {status:word}')
def _(world: World, name: str, status: str) -> None:
    """Its status comes to be Ready or NotReady."""

    def look() -> Seen:
        found = (world.seen(COMPUTE_DOMAINS, name) or {}).get("status") or {}
        return found.get("status") == status, found or "no status"

    world.eventually(f"status of ComputeDomain {name}", look, expected=status)


@then('the ComputeDomain "{name}" lists node "{node}" as {status:word}')
def _(world: World, name: str, node: str, status: str) -> None:
    """Its status comes to name the node with this status."""

    def look() -> Seen:
        nodes = ((world.seen(COMPUTE_DOMAINS, name) or {}).get("status") or {}).get("nodes") or []
        wanted = [entry for entry in nodes if entry.get("name") == world.name(node)]
        return [entry.get("status") for entry in wanted] == [status], nodes or "no node"

    world.eventually(f"nodes of ComputeDomain {name}", look, expected={"name": world.name(node), "status": status})


@then('the ComputeDomain "{name}" is held by the finalizer of its driver')
def _(world: World, name: str) -> None:
    """metadata.finalizers comes to hold resource.nvidia.com/computeDomain."""

    def look() -> Seen:
        found = meta(world.seen(COMPUTE_DOMAINS, name) or {}).get("finalizers") or []
        return FINALIZER in found, found or "no finalizer"

    world.eventually(f"finalizer of ComputeDomain {name}", look, expected=FINALIZER)


@then('the ComputeDomain "{name}" has a claim template for its workloads with allocationMode {mode:word}')
def _(world: World, name: str, mode: str) -> None:
    """The template <name>-channel asks for a channel, and its configuration names the domain by uid."""

    def look() -> Seen:
        template = world.seen(RESOURCE_CLAIM_TEMPLATES, f"{name}-channel")
        if template is None:
            return False, "no template"
        devices = template["spec"]["spec"]["devices"]
        configs = [
            (entry.get("opaque") or {}).get("parameters") or {}
            for entry in devices.get("config") or ()
            if (entry.get("opaque") or {}).get("driver") == DOMAIN_DRIVER
        ]
        uid = uid_of(world.seen(COMPUTE_DOMAINS, name) or {})
        ok = (
            any(
                c.get("kind") == "ComputeDomainChannelConfig"
                and c.get("domainID") == uid
                and (c.get("allocationMode") or "Single") == mode
                for c in configs
            )
            and (meta(template).get("labels") or {}).get(LABEL) == uid
        )
        return ok, {"labels": meta(template).get("labels"), "config": configs}

    wanted = {"domainID": "the domain's uid", "allocationMode": mode}
    world.eventually(f"claim template of ComputeDomain {name}", look, expected=wanted)


@then('the ComputeDomain "{name}" has a DaemonSet and a claim template for its daemons')
def _(world: World, name: str) -> None:
    """Both come to be in the driver's namespace, with the domain's label; the DaemonSet selects nodes by it."""
    uid = uid_of(domain(world, name))

    def look() -> Seen:
        found = daemon_objects(world, uid)
        selector: Obj = {}
        if "DaemonSet" in found:
            selector = found["DaemonSet"]["spec"]["template"]["spec"].get("nodeSelector") or {}
        return len(found) == 2 and selector.get(LABEL) == uid, {"found": sorted(found), "nodeSelector": selector}

    wanted = {"found": ["DaemonSet", "ResourceClaimTemplate"], "nodeSelector": {LABEL: uid}}
    world.eventually(f"daemons of ComputeDomain {name}", look, expected=wanted)


@then('nothing is left of the ComputeDomain "{name}"')
def _(world: World, name: str) -> None:
    """The domain, its templates and its DaemonSet come to be gone, and no node has its label."""
    uid = str(world.memory.get(f"uid {name}"))

    def look() -> Seen:
        left = [f"{kind} {name_of(obj)}" for kind, obj in daemon_objects(world, uid).items()]
        if world.seen(COMPUTE_DOMAINS, name) is not None:
            left.append(f"ComputeDomain {name}")
        if world.seen(RESOURCE_CLAIM_TEMPLATES, f"{name}-channel") is not None:
            left.append(f"ResourceClaimTemplate {name}-channel")
        left += [
            f"label of {name_of(node)}"
            for node in world.observer.list(NODES)
            if (meta(node).get("labels") or {}).get(LABEL) == uid
        ]
        return not left, left or "nothing"

    world.eventually(f"ComputeDomain {name} is cleaned up", look, expected="nothing left")


# -- a node's driver -------------------------------------------------------------------------------------------------


def run_domain_driver(world: World, alias: str, inventory: str) -> None:
    """A kubelet and the ComputeDomain driver, registered and published."""
    ensure_driver_namespace(world)
    node = world.node(alias, inventory=inventory)
    node.start_kubelet()
    node.start_fabric_plugin()
    world.require(f"the ComputeDomain driver publishes on {alias}", lambda: (bool(published(world, alias)), "no slice"))
    for obj in domain_slices(world, alias):
        world.track(RESOURCE_SLICES, name_of(obj))


def domain_slices(world: World, alias: str) -> list[Obj]:
    """The ComputeDomain driver's slices of a node."""
    return [
        obj
        for obj in world.observer.list(RESOURCE_SLICES)
        if obj["spec"].get("driver") == DOMAIN_DRIVER and obj["spec"].get("nodeName") == world.name(alias)
    ]


def published(world: World, alias: str) -> list[tuple[str, Any, Any]]:
    """Name, type and id of each device that the ComputeDomain driver publishes on a node."""
    return sorted(
        (
            device["name"],
            ((device.get("attributes") or {}).get("type") or {}).get("string"),
            ((device.get("attributes") or {}).get("id") or {}).get("int"),
        )
        for obj in domain_slices(world, alias)
        for device in obj["spec"].get("devices") or ()
    )


@given('node "{node}" running the ComputeDomain driver on the GPUs of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """A kubelet and the ComputeDomain driver; its GPUs say which NVLink clique the node is in, if any."""
    run_domain_driver(world, node, inventory)


@given("the DeviceClass of IMEX channels")
def _(world: World) -> None:
    """The class that the driver's installation makes and that its claim templates name."""
    for obj in world.manifests("deviceclasses/compute-domain-default-channel.nvidia.com"):
        try:
            world.client.create(DEVICE_CLASSES, obj)
        except AlreadyExists:
            continue
        world.track(DEVICE_CLASSES, name_of(obj))


@given('a channel claim "{claim}" on "{node}" for ComputeDomain "{name}"')
def _(world: World, claim: str, name: str, node: str) -> None:
    """A channel claim for a domain of this namespace, with an allocation written by hand."""
    channel_claim(world, claim, node, uid_of(domain(world, name)))


@given('a channel claim "{claim}" with allocationMode {mode:word} on "{node}" for ComputeDomain "{name}"')
def _(world: World, claim: str, mode: str, node: str, name: str) -> None:
    """A channel claim whose configuration says how many channels it wants."""
    channel_claim(world, claim, node, uid_of(domain(world, name)), allocationMode=mode)


@given('a channel claim "{claim}" on "{node}" for a ComputeDomain that does not exist')
def _(world: World, claim: str, node: str) -> None:
    """A channel claim that names the uid of no domain."""
    channel_claim(world, claim, node, "00000000-0000-4000-8000-000000000000")


@given('a channel claim "{claim}" with an unknown field on "{node}" for ComputeDomain "{name}"')
def _(world: World, claim: str, name: str, node: str) -> None:
    """A channel claim whose configuration has a field that the driver does not know."""
    channel_claim(world, claim, node, uid_of(domain(world, name)), surprise="yes")


@given('a channel claim "{claim}" on "{node}" for a ComputeDomain "{name}" of another namespace')
def _(world: World, claim: str, name: str, node: str) -> None:
    """A channel claim that names a domain of the driver's namespace."""
    obj = domain_object(world, f"{name}-{world.suffix}")
    obj["metadata"]["namespace"] = DRIVER_NAMESPACE
    channel_claim(world, claim, node, uid_of(make_domain(world, obj)))


def channel_claim(world: World, claim: str, node: str, domain_uid: str, **fields: str) -> None:
    """A claim for channel-0 of a node, allocated by hand as scheduler and controller leave it."""
    config = {"apiVersion": CONFIG_API, "kind": "ComputeDomainChannelConfig", "domainID": domain_uid, **fields}
    opaque = {"driver": DOMAIN_DRIVER, "parameters": config}
    requests = [{"name": "channel", "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"}}]
    world.create(claim_object(world, claim, {"devices": {"requests": requests}}))
    result = {"request": "channel", "driver": DOMAIN_DRIVER, "pool": world.name(node), "device": "channel-0"}
    allocation = [{"source": "FromClaim", "requests": ["channel"], "opaque": opaque}]
    allocate_by_hand(world, claim, world.name(node), [result], config=allocation)


def waiting(world: World, claim: str) -> Waiting:
    """The call for a claim. Raises SpecificationError when none was made."""
    found = world.memory.get(f"imex {claim}")
    if not isinstance(found, Waiting):
        raise SpecificationError(f"{world.scenario.where}: no step asked to prepare {claim}")
    return found


def ask(world: World, claim: str, node: str) -> Waiting:
    """Call Prepare in a thread of its own; the log wakes who waits for the answer."""
    obj = world.get(RESOURCE_CLAIMS, claim)
    call = Waiting(ClaimRef(world.namespace, uid_of(obj), claim))
    plugin = world.node(node).domain_plugin

    def run() -> None:
        try:
            answers = plugin.prepare([call.ref], timeout=60.0)
            call.answer = answers.get(call.ref.uid)
            call.error = call.answer.error if call.answer else "the answer has no entry for the claim"
        except (RpcError, KubeletError) as error:
            call.error = f"the call failed: {error}"
        call.done.set()
        world.log.emit("answer", claim=claim, error=call.error)

    call.thread = threading.Thread(target=run, name=f"prepare-{claim}", daemon=True)
    world.memory[f"imex {claim}"] = call
    call.thread.start()
    return call


@given('the channel of claim "{claim}" has been prepared on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Prepare a channel claim; the scenario starts from there."""
    call = ask(world, claim, node)
    world.require(f"claim {claim} is prepared", lambda: (call.done.is_set() and not call.error, call.error or "waits"))


@when('the channel of claim "{claim}" is asked for on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Prepare and do not wait for the answer."""
    ask(world, claim, node)


@when('the channel of claim "{claim}" is given back on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Unprepare."""
    try:
        answers = world.node(node).domain_plugin.unprepare([waiting(world, claim).ref], timeout=45.0)
    except (RpcError, KubeletError) as error:
        raise Untestable(f"Unprepare failed: {error}") from error
    if any(answers.values()):
        raise Untestable(f"Unprepare failed: {answers}")


@then('the ComputeDomain driver on "{node}" publishes channel 0 and daemon 0 only')
def _(world: World, node: str) -> None:
    """Its slices hold exactly channel-0 of type channel and daemon-0 of type daemon, both with id 0."""
    wanted = [("channel-0", "channel", 0), ("daemon-0", "daemon", 0)]
    world.eventually(
        f"devices of the ComputeDomain driver on {node}",
        lambda: (published(world, node) == wanted, published(world, node)),
        expected=wanted,
    )


@then('node "{node}" has joined the ComputeDomain "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The Node comes to have the label of the domain."""
    wanted = uid_of(domain(world, name))

    def look() -> Seen:
        found = (meta(world.seen(NODES, world.name(node)) or {}).get("labels") or {}).get(LABEL)
        return found == wanted, found or "no label"

    world.eventually(f"label of {node}", look, expected=wanted)


@then('node "{node}" stays in the ComputeDomain "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The Node has the label of the domain all the while that others ask for it."""
    wanted = uid_of(domain(world, name))

    def look() -> Seen:
        found = (meta(world.seen(NODES, world.name(node)) or {}).get("labels") or {}).get(LABEL)
        return found == wanted, found or "no label"

    world.stays(f"label of {node}", look, expected=wanted, seconds=max(world.run.quiet, LABEL_TURN))


@then('node "{node}" has left all ComputeDomains')
def _(world: World, node: str) -> None:
    """The Node comes to have no label of a domain."""

    def look() -> Seen:
        found = (meta(world.seen(NODES, world.name(node)) or {}).get("labels") or {}).get(LABEL)
        return found is None, found or "no label"

    world.eventually(f"label of {node}", look, expected="no label")


@then('the channel of claim "{claim}" is given')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer without an error, with one device, channel-0, and its CDI id."""
    call = waiting(world, claim)

    def look() -> Seen:
        devices = call.answer.devices if call.answer else ()
        ok = call.done.is_set() and not call.error
        return (
            ok and [d.device_name for d in devices] == ["channel-0"] and len(devices[0].cdi_device_ids) == 1,
            call.error or ([f"{d.device_name} {d.cdi_device_ids}" for d in devices] or "no answer yet"),
        )

    within = max(world.run.patience, GIVEN_WITHIN)
    world.eventually(f"claim {claim} is prepared", look, expected="channel-0 with one CDI id", within=within)


@then('claim "{claim}" is prepared without any channel')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer without an error, with channel-0 and no CDI id."""
    call = waiting(world, claim)

    def look() -> Seen:
        devices = call.answer.devices if call.answer else ()
        ok = call.done.is_set() and not call.error and bool(devices)
        return (
            ok and not any(d.cdi_device_ids for d in devices),
            call.error or ([f"{d.device_name} {d.cdi_device_ids}" for d in devices] or "no answer yet"),
        )

    world.eventually(f"claim {claim} is prepared", look, expected="channel-0 without CDI ids")


@then('the channel of claim "{claim}" is not given yet')
def _(world: World, claim: str) -> None:
    """Prepare has not succeeded, also after everything has come to rest."""
    call = waiting(world, claim)

    def look() -> Seen:
        return not (call.done.is_set() and not call.error), call.error or ("given" if call.done.is_set() else "waits")

    world.stays(f"claim {claim} is not prepared", look, expected="no channel")


@then('the channel of claim "{claim}" is refused at once')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer with an error of the claim, without waiting for anything."""
    call = waiting(world, claim)

    def look() -> Seen:
        told = call.answer.error if call.answer else ""
        return call.done.is_set() and bool(told), call.error or ("given" if call.done.is_set() else "no answer yet")

    world.eventually(f"claim {claim} is refused", look, expected="an error of the claim", within=AT_ONCE)


@then('the refusal of claim "{claim}" says "{text}"')
def _(world: World, claim: str, text: str) -> None:
    """The error that Prepare answered holds this text."""
    error = waiting(world, claim).error
    world.check(text in error, f"claim {claim} tells why", expected=f"a text with {text!r}", observed=error)


@then('claim "{claim}" brings {count:d} channels on "{node}"')
def _(world: World, claim: str, count: int, node: str) -> None:
    """Its CDI ids resolve to device nodes of the channels 0 to count - 1, character devices, and of no other."""
    call = waiting(world, claim)
    ids = [device_id for device in (call.answer.devices if call.answer else ()) for device_id in device.cdi_device_ids]
    try:
        found = CDIRegistry.read(world.node(node).kubelet.cdi_roots).resolve(ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=ids, observed=str(error))
        return
    nodes = [node_ for device in found for node_ in device.edits.get("deviceNodes") or ()]
    numbers = sorted(int(m[1]) for entry in nodes if (m := CHANNEL.fullmatch(entry["path"])))
    ok = numbers == list(range(count)) and all(entry.get("type", "c") == "c" for entry in nodes)
    world.check(ok, "channels of the claim", expected=f"channels 0 to {count - 1}", observed=numbers[:5] or nodes[:3])


@then('container "{container}" of pod "{pod}" on "{node}" gets IMEX channel 0 only')
def _(world: World, container: str, pod: str, node: str) -> None:
    """The container has the device node of channel 0 and of no other channel."""
    try:
        view = world.node(node).kubelet.wait_running(world.namespace, pod, world.run.patience)[container]
    except KubeletError as error:
        world.check(False, f"pod {pod} runs", expected="a running container", observed=str(error))
        return
    found = [path for path in view.device_paths() if "imex" in path]
    wanted = ["/dev/nvidia-caps-imex-channels/channel0"]
    world.check(found == wanted, f"device nodes of {container}", expected=wanted, observed=found)
