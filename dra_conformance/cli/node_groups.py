"""Nodes that a simulation adds: copies of a node of the cluster, or of the template of a node group.

A node group may have no node yet. Its template then says what a new node has: the Node, the ResourceSlices that drivers
publish for it, and the pods (of DaemonSets) that run on each node, with their claims.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dra_api.allocations import results_of_allocation
from dra_api.objects import Obj, key_of, name_of
from dra_conformance.core.errors import UsageError
from dra_conformance.oracle.dumps import Dump

SUFFIX = "-simulated"
HOSTNAME = "kubernetes.io/hostname"


def identified(obj: Obj) -> Obj:
    """Return a namespaced object with the namespace and UID that an API server would set."""
    metadata = obj.get("metadata") or {}
    namespace = metadata.get("namespace") or "default"
    uid = metadata.get("uid") or f"{obj.get('kind')}/{namespace}/{metadata.get('name')}"
    return {**obj, "metadata": {**metadata, "namespace": namespace, "uid": uid}}


def one_more(objects: Sequence[Obj], like: str) -> list[Obj]:
    """Return a copy of the node `like` and of its ResourceSlices, with healthy, unused devices.

    The copied slices are pools of the new node. Network devices are available on it if their node selectors match the
    copied labels. Taints of devices, and taints that describe the state of the node, are not copied.

    Raises:
        UsageError: there is no such node.
    """
    node = next((obj for obj in objects if obj.get("kind") == "Node" and name_of(obj) == like), None)
    if node is None:
        raise UsageError(f"--add-node-like {like}: not in the files")
    slices = [_copied_slice(obj, like + SUFFIX, SUFFIX) for obj in objects if _is_slice_of(obj, like)]
    for made in slices:
        for device in made["spec"].get("devices") or ():
            device.pop("taints", None)
    return [_copied_node(node, like + SUFFIX), *slices]


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """A node group: the template of its nodes. The group is named after the template's Node.

    `pods` run on each new node; `claims` are those that belong to these pods.
    """

    name: str
    node: Obj
    slices: tuple[Obj, ...]
    pods: tuple[Obj, ...] = ()
    claims: tuple[Obj, ...] = ()

    @classmethod
    def of(cls, dump: Dump, where: str) -> NodeGroup:
        """Return the group of a template. Raises UsageError if the template cannot be copied for a new node."""
        nodes = dump.of_kind("Node")
        if len(nodes) != 1:
            raise UsageError(f"--node-group {where}: a template has exactly one Node, not {len(nodes)}")
        name = name_of(nodes[0])
        slices = dump.of_kind("ResourceSlice")
        for obj in slices:
            if not _is_slice_of(obj, name):
                raise UsageError(
                    f"--node-group {where}: ResourceSlice {name_of(obj)} is not for the node {name} alone",
                    hint="Add slices that other nodes can use to the files of the cluster.",
                )
        pods = [identified(obj) for obj in dump.of_kind("Pod")]
        for pod in pods:
            if (pod.get("spec") or {}).get("nodeName") != name:
                raise UsageError(f"--node-group {where}: pod {'/'.join(key_of(pod))} is not on the node {name}")
        pools = {(obj["spec"]["driver"], obj["spec"]["pool"]["name"]) for obj in slices}
        claims = [identified(obj) for obj in dump.of_kind("ResourceClaim")]
        for claim in claims:
            for result in results_of_allocation((claim.get("status") or {}).get("allocation") or {}):
                if not result.get("adminAccess") and (result["driver"], result["pool"]) not in pools:
                    raise UsageError(
                        f"--node-group {where}: claim {'/'.join(key_of(claim))} has a device of the pool "
                        f"{result['driver']}/{result['pool']}, which is not one of the node {name} alone",
                        hint="Add claims that pods of several nodes share to the files of the cluster.",
                    )
        return cls(name, nodes[0], tuple(slices), tuple(pods), tuple(claims))

    def node_name(self, number: int) -> str:
        """Return the name of a new node."""
        return f"{self.name}{SUFFIX}-{number}"

    def new_node(self, number: int) -> list[Obj]:
        """Return the objects that a new node brings: Node, slices, pods and their claims."""
        name, suffix = self.node_name(number), f"{SUFFIX}-{number}"
        own = {key_of(claim) for claim in self.claims}
        return [
            _copied_node(self.node, name),
            *(_copied_slice(obj, name, suffix) for obj in self.slices),
            *(_copied_claim(claim, name, suffix) for claim in self.claims),
            *(_copied_pod(pod, name, suffix, own) for pod in self.pods),
        ]


def groups_of(files: Iterable[str], read: Callable[[Sequence[str]], Dump]) -> list[NodeGroup]:
    """Return the node groups of these template files. Raises UsageError for two groups of one name."""
    found: dict[str, NodeGroup] = {}
    for file in files:
        group = NodeGroup.of(read([file]), file)
        if group.name in found:
            raise UsageError(f"--node-group {file}: another template has the node {group.name} too")
        found[group.name] = group
    return list(found.values())


def _is_slice_of(obj: Obj, node: str) -> bool:
    return obj.get("kind") == "ResourceSlice" and (obj.get("spec") or {}).get("nodeName") == node


def _copied_node(node: Obj, name: str) -> Obj:
    made = copy.deepcopy(node)
    made["metadata"] = {"name": name, "labels": {**(made["metadata"].get("labels") or {}), HOSTNAME: name}}
    spec = made.get("spec") or {}
    kept = [taint for taint in spec.get("taints") or () if not str(taint.get("key")).startswith("node.kubernetes.io/")]
    made["spec"] = {**{key: value for key, value in spec.items() if key != "unschedulable"}, "taints": kept}
    return made


def _copied_slice(resource_slice: Obj, node: str, suffix: str) -> Obj:
    made = copy.deepcopy(resource_slice)
    made["metadata"] = {"name": f"{name_of(resource_slice)}{suffix}"}
    made["spec"]["nodeName"] = node
    made["spec"]["pool"]["name"] = f"{made['spec']['pool']['name']}{suffix}"
    return made


def _renamed(obj: Obj, suffix: str) -> Obj:
    """Return a copy of a namespaced object with another name and UID."""
    made = copy.deepcopy(obj)
    made["metadata"] = {"name": f"{name_of(obj)}{suffix}", "namespace": made["metadata"]["namespace"]}
    return identified(made)


def _copied_claim(claim: Obj, node: str, suffix: str) -> Obj:
    made = _renamed(claim, suffix)
    allocation = (made.get("status") or {}).get("allocation")
    if allocation is not None:
        # A device with admin access may be used by several claims: the copy may use the same one.
        for result in results_of_allocation(allocation):
            if not result.get("adminAccess"):
                result["pool"] = f"{result['pool']}{suffix}"
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        made["status"] = {"allocation": allocation}
    return made


def _copied_pod(pod: Obj, node: str, suffix: str, own: set[tuple[str, str]]) -> Obj:
    """Return a pod for a new node. It uses the copies of its own claims; a shared claim stays the same."""
    made = _renamed(pod, suffix)
    made["spec"]["nodeName"] = node
    namespace = made["metadata"]["namespace"]
    for entry in (made.get("status") or {}).get("resourceClaimStatuses") or ():
        if (namespace, entry.get("resourceClaimName")) in own:
            entry["resourceClaimName"] += suffix
    return made
