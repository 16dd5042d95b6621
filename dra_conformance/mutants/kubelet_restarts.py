"""Faults of the emulated kubelet that show when a driver serves late, or when the kubelet was stopped meanwhile."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from dra_api.allocations import results_of
from dra_api.objects import PODS as POD_RESOURCE
from dra_api.objects import uid_of
from dra_api.rpc import RpcError
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.claims import pod_claims
from dra_conformance.kubelet.errors import ClaimRefused, KubeletError, RegistrationRefused, UnprepareFailed
from dra_conformance.mutants.kubelet import CLAIMS, INSTANCE, PLUGINS, PODS


@mutant("unserved-driver-refused", rule="DRA-257d")
def _(patch: Patch) -> None:
    """A driver whose service socket does not exist yet is refused."""

    def make(original: Any) -> Any:
        def admit(self: Any, info: Any, path: Any) -> Any:
            if info.endpoint and not Path(info.endpoint).exists():
                raise RegistrationRefused(f"no socket at {info.endpoint}")
            return original(self, info, path)

        return admit

    patch.wrap(f"{PLUGINS}._admit", make)


@mutant("connection-tried-once", rule="DRA-257d")
def _(patch: Patch) -> None:
    """A driver that did not serve when it registered is never connected to."""
    unserved: set[int] = set()

    def note(original: Any) -> Any:
        def init(self: Any, **options: Any) -> None:
            original(self, **options)
            if not Path(self.endpoint).exists():
                unserved.add(id(self))

        return init

    def make(original: Any) -> Any:
        def prepare(self: Any, claims: Any, *, timeout: float | None = None) -> Any:
            if id(self) in unserved:
                raise RpcError("NodePrepareResources", "UNAVAILABLE", "not connected", self.endpoint)
            return original(self, claims, timeout=timeout)

        return prepare

    patch.wrap(f"{INSTANCE}.__init__", note)
    patch.wrap(f"{INSTANCE}.prepare", make)


@mutant("replaced-socket-not-noticed", rule="DRA-260b")
def _(patch: Patch) -> None:
    """A socket that takes the place of another one of the same name counts as the same."""
    patch.wrap("dra_conformance.kubelet.plugins:_socket_inode", lambda original: lambda path: original(path) and (0, 0))


@mutant("slices-last-with-the-newest-instance", rule="DRA-286")
def _(patch: Patch) -> None:
    """Slices are deleted after the connection of the newest instance is lost, although an older one is connected."""

    def usable(self: Any, driver: str) -> bool:
        newest = (self._instances.get(driver) or ())[-1:]
        return any(instance.connected for instance in newest)

    patch.replace(f"{PLUGINS}._usable", usable)


@mutant("unregistration-delays-the-deletion-of-slices", rule="DRA-286")
def _(patch: Patch) -> None:
    """The 30 seconds begin again when a driver whose connection is lost is unregistered."""

    def make(original: Any) -> Any:
        def plan(self: Any, driver: str) -> None:
            if not self._usable(driver):
                self._wipe_due.pop(driver, None)
            original(self, driver)

        return plan

    patch.wrap(f"{PLUGINS}._plan_wipe", make)


@mutant("slices-of-unserved-driver-kept", rule="DRA-286")
def _(patch: Patch) -> None:
    """Only the loss of a connection starts the 30 seconds, so that a driver that never serves keeps its slices."""
    connected: set[str] = set()

    def make(original: Any) -> Any:
        def plan(self: Any, driver: str) -> None:
            if self._usable(driver):
                connected.add(driver)
            if driver in connected:
                original(self, driver)

        return plan

    patch.wrap(f"{PLUGINS}._plan_wipe", make)


@mutant("pods-of-the-first-list-ignored", rule="DRA-280c")
def _(patch: Patch) -> None:
    """A starting kubelet starts no pod that was bound before."""
    listed: set[str] = set()

    def note(original: Any) -> Any:
        def start(self: Any, **options: Any) -> None:
            listed.update(uid_of(pod) for pod in self._client.list(POD_RESOURCE).items if pod["spec"].get("nodeName"))
            original(self, **options)

        return start

    def make(original: Any) -> Any:
        def start_pod(self: Any, pod: Any, state: Any) -> None:
            if uid_of(pod) not in listed:
                original(self, pod, state)

        return start_pod

    patch.wrap(f"{PODS}.start", note)
    patch.wrap(f"{PODS}._start_pod", make)


@mutant("deleted-pods-prepared", rule="DRA-280d")
def _(patch: Patch) -> None:
    """The claims of a pod that is being deleted and has no containers are prepared before the pod ends."""

    def make(original: Any) -> Any:
        def terminate(self: Any, pod: Any, state: Any) -> None:
            if self._runtime.get(uid_of(pod)) is None and not state.ended:
                with contextlib.suppress(KubeletError):
                    self._claims.prepare(pod)
            original(self, pod, state)

        return terminate

    patch.wrap(f"{PODS}._terminate", make)


@mutant("interrupted-prepare-taken-for-done", rule="DRA-280e")
def _(patch: Patch) -> None:
    """A claim that the checkpoint has counts as prepared for its pods."""

    def make(original: Any) -> Any:
        return lambda path: [replace(one, prepared=bool(one.pod_uids)) for one in original(path)]

    patch.wrap("dra_conformance.kubelet.claim_cache:read_checkpoint", make)


@mutant("interrupted-unprepare-taken-for-done", rule="DRA-280e")
def _(patch: Patch) -> None:
    """A claim leaves the checkpoint before its drivers are called."""

    def make(original: Any) -> Any:
        def batch(self: Any, driver: str, refs: Any) -> None:
            records = [self.cache.get((ref.namespace, ref.name)) for ref in refs]
            for record in records:
                self.cache.remove(record.key)
            self.cache.checkpoint()
            for record in records:
                self.cache.add(record)
            original(self, driver, refs)

        return batch

    patch.wrap(f"{CLAIMS}._unprepare_batch", make)


@mutant("claims-looked-up-in-the-status", rule="DRA-572")
def _(patch: Patch) -> None:
    """A pod does not end while its status does not list its claims from templates."""

    def make(original: Any) -> Any:
        def unprepare(self: Any, pod: Any, state: Any) -> None:
            try:
                pod_claims(pod)
            except ClaimRefused as error:
                raise UnprepareFailed(str(error)) from None
            original(self, pod, state)

        return unprepare

    patch.wrap(f"{PODS}._unprepare", make)


SKIPPED = "dra_conformance.kubelet.claims:_skipped"


@mutant(
    "skipped-words-compared",
    rule="DRA-281",
    kubernetes_version="1.37",
    feature_gates=("DRAOptionalNodeOperations=true",),
)
def _(patch: Patch) -> None:
    """An operation is skipped if every result has the same word for it, so that * and its name do not go together."""

    def skipped(claim: Any, driver: str) -> tuple[str, ...]:
        several = [set(one.get("skipNodeOperations") or ()) for one in results_of(claim) if one["driver"] == driver]
        common = set.intersection(*several)
        operations = ("NodePrepareResources", "NodeUnprepareResources")
        return operations if "*" in common else tuple(one for one in operations if one in common)

    patch.replace(SKIPPED, skipped)


@mutant(
    "skipped-operations-of-any-device",
    rule="DRA-281",
    kubernetes_version="1.37",
    feature_gates=("DRAOptionalNodeOperations=true",),
)
def _(patch: Patch) -> None:
    """An operation is skipped if one device of the driver skips it."""

    def skipped(claim: Any, driver: str) -> tuple[str, ...]:
        several = [set(one.get("skipNodeOperations") or ()) for one in results_of(claim) if one["driver"] == driver]
        operations = ("NodePrepareResources", "NodeUnprepareResources")
        return tuple(operation for operation in operations if any({"*", operation} & one for one in several))

    patch.replace(SKIPPED, skipped)


@mutant(
    "operations-to-skip-ignored-without-gate",
    rule="DRA-526",
    kubernetes_version="1.37",
    feature_gates=("DRAOptionalNodeOperations=true",),
)
def _(patch: Patch) -> None:
    """A kubelet without the gate calls the driver although its devices skip the calls."""
    patch.replace(SKIPPED, lambda claim, driver: ())


@mutant("restart-loses-share-ids", rule="DRA-282")
def _(patch: Patch) -> None:
    """A restarted kubelet does not know the share ids of its claims."""

    def make(original: Any) -> Any:
        def restored(state: Any) -> Any:
            found = original(state)
            found.drivers = {
                driver: tuple(replace(device, share_id=None) for device in devices)
                for driver, devices in found.drivers.items()
            }
            return found

        return restored

    patch.wrap("dra_conformance.kubelet.claim_cache:_from_state", make)


@mutant("share-ids-not-shown", rule="DRA-282")
def _(patch: Patch) -> None:
    """The PodResources API has no share ids."""

    def make(original: Any) -> Any:
        def shown(record: Any) -> Any:
            found = original(record)
            return replace(found, devices=tuple(replace(device, share_id=None) for device in found.devices))

        return shown

    patch.wrap("dra_conformance.kubelet.pod_resources:_shown_claim", make)
