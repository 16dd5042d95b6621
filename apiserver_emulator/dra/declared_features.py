"""Admission of slices whose devices use allocatable resources of a node: the node must declare the feature.

Source: plugin/pkg/admission/nodedeclaredfeatures/admission.go (validateNodeAllocatableDRA), release 1.37; rules DRA-431
and DRA-433. Only devices of a named node are checked; those of a node selector or of all nodes are accepted.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.strategy import RequestContext
from dra_api.gotext import go_quote
from dra_api.request import RequestInfo
from dra_api.status import forbidden

Obj = dict[str, Any]

FEATURE = "DRANodeAllocatableResources"
"""The name of the feature gate, and of the feature in status.declaredFeatures of a Node."""


class DeclaredFeatures:
    """Refuses slices for nodes that do not declare DRANodeAllocatableResources. Stateless."""

    def interested(self, resource: ResourceType, operation: str, info: RequestInfo) -> bool:
        """Slices that are created or updated."""
        return resource.key == ("resource.k8s.io", "resourceslices") and operation in ("CREATE", "UPDATE")

    def review(
        self,
        resource: ResourceType,
        operation: str,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj | None,
        old: Obj | None,
        options: Obj,
    ) -> None:
        """Check each device that uses resources of a node. Raises 403."""
        if obj is None or not ctx.enabled(FEATURE):
            return
        for device in obj["spec"].get("devices") or ():
            if device.get("nodeAllocatableResources"):
                reason = _refusal(device, obj["spec"], ctx)
                if reason:
                    raise forbidden(resource.group, resource.plural, obj["metadata"].get("name", ""), reason)


def _refusal(device: Obj, spec: Obj, ctx: RequestContext) -> str:
    name = (device if spec.get("perDeviceNodeSelection") else spec).get("nodeName")
    if not name:
        return ""
    node = ctx.lookup("", "nodes", "", name)
    if node is None:
        return f"node {go_quote(name)} not found for device {go_quote(device['name'])}"
    if FEATURE not in ((node.get("status") or {}).get("declaredFeatures") or ()):
        return f"node {go_quote(name)} does not support {FEATURE} feature"
    return ""
