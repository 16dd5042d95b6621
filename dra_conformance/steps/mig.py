"""MIG devices: which ones a GPU driver publishes, and which device nodes containers get.

Sentences name a MIG device by its profile, such as 2g.20gb, if the node has one device of that profile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_conformance.core import assets
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import devices_of
from dra_conformance.steps.containers import views


@dataclass(frozen=True, slots=True)
class Instance:
    """NVML's identity of a MIG device: index of its GPU, ids of its GPU instance and compute instance."""

    gpu: int
    gpu_instance: int
    compute_instance: int


def attribute(device: Obj, name: str) -> Any:
    """Return the value of an attribute of a published device; None if it has none."""
    value = (device.get("attributes") or {}).get(name) or {}
    return next(iter(value.values()), None)


def mig_device(world: World, node: str, profile: str) -> Obj:
    """Return the published MIG device of a profile. Raises Untestable when there is none, or more than one."""
    found = [device for device in world.node(node).devices() if attribute(device, "profile") == profile]
    if len(found) != 1:
        names = [device["name"] for device in world.node(node).devices()]
        raise Untestable(f"the driver publishes {len(found)} devices with profile {profile} on {node}: {names}")
    return found[0]


def instance_of(world: World, node: str, device: Obj) -> Instance:
    """Return NVML's identity of a published MIG device. Raises Untestable if NVML does not know it."""
    with world.node(node).nvml_session() as nvml:
        try:
            handle = nvml.nvmlDeviceGetHandleByUUID(str(attribute(device, "uuid")))
            parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
            return Instance(
                gpu=int(nvml.nvmlDeviceGetIndex(parent)),
                gpu_instance=int(nvml.nvmlDeviceGetGpuInstanceId(handle)),
                compute_instance=int(nvml.nvmlDeviceGetComputeInstanceId(handle)),
            )
        except nvml.NVMLError as error:
            raise Untestable(f"NVML does not know the device {device['name']}: {error}") from error


def capability_minor(world: World, node: str, path: str) -> int:
    """Return the minor number of a capability, such as gpu0/mig/gi5/access. Raises Untestable if it has none."""
    file = world.node(node).gpus.driver_root / "proc/driver/nvidia/capabilities" / path
    for line in file.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key == "DeviceFileMinor":
            return int(value)
    raise Untestable(f"{file} has no DeviceFileMinor line")


@given('MIG is on for GPU {gpu:d} of "{node}", without instances')
def _(world: World, gpu: int, node: str) -> None:
    """Switch MIG on through NVML before the driver starts, and reset the GPU if its mode changes only by a reset."""
    with world.node(node).nvml_session() as nvml:
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
            nvml.nvmlDeviceSetMigMode(handle, nvml.NVML_DEVICE_MIG_ENABLE)
            current, pending = nvml.nvmlDeviceGetMigMode(handle)
        except nvml.NVMLError as error:
            raise Untestable(f"MIG mode of GPU {gpu} cannot be turned on: {error}") from error
    if current != pending:
        world.node(node).gpus.reset(gpu)


@given('the GPUs of "{node}" are those of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """Choose the fake GPUs of a node before anything runs on it."""
    world.node(node, inventory=inventory)


@given('the GPUs of "{node}" are those of this suite\'s inventory "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """Choose the fake GPUs of a node from `fixtures/inventories` before anything runs on it."""
    world.node(node, inventory=str(assets.fixtures() / "inventories" / f"{inventory}.yaml"))


@then('the devices of GPU {gpu:d} on "{node}" are "{devices}"')
def _(world: World, gpu: int, node: str, devices: str) -> None:
    """Compare the published devices of a GPU with a list: `gpu` for the whole GPU, MIG devices by profile, or none.

    `none` also needs a device of another GPU, so that an empty slice is not taken for one.
    """
    uuid = world.node(node).gpus.get(gpu, "uuid")
    wanted = [] if devices == "none" else sorted(words(devices))

    def look() -> Seen[list[Any] | None]:
        published = world.node(node).devices()
        found = sorted(
            str(attribute(device, "profile") or "gpu")
            for device in published
            if uuid in (attribute(device, "uuid"), attribute(device, "parentUUID"))
        )
        return found == wanted and (bool(wanted) or bool(published)), found if published else None

    if wanted:
        world.eventually(f"devices of GPU {gpu}", look, expected=wanted)
    else:
        world.stays(f"devices of GPU {gpu}", look, expected=[])


@then('every GPU of "{node}" but GPU {gpu:d} is published whole')
def _(world: World, node: str, gpu: int) -> None:
    """The slices come to have a full GPU for each of the others."""
    on = world.node(node)
    wanted = sorted(str(view.uuid) for view in on.gpus.gpus if view.index != gpu)

    def look() -> Seen[list[str]]:
        found = sorted(str(attribute(d, "uuid")) for d in on.devices() if attribute(d, "type") == "gpu")
        return found == wanted, found

    world.eventually("other GPUs", look, expected=wanted)


@then('claim "{claim}" is allocated the MIG device with profile "{profile}" of "{node}"')
def _(world: World, claim: str, profile: str, node: str) -> None:
    """The claim comes to be allocated exactly this device."""
    wanted = [mig_device(world, node, profile)["name"]]

    def look() -> Seen[list[Any]]:
        allocated = devices_of(world.seen(RESOURCE_CLAIMS, claim))
        return allocated == wanted, allocated

    world.eventually(f"claim {claim} is allocated", look, expected=wanted)


def device_nodes(world: World, node: str, device: Obj) -> list[str]:
    """Return the device nodes of a published MIG device: that of its GPU, and those of both capabilities."""
    instance = instance_of(world, node, device)
    minor = world.node(node).gpus.gpus[instance.gpu].minor
    base = f"gpu{minor}/mig/gi{instance.gpu_instance}"
    paths = (f"{base}/access", f"{base}/ci{instance.compute_instance}/access")
    capabilities = [capability_minor(world, node, path) for path in paths]
    return [f"/dev/nvidia{minor}", *(f"/dev/nvidia-caps/nvidia-cap{number}" for number in capabilities)]


def _allocated(world: World, node: str, pod: str) -> list[Obj]:
    """Return the published devices that the claims of a pod were allocated."""
    names = {
        name
        # From the API server: the observer may see that the pod runs before it sees the claim's allocation.
        for claim in world.client.list(RESOURCE_CLAIMS, world.namespace).items
        for consumer in (claim.get("status") or {}).get("reservedFor") or ()
        if consumer.get("name") == pod
        for name in devices_of(claim)
    }
    return [device for device in world.node(node).devices() if device["name"] in names]


@then('each of the pods "{pods}" on "{node}" gets the device nodes of its own MIG device and of no other')
def _(world: World, pods: str, node: str) -> None:
    """Compare the nodes of GPU and capabilities with the allocated device; no two pods share a capability."""
    own = re.compile(r"/dev/nvidia\d+|/dev/nvidia-caps/.+")
    capabilities: list[str] = []
    for pod in words(pods):
        paths = {path for view in views(world, node, pod).values() for path in view.device_paths()}
        found = sorted(path for path in paths if own.fullmatch(path))
        wanted = sorted({path for device in _allocated(world, node, pod) for path in device_nodes(world, node, device)})
        world.check(bool(wanted) and found == wanted, f"device nodes of {pod}", expected=wanted, observed=found)
        capabilities += [path for path in found if path.startswith("/dev/nvidia-caps/")]
    twice = sorted({one for one in capabilities if capabilities.count(one) > 1})
    world.check(not twice, "capabilities of more than one pod", expected=[], observed=twice)
