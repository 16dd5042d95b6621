"""Mutants of several ComputeDomains on the nodes of a rack, and of ComputeDomains over several NVLink cliques."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.objects import COMPUTE_DOMAINS, DAEMON_SETS, NODES, PODS, RESOURCE_CLAIM_TEMPLATES
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex import CONTROLLER, MEMBERSHIP, PREPARER, STATUS
from dra_conformance.mutants.imex_controller import CLIQUES, LABEL
from reference_impl.compute_domain.cliques import is_node_ready
from reference_impl.compute_domain.membership import NotYetError, PermanentError


@mutant("deleted-domain-ends-daemons-of-others", rule="NV-345")
def _(patch: Patch) -> None:
    """The deletion of a ComputeDomain deletes the daemon pods of all ComputeDomains."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def remove_owned(self: Any, uid: str) -> None:
            original(self, uid)
            for pod in self._client.list(PODS, self._namespace, label_selector=LABEL).items:
                meta = pod["metadata"]
                self._client.delete_if_there(PODS, meta["name"], meta["namespace"], grace_period_seconds=0)

        return remove_owned

    patch.wrap(f"{CONTROLLER}.remove_owned", make)


@mutant("deleted-domain-frees-nodes-of-others", rule="NV-345")
def _(patch: Patch) -> None:
    """The deletion of a ComputeDomain removes the labels of all ComputeDomains."""

    def remove(self: Any, uid: str) -> None:
        for node in self._client.list(NODES, label_selector=LABEL).items:
            self._client.patch(NODES, node["metadata"]["name"], {"metadata": {"labels": {LABEL: None}}})

    patch.replace(f"{CONTROLLER}.remove_node_labels", remove)


@mutant("templates-of-every-namespace-belong-to-a-domain", rule="NV-331")
def _(patch: Patch) -> None:
    """Every object with the label of a ComputeDomain keeps it, in whatever namespace it is."""

    def owned(self: Any, uid: str) -> Any:
        resources = (RESOURCE_CLAIM_TEMPLATES, DAEMON_SETS)
        return [(resource, obj) for resource in resources for obj in self._labelled(resource, uid)]

    patch.replace(f"{CONTROLLER}._owned", owned)


@mutant("node-of-other-domain-refused-for-good", rule="NV-373")
def _(patch: Patch) -> None:
    """A claim that finds the channel in use is refused and not tried again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, *args: Any) -> None:
            try:
                original(self, *args)
            except NotYetError as error:
                raise PermanentError(str(error)) from error

        return check

    patch.wrap(f"{PREPARER}.check_overlap", make)


@mutant("one-clique-object-for-all-domains", rule="NV-429")
def _(patch: Patch) -> None:
    """The object of a clique is that of its first ComputeDomain."""
    patch.replace(f"{CLIQUES}:clique_name", lambda uid, clique: f"shared.{clique}")


@mutant("waiting-claim-takes-the-node", rule="NV-430")
def _(patch: Patch) -> None:
    """A claim labels its node for its own ComputeDomain, whichever one has the node and its channel."""
    patch.replace(f"{PREPARER}.check_overlap", lambda self, uid, results, held: None)
    patch.replace(f"{MEMBERSHIP}.check_free", lambda self, current, uid: None)


@mutant("node-labelled-before-namespaces-are-compared", rule="NV-436")
def _(patch: Patch) -> None:
    """A claim of another namespace is refused after its node has joined."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            self.join(uid)
            return original(self, uid, claim_namespace=claim_namespace)

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)


@mutant("namespace-of-a-ready-domain-not-compared", rule="NV-436")
def _(patch: Patch) -> None:
    """A claim of another namespace gets the channel of a node that is ready."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            found = self.domain(uid)
            if found is not None and self.is_ready(found):
                return found
            return original(self, uid, claim_namespace=claim_namespace)

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)


@mutant("channel-of-a-node-allocated-twice", rule="NV-446")
def _(patch: Patch) -> None:
    """Channels in use count as free."""
    patch.replace("reference_impl.scheduler.allocator.taken:Taken.add", lambda self, results: None)


@mutant("nodes-of-the-first-clique-only", rule="NV-355")
def _(patch: Patch) -> None:
    """The status lists the nodes of one clique."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, domain: sorted(original(self, domain), key=lambda one: one["metadata"]["name"])[:1]

    patch.wrap(f"{CONTROLLER}._cliques_of", make)


@mutant("indices-over-all-cliques", rule="NV-355")
def _(patch: Patch) -> None:
    """The index of a node in the status counts over all nodes with a fabric."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def nodes_of(*args: Any) -> Any:
            found = original(*args)
            with_fabric = [node["name"] for node in found if node["cliqueID"]]
            return [{**node, "index": with_fabric.index(node["name"])} if node["cliqueID"] else node for node in found]

        return nodes_of

    patch.wrap(f"{STATUS}:nodes_of", make)


@mutant("readiness-in-any-clique", rule="NV-366")
def _(patch: Patch) -> None:
    """An entry of the node in any clique of the ComputeDomain counts for its claim."""

    def ready(self: Any, domain: Any) -> bool:
        uid = domain["metadata"]["uid"]
        own = [one for one in self._cliques.list() if (one["metadata"].get("labels") or {}).get(LABEL) == uid]
        return is_node_ready(own, self._node_name)

    patch.replace(f"{MEMBERSHIP}.is_ready", ready)


@mutant("node-without-fabric-refused-in-a-domain-with-one", rule="NV-367")
def _(patch: Patch) -> None:
    """A claim on a node without a fabric is refused."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, config: Any) -> Any:
            found = original(self, claim, config)
            if not found.cdi_ids:
                raise PermanentError("the node has no fabric, but other nodes of the ComputeDomain have one")
            return found

        return edits

    patch.wrap(f"{PREPARER}.channel_edits", make)


@mutant("every-domain-marked-after-a-change", rule="NV-441")
def _(patch: Patch) -> None:
    """After a change of one status, all ComputeDomains get a mark of it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update_status(self: Any, domain: Any) -> None:
            changed = domain.get("status") != self.wanted_status(domain)
            original(self, domain)
            if changed:
                mark = {"metadata": {"annotations": {"synced-after": str(domain["metadata"]["resourceVersion"])}}}
                for other in self._informers[COMPUTE_DOMAINS].list():
                    meta = other["metadata"]
                    self._client.patch(COMPUTE_DOMAINS, meta["name"], mark, meta["namespace"])

        return update_status

    patch.wrap(f"{CONTROLLER}.update_status", make)


@mutant("status-of-the-others-written-anew", rule="NV-441")
def _(patch: Patch) -> None:
    """After a change of one status, those of the others are emptied and written again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update_status(self: Any, domain: Any) -> None:
            before = (domain.get("status") or {}).get("status")
            original(self, domain)
            if before == "Ready" and self.wanted_status(domain)["status"] != before:
                for other in self._informers[COMPUTE_DOMAINS].list():
                    if other["metadata"]["uid"] != domain["metadata"]["uid"]:
                        self._client.update_status(COMPUTE_DOMAINS, {**other, "status": {"status": "NotReady"}})

        return update_status

    patch.wrap(f"{CONTROLLER}.update_status", make)
