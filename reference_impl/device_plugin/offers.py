"""The resources of a node and their devices: which GPUs and MIG devices are offered under which name.

Pure functions over the devices that `reference_impl.kubelet_plugin.discovery` finds.

Source: NVIDIA k8s-device-plugin v0.19.0, internal/rm (device_map.go, rm.go, devices.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dra_api.rpc.device_plugin import HEALTHY, UNHEALTHY, PluginDevice
from reference_impl.device_plugin.options import MigStrategy, TimeSlicing
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.devices import Gpu, Mig, full_gpu
from reference_impl.kubelet_plugin.discovery import Found

Existing: TypeAlias = Gpu | Mig
"""What a device plugin can offer: it creates no MIG devices."""

DOMAIN = "nvidia.com"
GPU = f"{DOMAIN}/gpu"
_REPLICA = "::"


@dataclass(frozen=True, slots=True)
class Offer:
    """A device under its id: a GPU or a MIG device, or one of the replicas of a shared one."""

    id: str
    device: Existing

    def listed(self, *, healthy: bool) -> PluginDevice:
        """Return the device as an entry of a list."""
        node = full_gpu(self.device).numa_node
        return PluginDevice(
            self.id,
            HEALTHY if healthy else UNHEALTHY,
            (node,) if isinstance(node, int) else node,
        )


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource and its devices. `one_at_most`: a container may have one of them only."""

    name: str
    offers: tuple[Offer, ...]
    one_at_most: bool = False


def resources(found: Found, strategy: MigStrategy, sharing: TimeSlicing) -> list[Resource]:
    """Return the resources that have devices. Raises ComponentError if the strategy does not fit the GPUs."""
    return [_shared(name, devices, sharing) for name, devices in by_name(found, strategy).items() if devices]


def by_name(found: Found, strategy: MigStrategy) -> Mapping[str, Sequence[Existing]]:
    """Return the devices by resource name."""
    parts = [device for device in found.devices if isinstance(device, Mig)]
    if strategy == "none":
        return {GPU: found.gpus}
    whole: list[Existing] = [gpu for gpu in found.gpus if not gpu.mig_enabled]
    if strategy == "single":
        if parts or len(whole) < len(found.gpus):
            _check_single(found.gpus, parts)
            return {GPU: parts}
        return {GPU: whole}
    named: dict[str, list[Existing]] = {GPU: whole}
    for part in parts:
        named.setdefault(mig_resource(part.profile), []).append(part)
    return named


def mig_resource(profile: str) -> str:
    """Return the name of the resource for a MIG profile: a name cannot have a plus sign."""
    return f"{DOMAIN}/mig-{profile.replace('+', '.')}"


def _check_single(gpus: Sequence[Gpu], parts: Sequence[Mig]) -> None:
    """Raise ComponentError if the GPUs do not have MIG devices of one profile, all of them."""
    if any(not gpu.mig_enabled for gpu in gpus):
        raise ComponentError("--mig-strategy single: MIG is on for some GPUs and off for others")
    with_parts = {part.parent.uuid for part in parts}
    if empty := [gpu for gpu in gpus if gpu.uuid not in with_parts]:
        raise ComponentError(f"--mig-strategy single: {empty[0].name} has no MIG devices")
    if len({part.profile for part in parts}) > 1:
        raise ComponentError("--mig-strategy single: there are MIG devices of more than one profile")


def _shared(name: str, devices: Sequence[Existing], sharing: TimeSlicing) -> Resource:
    replicas = sharing.replicas.get(name)
    if replicas is None:
        return Resource(name, tuple(Offer(device.uuid, device) for device in devices))
    offers = (Offer(f"{device.uuid}{_REPLICA}{n}", device) for device in devices for n in range(replicas))
    return Resource(f"{name}.shared" if sharing.rename else name, tuple(offers), one_at_most=sharing.one_at_most)
