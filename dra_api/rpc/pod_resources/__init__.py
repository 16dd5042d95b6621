"""The kubelet's PodResources API v1 over gRPC, with typed values: which devices the containers of a node have."""

from dra_api.rpc.pod_resources.endpoint import PodResourcesClient, PodResourcesLister, PodResourcesServer
from dra_api.rpc.pod_resources.types import (
    ClaimDevice,
    ClaimResources,
    ContainerDevices,
    ContainerResources,
    PodResources,
)

__all__ = [
    "ClaimDevice",
    "ClaimResources",
    "ContainerDevices",
    "ContainerResources",
    "PodResources",
    "PodResourcesClient",
    "PodResourcesLister",
    "PodResourcesServer",
]
