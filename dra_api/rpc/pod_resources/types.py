"""Values of the PodResources API v1 (k8s.io/kubelet v0.37.2: pkg/apis/podresources/v1), without CPUs and memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContainerDevices:
    """Devices of one resource of a device plugin. A kubelet may use one entry for each device."""

    resource: str
    ids: tuple[str, ...]
    numa_nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ClaimDevice:
    """One device of a claim."""

    driver: str
    pool: str
    device: str
    cdi_devices: tuple[str, ...] = ()
    share_id: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimResources:
    """The devices of one claim."""

    claim: str
    namespace: str
    devices: tuple[ClaimDevice, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerResources:
    """What one container has."""

    name: str
    devices: tuple[ContainerDevices, ...] = ()
    claims: tuple[ClaimResources, ...] = ()


@dataclass(frozen=True, slots=True)
class PodResources:
    """What the containers of one pod have."""

    name: str
    namespace: str
    containers: tuple[ContainerResources, ...] = ()
