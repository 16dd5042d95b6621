"""What befalls GPUs, as NVML tells it, and the taints that a driver gives their devices for it.

Faults are put into the fake NVML: XIDs, ECC errors, GPUs that are lost, events that cannot be had.
"""

from __future__ import annotations

from dra_api.objects import RESOURCE_CLAIMS
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import devices_of
from dra_conformance.steps.mig import attribute, instance_of, mig_device
from dra_conformance.steps.taints import read_taints


@given('XID {xid:d} happens on GPU {gpu:d} of "{node}"')
def _(world: World, xid: int, gpu: int, node: str) -> None:
    """NVML reports an XID of a whole GPU."""
    world.node(node).gpus.inject_xid(gpu, xid)


@when('XID {xid:d} happens on GPU {gpu:d} of "{node}"')
def _(world: World, xid: int, gpu: int, node: str) -> None:
    """The same, as what happens in the scenario."""
    world.node(node).gpus.inject_xid(gpu, xid)


def look_tainted(world: World, node: str, device: str, taint: str) -> None:
    """Check that a device comes to have one taint, with its time."""
    wanted = read_taints(taint)

    def look() -> Seen:
        for found in world.node(node).devices():
            if found["name"] == device:
                held = found.get("taints") or []
                plain = [{key: value for key, value in item.items() if key != "timeAdded"} for item in held]
                return plain == wanted and all(item.get("timeAdded") for item in held), held or "no taint"
        return False, "no such device"

    world.eventually(f"taint on {device}", look, expected=wanted)


def gpu_of_claim(world: World, claim: str) -> int:
    """The index of the GPU that a claim holds. Raises Untestable when it holds none, or no full GPU."""
    devices = devices_of(world.get(RESOURCE_CLAIMS, claim))  # asked, not seen: another watch told that the pod runs
    if len(devices) != 1 or not devices[0].removeprefix("gpu-").isdigit():
        raise Untestable(f"claim {claim} holds {devices or 'nothing'}, not one full GPU")
    return int(devices[0].removeprefix("gpu-"))


@when('XID {xid:d} happens on the GPU of claim "{claim}" on "{node}"')
def _(world: World, xid: int, claim: str, node: str) -> None:
    """NVML reports an XID of the GPU that a claim holds."""
    world.node(node).gpus.inject_xid(gpu_of_claim(world, claim), xid)


@then('the driver taints the GPU of claim "{claim}" on "{node}" with "{taint}" only')
def _(world: World, claim: str, node: str, taint: str) -> None:
    """The GPU that a claim holds comes to have this taint and no other."""
    look_tainted(world, node, f"gpu-{gpu_of_claim(world, claim)}", taint)


@when('a single-bit ECC error happens on GPU {gpu:d} of "{node}"')
def _(world: World, gpu: int, node: str) -> None:
    """NVML reports an event that is no XID."""
    component = world.node(node)
    component.gpus.inject_event(gpu, component.nvml.nvmlEventTypeSingleBitEccError)


@then('the driver taints device "{device}" on "{node}" with "{taint}" only')
def _(world: World, device: str, node: str, taint: str) -> None:
    """The device stays published and comes to have this taint and no other; it carries its time."""
    look_tainted(world, node, device, taint)


@then('device "{device}" on "{node}" stays free of taints')
def _(world: World, device: str, node: str) -> None:
    """The driver publishes the device without a taint, also after everything has come to rest."""

    def look() -> Seen:
        for found in world.node(node).devices():
            if found["name"] == device:
                return not found.get("taints"), found.get("taints") or "no taint"
        return False, "no such device"

    world.stays(f"no taint on {device}", look, expected="no taint")


def look_untainted_but(world: World, node: str, excepted: set[str]) -> None:
    """Check that no other device of a node is tainted, and stays so."""

    def look() -> Seen:
        component = world.node(node)
        tainted = sorted(found["name"] for found in component.devices() if found.get("taints"))
        return not set(tainted) - excepted and bool(component.devices()), tainted or "none tainted"

    world.stays(f"taints on {node}", look, expected=f"only {sorted(excepted)} tainted")


@then('no device on "{node}" but "{devices}" is tainted')
def _(world: World, node: str, devices: str) -> None:
    """All other devices are free of taints, also after everything has come to rest."""
    look_untainted_but(world, node, set(words(devices)))


@then('no device on "{node}" is tainted any more')
def _(world: World, node: str) -> None:
    """The driver comes to publish devices, all without taints."""

    def look() -> Seen:
        found = world.node(node).devices()
        tainted = [device["name"] for device in found if device.get("taints")]
        return bool(found) and not tainted, tainted or f"{len(found)} devices"

    world.eventually(f"no taint on {node}", look, expected="devices without taints")


def times_added(world: World, node: str, device: str) -> list[str]:
    """When each taint of a published device was added."""
    return [
        str(taint.get("timeAdded"))
        for found in world.node(node).devices()
        if found["name"] == device
        for taint in found.get("taints") or ()
    ]


@when('the time of the taint on device "{device}" of "{node}" is remembered')
def _(world: World, device: str, node: str) -> None:
    """Keep timeAdded of the device's taints, to compare with later."""
    world.memory["taint-times"] = times_added(world, node, device)


@then('the taint on device "{device}" of "{node}" has the time of before')
def _(world: World, device: str, node: str) -> None:
    """timeAdded of the device's taints is what it was."""
    wanted = world.memory["taint-times"]
    found = times_added(world, node, device)
    world.check(bool(wanted) and found == wanted, f"timeAdded on {device}", expected=wanted, observed=found)


@given('NVML on "{node}" cannot report events')
def _(world: World, node: str) -> None:
    """Registering for events fails on every GPU of the node, from before the driver starts."""
    world.node(node).gpus.inject_fault("nvmlDeviceRegisterEvents", error="NOT_SUPPORTED")


@when('NVML on "{node}" says that a GPU is lost, but not which')
def _(world: World, node: str) -> None:
    """Waiting for events fails with GPU_IS_LOST."""
    world.node(node).gpus.inject_fault("nvmlEventSetWait_v2", error="GPU_IS_LOST")


@then('the driver taints every device on "{node}" with "{taint}" only')
def _(world: World, node: str, taint: str) -> None:
    """All devices stay published and come to have this taint and no other."""
    wanted = read_taints(taint)

    def look() -> Seen:
        held = {found["name"]: found.get("taints") or [] for found in world.node(node).devices()}
        plain = [[{k: v for k, v in item.items() if k != "timeAdded"} for item in taints] for taints in held.values()]
        return bool(held) and all(taints == wanted for taints in plain), held

    world.eventually(f"taints on {node}", look, expected=wanted)


@when('XID {xid:d} happens in the MIG device with profile "{profile}" of "{node}"')
def _(world: World, xid: int, profile: str, node: str) -> None:
    """NVML reports an XID of one GPU instance and its compute instance."""
    component = world.node(node)
    place = instance_of(world, node, mig_device(world, node, profile))
    component.gpus.inject_xid(place.gpu, xid, gi=place.gpu_instance, ci=place.compute_instance)


@then('the driver taints the MIG device with profile "{profile}" on "{node}" with "{taint}" only')
def _(world: World, profile: str, node: str, taint: str) -> None:
    """The MIG device comes to have this taint and no other."""
    look_tainted(world, node, mig_device(world, node, profile)["name"], taint)


@then('no other device on "{node}" than the MIG device with profile "{profile}" is tainted')
def _(world: World, node: str, profile: str) -> None:
    """All other devices are free of taints, also after everything has come to rest."""
    look_untainted_but(world, node, {mig_device(world, node, profile)["name"]})


@then('the driver taints every MIG device of GPU {gpu:d} on "{node}", and no other device, with "{taint}"')
def _(world: World, gpu: int, node: str, taint: str) -> None:
    """Those devices come to have this taint and no other; all others are free of taints, also at rest."""
    component = world.node(node)
    parent = component.gpus.gpus[gpu].uuid
    parts = {device["name"] for device in component.devices() if attribute(device, "parentUUID") == parent}
    if len(parts) < 2:
        raise Untestable(f"the driver publishes {len(parts)} MIG devices of GPU {gpu} on {node}")
    for name in sorted(parts):
        look_tainted(world, node, name, taint)
    look_untainted_but(world, node, parts)
