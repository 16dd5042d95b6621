"""MIG devices: what a GPU driver publishes of them, and what a container gets.

A MIG device is meant by its profile, such as 2g.20gb, where the node has one of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dra_api.objects import Obj
from dra_conformance.errors import Untestable
from dra_conformance.suite.world import World


@dataclass(frozen=True, slots=True)
class Instance:
    """Where a MIG device lies: index of its GPU, ids of its GPU instance and compute instance."""

    gpu: int
    gpu_instance: int
    compute_instance: int


def attribute(device: Obj, name: str) -> Any:
    """The value of an attribute of a published device; None where it has none."""
    value = (device.get("attributes") or {}).get(name) or {}
    return next(iter(value.values()), None)


def mig_device(world: World, node: str, profile: str) -> Obj:
    """The published MIG device of a profile. Raises Untestable when there is none, or more than one."""
    found = [device for device in world.node(node).devices() if attribute(device, "profile") == profile]
    if len(found) != 1:
        names = [device["name"] for device in world.node(node).devices()]
        raise Untestable(f"the driver publishes {len(found)} devices with profile {profile} on {node}: {names}")
    return found[0]


def instance_of(world: World, node: str, device: Obj) -> Instance:
    """What NVML says of a published MIG device."""
    nvml = world.node(node).nvml
    nvml.nvmlInit()
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
    finally:
        nvml.nvmlShutdown()
