"""Mutants of ComputeDomains over several nodes: status, claims of the nodes, and daemons that join and leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.objects import NODES
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex import CONTROLLER, MEMBERSHIP, PREPARER, STATUS
from dra_conformance.mutants.imex_controller import CLIQUES, LABEL
from reference_impl.compute_domain import status
from reference_impl.compute_domain.membership import NotYetError, PermanentError
from reference_impl.kubelet_plugin.claims import own_results

DAEMON = "reference_impl.compute_domain.imex_daemon:ImexDaemon"


@mutant("nodes-numbered-by-position-in-status", rule="NV-350")
def _(patch: Patch) -> None:
    """The index of a node in the status is its position among the nodes."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: [{**node, "index": at} for at, node in enumerate(original(*args))]

    patch.wrap(f"{STATUS}:nodes_of", make)


@mutant("nodes-with-the-address-of-the-first-one", rule="NV-350")
def _(patch: Patch) -> None:
    """Every node in the status has the address of the first one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def nodes_of(*args: Any) -> Any:
            found = original(*args)
            return [{**node, "ipAddress": found[0]["ipAddress"]} for node in found]

        return nodes_of

    patch.wrap(f"{STATUS}:nodes_of", make)


@mutant("status-of-the-last-node-counts", rule="NV-353")
def _(patch: Patch) -> None:
    """A ComputeDomain with enough nodes is as ready as the last one in its status."""

    def global_status(domain: Any, nodes: Any) -> str:
        enough = len(nodes) >= domain["spec"]["numNodes"]
        return "Ready" if enough and (not nodes or nodes[-1]["status"] == "Ready") else "NotReady"

    patch.replace(f"{STATUS}:global_status", global_status)


@mutant("status-written-when-a-node-joins-or-leaves", rule="NV-353")
def _(patch: Patch) -> None:
    """The status is written only if the number of nodes has changed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update(self: Any, domain: Any) -> None:
            listed = [len(one.get("nodes") or ()) for one in (domain.get("status") or {}, self.wanted_status(domain))]
            if listed[0] != listed[1] or not listed[0]:
                original(self, domain)

        return update

    patch.wrap(f"{CONTROLLER}.update_status", make)


@mutant("channel-when-every-node-is-ready", rule="NV-362")
def _(patch: Patch) -> None:
    """A channel is prepared once all nodes of the ComputeDomain are ready."""

    def ready(self: Any, domain: Any) -> bool:
        own = [
            entry
            for clique in self._cliques.list()
            if (clique["metadata"].get("labels") or {}).get(LABEL) == domain["metadata"]["uid"]
            for entry in clique.get("daemons") or ()
        ]
        return bool(own) and all(entry.get("status") == "Ready" for entry in own)

    patch.replace(f"{MEMBERSHIP}.is_ready", ready)


@mutant("prepared-channel-needs-a-ready-node", rule="NV-449")
def _(patch: Patch) -> None:
    """A repeated Prepare checks again whether the node is ready."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def prepare(self: Any, claim: Any) -> Any:
            answer = original(self, claim)
            for _, config in self.choose(claim, own_results(claim.status, self.driver)):
                self._membership.check_ready(self._membership.domain(config.domain_id))
            return answer

        return prepare

    patch.wrap(f"{PREPARER}.prepare", make)


@mutant("node-leaves-when-its-domain-turns-not-ready", rule="NV-449")
def _(patch: Patch) -> None:
    """A node removes its own label when its ComputeDomain turns NotReady."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def changed(self: Any, change: Any) -> None:
            original(self, change)
            before, now = [(one or {}).get("status", {}).get("status") for one in (change.old, change.object)]
            if change.object["kind"] == "ComputeDomain" and (before, now) == ("Ready", "NotReady"):
                self.leave(change.object["metadata"]["uid"])

        return changed

    patch.wrap(f"{MEMBERSHIP}._changed", make)


@mutant("waiting-claim-refused-when-the-domain-turns-not-ready", rule="NV-450")
def _(patch: Patch) -> None:
    """A claim that waits is refused for good once its ComputeDomain was Ready and is not any more."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, domain: Any) -> None:
            seen = self.__dict__.setdefault("seen_ready", set())
            uid, ready = domain["metadata"]["uid"], (domain.get("status") or {}).get("status") == "Ready"
            if ready:
                seen.add(uid)
            elif uid in seen:
                raise PermanentError("the ComputeDomain is not ready any more")
            original(self, domain)

        return check

    patch.wrap(f"{MEMBERSHIP}.check_ready", make)


@mutant("channel-waits-for-nodes-that-were-ready", rule="NV-450")
def _(patch: Patch) -> None:
    """If a ComputeDomain has numNodes other nodes, a claim waits until all of them are ready."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, domain: Any) -> None:
            original(self, domain)
            others = [one for one in (domain.get("status") or {}).get("nodes") or () if one["name"] != self._node_name]
            if len(others) >= domain["spec"]["numNodes"] and any(one["status"] != "Ready" for one in others):
                raise NotYetError("the ComputeDomain is not ready any more")

        return check

    patch.wrap(f"{MEMBERSHIP}.check_ready", make)


@mutant("first-claim-labels-every-node", rule="NV-363")
def _(patch: Patch) -> None:
    """A channel claim labels all nodes that have no label of a ComputeDomain."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def join(self: Any, uid: str) -> None:
            original(self, uid)
            for node in self._client.list(NODES, label_selector=f"!{LABEL}").items:
                self._client.patch(NODES, node["metadata"]["name"], {"metadata": {"labels": {LABEL: uid}}})

        return join

    patch.wrap(f"{MEMBERSHIP}.join", make)


@mutant("every-daemon-has-index-0", rule="NV-388")
def _(patch: Patch) -> None:
    """Every daemon joins with index 0."""
    patch.replace(f"{CLIQUES}:lowest_free_index", lambda daemons, *, limit=18: 0)


@mutant("first-claim-waits-for-another-node", rule="NV-423")
def _(patch: Patch) -> None:
    """A node joins a ComputeDomain only once another node has joined."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def join(self: Any, uid: str) -> None:
            if not self._client.list(NODES, label_selector=f"{LABEL}={uid}").items:
                raise NotYetError("no other node has joined")
            original(self, uid)

        return join

    patch.wrap(f"{MEMBERSHIP}.join", make)


@mutant("channel-when-the-domain-is-ready", rule="NV-424")
def _(patch: Patch) -> None:
    """A channel is prepared once the status of the ComputeDomain is Ready."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ready(self: Any, domain: Any) -> bool:
            return bool(original(self, domain)) and (domain.get("status") or {}).get("status") == "Ready"

        return ready

    patch.wrap(f"{MEMBERSHIP}.is_ready", make)


@mutant("unprepared-claim-takes-other-nodes-along", rule="NV-426")
def _(patch: Patch) -> None:
    """When a channel claim is unprepared, every node of its ComputeDomain loses the label."""

    def leave(self: Any, uid: str) -> None:
        for node in self._client.list(NODES, label_selector=f"{LABEL}={uid}").items:
            self._client.patch(NODES, node["metadata"]["name"], {"metadata": {"labels": {LABEL: None}}})

    patch.replace(f"{MEMBERSHIP}.leave", leave)


@mutant("daemons-numbered-again-when-one-leaves", rule="NV-427")
def _(patch: Patch) -> None:
    """The daemons that are left in a clique are numbered again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **named: [{**one, "index": at} for at, one in enumerate(original(*args, **named))]

    patch.wrap(f"{CLIQUES}:without_own", make)


@mutant("address-of-the-former-daemon-pod", rule="NV-431")
def _(patch: Patch) -> None:
    """The daemon of a new pod writes the address of the first one on its node."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        first: dict[str, str] = {}

        def join(self: Any, pod: Any) -> Any:
            settings = self._settings
            address = first.setdefault(settings.node_name, settings.pod_ip)
            self._settings = replace(settings, pod_ip=address)
            return original(self, pod)

        return join

    patch.wrap(f"{DAEMON}.join", make)


@mutant("claim-from-before-a-reboot-refused", rule="NV-377")
def _(patch: Patch) -> None:
    """A claim that was prepared before its node rebooted is refused."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        prepared: set[str] = set()

        def prepare(self: Any, claim: Any) -> Any:
            if claim.uid in prepared and self._checkpoint.get(claim.uid) is None:
                raise PermanentError("the claim is of an earlier boot")
            found = original(self, claim)
            prepared.add(claim.uid)
            return found

        return prepare

    patch.wrap(f"{PREPARER}.prepare", make)


@mutant("channel-of-the-former-worker-stays-in-use", rule="NV-432")
def _(patch: Patch) -> None:
    """The channel of a node is for the first claim that has it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, results: Any, held: Any) -> None:
            original(self, uid, results, held)
            self.first = getattr(self, "first", uid)
            if self.first != uid:
                raise NotYetError("the channel is in use")

        return check

    patch.wrap(f"{PREPARER}.check_overlap", make)


@mutant("entry-of-a-lost-node-stays", rule="NV-460")
def _(patch: Patch) -> None:
    """An entry is removed only if its Node still exists."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(self: Any, uid: str, clique: str, nodes: set[str]) -> None:
            there = {name for name in nodes if self._client.find(NODES, name) is not None}
            if there:
                original(self, uid, clique, there)

        return leave

    patch.wrap("reference_impl.compute_domain.cliques:CliqueWriter.leave", make)


@mutant("lost-node-ends-its-domain", rule="NV-460")
def _(patch: Patch) -> None:
    """When a daemon pod is gone, every node of the ComputeDomain loses its label."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def remove(self: Any, domain: Any) -> None:
            uid = domain["metadata"]["uid"]
            if any(status.dead_entries(clique, self._pods_of(domain)) for clique in self._cliques_of(domain)):
                self.remove_node_labels(uid)
            original(self, domain)

        return remove

    patch.wrap(f"{CONTROLLER}.remove_dead_entries", make)
