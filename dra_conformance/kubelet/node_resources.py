"""Writes the extended resources of device plugins to the Node object.

`NodeResources` owns a thread between `start` and `stop`. A real kubelet writes every 10 s; this one writes when
something has changed, so that scenarios are quick.

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/nodestatus/setters.go (MachineInfo), kubelet_node_status.go
(updateDefaultLabels, initialNode), devicemanager/manager.go (GetCapacity).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from dra_api.client import ApiError, KubeClient
from dra_api.clock import SOON, Clock
from dra_api.objects import NODES
from dra_api.threads import report_exception, started
from dra_api.transport import TransportError
from dra_conformance.kubelet.device_plugins import is_extended_resource
from dra_conformance.kubelet.joining import join
from dra_conformance.kubelet.offered_resources import Count, OfferedResources

_RETRY_SECONDS = 1.0


class NodeResources:
    """The extended resources of one Node object. `forgotten` is called after a resource was dropped."""

    def __init__(
        self, client: KubeClient, clock: Clock, node: str, offered: OfferedResources, *, forgotten: Callable[[], None]
    ) -> None:
        self._client = client
        self._clock = clock
        self._node = node
        self._offered = offered
        self._forgotten = forgotten
        self._changed = threading.Condition()
        self._dirty = False
        self._busy = False
        self._stopped = False
        self._written: dict[str, Count] = {}
        self._thread: threading.Thread | None = None

    def start(self, *, reset: bool) -> None:
        """Write once, then at every change. `reset`: set all extended resources of the Node to 0 first (DP-048)."""
        if reset:
            status = self._client.get(NODES, self._node).get("status") or {}
            names = [name for name in status.get("capacity") or () if is_extended_resource(name)]
            self._write(dict.fromkeys(names, Count(0, 0)))
        self._write(self._offered.counts())
        self._clock.register(self)
        self._thread = started(self._run, name=f"kubelet-{self._node}-resources")

    def stop(self) -> None:
        """Stop writing. Idempotent."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        thread, self._thread = self._thread, None
        if thread is not None:
            join(thread)

    def notify(self) -> None:
        """Note that the devices have changed."""
        with self._changed:
            self._dirty = True
            self._changed.notify_all()

    def is_idle(self) -> bool:
        """Whether everything is written and no resource is about to be forgotten."""
        with self._changed:
            pending = self._dirty or self._busy
        end = self._offered.next_end()
        return self._stopped or not (pending or (end is not None and end < self._clock.monotonic() + SOON))

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._stopped or self._dirty):
                    end = self._offered.next_end()
                    if end is not None and end <= self._clock.monotonic():
                        break
                    self._clock.condition_wait_until(self._changed, end)
                if self._stopped:
                    return
                self._dirty, self._busy = False, True
            try:
                self._write(self._offered.counts())
            except (ApiError, TransportError):
                with self._changed:
                    self._dirty = not self._stopped
                    self._clock.condition_wait(self._changed, _RETRY_SECONDS)
            except Exception as error:  # the next change must still be written
                report_exception(error)
            finally:
                with self._changed:
                    self._busy = False

    def _write(self, counts: dict[str, Count]) -> None:
        if counts == self._written:
            return
        status = {
            "capacity": {name: str(one.capacity) for name, one in counts.items()},
            "allocatable": {name: str(one.allocatable) for name, one in counts.items()},
        }
        self._client.patch(NODES, self._node, {"status": status}, kind="strategic", subresource="status")
        # A resource that is forgotten keeps its name in the Node with 0 (DP-035).
        known = self._offered.names()
        self._written = {name: one for name, one in counts.items() if name in known}
        if len(self._written) < len(counts):
            self._forgotten()
