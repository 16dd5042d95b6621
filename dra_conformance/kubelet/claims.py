"""Prepare and Unprepare for pods: the claims and drivers of a pod, one call per driver, and strict checks of responses.

`ClaimManager` serves a pod worker: prepare a pod, return the CDI devices of a container, unprepare a pod. Its state
is a `ClaimCache`; it starts no thread.

Source: pkg/kubelet/cm/dra/manager.go, v1.36; rules DRA-263 to DRA-282. Error messages are the kubelet's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dra_api.allocations import results_of
from dra_api.client import ApiError, KubeClient
from dra_api.objects import SCHEDULING_POD_GROUPS, Obj, Resource, controller_of, name_of, namespace_of, uid_of
from dra_api.rpc import ClaimRef, PrepareResult, RpcError
from dra_api.transport import TransportError
from dra_conformance.core.events import KubeletClaim
from dra_conformance.kubelet.calls import PluginInstance
from dra_conformance.kubelet.claim_cache import ClaimCache, ClaimKey, ClaimRecord
from dra_conformance.kubelet.errors import ClaimRefused, PrepareFailed, UnprepareFailed
from dra_conformance.kubelet.gates import Gates
from dra_conformance.kubelet.record import Record

_PREPARE = "NodePrepareResources"
_UNPREPARE = "NodeUnprepareResources"


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One claim of a pod: the pod's own name for it (empty for the extended-resource claim), and the claim's."""

    local_name: str
    claim_name: str
    must_be_owned: bool


@dataclass(frozen=True, slots=True)
class GivenDevice:
    """A CDI device id for a container, and the driver that returned it."""

    id: str
    driver: str
    claim: str


def pod_claims(pod: Obj) -> list[PodClaim]:
    """Return the claims of a pod, explicit ones first; entries that need no claim are omitted.

    Raises ClaimRefused while a claim from a template does not exist yet.
    """
    statuses = {entry["name"]: entry for entry in pod.get("status", {}).get("resourceClaimStatuses") or ()}
    found: list[PodClaim] = []
    for entry in pod["spec"].get("resourceClaims") or ():
        if entry.get("resourceClaimName"):
            found.append(PodClaim(entry["name"], entry["resourceClaimName"], must_be_owned=False))
        elif entry.get("resourceClaimTemplateName"):
            status = statuses.get(entry["name"])
            if status is None:
                where = f"{namespace_of(pod)}/{name_of(pod)}"
                raise ClaimRefused(f'pod "{where}": ResourceClaim not created yet')
            # Without a name no claim was necessary (core/v1, PodResourceClaimStatus).
            if status.get("resourceClaimName"):
                found.append(PodClaim(entry["name"], status["resourceClaimName"], must_be_owned=True))
    extended = pod.get("status", {}).get("extendedResourceClaimStatus")
    if extended:
        found.append(PodClaim("", extended["resourceClaimName"], must_be_owned=False))
    return found


def reserved_for(pod: Obj, claim: Obj) -> bool:
    """Whether `status.reservedFor` has the uid of the pod (rule DRA-274) or the name of its PodGroup (rule DRA-274c).

    A pod does not know the uid of its PodGroup (resourceclaim.go, IsReservedForPod, v1.37).
    """
    return any(
        entry["uid"] == uid_of(pod) or _names_group(pod, entry, entry.get("apiGroup"), entry.get("resource"))
        for entry in claim.get("status", {}).get("reservedFor") or ()
    )


def is_of_group(pod: Obj, claim: Obj) -> bool:
    """Whether the PodGroup that the pod names controls the claim (resourceclaim.go, IsForPod, v1.37; rule DRA-274d)."""
    owner = controller_of(claim) or {}
    group = str(owner.get("apiVersion", "")).partition("/")[0]
    return _names_group(pod, owner, group, f"{owner.get('kind')}s".lower())


def _names_group(pod: Obj, reference: Obj, group: str | None, resource: str | None) -> bool:
    named = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    is_group = (group, resource) == (SCHEDULING_POD_GROUPS.group, SCHEDULING_POD_GROUPS.plural)
    return bool(named) and is_group and reference.get("name") == named


class ClaimManager:
    """Prepares and unprepares the claims of pods on one node.

    `plugin(driver)` gives the instance to call and raises DriverNotRegistered.
    """

    def __init__(
        self,
        *,
        client: KubeClient,
        claims: Resource,
        cache: ClaimCache,
        gates: Gates,
        record: Record,
        plugin: Callable[[str], PluginInstance],
    ) -> None:
        self.cache = cache
        self._client = client
        self._claims = claims
        self._gates = gates
        self._record = record
        self._plugin = plugin

    # -- prepare ---------------------------------------------------------------------------------------------------

    def prepare(self, pod: Obj) -> None:
        """Prepare all claims of a pod, also those that no container uses (rule DRA-264).

        Raises ClaimRefused or DriverNotRegistered before anything is recorded, and PrepareFailed after that; a pod that
        fails before can be deleted without any call (rule DRA-273).
        """
        wanted = self._validated(pod)
        keys = [record.key for record in wanted]
        with self.cache.busy(keys):
            batches = self._recorded(pod, wanted)
            # Sorted, so that runs are reproducible.
            for driver in sorted(batches):
                self._prepare_batch(driver, batches[driver])
            with self.cache.lock:
                for key in keys:
                    record = self.cache.get(key)
                    # Only after all drivers succeeded: after a failure a retry calls all of them again.
                    if record is not None:
                        record.prepared = True
                self.cache.checkpoint()

    def _validated(self, pod: Obj) -> list[ClaimRecord]:
        wanted: dict[ClaimKey, ClaimRecord] = {}
        if not self._gates.workload_resource_claims:
            # manager.go (podGroupResourceClaimsEnabled), v1.37; rule DRA-274e.
            pod = {**pod, "spec": {**pod["spec"], "schedulingGroup": None}}
        for use in pod_claims(pod):
            claim = self._fetch(namespace_of(pod), use.claim_name)
            if use.must_be_owned and not is_of_group(pod, claim):
                owner = controller_of(claim)
                if owner is None or owner.get("uid") != uid_of(pod):
                    raise ClaimRefused(
                        f"ResourceClaim {namespace_of(claim)}/{name_of(claim)} was not created for "
                        f"Pod {namespace_of(pod)}/{name_of(pod)} (Pod is not owner)"
                    )
            # A claim that is reserved is allocated: the API server accepts no other.
            if not reserved_for(pod, claim):
                raise ClaimRefused(
                    f"pod {name_of(pod)} ({uid_of(pod)}) is not allowed to use "
                    f"ResourceClaim {use.claim_name} ({uid_of(claim)})"
                )
            record = ClaimRecord(
                ref=ClaimRef(namespace_of(claim), uid_of(claim), name_of(claim)),
                drivers={result["driver"]: () for result in results_of(claim)},
            )
            skipped = {driver: _skipped(claim, driver) for driver in record.drivers}
            if self._gates.optional_node_operations:
                record.skipped = skipped
            elif any(skipped.values()):
                # claiminfo.go (computeDriverStates), v1.37; rule DRA-526.
                raise ClaimRefused(
                    f"ResourceClaim {use.claim_name}: DRAOptionalNodeOperations feature gate is disabled on kubelet"
                )
            for driver in record.to_call(_PREPARE):
                # The result is not needed: this raises DriverNotRegistered before anything is recorded.
                self._plugin(driver)
            wanted[record.key] = record
        return list(wanted.values())

    def _fetch(self, namespace: str, name: str) -> Obj:
        try:
            return self._client.get(self._claims, name, namespace)
        except (ApiError, TransportError) as error:
            raise ClaimRefused(f"fetch ResourceClaim {name}: {error}") from None

    def _recorded(self, pod: Obj, wanted: Sequence[ClaimRecord]) -> dict[str, list[ClaimRef]]:
        batches: dict[str, list[ClaimRef]] = {}
        with self.cache.lock:
            for fresh in wanted:
                record = self.cache.get(fresh.key)
                if record is None:
                    record = fresh
                    self.cache.add(record)
                elif record.ref.uid != fresh.ref.uid:
                    raise PrepareFailed(
                        f"old ResourceClaim with same name {fresh.ref.name} and different UID {record.ref.uid} "
                        "still exists (previous pod force-deleted?!)"
                    )
                record.pod_uids.add(uid_of(pod))
                # Before any call: the reconcile loop then finds a pod that is deleted during the call.
                self.cache.checkpoint()
                if record.prepared:
                    continue
                for driver in record.to_call(_PREPARE):
                    batches.setdefault(driver, []).append(record.ref)
        return batches

    def _prepare_batch(self, driver: str, refs: list[ClaimRef]) -> None:
        plugin = self._plugin(driver)
        try:
            answer = plugin.prepare(refs)
        except RpcError as error:
            raise PrepareFailed(f"NodePrepareResources: {_reported(error, driver)}") from None
        by_uid = {ref.uid: ref for ref in refs}
        for uid, result in answer.items():
            ref = by_uid.get(uid)
            if ref is None:
                raise PrepareFailed(f"NodePrepareResources returned result for unknown claim UID {uid}")
            if result.error:
                raise PrepareFailed(f"NodePrepareResources failed for ResourceClaim {ref.name}: {result.error}")
            # Stored one by one: results before the first failure are kept.
            self._keep(driver, ref, result)
        # Unknown claims were refused above, so a different number means that claims are missing.
        if len(answer) != len(refs):
            raise PrepareFailed(f"NodePrepareResources skipped {len(refs) - len(answer)} ResourceClaims")

    def _keep(self, driver: str, ref: ClaimRef, result: PrepareResult) -> None:
        with self.cache.lock:
            record = self.cache.get((ref.namespace, ref.name))
            if record is not None:
                record.drivers[driver] = result.devices
        self._record(
            KubeletClaim(
                step="prepared",
                claim=f"{ref.namespace}/{ref.name}",
                uid=ref.uid,
                driver=driver,
                cdi_device_ids=tuple(device_id for device in result.devices for device_id in device.cdi_device_ids),
            )
        )

    # -- containers ------------------------------------------------------------------------------------------------

    def records_of(self, pod: Obj) -> dict[str, ClaimRecord]:
        """The records of a pod's claims, by the pod's own names for them."""
        found: dict[str, ClaimRecord] = {}
        for use in pod_claims(pod):
            record = self.cache.get((namespace_of(pod), use.claim_name))
            if record is not None:
                found[use.local_name] = record
        return found

    def given_devices(self, pod: Obj, container: Mapping[str, Any]) -> list[GivenDevice]:
        """The CDI ids that a container gets: its claims', or only those of the requests it names (rule DRA-271)."""
        records = self.records_of(pod)
        resources = container.get("resources") or {}
        uses = [(use["name"], use.get("request") or "") for use in resources.get("claims") or ()]
        extended = pod.get("status", {}).get("extendedResourceClaimStatus")
        if extended:
            uses += [
                # The claim for extended resources has no name in the pod spec.
                ("", mapping["requestName"])
                for mapping in extended["requestMappings"]
                if mapping["containerName"] == container["name"]
            ]
        return [
            GivenDevice(device_id, driver, records[local_name].ref.name)
            for local_name, request in uses
            if local_name in records
            for driver, device in records[local_name].devices(request)
            for device_id in device.cdi_device_ids
        ]

    # -- unprepare -------------------------------------------------------------------------------------------------

    def unprepare(self, pod_uid: str) -> None:
        """Release the claims of a pod that ended; those that no other pod uses are unprepared.

        Raises UnprepareFailed or DriverNotRegistered; the records stay then (rules DRA-275, DRA-276).
        """
        with self.cache.busy(record.key for record in self.cache.of_pod(pod_uid)):
            batches: dict[str, list[ClaimRef]] = {}
            last: list[ClaimRecord] = []
            with self.cache.lock:
                for record in self.cache.of_pod(pod_uid):
                    if len(record.pod_uids) > 1:
                        record.pod_uids.discard(pod_uid)
                        continue
                    last.append(record)
                    for driver in record.to_call(_UNPREPARE):
                        batches.setdefault(driver, []).append(record.ref)
            for driver in sorted(batches):
                self._unprepare_batch(driver, batches[driver])
            with self.cache.lock:
                for record in last:
                    self.cache.remove(record.key)
                self.cache.checkpoint()
        for record in last:
            self._record(
                KubeletClaim(step="unprepared", claim=f"{record.ref.namespace}/{record.ref.name}", uid=record.ref.uid)
            )

    def _unprepare_batch(self, driver: str, refs: list[ClaimRef]) -> None:
        plugin = self._plugin(driver)
        try:
            answer = plugin.unprepare(refs)
        except RpcError as error:
            raise UnprepareFailed(f"NodeUnprepareResources: {_reported(error, driver)}") from None
        by_uid = {ref.uid: ref for ref in refs}
        for uid, failure in answer.items():
            ref = by_uid.get(uid)
            if ref is None:
                raise UnprepareFailed(f"NodeUnprepareResources returned result for unknown claim UID {uid}")
            if failure:
                raise UnprepareFailed(f"NodeUnprepareResources failed for ResourceClaim {ref.name}: {failure}")
        if len(answer) != len(refs):
            raise UnprepareFailed(f"NodeUnprepareResources skipped {len(refs) - len(answer)} ResourceClaims")


def _skipped(claim: Obj, driver: str) -> tuple[str, ...]:
    """Return the operations that every result of a driver in a claim skips."""
    several = [set(one.get("skipNodeOperations") or ()) for one in results_of(claim) if one["driver"] == driver]
    return tuple(operation for operation in (_PREPARE, _UNPREPARE) if all({"*", operation} & one for one in several))


def _reported(error: RpcError, driver: str) -> str:
    reasons = {
        "UNAVAILABLE": "the driver went away or its socket is dead",
        "DEADLINE_EXCEEDED": "the driver did not answer in time",
        "UNIMPLEMENTED": "the driver does not serve the version that it registered",
    }
    reason = reasons.get(error.code)
    return f"{error.code} from driver {driver}: {error.details}" + (f" ({reason})" if reason else "")
