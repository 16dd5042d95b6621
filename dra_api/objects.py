"""The API resources that the project uses, and accessors of their metadata.

Objects are plain dicts (`Obj`) exactly as the API server sent them, so unknown fields survive every read and write.

Source: k8s.io/api v0.36 (groups, kinds, scopes); KAI-Scheduler 0.17 CRDs (scheduling.run.ai);
NVIDIA DRA driver 25.12 CRDs (resource.nvidia.com).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from urllib.parse import quote

Obj: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """One API resource: its path and its kind.

    `group` is empty for the core group; `plural` is the path segment; `namespaced` is its scope.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `v1`, or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def gvk(self) -> tuple[str, str, str]:
        """Group, version and kind."""
        return (self.group, self.version, self.kind)

    def at(self, version: str) -> Resource:
        """Return the same resource in another version of its group."""
        return replace(self, version=version)

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the request path of a collection, of one object, or of a subresource.

        A namespaced resource without `namespace` leads to the collection over all namespaces.
        """
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/" + "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
EVENTS = Resource("", "v1", "events", "Event")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
JOBS = Resource("batch", "v1", "jobs", "Job")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)

DEVICE_CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
RESOURCE_CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
RESOURCE_CLAIM_TEMPLATES = Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
RESOURCE_SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
# DeviceTaintRule reaches v1 in 1.37; 1.36 serves v1beta2, 1.33 to 1.35 v1alpha3, all in one shape.
DEVICE_TAINT_RULES = Resource("resource.k8s.io", "v1beta2", "devicetaintrules", "DeviceTaintRule", namespaced=False)
TAINT_RULE_VERSIONS = ("v1", "v1beta2", "v1alpha3")  # best first
RESOURCE_POOL_STATUS_REQUESTS = Resource(
    "resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests", "ResourcePoolStatusRequest", namespaced=False
)

BIND_REQUESTS = Resource("scheduling.run.ai", "v1alpha2", "bindrequests", "BindRequest")
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)
SCHEDULING_POD_GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")

COMPUTE_DOMAINS = Resource("resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain")
COMPUTE_DOMAIN_CLIQUES = Resource("resource.nvidia.com", "v1beta1", "computedomaincliques", "ComputeDomainClique")

KNOWN: tuple[Resource, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Resource))


def meta(obj: Obj) -> Obj:
    """Return the object's metadata, or an empty dict."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def name_of(obj: Obj) -> str:
    """Return `metadata.name`, or an empty string."""
    return str(meta(obj).get("name") or "")


def namespace_of(obj: Obj) -> str:
    """Return `metadata.namespace`, or an empty string for cluster-scoped objects."""
    return str(meta(obj).get("namespace") or "")


def uid_of(obj: Obj) -> str:
    """Return `metadata.uid`, or an empty string for an object that is not stored yet."""
    return str(meta(obj).get("uid") or "")


def key_of(obj: Obj) -> tuple[str, str]:
    """Return namespace and name, the key of an object within its kind."""
    return namespace_of(obj), name_of(obj)


def owner_reference(owner: Obj, *, controller: bool = False, block_owner_deletion: bool = False) -> Obj:
    """Return an owner reference to `owner`; flags that are false are omitted."""
    reference: Obj = {
        "apiVersion": owner.get("apiVersion", ""),
        "kind": owner.get("kind", ""),
        "name": name_of(owner),
        "uid": uid_of(owner),
    }
    if controller:
        reference["controller"] = True
    if block_owner_deletion:
        reference["blockOwnerDeletion"] = True
    return reference


def is_ready(obj: Obj) -> bool:
    """Return whether the Ready condition of a Pod or Node is True."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def controller_of(obj: Obj) -> Obj | None:
    """Return the owner reference with `controller: true`, or None."""
    for reference in meta(obj).get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None
