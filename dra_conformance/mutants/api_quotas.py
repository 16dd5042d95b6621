"""Faults in ResourceQuotas at the API server, which api_quotas.feature must catch."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_USAGE = "apiserver_emulator.quotas.usage"
_ADMISSION = "apiserver_emulator.quotas.admission:QuotaAdmission"
_CONTROLLER = "apiserver_emulator.controllers.quotas:QuotaController"
_COUNT = "count/resourceclaims.resource.k8s.io"
_Function = Callable[..., Any]


def _without(patch: Patch, leave_out: Callable[[str], bool]) -> None:
    """Let objects use nothing of some resources."""

    def make(original: _Function) -> _Function:
        return lambda self, resource, obj: {
            name: amount for name, amount in original(self, resource, obj).items() if not leave_out(name)
        }

    patch.wrap(f"{_USAGE}:QuotaUsage.of", make)


def _devices(patch: Patch, count: Callable[[_Function, Any], int]) -> None:
    """Let a request ask for another number of devices."""
    patch.wrap("dra_api.claim_devices:_devices", lambda original: lambda option: count(original, option))


@mutant("claims-are-not-counted", rule="DRA-620")
def _(patch: Patch) -> None:
    """No quota counts claims."""
    _without(patch, lambda name: name == _COUNT)


@mutant("exceeded-quota-admits", rule="DRA-620")
def _(patch: Patch) -> None:
    """A claim is charged, but not refused."""

    def make(original: _Function) -> _Function:
        def used_then(self: Any, quota: Any, resource: Any, *args: Any) -> Any:
            if resource.kind != "ResourceClaim":
                return original(self, quota, resource, *args)
            roomy = quota.copy()
            roomy["status"]["hard"] = dict.fromkeys(roomy["status"]["hard"], "999")
            return original(self, type(quota)(roomy, quota.raw, quota.rv), resource, *args)

        return used_then

    patch.wrap(f"{_ADMISSION}._used_then", make)


@mutant("requests-are-counted-as-devices", rule="DRA-621")
def _(patch: Patch) -> None:
    """A request is charged one device, whatever its count."""
    _devices(patch, lambda original, option: 1)


@mutant("first-request-is-charged", rule="DRA-621")
def _(patch: Patch) -> None:
    """Only the first request of a claim is charged."""

    def make(original: _Function) -> _Function:
        def devices_by_class(spec: Any) -> Any:
            requests = spec["devices"]["requests"][:1]
            return original({"devices": {"requests": requests}})

        return devices_by_class

    patch.wrap(f"{_USAGE}:devices_by_class", make)


@mutant("classes-share-a-quota", rule="DRA-621")
def _(patch: Patch) -> None:
    """All devices of a claim are charged to the class of its first request."""

    def make(original: _Function) -> _Function:
        def devices_by_class(spec: Any) -> Any:
            found = original(spec)
            return Counter(dict.fromkeys(list(found)[:1], found.total()))

        return devices_by_class

    patch.wrap(f"{_USAGE}:devices_by_class", make)


@mutant("all-devices-are-charged-as-one", rule="DRA-622")
def _(patch: Patch) -> None:
    """A request for all devices is charged one."""
    _devices(patch, lambda original, option: 1 if option.get("allocationMode") == "All" else original(option))


@mutant("alternatives-are-added", rule="DRA-623")
def _(patch: Patch) -> None:
    """The devices of all alternatives are charged together."""

    def make(original: _Function) -> _Function:
        def devices_by_class(spec: Any) -> Any:
            requests = [
                {"exactly": option}
                for request in spec["devices"]["requests"]
                for option in request.get("firstAvailable") or [request["exactly"]]
            ]
            return original({"devices": {"requests": requests}})

        return devices_by_class

    patch.wrap(f"{_USAGE}:devices_by_class", make)


@mutant("first-alternative-is-charged", rule="DRA-623")
def _(patch: Patch) -> None:
    """Only the first alternative is charged, which is not the one that a scheduler must choose."""

    def make(original: _Function) -> _Function:
        def devices_by_class(spec: Any) -> Any:
            requests = [
                {"exactly": (request.get("firstAvailable") or [request.get("exactly")])[0]}
                for request in spec["devices"]["requests"]
            ]
            return original({"devices": {"requests": requests}})

        return devices_by_class

    patch.wrap(f"{_USAGE}:devices_by_class", make)


@mutant("admin-access-is-free", rule="DRA-624")
def _(patch: Patch) -> None:
    """Requests with adminAccess are not charged."""
    _devices(patch, lambda original, option: 0 if option.get("adminAccess") else original(option))


@mutant("claims-use-no-extended-resource", rule="DRA-625")
def _(patch: Patch) -> None:
    """Devices of claims are charged by class only, as by Kubernetes 1.34."""
    patch.replace(f"{_USAGE}:QuotaUsage._claims_use_extended_resources", lambda self: False)


@mutant("implicit-extended-resource-is-free", rule="DRA-625")
def _(patch: Patch) -> None:
    """requests.deviceclass.resource.kubernetes.io/<class> is not charged."""
    _without(patch, lambda name: name.startswith("requests.deviceclass."))


@mutant("pods-use-no-extended-resource", rule="DRA-626")
def _(patch: Patch) -> None:
    """Pods are not charged for extended resources."""
    patch.replace(f"{_USAGE}:QuotaUsage._of_pod", lambda self, pod: {})


@mutant("extended-resource-is-charged-twice", rule="DRA-627")
def _(patch: Patch) -> None:
    """The claim for a pod's extended resources is charged as any other."""
    patch.replace(f"{_USAGE}:QuotaUsage._charged_to_pod", lambda self, claim: {})


@mutant("claim-of-a-pod-is-free", rule="DRA-627")
def _(patch: Patch) -> None:
    """The claim for a pod's extended resources may have more devices than the pod requests."""

    def make(original: _Function) -> _Function:
        return lambda self, devices, charged: {} if charged else original(self, devices, charged)

    patch.wrap(f"{_USAGE}:QuotaUsage._beyond_the_pod", make)


@mutant("owner-without-annotation-exempts", rule="DRA-627")
def _(patch: Patch) -> None:
    """Every claim that a pod owns is taken for the one of its extended resources."""

    def make(original: _Function) -> _Function:
        def charged_to_pod(self: Any, claim: Any) -> Any:
            marked = {"resource.kubernetes.io/extended-resource-claim": "true"}
            return original(self, {**claim, "metadata": {**claim["metadata"], "annotations": marked}})

        return charged_to_pod

    patch.wrap(f"{_USAGE}:QuotaUsage._charged_to_pod", make)


@mutant("quota-owner-is-found-by-name", rule="DRA-627")
def _(patch: Patch) -> None:
    """A claim is exempt if its owner has the name of a pod, with any uid."""

    def make(original: _Function) -> _Function:
        def charged_to_pod(self: Any, claim: Any) -> Any:
            meta = claim["metadata"]
            owners = []
            for owner in meta.get("ownerReferences") or ():
                pod = self._core.store.get(("", "pods"), (meta["namespace"], owner["name"]))
                owners.append({**owner, "uid": pod.obj["metadata"]["uid"]} if pod is not None else owner)
            return original(self, {**claim, "metadata": {**meta, "ownerReferences": owners}})

        return charged_to_pod

    patch.wrap(f"{_USAGE}:QuotaUsage._charged_to_pod", make)


@mutant("any-number-of-claims-for-a-pod-is-exempt", rule="DRA-628")
def _(patch: Patch) -> None:
    """Every claim that names the pod is exempt before the pod's status names one, as in Kubernetes 1.35."""
    patch.replace(f"{_USAGE}:QuotaUsage._is_first", lambda self, claim, pod_uid: True)


@mutant(
    "status-of-the-pod-exempts-every-claim",
    rule="DRA-628",
    scenario="claims/api_quotas#a-second-claim-for-the-extended-resources-of-a-pod-when-is-charged[whose-status-names-another]",
)
def _(patch: Patch) -> None:
    """A claim is exempt if the pod's status names any claim."""

    def make(original: _Function) -> _Function:
        def charged_to_pod(self: Any, claim: Any) -> Any:
            meta = claim["metadata"]
            for owner in meta.get("ownerReferences") or ():
                pod = self._core.store.get(("", "pods"), (meta["namespace"], owner["name"]))
                named = ((pod.obj.get("status") if pod else None) or {}).get("extendedResourceClaimStatus") or {}
                meta = {**meta, "name": named.get("resourceClaimName", meta["name"])}
            return original(self, {**claim, "metadata": meta})

        return charged_to_pod

    patch.wrap(f"{_USAGE}:QuotaUsage._charged_to_pod", make)


@mutant("deleted-claims-stay-charged", rule="DRA-629")
def _(patch: Patch) -> None:
    """The quota controller does not react to deletions."""

    def make(original: _Function) -> _Function:
        return lambda self, kind, event: [] if event.type == "DELETED" else original(self, kind, event)

    patch.wrap(f"{_CONTROLLER}.affected", make)


def _reviewed(patch: Patch, change: Callable[[list[Any]], None]) -> None:
    """Change the arguments of a review: resource, operation, info, ctx, obj, old, options."""

    def make(original: _Function) -> _Function:
        def review(self: Any, *args: Any) -> None:
            changed = list(args)
            change(changed)
            original(self, *changed)

        return review

    patch.wrap(f"{_ADMISSION}.review", make)


@mutant("dry-runs-are-charged", rule="DRA-630")
def _(patch: Patch) -> None:
    """A dry run is charged as a write."""

    def change(args: list[Any]) -> None:
        args[3] = dataclasses.replace(args[3], dry_run=False)

    _reviewed(patch, change)


@mutant("dry-runs-skip-quotas", rule="DRA-630")
def _(patch: Patch) -> None:
    """A dry run is not compared with the quotas."""

    def change(args: list[Any]) -> None:
        if args[0].kind == "ResourceClaim" and args[3].dry_run:
            args[4] = None

    _reviewed(patch, change)


@mutant("updates-are-charged-as-new-claims", rule="DRA-631")
def _(patch: Patch) -> None:
    """An update is charged as if the claim was new."""

    def change(args: list[Any]) -> None:
        args[5] = None

    _reviewed(patch, change)


@mutant("status-updates-are-charged", rule="DRA-631")
def _(patch: Patch) -> None:
    """An update of the status is charged as if the claim was new."""

    def interested(original: _Function) -> _Function:
        return lambda self, resource, operation, info: original(
            self, resource, operation, dataclasses.replace(info, subresource="")
        )

    def change(args: list[Any]) -> None:
        args[5] = None if args[2].subresource else args[5]

    patch.wrap(f"{_ADMISSION}.interested", interested)
    _reviewed(patch, change)


@mutant("one-quota-is-compared", rule="DRA-632")
def _(patch: Patch) -> None:
    """Only the first quota of a namespace counts."""

    def make(original: _Function) -> _Function:
        def charge(self: Any, quotas: Any, resource: Any, *args: Any, **options: Any) -> None:
            compared = quotas[:1] if resource.kind == "ResourceClaim" else quotas
            original(self, compared, resource, *args, **options)

        return charge

    patch.wrap(f"{_ADMISSION}._charge", make)


@mutant("quotas-are-charged-one-by-one", rule="DRA-632")
def _(patch: Patch) -> None:
    """Quotas before the one that refuses are charged."""

    def make(original: _Function) -> _Function:
        def charge(self: Any, quotas: Any, *args: Any, **options: Any) -> None:
            for quota in quotas:
                original(self, [quota], *args, **options)

        return charge

    patch.wrap(f"{_ADMISSION}._charge", make)
