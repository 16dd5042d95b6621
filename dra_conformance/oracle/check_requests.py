"""Check that every request has its devices: the right number, or all of them, for one alternative.

Source: KEP-4381, KEP-4816; rules DRA-147, DRA-153, DRA-154, DRA-181.
"""

from __future__ import annotations

from collections import Counter

from dra_conformance.oracle import device_requests, nodes
from dra_conformance.oracle.context import RESULTS, CheckContext
from dra_conformance.oracle.nodes import NodeView
from dra_conformance.oracle.pools import DeviceId, PoolDevice
from dra_conformance.oracle.schema import DeviceClass, ExactDeviceRequest


def check(context: CheckContext) -> None:
    """Check the number of devices of each request, and that one alternative is chosen."""
    broken = context.findings.broken
    per_name = Counter(allocated.result.request for allocated in context.allocated)
    for device_request in context.claim.spec.devices.requests:
        chosen = [(name, request) for name, request in device_request.alternatives if per_name[name]]
        if not chosen:
            rule = "DRA-153" if device_request.exactly else "DRA-181"
            broken(rule, f"request {device_request.name} has no device", RESULTS)
        if len(chosen) > 1:
            names = " and ".join(name for name, _ in chosen)
            text = f"request {device_request.name} has devices for {names}; one must be chosen"
            broken("DRA-181", text, RESULTS)
        for name, request in chosen:
            if request.all_devices:
                _check_all(context, name, request)
            elif per_name[name] != request.count:
                count = per_name[name]
                text = f"request {name} has {count} device{'s'[: count != 1]}, but its count is {request.count}"
                broken("DRA-153", text, RESULTS)


def _check_all(context: CheckContext, name: str, request: ExactDeviceRequest) -> None:
    """Every matching device of the node that the allocation was made for is allocated (DRA-154)."""
    device_class = context.cluster.classes_by_name.get(request.device_class_name)
    if device_class is None:
        return
    allocated = {one.result.id for one in context.allocated if one.result.request == name}
    # An allocation that is not pinned to a node may have been made for any node that its selector selects: it is valid
    # when it is complete for one of them.
    fewest: list[PoolDevice] | None = None
    for node in _candidate_nodes(context):
        missing = _missing(context, node, allocated, request, device_class)
        if fewest is None or len(missing) < len(fewest):
            fewest = missing
    if fewest:
        text = f"request {name} is for all devices, yet {'/'.join(fewest[0].id)} is not among them"
        if len(fewest) > 1:
            text += f", nor {len(fewest) - 1} more"
        changes = (entry.resource_slice.metadata.changed for entry in fewest)
        context.findings.unless_changed(*changes)("DRA-154", text, RESULTS)
    if (here := context.node) is None:
        return
    for pool in context.cluster.pools_for(here):
        if (problem := context.pool_problem(pool, here)) and next(pool.devices(here), None) is not None:
            text = f"request {name} is for all devices, but pool {pool.title} cannot be used: {problem}"
            context.findings.broken_if_fresh("DRA-147", text, RESULTS)


def _candidate_nodes(context: CheckContext) -> list[NodeView]:
    if context.node is not None:
        return [context.node]
    selected = [node for node in context.cluster.node_views.values() if nodes.selects(context.selector, node)]
    return selected or [NodeView("")]


def _missing(
    context: CheckContext,
    node: NodeView,
    allocated: set[DeviceId],
    request: ExactDeviceRequest,
    device_class: DeviceClass,
) -> list[PoolDevice]:
    return [
        entry
        for pool in context.cluster.pools_for(node)
        if not context.pool_problem(pool, node)
        for entry in pool.devices(node)
        if entry.id not in allocated
        and not device_requests.unselected(entry, request, device_class)[0]
        and not device_requests.too_small(entry, request, shared=context.can_share(entry))[0]
        and _gates_allow(context, entry)
    ]


def _gates_allow(context: CheckContext, entry: PoolDevice) -> bool:
    partitioned = entry.device.consumes_counters or entry.resource_slice.spec.per_device_node_selection
    return not (partitioned and not context.settings.on("DRAPartitionableDevices")) and not (
        entry.device.binding_conditions and not context.settings.on("DRADeviceBindingConditions")
    )
