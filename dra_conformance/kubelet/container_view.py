"""The view from inside a container: its environment and the edits of all CDI devices injected into it.

A `ContainerView` is a value, computed from a pod and a `CDIRegistry` when a container would start. Nothing is mounted
or created. Edits are merged as container-device-interface v1.0.1 merges them into an OCI configuration
(pkg/cdi/cache.go InjectDevices, pkg/cdi/container-edits.go Apply).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_conformance.kubelet.cdi import CDIRegistry


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node in the container. Absent numbers are left to the host's node."""

    path: str
    host_path: str
    type: str = ""
    major: int | None = None
    minor: int | None = None
    file_mode: int | None = None
    permissions: str = "rwm"
    uid: int | None = None
    gid: int | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount in the container."""

    container_path: str
    host_path: str
    options: tuple[str, ...] = ()
    type: str = ""


@dataclass(frozen=True, slots=True)
class Hook:
    """An OCI hook that the runtime would run."""

    hook_name: str
    path: str
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerView:
    """The view of one container.

    `cdi_devices` are the ids in the order in which the kubelet passed them to the runtime. `missing_host_paths` are
    host paths of device nodes and mounts that do not exist below the host root; empty if no host root is known.
    """

    container: str
    cdi_devices: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    device_nodes: tuple[DeviceNode, ...] = ()
    mounts: tuple[Mount, ...] = ()
    hooks: tuple[Hook, ...] = ()
    additional_gids: tuple[int, ...] = ()
    net_devices: tuple[tuple[str, str], ...] = ()
    intel_rdt: Mapping[str, Any] | None = None
    spec_files: tuple[str, ...] = ()
    missing_host_paths: tuple[str, ...] = ()

    def device_paths(self) -> tuple[str, ...]:
        """The paths of all device nodes in the container."""
        return tuple(node.path for node in self.device_nodes)


def build_view(
    container: Mapping[str, Any], device_ids: Sequence[str], registry: CDIRegistry, *, host_root: Path | None = None
) -> ContainerView:
    """Return the view of one container of a pod spec.

    Args:
        container: the container of the pod spec; its literal `env` values are the initial environment.
        device_ids: its CDI ids in order; repeated ids count once.
        registry: the CDI folders as read when the container starts.
        host_root: root of the node's file system, to find missing host paths.

    Raises CDIError if an id is in no specification.
    """
    devices = registry.resolve(device_ids)
    env = {
        entry["name"]: str(entry.get("value", "")) for entry in container.get("env") or () if "valueFrom" not in entry
    }
    nodes: dict[str, DeviceNode] = {}
    mounts: dict[str, Mount] = {}
    hooks: list[Hook] = []
    gids: list[int] = []
    net_devices: list[tuple[str, str]] = []
    intel_rdt: Mapping[str, Any] | None = None
    files: list[str] = []
    all_edits: list[Mapping[str, Any]] = []
    for device in devices:
        # Edits of a specification apply once, before those of the first device from it.
        if str(device.spec.path) not in files:
            files.append(str(device.spec.path))
            all_edits.append(device.spec.edits)
        all_edits.append(device.edits)
    for edits in all_edits:
        for assignment in edits.get("env") or ():
            name, _, value = assignment.partition("=")
            env[name] = value
        for raw in edits.get("deviceNodes") or ():
            # Removed first, so that the later edit also takes the later position.
            nodes.pop(raw["path"], None)
            nodes[raw["path"]] = _device_node(raw)
        for raw in edits.get("mounts") or ():
            mounts.pop(raw["containerPath"], None)
            mounts[raw["containerPath"]] = Mount(
                raw["containerPath"], raw["hostPath"], tuple(raw.get("options") or ()), raw.get("type") or ""
            )
        hooks.extend(_hook(raw) for raw in edits.get("hooks") or ())
        # Group 0 is skipped, as in Apply.
        gids.extend(gid for gid in edits.get("additionalGids") or () if gid and gid not in gids)
        net_devices.extend((raw["hostInterfaceName"], raw["name"]) for raw in edits.get("netDevices") or ())
        intel_rdt = edits.get("intelRdt") or intel_rdt
    # Parents before their children, as Apply sorts mounts.
    ordered_mounts = tuple(sorted(mounts.values(), key=lambda mount: mount.container_path.rstrip("/").count("/")))
    return ContainerView(
        container=str(container.get("name", "")),
        cdi_devices=tuple(device.id for device in devices),
        env=env,
        device_nodes=tuple(nodes.values()),
        mounts=ordered_mounts,
        hooks=tuple(hooks),
        additional_gids=tuple(gids),
        net_devices=tuple(net_devices),
        intel_rdt=intel_rdt,
        spec_files=tuple(files),
        missing_host_paths=_missing(nodes.values(), ordered_mounts, host_root),
    )


def _device_node(raw: Mapping[str, Any]) -> DeviceNode:
    return DeviceNode(
        path=raw["path"],
        host_path=raw.get("hostPath") or raw["path"],
        type=raw.get("type") or "",
        major=raw.get("major"),
        minor=raw.get("minor"),
        file_mode=raw.get("fileMode"),
        permissions=raw.get("permissions") or "rwm",
        uid=raw.get("uid"),
        gid=raw.get("gid"),
    )


def _hook(raw: Mapping[str, Any]) -> Hook:
    return Hook(
        raw["hookName"], raw["path"], tuple(raw.get("args") or ()), tuple(raw.get("env") or ()), raw.get("timeout")
    )


def _missing(nodes: Any, mounts: Sequence[Mount], host_root: Path | None) -> tuple[str, ...]:
    if host_root is None:
        return ()
    # Other types of mounts, such as tmpfs, have no host path.
    wanted = [*(node.host_path for node in nodes), *(mount.host_path for mount in mounts if mount.type in {"", "bind"})]

    def exists(path: str) -> bool:
        below = Path(path)
        # A path may name the root already, as in CDI files of a driver on a fake node.
        inside = below if below.is_relative_to(host_root) else host_root / path.lstrip("/")
        return inside.exists()

    return tuple(path for path in wanted if not exists(path))
