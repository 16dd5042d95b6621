"""Connections of components to the API server, with fault injection in process or by the fault proxy.

The harness itself connects directly. A program connects through the proxy if a planned scenario injects faults into its
component. The run owns the connections and stops them after the components.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from dra_api.certificates import CertificateError
from dra_api.clock import Clock
from dra_api.kubeconfig import KubeconfigError
from dra_api.transport import Transport
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events import ComponentChanged, FaultInjected
from dra_conformance.core.events.log import EventLog
from dra_conformance.core.events.recorder import RecordingTransport
from dra_conformance.faults.late import Lag, no_lag
from dra_conformance.faults.model import Call, FaultPoints
from dra_conformance.faults.transport import FaultyTransport

if TYPE_CHECKING:
    from dra_conformance.faults.proxy import FaultProxy


class Connections:
    """The connections of one run.

    `connect` opens a connection for reference components; `in_flight` surrounds their requests, and `own_clock` returns
    the clock of their timeouts; `by_proxy`: components whose programs use the proxy; `folder`: for the proxy's files;
    `lag_in_process` and `lag` delay the events of watches of reference components and of programs behind the proxy.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        *,
        connect: Callable[[], Transport],
        in_flight: Callable[[], AbstractContextManager[None]],
        own_clock: Callable[[], Clock],
        log: EventLog,
        folder: Path,
        by_proxy: Collection[str],
        lag_in_process: Lag = no_lag,
        lag: Lag = no_lag,
    ) -> None:
        self._connect = connect
        self._in_flight, self._own_clock = in_flight, own_clock
        self._lag_in_process, self._lag = lag_in_process, lag
        self.points = FaultPoints(self._tell)
        self._control_plane = control_plane
        self._log = log
        self._folder = folder
        self._by_proxy = frozenset(by_proxy)
        # Components open their connections from their own threads.
        self._lock = threading.Lock()
        self._inner: Transport | None = None
        self._transports: dict[str, Transport] = {}
        self._proxy: FaultProxy | None = None
        self._endpoints: dict[tuple[str, Path], Path] = {}

    def transport(self, component: str) -> Transport:
        """Return a recorded transport for a reference component in this process."""
        with self._lock:
            found = self._transports.get(component)
            if found is None:
                # One connection for all reference components; faults and records are separate for each of them.
                if self._inner is None:
                    self._inner = self._connect()
                faulty = FaultyTransport(
                    self._inner,
                    self.points,
                    component=component,
                    clock=self._log.clock,
                    in_flight=self._in_flight,
                    own_clock=self._own_clock,
                    lag=self._lag_in_process,
                )
                found = self._transports[component] = RecordingTransport(faulty, self._log)
            return found

    def kubeconfig(self, component: str, own: Path | None = None) -> Path:
        """Return the kubeconfig for an external program; `own` is its identity (None: the run's).

        Raises TargetUnreachable if the proxy cannot be used.
        """
        behind = own or self._control_plane.kubeconfig
        if component not in self._by_proxy:
            return behind
        with self._lock:
            door = self._endpoints.get((component, behind))
            if door is not None:
                return door
            # Deferred: aiohttp is slow to import, and most runs need no proxy.
            from dra_conformance.faults.proxy import FaultProxy

            try:
                self._proxy = self._proxy or FaultProxy(self.points, folder=self._folder, lag=self._lag)
                self._proxy.start()
                door = self._endpoints[component, behind] = self._proxy.open(component, behind)
            except (CertificateError, KubeconfigError, OSError) as error:
                raise TargetUnreachable(f"the fault proxy for the {component} does not start: {error}") from error
        self._log.emit(ComponentChanged(component=component, implementation="fault proxy", action="start"))
        return door

    def is_idle(self) -> bool:
        """Return whether the proxy has forwarded everything that it received."""
        proxy = self._proxy
        return proxy is None or proxy.is_idle()

    def stop(self) -> None:
        """Close the proxy and all transports."""
        if self._proxy is not None:
            self._proxy.stop()
        with self._lock:
            transports = list(self._transports.values())
        for transport in transports:
            transport.close()
        if self._inner is not None:
            self._inner.close()

    def _tell(self, call: Call, what: str) -> None:
        info = call.info
        self._log.emit(
            FaultInjected(
                component=call.component,
                verb=info.verb,
                resource=f"{info.resource}/{info.subresource}" if info.subresource else info.resource,
                name="/".join(part for part in (info.namespace, info.name) if part),
                what=what,
            )
        )
