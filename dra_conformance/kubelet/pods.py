"""The pods of one node, from bound to deleted, with their claims prepared before and unprepared after.

`PodWorkers` owns an informer, worker threads and the reconcile loop between `start` and `stop`. Running containers
are in a `Runtime`, which emulates the container runtime and survives a restart of the kubelet.

Source: pkg/kubelet/pod_workers.go, kubelet.go (SyncPod, SyncTerminatingPod), v1.36; rules DRA-264, DRA-265, DRA-271,
DRA-275 to DRA-277, DRA-280, DRA-295 to DRA-301.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dra_api.client import ApiError, Conflict, KubeClient, NotFound
from dra_api.clock import Clock, timestamp
from dra_api.informer import Change, Informer
from dra_api.objects import NODES, PODS, Obj, name_of, namespace_of, uid_of
from dra_api.threads import report_exception
from dra_api.tracebacks import format_traceback
from dra_api.transport import TransportError
from dra_api.workqueue import WorkQueue
from dra_conformance.core.events import KubeletCdi, KubeletPod, KubeletProblem
from dra_conformance.kubelet import node_fit, pod_resize, pod_status
from dra_conformance.kubelet.cdi import CDIRegistry
from dra_conformance.kubelet.claims import ClaimManager
from dra_conformance.kubelet.container_view import ContainerView, build_view
from dra_conformance.kubelet.device_allocation import DeviceAllocator
from dra_conformance.kubelet.errors import (
    AdmissionRefused,
    CDIError,
    DeviceStartFailed,
    DriverNotRegistered,
    KubeletError,
    PrepareFailed,
    UnprepareFailed,
)
from dra_conformance.kubelet.gates import Gates, Timing
from dra_conformance.kubelet.health import HealthCache, allocated_resources_status
from dra_conformance.kubelet.joining import join
from dra_conformance.kubelet.pod_resize import Pending
from dra_conformance.kubelet.pod_status import Phase
from dra_conformance.kubelet.pod_writer import PodWriter, WrittenStatus, where
from dra_conformance.kubelet.record import Record
from dra_conformance.kubelet.runtime import Runtime

_TERMINAL = ("Succeeded", "Failed")
_WORKERS = 4
"""Pods handled at the same time."""


@dataclass(slots=True)
class _PodState:
    """A worker's notes about one pod; only the worker that handles the pod writes them."""

    finish: Phase | None = None
    admitted: bool = False
    ended: bool = False
    error: str = ""
    deferred: bool = False
    written: WrittenStatus = field(default_factory=WrittenStatus)


class PodWorkers:
    """Runs the pods that are bound to one node.

    Args:
        runtime: the running containers.
        claims: prepares and unprepares.
        health: reports of drivers on their devices.
        cdi_roots: folders with CDI specifications, lowest priority first.
        devices: allocates devices of device plugins; None if the kubelet serves none.
        serves: whether it runs the pods of a namespace; None: of all.
    """

    def __init__(
        self,
        *,
        client: KubeClient,
        clock: Clock,
        node: str,
        runtime: Runtime,
        claims: ClaimManager,
        devices: DeviceAllocator | None,
        health: HealthCache,
        gates: Gates,
        timing: Timing,
        record: Record,
        cdi_roots: Sequence[Path],
        serves: Callable[[str], bool] | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._node = node
        self._runtime = runtime
        self._claims = claims
        self._devices = devices
        self._health = health
        self._gates = gates
        self._timing = timing
        self._record = record
        self._cdi_roots = tuple(cdi_roots)
        self._serves = serves
        self._queue: WorkQueue[str] = WorkQueue(clock, base_delay=timing.pod_backoff, max_delay=timing.pod_backoff_max)
        self._informer = Informer(client, PODS, clock=clock, field_selector=f"spec.nodeName={node}")
        self._informer.on_change(self._on_pod)
        self._lock = threading.Lock()
        self._admission = threading.Lock()
        self.changed = threading.Condition(self._lock)
        self._pods: dict[str, Obj] = {}
        self._states: dict[str, _PodState] = {}
        self._recorded_problems: set[str] = set()
        self._stopping = threading.Event()
        self._writer = PodWriter(
            client, clock=clock, node=node, record=record, stored=self._informer.assume, quiet=self._stopping
        )
        self._round = 0.0
        self._threads: list[threading.Thread] = []

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self, *, timeout: float = 30.0) -> None:
        """List the node's pods, then work on them. Raises KubeletError when the list does not come in `timeout` s."""
        self._informer.start()
        if trouble := self._informer.wait_served(timeout):
            self._informer.stop()
            raise KubeletError(f"the kubelet of node {self._node} {trouble}")
        self._round = self._clock.monotonic()
        work = [(f"pods-{index}", self._work) for index in range(_WORKERS)]
        for name, target in [*work, ("reconcile", self._reconcile)]:
            thread = threading.Thread(target=target, name=f"kubelet-{self._node}-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def quit(self) -> None:
        """Stop writing: a failure because the kubelet exits is not a fault of a driver."""
        self._stopping.set()

    def stop(self) -> None:
        """End all work after `quit`; pods stay as they are. Close driver connections before, so that no call waits."""
        self._informer.stop()
        self._queue.shut_down()
        for thread in self._threads:
            join(thread)
        self._threads.clear()
        with self.changed:
            self.changed.notify_all()

    # -- for scenarios -------------------------------------------------------------------------------------------

    def finish(self, namespace: str, name: str, phase: Phase) -> None:
        """Let a pod's containers end by themselves once they run. Raises KubeletError for a pod not on this node."""
        pod = self.find(namespace, name)
        if pod is None:
            raise KubeletError(f"pod {namespace}/{name} is not on node {self._node}")
        uid = uid_of(pod)
        with self._lock:
            self._states.setdefault(uid, _PodState()).finish = phase
        # The pod is handled now, and a failure starts again with the shortest delay.
        self._queue.forget(uid)
        self._queue.add(uid)

    def restart_containers(self, namespace: str, name: str) -> None:
        """Let a pod's containers end and start again. Raises KubeletError for a pod not on this node."""
        pod = self.find(namespace, name)
        if pod is None:
            raise KubeletError(f"pod {namespace}/{name} is not on node {self._node}")
        self._runtime.kill(uid_of(pod))
        self._queue.add(uid_of(pod))

    def active(self) -> set[str]:
        """Return the uids of the pods that have not ended."""
        return {uid_of(pod) for pod in self.active_pods()}

    def active_pods(self) -> list[Obj]:
        """Return the pods that have not ended."""
        with self._lock:
            ended = {uid for uid, state in self._states.items() if state.ended}
            return [
                pod
                for uid, pod in self._pods.items()
                if uid not in ended and pod.get("status", {}).get("phase") not in _TERMINAL
            ]

    def find(self, namespace: str, name: str) -> Obj | None:
        """A pod of this node as last seen."""
        return self._informer.get(name, namespace)

    def error(self, namespace: str, name: str) -> str:
        """Why a pod does not run or does not end; empty when nothing is wrong with it."""
        pod = self.find(namespace, name)
        with self._lock:
            state = self._states.get(uid_of(pod)) if pod else None
            return state.error if state else ""

    def views(self, namespace: str, name: str) -> Mapping[str, ContainerView]:
        """Return the view of each container of a running pod. Raises KubeletError if the pod does not run."""
        pod = self.find(namespace, name)
        running = self._runtime.get(uid_of(pod)) if pod else None
        if running is None:
            why = self.error(namespace, name) or (
                "it has not started yet" if pod else f"it is not on node {self._node}"
            )
            raise KubeletError(f"pod {namespace}/{name} does not run: {why}")
        return running.views

    def wait_running(self, namespace: str, name: str, timeout: float) -> Mapping[str, ContainerView]:
        """Wait at most `timeout` seconds for a pod to run; its containers' views. Raises KubeletError with the
        reason."""
        deadline = self._clock.monotonic() + timeout
        while True:
            try:
                return self.views(namespace, name)
            except KubeletError as error:
                remaining = deadline - self._clock.monotonic()
                if remaining <= 0:
                    raise KubeletError(f"{error} (waited {timeout:g} s)") from None
            with self.changed:
                # `views` was called without the lock, so a notification may have been missed: wait in short intervals.
                self._clock.condition_wait(self.changed, min(remaining, 0.1))

    def reconcile(self) -> None:
        """One round of the reconcile loop: release the claims of pods that are gone (rule DRA-277)."""
        # The claims first: a pod that arrives and is prepared between the two reads is then no orphan.
        holding = self._claims.cache.pod_uids()
        with self._lock:
            orphans = holding - set(self._pods)
        for uid in sorted(orphans):
            self._record(KubeletPod(step="reconcile", uid=uid))
            self._unprepare_orphan(uid)

    def resync(self, driver: str) -> None:
        """Look again at the pods that use devices of a driver."""
        self.look_at(sorted(self._claims.cache.pod_uids(driver)))

    def look_at(self, uids: Iterable[str]) -> None:
        """Look again at pods."""
        for uid in uids:
            self._queue.add(uid)

    # -- threads ---------------------------------------------------------------------------------------------------

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        if self._serves is not None and not self._serves(pod["metadata"]["namespace"]):
            return
        with self._lock:
            if change.type == "DELETED":
                self._pods.pop(uid_of(pod), None)
            else:
                self._pods[uid_of(pod)] = pod
            self.changed.notify_all()
        self._queue.add(uid_of(pod))

    def _work(self) -> None:
        while (uid := self._queue.get()) is not None:
            try:
                self._sync(uid)
            except (KubeletError, ApiError, TransportError) as error:
                self._failed(uid, str(error))
            except Exception as error:
                message = f"unexpected {type(error).__name__}: {error}"
                self._record(KubeletProblem(about="pod", uid=uid, message=message, traceback=format_traceback(error)))
                report_exception(error)
                self._failed(uid, message)
            else:
                self._queue.forget(uid)
            finally:
                self._queue.done(uid)
                with self.changed:
                    self.changed.notify_all()

    def _failed(self, uid: str, message: str) -> None:
        if self._stopping.is_set():
            return
        with self._lock:
            state = self._states.get(uid)
            if state is not None:
                state.error = message
        self._queue.add_rate_limited(uid)

    def _reconcile(self) -> None:
        while not self._stopping.is_set():
            try:
                self.reconcile()
            except Exception as error:  # without this thread claims of deleted pods would stay prepared for ever
                report_exception(error)
            # On a fixed schedule: time that a scenario advances during a round counts for the next.
            self._round += self._timing.reconcile
            self._clock.wait_until(self._stopping, self._round)

    # -- one pod ---------------------------------------------------------------------------------------------------

    def _sync(self, uid: str) -> None:
        with self._lock:
            pod = self._pods.get(uid)
            if pod is not None:
                state = self._states.setdefault(uid, _PodState())
        if pod is None:
            self._gone(uid)
        elif pod["metadata"].get("deletionTimestamp"):
            self._terminate(pod, state)
        elif pod.get("status", {}).get("phase") in _TERMINAL:
            self._end(pod, state, pod["status"]["phase"])
        elif state.ended:
            # An old copy of the pod from the watch must not start the ended pod again.
            return
        else:
            if self._runtime.get(uid) is None:
                self._start_pod(pod, state)
            if state.finish is not None:
                self._end(pod, state, state.finish)
            else:
                self._write_running(pod, state)

    def _start_pod(self, pod: Obj, state: _PodState) -> None:
        if not state.admitted:
            try:
                # One pod after the other, as the kubelet does: each sees the room that the one before it has left.
                with self._admission:
                    self._admit(pod)
                    state.admitted = True
            except AdmissionRefused as error:
                self._reject(pod, state, error)
                return
        try:
            self._claims.prepare(pod)
        except (PrepareFailed, DriverNotRegistered) as error:
            message = f"prepare dynamic resources: {error}"
            self._writer.record_event(
                pod, state.written, "FailedPrepareDynamicResources", f"Failed to prepare dynamic resources: {message}"
            )
            now = self._now()
            self._writer.write(
                pod, state.written, pod_status.waiting(pod, now=now, reason="ContainerCreating", message="")
            )
            raise PrepareFailed(message) from None
        try:
            views = self._build_views(pod)
        except CDIError as error:
            self._writer.record_event(pod, state.written, "Failed", f"Error: CDI device injection failed: {error}")
            status = pod_status.waiting(pod, now=self._now(), reason="CreateContainerError", message=str(error))
            self._writer.write(pod, state.written, status)
            raise
        except DeviceStartFailed as error:
            # kuberuntime_container.go (startContainer): the container waits, and its start is tried again.
            self._writer.record_event(pod, state.written, "Failed", f"Error: {error}")
            status = pod_status.waiting(pod, now=self._now(), reason="CreateContainerConfigError", message=str(error))
            self._writer.write(pod, state.written, status)
            raise
        running = self._runtime.run(pod, views, self._now())
        with self._lock:
            state.error = ""
        self._record(
            KubeletPod(
                step="running",
                pod=where(pod),
                uid=uid_of(pod),
                started_at=running.started_at,
                containers={name: asdict(view) for name, view in views.items()},
            )
        )

    def _admit(self, pod: Obj) -> None:
        """Allocate devices, then compare the pod's requests with the node. Raises AdmissionRefused."""
        if self._devices is not None:
            self._devices.admit(pod)
        if not node_fit.needs(pod):
            return
        try:
            node_fit.check(pod, others=self._others(pod), allocatable=self._allocatable())
        except AdmissionRefused:
            if self._devices is not None:
                self._devices.release(uid_of(pod))
            raise

    def _allocatable(self) -> Mapping[str, Any]:
        return (self._client.get(NODES, self._node).get("status") or {}).get("allocatable") or {}

    def _others(self, pod: Obj) -> list[Obj]:
        """Return the other admitted pods, with the resources that are allocated to them."""
        with self._lock:
            admitted = {uid for uid, state in self._states.items() if state.admitted}
        found = []
        # Also by phase: the end of a pod is in its status a moment before it is in `_states`.
        for one in self.active_pods():
            running = self._runtime.get(uid_of(one))
            if uid_of(one) == uid_of(pod):
                continue
            if running is not None:  # also before a restart of the kubelet
                found.append(pod_resize.with_resources(one, running.resources))
            elif uid_of(one) in admitted:
                found.append(one)
        return found

    def _resize(self, pod: Obj, state: _PodState) -> Pending | None:
        """Allocate the resources of the pod's spec if they fit; return why not (rules DP-074, DP-074b)."""
        running = self._runtime.get(uid_of(pod))
        state.deferred = False
        if running is None or pod_resize.resources_of(pod) == running.resources:
            return None
        allocatable = self._allocatable()
        with self._admission:
            try:
                node_fit.check(pod, others=(), allocatable=allocatable)
            except AdmissionRefused as error:
                return Pending("Infeasible", str(error))
            try:
                node_fit.check(pod, others=self._others(pod), allocatable=allocatable)
            except AdmissionRefused as error:
                state.deferred = True
                return Pending("Deferred", str(error))
            self._runtime.resize(pod)
        self._look_at_deferred()
        return None

    def _look_at_deferred(self) -> None:
        """Another pod may have left room."""
        with self._lock:
            waiting = [uid for uid, state in self._states.items() if state.deferred]
        self.look_at(waiting)

    def _reject(self, pod: Obj, state: _PodState, error: AdmissionRefused) -> None:
        """The pod is not admitted: it has failed, and its claims are released if it ran before."""
        self._writer.record_event(pod, state.written, error.reason, str(error))
        status = pod_status.rejected(pod, now=self._now(), reason=error.reason, message=str(error))
        self._writer.write(pod, state.written, status)
        self._unprepare(pod, state)
        state.ended = True
        self._record(KubeletPod(step="rejected", pod=where(pod), uid=uid_of(pod), phase="Failed"))

    def _build_views(self, pod: Obj) -> dict[str, ContainerView]:
        containers = [*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())]
        given = {container["name"]: self._claims.given_devices(pod, container) for container in containers}
        answers = {c["name"]: self._devices.start_container(pod, c) for c in containers} if self._devices else {}
        # Most pods have no devices; do not read the CDI folders for them.
        if not any(given.values()) and not any(answer.cdi_devices for answer in answers.values()):
            return {c["name"]: build_view(c, (), CDIRegistry.read(()), answers.get(c["name"])) for c in containers}
        registry = CDIRegistry.read(self._cdi_roots)
        for problem in registry.problems:
            # The folders are read again for every pod; report each problem once.
            with self._lock:
                is_new = str(problem) not in self._recorded_problems
                self._recorded_problems.add(str(problem))
            if is_new:
                self._record(KubeletCdi(file=str(problem.path), reasons=tuple(problem.reasons)))
        views: dict[str, ContainerView] = {}
        for container in containers:
            devices = given[container["name"]]
            answer = answers.get(container["name"])
            try:
                # Those of claims first (container_manager_linux.go, GetResources).
                ids = [*(device.id for device in devices), *(answer.cdi_devices if answer else ())]
                views[container["name"]] = build_view(container, ids, registry, answer)
            except CDIError as error:
                lost = {d for d in devices if d.id not in registry.devices}
                sources = (
                    ", ".join(sorted({f"driver {d.driver} for claim {d.claim}" for d in lost})) or "a device plugin"
                )
                raise CDIError(f"container {container['name']}: {error}; returned by {sources}") from None
        return views

    def _write_running(self, pod: Obj, state: _PodState) -> None:
        pending = self._resize(pod, state)
        running = self._runtime.get(uid_of(pod))
        if running is None:
            return
        records = self._claims.records_of(pod)
        health = {
            container["name"]: [
                *(allocated_resources_status(container, records, self._health, self._gates) or ()),
                *self._plugin_health(pod, container["name"]),
            ]
            for container in pod["spec"].get("containers") or ()
        }
        again = running.program.look() if running.program is not None else None
        status = pod_status.running(
            pod,
            now=self._now(),
            started_at=running.started_at,
            pod_ip=running.pod_ip,
            health=health,
            ready=again is None,
            restarts=running.program.restarts if running.program is not None else 0,
            resources=running.resources,
            pending=pending,
        )
        self._writer.write(pod, state.written, status)
        if again is not None:
            self._queue.add_after(uid_of(pod), again)
        holds = [
            hold
            for record in records.values()
            for driver, devices in record.drivers.items()
            for device in devices
            if (hold := self._health.holds(driver, device.pool_name, device.device_name)) is not None
        ]
        if any(health.values()) and holds:
            # A moment more, so that the word has expired when the pod is looked at (rule DRA-297).
            self._queue.add_after(uid_of(pod), min(holds) + 0.01)

    def _plugin_health(self, pod: Obj, container: str) -> list[dict[str, Any]]:
        if self._devices is None or not self._gates.resource_health_status:
            return []
        return self._devices.health(uid_of(pod), container)

    def _end(self, pod: Obj, state: _PodState, phase: Phase) -> None:
        """Containers ended: Unprepare comes before the pod is reported as finished (rule DRA-275)."""
        if state.ended:
            return
        running = self._runtime.kill(uid_of(pod))
        # After a reboot there is no record of the containers; the stored status still has their start time.
        started_at = running.started_at if running else _started_at(pod)
        self._unprepare(pod, state)
        if self._devices is not None:
            self._devices.release(uid_of(pod))
        # A pod may have finished in an earlier life of the kubelet; then only its claims have to be released.
        if pod.get("status", {}).get("phase") not in _TERMINAL:
            self._writer.write(
                pod, state.written, pod_status.ended(pod, now=self._now(), phase=phase, started_at=started_at)
            )
        state.ended = True
        self._look_at_deferred()
        self._record(KubeletPod(step="ended", pod=where(pod), uid=uid_of(pod), phase=phase))

    def _terminate(self, pod: Obj, state: _PodState) -> None:
        """The pod is being deleted: end it, unprepare, report, then let the object go (rule DRA-276)."""
        # The harness ends containers with code 0; a pod whose containers never ran has failed.
        phase: Phase = "Succeeded" if self._runtime.get(uid_of(pod)) or _started_at(pod) else "Failed"
        self._end(pod, state, phase)
        try:
            # As pkg/kubelet/status/status_manager.go: no grace period, and the UID protects a new pod with this name.
            self._client.delete(PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod), grace_period_seconds=0)
        except (NotFound, Conflict):
            return
        self._record(KubeletPod(step="removed", pod=where(pod), uid=uid_of(pod)))

    def _unprepare(self, pod: Obj, state: _PodState) -> None:
        try:
            self._claims.unprepare(uid_of(pod))
        except (UnprepareFailed, DriverNotRegistered) as error:
            # The real kubelet logs this and writes no event.
            raise UnprepareFailed(f"unprepare dynamic resources: {error}") from None
        with self._lock:
            state.error = ""

    def _gone(self, uid: str) -> None:
        """Handle a pod whose object disappeared: it was force-deleted, or replaced by a pod with the same name."""
        self._runtime.kill(uid)
        if self._devices is not None:
            self._devices.release(uid)
        with self._lock:
            state = self._states.pop(uid, None)
        self._look_at_deferred()
        if state is not None and not state.ended:
            self._record(KubeletPod(step="vanished", uid=uid))
        if self._claims.cache.of_pod(uid):
            self._unprepare_orphan(uid)

    def _unprepare_orphan(self, uid: str) -> None:
        try:
            self._claims.unprepare(uid)
        except (KubeletError, ApiError, TransportError) as error:
            if not self._stopping.is_set():
                self._record(
                    KubeletProblem(about="unprepare", uid=uid, message=f"{error}; the reconcile loop tries again")
                )

    def _now(self) -> str:
        return timestamp(self._clock.now())


def _started_at(pod: Obj) -> str:
    for status in pod.get("status", {}).get("containerStatuses") or ():
        started = (status.get("state") or {}).get("running", {}).get("startedAt")
        if started:
            return str(started)
    return ""
