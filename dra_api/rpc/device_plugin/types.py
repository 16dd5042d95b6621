"""Values that a kubelet and a device plugin exchange; `dra_api.rpc.device_plugin.codec` converts them to messages.

Frozen. Names follow the published services (k8s.io/kubelet v0.37.2: pkg/apis/deviceplugin/v1beta1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

VERSION: Final = "v1beta1"
"""The only version of the API."""

KUBELET_SOCKET: Final = "kubelet.sock"
"""The kubelet's socket in the folder of device plugins."""

HEALTHY: Final = "Healthy"
UNHEALTHY: Final = "Unhealthy"
"""The values of a device's health."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOptions:
    """What a plugin wants to be called for."""

    pre_start_required: bool = False
    get_preferred_allocation_available: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The request of Register. `endpoint` is the base name of the plugin's socket."""

    version: str
    endpoint: str
    resource_name: str
    options: PluginOptions = PluginOptions()


@dataclass(frozen=True, slots=True)
class PluginDevice:
    """One device of a list. `numa_nodes`: those of its topology, None if it has none."""

    id: str
    health: str = HEALTHY
    numa_nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the host for a container."""

    container_path: str
    host_path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device file of the host for a container; `permissions` are letters of `rwm`."""

    container_path: str
    host_path: str
    permissions: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerAllocation:
    """What one container gets of its devices."""

    envs: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceSpec, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    cdi_devices: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether a container would get nothing."""
        return not (self.envs or self.mounts or self.devices or self.annotations or self.cdi_devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceRequest:
    """The request of GetPreferredAllocation for one container."""

    available: tuple[str, ...]
    must_include: tuple[str, ...] = ()
    size: int
