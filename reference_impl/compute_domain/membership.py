"""A node's membership in a ComputeDomain: which domain it belongs to, and whether it is ready there.

Reads ComputeDomains and cliques through informers that the plugin starts and stops; writes labels of its own Node.

Source: cmd/compute-domain-kubelet-plugin computedomain.go at 95932046; rules NV-158, NV-159, NV-161, NV-165, NV-166.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, COMPUTE_DOMAINS, NODES, Obj, meta, namespace_of, uid_of
from reference_impl.compute_domain import cliques, status
from reference_impl.compute_domain.objects import (
    DOMAIN_LABEL,
    NODE_CLIQUE_LABEL,
    clique_name,
    domain_of,
    is_deleting,
    shown,
)


class PermanentError(Exception):
    """No later attempt can succeed; the claim fails at once."""


class NotYetError(Exception):
    """A condition of the claim is not met yet; a later attempt may succeed."""


class Membership:
    """The fabric as one node sees it.

    `clique_id` returns the node's clique; `on_change` is called when a waiting claim may have become possible.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        node_name: str,
        driver_namespace: str,
        clique_id: Callable[[], str],
        on_change: Callable[[], None],
    ) -> None:
        self._client = client
        self._node_name = node_name
        self._namespace = driver_namespace
        self._clique_id = clique_id
        self._on_change = on_change
        self._lock = threading.Lock()
        self._domains = Informer(client, COMPUTE_DOMAINS, clock=clock)
        self._cliques = Informer(client, COMPUTE_DOMAIN_CLIQUES, namespace=driver_namespace, clock=clock)
        self._domains.add_index("uid", lambda domain: [uid_of(domain)])
        self.informers = (self._domains, self._cliques)
        for informer in self.informers:
            informer.on_change(self._changed)

    def _changed(self, change: Change) -> None:
        self._on_change()

    # -- questions -------------------------------------------------------------------------------------------------

    def domain(self, uid: str) -> Obj | None:
        """Return the ComputeDomain of that uid, also one that the watch has not seen yet."""
        for known in self._domains.by_index("uid", uid):
            return known
        # The kubelet may call before the watch delivers a new domain.
        return self._stored_domain(uid)

    def _stored_domain(self, uid: str) -> Obj | None:
        return next((found for found in self._client.list(COMPUTE_DOMAINS).items if uid_of(found) == uid), None)

    def check_domain(self, uid: str, *, claim_namespace: str) -> Obj:
        """Return the domain that a channel claim names. Raises PermanentError (rules NV-158, NV-159, NV-369)."""
        domain = self.check_alive(self.domain(uid), uid)
        if namespace_of(domain) != claim_namespace:
            raise PermanentError(
                f"the ResourceClaim's namespace is different than the ComputeDomain's namespace: "
                f"{claim_namespace}, but {shown(domain)}"
            )
        return domain

    def check_alive(self, domain: Obj | None, uid: str) -> Obj:
        """Return a domain that exists and is not being deleted. Raises PermanentError for another one."""
        if domain is None:
            raise PermanentError(f"ComputeDomain not found: {uid}")
        if is_deleting(domain):
            raise PermanentError(f"ComputeDomain {shown(domain)} is being deleted")
        return domain

    def check_ready(self, domain: Obj) -> None:
        """Raise NotYetError until this node's daemon is ready in the domain (rules NV-161, NV-162)."""
        if not self.is_ready(domain):
            raise NotYetError(f"node {self._node_name} is not ready in ComputeDomain {shown(domain)} yet")

    def is_ready(self, domain: Obj) -> bool:
        """Return whether the node is Ready in the domain's clique of its own fabric, or in the domain's status."""
        # An entry in another clique is left from the time when the node was in that one (rule NV-366).
        own = self._cliques.get(clique_name(uid_of(domain), self._clique_id()), self._namespace)
        in_clique = own is not None and cliques.is_node_ready([own], self._node_name)
        return in_clique or status.is_node_ready(domain, self._node_name)

    # -- the node's label ------------------------------------------------------------------------------------------

    def join(self, uid: str) -> None:
        """Label the own node for a domain, which starts a daemon there.

        Raises NotYetError if the node has the label of another, PermanentError if the domain is gone.
        """
        with self._lock:
            node = self._client.get(NODES, self._node_name)
            current = domain_of(node)
            if current == uid:
                return
            self.check_free(current, uid)
            # The watch may be behind a deletion, and nothing removes the label of a domain that is gone.
            self.check_alive(self._stored_domain(uid), uid)
            self._label(node, {DOMAIN_LABEL: uid})
        self.check_still_alive(uid)

    def check_still_alive(self, uid: str) -> None:
        """Take the label off again if the domain was deleted while it was written (rule NV-369b).

        Its controller may have looked for labels before. A domain that is deleted after this has a controller that
        looks for them later.
        """
        try:
            self.check_alive(self._stored_domain(uid), uid)
        except PermanentError:
            self.leave(uid)
            raise

    def check_free(self, current: str, uid: str) -> None:
        """Refuse to take a node from another domain (rule NV-165)."""
        if current:
            raise NotYetError(f"node {self._node_name} is labelled for another ComputeDomain: {current}, not {uid}")

    def leave(self, uid: str) -> None:
        """Take the label off, if it is that domain's (rule NV-166)."""
        with self._lock:
            node = self._client.find(NODES, self._node_name)
            if node is not None and domain_of(node) == uid:
                self._label(node, {DOMAIN_LABEL: None})

    def show_clique(self, clique_id: str) -> None:
        """Label the own node with its clique; no label when it has none."""
        with self._lock:
            node = self._client.get(NODES, self._node_name)
            current = (meta(node).get("labels") or {}).get(NODE_CLIQUE_LABEL)
            if current != (clique_id or None):
                self._label(node, {NODE_CLIQUE_LABEL: clique_id or None})

    def _label(self, node: Obj, labels: Obj) -> None:
        # The resource version turns a concurrent label change into a conflict.
        metadata = {"labels": labels, "resourceVersion": meta(node).get("resourceVersion")}
        self._client.patch(NODES, self._node_name, {"metadata": metadata})
