"""Devices of slices with `skipNodeOperations`: drivers that need not be called on the node (1.37, alpha).

Only a kubelet that declares the feature does without the calls, so only its node can use such a device. Pure functions.

Source: k8s.io/dynamic-resource-allocation v0.37.2 structured/internal/experimental/allocator_experimental.go
(allocateDevice), k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/dynamicresources (Filter); rules DRA-517 to
DRA-521.
"""

from __future__ import annotations

from dra_api.allocations import results_of_allocation
from dra_api.objects import Obj
from reference_impl.node_selector import NodeFacts

FEATURE = "DRAOptionalNodeOperations"
"""The name of the feature in status.declaredFeatures of a Node."""


def optional_on(node: NodeFacts) -> bool:
    """Return whether the node's kubelet does without calls that a device skips."""
    return FEATURE in node.declared


def usable_on(allocation: Obj, node: NodeFacts) -> bool:
    """Return whether the node can do without the calls that the devices of an allocation skip.

    The allocation decides, not the slices: they may have changed since (DRA-518).
    """
    return optional_on(node) or not any(
        result.get("skipNodeOperations") for result in results_of_allocation(allocation)
    )
