"""ComputeDomainCliques: the nodes of a domain within one NVLink clique.

The objects live in the driver's namespace. Daemons write their own entry, the controller removes entries of deleted
pods, and kubelet plugins read. Pure functions, and a writer that retries when another daemon was faster.

Source: cmd/compute-domain-daemon cdclique.go at 95932046; rules NV-150, NV-151, NV-173, NV-174.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dra_api.client import KubeClient
from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, Obj, meta, owner_reference
from reference_impl.compute_domain.objects import CLIQUE_LABEL, DOMAIN_LABEL, MAX_NODES, clique_name


class CliqueFullError(Exception):
    """The IMEX domain has no free place for another node (rule NV-174)."""


def lowest_free_index(daemons: Sequence[Obj], *, limit: int = MAX_NODES) -> int:
    """Return the index for a new daemon. Raises CliqueFullError when all `limit` places are taken."""
    taken = {daemon.get("index") for daemon in daemons}
    for index in range(limit):
        if index not in taken:
            return index
    raise CliqueFullError(f"the clique has {len(daemons)} daemons; an IMEX domain holds at most {limit} nodes")


def joined(
    daemons: Sequence[Obj], *, node: str, ip: str, clique_id: str, ready: bool, limit: int = MAX_NODES
) -> list[Obj]:
    """Return the daemon list with this node's entry made or renewed; an index once given stays.

    An index that cannot be, or that the entry of another node has, is replaced. Of two nodes with one index the first
    by name keeps it (rule NV-443).
    """
    others = [daemon for daemon in daemons if daemon["nodeName"] != node]
    own = next((daemon for daemon in daemons if daemon["nodeName"] == node), None)
    index = own.get("index") if own is not None else None
    taken = {daemon.get("index") for daemon in others if daemon["nodeName"] < node}
    if index is None or not 0 <= index < limit or index in taken:
        index = lowest_free_index(others, limit=limit)
    entry = {
        "nodeName": node,
        "ipAddress": ip,
        "cliqueID": clique_id,
        "index": index,
        "status": "Ready" if ready else "NotReady",
    }
    return sorted([*others, entry], key=lambda daemon: daemon["nodeName"])


def without(daemons: Sequence[Obj], nodes: set[str]) -> list[Obj]:
    """Return the daemon list without the entries of some nodes."""
    return [daemon for daemon in daemons if daemon["nodeName"] not in nodes]


def without_own(daemons: Sequence[Obj], *, node: str, ip: str) -> list[Obj]:
    """Return the daemon list without a node's entry, unless that has another address."""
    return [daemon for daemon in daemons if (daemon["nodeName"], daemon.get("ipAddress")) != (node, ip)]


def index_problems(daemons: Sequence[Obj], *, limit: int = MAX_NODES) -> list[str]:
    """Return which nodes have an index that another node has, or that is none of an IMEX domain (rule NV-464)."""
    nodes: dict[int, list[str]] = {}
    for daemon in daemons:
        nodes.setdefault(int(daemon.get("index") or 0), []).append(daemon["nodeName"])
    shared = [f"{', '.join(names)} have one index, {index}" for index, names in nodes.items() if len(names) > 1]
    wrong = [
        f"{', '.join(names)}: the index {index} is not between 0 and {limit - 1}"
        for index, names in nodes.items()
        if not 0 <= index < limit
    ]
    return [*shared, *wrong]


def is_node_ready(cliques: Sequence[Obj], node: str) -> bool:
    """Return whether any clique lists the node's daemon as ready."""
    return any(
        daemon["nodeName"] == node and daemon.get("status") == "Ready"
        for clique in cliques
        for daemon in clique.get("daemons") or ()
    )


class CliqueWriter:
    """Changes cliques of one namespace by one read and one conditional write.

    All daemons of a domain write the same clique, so conflicts are normal. They are raised; the caller's queue repeats
    the work with a fresh copy.
    """

    def __init__(self, client: KubeClient, *, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def join(
        self,
        domain_uid: str,
        clique_id: str,
        *,
        node: str,
        ip: str,
        ready: bool,
        pod: Obj | None,
        limit: int = MAX_NODES,
    ) -> list[Obj]:
        """Make or renew a node's entry, and return all entries.

        The clique is made for its first daemon and owned by the daemons' pods. Raises CliqueFullError if `limit` nodes
        are in it.
        """
        return self._change(
            domain_uid,
            clique_id,
            lambda daemons: joined(daemons, node=node, ip=ip, clique_id=clique_id, ready=ready, limit=limit),
            pod=pod,
        )

    def leave(self, domain_uid: str, clique_id: str, nodes: set[str]) -> None:
        """Remove nodes' entries; a clique that is gone is fine."""
        self._change(domain_uid, clique_id, lambda daemons: without(daemons, nodes), pod=None, make=False)

    def leave_as(self, domain_uid: str, clique_id: str, *, node: str, ip: str) -> None:
        """Remove a node's entry unless its successor there has renewed it with another address."""
        self._change(
            domain_uid,
            clique_id,
            lambda daemons: without_own(daemons, node=node, ip=ip),
            pod=None,
            make=False,
        )

    def _change(
        self,
        domain_uid: str,
        clique_id: str,
        change: Callable[[list[Obj]], list[Obj]],
        *,
        pod: Obj | None,
        make: bool = True,
    ) -> list[Obj]:
        name = clique_name(domain_uid, clique_id)
        clique = self._client.find(COMPUTE_DOMAIN_CLIQUES, name, self._namespace)
        if clique is None and not make:
            return []
        fresh = clique or self._new(name, domain_uid, clique_id)
        before = list(fresh.get("daemons") or ())
        owners = list(meta(fresh).get("ownerReferences") or ())
        daemons, owned = change(before), _with_owner(owners, pod)
        changed = {**fresh, "metadata": {**meta(fresh), "ownerReferences": owned}, "daemons": daemons}
        if clique is None:
            self._client.create(COMPUTE_DOMAIN_CLIQUES, changed)
        elif daemons != before or owned != owners:
            self._client.update(COMPUTE_DOMAIN_CLIQUES, changed)
        return daemons

    def _new(self, name: str, domain_uid: str, clique_id: str) -> Obj:
        return {
            "metadata": {
                "name": name,
                "namespace": self._namespace,
                "labels": {DOMAIN_LABEL: domain_uid, CLIQUE_LABEL: clique_id},
            },
        }


def _with_owner(owners: list[Obj], pod: Obj | None) -> list[Obj]:
    if pod is None:
        return owners
    reference = owner_reference({"apiVersion": "v1", "kind": "Pod", **pod})
    # Every daemon pod owns the clique, so that it is deleted with the last of them.
    return owners if any(owner.get("uid") == reference["uid"] for owner in owners) else [*owners, reference]
