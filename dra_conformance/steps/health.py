"""Health of devices: reports of drivers over their streams, and the health that the status of pods shows."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

from dra_api.client import KubeClient
from dra_api.objects import PODS, Obj
from dra_api.rpc import HEALTH_VERSIONS, DeviceHealth, HealthStatus
from dra_conformance.components.health_driver import HealthDriver
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.errors import DriverNotRegistered
from dra_conformance.kubelet.gates import GATES
from dra_conformance.steps.claims import allocate_by_hand, claim_object
from dra_conformance.steps.nodes import plain_devices, publish, simulated_driver, slice_object
from dra_conformance.steps.pods import BY_HAND, add_pod, by_name, pod_object

_SHARED = "shared"
_SHOWN = 200  # characters of a health message in a report


@dataclasses.dataclass(slots=True)
class HealthDrivers:
    """The drivers that report health for the scenario, by node."""

    of_node: dict[str, HealthDriver] = dataclasses.field(default_factory=dict)


def health_driver(world: World, node: str) -> HealthDriver:
    """Return the harness's driver on a node. Raises SpecificationError if the scenario did not start it."""
    found = world.state(HealthDrivers).of_node.get(node)
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no driver that reports health runs on {node}")
    return found


def start_health_driver(
    world: World, alias: str, count: int, *, name: str, announced: Sequence[str] = HEALTH_VERSIONS
) -> HealthDriver:
    """Start a driver of the harness on a node with a kubelet, and publish the driver's slice."""
    node = world.node(alias)
    devices = plain_devices(count)
    driver = HealthDriver(
        KubeClient(world.run.component_transport("health-driver"), user_agent="health-driver"),
        name=name,
        pool=node.name,
        devices=[device["name"] for device in devices],
        plugins_dir=node.kubelet.plugins_dir,
        registration_dir=node.kubelet.registration_dir,
        clock=world.clock,
        announced=announced,
    )
    driver.start()
    world.cleanup.callback(driver.stop)
    try:
        node.kubelet.wait_registered(driver.name, max(world.run.patience, 20.0))
    except DriverNotRegistered as error:
        raise Untestable(str(error)) from error
    # After the start of the kubelet, which deletes the slices of its node when it starts (rule DRA-285).
    obj = slice_object(world, alias, devices)
    if name != obj["spec"]["driver"]:
        obj["metadata"]["name"] = f"second-{node.name}"
        obj["spec"]["driver"] = name
    publish(world, obj)
    return driver


def report(world: World, device: str, node: str, health: str, *, message: str = "", seconds: int = 0) -> None:
    """Let the harness's driver report the health of one device."""
    health_driver(world, node).say(device, health_of(health), message=message, timeout_seconds=seconds)


def health_of(text: str) -> HealthStatus:
    """Return the health that a step names. Raises SpecificationError for an unknown one."""
    known = {"Healthy": HealthStatus.HEALTHY, "Unhealthy": HealthStatus.UNHEALTHY, "Unknown": HealthStatus.UNKNOWN}
    if text not in known:
        raise SpecificationError(f"{text!r} is none of {', '.join(known)}")
    return known[text]


def health_entries(pod: Obj | None, container: str = "") -> dict[str, list[Obj]]:
    """Return allocatedResourcesStatus of a pod's container (default: the first), by entry name."""
    for status in ((pod or {}).get("status") or {}).get("containerStatuses") or ():
        if status["name"] == container or not container:
            entries = status.get("allocatedResourcesStatus") or ()
            return {entry["name"]: list(entry.get("resources") or ()) for entry in entries}
    return {}


def shown_health(resources: list[Obj]) -> list[str]:
    """Return the health of the resources of one entry, sorted, because devices have no order there."""
    return sorted(str(resource.get("health")) for resource in resources)


@given('the kubelet of "{node}" has the gate {gate:word} {state:word}')
def _(world: World, node: str, gate: str, state: str) -> None:
    """Turn a feature gate of a kubelet that has not started yet `on` or `off`."""
    if gate not in GATES:
        raise SpecificationError(f"the kubelet's gate is one of {', '.join(GATES)}, not {gate}")
    if state not in ("on", "off"):
        raise SpecificationError(f"a gate is on or off, not {state}")
    world.node(node).kubelet.set_gate(gate, state == "on")


@given('node "{node}" running a driver that reports the health of {count:d} devices')
def _(world: World, node: str, count: int) -> None:
    """A kubelet and a driver of the harness, whose devices (dev-0 …) are all Healthy."""
    world.node(node).start_kubelet()
    driver = start_health_driver(world, node, count, name=simulated_driver(world))
    world.state(HealthDrivers).of_node[node] = driver


@given('node "{node}" running a driver that reports the health of {count:d} devices and announces "{services}"')
def _(world: World, node: str, count: int, services: str) -> None:
    """The same with these health services in this order; `none`: it serves all and announces none."""
    world.node(node).start_kubelet()
    announced = [] if services == "none" else words(services)
    driver = start_health_driver(world, node, count, name=simulated_driver(world), announced=announced)
    world.state(HealthDrivers).of_node[node] = driver


@given('a second driver that reports the health of {count:d} devices on "{node}"')
def _(world: World, count: int, node: str) -> None:
    """Another driver of the harness, second-$(sim), whose devices have the same names and stay Healthy."""
    start_health_driver(world, node, count, name=f"second-{simulated_driver(world)}")


@given('the driver of "{node}" reports the same devices of the pool "{pool}" as {health:word}')
def _(world: World, node: str, pool: str, health: str) -> None:
    """The harness's driver also reports devices with the names of its own in another pool, which has no slice."""
    health_driver(world, node).add_pool(pool, health_of(health))


@when('every report of the driver of "{node}" begins with:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """The harness's driver sends these entries (pool, device, health) in front of those of its own devices."""
    rows = [[world.text(cell) for cell in row] for row in datatable[1:]]
    several = [DeviceHealth(pool, device, health_of(health)) for pool, device, health in rows]
    health_driver(world, node).add_entries(several)


@when('every report of the driver of "{node}" begins with {count:d} devices that it does not have')
def _(world: World, node: str, count: int) -> None:
    """So many Unhealthy devices of a pool without a slice, in front of the driver's own."""
    several = [DeviceHealth("nowhere", f"device-{index}", HealthStatus.UNHEALTHY) for index in range(count)]
    health_driver(world, node).add_entries(several)


@when('the driver of "{node}" sends every report {count:d} times')
def _(world: World, node: str, count: int) -> None:
    """The harness's driver repeats each of its reports without a change, from now on."""
    health_driver(world, node).repeat(count)


@given('the devices "{devices}" of "{node}" share one CDI id')
def _(world: World, devices: str, node: str) -> None:
    """The harness's driver returns the same CDI device for all of these."""
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
    """A pod bound by hand; its claim (of the same name) has a request for each device, with the device's name."""
    names = words(devices)
    # No such class exists; only a scheduler would need it, and this claim is allocated by hand.
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
    owner = add_pod(world, pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND, containers=containers))
    base = {"driver": simulated_driver(world), "pool": world.name(node)}
    results = [{**base, "request": name, "device": name} for name in names]
    allocate_by_hand(world, pod, world.name(node), results, pods=[owner])
    world.client.bind(owner, world.name(node))


@given('pod "{pod}" runs on devices "{devices}" of "{node}"')
def _(world: World, pod: str, devices: str, node: str) -> None:
    """A pod bound by hand; its claim (of the same name) has one request, and its container uses all devices."""
    names = words(devices)
    exactly = {"deviceClassName": f"paper-{world.suffix}", "allocationMode": "ExactCount", "count": len(names)}
    world.create(claim_object(world, pod, {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}))
    owner = add_pod(world, pod_object(world, pod, [by_name(pod)], scheduler=BY_HAND))
    base = {"request": "gpu", "driver": simulated_driver(world), "pool": world.name(node)}
    allocate_by_hand(world, pod, world.name(node), [{**base, "device": name} for name in names], pods=[owner])
    world.client.bind(owner, world.name(node))


@when('device "{device}" of "{node}" is reported {health:word}')
def _(world: World, device: str, node: str, health: str) -> None:
    """The harness's driver reports a device as Healthy, Unhealthy or Unknown."""
    report(world, device, node, health)


@when('device "{device}" of "{node}" is reported {health:word} with {details}')
def _(world: World, device: str, node: str, health: str, details: str) -> None:
    """The same with a `timeout` in seconds, or a `message` and so many `letters`, each of them a `letter` (YAML)."""
    given_details = manifests.parse_value(details)
    if unknown := set(given_details) - {"message", "timeout", "letters", "letter"}:
        raise SpecificationError(f"a report of health has no {', '.join(sorted(unknown))}")
    letters = str(given_details.get("letter", "x")) * int(given_details.get("letters", 0))
    message = str(given_details.get("message", "")) + letters
    report(world, device, node, health, message=message, seconds=int(given_details.get("timeout", 0)))


@when('the driver of "{node}" reports the health of no device')
def _(world: World, node: str) -> None:
    """The harness's driver sends an empty list; its next report has all devices again."""
    health_driver(world, node).report_none()


@when('the driver of "{node}" that reports health {action:word}')
def _(world: World, node: str, action: str) -> None:
    """The harness's driver `stops` and is unregistered, or `returns` with the same reports."""
    driver = health_driver(world, node)
    match action:
        case "stops":
            driver.stop()
        case "returns":
            driver.take_streams()
            driver.start()
        case _:
            raise SpecificationError(f"a driver stops or returns; it does not {action!r}")


@when('the driver of "{node}" {action:word} health streams')
def _(world: World, node: str, action: str) -> None:
    """The harness's driver `ends` its health streams and new ones, `declines` new ones, or `accepts` them again."""
    match action:
        case "ends":
            health_driver(world, node).end_streams()
        case "declines":
            health_driver(world, node).decline_streams()
        case "accepts":
            health_driver(world, node).take_streams()
        case _:
            raise SpecificationError(f"a driver ends, declines or accepts health streams; it does not {action!r} them")


@then('the kubelet has watched the driver of "{node}" through "{service}" and no other health service')
def _(world: World, node: str, service: str) -> None:
    """Every health stream that the kubelet has opened, and at least one, is of this service (`none`: no stream)."""
    streams = health_driver(world, node).streams
    wanted = set() if service == "none" else {service}

    def look() -> Seen[list[str]]:
        return set(streams) == wanted, sorted(set(streams))

    world.stays("the health services that the kubelet watches", look, expected=sorted(wanted))


@then('the kubelet has opened {count:d} health streams of the driver of "{node}"')
def _(world: World, count: int, node: str) -> None:
    """So many streams since the driver was started for the first time, also those that it declined."""
    streams = health_driver(world, node).streams

    def look() -> Seen[int]:
        return len(streams) == count, len(streams)

    world.stays("number of health streams that the kubelet has opened", look, expected=count)


@then('the kubelet has opened {count:d} or more health streams of the driver of "{node}"')
def _(world: World, count: int, node: str) -> None:
    """At least so many streams. A kubelet with real time opens more while a step waits for the status of a pod."""
    streams = health_driver(world, node).streams

    def look() -> Seen[str]:
        return len(streams) >= count, str(len(streams))

    world.eventually("number of health streams that the kubelet has opened", look, expected=f"{count} or more")


@given('pod "{pod}" has shown the health "{health}" for "{entry}"')
def _(world: World, pod: str, health: str, entry: str) -> None:
    """Wait until the pod's status shows this health; the scenario cannot go on without it."""
    wanted = sorted(words(health))

    def look() -> Seen[dict[str, Any]]:
        entries = health_entries(world.seen(PODS, pod))
        found = shown_health(entries.get(entry, []))
        return found == wanted, {entry: found}

    world.require(f"pod {pod} shows the health of its devices", look)


@then('pod "{pod}" shows the health "{health}" for "{entry}"')
def _(world: World, pod: str, health: str, entry: str) -> None:
    """The first container comes to show an entry, such as claim:train, with one device for each of these values."""
    wanted = sorted(words(health))

    def look() -> Seen[dict[str, Any]]:
        entries = health_entries(world.seen(PODS, pod))
        found = shown_health(entries.get(entry, []))
        return found == wanted, {entry: found}

    world.eventually(f"health of the devices of {pod}", look, expected={entry: wanted})


@then('container "{container}" of pod "{pod}" shows only the health "{health}" for "{entry}"')
def _(world: World, container: str, pod: str, health: str, entry: str) -> None:
    """A container comes to show this entry alone, with one device for each of these values."""
    wanted = sorted(words(health))

    def look() -> Seen[dict[str, Any]]:
        entries = health_entries(world.seen(PODS, pod), container)
        ok = list(entries) == [entry] and shown_health(entries[entry]) == wanted
        return ok, {name: shown_health(devices) for name, devices in entries.items()}

    world.eventually(f"health of the devices of {container}", look, expected={entry: wanted})


@then('pod "{pod}" still shows the health "{health}" for "{entry}"')
def _(world: World, pod: str, health: str, entry: str) -> None:
    """The entry has one device for each of these values after everything has settled."""
    wanted = sorted(words(health))

    def look() -> Seen[dict[str, Any]]:
        entries = health_entries(world.seen(PODS, pod))
        found = shown_health(entries.get(entry, []))
        return found == wanted, {entry: found}

    world.stays(f"health of the devices of {pod}", look, expected={entry: wanted})


def messages(world: World, pod: str, entry: str) -> list[str]:
    """Return the health message of each device of an entry of the pod's first container; empty: no message."""
    return [str(one.get("message") or "") for one in health_entries(world.seen(PODS, pod)).get(entry, [])]


@then('pod "{pod}" shows a health message like "{pattern}" for "{entry}"')
def _(world: World, pod: str, pattern: str, entry: str) -> None:
    """A device of this entry comes to show a message that the regular expression matches as a whole."""

    def look() -> Seen[str]:
        found = messages(world, pod, entry)
        shown = [one if len(one) <= _SHOWN else f"{one[:20]}… ({len(one)} characters)" for one in found if one]
        return any(re.fullmatch(pattern, one) for one in found), in_words(shown)

    world.eventually(f"health message of {pod}", look, expected=pattern)
