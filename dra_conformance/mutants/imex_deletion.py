"""Mutants of the deletion of ComputeDomains: its order, and claims that name a ComputeDomain that goes or is gone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from dra_api.client import NotFound
from dra_api.objects import COMPUTE_DOMAINS, DAEMON_SETS, NODES, RESOURCE_CLAIMS
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex import CONTROLLER, MEMBERSHIP, PREPARER
from dra_conformance.mutants.imex_controller import LABEL
from reference_impl.compute_domain.membership import NotYetError, PermanentError
from reference_impl.compute_domain.objects import is_deleting


@mutant("domain-removed-before-a-template-that-another-keeps", rule="NV-342")
def _(patch: Patch) -> None:
    """A ComputeDomain is gone once its own finalizer is off its objects."""
    patch.replace(f"{CONTROLLER}.has_owned", lambda self, uid: False)


@mutant("domain-is-not-tried-again-after-its-objects", rule="NV-342")
def _(patch: Patch) -> None:
    """The end of an object of a ComputeDomain does not continue the deletion of the ComputeDomain."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def tear_down(self: Any, domain: Any) -> None:
            waiting: set[str] = getattr(self, "waiting", set())
            uid = domain["metadata"]["uid"]
            if uid in waiting:
                return
            original(self, domain)
            if self.has_owned(uid):
                self.waiting = {*waiting, uid}

        return tear_down

    patch.wrap(f"{CONTROLLER}.tear_down", make)


@mutant("labels-stay-behind-a-node-that-is-gone", rule="NV-153b")
def _(patch: Patch) -> None:
    """The removal of a ComputeDomain's label ends at a node that does not exist."""

    def remove(self: Any, uid: str) -> None:
        with contextlib.suppress(NotFound):
            for node in self._client.list(NODES, label_selector=f"{LABEL}={uid}").items:
                self._client.patch(NODES, node["metadata"]["name"], {"metadata": {"labels": {LABEL: None}}})

    patch.replace(f"{CONTROLLER}.remove_node_labels", remove)


@mutant("daemon-template-deleted-with-the-daemon-set-only", rule="NV-343")
def _(patch: Patch) -> None:
    """A ComputeDomain without DaemonSet waits for one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def remove_owned(self: Any, uid: str) -> None:
            if not self._client.list(DAEMON_SETS, label_selector=f"{LABEL}={uid}").items:
                raise RuntimeError("attempt to remove the finalizer of a template that is not being deleted")
            original(self, uid)

        return remove_owned

    patch.wrap(f"{CONTROLLER}.remove_owned", make)


@mutant("deletion-waits-for-claims", rule="NV-344")
def _(patch: Patch) -> None:
    """A ComputeDomain is deleted once no claim in its namespace is allocated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def tear_down(self: Any, domain: Any) -> None:
            claims = self._client.list(RESOURCE_CLAIMS, domain["metadata"]["namespace"]).items
            if not any((claim.get("status") or {}).get("allocation") for claim in claims):
                original(self, domain)

        return tear_down

    patch.wrap(f"{CONTROLLER}.tear_down", make)


@mutant("domain-that-is-deleted-is-joined", rule="NV-369")
def _(patch: Patch) -> None:
    """A ComputeDomain that is being deleted counts as one that exists."""

    def check(self: Any, domain: Any, uid: str) -> Any:
        if domain is None:
            raise PermanentError(f"ComputeDomain not found: {uid}")
        return domain

    patch.replace(f"{MEMBERSHIP}.check_alive", check)


@mutant("domain-looked-at-before-the-label-only", rule="NV-369b")
def _(patch: Patch) -> None:
    """A node keeps the label of a ComputeDomain that was deleted while the label was written."""
    patch.replace(f"{MEMBERSHIP}.check_still_alive", lambda self, uid: None)


@mutant("waiting-claim-does-not-see-the-deletion", rule="NV-434")
def _(patch: Patch) -> None:
    """A claim that has found its ComputeDomain once goes on waiting for its node."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            known: dict[str, Any] = getattr(self, "known", {})
            if uid not in known:
                self.known = {**known, uid: original(self, uid, claim_namespace=claim_namespace)}
            return self.known[uid]

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)
    patch.replace(f"{MEMBERSHIP}.check_alive", lambda self, domain, uid: domain)


@mutant("claims-join-by-the-name-of-their-domain", rule="NV-435")
def _(patch: Patch) -> None:
    """A claim for a ComputeDomain that is gone joins the only one in its namespace."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, config: Any) -> Any:
            there = self._membership._client.list(COMPUTE_DOMAINS, claim.namespace).items
            if len(there) == 1 and there[0]["metadata"]["uid"] != config.domain_id:
                self._membership.join(there[0]["metadata"]["uid"])
                raise NotYetError("the node is not ready yet")
            return original(self, claim, config)

        return edits

    patch.wrap(f"{PREPARER}.channel_edits", make)


@mutant("former-claim-takes-the-node-of-the-new-domain", rule="NV-435")
def _(patch: Patch) -> None:
    """A claim that is unprepared removes the label of any ComputeDomain from its node."""

    def leave(self: Any, uid: str) -> None:
        self._client.patch(NODES, self._node_name, {"metadata": {"labels": {LABEL: None}}})

    patch.replace(f"{MEMBERSHIP}.leave", leave)


@mutant("one-deletion-at-a-time", rule="NV-342b")
def _(patch: Patch) -> None:
    """Of ComputeDomains that are deleted at once only the first is removed; the others are dropped."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def tear_down(self: Any, domain: Any) -> None:
            uid = domain["metadata"]["uid"]
            first, when = getattr(self, "removing", (uid, self._clock.monotonic()))
            if first != uid and self._clock.monotonic() < when + 1.0:
                return
            self.removing = (uid, self._clock.monotonic())
            original(self, domain)

        return tear_down

    patch.wrap(f"{CONTROLLER}.tear_down", make)


@mutant("deletions-before-anything-else", rule="NV-342b")
def _(patch: Patch) -> None:
    """A ComputeDomain that is created while another one is deleted gets no objects."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, domain: Any) -> None:
            dropped: set[str] = self.__dict__.setdefault("dropped", set())
            if any(is_deleting(one) for one in self._informers[COMPUTE_DOMAINS].list()):
                dropped.add(domain["metadata"]["uid"])
            if domain["metadata"]["uid"] not in dropped:
                original(self, domain)

        return ensure

    patch.wrap(f"{CONTROLLER}.ensure_daemons", make)
