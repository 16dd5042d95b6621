"""Devices that must be made ready before their pod is bound (KEP-5007): the binder waits, as it is the one who binds.

A scheduler that writes BindRequests cannot wait in its stead: drivers begin their work when they see the device in the
claim's status, and that is the binder's to write. KAI 0.17 never meets such devices, as its allocator passes them over,
so neither its documents nor its binder speak of them; who else writes BindRequests may choose them.

No worker waits: an attempt ends with `DevicesPending`, and the pod's turn comes again when its claim changes or the
time is over. `DeviceWaits` knows only which pods wait; what they wait for is read from the API server each time.

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
from reference_impl.recorder import EventRecorder

Key = tuple[str, str]


class DeviceWaits:
    """Which pods wait for their devices. `wake` gives a pod its turn again."""

    def __init__(
        self, writer: ClaimWriter, *, clock: Clock, timeout: float, recorder: EventRecorder, wake: Callable[[Key], None]
    ) -> None:
        self._writer = writer
        self._clock = clock
        self._timeout = timeout
        self._recorder = recorder
        self._wake = wake
        self._waiting: set[Key] = set()

    def require_ready(self, pod: Obj, node: Obj, claims: Iterable[Obj]) -> None:
        """Let the pod be bound only when all devices of its claims are ready.

        Raises DevicesPending while there is hope, DevicesLost when there is none.
        """
        slow = [claim for claim in claims if needs_work(claim)]
        if not slow:
            return
        key = key_of(pod)
        first = key not in self._waiting
        self._waiting.add(key)  # before the claims are read: what changes from here on wakes us
        current = [self._writer.find(name_of(claim), namespace_of(claim), live=True) for claim in slow]
        progress = binding_conditions.progress(current, self._clock.now(), self._timeout)
        if progress.waits:
            if first:
                told = f"waiting for binding conditions for device on node {name_of(node)}"
                about = {**pod, "apiVersion": "v1", "kind": "Pod"}
                self._recorder.event(about, "Normal", "BindingConditionsPending", told)
            raise DevicesPending(progress.seconds)
        self.forget(key)
        if progress.lost:
            raise DevicesLost(f"DynamicResources: {progress.lost}")

    def forget(self, key: Key) -> None:
        """The pod waits no more."""
        self._waiting.discard(key)

    def on_claim(self, change: Change) -> None:
        """Wake the pods that wait for a claim."""
        for entry in (change.object.get("status") or {}).get("reservedFor") or ():
            key = (namespace_of(change.object), str(entry.get("name") or ""))
            if key in self._waiting:
                self._wake(key)


def needs_work(claim: Obj) -> bool:
    """Whether any device of an allocated claim must be made ready."""
    return any(True for _ in binding_conditions.results_with_conditions(claim))
