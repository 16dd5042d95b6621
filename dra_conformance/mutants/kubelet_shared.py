"""Mutants of the emulated kubelet that only show with several pods, claims or drivers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from dra_api.objects import uid_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.errors import ClaimRefused, DriverNotRegistered
from dra_conformance.mutants.kubelet import CLAIMS, INSTANCE, PODS, RECORD

CACHE = "dra_conformance.kubelet.claim_cache:ClaimCache"
REGISTRY = "dra_conformance.kubelet.cdi:CDIRegistry"
POD_CLAIMS = "dra_conformance.kubelet.claims:pod_claims"


@mutant("unprepare-timeout-of-one-hour", rule="DRA-268b")
def _(patch: Patch) -> None:
    """The timeout of an Unprepare call is one hour."""

    def make(original: Any) -> Any:
        def unprepare(self: Any, claims: Any, **options: Any) -> Any:
            return original(self, claims, **{**options, "timeout": 3600.0})

        return unprepare

    patch.wrap(f"{INSTANCE}.unprepare", make)


@mutant("devices-of-the-first-driver-only", rule="DRA-271")
def _(patch: Patch) -> None:
    """A container gets only the devices of the first driver of its claim."""

    def make(original: Any) -> Any:
        def given(self: Any, pod: Any, container: Any) -> Any:
            found = original(self, pod, container)
            first = {device.claim: device.driver for device in reversed(found)}
            return [device for device in found if device.driver == first[device.claim]]

        return given

    patch.wrap(f"{CLAIMS}.given_devices", make)


def _map(patch: Patch, change: Callable[[list[Any], str], list[Any]]) -> None:
    """Change the mappings of a pod's extended resources before the devices of a container, by name, are found."""

    def make(original: Any) -> Any:
        def given(self: Any, pod: Any, container: Any) -> Any:
            extended = pod.get("status", {}).get("extendedResourceClaimStatus")
            if extended is None:
                return original(self, pod, container)
            mappings = change(extended["requestMappings"], container["name"])
            status = {**pod["status"], "extendedResourceClaimStatus": {**extended, "requestMappings": mappings}}
            return original(self, {**pod, "status": status}, container)

        return given

    patch.wrap(f"{CLAIMS}.given_devices", make)


@mutant("every-container-gets-extended-devices", rule="DRA-271e")
def _(patch: Patch) -> None:
    """The container that an extended resource was mapped to is ignored."""
    _map(patch, lambda mappings, name: [{**one, "containerName": name} for one in mappings])


@mutant("one-extended-resource-for-a-container", rule="DRA-271e")
def _(patch: Patch) -> None:
    """A container gets the devices of one of its extended resources only."""
    _map(patch, lambda mappings, name: [one for one in mappings if one["containerName"] == name][:1])


@mutant("failed-pods-keep-their-claims", rule="DRA-275")
def _(patch: Patch) -> None:
    """A pod that another component has set to Failed counts as ended, and its claims stay prepared."""

    def make(original: Any) -> Any:
        def end(self: Any, pod: Any, state: Any, phase: Any) -> None:
            if pod.get("status", {}).get("phase") == "Failed":
                state.ended = True
            original(self, pod, state, phase)

        return end

    patch.wrap(f"{PODS}._end", make)


@mutant("looks-up-one-driver-of-a-claim", rule="DRA-273")
def _(patch: Patch) -> None:
    """Of the drivers of a pod's claims only the first one must be registered."""

    def make(original: Any) -> Any:
        def validated(self: Any, pod: Any) -> Any:
            plugin, asked = self._plugin, set[str]()

            def first(driver: str) -> Any:
                asked.add(driver)
                return plugin(driver) if len(asked) == 1 else None

            self._plugin = first
            try:
                return original(self, pod)
            finally:
                self._plugin = plugin

        return validated

    patch.wrap(f"{CLAIMS}._validated", make)


@mutant("starts-without-a-missing-claim", rule="DRA-273b")
def _(patch: Patch) -> None:
    """A claim that does not exist is left out."""

    def make(original: Any) -> Any:
        def validated(self: Any, pod: Any) -> Any:
            try:
                return original(self, pod)
            except ClaimRefused as error:
                if "fetch ResourceClaim" not in str(error):
                    raise
                spec = {**pod["spec"], "resourceClaims": pod["spec"]["resourceClaims"][:-1]}
                return original(self, {**pod, "spec": spec})

        return validated

    patch.wrap(f"{CLAIMS}._validated", make)


@mutant("owner-of-the-claim-not-checked", rule="DRA-274b")
def _(patch: Patch) -> None:
    """A claim from a template is used although another pod owns it."""

    def make(original: Any) -> Any:
        return lambda pod, **options: [replace(one, must_be_owned=False) for one in original(pod, **options)]

    patch.wrap(POD_CLAIMS, make)


@mutant("only-the-first-claim-from-a-template", rule="DRA-274b")
def _(patch: Patch) -> None:
    """Of the claims from templates only the first one is prepared."""

    def make(original: Any) -> Any:
        def claims(pod: Any, **options: Any) -> Any:
            found = original(pod, **options)
            owned = [one for one in found if one.must_be_owned]
            return [one for one in found if one not in owned[1:]]

        return claims

    patch.wrap(POD_CLAIMS, make)


@mutant("unprepares-claims-of-refused-pods", rule="DRA-569")
def _(patch: Patch) -> None:
    """The end of a pod unprepares the claims in its spec that have one user, whichever pod that is."""

    def make(original: Any) -> Any:
        def unprepare(self: Any, pod: Any, state: Any) -> None:
            names = {entry.get("resourceClaimName") for entry in pod["spec"].get("resourceClaims") or ()}
            for record in self._claims.cache.all():
                if record.ref.name in names and len(record.pod_uids) == 1:
                    self._claims.unprepare(*record.pod_uids)
            original(self, pod, state)

        return unprepare

    patch.wrap(f"{PODS}._unprepare", make)


@mutant("pods-join-a-claim-during-unprepare", rule="DRA-570")
def _(patch: Patch) -> None:
    """A pod may become a user of a claim while the claim is being unprepared."""
    patch.replace(f"{CACHE}.busy", lambda self, keys: nullcontext())


@mutant("devices-of-repeated-responses-appended", rule="DRA-571")
def _(patch: Patch) -> None:
    """The devices of a response are added to those of earlier responses."""

    def make(original: Any) -> Any:
        def keep(self: Any, driver: str, ref: Any, result: Any) -> None:
            record = self.cache.get((ref.namespace, ref.name))
            before = record.drivers[driver] if record is not None else ()
            original(self, driver, ref, replace(result, devices=(*before, *result.devices)))

        return keep

    patch.wrap(f"{CLAIMS}._keep", make)


@mutant("absent-driver-has-nothing-to-unprepare", rule="DRA-582")
def _(patch: Patch) -> None:
    """A driver that is not registered is left out of Unprepare."""

    def make(original: Any) -> Any:
        def batch(self: Any, driver: str, refs: Any) -> None:
            try:
                original(self, driver, refs)
            except DriverNotRegistered:
                return

        return batch

    patch.wrap(f"{CLAIMS}._unprepare_batch", make)


@mutant("unprepares-all-claims-of-a-shared-pod", rule="DRA-275")
def _(patch: Patch) -> None:
    """If one claim of a pod has no other user, the claims that have one are unprepared too."""

    def make(original: Any) -> Any:
        def unprepare(self: Any, pod_uid: str) -> Any:
            records = self.cache.of_pod(pod_uid)
            if any(len(record.pod_uids) == 1 for record in records):
                for record in records:
                    record.pod_uids = {pod_uid}
            return original(self, pod_uid)

        return unprepare

    patch.wrap(f"{CLAIMS}.unprepare", make)


@mutant("reserved-for-compared-by-name", rule="DRA-274")
def _(patch: Patch) -> None:
    """An entry of reservedFor with the name of the pod counts, whatever its uid is."""

    def reserved(pod: Any, claim: Any) -> bool:
        entries = claim.get("status", {}).get("reservedFor") or ()
        return any(entry["name"] == pod["metadata"]["name"] or entry["uid"] == uid_of(pod) for entry in entries)

    patch.replace("dra_conformance.kubelet.claims:reserved_for", reserved)


@mutant("unresolvable-devices-left-out", rule="DRA-271d")
def _(patch: Patch) -> None:
    """A container starts without the devices that are in no specification."""

    def make(original: Any) -> Any:
        def resolve(self: Any, device_ids: Any) -> Any:
            return original(self, [one for one in device_ids if one in self.devices])

        return resolve

    patch.wrap(f"{REGISTRY}.resolve", make)


@mutant("versions-of-fields-not-checked", rule="DRA-271d")
def _(patch: Patch) -> None:
    """A CDI specification may use fields of later versions."""
    patch.replace("dra_conformance.kubelet.cdi:required_version", lambda document: "0.3.0")


@mutant("container-gets-the-first-device-only", rule="DRA-271c")
def _(patch: Patch) -> None:
    """Of the CDI devices of a container only the edits of the first one are made."""
    patch.wrap(f"{REGISTRY}.resolve", lambda original: lambda self, device_ids: original(self, device_ids)[:1])


@mutant(
    "skipped-operations-called",
    rule="DRA-281",
    kubernetes_version="1.37",
    feature_gates=("DRAOptionalNodeOperations=true",),
)
def _(patch: Patch) -> None:
    """Every driver is called, whatever its results skip."""
    patch.replace(f"{RECORD}.to_call", lambda self, operation: sorted(self.drivers))


@mutant("claims-after-a-prepared-one-skipped", rule="DRA-269")
def _(patch: Patch) -> None:
    """If a claim of a pod is prepared already, the pod's later claims are not prepared."""

    def make(original: Any) -> Any:
        def recorded(self: Any, pod: Any, wanted: Any) -> Any:
            held = [self.cache.get(fresh.key) for fresh in wanted]
            ends = [at for at, record in enumerate(held, start=1) if record is not None and record.prepared]
            return original(self, pod, wanted[: ends[0]] if ends else wanted)

        return recorded

    patch.wrap(f"{CLAIMS}._recorded", make)


@mutant("extended-resource-missing-on-the-node", rule="DRA-271e")
def _(patch: Patch) -> None:
    """A pod is refused if the Node lacks its extended resource, although a claim provides it."""

    def make(original: Any) -> Any:
        def prepare(self: Any, pod: Any) -> Any:
            if "extendedResourceClaimStatus" in pod.get("status", {}):
                raise ClaimRefused("Node didn't have enough resource")
            return original(self, pod)

        return prepare

    patch.wrap(f"{CLAIMS}.prepare", make)


@mutant("cdi-devices-of-one-driver", rule="DRA-720")
def _(patch: Patch) -> None:
    """A container gets the CDI devices of the first driver of its requests."""

    def make(original: Any) -> Any:
        def given(self: Any, pod: Any, container: Any) -> Any:
            found = original(self, pod, container)
            return [one for one in found if one.driver == found[0].driver]

        return given

    patch.wrap(f"{CLAIMS}.given_devices", make)


@mutant("cdi-devices-of-all-drivers-of-the-claim", rule="DRA-720")
def _(patch: Patch) -> None:
    """A request that two drivers serve gives a container the devices that they have for the whole claim."""

    def make(original: Any) -> Any:
        def devices(self: Any, request: str = "") -> Any:
            found = list(original(self, request))
            several = len({driver for driver, _ in found}) > 1
            return list(original(self)) if several else found

        return devices

    patch.wrap(f"{RECORD}.devices", make)
