"""The container of a daemon pod of a ComputeDomain: its program, restarts, probes and Ready condition.

All of it follows the pod's spec: command, variables, probes and grace period. The periods of probes are shorter than in
the spec, because scenarios wait for their results.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

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
from dra_conformance.kubelet.container_process import variables
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.kubelet.probes import Probes
from reference_impl.errors import ComponentError

_LOOK_STARTING, _LOOK_RUNNING = 0.25, 0.8
"""Seconds between two looks at a container."""
_CHECK_OF_PYTHON = 1.0
"""Least seconds between two probes of the reference as a process: its check takes half a second of a processor."""
_PACE = 0.08
"""The part of a probe's period after which it is due again: 10 s become 0.8 s."""
_PROBED_AT_ONCE = 2
"""Containers that are probed so often; more are probed less often. In a cluster each is on a machine of its own."""
_LEAST_PROBE_SECONDS = 10.0
"""Least deadline of a probe. Kubernetes' default is 1 s, which a busy machine can need to start the process."""
_CRASHED_SECONDS = 10.0
"""From the end of a container by itself to its restart, as a kubelet's back-off is after the first restart."""


class DaemonContainer:
    """The container of one daemon pod, with the thread of its probes."""

    def __init__(
        self,
        world: ScenarioContext,
        client: KubeClient,
        pod: Obj,
        container: Mapping[str, Any],
        *,
        ip: str,
        own: Mapping[str, str],
        edits: Mapping[str, str],
        without: frozenset[str],
        running: Callable[[], int] = lambda: 1,
    ) -> None:
        """Start the container.

        Args:
            pod: the pod as it is stored.
            container: its only container.
            ip: the address of the pod.
            own: variables that are there in any case.
            edits: variables of the CDI devices.
            without: programs that are missing in the container.
            running: returns the number of containers on this machine.
        """
        self.pod = pod
        self.ip = ip
        self.files = ContainerFiles(world.run.components.work / f"daemon-{uid_of(pod)[:13]}")
        self.restarts = 0
        self.problem = "it has not been checked yet"
        """Why the container is not ready; empty if it is."""
        self._container = container
        self._own = own
        self._edits = edits
        self._probes = Probes((), self._pace)
        is_python = world.run.components.spec(DAEMON).is_reference_process
        self._least_period = _CHECK_OF_PYTHON if is_python else _LOOK_STARTING
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
                self._clock.wait(self._wake, self._until_next_look())
                self._wake.clear()
            # The kernel kills an isolated program when the thread that started it ends.
            self._done.wait()
        except Exception as error:
            report_exception(error)

    def _until_next_look(self) -> float:
        seconds = self._share(_LOOK_STARTING if self.problem else _LOOK_RUNNING)
        due = self._probes.next_due()
        return seconds if due is None else min(seconds, max(due - self._clock.monotonic(), 0.01))

    def _pace(self, period: float) -> float:
        return self._share(max(self._least_period, period * _PACE))

    def _share(self, seconds: float) -> float:
        return seconds * max(1.0, self._running() / _PROBED_AT_ONCE)

    def _start(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            self.files.write(self.ip, name_of(self.pod))
            self._ended_at, self._killed, self.ended = None, False, ""
            try:
                self._probes = Probes.of(self._container, started_at=self._clock.monotonic(), pace=self._pace)
                self.program = self._make()
                self.program.start()
            except (ComponentError, KubeletError, ApiError, TransportError) as error:
                self._has_ended(str(error))

    def _make(self) -> DaemonProgram:
        address = {"podIP": self.ip, "podIPs": [{"ip": self.ip}]}
        pod = {**self.pod, "status": {**(self.pod.get("status") or {}), **address}}
        found = variables(pod, self._container, own=self._own, edits=self._edits)
        # The simulated nvidia-imex of the container is the only one that its program finds.
        found["PATH"] = f"{self.files.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        if self._world.run.components.spec(DAEMON).in_process:
            return ReferenceProgram(self._world, found, self.files, self._log)
        return ExternalProgram(self._world, pod, self._container, found, self.files, self._log)

    def _look(self) -> None:
        with self._lock:
            program = self.program
            if self._stopping.is_set():
                return
            killed = self._killed
            why = None if killed or self._ended_at is not None or program is None else program.ended()
            if why is not None and program is not None:
                program.stop()
                self._has_ended(why)
        if killed or (self._ended_at is not None and self._clock.monotonic() >= self._ended_at + _CRASHED_SECONDS):
            self._again()
        elif self._ended_at is not None or program is None:
            self._write("its program has ended")
        else:
            self._probes.run_due(self._clock.monotonic, partial(self._execute, program))
            if self._probes.failed:
                program.stop()
                program.kill()
                self._again()
            else:
                self._write(self._probes.problem)

    def _again(self) -> None:
        self._write("its container starts again")
        self.restarts += 1
        self._start()

    def _execute(self, program: DaemonProgram, words: Sequence[str], seconds: float) -> str:
        return program.execute(words, max(seconds, _LEAST_PROBE_SECONDS))

    def check(self) -> str:
        """Run the command of the container's readiness probe now. Return why it fails; empty if it succeeds."""
        program = self.program
        words = ((self._container.get("readinessProbe") or {}).get("exec") or {}).get("command") or ()
        return "no program" if program is None else self._execute(program, words, 0.0)

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
