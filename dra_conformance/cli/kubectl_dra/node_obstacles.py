"""Obstacles of a node apart from devices: cordoned, taints, labels, and resources such as cpu.

Pure functions. A sentence has the pod's request and nothing that differs between similar nodes, so that nodes can be
grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dra_api.objects import Obj
from dra_conformance.core.plain_text import one_line
from dra_conformance.oracle.device_requests import show
from reference_impl import node_selector
from reference_impl.node_selector import NodeSelectorError
from reference_impl.scheduler import extended_resources, node_filter
from reference_impl.scheduler.allocator import taints
from reference_impl.scheduler.allocator.model import Taint
from reference_impl.scheduler.cluster_view import ClusterView, NodeState

_CORDONED = "node.kubernetes.io/unschedulable"
_AFFINITY = 120


def obstacles(view: ClusterView, pod: Obj, state: NodeState, extended: Mapping[str, str]) -> Iterator[str]:
    """Yield each obstacle of a node. `extended`: the extended resources of the pod with their DeviceClass."""
    yield from _taints(pod, state.node)
    yield from _labels(pod, state)
    yield from _resources(view, pod, state, extended)


def _taints(pod: Obj, node: Obj) -> Iterator[str]:
    cordoned = node_filter.cordoned(pod, node)
    if cordoned:
        yield "the node is cordoned (spec.unschedulable), and the pod does not tolerate it"
    for raw in (node.get("spec") or {}).get("taints") or ():
        taint = Taint.decode(raw)
        if cordoned and taint.key == _CORDONED:
            continue
        if taints.blocks_allocation(taint) and not node_filter.tolerates(pod, taint):
            yield f"the pod does not tolerate the node's taint {taint.key}={taint.value}:{taint.effect}"


def _labels(pod: Obj, state: NodeState) -> Iterator[str]:
    spec = pod.get("spec") or {}
    for key, value in (spec.get("nodeSelector") or {}).items():
        if state.facts.labels.get(key) != value:
            yield f"the node does not have the label {key}={value} of the pod's nodeSelector"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    try:
        selected = node_selector.matches(required, state.facts)
    except NodeSelectorError as error:
        yield f"the pod's required node affinity is invalid: {error}"
        return
    if not selected:
        terms = _shown((required or {}).get("nodeSelectorTerms"))
        yield f"the node does not match the pod's required node affinity: {terms}"


def _shown(terms: Sequence[Obj] | None) -> str:
    """Return the terms of a node selector as text."""
    texts = []
    for term in terms or ():
        requirements = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        texts.append(" and ".join(_requirement(one) for one in requirements) or "a term without requirements")
    return one_line(" or ".join(texts) or "no term", limit=_AFFINITY)


def _requirement(requirement: Obj) -> str:
    values = requirement.get("values") or ()
    listed = f" [{', '.join(map(str, values))}]" if values else ""
    return f"{requirement.get('key')} {requirement.get('operator')}{listed}"


def _resources(view: ClusterView, pod: Obj, state: NodeState, extended: Mapping[str, str]) -> Iterator[str]:
    if state.allocatable is None:
        return
    used, by_devices = view.used(state.facts.name), extended_resources.by_devices(extended, state.allocatable)
    for name, needed in sorted(view.pod_needs(pod).items()):
        total = state.allocatable.get(name, 0)
        if not needed or name in by_devices or used.get(name, 0) + needed <= total:
            continue
        if name == "pods":
            yield "the node has as many pods as it can have"
            continue
        wants = f"the pod requests {show(needed * 10**6)} {name}"
        if "/" in name and not total:
            yield f"{wants}, but the node has no device plugin for it, and it is no DeviceClass's extendedResourceName"
        elif needed > total:
            yield f"{wants}, but the node has only {show(total * 10**6)}"
        else:
            yield f"{wants}, but the node has less than that left"
