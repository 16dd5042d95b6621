"""The built-in kinds outside resource.k8s.io: served versions, scopes, selectors, columns, and their small strategies.

Registered once when a server is made. Source: k8s.io/api v0.36, pkg/registry/core/*/strategy.go (what create and
update drop or set), pkg/printers/internalversion (columns).
"""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

from dra_api.clock import micro_timestamp
from dra_conformance.control_plane.embedded.pod_checks import taint_errors
from dra_conformance.control_plane.embedded.pods import PodStrategy, pod_columns, pod_fields
from dra_conformance.control_plane.embedded.resources import ALL_VERBS, Column, ResourceTable, ResourceType
from dra_conformance.control_plane.embedded.status import FieldError, forbidden_field, invalid, required, too_long
from dra_conformance.control_plane.embedded.strategy import BaseStrategy, Conversion, RequestContext

Obj = dict[str, Any]


class StatusStrategy(BaseStrategy):
    """Kinds with a status subresource."""

    status_subresource = True


class GenerationStrategy(BaseStrategy):
    """Kinds with a status subresource and a generation that counts spec changes."""

    status_subresource = True
    generation = True


class NamespaceStrategy(BaseStrategy):
    """Namespaces: the kubernetes finalizer, the name label, the phase."""

    def default(self, obj: Obj) -> None:
        """SetDefaults_Namespace: the well-known name label."""
        name = obj["metadata"].get("name")
        if name:
            obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Start active, held by its finalizer."""
        obj["status"] = {"phase": "Active"}
        spec = obj.setdefault("spec", {})
        finalizers = spec.setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        self.default(obj)

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """The main door keeps finalizers and status; `finalize` changes spec.finalizers only."""
        if ctx.subresource == "finalize":
            spec = new.get("spec") or {}
            new_finalizers = spec.get("finalizers")
            new["status"] = old.get("status", {})
            if new_finalizers:
                new["spec"] = {"finalizers": new_finalizers}
            else:
                new["spec"] = {}
            return
        new["spec"] = old.get("spec", {})
        if ctx.subresource == "status":
            new["metadata"] = {**old["metadata"], "managedFields": new["metadata"].get("managedFields", [])}
        else:
            new["status"] = old.get("status", {})

    def on_delete(self, obj: Obj, now: str) -> None:
        """A namespace that is being deleted says so in its phase."""
        obj.setdefault("status", {})["phase"] = "Terminating"


_NODE_INFO = (
    "architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion",
    "machineID", "operatingSystem", "osImage", "systemUUID",
)  # fmt: skip


class NodeStrategy(BaseStrategy):
    """Nodes: status through its own door; capacity implies allocatable."""

    status_subresource = True

    def default(self, obj: Obj) -> None:
        """Structs that Go cannot leave out; capacity is allocatable unless said otherwise (SetDefaults_NodeStatus)."""
        obj.setdefault("spec", {})
        status = obj.setdefault("status", {})
        status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {}).setdefault("Port", 0)
        info = status.setdefault("nodeInfo", {})
        for name in _NODE_INFO:
            info.setdefault(name, "")
        if status.get("capacity") and "allocatable" not in status:
            status["allocatable"] = dict(status["capacity"])
        for condition in status.get("conditions") or ():
            condition.setdefault("lastHeartbeatTime", None)
            condition.setdefault("lastTransitionTime", None)

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """A node may be created with its status, as kubelets do."""

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Taints are well formed."""
        return taint_errors((obj.get("spec") or {}).get("taints") or [])

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Status through its own door; the status door may set labels and annotations too."""
        if ctx.subresource == "status":
            if "spec" in old:
                new["spec"] = old["spec"]
            else:
                new.pop("spec", None)
        elif "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """Taints are well formed, and a node keeps its provider id."""
        if problems := taint_errors((new.get("spec") or {}).get("taints") or []):
            return problems + problems  # as part of the node, and as part of what changes
        before = (old.get("spec") or {}).get("providerID")
        after = (new.get("spec") or {}).get("providerID")
        if before and before != after:
            return [
                forbidden_field("spec.providerID", 'node updates may not change providerID except from "" to valid')
            ]
        return []


class EventStrategy(BaseStrategy):
    """Core events: the involved object must live in the event's namespace."""

    def default(self, obj: Obj) -> None:
        """What Go writes even where there is nothing."""
        for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
            obj.setdefault(name, None)
        for name in ("reportingComponent", "reportingInstance"):
            obj.setdefault(name, "")

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The legacy rules (validateEventUpdate is not enforced for core/v1)."""
        namespace = obj["metadata"].get("namespace", "")
        involved = (obj.get("involvedObject") or {}).get("namespace", "")
        if involved and involved != namespace:
            return [invalid("involvedObject.namespace", involved, "does not match event.namespace")]
        if not involved and namespace not in ("default", "kube-system", ""):
            return [invalid("involvedObject.namespace", "", "does not match event.namespace")]
        return []


class NewEventStrategy(EventStrategy):
    """events.k8s.io: stored in the core shape; the newer API asks for more."""

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The strict rules of events.k8s.io/v1."""
        problems = super().validate_create(obj, ctx)
        for field, name in (
            ("reportingComponent", "reportingController"),
            ("reportingInstance", "reportingInstance"),
            ("action", "action"),
            ("reason", "reason"),
        ):
            if not obj.get(field):
                problems.append(required(name))
        if not obj.get("eventTime"):
            problems.append(required("eventTime"))
        if obj.get("type") not in ("Normal", "Warning"):
            problems.append(invalid("type", obj.get("type", ""), "has invalid value: " + str(obj.get("type", ""))))
        return problems


_EVENT_NAMES = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)


def event_to_core(obj: Obj) -> Obj:
    """events.k8s.io/v1 to core/v1."""
    for new, core in _EVENT_NAMES:
        if new in obj:
            obj[core] = obj.pop(new)
    obj["apiVersion"] = "v1"
    return obj


def event_from_core(obj: Obj) -> Obj:
    """core/v1 to events.k8s.io/v1."""
    for new, core in _EVENT_NAMES:
        if core in obj:
            obj[new] = obj.pop(core)
    # All but these two are left out where they are empty, unlike in core/v1.
    for name in ("reportingController", "reportingInstance"):
        if not obj.get(name):
            obj.pop(name, None)
    obj["apiVersion"] = "events.k8s.io/v1"
    return obj


class LeaseStrategy(BaseStrategy):
    """Leases: a few range checks."""

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """validateLeaseSpec."""
        spec = obj.get("spec") or {}
        problems: list[FieldError] = []
        seconds = spec.get("leaseDurationSeconds")
        if seconds is not None and seconds <= 0:
            problems.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        transitions = spec.get("leaseTransitions")
        if transitions is not None and transitions < 0:
            problems.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The same as for a new lease."""
        return self.validate_create(new, ctx)


class SecretStrategy(BaseStrategy):
    """Secrets: stringData becomes data; the type is fixed."""

    def default(self, obj: Obj) -> None:
        """Opaque unless said otherwise."""
        obj.setdefault("type", "Opaque")
        text = obj.pop("stringData", None)
        if text:
            data = obj.setdefault("data", {})
            for key, value in text.items():
                data[key] = base64.b64encode(value.encode()).decode()

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Values are base64."""
        return _base64_errors(obj.get("data") or {}, "data")

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The type never changes; an immutable secret keeps its data."""
        problems = self.validate_create(new, ctx)
        if new.get("type") != old.get("type"):
            problems.append(invalid("type", new.get("type"), "field is immutable"))
        return problems + immutable_data_errors(new, old)


class PriorityClassStrategy(BaseStrategy):
    """Priority classes: preemption unless said otherwise."""

    generation = True

    def default(self, obj: Obj) -> None:
        """SetDefaults_PriorityClass."""
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


_DATA_KEY = re.compile(r"^[-._a-zA-Z0-9]+$")
_DATA_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_DATA_LIMIT = 1024 * 1024


class ConfigMapStrategy(BaseStrategy):
    """ConfigMaps: keys of one alphabet, a mebibyte in all; immutable ones keep their data."""

    def default(self, obj: Obj) -> None:
        """Empty maps are left out, as Go does."""
        for field in ("data", "binaryData"):
            if field in obj and not obj[field]:
                del obj[field]

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """ValidateConfigMap."""
        problems: list[FieldError] = []
        total = 0
        for field in ("data", "binaryData"):
            for key, value in (obj.get(field) or {}).items():
                if not _DATA_KEY.match(key) or len(key) > 253:
                    problems.append(invalid(f"{field}[{key}]", key, _DATA_KEY_TEXT))
                total += len(value) * 3 // 4 if field == "binaryData" else len(value.encode())
        if total > _DATA_LIMIT:
            # Upstream names no field here, which prints like this.
            problems.append(too_long("[]", _DATA_LIMIT))
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """As for a new one; see `immutable`."""
        return immutable_data_errors(new, old) + self.validate_create(new, ctx)


def _base64_errors(data: Mapping[str, str], field: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for key, value in data.items():
        try:
            base64.b64decode(value, validate=True)
        except ValueError:
            problems.append(invalid(f"{field}[{key}]", value, "illegal base64 data"))
    return problems


def immutable_data_errors(new: Obj, old: Obj) -> list[FieldError]:
    """What `immutable: true` forbids."""
    if not old.get("immutable"):
        return []
    problems: list[FieldError] = []
    if not new.get("immutable"):
        problems.append(forbidden_field("immutable", "field is immutable when `immutable` is set"))
    for field in ("data", "binaryData"):
        if new.get(field) != old.get(field):
            problems.append(forbidden_field(field, "field is immutable when `immutable` is set"))
    return problems


class RoleBindingStrategy(BaseStrategy):
    """RBAC bindings: defaults of subjects; the role reference never changes."""

    def default(self, obj: Obj) -> None:
        """API groups of role and subjects."""
        obj.setdefault("roleRef", {}).setdefault("apiGroup", "rbac.authorization.k8s.io")
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", "rbac.authorization.k8s.io")

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """roleRef is immutable."""
        if new.get("roleRef") != old.get("roleRef"):
            return [invalid("roleRef", new.get("roleRef"), "cannot change roleRef")]
        return []


class WorkloadStrategy(GenerationStrategy):
    """Deployments, daemon sets and their like: stored with the defaults that clients look at, not acted upon."""

    def default(self, obj: Obj) -> None:
        """The few defaults that kubectl and operators read."""
        spec = obj.setdefault("spec", {})
        if obj.get("kind") in ("Deployment", "StatefulSet", "ReplicaSet"):
            spec.setdefault("replicas", 1)
        if obj.get("kind") in ("Deployment", "DaemonSet", "StatefulSet"):
            spec.setdefault("revisionHistoryLimit", 10)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The selector must be there and match the template."""
        spec = obj["spec"]
        selector = spec.get("selector")
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if selector is None:
            return [required("spec.selector")]
        wanted = selector.get("matchLabels") or {}
        if any(labels.get(k) != v for k, v in wanted.items()):
            return [invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]
        return []

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The selector never changes."""
        if new["spec"].get("selector") != old["spec"].get("selector"):
            return [invalid("spec.selector", new["spec"].get("selector"), "field is immutable")]
        return []


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


def _node_status(obj: Obj) -> object:
    ready = "Unknown"
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            ready = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if (obj.get("spec") or {}).get("unschedulable") else ready


def _node_roles(obj: Obj) -> object:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    roles = sorted(k.removeprefix(prefix) for k in labels if k.startswith(prefix) and k != prefix)
    return ",".join(roles) or "<none>"


def _event_object(obj: Obj) -> object:
    involved = obj.get("involvedObject") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _event_fields(obj: Obj) -> Mapping[str, str]:
    involved = obj.get("involvedObject") or {}
    source = (obj.get("source") or {}).get("component", "") or obj.get("reportingComponent", "")
    fields = {
        f"{prefix}.{name}": str(involved.get(name, ""))
        for prefix in ("involvedObject", "regarding")
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    }
    fields.update(
        {
            "reason": obj.get("reason", ""),
            "reportingComponent": obj.get("reportingComponent", ""),
            "reportingController": obj.get("reportingComponent", ""),
            "source": source,
            "type": obj.get("type", ""),
        }
    )
    return fields


_EVENT_FIELD_NAMES = tuple(_event_fields({}))


def _namespace_fields(obj: Obj) -> Mapping[str, str]:
    return {"status.phase": (obj.get("status") or {}).get("phase", "")}


def _node_fields(obj: Obj) -> Mapping[str, str]:
    return {"spec.unschedulable": "true" if (obj.get("spec") or {}).get("unschedulable") else "false"}


def _secret_fields(obj: Obj) -> Mapping[str, str]:
    return {"type": obj.get("type", "")}


def _core(plural: str, kind: str, **more: Any) -> ResourceType:
    return ResourceType("", plural, kind, ("v1",), "v1", **more)


def _cluster(group: str, plural: str, kind: str, **more: Any) -> ResourceType:
    return ResourceType(group, plural, kind, ("v1",), "v1", namespaced=False, **more)


class NewEventConversion:
    """events.k8s.io/v1 is the core event under other names; both are one collection."""

    def to_storage(self, obj: Obj, version: str) -> Obj:
        """To the core shape."""
        return event_to_core(obj)

    def from_storage(self, obj: Obj, version: str) -> Obj:
        """To the events.k8s.io shape."""
        return event_from_core(obj)


def register(table: ResourceTable) -> None:
    """Add all built-in kinds outside resource.k8s.io."""
    event_columns = (
        Column("Last Seen", _at("lastTimestamp"), type="date"),
        Column("Type", _at("type")),
        Column("Reason", _at("reason")),
        Column("Object", _event_object),
        Column("Message", _at("message")),
    )
    workload: dict[str, Any] = {
        "subresources": ("status",),
        "strategy": WorkloadStrategy(),
        "categories": ("all",),
    }
    conversion: Conversion = NewEventConversion()
    for resource in (
        _core(
            "namespaces",
            "Namespace",
            namespaced=False,
            verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
            short_names=("ns",),
            subresources=("status", "finalize"),
            strategy=NamespaceStrategy(),
            fields=_namespace_fields,
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
            fields=_node_fields,
            field_names=("spec.unschedulable",),
            columns=(
                Column("Status", _node_status),
                Column("Roles", _node_roles),
                Column("Age", _at("metadata", "creationTimestamp"), type="date"),
                Column("Version", _at("status", "nodeInfo", "kubeletVersion")),
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
            fields=_event_fields,
            field_names=_EVENT_FIELD_NAMES,
            columns=event_columns,
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
            fields=_secret_fields,
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
            strategy=StatusStrategy(),
        ),
        _core("limitranges", "LimitRange", short_names=("limits",)),
        _core("podtemplates", "PodTemplate"),
        ResourceType("apps", "deployments", "Deployment", ("v1",), "v1", short_names=("deploy",), **workload),
        ResourceType("apps", "daemonsets", "DaemonSet", ("v1",), "v1", short_names=("ds",), **workload),
        ResourceType("apps", "replicasets", "ReplicaSet", ("v1",), "v1", short_names=("rs",), **workload),
        ResourceType("apps", "statefulsets", "StatefulSet", ("v1",), "v1", short_names=("sts",), **workload),
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
            conversion=conversion,
            fields=_event_fields,
            field_names=_EVENT_FIELD_NAMES,
            columns=event_columns,
        ),
        ResourceType("rbac.authorization.k8s.io", "roles", "Role", ("v1",), "v1"),
        ResourceType(
            "rbac.authorization.k8s.io", "rolebindings", "RoleBinding", ("v1",), "v1", strategy=RoleBindingStrategy()
        ),
        _cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"),
        _cluster(
            "rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding", strategy=RoleBindingStrategy()
        ),
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
            strategy=_WebhookStrategy(),
        ),
        _cluster("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ResourceType("networking.k8s.io", "networkpolicies", "NetworkPolicy", ("v1",), "v1", short_names=("netpol",)),
        ResourceType("discovery.k8s.io", "endpointslices", "EndpointSlice", ("v1",), "v1"),
    ):
        table.add(resource)


class _WebhookStrategy(BaseStrategy):
    """Webhook configurations: the defaults that admission relies on."""

    generation = True

    def default(self, obj: Obj) -> None:
        """SetDefaults_ValidatingWebhook."""
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            hook.setdefault("namespaceSelector", {})
            hook.setdefault("objectSelector", {})
            hook.setdefault("timeoutSeconds", 10)
            for rule in hook.get("rules") or ():
                rule.setdefault("scope", "*")
            service = (hook.get("clientConfig") or {}).get("service")
            if service:
                service.setdefault("port", 443)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The parts without which admission cannot work."""
        problems: list[FieldError] = []
        names: set[str] = set()
        for at, hook in enumerate(obj.get("webhooks") or ()):
            field = f"webhooks[{at}]"
            name = hook.get("name", "")
            if name.count(".") < 2:
                problems.append(
                    invalid(f"{field}.name", name, "should be a domain with at least three segments separated by dots")
                )
            if name in names:
                problems.append(FieldError("FieldValueDuplicate", f"{field}.name", "", name))
            names.add(name)
            versions = hook.get("admissionReviewVersions") or []
            if not versions:
                problems.append(required(f"{field}.admissionReviewVersions", "must specify one of v1, v1beta1"))
            elif "v1" not in versions and "v1beta1" not in versions:
                problems.append(
                    invalid(f"{field}.admissionReviewVersions", versions, "must include at least one of v1, v1beta1")
                )
            if hook.get("sideEffects") not in ("None", "NoneOnDryRun"):
                problems.append(
                    FieldError(
                        "FieldValueNotSupported",
                        f"{field}.sideEffects",
                        'supported values: "None", "NoneOnDryRun"',
                        hook.get("sideEffects"),
                    )
                    if hook.get("sideEffects")
                    else required(f"{field}.sideEffects", "must specify one of None, NoneOnDryRun")
                )
            client = hook.get("clientConfig") or {}
            if ("url" in client) == ("service" in client):
                problems.append(required(f"{field}.clientConfig", "exactly one of url or service is required"))
            if not 1 <= hook.get("timeoutSeconds", 10) <= 30:
                problems.append(
                    invalid(
                        f"{field}.timeoutSeconds",
                        hook.get("timeoutSeconds"),
                        "the timeout value must be between 1 and 30 seconds",
                    )
                )
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """As for a new one."""
        return self.validate_create(new, ctx)


def first_objects(now: Any) -> list[tuple[tuple[str, str], Obj]]:
    """What a fresh cluster holds: the four namespaces, and the cluster-admin role with its binding."""
    created = micro_timestamp(now)[:19] + "Z"
    found: list[tuple[tuple[str, str], Obj]] = []
    for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
        found.append(
            (
                ("", "namespaces"),
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {
                        "name": name,
                        "creationTimestamp": created,
                        "labels": {"kubernetes.io/metadata.name": name},
                    },
                    "spec": {"finalizers": ["kubernetes"]},
                    "status": {"phase": "Active"},
                },
            )
        )
    rbac, name = "rbac.authorization.k8s.io", "cluster-admin"
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    meta = {"name": name, "creationTimestamp": created, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}
    common: Obj = {"apiVersion": f"{rbac}/v1", "metadata": meta}
    found.append(((rbac, "clusterroles"), {**common, "kind": "ClusterRole", "rules": everything}))
    binding = {
        **common,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "system:masters"}],
    }
    found.append(((rbac, "clusterrolebindings"), binding))
    return [(key, copy.deepcopy(obj)) for key, obj in found]
