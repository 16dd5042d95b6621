"""The table of built-in kinds outside resource.k8s.io: served versions, scopes, strategies, selectors and columns.

A server registers it when it starts. Source: k8s.io/api v0.36, pkg/printers/internalversion (columns).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from apiserver_emulator.auth import RBAC
from apiserver_emulator.builtin.data import ConfigMapStrategy, SecretStrategy, secret_fields
from apiserver_emulator.builtin.events import (
    EVENT_FIELD_NAMES,
    EventStrategy,
    NewEventConversion,
    NewEventStrategy,
    event_fields,
    event_object,
)
from apiserver_emulator.builtin.namespaces import NamespaceStrategy, namespace_fields
from apiserver_emulator.builtin.nodes import NodeStrategy, node_address, node_fields, node_info, node_roles, node_status
from apiserver_emulator.builtin.rbac import RoleBindingStrategy, RoleStrategy
from apiserver_emulator.builtin.resource_quotas import ResourceQuotaStrategy
from apiserver_emulator.builtin.simple import (
    GenerationStrategy,
    LeaseStrategy,
    PriorityClassStrategy,
    StatusStrategy,
    WorkloadStrategy,
)
from apiserver_emulator.builtin.webhook_configurations import WebhookStrategy
from apiserver_emulator.pods.columns import pod_columns, pod_fields
from apiserver_emulator.pods.strategy import PodStrategy
from apiserver_emulator.resource_types import ALL_VERBS, Column, ResourceTable, ResourceType
from dra_api.objects import Obj


def _core(plural: str, kind: str, **more: Any) -> ResourceType:
    return ResourceType("", plural, kind, ("v1",), "v1", **more)


def _cluster(group: str, plural: str, kind: str, **more: Any) -> ResourceType:
    return ResourceType(group, plural, kind, ("v1",), "v1", namespaced=False, **more)


def _at(*path: str) -> Callable[[Obj], object]:
    def read(obj: Obj) -> object:
        found: Any = obj
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return "" if found is None else found

    return read


def _count(*path: str) -> Callable[[Obj], object]:
    inner = _at(*path)

    def read(obj: Obj) -> object:
        found = inner(obj)
        return len(found) if isinstance(found, (dict, list)) else 0

    return read


_EVENT_COLUMNS = (
    Column("Last Seen", _at("lastTimestamp"), type="date"),
    Column("Type", _at("type")),
    Column("Reason", _at("reason")),
    Column("Object", event_object),
    Column("Message", _at("message")),
)
_WORKLOAD: dict[str, Any] = {"subresources": ("status",), "strategy": WorkloadStrategy(), "categories": ("all",)}

# Strategies have no state, so that all servers of a process share these entries. Discovery lists them in this order.
_CORE = (
    _core(
        "namespaces",
        "Namespace",
        namespaced=False,
        # Upstream serves no deletecollection of namespaces.
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
        short_names=("ns",),
        subresources=("status", "finalize"),
        strategy=NamespaceStrategy(),
        fields=namespace_fields,
        field_names=("status.phase",),
        columns=(Column("Status", _at("status", "phase")),),
    ),
    _core(
        "nodes",
        "Node",
        namespaced=False,
        short_names=("no",),
        subresources=("status",),
        strategy=NodeStrategy(),
        fields=node_fields,
        field_names=("spec.unschedulable",),
        columns=(
            Column("Status", node_status),
            Column("Roles", node_roles),
            Column("Age", _at("metadata", "creationTimestamp"), type="date"),
            Column("Version", _at("status", "nodeInfo", "kubeletVersion")),
            Column("Internal-IP", node_address("InternalIP"), priority=1),
            Column("External-IP", node_address("ExternalIP"), priority=1),
            Column("OS-Image", node_info("osImage"), priority=1),
            Column("Kernel-Version", node_info("kernelVersion"), priority=1),
            Column("Container-Runtime", node_info("containerRuntimeVersion"), priority=1),
        ),
    ),
    _core(
        "pods",
        "Pod",
        short_names=("po",),
        categories=("all",),
        subresources=("status", "binding", "eviction", "ephemeralcontainers", "resize"),
        strategy=PodStrategy(),
        fields=pod_fields,
        field_names=tuple(pod_fields({"metadata": {}})),
        columns=pod_columns(),
    ),
    _core(
        "events",
        "Event",
        short_names=("ev",),
        strategy=EventStrategy(),
        fields=event_fields,
        field_names=EVENT_FIELD_NAMES,
        columns=_EVENT_COLUMNS,
    ),
    _core(
        "configmaps",
        "ConfigMap",
        short_names=("cm",),
        strategy=ConfigMapStrategy(),
        columns=(Column("Data", _count("data"), type="integer"),),
    ),
    _core(
        "secrets",
        "Secret",
        strategy=SecretStrategy(),
        fields=secret_fields,
        field_names=("type",),
        columns=(Column("Type", _at("type")), Column("Data", _count("data"), type="integer")),
    ),
    _core("serviceaccounts", "ServiceAccount", short_names=("sa",), subresources=("token",)),
    _core("services", "Service", short_names=("svc",), categories=("all",), subresources=("status",)),
    _core("endpoints", "Endpoints", short_names=("ep",)),
    _core(
        "persistentvolumes",
        "PersistentVolume",
        namespaced=False,
        short_names=("pv",),
        subresources=("status",),
        strategy=StatusStrategy(),
    ),
    _core(
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        short_names=("pvc",),
        subresources=("status",),
        strategy=StatusStrategy(),
    ),
    _core(
        "replicationcontrollers",
        "ReplicationController",
        short_names=("rc",),
        subresources=("status",),
        strategy=GenerationStrategy(),
    ),
    _core(
        "resourcequotas",
        "ResourceQuota",
        short_names=("quota",),
        subresources=("status",),
        strategy=ResourceQuotaStrategy(),
    ),
    _core("limitranges", "LimitRange", short_names=("limits",)),
    _core("podtemplates", "PodTemplate"),
)
_WORKLOADS = (
    ResourceType("apps", "deployments", "Deployment", ("v1",), "v1", short_names=("deploy",), **_WORKLOAD),
    ResourceType("apps", "daemonsets", "DaemonSet", ("v1",), "v1", short_names=("ds",), **_WORKLOAD),
    ResourceType("apps", "replicasets", "ReplicaSet", ("v1",), "v1", short_names=("rs",), **_WORKLOAD),
    ResourceType("apps", "statefulsets", "StatefulSet", ("v1",), "v1", short_names=("sts",), **_WORKLOAD),
    ResourceType("apps", "controllerrevisions", "ControllerRevision", ("v1",), "v1"),
    ResourceType(
        "batch",
        "jobs",
        "Job",
        ("v1",),
        "v1",
        subresources=("status",),
        strategy=GenerationStrategy(),
        categories=("all",),
    ),
    ResourceType(
        "batch",
        "cronjobs",
        "CronJob",
        ("v1",),
        "v1",
        short_names=("cj",),
        subresources=("status",),
        strategy=GenerationStrategy(),
        categories=("all",),
    ),
    ResourceType(
        "policy",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        ("v1",),
        "v1",
        short_names=("pdb",),
        subresources=("status",),
        strategy=GenerationStrategy(),
    ),
)
_LEASES_AND_EVENTS = (
    ResourceType(
        "coordination.k8s.io",
        "leases",
        "Lease",
        ("v1",),
        "v1",
        strategy=LeaseStrategy(),
        columns=(Column("Holder", _at("spec", "holderIdentity")),),
    ),
    ResourceType(
        "events.k8s.io",
        "events",
        "Event",
        ("v1",),
        "core",
        short_names=("ev",),
        stored_with=("", "events"),
        strategy=NewEventStrategy(),
        conversion=NewEventConversion(),
        fields=event_fields,
        field_names=EVENT_FIELD_NAMES,
        columns=_EVENT_COLUMNS,
    ),
)
_RBAC_KINDS = (
    ResourceType(RBAC, "roles", "Role", ("v1",), "v1", strategy=RoleStrategy(namespaced=True)),
    ResourceType(
        RBAC, "rolebindings", "RoleBinding", ("v1",), "v1", strategy=RoleBindingStrategy("Role", "ClusterRole")
    ),
    _cluster(RBAC, "clusterroles", "ClusterRole", strategy=RoleStrategy(namespaced=False)),
    _cluster(RBAC, "clusterrolebindings", "ClusterRoleBinding", strategy=RoleBindingStrategy("ClusterRole")),
)
_OTHERS = (
    _cluster(
        "scheduling.k8s.io",
        "priorityclasses",
        "PriorityClass",
        short_names=("pc",),
        strategy=PriorityClassStrategy(),
    ),
    _cluster("storage.k8s.io", "storageclasses", "StorageClass", short_names=("sc",)),
    _cluster("storage.k8s.io", "csinodes", "CSINode"),
    _cluster("storage.k8s.io", "csidrivers", "CSIDriver"),
    ResourceType("storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity", ("v1",), "v1"),
    _cluster("storage.k8s.io", "volumeattachments", "VolumeAttachment", subresources=("status",)),
    _cluster("node.k8s.io", "runtimeclasses", "RuntimeClass"),
    _cluster(
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        strategy=WebhookStrategy(),
        categories=("api-extensions",),
    ),
    _cluster(
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        categories=("api-extensions",),
    ),
    ResourceType("networking.k8s.io", "networkpolicies", "NetworkPolicy", ("v1",), "v1", short_names=("netpol",)),
    ResourceType("discovery.k8s.io", "endpointslices", "EndpointSlice", ("v1",), "v1"),
)


def register(table: ResourceTable) -> None:
    """Add all built-in kinds outside resource.k8s.io."""
    for resource in chain(_CORE, _WORKLOADS, _LEASES_AND_EVENTS, _RBAC_KINDS, _OTHERS):
        table.add(resource)
