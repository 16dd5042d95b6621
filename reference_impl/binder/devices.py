"""Devices with binding conditions (KEP-5007): the binder binds a pod when they are ready.

The scheduler cannot wait for them: drivers start when they see the device in the claim's status, and the binder writes
that status. The allocator of KAI 0.17 skips such devices, so neither its documentation nor its binder mentions them;
other writers of BindRequests may allocate them.

No worker blocks: an attempt ends with `DevicesPending`, and the pod is reconciled again when its claim changes or the
timeout has passed. `DeviceWaits` stores only which pods wait; the conditions are read from the API server each time.

Source: KEP-5007; resource.k8s.io/v1 Device.bindingConditions ("to proceed with binding the pod"), Kubernetes 1.36;
rules DRA-250b, DRA-251b, DRA-252b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dra_api.clock import Clock
from dra_api.informer import Change
from dra_api.objects import Obj, key_of, name_of, namespace_of
from reference_impl import binding_conditions
from reference_impl.binder.claims import ClaimWriter
from reference_impl.binder.failure import DevicesLost, DevicesPending

Key = tuple[str, str]


class DeviceWaits:
    """The pods that wait for their devices. `wake` queues a pod again."""

    def __init__(self, writer: ClaimWriter, *, clock: Clock, timeout: float, wake: Callable[[Key], None]) -> None:
        self._writer = writer
        self._clock = clock
        self._timeout = timeout
        self._wake = wake
        self._waiting: set[Key] = set()

    def require_ready(self, pod: Obj, claims: Iterable[Obj]) -> None:
        """Raise unless all devices of the pod's claims are ready.

        Raises DevicesPending while they are being prepared, DevicesLost if they failed.
        """
        slow = [claim for claim in claims if needs_work(claim)]
        if not slow:
            return
        key = key_of(pod)
        self._waiting.add(key)  # before the claims are read, so that no later change is lost
        current = [self._writer.find(name_of(claim), namespace_of(claim)) for claim in slow]
        progress = binding_conditions.progress(current, self._clock.now(), self._timeout)
        if progress.waits:
            raise DevicesPending(progress.seconds)
        self.forget(key)
        if progress.lost:
            raise DevicesLost(f"DynamicResources: {progress.lost}")

    def forget(self, key: Key) -> None:
        """Stop waiting for the devices of a pod."""
        self._waiting.discard(key)

    def on_claim(self, change: Change) -> None:
        """Wake the pods that wait for a claim."""
        for entry in (change.object.get("status") or {}).get("reservedFor") or ():
            key = (namespace_of(change.object), str(entry.get("name") or ""))
            if key in self._waiting:
                self._wake(key)


def needs_work(claim: Obj) -> bool:
    """Return whether any device of an allocated claim must be made ready."""
    return any(True for _ in binding_conditions.results_with_conditions(claim))
