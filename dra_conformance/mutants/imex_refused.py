"""Mutants of ComputeDomains and claims that cannot work: taken names, and domain ids that are paths."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from dra_api.client import AlreadyExists
from dra_api.objects import DAEMON_SETS, key_of, namespace_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex import CONTROLLER, MEMBERSHIP, PREPARER
from reference_impl.compute_domain.cliques import index_problems
from reference_impl.compute_domain.controller import NameTakenError
from reference_impl.compute_domain.membership import NotYetError, PermanentError
from reference_impl.compute_domain.objects import domain_of
from reference_impl.compute_domain.problems import CONDITION, Problem, conditions_of


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
            except NameTakenError:
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


@mutant("taken-template-name-recorded-once", rule="NV-447")
def _(patch: Patch) -> None:
    """The event of a taken name is recorded once; an API server deletes it after an hour."""
    patch.replace("reference_impl.compute_domain.controller:_EVENT_INTERVAL", 1e9)


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
            name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
            adopted: set[Any] = self.__dict__.setdefault("adopted", set())
            if (domain["metadata"]["uid"], name) in adopted:
                return
            there = self._client.find(resource, name, namespace)
            if there is not None and domain_of(there):
                adopted.add((domain["metadata"]["uid"], name))
                return
            original(self, resource, wanted, domain)

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


@mutant("taken-name-tried-every-few-seconds", rule="NV-471")
def _(patch: Patch) -> None:
    """A name that is taken is tried again every five seconds, as long as it is taken."""
    patch.wrap(f"{CONTROLLER}._ensure", _tried_again(5.0))


@mutant("taken-name-of-daemon-set-tried-again", rule="NV-471")
def _(patch: Patch) -> None:
    """Only the taken name of a DaemonSet is tried again, every ten seconds."""
    patch.wrap(f"{CONTROLLER}._ensure", _tried_again(10.0, DAEMON_SETS))


def _tried_again(seconds: float, *only: Any) -> Callable[..., Any]:
    """Return a wrapper after which a taken name is tried again after so many seconds."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, resource: Any, wanted: Any, domain: Any) -> None:
            try:
                original(self, resource, wanted, domain)
            except NameTakenError:
                if not only or resource in only:
                    with contextlib.suppress(AlreadyExists):
                        self._client.create(resource, wanted)
                    self._loop.queue.add_after(key_of(domain), seconds)
                raise

        return ensure

    return make


@mutant("free-name-found-by-the-sweep", rule="NV-472")
def _(patch: Patch) -> None:
    """A name that is free again is seen by the sweep only."""
    patch.replace(f"{CONTROLLER}._name_changed", lambda self, change: None)


@mutant("free-name-of-daemons-found-by-the-sweep", rule="NV-472")
def _(patch: Patch) -> None:
    """Only the name of the workloads' template is watched."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def name_changed(self: Any, change: Any) -> None:
            if namespace_of(change.object) != self._namespace:
                original(self, change)

        return name_changed

    patch.wrap(f"{CONTROLLER}._name_changed", make)


@mutant("free-name-of-daemon-template-not-watched", rule="NV-472b")
def _(patch: Patch) -> None:
    """The names of DaemonSets and of the workloads' templates are watched, and not those of the daemons' templates."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def name_changed(self: Any, change: Any) -> None:
            if namespace_of(change.object) != self._namespace or "template" in change.object["spec"]:
                original(self, change)

        return name_changed

    patch.wrap(f"{CONTROLLER}._name_changed", make)


@mutant("daemon-set-stands-for-its-template", rule="NV-472b")
def _(patch: Patch) -> None:
    """A ComputeDomain that has its DaemonSet does not get the claim template of its daemons again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure_daemons(self: Any, domain: Any) -> None:
            found = self._informers[DAEMON_SETS].list(self._namespace)
            if not any(domain_of(one) == domain["metadata"]["uid"] for one in found):
                original(self, domain)

        return ensure_daemons

    patch.wrap(f"{CONTROLLER}.ensure_daemons", make)


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


@mutant("too-few-nodes-not-reported", rule="NV-463")
def _(patch: Patch) -> None:
    """A ComputeDomain for more nodes than there are gets no event."""
    patch.replace(f"{CONTROLLER}.report_too_few_nodes", lambda self, domain: None)


@mutant("few-nodes-of-the-domain-reported", rule="NV-463")
def _(patch: Patch) -> None:
    """numNodes is compared with the nodes that are in the ComputeDomain, not with those of the cluster."""

    def report_too_few_nodes(self: Any, domain: Any) -> None:
        wanted = domain["spec"]["numNodes"]
        if wanted > len((domain.get("status") or {}).get("nodes") or ()):
            self.warn(domain, "TooFewNodes", f"numNodes is {wanted}")

    patch.replace(f"{CONTROLLER}.report_too_few_nodes", report_too_few_nodes)


@mutant("shared-index-not-reported", rule="NV-464")
def _(patch: Patch) -> None:
    """Only an index that no daemon can have is reported."""
    patch.replace("reference_impl.compute_domain.controller:index_problems", only_problems(shared=False))


@mutant("impossible-index-not-reported", rule="NV-464")
def _(patch: Patch) -> None:
    """Only an index of two nodes is reported."""
    patch.replace("reference_impl.compute_domain.controller:index_problems", only_problems(shared=True))


def only_problems(*, shared: bool) -> Callable[..., list[str]]:
    """Return the check of indices without one of its two kinds of problems."""
    return lambda daemons, **options: [
        one for one in index_problems(daemons, **options) if ("have one index" in one) == shared
    ]


@mutant("indices-of-cliques-compared-with-each-other", rule="NV-464")
def _(patch: Patch) -> None:
    """Nodes of different cliques of a ComputeDomain may not have one index."""

    def report_indices(self: Any, domain: Any) -> None:
        entries = [entry for clique in self._cliques_of(domain) for entry in clique.get("daemons") or ()]
        for problem in index_problems(entries):
            self.warn(domain, "WrongIndex", problem)

    patch.replace(f"{CONTROLLER}.report_indices", report_indices)


@mutant("removed-entry-in-log-only", rule="NV-465")
def _(patch: Patch) -> None:
    """The removal of an entry is no event."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def warn(self: Any, domain: Any, reason: str, message: str) -> None:
            if reason != "NodeRemoved":
                original(self, domain, reason, message)

        return warn

    patch.wrap(f"{CONTROLLER}.warn", make)


@mutant("removed-entry-without-its-node", rule="NV-465")
def _(patch: Patch) -> None:
    """The event of a removed entry names no node."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def warn(self: Any, domain: Any, reason: str, message: str) -> None:
            original(self, domain, reason, message.rpartition(":")[0] if reason == "NodeRemoved" else message)

        return warn

    patch.wrap(f"{CONTROLLER}.warn", make)


@mutant("refusal-without-a-reason", rule="NV-466")
def _(patch: Patch) -> None:
    """The error of a claim of another namespace says only that the claim is refused."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            try:
                return original(self, uid, claim_namespace=claim_namespace)
            except PermanentError:
                raise PermanentError("the claim is refused") from None

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)


@mutant("refused-claim-is-waited-for", rule="NV-466")
def _(patch: Patch) -> None:
    """A claim whose ComputeDomain does not exist waits for it until the kubelet's call ends."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            try:
                return original(self, uid, claim_namespace=claim_namespace)
            except PermanentError as error:
                raise NotYetError(str(error)) from None

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)


EDITS = "reference_impl.compute_domain.edits:CliqueEdits"


@mutant("changed-addresses-looked-at-later", rule="NV-468")
def _(patch: Patch) -> None:
    """The address in an entry is looked at after the daemon has corrected it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def judge(self: Any, uid: str, cliques: Any, pods: Any) -> Any:
            # As if it saw the entries only as they are now, after the daemons.
            self._addresses.pop(uid, None)
            return original(self, uid, cliques, pods)

        return judge

    patch.wrap(f"{EDITS}.judge", make)


@mutant("each-new-address-is-an-edit", rule="NV-468")
def _(patch: Patch) -> None:
    """A daemon that joins again with another address counts as an entry that is changed by hand."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def report_edits(self: Any, domain: Any) -> None:
            original(self, domain)
            known: dict[Any, Any] = self.__dict__.setdefault("known_addresses", {})
            for clique in self._cliques_of(domain):
                for entry in clique.get("daemons") or ():
                    key = (domain["metadata"]["uid"], entry["nodeName"])
                    if known.setdefault(key, entry["ipAddress"]) != entry["ipAddress"]:
                        known[key] = entry["ipAddress"]
                        self.warn(domain, "AddressChanged", f"the address of {entry['nodeName']} was changed")

        return report_edits

    patch.wrap(f"{CONTROLLER}.report_edits", make)


@mutant("deleted-clique-not-reported", rule="NV-469")
def _(patch: Patch) -> None:
    """A clique that is deleted while its daemons run is taken for the work of the garbage collector."""
    patch.replace("reference_impl.compute_domain.edits:_owners", lambda clique: set())


@mutant("each-deleted-clique-is-an-edit", rule="NV-469")
def _(patch: Patch) -> None:
    """A clique that goes with its last daemon gets an event as well."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def judge(self: Any, uid: str, cliques: Any, pods: Any) -> Any:
            gone = [Problem("CliqueDeleted", one["metadata"]["name"]) for one in self._deleted.get(uid, ())]
            found, wait = original(self, uid, cliques, pods)
            return [*found, *gone], wait

        return judge

    patch.wrap(f"{EDITS}.judge", make)


@mutant("problems-are-events-only", rule="NV-470")
def _(patch: Patch) -> None:
    """A ComputeDomain with a problem gets no condition."""
    patch.replace("reference_impl.compute_domain.problems:conditions", lambda domain, found, **options: [])


@mutant("condition-stays", rule="NV-470")
def _(patch: Patch) -> None:
    """The condition of a problem stays when the problem is gone."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def conditions(domain: Any, found: Any, **options: Any) -> Any:
            return original(domain, found, **options) if found else conditions_of(domain)

        return conditions

    patch.wrap("reference_impl.compute_domain.problems:conditions", make)


@mutant("condition-of-no-generation", rule="NV-470")
def _(patch: Patch) -> None:
    """The condition has no observedGeneration."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def conditions(domain: Any, found: Any, **options: Any) -> Any:
            made = original(domain, found, **options)
            return [{key: value for key, value in one.items() if key != "observedGeneration"} for one in made]

        return conditions

    patch.wrap("reference_impl.compute_domain.problems:conditions", make)


@mutant("condition-with-the-time-of-its-message", rule="NV-501")
def _(patch: Patch) -> None:
    """The lastTransitionTime of a condition changes with its message."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def conditions(domain: Any, found: Any, **options: Any) -> Any:
            messages = {one["message"] for one in conditions_of(domain)}
            made = original(domain, found, **options)
            return [
                one if one["message"] in messages else {**one, "lastTransitionTime": options["now"]} for one in made
            ]

        return conditions

    patch.wrap("reference_impl.compute_domain.problems:conditions", make)


@mutant("condition-without-those-of-others", rule="NV-510")
def _(patch: Patch) -> None:
    """A condition of the controller replaces those of other types."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def conditions(domain: Any, found: Any, **options: Any) -> Any:
            made = original(domain, found, **options)
            return [one for one in made if one["type"] == CONDITION] or made

        return conditions

    patch.wrap("reference_impl.compute_domain.problems:conditions", make)


@mutant("condition-of-the-names-only", rule="NV-470")
def _(patch: Patch) -> None:
    """A wrong index and a numNodes that cannot be are events only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def conditions(domain: Any, found: Any, **options: Any) -> Any:
            return original(domain, [one for one in found if one.reason == "NameTaken"], **options)

        return conditions

    patch.wrap("reference_impl.compute_domain.problems:conditions", make)


@mutant("condition-of-every-domain", rule="NV-470")
def _(patch: Patch) -> None:
    """The condition of one ComputeDomain is written into the others, too."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        found: list[Any] = []

        def conditions(domain: Any, problems: Any, **options: Any) -> Any:
            found.extend(one for one in problems if one not in found)
            return original(domain, list(found), **options)

        return conditions

    patch.wrap("reference_impl.compute_domain.problems:conditions", make)
