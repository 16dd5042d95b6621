"""Nodes that offer devices both by a device plugin and by DRA, and devices that pods use in both ways.

Kubernetes does not keep the two apart: the kubelet gives out the devices of plugins, the scheduler those of claims. The
same device may be given out twice. The API shows the ids of plugin devices in `allocatedResourcesStatus` of containers
(KEP-4680); they are compared with the names and the attributes of allocated devices. Pure functions of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dra_conformance.oracle.cluster import Cluster, DeviceUse
from dra_conformance.oracle.device_requests import class_selects
from dra_conformance.oracle.nodes import NodeView
from dra_conformance.oracle.pools import PoolDevice
from dra_conformance.oracle.schema import DeviceClass, Pod

_IMPLICIT = "deviceclass.resource.kubernetes.io/"
_CLAIM = "claim:"
"""The prefix of entries of claims in `allocatedResourcesStatus`."""
_REPLICA = "::"
"""Between the id of a device and the number of its replica, in ids of NVIDIA's device plugin."""
_NOT_SCHEDULED = ("NoSchedule", "NoExecute")
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class DoubleOffer:
    """A resource that a node offers in both ways. `device` is one of the devices that a claim can have."""

    node: str
    resource: str
    allocatable: int
    device_class: str
    device: str

    @property
    def message(self) -> str:
        """Return the finding in one sentence."""
        return (
            f"{self.resource} is offered by a device plugin ({self.allocatable} allocatable) and by DRA "
            f"(DeviceClass {self.device_class}, device {self.device})"
        )


@dataclass(frozen=True, slots=True)
class DoubleUse:
    """A device that a pod has through a plugin, and that a claim has too."""

    node: str
    resource: str
    id: str
    pod: str
    claim: str
    device: str

    @property
    def message(self) -> str:
        """Return the finding in one sentence."""
        return (
            f"device {self.device} is allocated to claim {self.claim}, and pod {self.pod} has it through a device "
            f"plugin ({self.resource}, id {self.id})"
        )


def double_offers(cluster: Cluster) -> list[DoubleOffer]:
    """Return the resources that nodes offer in both ways; one entry for each node and resource.

    A resource with 0 allocatable is what a removed plugin leaves and is not reported. Neither are devices that a taint
    keeps from new claims.
    """
    return [
        DoubleOffer(node.metadata.name, resource, amount.value, found[0].metadata.name, "/".join(found[1].id))
        for node in cluster.nodes
        for resource, amount in sorted(node.status.allocatable.items())
        if amount.value > 0 and (found := _by_claim(cluster, cluster.node_view(node.metadata.name), resource))
    ]


def double_uses(cluster: Cluster) -> list[DoubleUse]:
    """Return the devices that pods use in both ways."""
    found = []
    for pod, resource, plugin_id in _plugin_ids(cluster):
        device_id = plugin_id.partition(_REPLICA)[0]
        for use, device in _allocated_on(cluster, pod.spec.node_name):
            if device_id in _names(cluster, device, resource):
                found.append(
                    DoubleUse(
                        pod.spec.node_name,
                        resource,
                        plugin_id,
                        f"{pod.metadata.namespace}/{pod.metadata.name}",
                        use.claim.title,
                        "/".join(device.id),
                    )
                )
    return found


def _by_claim(cluster: Cluster, node: NodeView, resource: str) -> tuple[DeviceClass, PoolDevice] | None:
    for device_class in _classes_of(cluster, resource):
        for pool in cluster.pools_for(node):
            for device in pool.devices(node):
                kept = any(taint.effect in _NOT_SCHEDULED for taint in device.taints)
                if not kept and class_selects(device_class, device):
                    return device_class, device
    return None


def _classes_of(cluster: Cluster, resource: str) -> list[DeviceClass]:
    """Return the classes that stand for an extended resource, by its explicit or its implicit name (KEP-5004)."""
    return [
        one
        for one in cluster.classes
        if resource in (one.spec.extended_resource_name, f"{_IMPLICIT}{one.metadata.name}")
    ]


def _plugin_ids(cluster: Cluster) -> Iterator[tuple[Pod, str, str]]:
    """Yield pod, resource and id of each device of a plugin that a pod has."""
    for pod in cluster.pods:
        if pod.status.phase in _ENDED or not pod.spec.node_name:
            continue
        for status in pod.status.container_statuses:
            for entry in status.allocated_resources_status:
                if not entry.name.startswith(_CLAIM):
                    for one in entry.resources:
                        yield pod, entry.name, one.resource_id


def _allocated_on(cluster: Cluster, node: str) -> Iterator[tuple[DeviceUse, PoolDevice]]:
    """Yield the devices of a node that claims have."""
    view = cluster.node_view(node)
    for uses in cluster.uses.values():
        for use in uses:
            device = cluster.pool_device(use.claim, use.result)
            # Devices of the network are not those of a plugin on one node.
            if device is not None and device.node_access.node_name == view.name:
                yield use, device


def _names(cluster: Cluster, device: PoolDevice, resource: str) -> set[str]:
    """Return the ids that a plugin may give to a device: values of attributes; its name, if the resource selects it."""
    found = {value["string"] for value in device.device.attributes.values() if isinstance(value.get("string"), str)}
    if any(class_selects(one, device) for one in _classes_of(cluster, resource)):
        found.add(device.device.name)
    return found
