"""Admission of pods: service account, priority, RuntimeClass and tolerations of new ones, the room for a resize.

Stateless over the server's other objects. Source: plugin/pkg/admission/serviceaccount, plugin/pkg/admission/priority,
plugin/pkg/admission/defaulttolerationseconds, release 1.36; plugin/pkg/admission/podresize, release 1.37; observed on
kube-apiserver 1.36.2 and 1.37.2.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

from apiserver_emulator.node_authorizer import MIRROR, references
from apiserver_emulator.strategy import RequestContext
from dra_api.gotext import go_quote
from dra_api.pod_requests import added, of_containers
from dra_api.quantity import Quantity
from dra_api.status import StatusError, forbidden

Obj = dict[str, Any]

_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
# 60 * 60 + 7: upstream's WarnOnlyBoundTokenExpirationPeriod.
_TOKEN_SECONDS = 3607
_MODE = 420
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

_RESIZED = ("cpu", "memory")
_RESIZE_VALIDATED = 37
"""The minor since which a resize is compared with the node."""


def admit(pod: Obj, ctx: RequestContext) -> None:
    """Complete a new pod. Raises 403 for a service account or a priority class that is not there."""
    _account(pod, ctx)
    _priority(pod, ctx)
    _runtime_class(pod, ctx)
    tolerate(pod["spec"])


def check_resize(pod: Obj, old: Obj, ctx: RequestContext) -> None:
    """Refuse more CPU or memory than the node of a pod has (PodResizeValidator, since 1.37). Raises 403."""
    node_name = pod["spec"].get("nodeName")
    if ctx.minor < _RESIZE_VALIDATED or not node_name or pod["spec"] == old["spec"]:
        return
    name = pod["metadata"].get("name", "")
    node = ctx.lookup("", "nodes", "", node_name)
    if node is None:
        raise forbidden("", "pods", name, f"node {go_quote(node_name)} not found")
    system = (node["metadata"].get("labels") or {}).get("kubernetes.io/os", "linux")
    if system != "linux":
        text = f"pod resize is only supported on linux nodes, node {go_quote(node_name)} is {go_quote(system)}"
        raise _refused_resize(name, text, "UnsupportedPlatform")
    allocatable = _amounts((node.get("status") or {}).get("allocatable"))
    requests = added(
        of_containers(pod["spec"], lambda one: _amounts((one.get("resources") or {}).get("requests"))),
        _amounts(pod["spec"].get("overhead")),
    )
    over = [
        f"{resource}, requested: {requests[resource]}, allocatable: {allocatable.get(resource, 0)}"
        for resource in _RESIZED
        if requests.get(resource, 0) > allocatable.get(resource, 0)
    ]
    if over:
        text = f"node didn't have enough allocatable resources: {'; '.join(over)}"
        raise _refused_resize(name, text, "NodeCapacity")


def _refused_resize(pod: str, text: str, cause: str) -> StatusError:
    error = forbidden("", "pods", pod, text)
    error.details["causes"] = [{"reason": cause}]
    return error


def _amounts(quantities: Obj | None) -> dict[str, int]:
    """Return CPU in thousandths and memory in bytes."""
    found = {name: Quantity.parse(str(text)) for name, text in (quantities or {}).items() if name in _RESIZED}
    return {name: one.milli_value if name == "cpu" else one.value for name, one in found.items()}


def _account(pod: Obj, ctx: RequestContext) -> None:
    spec = pod["spec"]
    if MIRROR in (pod["metadata"].get("annotations") or {}):
        _check_mirror(pod)
        return
    name = spec.setdefault("serviceAccountName", "default")
    spec["serviceAccount"] = name
    account = ctx.lookup("", "serviceaccounts", ctx.namespace, name)
    # A real server refuses pods until the account `default` of a new namespace exists. Here it need not exist yet, so
    # that no client has to wait for the controller.
    if account is None and name != "default":
        detail = f'error looking up service account {ctx.namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden("", "pods", pod["metadata"].get("name", ""), detail)
    wanted = spec.get("automountServiceAccountToken", (account or {}).get("automountServiceAccountToken", True))
    if wanted:
        _mount_token(pod)


def _check_mirror(pod: Obj) -> None:
    """Raise 403 if a mirror pod refers to objects that the kubelet of a static pod cannot read."""
    what = "service accounts" if pod["spec"].get("serviceAccountName") else ""
    if not what and references(pod, "secrets"):
        what = "secrets"
    if what:
        raise forbidden("", "pods", pod["metadata"].get("name", ""), f"a mirror pod may not reference {what}")


def _suffix(uid: str) -> str:
    return "".join(_SUFFIX[byte % len(_SUFFIX)] for byte in hashlib.sha256(uid.encode()).digest()[:5])


def _mount_token(pod: Obj) -> None:
    spec = pod["spec"]
    bare = [
        container
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
        if not any(mount.get("mountPath") == _TOKEN_PATH for mount in container.get("volumeMounts") or ())
    ]
    if not bare:
        return
    volume = "kube-api-access-" + _suffix(pod["metadata"]["uid"])
    for container in bare:
        mount = {"name": volume, "readOnly": True, "mountPath": _TOKEN_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    entry = {"name": volume, "projected": {"sources": sources, "defaultMode": _MODE}}
    spec["volumes"] = [*(spec.get("volumes") or ()), entry]


def _priority(pod: Obj, ctx: RequestContext) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    given, policy = spec.get("priority"), "PreemptLowerPriority"
    value = 0
    if name:
        found = ctx.lookup("scheduling.k8s.io", "priorityclasses", "", name)
        if found is None and name not in _SYSTEM_CLASSES:
            detail = f"no PriorityClass with name {name} was found"
            raise forbidden("", "pods", pod["metadata"].get("name", ""), detail)
        value = _SYSTEM_CLASSES[name] if found is None else int(found.get("value", 0))
        policy = (found or {}).get("preemptionPolicy") or policy
    if given is not None and given != value:
        detail = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {value} from the given PriorityClass name"
        )
        raise forbidden("", "pods", pod["metadata"].get("name", ""), detail)
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", policy)


def _runtime_class(pod: Obj, ctx: RequestContext) -> None:
    """Set the overhead, the node selector and the tolerations of the pod's RuntimeClass (plugin RuntimeClass)."""
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    found = ctx.lookup("node.k8s.io", "runtimeclasses", "", name) if name else None
    refused = partial(forbidden, "", "pods", pod["metadata"].get("name", ""))
    if name and found is None:
        raise refused(f"pod rejected: RuntimeClass {go_quote(name)} not found")
    overhead = ((found or {}).get("overhead") or {}).get("podFixed")
    if spec.get("overhead") and not overhead:
        raise refused("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    if spec.get("overhead") and _quantities(spec["overhead"]) != _quantities(overhead):
        raise refused("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    if overhead:
        spec["overhead"] = dict(overhead)
    scheduling = (found or {}).get("scheduling") or {}
    selector = spec.get("nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            text = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise refused(f"{text}; pod.spec.nodeSelector[{key}] = {selector[key]}")
        spec["nodeSelector"] = selector = {**selector, key: value}
    added_ones = [one for one in scheduling.get("tolerations") or () if one not in (spec.get("tolerations") or ())]
    if added_ones:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *added_ones]


def _quantities(amounts: Obj | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(str(text)) for name, text in (amounts or {}).items()}


def tolerate(spec: Obj) -> None:
    """Add the default tolerations of five minutes for nodes that are not ready or unreachable."""
    tolerations = spec.setdefault("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        # A toleration without key or effect covers these two as well.
        if not any(t.get("key") in (key, None, "") and t.get("effect") in (None, "", "NoExecute") for t in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
