"""The container of a daemon pod of a ComputeDomain: its program, restarts, checks and Ready condition."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock
from dra_api.objects import PODS, Obj, name_of, namespace_of, uid_of
from dra_api.threads import report_exception, started
from dra_api.transport import TransportError
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.daemon_programs import (
    DAEMON,
    ContainerFiles,
    DaemonProgram,
    ExternalProgram,
    ReferenceProgram,
)
from dra_conformance.core.events import LogRecord
from reference_impl.errors import ComponentError

_PROBE_STARTING, _PROBE_RUNNING = 0.25, 0.8
"""Seconds between two checks of a container. A kubelet does it each second and each 10 seconds."""
_PROBED_AT_ONCE = 2
"""Containers that are checked so often; more are checked less often. In a cluster each is on a machine of its own."""
_CRASHED_SECONDS = 10.0
"""From the end of a container by itself to its restart, as a kubelet's back-off is after the first restart."""


class DaemonContainer:
    """The container of one daemon pod, with the thread of its probes."""

    def __init__(
        self,
        world: ScenarioContext,
        client: KubeClient,
        pod: Obj,
        environment: Mapping[str, str],
        *,
        without: frozenset[str],
        running: Callable[[], int] = lambda: 1,
    ) -> None:
        """Start the container. `running` returns the number of containers on this machine."""
        self.pod = pod
        self.ip = environment["POD_IP"]
        self.environment = dict(environment)
        self.files = ContainerFiles(world.run.components.work / f"daemon-{uid_of(pod)[:13]}")
        self.restarts = 0
        self.problem = "it has not been checked yet"
        """Why the container is not ready; empty if it is."""
        self.ended = ""
        """Why the program has ended by itself; empty while it runs."""
        self.program: DaemonProgram | None = None
        self._world = world
        self._client = client
        self._running = running
        self._clock: Clock = world.log.clock
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._ended_at: float | None = None
        self._killed = False
        self._log = world.run.folder / "logs" / f"{DAEMON}-{name_of(pod)[-60:]}.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self.files.root.mkdir(parents=True, mode=0o700)
        self.files.install(without=without)
        self.environment["PATH"] = f"{self.files.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        self._thread = started(self._run, name=f"daemon-pod-{self.ip}")

    def stop(self, *, kill: bool, observe: Callable[[float], None] = lambda seconds: None) -> None:
        """End the container for good; `observe` gets the seconds that the program took to end on SIGTERM."""
        self._stopping.set()
        self._wake.set()
        with self._lock:
            program, self.program = self.program, None
        if program is not None:
            if not kill:
                begun = self._clock.monotonic()
                program.stop()
                observe(self._clock.monotonic() - begun)
            program.kill()
        self._done.set()
        self._thread.join()

    def kill_program(self) -> None:
        """Kill the program as SIGKILL does; the pod's container is started again at once."""
        with self._lock:
            if self.program is not None:
                self.program.kill()
            self._killed = True
        self._wake.set()

    def why_ended(self) -> str:
        """Return why the program has ended by itself, also before the container has noticed; empty while it runs."""
        with self._lock:
            return self.ended or (self.program is not None and self.program.ended()) or ""

    def _run(self) -> None:
        try:
            self._start()
            while not self._stopping.is_set():
                self._look()
                seconds = _PROBE_STARTING if self.problem else _PROBE_RUNNING
                self._clock.wait(self._wake, seconds * max(1.0, self._running() / _PROBED_AT_ONCE))
                self._wake.clear()
            # The kernel kills an isolated program when the thread that started it ends.
            self._done.wait()
        except Exception as error:
            report_exception(error)

    def _start(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            self.files.write(self.ip, name_of(self.pod))
            in_process = self._world.run.components.spec(DAEMON).in_process
            make = ReferenceProgram if in_process else ExternalProgram
            self.program = make(self._world, self.environment, self.files, self._log)
            self._ended_at, self._killed, self.ended = None, False, ""
            try:
                self.program.start()
            except (ComponentError, ApiError, TransportError) as error:
                self._has_ended(str(error))

    def _look(self) -> None:
        with self._lock:
            program = self.program
            if program is None or self._stopping.is_set():
                return
            killed = self._killed
            why = None if killed or self._ended_at is not None else program.ended()
            if why is not None:
                program.stop()
                self._has_ended(why)
        if killed or (self._ended_at is not None and self._clock.monotonic() >= self._ended_at + _CRASHED_SECONDS):
            self._write("its container starts again")
            self.restarts += 1
            self._start()
            return
        self._write("its program has ended" if self._ended_at is not None else program.check())

    def _write(self, problem: str) -> None:
        """Write the status of the pod if its readiness has changed."""
        before = (self.pod.get("status") or {}).get("phase") == "Running"
        if before and bool(problem) == bool(self.problem):
            self.problem = problem
            return
        condition = {"type": "Ready", "status": "False" if problem else "True"}
        status = {"phase": "Running", "podIP": self.ip, "podIPs": [{"ip": self.ip}], "conditions": [condition]}
        try:
            self.pod = self._client.patch(
                PODS, name_of(self.pod), {"status": status}, namespace_of(self.pod), subresource="status"
            )
        except (ApiError, TransportError):
            return  # the next look writes it again, unless the pod is gone
        self.problem = problem

    def _has_ended(self, why: str) -> None:
        self._ended_at, self.ended = self._clock.monotonic(), why
        text = f"{name_of(self.pod)} has ended by itself: {why}"
        self._world.log.emit(LogRecord(level="WARNING", logger=__name__, text=text))
