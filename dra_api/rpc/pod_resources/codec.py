"""Converts between protobuf messages and the values of `dra_api.rpc.pod_resources.types`.

Pure functions. Decoding raises google.protobuf.message.DecodeError for other data.
"""

from __future__ import annotations

from collections.abc import Iterable

from dra_api.rpc._generated.pod_resources_v1 import api_pb2 as api
from dra_api.rpc.pod_resources.types import (
    ClaimDevice,
    ClaimResources,
    ContainerDevices,
    ContainerResources,
    PodResources,
)

SERVICE = "v1.PodResourcesLister"


def _to_devices(devices: Iterable[ContainerDevices]) -> list[api.ContainerDevices]:
    return [
        api.ContainerDevices(
            resource_name=one.resource,
            device_ids=one.ids,
            topology=None
            if one.numa_nodes is None
            else api.TopologyInfo(nodes=[api.NUMANode(ID=node) for node in one.numa_nodes]),
        )
        for one in devices
    ]


def _from_devices(devices: Iterable[api.ContainerDevices]) -> tuple[ContainerDevices, ...]:
    return tuple(
        ContainerDevices(
            one.resource_name,
            tuple(one.device_ids),
            tuple(node.ID for node in one.topology.nodes) if one.HasField("topology") else None,
        )
        for one in devices
    )


def _to_pod(pod: PodResources) -> api.PodResources:
    return api.PodResources(
        name=pod.name,
        namespace=pod.namespace,
        containers=[
            api.ContainerResources(
                name=container.name,
                devices=_to_devices(container.devices),
                dynamic_resources=[
                    api.DynamicResource(
                        claim_name=claim.claim,
                        claim_namespace=claim.namespace,
                        claim_resources=[
                            api.ClaimResource(
                                cdi_devices=[api.CDIDevice(name=name) for name in device.cdi_devices],
                                driver_name=device.driver,
                                pool_name=device.pool,
                                device_name=device.device,
                                share_id=device.share_id,
                            )
                            for device in claim.devices
                        ],
                    )
                    for claim in container.claims
                ],
            )
            for container in pod.containers
        ],
    )


def _from_pod(pod: api.PodResources) -> PodResources:
    return PodResources(
        pod.name,
        pod.namespace,
        tuple(
            ContainerResources(
                container.name,
                _from_devices(container.devices),
                tuple(
                    ClaimResources(
                        claim.claim_name,
                        claim.claim_namespace,
                        tuple(
                            ClaimDevice(
                                one.driver_name,
                                one.pool_name,
                                one.device_name,
                                tuple(device.name for device in one.cdi_devices),
                                one.share_id if one.HasField("share_id") else None,
                            )
                            for one in claim.claim_resources
                        ),
                    )
                    for claim in container.dynamic_resources
                ),
            )
            for container in pod.containers
        ),
    )


def encode_list(pods: Iterable[PodResources]) -> bytes:
    """Return the response of List."""
    return api.ListPodResourcesResponse(pod_resources=[_to_pod(pod) for pod in pods]).SerializeToString()


def decode_list(data: bytes) -> tuple[PodResources, ...]:
    """Return the pods of a response of List."""
    return tuple(_from_pod(pod) for pod in api.ListPodResourcesResponse.FromString(data).pod_resources)


def encode_allocatable(devices: Iterable[ContainerDevices]) -> bytes:
    """Return the response of GetAllocatableResources."""
    return api.AllocatableResourcesResponse(devices=_to_devices(devices)).SerializeToString()


def decode_allocatable(data: bytes) -> tuple[ContainerDevices, ...]:
    """Return the devices of a response of GetAllocatableResources."""
    return _from_devices(api.AllocatableResourcesResponse.FromString(data).devices)


def encode_get(namespace: str, name: str) -> bytes:
    """Return the request of Get."""
    return api.GetPodResourcesRequest(pod_name=name, pod_namespace=namespace).SerializeToString()


def decode_get(data: bytes) -> tuple[str, str]:
    """Return namespace and name of a request of Get."""
    request = api.GetPodResourcesRequest.FromString(data)
    return request.pod_namespace, request.pod_name


def encode_pod(pod: PodResources) -> bytes:
    """Return the response of Get."""
    return api.GetPodResourcesResponse(pod_resources=_to_pod(pod)).SerializeToString()


def decode_pod(data: bytes) -> PodResources:
    """Return the pod of a response of Get."""
    return _from_pod(api.GetPodResourcesResponse.FromString(data).pod_resources)
