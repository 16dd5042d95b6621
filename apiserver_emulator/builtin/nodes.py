"""Nodes: their status, taints, roles and columns. Source: pkg/registry/core/node/strategy.go, pkg/printers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apiserver_emulator.node_authorizer import restrict_node
from apiserver_emulator.node_lifecycle import taint_new
from apiserver_emulator.pods.field_checks import taint_errors
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.objects import Obj
from dra_api.status import FieldError, forbidden_field, invalid

_NODE_INFO = (
    "architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion",
    "machineID", "operatingSystem", "osImage", "systemUUID",
)  # fmt: skip


class NodeStrategy(BaseStrategy):
    """The rules of nodes: a status subresource, allocatable defaults to capacity."""

    status_subresource = True

    def default(self, obj: Obj) -> None:
        """Add structs that Go always serializes; default allocatable to capacity (SetDefaults_NodeStatus)."""
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
        """A node may be created with its status, as kubelets do; admission taints it."""
        taint_new(obj)

    def authorize(self, obj: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
        """NodeRestriction."""
        if found := obj or old:
            restrict_node(found["metadata"].get("name", ""), ctx.user)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Taints are well formed."""
        return taint_errors((obj.get("spec") or {}).get("taints") or [])

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore the status or the rest; an update of `status` may set labels and annotations too."""
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
            return problems + problems  # once for the whole node, once for the changed part
        before = (old.get("spec") or {}).get("providerID")
        after = (new.get("spec") or {}).get("providerID")
        if before and before != after:
            if ctx.minor >= 37:
                text = "modified" if after else "cleared"
                return [invalid("spec.providerID", None, f"field cannot be {text} once set")]
            return [
                forbidden_field("spec.providerID", 'node updates may not change providerID except from "" to valid')
            ]
        return []


def node_fields(obj: Obj) -> Mapping[str, str]:
    """By which fields nodes can be selected."""
    return {"spec.unschedulable": "true" if (obj.get("spec") or {}).get("unschedulable") else "false"}


def node_status(obj: Obj) -> object:
    """The column Status: ready or not, and whether pods may come."""
    ready = "Unknown"
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            ready = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if (obj.get("spec") or {}).get("unschedulable") else ready


def node_roles(obj: Obj) -> object:
    """The column Roles, from labels."""
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    roles = sorted(k.removeprefix(prefix) for k in labels if k.startswith(prefix) and k != prefix)
    return ",".join(roles) or "<none>"


def node_address(kind: str) -> Callable[[Obj], str]:
    """Return a function that reads the first address of a kind."""

    def read(obj: Obj) -> str:
        addresses = (obj.get("status") or {}).get("addresses") or ()
        return next((each["address"] for each in addresses if each.get("type") == kind), "<none>")

    return read


def node_info(field: str) -> Callable[[Obj], str]:
    """Return a function that reads a field of status.nodeInfo."""
    return lambda obj: ((obj.get("status") or {}).get("nodeInfo") or {}).get(field) or "<unknown>"
