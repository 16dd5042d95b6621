"""The Node authorizer, and the part of NodeRestriction that pods and nodes need.

A node (`system:node:<name>` in `system:nodes`) has access to its Node, the pods bound to it, the objects that those
pods refer to, its lease and its ResourceSlices. Reads the store for each request; has no state of its own.

Source: plugin/pkg/auth/authorizer/node/node_authorizer.go, plugin/pkg/admission/noderestriction (release 1.36; field
selectors count, as AuthorizeNodeWithSelectors is on since 1.32); rules DRA-048, 080, 081.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_emulator.selectors import parse_fields
from apiserver_emulator.store import Store
from apiserver_emulator.strategy import RequestContext
from dra_api.request import RequestInfo, User
from dra_api.status import forbidden, not_found

Obj = dict[str, Any]

PREFIX = "system:node:"
GROUP = "system:nodes"
PODS = ("", "pods")
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a mirror pod: the pod object that a kubelet creates for a static pod."""

_READ = frozenset({"get", "list", "watch"})
_COLLECTION = frozenset({"list", "watch", "deletecollection"})
# (group, resource, verbs) without any relation to the node (the static NodeRules).
_STATIC: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("", "events", frozenset({"create", "patch", "update"})),
    ("events.k8s.io", "events", frozenset({"create", "patch", "update"})),
    ("", "services", _READ),
    ("storage.k8s.io", "csidrivers", _READ),
    ("node.k8s.io", "runtimeclasses", _READ),
    ("authentication.k8s.io", "tokenreviews", frozenset({"create"})),
    ("authorization.k8s.io", "subjectaccessreviews", frozenset({"create"})),
    ("authorization.k8s.io", "localsubjectaccessreviews", frozenset({"create"})),
)


def node_name(user: User) -> str:
    """Return the name of the node that a user identifies; empty for any other user."""
    if GROUP in user.groups and user.name.startswith(PREFIX):
        return user.name.removeprefix(PREFIX)
    return ""


class NodeAuthorizer:
    """Authorizes the requests of nodes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def decide(self, user: User, info: RequestInfo) -> tuple[bool, str]:
        """Return whether a node may make a request, and the reason if not."""
        node = node_name(user)
        if not node or not info.is_resource:
            return False, ""
        target = (info.group, info.resource)
        if any(target == (group, resource) and info.verb in verbs for group, resource, verbs in _STATIC):
            return True, ""
        if target == ("resource.k8s.io", "resourceslices"):
            return self._slice(node, info)
        if target == PODS:
            return self._pod(node, info)
        if target == ("", "nodes"):
            return self._node(node, info)
        if target == ("coordination.k8s.io", "leases"):
            return self._lease(node, info)
        if target == ("storage.k8s.io", "csinodes"):
            return info.name == node or info.verb == "create", _unrelated(node)
        if target in (("", "configmaps"), ("", "secrets")):
            if info.verb not in _READ:
                return False, "can only read resources of this type"
            return self._referenced(node, info)
        if target == ("resource.k8s.io", "resourceclaims"):
            if info.verb != "get":
                return False, "can only get individual resources of this type"
            return self._referenced(node, info)
        if target == ("", "serviceaccounts") and info.subresource in ("", "token"):
            accounts = {
                (pod["metadata"].get("namespace", ""), (pod.get("spec") or {}).get("serviceAccountName", ""))
                for pod in self._pods(node)
            }
            return (info.namespace, info.name) in accounts, _unrelated(node)
        return False, ""

    def _slice(self, node: str, info: RequestInfo) -> tuple[bool, str]:
        if info.subresource:
            return False, "cannot authorize ResourceSlice subresources"
        if info.verb == "create":
            return True, ""  # NodeRestriction checks the object
        if info.verb in _COLLECTION:
            return (
                _selects(info, "spec.nodeName", node),
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            )
        record = self._store.get((info.group, info.resource), ("", info.name))
        own = record is not None and (record.obj.get("spec") or {}).get("nodeName") == node
        return own, _unrelated(node)

    def _pod(self, node: str, info: RequestInfo) -> tuple[bool, str]:
        if info.verb == "create" and info.subresource in ("", "eviction"):
            return True, ""
        if info.verb in ("list", "watch"):
            return (
                _selects(info, "spec.nodeName", node),
                "can only list/watch pods with spec.nodeName field selector",
            )
        if info.subresource not in ("", "status"):
            return False, ""
        # NodeRestriction checks the pod that is deleted or whose status is changed.
        if info.verb in (("update", "patch") if info.subresource else ("delete",)):
            return True, ""
        if info.verb != "get" or info.subresource:
            return False, ""
        record = self._store.get(PODS, (info.namespace, info.name))
        own = record is not None and (record.obj.get("spec") or {}).get("nodeName") == node
        return own, _unrelated(node)

    @staticmethod
    def _lease(node: str, info: RequestInfo) -> tuple[bool, str]:
        if info.verb not in ("get", "create", "update", "patch", "delete"):
            return False, "can only get, create, update, patch, or delete a node lease"
        if info.namespace != "kube-node-lease":
            return False, 'can only access leases in the "kube-node-lease" system namespace'
        if info.verb != "create" and info.name != node:
            return False, "can only access node lease with the same name as the requesting node"
        return True, ""

    @staticmethod
    def _node(node: str, info: RequestInfo) -> tuple[bool, str]:
        # NodeRestriction checks the object of a write.
        if info.verb in ("create", "update", "patch"):
            return True, ""
        if info.verb in _READ:
            what = f"'{info.name}'" if info.name else "all nodes"
            return info.name == node, f"node '{node}' cannot read {what}, only its own Node object"
        return False, ""

    def _referenced(self, node: str, info: RequestInfo) -> tuple[bool, str]:
        if not info.name:
            return False, "No Object name found"
        wanted = info.resource
        for pod in self._pods(node):
            if pod["metadata"].get("namespace", "") == info.namespace and info.name in references(pod, wanted):
                return True, ""
        return False, _unrelated(node)

    def _pods(self, node: str) -> Iterator[Obj]:
        for record in self._store.snapshot(PODS)[0]:
            if (record.obj.get("spec") or {}).get("nodeName") == node:
                yield record.obj


def _unrelated(node: str) -> str:
    return f"no relationship found between node '{node}' and this object"


def _selects(info: RequestInfo, field: str, value: str) -> bool:
    return (field, "=", value) in parse_fields(info.field_selector)


def references(pod: Obj, resource: str) -> set[str]:
    """Return the names of the objects of a resource that a pod refers to."""
    if resource == "resourceclaims":
        found = _claims(pod)
    elif resource == "configmaps":
        found = {*_in_volumes(pod, "configMap"), *_in_environment(pod, "configMap")}
    else:
        pulls = (pull.get("name") for pull in (pod.get("spec") or {}).get("imagePullSecrets") or ())
        found = {*_in_volumes(pod, "secret"), *_in_environment(pod, "secret"), *pulls}
    return {name for name in found if name}


def _claims(pod: Obj) -> set[str | None]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    return {
        *(claim.get("resourceClaimName") for claim in spec.get("resourceClaims") or ()),
        *(claim.get("resourceClaimName") for claim in status.get("resourceClaimStatuses") or ()),
        (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"),
    }


def _in_volumes(pod: Obj, field: str) -> Iterator[str | None]:
    """Yield the names in the volumes of a pod; `field` is `configMap` or `secret`."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        source = volume.get(field) or {}
        # The source names a ConfigMap in `name`, a Secret in `secretName`.
        yield source.get("name") or source.get("secretName")
        for projected in (volume.get("projected") or {}).get("sources") or ():
            yield (projected.get(field) or {}).get("name")


def _in_environment(pod: Obj, field: str) -> Iterator[str | None]:
    """Yield the names in the environment of a pod's containers; `field` is `configMap` or `secret`."""
    spec = pod.get("spec") or {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        for source in container.get("envFrom") or ():
            yield (source.get(f"{field}Ref") or {}).get("name")
        for env in container.get("env") or ():
            yield ((env.get("valueFrom") or {}).get(f"{field}KeyRef") or {}).get("name")


def restrict_pod(pod: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
    """NodeRestriction for pods: a node writes its own pods, and creates mirror pods of its own. Raises 403."""
    node, found = node_name(ctx.user), pod or old
    # A list, or the deletion of a collection as a whole, has neither.
    if not node or found is None:
        return
    why = ""
    if old is None:
        why = _why_no_mirror(found, node, ctx)
    elif (old.get("spec") or {}).get("nodeName") != node and (pod is None or ctx.subresource == "status"):
        action = "delete pods" if pod is None else "update pod status for pods"
        why = f'node "{node}" can only {action} with spec.nodeName set to itself'
    elif pod is not None and ctx.subresource == "status":
        why = _why_not_status(pod, old, node)
    if why:
        raise forbidden("", "pods", found["metadata"].get("name", ""), why)


def _why_not_status(pod: Obj, old: Obj, node: str) -> str:
    """Return why a node may not write this status of its pod; empty if it may. The claims are those of controllers."""
    after, before = pod.get("status") or {}, old.get("status") or {}
    if (pod["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        return f'node "{node}" cannot update labels through pod status'
    if (after.get("resourceClaimStatuses") or []) != (before.get("resourceClaimStatuses") or []):
        return f'node "{node}" cannot update resource claim statues'  # upstream's spelling
    if after.get("extendedResourceClaimStatus") != before.get("extendedResourceClaimStatus"):
        return f'node "{node}" cannot update extended resource claim status'
    return ""


def _why_no_mirror(pod: Obj, node: str, ctx: RequestContext) -> str:
    """Return why a node may not create a pod; empty if it may."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    if MIRROR not in (metadata.get("annotations") or {}):
        return f'pod does not have "{MIRROR}" annotation, node "{node}" can only create mirror pods'
    if spec.get("nodeName") != node:
        return f'node "{node}" can only create pods with spec.nodeName set to itself'
    owners = metadata.get("ownerReferences") or []
    own = f'node "{node}" can only create pods with'
    if len(owners) > 1:
        return f"{own} a single owner reference set to itself"
    mine = {"apiVersion": "v1", "kind": "Node", "name": node}
    if not owners or {key: owners[0].get(key) for key in mine} != mine:
        return f"{own} an owner reference set to itself"
    if not owners[0].get("controller"):
        return f"{own} a controller owner reference set to itself"
    if owners[0].get("blockOwnerDeletion"):
        return f'node "{node}" must not set blockOwnerDeletion on an owner reference'
    stored = ctx.lookup("", "nodes", "", node)
    if stored is None:
        raise not_found("", "node", node)
    if (uid := stored["metadata"]["uid"]) != owners[0].get("uid"):
        return f"node {node} UID mismatch: expected {owners[0].get('uid')} got {uid}"
    # Secrets and service accounts of mirror pods are refused earlier, by the plugin ServiceAccount.
    if references(pod, "configmaps"):
        return f'node "{node}" can not create pods that reference configmaps'
    if any(volume.get("persistentVolumeClaim") for volume in spec.get("volumes") or ()):
        return f'node "{node}" can not create pods that reference persistentvolumeclaims'
    if spec.get("resourceClaims"):
        return f'node "{node}" can not create pods that reference resourceclaims'
    return ""


def restrict_node(name: str, user: User) -> None:
    """NodeRestriction for nodes: a node writes its own Node only. Raises 403."""
    node = node_name(user)
    if node and name != node:
        raise forbidden("", "nodes", name, f'node "{node}" is not allowed to modify node "{name}"')


def restrict_lease(name: str, user: User) -> None:
    """NodeRestriction for Leases: a node creates its own only. Raises 403."""
    node = node_name(user)
    if node and name != node:
        why = "can only access node lease with the same name as the requesting node"
        raise forbidden("coordination.k8s.io", "leases", name, why)


def restrict_token(account: str, reference: Obj | None, user: User, pod: Obj | None) -> None:
    """NodeRestriction for tokens: a node gets tokens that are bound to a pod of its own. Raises 403 or 404.

    `pod` is the pod that the reference names.
    """
    if not (node := node_name(user)):
        return
    bound = reference or {}
    if (bound.get("apiVersion"), bound.get("kind")) != ("v1", "Pod") or not bound.get("name"):
        why = "node requested token not bound to a pod"
    elif not bound.get("uid"):
        why = "node requested token with a pod binding without a uid"
    elif pod is None:
        raise not_found("", "pod", bound["name"])
    elif pod["metadata"]["uid"] != bound["uid"]:
        why = (
            f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record. The object "
            "might have been deleted and then recreated"
        )
    elif (pod.get("spec") or {}).get("nodeName") != node:
        why = "node requested token bound to a pod scheduled on a different node"
    else:
        return
    raise forbidden("", "serviceaccounts", account, why)
