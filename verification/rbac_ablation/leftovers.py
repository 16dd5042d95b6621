"""Create the objects that an interrupted run leaves on a cluster: one of every kind that `cleanup` removes."""

from __future__ import annotations

import contextlib

from dra_api.client import AlreadyExists, KubeClient
from dra_api.objects import (
    BIND_REQUESTS,
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    Resource,
)
from dra_api.transport import Transport
from dra_conformance.control_plane.own_objects import Ledger, OwnObjectsTransport

DRIVER_NAMESPACE = "dra-driver-nvidia-gpu"
_DOMAIN = "resource.nvidia.com/computeDomain"
_HOLD = "dra-conformance/hold"
_CLAIM = "resource.kubernetes.io/delete-protection"


def leave(transport: Transport, run_id: str) -> None:
    """Make them, as a run with this id. The driver's namespace is the cluster's own and stays."""
    admin = KubeClient(transport, user_agent="admin")
    # Another trial on this control plane may have created it.
    with contextlib.suppress(AlreadyExists):
        admin.create(NAMESPACES, {"metadata": {"name": DRIVER_NAMESPACE}})
    client = KubeClient(OwnObjectsTransport(transport, Ledger(run_id), shared=DRIVER_NAMESPACE), user_agent="admin")
    own = f"dra-left-{run_id}"
    client.create(NAMESPACES, {"metadata": {"name": own}})
    node = f"left-{run_id}"
    client.create(NODES, {"metadata": {"name": node}})
    # A driver in its own process publishes without the label; the slice belongs to the run nevertheless.
    admin.create(RESOURCE_SLICES, _named(f"theirs-{run_id}", spec=_slice(node)))
    client.create(RESOURCE_SLICES, _named(f"left-{run_id}", spec=_slice(node)))
    client.create(DEVICE_CLASSES, _named(f"left-{run_id}", spec={}))
    taint = {"deviceSelector": {"driver": "left.example.com"}, "taint": {"key": "k", "effect": "NoSchedule"}}
    client.create(DEVICE_TAINT_RULES, _named(f"left-{run_id}", spec=taint))
    pod = {"nodeName": node, "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]}
    claim = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "left"}}]}}
    domain = {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "left"}}}
    request = {"podName": "left", "selectedNode": node, "receivedResourceType": "Regular"}
    account = {"automountServiceAccountToken": False, "serviceAccountName": "left"}
    # kube-apiserver refuses pods whose service account does not exist.
    admin.create(_ACCOUNTS, _named("left", own))
    held: list[tuple[Resource, str, str, Obj]] = [
        (PODS, own, _HOLD, {**pod, **account}),
        (RESOURCE_CLAIMS, own, _CLAIM, claim),
        (BIND_REQUESTS, own, _HOLD, request),
        (COMPUTE_DOMAINS, own, _DOMAIN, domain),
        (COMPUTE_DOMAINS, DRIVER_NAMESPACE, _DOMAIN, domain),
        (RESOURCE_CLAIM_TEMPLATES, DRIVER_NAMESPACE, _DOMAIN, {"spec": claim}),
        (DAEMON_SETS, DRIVER_NAMESPACE, _DOMAIN, _daemons()),
    ]
    for resource, namespace, finalizer, spec in held:
        # With the finalizer that blocks the removal of such an object.
        client.create(resource, _named(f"left-{run_id}", namespace, spec=spec, finalizers=[finalizer]))
    clique = _named(f"left-{run_id}", DRIVER_NAMESPACE)
    client.create(COMPUTE_DOMAIN_CLIQUES, clique)


_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


def _named(name: str, namespace: str = "", *, spec: Obj | None = None, finalizers: list[str] | None = None) -> Obj:
    metadata: Obj = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if finalizers:
        metadata["finalizers"] = finalizers
    return {"metadata": metadata, **({} if spec is None else {"spec": spec})}


def _slice(node: str) -> Obj:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
    return {"driver": "left.example.com", "nodeName": node, "pool": pool, "devices": []}


def _daemons() -> Obj:
    labels = {"app": "left"}
    spec = {"nodeSelector": {"never": "there"}, "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]}
    return {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
