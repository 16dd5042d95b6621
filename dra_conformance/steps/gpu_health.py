"""Errors of GPUs as NVML reports them, and the taints that a driver adds to their devices.

Errors are injected into the fake NVML: XIDs and ECC errors of a GPU or a MIG device.
"""

from __future__ import annotations

import re
from typing import Any

from dra_api.clock import parse_timestamp
from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.claims import devices_of
from dra_conformance.steps.driver_slices import SliceHistory
from dra_conformance.steps.mig import attribute, instance_of, mig_device
from dra_conformance.steps.taints import read_taints

_GPU = re.compile(r"GPU (\d+)")
_FULL_GPU = re.compile(r"(?:[a-z]+-)?gpu-(\d+)")
_GPU_OF_CLAIM = re.compile(r'the GPU of claim "([^"]*)"')
_MIG_DEVICE = re.compile(r'the MIG device with profile "([^"]*)"')
_OTHER_INSTANCE = re.compile(r'another (compute instance of|GPU instance than) the MIG device with profile "([^"]*)"')
_MIG_OF_GPU = re.compile(r"every MIG device of GPU (\d+)")
_EVERY_DEVICE_BUT = re.compile(r'every device but "([^"]*)"')
_DEVICE = re.compile(r'device "([^"]*)"')
_XID = re.compile(r"XID (\d+)")

_ONE_BY_ONE_SECONDS = 30.0

NO_INSTANCE_HAS = 100
"""Added to the id of an instance, it gives an id that no instance of the GPU has."""


def gpu_of_claim(world: World, claim: str) -> int:
    """Return the index of the GPU that a claim has. Raises Untestable if it has none, or no full GPU."""
    # Read from the API server: the observer may know that the pod runs before it knows the claim's allocation.
    devices = devices_of(world.get(RESOURCE_CLAIMS, claim))
    # A driver that slices GPUs may have another prefix: hami-gpu-0.
    found = _FULL_GPU.fullmatch(devices[0]) if len(devices) == 1 else None
    if found is None:
        raise Untestable(f"claim {claim} has {devices or 'no device'}, not one full GPU")
    return int(found[1])


def device_names(world: World, node: str, text: str) -> set[str]:
    """Return the names of the published devices that a text describes.

    `device "gpu-2"`, `the GPU of claim "train"`, `the MIG device with profile "2g.20gb"`, `every MIG device of GPU 0`,
    `every device` or `every device but "gpu-2"`. Raises SpecificationError for another text, Untestable if GPU 0 has no
    two MIG devices.
    """
    if found := _DEVICE.fullmatch(text):
        return {found[1]}
    if found := _GPU_OF_CLAIM.fullmatch(text):
        return {f"gpu-{gpu_of_claim(world, found[1])}"}
    if found := _MIG_DEVICE.fullmatch(text):
        return {str(mig_device(world, node, found[1])["name"])}
    component = world.node(node)
    if found := _MIG_OF_GPU.fullmatch(text):
        parent = component.gpus.gpus[int(found[1])].uuid
        names = {str(device["name"]) for device in component.devices() if attribute(device, "parentUUID") == parent}
        if len(names) < 2:
            raise Untestable(f"the driver publishes {len(names)} MIG devices of GPU {found[1]} on {node}")
        return names
    if found := _EVERY_DEVICE_BUT.fullmatch(text):
        return {str(device["name"]) for device in component.devices()} - {found[1]}
    if text == "every device":
        return {str(device["name"]) for device in component.devices()}
    raise SpecificationError(f"{text!r} describes no devices")


@when('{event} happens on {device} of "{node}"')
def _(world: World, event: str, device: str, node: str) -> None:
    """NVML reports `XID n` or `a single-bit ECC error` of `GPU n`, the GPU of a claim or a MIG device.

    An XID of `another compute instance of` or `another GPU instance than` a MIG device has ids that no device has.
    """
    component = world.node(node)
    xid = _XID.fullmatch(event)
    if xid and (found := _OTHER_INSTANCE.fullmatch(device)):
        place = instance_of(world, node, mig_device(world, node, found[2]))
        gi, ci = place.gpu_instance, place.compute_instance
        gi, ci = (gi, ci + NO_INSTANCE_HAS) if found[1] == "compute instance of" else (gi + NO_INSTANCE_HAS, ci)
        component.gpus.inject_xid(place.gpu, int(xid[1]), gi=gi, ci=ci)
        return
    if xid and (found := _MIG_DEVICE.fullmatch(device)):
        place = instance_of(world, node, mig_device(world, node, found[1]))
        component.gpus.inject_xid(place.gpu, int(xid[1]), gi=place.gpu_instance, ci=place.compute_instance)
        return
    if found := _GPU_OF_CLAIM.fullmatch(device):
        gpu = gpu_of_claim(world, found[1])
    elif found := _GPU.fullmatch(device):
        gpu = int(found[1])
    else:
        raise SpecificationError(f"{event} cannot happen on {device!r}")
    if xid:
        component.gpus.inject_xid(gpu, int(xid[1]))
    elif event == "a single-bit ECC error":
        component.gpus.inject_event(gpu, component.nvml.nvmlEventTypeSingleBitEccError, 0)
    else:
        raise SpecificationError(f"NVML reports no event {event!r}")


@then('the driver on "{node}" comes to report {devices} as {health:word}')
def _(world: World, node: str, devices: str, health: str) -> None:
    """The last report of each of these devices in the driver's health stream; see `device_names`."""
    component = world.node(node)
    pools = {obj["spec"]["pool"]["name"] for obj in component.slices()}
    names = device_names(world, node, devices)

    def look() -> Seen[dict[str, str]]:
        found = component.harness_kubelet.reported_health_of(component.driver_name)
        states = {name: state for (pool, name), state in found.items() if pool in pools and name in names}
        return bool(names) and states == dict.fromkeys(names, health), states

    world.eventually(f"health of {devices}", look, expected=dict.fromkeys(sorted(names), health))


def by_key(taint: Obj) -> str:
    """Return the key of a taint, of which a device has each once."""
    return str(taint["key"])


@then('the driver taints {devices} on "{node}" with "{taint}" only')
def _(world: World, devices: str, node: str, taint: str) -> None:
    """The devices stay published and come to have these taints, with times, and no other; see `device_names`."""
    names = device_names(world, node, devices)
    wanted = sorted(read_taints(taint), key=by_key)
    expected = {name: [{**item, "timeAdded": "set"} for item in wanted] for name in sorted(names)} or None

    def shown(item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "timeAdded": "set" if item.get("timeAdded") else None}

    def look() -> Seen[dict[str, Any]]:
        found = {one["name"]: one.get("taints") or [] for one in world.node(node).devices() if one["name"] in names}
        plain = [
            [{k: v for k, v in item.items() if k != "timeAdded"} for item in sorted(taints, key=by_key)]
            for taints in found.values()
        ]
        timed = all(item.get("timeAdded") for taints in found.values() for item in taints)
        same = bool(names) and set(found) == names and timed and all(taints == wanted for taints in plain)
        return same, {name: [shown(item) for item in sorted(found[name], key=by_key)] for name in sorted(found)}

    # A driver may publish the taint of one device after the other, as fast as its client for the API server permits.
    within = world.run.patience if world.run.components.spec("driver").in_process else _ONE_BY_ONE_SECONDS
    world.eventually(f"taints of {devices}", look, expected=expected, within=within)


@then('no device on "{node}" but {devices} is tainted')
def _(world: World, node: str, devices: str) -> None:
    """All other devices are free of taints after everything has settled; see `device_names`, joined by `and`."""
    excepted = {name for text in devices.split(" and ") for name in device_names(world, node, text)}

    def look() -> Seen[str]:
        devices = world.node(node).devices()
        others = sorted({found["name"] for found in devices if found.get("taints")} - excepted)
        return not others and bool(devices), f"{len(devices)} devices, tainted: {in_words(others)}"

    message = f"devices of {node} other than {in_words(sorted(excepted))}"
    world.stays(message, look, expected="1 or more devices, tainted: none")


@then('device "{device}" on "{node}" stays free of taints')
def _(world: World, device: str, node: str) -> None:
    """The driver publishes the device without a taint, also after everything has settled."""

    def look() -> Seen[list[Any] | None]:
        for found in world.node(node).devices():
            if found["name"] == device:
                return not found.get("taints"), found.get("taints") or []
        return False, None

    world.stays(f"taints of {device}", look, expected=[])


@then('the taints of device "{device}" on "{node}" are the remembered ones')
def _(world: World, device: str, node: str) -> None:
    """The device has the taints that it had when the slices were remembered, with the same timeAdded."""
    wanted = world.state(SliceHistory).taints.get(device)
    found = [one.get("taints") or [] for one in world.node(node).devices() if one["name"] == device]
    expected = [wanted] if wanted else None
    world.check(bool(wanted) and found == expected, f"taints of {device}", expected=expected, observed=found)


@then('the taints of device "{device}" on "{node}" are newer than those of device "{other}"')
def _(world: World, device: str, node: str, other: str) -> None:
    """Each taint of the device has a later timeAdded than every taint of the other device."""
    times = {
        one["name"]: [str(taint.get("timeAdded")) for taint in one.get("taints") or ()]
        for one in world.node(node).devices()
        if one["name"] in (device, other)
    }
    mine, theirs = times.get(device, []), times.get(other, [])
    newer = bool(mine and theirs) and min(map(parse_timestamp, mine)) > max(map(parse_timestamp, theirs))
    world.check(
        newer, f"times of the taints of {device}", expected=f"later than {in_words(theirs)}", observed=in_words(mine)
    )
