"""The view from inside a container: its environment, what device plugins gave it, and the edits of its CDI devices.

A `ContainerView` is a value, computed from a pod and a `CDIRegistry` when a container would start. Nothing is mounted
or created. Edits are merged as container-device-interface v1.0.1 merges them into an OCI configuration
(pkg/cdi/cache.go InjectDevices, pkg/cdi/container-edits.go Apply).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_api.rpc.device_plugin import ContainerAllocation
from dra_conformance.kubelet.cdi import CDIRegistry


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node in the container. Absent numbers are left to the host's node."""

    path: str
    type: str
    major: int | None
    minor: int | None
    file_mode: int | None
    permissions: str


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount in the container."""

    container_path: str
    host_path: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One container after injection of its CDI devices; other edits, such as hooks, are not shown.

    `cdi_devices` are the injected device ids. Mounts are in the order in which a runtime mounts them.
    """

    cdi_devices: tuple[str, ...]
    env: Mapping[str, str]
    device_nodes: tuple[DeviceNode, ...]
    mounts: tuple[Mount, ...]
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations for the runtime, of device plugins only."""

    def device_paths(self) -> tuple[str, ...]:
        """The paths of all device nodes in the container."""
        return tuple(node.path for node in self.device_nodes)


def build_view(
    container: Mapping[str, Any],
    device_ids: Sequence[str],
    registry: CDIRegistry,
    answer: ContainerAllocation | None = None,
) -> ContainerView:
    """Return the view of one container of a pod spec.

    Args:
        container: the container of the pod spec; its literal `env` values are the initial environment.
        device_ids: its CDI ids in order; repeated ids count once.
        registry: the CDI folders as read when the container starts.
        answer: what device plugins give to the container. Its variables yield to those of the pod spec, its CDI devices
            are in `device_ids`.

    Raises CDIError if an id is in no specification.
    """
    devices = registry.resolve(device_ids)
    answer = answer or ContainerAllocation()
    env = dict(answer.envs) | {
        entry["name"]: str(entry.get("value", "")) for entry in container.get("env") or () if "valueFrom" not in entry
    }
    nodes = {
        one.container_path: DeviceNode(one.container_path, "", None, None, None, one.permissions)
        for one in answer.devices
    }
    mounts = {
        one.container_path: Mount(one.container_path, one.host_path, ("ro",) if one.read_only else ())
        for one in answer.mounts
    }
    # Edits of a specification apply once, before those of the first device from it.
    specs = {str(device.spec.path): device for device in reversed(devices)}
    for device in devices:
        before = [device.spec.edits] if specs[str(device.spec.path)] is device else []
        for edits in [*before, device.edits]:
            for assignment in edits.get("env") or ():
                name, _, value = assignment.partition("=")
                env[name] = value
            nodes.update((raw["path"], _device_node(raw)) for raw in edits.get("deviceNodes") or ())
            several = (
                Mount(raw["containerPath"], raw["hostPath"], tuple(raw.get("options") or ()))
                for raw in edits.get("mounts") or ()
            )
            mounts.update((mount.container_path, mount) for mount in several)
    return ContainerView(
        cdi_devices=tuple(device.id for device in devices),
        env=env,
        device_nodes=tuple(nodes.values()),
        # Parents before their children, as Apply sorts mounts.
        mounts=tuple(sorted(mounts.values(), key=lambda mount: mount.container_path.rstrip("/").count("/"))),
        annotations=dict(answer.annotations),
    )


def _device_node(raw: Mapping[str, Any]) -> DeviceNode:
    return DeviceNode(
        path=raw["path"],
        type=raw.get("type") or "",
        major=raw.get("major"),
        minor=raw.get("minor"),
        file_mode=raw.get("fileMode"),
        permissions=raw.get("permissions") or "rwm",
    )
