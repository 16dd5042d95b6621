"""What the kubelet answers in the PodResources API v1, computed from its pods, devices of plugins and claims.

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/apis/podresources/server_v1.go and cm/container_manager_linux.go
(GetDevices, GetDynamicResources). A claim has all of its devices, whichever request a container names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from dra_api.objects import Obj, name_of, namespace_of, uid_of
from dra_api.rpc.pod_resources import (
    ClaimDevice,
    ClaimResources,
    ContainerDevices,
    ContainerResources,
    PodResources,
)
from dra_conformance.kubelet.claim_cache import ClaimRecord
from dra_conformance.kubelet.claims import ClaimManager
from dra_conformance.kubelet.device_allocation import DeviceAllocator
from dra_conformance.kubelet.errors import ClaimRefused, KubeletError


class NodePodResources:
    """The answers of one kubelet. `pods` returns the pods that have not ended."""

    def __init__(self, *, pods: Callable[[], Collection[Obj]], devices: DeviceAllocator, claims: ClaimManager) -> None:
        self._pods = pods
        self._devices = devices
        self._claims = claims

    def list_pods(self) -> Sequence[PodResources]:
        """Return all pods that have not ended, also those without devices (DP-098, DP-100)."""
        return [self._shown(pod) for pod in self._active()]

    def get_pod(self, namespace: str, name: str) -> PodResources:
        """Return one pod. Raises KubeletError if there is none, or it has ended (DP-102)."""
        for pod in self._active():
            if (namespace_of(pod), name_of(pod)) == (namespace, name):
                return self._shown(pod)
        raise KubeletError(f"pod {name} in namespace {namespace} not found")

    def allocatable(self) -> Sequence[ContainerDevices]:
        """Return all healthy devices, in use or not (DP-101)."""
        return [
            ContainerDevices(resource, (device.id,), device.numa_nodes)
            for resource, device in self._devices.offered.all_usable()
        ]

    def _active(self) -> Collection[Obj]:
        return self._pods()

    def _shown(self, pod: Obj) -> PodResources:
        # An ordinary init container has ended before the others start (DP-099).
        sidecars = [c for c in pod["spec"].get("initContainers") or () if c.get("restartPolicy") == "Always"]
        return PodResources(
            name_of(pod),
            namespace_of(pod),
            tuple(
                ContainerResources(
                    container["name"], self._plugin_devices(pod, container), self._of_claims(pod, container)
                )
                for container in (*sidecars, *(pod["spec"].get("containers") or ()))
            ),
        )

    def _plugin_devices(self, pod: Obj, container: Mapping[str, Any]) -> tuple[ContainerDevices, ...]:
        found = []
        for one in self._devices.held(uid_of(pod), container["name"]):
            for device_id in one.ids:
                device = self._devices.offered.device(one.resource, device_id)
                found.append(ContainerDevices(one.resource, (device_id,), device.numa_nodes if device else None))
        return tuple(found)

    def _of_claims(self, pod: Obj, container: Mapping[str, Any]) -> tuple[ClaimResources, ...]:
        try:
            records = self._claims.records_of(pod)
        except ClaimRefused:  # a claim from a template does not exist yet
            return ()
        extended = (pod.get("status", {}).get("extendedResourceClaimStatus") or {}).get("requestMappings") or ()
        used = dict.fromkeys(use["name"] for use in (container.get("resources") or {}).get("claims") or ())
        if any(mapping["containerName"] == container["name"] for mapping in extended):
            used[""] = None
        return tuple(_shown_claim(records[name]) for name in used if name in records)


def _shown_claim(record: ClaimRecord) -> ClaimResources:
    return ClaimResources(
        record.ref.name,
        record.ref.namespace,
        tuple(
            # Each device with its own CDI devices (DP-106).
            ClaimDevice(driver, device.pool_name, device.device_name, tuple(device.cdi_device_ids), device.share_id)
            for driver, device in record.devices()
        ),
    )
