"""Objects and paths that several tables of probes use."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

CORE = "/api/v1"
NS = "/api/v1/namespaces/{ns}"
MAPS = NS + "/configmaps"
PODS = NS + "/pods"
EVENTS = NS + "/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
DRA = "/apis/resource.k8s.io/v1"
CLAIMS = DRA + "/namespaces/{ns}/resourceclaims"
TEMPLATES = DRA + "/namespaces/{ns}/resourceclaimtemplates"
SLICES = DRA + "/resourceslices"
CLASSES = DRA + "/deviceclasses"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NODES = CORE + "/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
MERGED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
PROTOBUF = "application/vnd.kubernetes.protobuf"


def at(version: str, path: str) -> str:
    """A path of resource.k8s.io in another version."""
    return path.replace("/resource.k8s.io/v1/", f"/resource.k8s.io/{version}/")


def config_map(name: str = "a", data: Any = None, **metadata: Any) -> Obj:
    """A ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"k": "v"} if data is None else data,
    }


def exact(name: str = "r", **more: Any) -> Obj:
    """One request of a v1 claim."""
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com", **more}}


NODE_AT_REST = {
    "spec.taints": None,
    "metadata.annotations": {"node.alpha.kubernetes.io/ttl": "0"},
}
"""The fields of a new node after its controllers have processed it."""


def claim(name: str = "c", *requests: Obj, metadata: Obj | None = None, **devices: Any) -> Obj:
    """A v1 ResourceClaim."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"devices": {"requests": list(requests) or [exact()], **devices}},
    }


def device_class(name: str = "{id}", **spec: Any) -> Obj:
    """A v1 DeviceClass."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": spec or {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
    }


def slice_of(name: str = "{id}", *devices: Obj, metadata: Obj | None = None, **spec: Any) -> Obj:
    """A v1 ResourceSlice."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": list(devices) or [{"name": "gpu-0"}],
            **spec,
        },
    }


def allocation(**more: Any) -> Obj:
    """An allocation of one device to request r."""
    result = {"request": "r", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0", **more}
    return {"devices": {"results": [result]}}


def pod(name: str = "p", **spec: Any) -> Obj:
    """A Pod with one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}], **spec},
    }
