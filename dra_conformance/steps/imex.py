"""The ComputeDomain driver of a node: its starts, its devices, and claims for IMEX channels and daemons."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_api.allocations import results_of
from dra_api.client import AlreadyExists
from dra_api.objects import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_api.rpc import ClaimRef, PrepareResult, RpcError
from dra_conformance.components.node import DOMAIN_DRIVER, FABRIC_PLUGIN, DriverEnded
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, StartFailed, Untestable
from dra_conformance.core.events import ClockAdvanced, PrepareReturned
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.claim_users import allocate_in_use
from dra_conformance.steps.claims import allocation_on, claim_object, template_object
from dra_conformance.steps.compute_domain_objects import CLASSES, KINDS, NO_DOMAIN
from dra_conformance.steps.compute_domains import (
    CLIQUE_OF_NODE,
    advance,
    domain_object,
    ensure_driver_namespace,
    make_domain,
)
from dra_conformance.steps.containers import view_of_claim
from dra_conformance.steps.driver_calls import calls, reference_to
from dra_conformance.steps.driver_claims import CONFIG_API
from dra_conformance.steps.mig import capability_minor
from dra_conformance.steps.node_faults import CHANNEL_MODULE
from dra_conformance.steps.pods import BY_HAND, by_name, create_other_namespace, event_text, events_about, pod_object
from dra_conformance.steps.proc_devices import character_devices
from dra_conformance.steps.uids import CreatedDomains
from reference_impl.errors import ComponentError

GIVEN_WITHIN = 15.0
"""Least seconds to wait for a channel: all 2048 of them take long to write, and a driver has 45 for a call."""
AT_ONCE = 5.0
"""Seconds in which a response arrives that waits for nothing, on a busy machine too; a driver that waits takes 45."""
END_WITHIN = 10.0
"""Seconds in which a program ends that refuses its flags, on a busy machine too."""
CHANNEL_MODE = "666"
CONTROLLER = "compute-domain-controller"
OTHER_DRIVER = "other.example.com"
CHANNEL = re.compile(r"/dev/nvidia-caps-imex-channels/channel(\d+)")


# -- the driver --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Starts:
    """Why the ComputeDomain driver of a node did not start the last time; empty if it did."""

    problem: dict[str, str] = field(default_factory=dict)


def start(world: World, alias: str, flags: str) -> str:
    """Start the ComputeDomain driver. Return why it ended; empty if it runs and is registered."""
    try:
        world.node(alias).start_fabric_plugin(flags.split())
    except (ComponentError, DriverEnded) as error:
        return str(error)
    except StartFailed as error:
        return error.problem
    return ""


def domain_slices(world: World, alias: str) -> list[Obj]:
    """Return the slices of a node's ComputeDomain driver."""
    return [
        obj
        for obj in world.observer.list(RESOURCE_SLICES)
        if obj["spec"].get("driver") == DOMAIN_DRIVER and obj["spec"].get("nodeName") == world.name(alias)
    ]


def published(world: World, alias: str) -> list[tuple[str, Any, Any]]:
    """Return name, type and id of each device that a node's ComputeDomain driver publishes."""
    return sorted(
        (
            device["name"],
            ((device.get("attributes") or {}).get("type") or {}).get("string"),
            ((device.get("attributes") or {}).get("id") or {}).get("int"),
        )
        for obj in domain_slices(world, alias)
        for device in obj["spec"].get("devices") or ()
    )


@given('node "{node}" with a kubelet and the GPUs of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """A node with a kubelet and fake GPUs, without a driver."""
    ensure_driver_namespace(world)
    world.node(node, inventory=inventory).start_kubelet()


@given('node "{node}" running the ComputeDomain driver on the GPUs of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """A kubelet and the ComputeDomain driver; the GPUs report the NVLink clique of the node, if it is in one."""
    run_domain_driver(world, node, inventory)


@given('node "{node}" running the ComputeDomain driver as a process on the GPUs of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """The same, and the driver is a process of its own, which can be killed."""
    world.node(node, inventory=inventory).plugin_as_process = True
    run_domain_driver(world, node, inventory)


@given('node "{node}" running the ComputeDomain driver on the GPUs of "{inventory}" in NVLink clique {clique:d}')
def _(world: World, node: str, inventory: str, clique: int) -> None:
    """The same, and the GPUs report this number as their clique in the cluster of the inventory."""
    run_domain_driver(world, node, inventory, clique=clique)


def run_domain_driver(world: World, node: str, inventory: str, *, clique: int | None = None) -> None:
    """Start a kubelet and the ComputeDomain driver on a node, and wait until the driver publishes.

    The Node has the label of its clique, from which the simulated daemons know it, whether the driver sets it or not.
    """
    ensure_driver_namespace(world)
    component = world.node(node, inventory=inventory)
    for index in range(len(component.gpus.gpus) if clique is not None else 0):
        component.gpus.set(index, "fabric_clique_id", clique)
    component.start_kubelet()
    if cluster := cluster_of(world, inventory):
        number = clique_number(world, inventory) if clique is None else clique
        labels = {CLIQUE_OF_NODE: f"{cluster}.{number}"}
        world.client.patch(NODES, world.name(node), {"metadata": {"labels": labels}})
    try:
        component.start_fabric_plugin(())
    except DriverEnded as error:
        raise component.plugin_never_came(error) from None
    except ComponentError as error:
        raise StartFailed(FABRIC_PLUGIN, error) from error
    world.require(f"the ComputeDomain driver publishes on {node}", lambda: (bool(published(world, node)), "no slice"))
    # Tracked, because the driver does not delete its slices when it stops.
    for obj in domain_slices(world, node):
        world.track(RESOURCE_SLICES, name_of(obj))


def cluster_of(world: World, inventory: str) -> str:
    """Return the cluster UUID of an inventory's GPUs; empty if they are in no cluster."""
    cluster = world.run.inventory(inventory).gpus[0].cluster_uuid
    return str(uuid.UUID(bytes=cluster)) if any(cluster) else ""


def clique_number(world: World, inventory: str) -> int:
    """Return the clique of an inventory's GPUs in their cluster."""
    return int(world.run.inventory(inventory).gpus[0].value("fabric_clique_id"))


@given('the ComputeDomain controller runs with "{flags}"')
def _(world: World, flags: str) -> None:
    """Restart the controller with these flags for the rest of this scenario."""
    world.components.restart(CONTROLLER, flags=world.text(flags).split())


@given("the DeviceClass of IMEX channels")
def _(world: World) -> None:
    """The class that the driver's installation creates and that its claim templates name."""
    for obj in world.manifests(f"deviceclasses/{CLASSES['channel']}"):
        try:
            world.client.create(DEVICE_CLASSES, obj)
        except AlreadyExists:
            # On a cluster the class belongs to the driver's installation: it is used, and not deleted afterwards.
            continue
        world.track(DEVICE_CLASSES, name_of(obj))


@when('the ComputeDomain driver on "{node}" is started')
def _(world: World, node: str) -> None:
    """Start the driver without flags of the scenario; it may end at once."""
    start_and_track(world, node, "")


@when('the ComputeDomain driver on "{node}" is started with:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """Start the driver with the flags of the table; it may end at once."""
    start_and_track(world, node, " ".join(row[0] for row in datatable[1:]))


def start_and_track(world: World, node: str, flags: str) -> None:
    """Start the ComputeDomain driver of a node, keep why it ended, and delete its slices after the scenario."""
    world.state(Starts).problem[node] = start(world, node, flags)
    for obj in domain_slices(world, node):
        world.track(RESOURCE_SLICES, name_of(obj))


@then('the ComputeDomain driver on "{node}" publishes only "{devices}"')
def _(world: World, node: str, devices: str) -> None:
    """Its slices come to have exactly these devices, such as channel-0: type channel, id 0."""
    wanted = sorted([name, name.rpartition("-")[0], int(name.rpartition("-")[2])] for name in words(devices))

    def look() -> Seen[list[Any]]:
        found: list[Any] = [list(one) for one in published(world, node)]
        problem = world.state(Starts).problem.get(node)
        return found == wanted, [problem] if problem else found

    world.eventually(f"devices of the ComputeDomain driver on {node}", look, expected=wanted)


def an_error(name: str) -> str:
    """Describe an error that has a name in it, if one is given."""
    return f"an error{f' that has {name}' if name else ''}"


def check_end(world: World, what: str, problem: str, name: str = "") -> None:
    """Check that a program ended at start with an error that has this name."""
    ok = bool(problem) and name in problem
    world.check(ok, what, expected=an_error(name), observed=problem or "it runs")


@then('the ComputeDomain driver on "{node}" with "{flags}" does not start')
def _(world: World, node: str, flags: str) -> None:
    """With these flags the driver ends with an error, and does not register."""
    check_driver_end(world, node, flags)


@then('the ComputeDomain driver on "{node}" with "{flags}" does not start, naming "{name}"')
def _(world: World, node: str, flags: str, name: str) -> None:
    """The same, and the error has this name, such as a gate's."""
    check_driver_end(world, node, flags, name)


def check_driver_end(world: World, node: str, flags: str, name: str = "") -> None:
    """Check that the ComputeDomain driver ends at start; see `check_end`."""
    what = f"the ComputeDomain driver does not start{f' with {flags}' if flags else ''}"
    check_end(world, what, start(world, node, flags), name)


@then('the ComputeDomain controller with "{flags}" does not start, naming "{name}"')
def _(world: World, flags: str, name: str) -> None:
    """Restarted with these flags, the controller ends with an error that has this name."""
    check_end(world, f"the ComputeDomain controller does not start with {flags}", restart(world, flags), name)


@then('the ComputeDomain controller with "{flags}" starts')
def _(world: World, flags: str) -> None:
    """Restarted with these flags, the controller runs, also for the rest of the scenario."""
    problem = restart(world, flags)
    what = f"the ComputeDomain controller starts with {flags}"
    world.check(not problem, what, expected="it runs", observed=problem or "it runs")


def restart(world: World, flags: str) -> str:
    """Restart the controller with these flags, and return why it ended; empty if it runs."""
    try:
        world.components.restart(CONTROLLER, flags=flags.split())
        return wait_end(world)
    except ComponentError as error:
        return str(error)


def wait_end(world: World) -> str:
    """Wait until the controller's program ends, and return its last output; empty if it runs on."""
    said: str | None = None

    def ended() -> bool:
        nonlocal said
        said = world.components.ended(CONTROLLER)
        return said is not None

    # Polled: the program has nothing else to observe; one that starts correctly runs without a sign.
    if world.components.spec(CONTROLLER).kind == "exec" and world.poll(ended, END_WITHIN):
        return said or "an end without output"
    return ""


@when('the ComputeDomain driver on "{node}" is restarted')
def _(world: World, node: str) -> None:
    """Stop the driver and start it again with the same flags; it loses all state that it has in memory."""
    world.node(node).stop_fabric_plugin()
    start_again(world, node)


@when('the ComputeDomain driver on "{node}" is killed and started again')
def _(world: World, node: str) -> None:
    """Kill the driver's process, start it again with the same flags, and wait until it is registered again."""
    component = world.node(node)
    before = component.kubelet.plugins.instances(DOMAIN_DRIVER)
    component.kill_fabric_plugin()
    start_again(world, node)

    def look() -> Seen[str]:
        # A driver that is killed leaves its registration, of which the kubelet knows until the next one.
        now = component.kubelet.plugins.instances(DOMAIN_DRIVER)
        fresh = any(one not in before and one.connected for one in now)
        return fresh, "registered" if fresh else component.kubelet.plugins.explain(DOMAIN_DRIVER)

    world.require(f"the ComputeDomain driver on {node} registers again", look, within=max(world.run.patience, 20.0))


def start_again(world: World, node: str) -> None:
    """Start the ComputeDomain driver of a node with its former flags."""
    if problem := start(world, node, " ".join(world.node(node).plugin_flags)):
        raise Untestable(f"the ComputeDomain driver on {node} does not start again: {problem}")


# -- claims ------------------------------------------------------------------------------------------------------------


def domain_claim(world: World, claim: str, node: str, device: str, config: Obj | None) -> None:
    """Create a claim for `<device>-0` of a node, with the allocation that scheduler and controller write."""
    world.create(claim_object(world, claim, domain_spec(device)))
    # A claim that is created again under its name has another uid, which later calls must have.
    calls(world).refs.pop(claim, None)
    allocate_in_use(world, claim, world.name(node), [result_for(world, node, device)], configured(device, config))


def domain_spec(device: str) -> Obj:
    """Return the specification of a claim for one device of a ComputeDomain driver: a channel or a daemon."""
    return {"devices": {"requests": [{"name": device, "exactly": {"deviceClassName": CLASSES[device]}}]}}


def result_for(world: World, node: str, device: str) -> Obj:
    """Return the allocation result for `<device>-0` of a node."""
    return {"request": device, "driver": DOMAIN_DRIVER, "pool": world.name(node), "device": f"{device}-0"}


def configured(device: str, config: Obj | None) -> list[Obj]:
    """Return the configuration of an allocation for a channel or a daemon; None: it has none."""
    if config is None:
        return []
    parameters = {"apiVersion": CONFIG_API, "kind": KINDS[device], **config}
    opaque = {"driver": DOMAIN_DRIVER, "parameters": parameters}
    return [{"source": "FromClaim", "requests": [device], "opaque": opaque}]


def domain_id(world: World, name: str) -> str:
    """Return the uid of a ComputeDomain of the scenario; any other text is a uid itself."""
    created = world.state(CreatedDomains).of_name.get(name)
    return uid_of(created) if created else name


@given('a ComputeDomain "{name}" in another namespace')
def _(world: World, name: str) -> None:
    """A domain in the namespace of the driver."""
    obj = domain_object(world, f"{name}-{world.suffix}")
    obj["metadata"]["namespace"] = world.driver_namespace
    make_domain(world, obj, alias=name)


@given('a {device:word} claim "{claim}" on "{node}" for ComputeDomain "{name}"')
def _(world: World, device: str, claim: str, node: str, name: str) -> None:
    """A claim for channel-0 or daemon-0 of a node, allocated by hand, with the domain's uid in its configuration."""
    if device not in CLASSES:
        raise SpecificationError(f"a ComputeDomain driver has channels and daemons, no {device}")
    domain_claim(world, claim, node, device, {"domainID": domain_id(world, name)})


@given('a channel claim "{claim}" on "{node}" for ComputeDomain "{name}" in a namespace with a longer name')
def _(world: World, claim: str, node: str, name: str) -> None:
    """The same in a second namespace, with the name of the first and a suffix; a pod there uses the claim."""
    other = create_other_namespace(world)
    obj = claim_object(world, claim, domain_spec("channel"))
    user = pod_object(world, claim, [by_name(claim)], scheduler=BY_HAND)
    for one in (obj, user):
        one["metadata"]["namespace"] = other
    created = world.client.create(RESOURCE_CLAIMS, obj)
    consumer = {"resource": "pods", "name": claim, "uid": uid_of(world.client.create(PODS, user))}
    config = configured("channel", {"domainID": domain_id(world, name)})
    results = [result_for(world, node, "channel")]
    allocation = allocation_on(world.name(node), results, config)
    created["status"] = {"allocation": allocation, "reservedFor": [consumer]}
    world.client.update_status(RESOURCE_CLAIMS, created)
    calls(world).refs[claim] = ClaimRef(namespace_of(created), uid_of(created), claim)


@given('a channel claim "{claim}" on "{node}" with {fields}')
def _(world: World, claim: str, node: str, fields: str) -> None:
    """A claim for channel-0, allocated by hand, with these fields (YAML) in its configuration."""
    config = manifests.parse_value(fields)
    domain_claim(world, claim, node, "channel", {**config, "domainID": domain_id(world, config["domainID"])})


@given('a ResourceClaimTemplate "{template}" for a channel with {fields}')
def _(world: World, template: str, fields: str) -> None:
    """A template of the user's own: a channel with these fields (YAML) in its configuration."""
    config = manifests.parse_value(fields)
    parameters = {"apiVersion": CONFIG_API, "kind": KINDS["channel"], **config}
    parameters["domainID"] = domain_id(world, config["domainID"])
    spec = domain_spec("channel")
    spec["devices"]["config"] = [
        {"requests": ["channel"], "opaque": {"driver": DOMAIN_DRIVER, "parameters": parameters}}
    ]
    world.create(template_object(world, template, spec))


@then('an event of pod "{pod}" says the domainID of its claim')
def _(world: World, pod: str) -> None:
    """An event about the pod has the domainID in the configuration of its only claim."""

    def look() -> Seen[list[Any]]:
        wanted = [
            claim["spec"]["devices"]["config"][0]["opaque"]["parameters"]["domainID"]
            for claim in world.all_seen(RESOURCE_CLAIMS)
            if any(owner.get("name") == pod for owner in meta(claim).get("ownerReferences") or ())
        ]
        seen = [event_text(event) for event in events_about(world, "Pod", pod)]
        # The claim is created by a controller, after the pod.
        return len(wanted) == 1 and any(wanted[0] in message for message in seen), seen

    world.eventually(f"messages of the events of {pod}", look, expected=["the domainID of its claim"])


@then('an event of pod "{pod}" names ComputeDomain "{name}", or says that its namespace is another')
def _(world: World, pod: str, name: str) -> None:
    """An event about the pod has the name of the ComputeDomain or the word namespace: the words are the driver's."""
    wanted = (world.name(name), "namespace")

    def look() -> Seen[list[Any]]:
        seen = [event_text(event) for event in events_about(world, "Pod", pod)]
        return any(one in message for message in seen for one in wanted), seen

    world.eventually(f"messages of the events of {pod}", look, expected=[" or ".join(wanted)])


@given('a channel claim "{claim}" on "{node}" without configuration')
def _(world: World, claim: str, node: str) -> None:
    """A claim for channel-0, allocated by hand, that names no ComputeDomain."""
    domain_claim(world, claim, node, "channel", None)


@given('a claim "{claim}" for a channel on "{node}" in ComputeDomain "{name}" and a device of another driver')
def _(world: World, claim: str, node: str, name: str) -> None:
    """A claim with results of two drivers whose configurations name two domains; only one is this driver's."""
    devices = [{"name": one, "exactly": {"deviceClassName": CLASSES["channel"]}} for one in ("other", "channel")]
    world.create(claim_object(world, claim, {"devices": {"requests": devices}}))
    foreign = {"request": "other", "driver": OTHER_DRIVER, "pool": world.name(node), "device": "daemon-0"}
    parameters = {"apiVersion": CONFIG_API, "kind": KINDS["channel"], "domainID": NO_DOMAIN, "unknown": "field"}
    config = [
        {"source": "FromClass", "requests": [], "opaque": {"driver": OTHER_DRIVER, "parameters": parameters}},
        *configured("channel", {"domainID": domain_id(world, name)}),
    ]
    allocate_in_use(world, claim, world.name(node), [foreign, result_for(world, node, "channel")], config)


@when('the channel claim "{claim}" on "{node}" is allocated again with {fields}')
def _(world: World, claim: str, node: str, fields: str) -> None:
    """Deallocate the claim and allocate it again with these fields (YAML) in its configuration; its uid stays."""
    world.update(RESOURCE_CLAIMS, claim, lambda obj: obj.pop("status", None), subresource="status")
    config = manifests.parse_value(fields)
    config = configured("channel", {**config, "domainID": domain_id(world, config["domainID"])})
    allocate_in_use(world, claim, world.name(node), [result_for(world, node, "channel")], config)


# -- calls that may wait -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class PendingCall:
    """A Prepare call that may take long, and its result once there is one."""

    ref: ClaimRef
    thread: threading.Thread | None = None
    result: PrepareResult | None = None
    error: str = ""
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def outcome(self) -> str:
        """The error, the devices with their CDI ids, or that there is no response yet."""
        if not self.done.is_set():
            return "no response yet"
        devices = self.result.devices if self.result else ()
        return self.error or ", ".join(
            f"{list(d.request_names)} {d.pool_name}/{d.device_name} {list(d.cdi_device_ids)}" for d in devices
        )


@dataclass(slots=True)
class PendingCalls:
    """The last Prepare call to a ComputeDomain driver for each claim of the scenario."""

    of_claim: dict[str, PendingCall] = field(default_factory=dict)


def pending(world: World, claim: str) -> PendingCall:
    """Return the call for a claim. Raises SpecificationError if no step made one."""
    found = world.state(PendingCalls).of_claim.get(claim)
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no step called Prepare for {claim}")
    return found


def call_prepare(world: World, claims: Sequence[str], node: str) -> list[PendingCall]:
    """Call Prepare for these claims at once in a thread; an event in the log wakes the steps that wait for a claim."""
    started = {claim: PendingCall(reference_to(world, claim)) for claim in claims}
    plugin = world.node(node).domain_plugin

    def run() -> None:
        results: Mapping[str, PrepareResult] = {}
        failed = ""
        try:
            # Longer than the 45 s of the driver, so that its own response arrives and not a timeout of the call.
            results = plugin.prepare([call.ref for call in started.values()], timeout=60.0)
        except (RpcError, KubeletError) as error:
            failed = f"the call failed: {error}"
        for claim, call in started.items():
            call.result = results.get(call.ref.uid)
            call.error = call.result.error if call.result else failed or "the response has no entry for the claim"
            if call.result is not None and not call.error:
                calls(world).prepared.setdefault(claim, []).append(call.result.devices)
            # Before the event, which wakes the steps that read `done`.
            call.done.set()
            world.log.emit(PrepareReturned(claim=claim, error=call.error))

    thread = threading.Thread(target=run, name=f"prepare-{'-'.join(claims)}", daemon=True)
    for claim, call in started.items():
        call.thread = thread
        world.state(PendingCalls).of_claim[claim] = call
    thread.start()
    return list(started.values())


@given('the ComputeDomain driver on "{node}" has prepared claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """Call Prepare and wait until it succeeds; the scenario cannot go on without it."""
    (call,) = call_prepare(world, [claim], node)
    world.require(f"claim {claim} is prepared", lambda: (call.done.is_set() and not call.error, call.outcome))


@when('Prepare of claim "{claim}" is called on the ComputeDomain driver of "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Prepare without waiting for the response."""
    call_prepare(world, [claim], node)


@when('Prepare of claims "{claims}" is called on the ComputeDomain driver of "{node}"')
def _(world: World, claims: str, node: str) -> None:
    """Call Prepare once for several claims (comma-separated), in this order, without waiting for the response."""
    call_prepare(world, words(claims), node)


@when('Unprepare of claim "{claim}" is called on the ComputeDomain driver of "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Unprepare; it has to succeed."""
    try:
        results = world.node(node).domain_plugin.unprepare([pending(world, claim).ref], timeout=45.0)
    except (RpcError, KubeletError) as error:
        raise Untestable(f"Unprepare failed: {error}") from error
    if any(results.values()):
        raise Untestable(f"Unprepare failed: {results}")


@then('Unprepare of claim "{claim}" succeeds on the ComputeDomain driver of "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Call Unprepare; the response has the claim, without an error."""
    reference = reference_to(world, claim)
    try:
        found = world.node(node).domain_plugin.unprepare([reference], timeout=45.0)
        problem = found.get(reference.uid, "the response has no entry for the claim")
    except (RpcError, KubeletError) as error:
        problem = str(error)
    world.check(not problem, f"Unprepare of {claim} succeeds", expected="no error", observed=problem or "no error")


@when("{seconds:d} seconds pass while claims wait")
def _(world: World, seconds: int) -> None:
    """Advance the clock second by second although calls of Prepare are in flight; for a program, wait."""
    if world.uses_real_time:
        world.clock.wait(threading.Event(), seconds)
    for _second in range(0 if world.uses_real_time else seconds):
        advance(world, 1, within=0.004)
    world.log.emit(ClockAdvanced(advanced=seconds))


@then('Prepare of claim "{claim}" waits')
def _(world: World, claim: str) -> None:
    """The call has not returned yet."""
    call = pending(world, claim)
    world.check(not call.done.is_set(), f"claim {claim} waits", expected="no response yet", observed=call.outcome)


@then('Prepare of claim "{claim}" has failed')
def _(world: World, claim: str) -> None:
    """The call comes to return without devices for the claim."""
    call = pending(world, claim)
    world.eventually(
        f"claim {claim} is not prepared",
        lambda: (call.done.is_set() and bool(call.error), call.outcome),
        expected="an error",
    )


@then('Prepare of claim "{claim}" returns "{devices}"')
def _(world: World, claim: str, devices: str) -> None:
    """The call comes to return exactly these devices of the claim's allocation, with pool and request."""
    check_prepared(world, claim, devices)


def check_prepared(world: World, claim: str, devices: str) -> None:
    """Check that the claim's call comes to return exactly these devices of its allocation."""
    call = pending(world, claim)
    wanted = [
        (result["request"], result["pool"], result["device"])
        for result in results_of(world.get(RESOURCE_CLAIMS, claim))
        if result["driver"] == DOMAIN_DRIVER
    ]
    world.require(f"claim {claim} has {devices}", lambda: ([one[-1] for one in wanted] == words(devices), wanted))

    def shown(request: str, pool: str, device: str) -> str:
        return f"{request} {pool}/{device}"

    def look() -> Seen[str]:
        found = [
            (",".join(one.request_names), one.pool_name, one.device_name)
            for one in (call.result.devices if call.result else ())
        ]
        ok = call.done.is_set() and not call.error and found == wanted
        return ok, in_words([shown(*one) for one in found]) if found else call.outcome

    # In process only the writing of all channels takes long, and a mutant that never returns one would wait every time.
    least = GIVEN_WITHIN if world.uses_real_time or len(wanted) > 1 else AT_ONCE
    within = max(world.run.patience, least)
    expected = in_words([shown(*one) for one in wanted])
    world.eventually(f"claim {claim} is prepared", look, expected=expected, within=within)


@then('Prepare of claim "{claim}" has not succeeded yet')
def _(world: World, claim: str) -> None:
    """The call waits or has failed after everything has settled."""
    call = pending(world, claim)
    world.stays(
        f"claim {claim} is not prepared",
        lambda: (not (call.done.is_set() and not call.error), call.outcome),
        expected="no response yet, or an error",
    )


@then('Prepare of claim "{claim}" fails at once')
def _(world: World, claim: str) -> None:
    """The call returns without waiting, with an error of the claim."""
    check_failed_at_once(world, claim)


@then('Prepare of claim "{claim}" fails at once, naming "{name}"')
def _(world: World, claim: str, name: str) -> None:
    """The same, and the error has this name, such as a field's."""
    check_failed_at_once(world, claim, name)


def check_failed_at_once(world: World, claim: str, name: str = "") -> None:
    """Check that the claim's call returns without waiting, with an error of the claim that has a name in it."""
    call = pending(world, claim)

    def look() -> Seen[str]:
        error = call.result.error if call.result else ""
        return call.done.is_set() and bool(error) and name in error, call.outcome

    world.eventually(f"claim {claim} is refused", look, expected=an_error(name), within=AT_ONCE)


@then('claim "{claim}" adds {count:d} channels on "{node}"')
def _(world: World, claim: str, count: int, node: str) -> None:
    """Its CDI ids resolve to the channels 0 to count - 1 and to no other, with the device numbers of these channels.

    Channel N has the major number of nvidia-caps-imex-channels and the minor number N. A CDI specification without
    numbers leaves them to the host's device node, which must exist then.
    """
    nodes = view_of_claim(world, node, claim).device_nodes
    channels = {int(found[1]): one for one in nodes if (found := CHANNEL.fullmatch(one.path))}
    ok = sorted(channels) == list(range(count)) and all(one.type in ("", "c") for one in nodes)
    others = [f"{one.path} of type {one.type}" for one in nodes if one.type not in ("", "c")]
    # At most five numbers: mode All adds 2048 channels.
    first = in_words(sorted(channels)[:5])
    shown = f"{len(channels)} channels, the first: {first}; no character devices: {in_words(others[:3])}"
    expected = f"{count} channels, the first: {in_words([*range(count)][:5])}; no character devices: none"
    world.check(ok, "channels of the claim", expected=expected, observed=shown)
    major = channel_major(world, node)
    wrong = {
        f"channel{number}": f"{one.major}:{one.minor}"
        for number, one in channels.items()
        # A number of 0 may be left out beside the other one.
        if (one.major, one.minor or 0) != (major, number)
        and not ((one.major, one.minor) == (None, None) and has_channel(world, node, number))
    }
    modes = {f"{one.file_mode or 0:o}" for one in channels.values()}
    world.check(modes == {CHANNEL_MODE}, "modes of the channels", expected=[CHANNEL_MODE], observed=sorted(modes))
    seen = dict([*wrong.items()][:5])
    numbers = {name: f"{major}:{name.removeprefix('channel')}" for name in seen}
    world.check(not wrong, "device numbers of channels with wrong ones", expected=numbers, observed=seen)


@then('claim "{claim}" adds the device of the capability "{capability}" on "{node}"')
def _(world: World, claim: str, capability: str, node: str) -> None:
    """Its CDI ids resolve to the capability's device node among others, with the numbers of the device.

    A CDI specification without numbers leaves them to the container runtime, which takes those of the device file.
    """
    check_capability(world, claim, capability, node, added=True)
    minor = capability_minor(world, node, capability)
    table = (Path(world.node(node).gpus.driver_root) / "proc/devices").read_text(encoding="utf-8")
    wanted = f"{character_devices(table).get('nvidia-caps')}:{minor}"
    for one in view_of_claim(world, node, claim).device_nodes:
        if one.path == f"/dev/nvidia-caps/nvidia-cap{minor}" and one.major is not None:
            numbers = f"{one.major}:{one.minor or 0}"
            world.check(numbers == wanted, f"numbers of {one.path}", expected=wanted, observed=numbers)


@then('claim "{claim}" adds no device of the capability "{capability}" on "{node}"')
def _(world: World, claim: str, capability: str, node: str) -> None:
    """Its CDI ids do not resolve to the capability's device node."""
    check_capability(world, claim, capability, node, added=False)


def check_capability(world: World, claim: str, capability: str, node: str, *, added: bool) -> None:
    """Check whether a claim adds the device node of a capability, whose minor number is in the node's /proc."""
    device = f"/dev/nvidia-caps/nvidia-cap{capability_minor(world, node, capability)}"
    found = [one.path for one in view_of_claim(world, node, claim).device_nodes if "/nvidia-caps/" in one.path]
    expected = device if added else f"not {device}"
    world.check((device in found) == added, f"device of {capability}", expected=expected, observed=in_words(found))


def has_channel(world: World, node: str, number: int) -> bool:
    """Return whether the fake node has the device file of a channel, from which a runtime takes missing numbers."""
    return (Path(world.node(node).gpus.driver_root) / f"dev/{CHANNEL_MODULE}/channel{number}").exists()


def channel_major(world: World, node: str) -> int:
    """Return the major number of channels from the fake node's /proc/devices. Raises Untestable without one."""
    table = Path(world.node(node).gpus.driver_root) / "proc/devices"
    found = character_devices(table.read_text(encoding="utf-8")).get(CHANNEL_MODULE)
    if found is None:
        raise Untestable(f"{table} does not list {CHANNEL_MODULE}")
    return found
