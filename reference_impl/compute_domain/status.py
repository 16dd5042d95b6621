"""The status of a ComputeDomain, computed from its cliques and its daemon pods. Pure functions.

Source: cmd/compute-domain-controller cdstatus.go and computedomain.go at 95932046; rules NV-148 to NV-152.
"""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.objects import Obj, is_ready, meta
from reference_impl.compute_domain.objects import CLIQUE_LABEL


def nodes_of(cliques: Sequence[Obj], pods: Sequence[Obj]) -> list[Obj]:
    """Return the nodes that joined: those in cliques, and those of daemon pods without a fabric (index -1)."""
    nodes = {
        daemon["nodeName"]: {
            "name": daemon["nodeName"],
            "ipAddress": daemon["ipAddress"],
            "cliqueID": daemon["cliqueID"],
            "index": daemon.get("index", 0),
            "status": daemon["status"],
        }
        for clique in cliques
        for daemon in clique.get("daemons") or ()
    }
    for pod in pods:
        # A pod gets its address on its node, so a pod with an address has a node too.
        address = (pod.get("status") or {}).get("podIP")
        if address and has_no_fabric(pod):
            node = pod["spec"]["nodeName"]
            nodes[node] = {
                "name": node,
                "ipAddress": address,
                "cliqueID": "",
                "index": -1,
                "status": "Ready" if is_ready(pod) else "NotReady",
            }
    return [nodes[name] for name in sorted(nodes)]


def has_no_fabric(pod: Obj) -> bool:
    """Return whether a daemon pod reports that its node is in no clique (rule NV-152)."""
    return (meta(pod).get("labels") or {}).get(CLIQUE_LABEL) == ""


def dead_entries(clique: Obj, pods: Sequence[Obj]) -> set[str]:
    """Return nodes of a clique that have no daemon pod any more (rule NV-151)."""
    living = {pod["spec"].get("nodeName") for pod in pods}
    return {daemon["nodeName"] for daemon in clique.get("daemons") or () if daemon["nodeName"] not in living}


def global_status(domain: Obj, nodes: Sequence[Obj]) -> str:
    """Ready when enough nodes joined and all of them are ready; with numNodes 0 at once (NV-148, NV-149)."""
    enough = len(nodes) >= domain["spec"]["numNodes"]
    return "Ready" if enough and all(node["status"] == "Ready" for node in nodes) else "NotReady"


def domain_status(domain: Obj, cliques: Sequence[Obj], pods: Sequence[Obj]) -> Obj:
    """Return the whole status."""
    nodes = nodes_of(cliques, pods)
    status: Obj = {"status": global_status(domain, nodes)}
    return {**status, "nodes": nodes} if nodes else status


def is_node_ready(domain: Obj, node: str) -> bool:
    """Return whether the domain's status lists a node as ready."""
    entries: Sequence[Obj] = (domain.get("status") or {}).get("nodes") or ()
    return any(entry["name"] == node and entry.get("status") == "Ready" for entry in entries)
