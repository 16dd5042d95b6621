"""Faults with PodGroups of scheduling.k8s.io and their claims, beta in Kubernetes 1.37."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from dra_api.client import ApiError
from dra_api.objects import SCHEDULING_POD_GROUPS, Obj, controller_of, key_of, name_of, namespace_of, uid_of
from dra_api.transport import TransportError
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.api_patches import forget
from dra_conformance.mutants.pod_group_gates import ON
from reference_impl.claim_controller import pod_state
from reference_impl.claim_controller.controller import TransientFailure
from reference_impl.scheduler.pod_claims import MAX_RESERVED_FOR
from reference_impl.scheduler.publish import PublishError

_API = "apiserver_emulator.builtin.pod_groups"
_PROTECTION = "apiserver_emulator.controllers.pod_groups:PodGroupProtection"
_CREATED = f"{_API}:PodGroupStrategy.validate_create"
_CONTROLLER = "reference_impl.claim_controller.controller:ClaimController"
_GROUPS = "reference_impl.claim_controller.group_claims:GroupClaims"
_WORKLOAD = "reference_impl.scheduler.workload_groups:WorkloadGroups"
_ENTRY_OF = "reference_impl.claim_controller.group_claims:is_entry_of"
_FINALIZER = "scheduling.k8s.io/podgroup-protection"


# -- the API server ----------------------------------------------------------------------------------------------------


@mutant("group-of-many-claims", rule="DRA-551", **ON)
def _(patch: Patch) -> None:
    """A group may have as many claims as a pod."""
    patch.replace(f"{_API}:CLAIMS_MAX", 32)


@mutant("group-of-three-claims", rule="DRA-551", **ON)
def _(patch: Patch) -> None:
    """A group has at most three claims."""
    patch.replace(f"{_API}:CLAIMS_MAX", 3)


@mutant("group-claim-without-source", rule="DRA-551b", **ON)
def _(patch: Patch) -> None:
    """An entry of a group needs neither a claim nor a template, and may have both."""
    forget(patch, _CREATED, "Invalid", r"spec\.resourceClaims\[\d+\]")


@mutant("group-claim-with-any-name", rule="DRA-551b", **ON)
def _(patch: Patch) -> None:
    """Names of entries are not validated."""
    forget(patch, _CREATED, "Invalid", r"spec\.resourceClaims\[\d+\]\.name")


@mutant("group-claim-from-any-template-name", rule="DRA-551b", **ON)
def _(patch: Patch) -> None:
    """Names of templates are not validated."""
    forget(patch, _CREATED, "Invalid", r"spec\.resourceClaims\[\d+\]\.resourceClaimTemplateName")


@mutant("group-claims-of-one-name", rule="DRA-551b", **ON)
def _(patch: Patch) -> None:
    """Two entries of a group may have the same name."""
    forget(patch, _CREATED, "Duplicate", r"spec\.resourceClaims\[\d+\]")


@mutant("group-claims-that-change", rule="DRA-551c", **ON)
def _(patch: Patch) -> None:
    """The claims of a group can be changed."""
    forget(patch, f"{_API}:PodGroupStrategy.validate_update", "Invalid", r"spec\.resourceClaims")


# -- claims of groups --------------------------------------------------------------------------------------------------


@mutant("group-claim-waits-for-a-pod", rule="DRA-548", **ON)
def _(patch: Patch) -> None:
    """The claims of a group are created with its first pod."""

    def wrapped(original: Any) -> Any:
        def sync_group(self: Any, group: Obj) -> None:
            if self.pods.by_index("group", f"{namespace_of(group)}/{name_of(group)}"):
                original(self, group)

        return sync_group

    patch.wrap(f"{_CONTROLLER}.sync_group", wrapped)


@mutant("group-claim-for-the-first-entry", rule="DRA-548", **ON)
def _(patch: Patch) -> None:
    """Only the first entry of a group gets a claim."""

    def wrapped(original: Any) -> Any:
        def sync_group(self: Any, group: Obj) -> None:
            spec = group["spec"]
            original(self, {**group, "spec": {**spec, "resourceClaims": (spec.get("resourceClaims") or [])[:1]}})

        return sync_group

    patch.wrap(f"{_CONTROLLER}.sync_group", wrapped)


@mutant("group-claim-not-recorded", rule="DRA-548", **ON)
def _(patch: Patch) -> None:
    """The status of a group does not name its claims."""
    patch.replace(f"{_GROUPS}.record", lambda self, group, wanted: None)


@mutant("group-claim-of-the-other-group", rule="DRA-548", **ON)
def _(patch: Patch) -> None:
    """A group takes the claim that any group has for an entry of this name."""

    def wrapped(original: Any) -> Any:
        def find_owned(self: Any, pod: Obj, claim_name: str) -> Any:
            if pod.get("kind") != "PodGroup":
                return original(self, pod, claim_name)
            groups = self.groups.informer.list(namespace_of(pod))
            return next((found for group in groups if (found := original(self, group, claim_name))), None)

        return find_owned

    patch.wrap(f"{_CONTROLLER}.find_owned", wrapped)


@mutant("failed-group-claim-not-retried", rule="DRA-340b", **ON)
def _(patch: Patch) -> None:
    """A PodGroup whose claims could not be created is not tried again."""

    def wrapped(original: Any) -> Any:
        def sync_group(self: Any, group: Obj) -> None:
            with contextlib.suppress(ApiError, TransportError, OSError):
                original(self, group)

        return sync_group

    patch.wrap(f"{_CONTROLLER}.sync_group", wrapped)


@mutant("group-claim-created-without-lookup", rule="DRA-340b", **ON)
def _(patch: Patch) -> None:
    """A claim that is not in the group's status is created even if one exists."""
    patch.replace(f"{_CONTROLLER}.find_owned", lambda self, pod, claim_name: None)
    patch.replace(f"{_CONTROLLER}.find_stored", lambda self, pod, claim_name: None)


@mutant("group-claim-recorded-alone", rule="DRA-548b", **ON)
def _(patch: Patch) -> None:
    """Only claims that are new are applied to the status of a group, which removes the others."""

    def wrapped(original: Any) -> Any:
        def record(self: Any, group: Obj, wanted: dict[str, Any]) -> None:
            held = pod_state.recorded(group)
            original(self, group, {name: claim for name, claim in wanted.items() if held.get(name) != claim})

        return record

    patch.wrap(f"{_GROUPS}.record", wrapped)


@mutant("group-claim-for-each-pod", rule="DRA-549", **ON)
def _(patch: Patch) -> None:
    """Each pod of a group gets claims of its own."""
    patch.replace(f"{_GROUPS}.claims_of", lambda self, pod: {})


@mutant("group-claim-for-the-first-entry-of-a-pod", rule="DRA-549", **ON)
def _(patch: Patch) -> None:
    """A pod shares only the first of its group's claims."""

    def wrapped(original: Any) -> Any:
        return lambda self, pod: dict(list(original(self, pod).items())[:1])

    patch.wrap(f"{_GROUPS}.claims_of", wrapped)


@mutant("group-not-awaited", rule="DRA-549", **ON)
def _(patch: Patch) -> None:
    """A pod whose group does not exist yet gets claims of its own."""
    patch.replace(f"{_GROUPS}.is_awaited", lambda self, pod: False)


@mutant("group-claim-not-needed-until-it-exists", rule="DRA-850", **ON)
def _(patch: Patch) -> None:
    """A claim of the group that does not exist yet is recorded as one that the pod does not need."""

    def wrapped(original: Any) -> Any:
        def record_claims(self: Any, pod: Obj, wanted: dict[str, Any]) -> None:
            original(self, pod, {**wanted, **self.groups.claims_of(pod)})

        return record_claims

    patch.wrap(f"{_CONTROLLER}.record_claims", wrapped)


@mutant("group-claim-by-name", rule="DRA-550", **ON)
def _(patch: Patch) -> None:
    """A pod shares the claim of its group whose entry has the same name."""

    def is_entry_of(group: Obj, entry: Obj) -> bool:
        return any(own.get("name") == entry.get("name") for own in group["spec"].get("resourceClaims") or ())

    patch.replace(_ENTRY_OF, is_entry_of)


@mutant("group-claim-by-template", rule="DRA-550", **ON)
def _(patch: Patch) -> None:
    """A pod shares the claim of its group whose entry has the same template."""

    def is_entry_of(group: Obj, entry: Obj) -> bool:
        template = entry.get("resourceClaimTemplateName")
        return any(own.get("resourceClaimTemplateName") == template for own in group["spec"]["resourceClaims"])

    patch.replace(_ENTRY_OF, is_entry_of)


@mutant("group-template-missed-by-pods", rule="DRA-556", **ON)
def _(patch: Patch) -> None:
    """A missing template of a group is reported on the pods of the group."""

    def wrapped(original: Any) -> Any:
        def report_failure(self: Any, pod: Obj, message: str) -> None:
            group = pod.get("kind") == "PodGroup"
            key = f"{namespace_of(pod)}/{name_of(pod)}"
            for one in self.pods.by_index("group", key) if group else [pod]:
                original(self, one, message)

        return report_failure

    patch.wrap(f"{_CONTROLLER}.report_failure", wrapped)


@mutant("group-template-given-up", rule="DRA-556", **ON)
def _(patch: Patch) -> None:
    """A missing template of a group is looked for once."""

    def wrapped(original: Any) -> Any:
        def sync_group(self: Any, group: Obj) -> None:
            tried = self.__dict__.setdefault("tried", set())
            if uid_of(group) not in tried:
                tried.add(uid_of(group))
                original(self, group)

        return sync_group

    patch.wrap(f"{_CONTROLLER}.sync_group", wrapped)


@mutant("group-claim-for-each-pod-while-disabled", rule="DRA-557", **ON)
def _(patch: Patch) -> None:
    """While claims of groups are off, each pod gets a claim of its own."""

    def wrapped(original: Any) -> Any:
        def sync_pod(self: Any, pod: Obj) -> None:
            if not self.options.group_claims:
                self.groups.claims_of = lambda pod: {}
            original(self, pod)

        return sync_pod

    patch.wrap(f"{_CONTROLLER}.sync_pod", wrapped)


@mutant("group-members-without-claims-while-disabled", rule="DRA-557", **ON)
def _(patch: Patch) -> None:
    """While claims of groups are off, pods of a group get no claims at all."""

    def wrapped(original: Any) -> Any:
        def sync_pod(self: Any, pod: Obj) -> None:
            if not self.options.group_claims:
                self.groups.claims_of = lambda pod: {entry["name"]: None for entry in pod_state.pod_claims(pod)}
            original(self, pod)

        return sync_pod

    patch.wrap(f"{_CONTROLLER}.sync_pod", wrapped)


@mutant("members-of-groups-have-claims-while-disabled", rule="DRA-546", **ON)
def _(patch: Patch) -> None:
    """While PodGroups are off, their pods get claims of their own."""

    def wrapped(original: Any) -> Any:
        def sync_pod(self: Any, pod: Obj) -> None:
            if not self.options.workloads:
                self.groups.claims_of = lambda pod: {}
                pod = {**pod, "spec": {key: value for key, value in pod["spec"].items() if key != "schedulingGroup"}}
            original(self, pod)

        return sync_pod

    patch.wrap(f"{_CONTROLLER}.sync_pod", wrapped)


@mutant("members-with-entries-of-their-own-have-claims-while-disabled", rule="DRA-546", **ON)
def _(patch: Patch) -> None:
    """While PodGroups are off, their pods get the claims that are not the group's."""

    def wrapped(original: Any) -> Any:
        def sync_pod(self: Any, pod: Obj) -> None:
            self.options = replace(self.options, workloads=True)
            original(self, pod)

        return sync_pod

    patch.wrap(f"{_CONTROLLER}.sync_pod", wrapped)


@mutant("refused-claims-of-groups-given-up", rule="DRA-740", **ON)
def _(patch: Patch) -> None:
    """A claim of a group that the API server has refused is not tried again."""

    def wrapped(original: Any) -> Any:
        def sync_group(self: Any, group: Obj) -> None:
            with contextlib.suppress(TransientFailure):
                original(self, group)

        return sync_group

    patch.wrap(f"{_CONTROLLER}.sync_group", wrapped)


@mutant("group-event-about-v1", rule="DRA-556", **ON)
def _(patch: Patch) -> None:
    """The event is about a PodGroup of v1, the group of pods."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def report_failure(self: Any, owner: Any, message: str) -> None:
            original(self, {**owner, "apiVersion": "v1"}, message)

        return report_failure

    patch.wrap("reference_impl.claim_controller.controller:ClaimController.report_failure", make)


@mutant("disabled-group-claim-not-reported", rule="DRA-557", **ON)
def _(patch: Patch) -> None:
    """While claims of groups are off, nothing says why a pod has no claim."""

    def wrapped(original: Any) -> Any:
        def report_failure(self: Any, pod: Obj, message: str) -> None:
            if self.options.group_claims:
                original(self, pod, message)

        return report_failure

    patch.wrap(f"{_CONTROLLER}.report_failure", wrapped)


# -- reservations of groups --------------------------------------------------------------------------------------------


def _kept_while(patch: Patch, condition: Callable[[Iterator[bool]], bool]) -> None:
    """Keep the reservation of a group only while a condition holds for which of its pods have not ended."""

    def wrapped(original: Any) -> Any:
        def is_valid_consumer(self: Any, claim: Obj, entry: Obj) -> bool:
            if entry.get("resource") != "podgroups":
                return bool(original(self, claim, entry))
            pods = self.pods.by_index("group", f"{namespace_of(claim)}/{entry['name']}")
            return condition(not pod_state.is_done(pod) for pod in pods) and bool(original(self, claim, entry))

        return is_valid_consumer

    patch.wrap(f"{_CONTROLLER}.is_valid_consumer", wrapped)


@mutant("group-claim-released-with-the-pods", rule="DRA-553", **ON)
def _(patch: Patch) -> None:
    """A claim is released when no pod of its group is left that has not ended."""
    _kept_while(patch, any)


@mutant("group-claim-released-with-one-pod", rule="DRA-553", **ON)
def _(patch: Patch) -> None:
    """A claim is released when one pod of its group has ended or is missing."""
    _kept_while(patch, all)


@mutant("group-claim-ends-with-a-pod-of-its-name", rule="DRA-851", **ON)
def _(patch: Patch) -> None:
    """The owner of a claim is looked up by name among the pods, whatever its kind and uid."""

    def should_delete(self: Any, claim: Obj) -> bool:
        owner = controller_of(claim)
        pod = self.pods.get(owner["name"], namespace_of(claim)) if owner else None
        return pod is not None and pod_state.is_done(pod)

    patch.replace(f"{_CONTROLLER}.should_delete", should_delete)


@mutant("group-claim-never-released", rule="DRA-554", **ON)
def _(patch: Patch) -> None:
    """A group is a consumer of an unknown kind, which is always kept."""
    patch.replace(f"{_GROUPS}.is_group", lambda self, entry: False)


@mutant("group-claims-released-together", rule="DRA-554", **ON)
def _(patch: Patch) -> None:
    """When a group is gone, the reservations of all groups go."""

    def wrapped(original: Any) -> Any:
        def is_valid_consumer(self: Any, entry: Obj, namespace: str) -> bool:
            found = bool(original(self, entry, namespace))
            self.gone = getattr(self, "gone", False) or not found
            return not self.gone

        return is_valid_consumer

    patch.wrap(f"{_GROUPS}.is_valid_consumer", wrapped)


@mutant("group-in-deletion-is-gone", rule="DRA-554c", **ON)
def _(patch: Patch) -> None:
    """A claim is released when its group is deleted, although pods of the group run."""

    def wrapped(original: Any) -> Any:
        def is_valid_consumer(self: Any, entry: Obj, namespace: str) -> bool:
            group = self.get(str(entry.get("name")), namespace) or {"metadata": {}}
            return "deletionTimestamp" not in group["metadata"] and bool(original(self, entry, namespace))

        return is_valid_consumer

    patch.wrap(f"{_GROUPS}.is_valid_consumer", wrapped)


@mutant("group-without-protection", rule="DRA-554b", **ON)
def _(patch: Patch) -> None:
    """A deleted group is gone at once, although pods of it run."""
    patch.replace("apiserver_emulator.controllers.pod_groups:_has_ended", lambda pod: True)


@mutant("group-protected-until-one-pod-ends", rule="DRA-554b", **ON)
def _(patch: Patch) -> None:
    """A deleted group is gone when one of its pods has ended."""

    def wrapped(original: Any) -> Any:
        def affected(self: Any, kind: Any, event: Any) -> Any:
            key = original(self, kind, event)
            if key is not None and kind[1] == "pods":
                self.ended = {*getattr(self, "ended", ()), key}
            return key

        return affected

    def released(original: Any) -> Any:
        def release(self: Any, key: Any) -> None:
            if key in getattr(self, "ended", ()):
                self._writes.remove_finalizer((SCHEDULING_POD_GROUPS.group, "podgroups"), key, _FINALIZER)
            else:
                original(self, key)

        return release

    patch.wrap(f"{_PROTECTION}.affected", wrapped)
    patch.wrap(f"{_PROTECTION}.release", released)


@mutant("group-waits-for-failed-pods", rule="DRA-554b", **ON)
def _(patch: Patch) -> None:
    """A PodGroup in deletion waits for pods that have failed."""
    patch.replace(
        "apiserver_emulator.controllers.pod_groups:_has_ended", lambda pod: pod["status"].get("phase") == "Succeeded"
    )


@mutant("group-protected-for-ever", rule="DRA-554b", **ON)
def _(patch: Patch) -> None:
    """A deleted group stays when its last pod is gone."""

    def wrapped(original: Any) -> Any:
        return lambda self, kind, event: None if event.type == "DELETED" else original(self, kind, event)

    patch.wrap(f"{_PROTECTION}.affected", wrapped)


@mutant("group-compared-by-name", rule="DRA-555", **ON)
def _(patch: Patch) -> None:
    """A reservation is valid while a group of its name exists."""
    patch.replace(
        f"{_GROUPS}.is_valid_consumer",
        lambda self, entry, namespace: self.get(str(entry.get("name")), namespace) is not None,
    )


@mutant("bound-pods-of-a-group-reserved-one-by-one", rule="DRA-118c", **ON)
def _(patch: Patch) -> None:
    """A pod that another component bound is added to reservedFor of its group's claims."""

    def wrapped(original: Any) -> Any:
        def reserve_for_scheduled(self: Any, pod: Obj) -> None:
            with_group, self.groups.group_with = self.groups.group_with, lambda pod, entry: None
            owned = self.should_reserve
            self.should_reserve = lambda user, claim, *, generated: owned(user, claim, generated=False)
            try:
                original(self, pod)
            finally:
                self.groups.group_with, self.should_reserve = with_group, owned

        return reserve_for_scheduled

    patch.wrap(f"{_CONTROLLER}.reserve_for_scheduled", wrapped)


@mutant("bound-pods-of-a-group-not-reserved", rule="DRA-118c", **ON)
def _(patch: Patch) -> None:
    """Claims of a group are not reserved for pods that another component bound."""

    def wrapped(original: Any) -> Any:
        def should_reserve(self: Any, pod: Obj, claim: Obj, *, generated: bool) -> bool:
            return pod.get("kind") != "PodGroup" and bool(original(self, pod, claim, generated=generated))

        return should_reserve

    patch.wrap(f"{_CONTROLLER}.should_reserve", wrapped)


@mutant("bound-pods-of-a-group-reserve-all-for-it", rule="DRA-118c", **ON)
def _(patch: Patch) -> None:
    """Every claim of a bound pod is reserved for its group."""

    def group_with(self: Any, pod: Obj, entry: Obj) -> Any:
        name = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
        return self.get(name, namespace_of(pod)) if name else None

    patch.replace(f"{_GROUPS}.group_with", group_with)


# -- scheduling --------------------------------------------------------------------------------------------------------


@mutant("scheduler-reserves-for-each-pod-of-a-group", rule="DRA-552", **ON)
def _(patch: Patch) -> None:
    """A claim of a group is reserved for each of its pods."""
    patch.replace(f"{_WORKLOAD}.user_of", lambda self, pod, reference: pod)


@mutant("scheduler-reserves-generated-claims-for-groups-only", rule="DRA-552", **ON)
def _(patch: Patch) -> None:
    """A claim that a group names is reserved for each of its pods; only generated ones are reserved for the group."""

    def wrapped(original: Any) -> Any:
        def user_of(self: Any, pod: Obj, reference: str) -> Any:
            named = [one for one in pod["spec"]["resourceClaims"] if one.get("resourceClaimName")]
            return pod if any(one["name"] == reference for one in named) else original(self, pod, reference)

        return user_of

    patch.wrap(f"{_WORKLOAD}.user_of", wrapped)


@mutant("scheduler-reserves-for-a-group-without-its-kind", rule="DRA-552", **ON)
def _(patch: Patch) -> None:
    """The entry of a group has the resource of a pod."""
    patch.replace(
        "reference_impl.scheduler.publish:consumer_of",
        lambda user: {"resource": "pods", "name": name_of(user), "uid": uid_of(user)},
    )


@mutant("scheduler-reserves-for-a-group-of-any-namespace", rule="DRA-552", **ON)
def _(patch: Patch) -> None:
    """The group of a pod is the last one of its name, whatever its namespace."""

    def wrapped(original: Any) -> Any:
        def on_group(self: Any, change: Any) -> None:
            original(self, change)
            key = key_of(change.object)
            for other in [other for other in self._groups if other[1] == key[1] and key in self._groups]:
                self._groups[other] = self._groups[key]

        return on_group

    patch.wrap(f"{_WORKLOAD}.on_group", wrapped)


@mutant("scheduler-reserves-everything-for-the-group", rule="DRA-552b", **ON)
def _(patch: Patch) -> None:
    """Every claim of a pod is reserved for its group."""
    patch.replace("reference_impl.scheduler.workload_groups:is_entry_of", lambda group, entry: True)


@mutant("scheduler-compares-entries-by-name", rule="DRA-552b", **ON)
def _(patch: Patch) -> None:
    """A claim is reserved for the group if the group has an entry of this name."""

    def is_entry_of(group: Obj, entry: Obj) -> bool:
        return any(own.get("name") == entry.get("name") for own in group["spec"].get("resourceClaims") or ())

    patch.replace("reference_impl.scheduler.workload_groups:is_entry_of", is_entry_of)


@mutant("scheduler-counts-the-pods-of-a-group", rule="DRA-309", **ON)
def _(patch: Patch) -> None:
    """At most 256 pods of a group use a claim."""

    def wrapped(original: Any) -> Any:
        def reserve(self: Any, decision: Any) -> Any:
            users = self.__dict__.setdefault("users", set())
            if decision.entries and decision.pod["spec"].get("schedulingGroup"):
                users.add(uid_of(decision.pod))
                if len(users) > MAX_RESERVED_FOR:
                    raise PublishError("the claim has too many consumers")
            return original(self, decision)

        return reserve

    patch.wrap("reference_impl.scheduler.publish:DirectPublisher.reserve", wrapped)
