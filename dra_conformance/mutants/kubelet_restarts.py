"""Faults of the emulated kubelet that show when a driver serves late, or when the kubelet was stopped meanwhile."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from dra_api.objects import PODS as POD_RESOURCE
from dra_api.objects import uid_of
from dra_api.rpc import RpcError
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.errors import KubeletError, RegistrationRefused
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
