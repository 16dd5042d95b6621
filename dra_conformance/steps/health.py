"""Health of devices: what drivers report over their streams, and what becomes of it in the status of pods."""

from __future__ import annotations

import dataclasses
import json

from dra_api.client import KubeClient
from dra_api.objects import PODS, Obj
from dra_api.rpc import HealthStatus
from dra_conformance.components.health_driver import HealthDriver
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet.errors import DriverNotRegistered
from dra_conformance.steps.claims import allocate_by_hand, claim_object
from dra_conformance.steps.nodes import plain_devices, publish, simulated_driver, slice_object
from dra_conformance.steps.pods import BY_HAND, by_name, pod_object

_SHARED = "shared"


def health_driver(world: World, node: str) -> HealthDriver:
    """The harness's driver on a node. Raises SpecificationError when the scenario did not start it."""
    found = world.memory.get(f"health-driver {node}")
    if not isinstance(found, HealthDriver):
        raise SpecificationError(f"{world.scenario.where}: no driver that reports health runs on {node}")
    return found


def start_health_driver(world: World, alias: str, count: int) -> HealthDriver:
    """A kubelet, a driver of the harness's own beside it, and its slice."""
    node = world.node(alias)
    node.start_kubelet()
    devices = plain_devices(count)
    driver = HealthDriver(
        KubeClient(world.run.component_transport("health-driver"), user_agent="health-driver"),
        name=simulated_driver(world),
        pool=node.name,
        devices=[device["name"] for device in devices],
        plugins_dir=node.kubelet.plugins_dir,
        registration_dir=node.kubelet.registration_dir,
        clock=world.clock,
    )
    driver.start()
    world.cleanup.callback(driver.stop)
    world.memory[f"health-driver {alias}"] = driver
    try:
        node.kubelet.wait_registered(driver.name, max(world.run.patience, 20.0))
    except DriverNotRegistered as error:
        raise Untestable(str(error)) from error
    publish(world, slice_object(world, alias, devices))
    return driver


def report(world: World, device: str, node: str, health: str, *, message: str = "", seconds: int = 0) -> None:
    """Let the harness's driver report one device anew."""
    known = {"Healthy": HealthStatus.HEALTHY, "Unhealthy": HealthStatus.UNHEALTHY, "Unknown": HealthStatus.UNKNOWN}
    if health not in known:
        raise SpecificationError(f"{health!r} is none of {', '.join(known)}")
    health_driver(world, node).say(device, known[health], message=message, timeout_seconds=seconds)


def health_entries(pod: Obj | None, container: str = "") -> dict[str, list[Obj]]:
    """The allocatedResourcesStatus of a pod's container (default: its first), by entry name."""
    for status in ((pod or {}).get("status") or {}).get("containerStatuses") or ():
        if status["name"] == container or not container:
            entries = status.get("allocatedResourcesStatus") or ()
            return {entry["name"]: list(entry.get("resources") or ()) for entry in entries}
    return {}


def shown_health(resources: list[Obj]) -> list[str]:
    """The health of the resources of one entry, sorted; devices have no order there."""
    return sorted(str(resource.get("health")) for resource in resources)


@given('the kubelet of "{node}" has the gate {gate:word} off')
def _(world: World, node: str, gate: str) -> None:
    """Turn a feature gate of a kubelet off that is yet to be started."""
    fields = {
        "ResourceHealthStatus": "resource_health_status",
        "ResourceHealthStatusMessage": "resource_health_status_message",
    }
    if gate not in fields:
        raise SpecificationError(f"the kubelet's gate is one of {', '.join(fields)}, not {gate}")
    kubelet = world.node(node).harness_kubelet
    kubelet.gates = dataclasses.replace(kubelet.gates, **{fields[gate]: False})


@given('node "{node}" running a driver that reports the health of {count:d} devices')
def _(world: World, node: str, count: int) -> None:
    """A kubelet and a driver of the harness's own, whose devices (dev-0 …) are all Healthy."""
    start_health_driver(world, node, count)


@given('the devices "{devices}" of "{node}" share one CDI id')
def _(world: World, devices: str, node: str) -> None:
    """The harness's driver answers the same CDI device for all of these."""
    kind = f"{simulated_driver(world)}/device"
    spec = {
        "cdiVersion": "0.5.0",
        "kind": kind,
        "devices": [{"name": _SHARED, "containerEdits": {"env": ["SHARED=yes"]}}],
    }
    path = world.node(node).kubelet.cdi_roots[0] / f"{simulated_driver(world)}.json"
    path.write_text(json.dumps(spec))
    for name in words(devices):
        health_driver(world, node).cdi_ids[name] = (f"{kind}={_SHARED}",)


@given('pod "{pod}" runs on devices "{devices}" of "{node}", a container for each')
def _(world: World, pod: str, devices: str, node: str) -> None:
    """A pod bound by hand; its claim (of the same name) has a request for each device, named like it."""
    names = words(devices)
    exactly = {"deviceClassName": f"paper-{world.suffix}"}
    requests = [{"name": name, "exactly": exactly} for name in names]
    world.create(claim_object(world, pod, {"devices": {"requests": requests}}))
    containers = [
        {
            "name": f"on-{name}",
            "image": "registry.k8s.io/pause:3.10",
            "resources": {"claims": [{"name": pod, "request": name}]},
        }
        for name in names
    ]
    owner = world.create(pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND, containers=containers))
    base = {"driver": simulated_driver(world), "pool": world.name(node)}
    results = [{**base, "request": name, "device": name} for name in names]
    allocate_by_hand(world, pod, world.name(node), results, pods=[owner])
    world.client.bind(owner, world.name(node))


@given('pod "{pod}" runs on devices "{devices}" of "{node}"')
def _(world: World, pod: str, devices: str, node: str) -> None:
    """A pod bound by hand; its claim (of the same name) has one request, and its container gets all devices."""
    names = words(devices)
    exactly = {"deviceClassName": f"paper-{world.suffix}", "allocationMode": "ExactCount", "count": len(names)}
    world.create(claim_object(world, pod, {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}))
    owner = world.create(pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND))
    base = {"request": "gpu", "driver": simulated_driver(world), "pool": world.name(node)}
    allocate_by_hand(world, pod, world.name(node), [{**base, "device": name} for name in names], pods=[owner])
    world.client.bind(owner, world.name(node))


@when('device "{device}" of "{node}" is reported {health:word}')
def _(world: World, device: str, node: str, health: str) -> None:
    """The harness's driver reports a device as Healthy, Unhealthy or Unknown."""
    report(world, device, node, health)


@when('device "{device}" of "{node}" is reported {health:word} because of "{message}"')
def _(world: World, device: str, node: str, health: str, message: str) -> None:
    """The harness's driver reports a device and says why."""
    report(world, device, node, health, message=message)


@when('device "{device}" of "{node}" is reported {health:word} for {seconds:d} seconds')
def _(world: World, device: str, node: str, health: str, seconds: int) -> None:
    """The harness's driver reports a device and says how long that holds."""
    report(world, device, node, health, seconds=seconds)


@when('device "{device}" of "{node}" is reported {health:word} with a message of {count:d} letters')
def _(world: World, device: str, node: str, health: str, count: int) -> None:
    """The harness's driver reports a device with a message of this length."""
    report(world, device, node, health, message="x" * count)


@when('the driver of "{node}" ends its health streams')
def _(world: World, node: str) -> None:
    """The harness's driver hangs up on whoever watches, and on whoever asks again."""
    health_driver(world, node).end_streams()


@when('the driver of "{node}" takes health streams again')
def _(world: World, node: str) -> None:
    """Whoever asks the harness's driver for its health gets a stream again."""
    health_driver(world, node).take_streams()


@given('pod "{pod}" has shown the health "{health}" for "{entry}"')
def _(world: World, pod: str, health: str, entry: str) -> None:
    """Go on once the pod's status shows this; the scenario starts from there."""
    wanted = sorted(words(health))

    def look() -> Seen:
        entries = health_entries(world.seen(PODS, pod))
        return shown_health(entries.get(entry, [])) == wanted, entries or "no allocatedResourcesStatus"

    world.require(f"pod {pod} shows the health of its devices", look)


@then('pod "{pod}" shows the health "{health}" for "{entry}"')
def _(world: World, pod: str, health: str, entry: str) -> None:
    """The first container comes to show an entry, such as claim:train, with a device of each of these healths."""
    wanted = sorted(words(health))

    def look() -> Seen:
        entries = health_entries(world.seen(PODS, pod))
        return shown_health(entries.get(entry, [])) == wanted, entries or "no allocatedResourcesStatus"

    world.eventually(f"health of the devices of {pod}", look, expected={entry: wanted})


@then('container "{container}" of pod "{pod}" shows the health "{health}" for "{entry}" and nothing else')
def _(world: World, container: str, pod: str, health: str, entry: str) -> None:
    """A container comes to show this entry alone, with a device of each of these healths."""
    wanted = sorted(words(health))

    def look() -> Seen:
        entries = health_entries(world.seen(PODS, pod), container)
        ok = list(entries) == [entry] and shown_health(entries[entry]) == wanted
        return ok, entries or "no allocatedResourcesStatus"

    world.eventually(f"health of the devices of {container}", look, expected={entry: wanted})


@then('pod "{pod}" still shows the health "{health}" for "{entry}"')
def _(world: World, pod: str, health: str, entry: str) -> None:
    """The entry has a device of each of these healths, also after everything has come to rest."""
    wanted = sorted(words(health))

    def look() -> Seen:
        entries = health_entries(world.seen(PODS, pod))
        return shown_health(entries.get(entry, [])) == wanted, entries or "no allocatedResourcesStatus"

    world.stays(f"health of the devices of {pod}", look, expected={entry: wanted})


@then('pod "{pod}" shows no health')
def _(world: World, pod: str) -> None:
    """No container of the pod has an allocatedResourcesStatus, also after everything has come to rest."""

    def look() -> Seen:
        seen = world.seen(PODS, pod)
        statuses = ((seen or {}).get("status") or {}).get("containerStatuses") or ()
        shown = [status.get("allocatedResourcesStatus") for status in statuses]
        return seen is not None and not any(shown), shown or "no container status"

    world.stays(f"pod {pod} shows no health", look, expected="no allocatedResourcesStatus")


@then('pod "{pod}" shows the health message "{message}" for "{entry}"')
def _(world: World, pod: str, message: str, entry: str) -> None:
    """A device of this entry comes to show this message."""

    def look() -> Seen:
        said = [resource.get("message") for resource in health_entries(world.seen(PODS, pod)).get(entry, [])]
        return message in said, said or "no such entry"

    world.eventually(f"health message of {pod}", look, expected=message)


@then('pod "{pod}" shows no health message for "{entry}"')
def _(world: World, pod: str, entry: str) -> None:
    """The devices of this entry show no message, also after everything has come to rest."""

    def look() -> Seen:
        resources = health_entries(world.seen(PODS, pod)).get(entry, [])
        return bool(resources) and not any(r.get("message") for r in resources), resources or "no such entry"

    world.stays(f"no health message of {pod}", look, expected="devices without a message")


@then('pod "{pod}" shows a health message of {count:d} letters that ends in "{end}" for "{entry}"')
def _(world: World, pod: str, count: int, end: str, entry: str) -> None:
    """A device of this entry comes to show a message of this length and end."""

    def look() -> Seen:
        said = [str(r.get("message") or "") for r in health_entries(world.seen(PODS, pod)).get(entry, [])]
        told = [f"{len(message)} letters, …{message[-5:]}" for message in said]
        return any(len(m) == count and m.endswith(end) for m in said), told or "no such entry"

    world.eventually(f"health message of {pod}", look, expected=f"{count} letters, …{end}")
