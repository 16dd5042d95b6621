"""Check of the allocation's node selector: it selects the nodes that can use the devices, and no others.

Source: KEP-4381, KEP-4815; rules DRA-141 to DRA-144, DRA-197, DRA-198, DRA-254.
"""

from __future__ import annotations

from dra_conformance.oracle import nodes
from dra_conformance.oracle.context import CheckContext
from dra_conformance.oracle.pools import PoolDevice

PATH = "status.allocation.nodeSelector"


def check(context: CheckContext) -> None:
    """Check the node selector, unless a device is unknown."""
    devices = [allocated.device for allocated in context.allocated if allocated.device is not None]
    if not devices or len(devices) < len(context.allocated):
        return
    pinned = {entry.node_access.node_name for entry in devices} - {""}
    if len(pinned) > 1:
        text = f"its devices are on different nodes: {', '.join(sorted(pinned))}"
        context.findings.broken("DRA-141", text, PATH)
    elif pinned or any(entry.device.binds_to_node for entry in devices):
        expected = next(iter(pinned), "")
        per_device = any(entry.resource_slice.spec.per_device_node_selection for entry in devices)
        rule = "DRA-254" if not expected else "DRA-197" if per_device else "DRA-141"
        if not context.node_name or (expected and context.node_name != expected):
            node = f"node {expected}" if expected else "one node"
            context.findings.broken(rule, f"the node selector does not pin the allocation to {node}", PATH)
    else:
        _check_merged(context, devices)


def _check_merged(context: CheckContext, devices: list[PoolDevice]) -> None:
    """The selector is one term with the requirements of all devices' selectors (DRA-142 to DRA-144, DRA-198)."""
    broken = context.findings.broken
    selectors = [entry.node_access.node_selector for entry in devices]
    if any(selector and len(selector.node_selector_terms) > 1 for selector in selectors):
        broken("DRA-198", "a device's node selector has several terms, which cannot be merged into one", PATH)
        return
    expected = nodes.requirements(selectors)
    found = nodes.requirements([context.selector])
    terms = len(context.selector.node_selector_terms) if context.selector else 0
    if not expected and context.selector is not None:
        broken("DRA-142", "the devices can be used on all nodes, yet there is a node selector", PATH)
    elif expected and (found != expected or terms != 1):
        rule = "DRA-143" if len({nodes.requirements([one]) for one in selectors}) == 1 else "DRA-144"
        missing = ", ".join(key for _, key, _, _ in sorted(expected - found)) or "none missing"
        broken(rule, f"the node selector is not that of the devices (requirements missing: {missing})", PATH)
