"""Mutants of ComputeDomains and claims that cannot work: taken names, and domain ids that are paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.client import AlreadyExists
from dra_api.objects import namespace_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex import CONTROLLER, MEMBERSHIP, PREPARER
from reference_impl.compute_domain.membership import PermanentError
from reference_impl.compute_domain.objects import domain_of


@mutant("taken-template-name-not-tried-again", rule="NV-330b")
def _(patch: Patch) -> None:
    """A ComputeDomain whose template name is taken gets no template any more."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, domain: Any) -> None:
            uid = domain["metadata"]["uid"]
            given_up: set[str] = getattr(self, "given_up", set())
            if uid in given_up:
                return
            try:
                original(self, domain)
            except AlreadyExists:
                self.given_up = {*given_up, uid}

        return ensure

    patch.wrap(f"{CONTROLLER}.ensure_workload_template", make)


@mutant("taken-template-name-stops-other-domains", rule="NV-330b")
def _(patch: Patch) -> None:
    """While the template name of a ComputeDomain is taken, no other one gets a template."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, domain: Any) -> None:
            uid = domain["metadata"]["uid"]
            if getattr(self, "blocked_by", uid) != uid:
                return
            self.blocked_by = uid
            original(self, domain)
            del self.blocked_by

        return ensure

    patch.wrap(f"{CONTROLLER}.ensure_workload_template", make)


@mutant("folder-of-any-domain-id", rule="NV-370")
def _(patch: Patch) -> None:
    """The folder of a daemon is created before its ComputeDomain is looked up."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, config: Any) -> Any:
            (self._data_dir / "domains").mkdir(parents=True, exist_ok=True)
            (self._data_dir / "domains" / config.domain_id).mkdir(exist_ok=True)
            return original(self, claim, config)

        return edits

    patch.replace("reference_impl.kubelet_plugin.configs:validate_domain", lambda config: None)
    patch.wrap(f"{PREPARER}.daemon_edits", make)


@mutant("domain-id-checked-by-unprepare", rule="NV-371")
def _(patch: Patch) -> None:
    """Unprepare fails if the domainID of the claim is a path."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def unprepare(self: Any, uid: str) -> None:
            entry = self._checkpoint.get(uid)
            allocation = (entry.status.get("allocation") or {}) if entry else {}
            for item in (allocation.get("devices") or {}).get("config") or ():
                if "/" in item["opaque"]["parameters"].get("domainID", ""):
                    raise ValueError("domainID must be a valid label value")
            original(self, uid)

        return unprepare

    patch.wrap(f"{PREPARER}.unprepare", make)


@mutant("taken-template-name-in-log-only", rule="NV-447")
def _(patch: Patch) -> None:
    """A ComputeDomain whose template name is taken gets no event."""
    patch.replace(f"{CONTROLLER}.report_taken_name", lambda self, domain, resource, there: None)


@mutant("taken-template-name-on-template", rule="NV-447")
def _(patch: Patch) -> None:
    """The event is recorded on the object that has the name, where its owner sees it, and not on the ComputeDomain."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def report_taken_name(self: Any, domain: Any, resource: Any, there: Any) -> None:
            self._recorder.event({**there, "kind": resource.kind}, "Warning", "NameTaken", "a ComputeDomain needs it")

        return report_taken_name

    patch.wrap(f"{CONTROLLER}.report_taken_name", make)


@mutant("taken-template-name-on-v1", rule="NV-447")
def _(patch: Patch) -> None:
    """The event is about a ComputeDomain of v1, the group of pods."""

    def report_taken_name(self: Any, domain: Any, resource: Any, there: Any) -> None:
        about = {**domain, "apiVersion": "v1", "kind": "ComputeDomain"}
        self._recorder.event(about, "Warning", "NameTaken", f"{there['metadata']['name']} is taken")

    patch.replace(f"{CONTROLLER}.report_taken_name", report_taken_name)


@mutant("template-of-any-domain-taken", rule="NV-447")
def _(patch: Patch) -> None:
    """A template of another ComputeDomain is taken for the own one: no event."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def report_taken_name(self: Any, domain: Any, resource: Any, there: Any) -> None:
            if not domain_of(there):
                original(self, domain, resource, there)

        return report_taken_name

    patch.wrap(f"{CONTROLLER}.report_taken_name", make)


@mutant("template-of-any-domain-taken-for-good", rule="NV-447b")
def _(patch: Patch) -> None:
    """A template of another ComputeDomain is taken for the own one, which is not created later."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, resource: Any, wanted: Any, domain: Any) -> None:
            try:
                original(self, resource, wanted, domain)
            except AlreadyExists:
                there = self._client.get(resource, wanted["metadata"]["name"], wanted["metadata"]["namespace"])
                if not domain_of(there):
                    raise

        return ensure

    patch.wrap(f"{CONTROLLER}._ensure", make)


@mutant("taken-name-of-daemons-in-log-only", rule="NV-447c")
def _(patch: Patch) -> None:
    """An event is recorded for a taken name in the namespace of the ComputeDomain only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def report_taken_name(self: Any, domain: Any, resource: Any, there: Any) -> None:
            if namespace_of(there) == namespace_of(domain):
                original(self, domain, resource, there)

        return report_taken_name

    patch.wrap(f"{CONTROLLER}.report_taken_name", make)


@mutant("object-of-the-name-taken-for-the-own", rule="NV-447c")
def _(patch: Patch) -> None:
    """An object without a label that has the name is taken for the own one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, resource: Any, wanted: Any, domain: Any) -> None:
            there = self._client.find(resource, wanted["metadata"]["name"], wanted["metadata"]["namespace"])
            if there is None or domain_of(there):
                original(self, resource, wanted, domain)

        return ensure

    patch.wrap(f"{CONTROLLER}._ensure", make)


@mutant("unknown-domain-without-its-id", rule="NV-462")
def _(patch: Patch) -> None:
    """The error of a claim for an unknown ComputeDomain does not have the domainID."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            if self.domain(uid) is None:
                raise PermanentError("ComputeDomain not found")
            return original(self, uid, claim_namespace=claim_namespace)

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)
