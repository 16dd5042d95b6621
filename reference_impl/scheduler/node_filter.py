"""Node filters apart from devices. Each filter is a function that returns a reason, or nothing if the pod fits.

Pure functions over the API's dicts. The reasons have kube-scheduler's wording.

Source: kube-scheduler plugins NodeUnschedulable, TaintToleration, NodeAffinity, NodeResourcesFit (v1.36).
`unhealthy`: KAI-Scheduler 0.12.0 and 0.17 pkg/scheduler/scheduler_util/scheduler_utils.go.
"""

from __future__ import annotations

from dra_api.objects import Obj
from reference_impl import node_selector
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler import pod_resources
from reference_impl.scheduler.allocator import taints
from reference_impl.scheduler.allocator.model import Taint
from reference_impl.scheduler.pod_resources import Amounts

# Conditions that keep pods away, each with the status of a healthy node (KAI-317).
_HEALTHY = {
    "Ready": "True",
    "MemoryPressure": "False",
    "DiskPressure": "False",
    "PIDPressure": "False",
    "NetworkUnavailable": "False",
}
_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def refusal(pod: Obj, node: Obj, facts: NodeFacts) -> str:
    """Return why `pod` must not run on `node`, whatever runs there already; empty if it may."""
    return cordoned(pod, node) or tainted(pod, node) or unselected(pod, facts)


def cordoned(pod: Obj, node: Obj) -> str:
    """Return the reason if the node accepts no new pods."""
    if (node.get("spec") or {}).get("unschedulable") and not tolerates(pod, _CORDONED):
        return "node(s) were unschedulable"
    return ""


def unhealthy(node: Obj) -> str:
    """Return the reason if a condition of the node keeps pods away; a condition that is missing does not (KAI-317).

    KAI-Scheduler looks at conditions; kube-scheduler only at the taints that the node controller derives from them.
    """
    for condition in (node.get("status") or {}).get("conditions") or ():
        kind = str(condition.get("type"))
        if kind in _HEALTHY and condition.get("status") != _HEALTHY[kind]:
            return f"node(s) had condition {kind}={condition.get('status')}"
    return ""


def tainted(pod: Obj, node: Obj) -> str:
    """Return the reason if a taint of the node excludes the pod."""
    for raw in (node.get("spec") or {}).get("taints") or ():
        taint = Taint.decode(raw)
        if taints.blocks_allocation(taint) and not tolerates(pod, taint):
            return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
    return ""


def tolerates(pod: Obj, taint: Taint) -> bool:
    """Return whether the pod's tolerations cover a node's taint."""
    return taints.tolerated((pod.get("spec") or {}).get("tolerations") or (), taint)


def unselected(pod: Obj, facts: NodeFacts) -> str:
    """Return the reason if the pod's nodeSelector or required node affinity does not match the node."""
    spec = pod.get("spec") or {}
    wanted = spec.get("nodeSelector") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if any(facts.labels.get(key) != value for key, value in wanted.items()):
        return "node(s) didn't match Pod's node affinity/selector"
    try:
        selected = node_selector.matches(required, facts)
    except node_selector.NodeSelectorError as error:
        return f"node(s) cannot be matched: {error}"
    return "" if selected else "node(s) didn't match Pod's node affinity/selector"


def full(asked: Amounts, used: Amounts, allocatable: Amounts | None) -> str:
    """Return the reason if the node has too little left; a node without allocatable is assumed to have room."""
    if allocatable is None:
        return ""
    name = pod_resources.insufficient(asked, used, allocatable)
    if name == "pods":
        return "Too many pods"
    return f"Insufficient {name}" if name else ""
