"""Decisions on their way to the API server: written by a few threads, and stored until the pod is bound or released.

The deciding thread of the scheduler enqueues decisions (`enqueue`) and messages for pods that wait (`report`). If
devices have binding conditions, a decision stays here, without a thread, until they are ready. Scheduled events are
deferred until no decision is pending or `SchedulerOptions.event_delay` has elapsed, so that bindings take priority. The
scheduler creates, starts and stops its `BindingQueue`.

Source: kube-scheduler binding cycle (v1.36); rules DRA-250 to DRA-253, KAI-026, KAI-027.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from dra_api.client import ApiError, KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.objects import PODS, Obj, key_of, name_of, namespace_of, uid_of
from dra_api.transport import TransportError
from reference_impl import binding_conditions
from reference_impl.loop import Loop
from reference_impl.recorder import EventRecorder
from reference_impl.scheduler import pod_condition
from reference_impl.scheduler.cluster_view import ClusterView, PodKey
from reference_impl.scheduler.cycle import Decision
from reference_impl.scheduler.options import SchedulerOptions
from reference_impl.scheduler.publish import DirectPublisher, Publisher, PublishError, may_be_carried_out

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Condition:
    """A PodScheduled condition to be written."""

    pod: Obj
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Scheduled:
    """A Scheduled event that is not recorded yet."""

    pod: Obj
    node: str
    at: datetime


class _Unstarted:
    """The publisher before `start`: it refuses every decision."""

    def publish(self, decision: Decision) -> None:
        raise PublishError("the scheduler has not been started")

    def forget(self, pod: Obj) -> None:
        """Do nothing."""


class Pods(Protocol):
    """The state of waiting pods in the scheduler."""

    def is_ours(self, pod: Obj) -> bool:
        """Return whether a pod still waits for this scheduler."""
        ...

    def backoff(self, pod: PodKey) -> float:
        """Return seconds until a pod is tried again."""
        ...

    def count_failure(self, key: PodKey) -> None:
        """Count one more failure of a pod."""
        ...

    def look_again(self, key: PodKey) -> None:
        """Queue a pod at once."""
        ...

    def retry_later(self, key: PodKey, pod: Obj) -> None:
        """Decide about a pod anew after its back-off."""
        ...


class BindingQueue:
    """Decisions that are not carried out yet."""

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        options: SchedulerOptions,
        view: ClusterView,
        recorder: EventRecorder,
        pods: Pods,
    ) -> None:
        """Prepare; nothing is written before `start`."""
        self.publisher: Publisher = _Unstarted()
        self._client = client
        self._clock = clock
        self._options = options
        self._view = view
        self._recorder = recorder
        self._pods = pods
        self._writers: Loop[PodKey] = Loop(
            "scheduler-writer", self._write, informers=(), clock=clock, workers=options.writers
        )
        self._lock = threading.Lock()
        self._decisions: dict[PodKey, Decision | _Condition] = {}
        # Decisions with reserved claims that wait for binding conditions.
        self._getting_ready: dict[PodKey, Decision] = {}
        self._reported: dict[str, tuple[str, str]] = {}
        self._scheduled_events: dict[PodKey, _Scheduled] = {}

    def start(self, publisher: Publisher) -> None:
        """Begin to write, through `publisher`."""
        self.publisher = publisher
        self._writers.start()

    def stop(self) -> None:
        """End the threads after finishing current writes, and record deferred events. Idempotent."""
        self._writers.stop()
        for key in [*self._scheduled_events]:
            self._record_scheduled(key)

    # -- calls of the scheduler ------------------------------------------------------------------------------------

    def enqueue(self, key: PodKey, decision: Decision) -> None:
        """Add a decision."""
        with self._lock:
            self._decisions[key] = decision
        self._writers.queue.add(key)

    def claim_changed(self, claim: tuple[str, str]) -> None:
        """Look again at decisions that wait for devices of a claim."""
        with self._lock:
            for pod, decision in self._getting_ready.items():
                if decision.extended or any(key_of(entry.claim) == claim for entry, _ in decision.entries):
                    self._writers.queue.add(pod)

    def drop(self, key: PodKey, pod: Obj | None) -> None:
        """Forget a pod that this scheduler no longer handles; None is a pod that is gone."""
        with self._lock:
            self._getting_ready.pop(key, None)
            dropped = self._decisions.pop(key, None)
        if dropped is not None:
            self.publisher.forget(dropped.pod)
        if pod is not None:
            self._reported.pop(uid_of(pod), None)

    def report(self, pod: Obj, reason: str, message: str) -> None:
        """Write condition and event, unless they are unchanged."""
        uid = uid_of(pod)
        if self._reported.get(uid) == (reason, message):
            return
        self._reported[uid] = (reason, message)
        self._recorder.event(pod, "Warning", "FailedScheduling", message)
        with self._lock:
            # A decision that was made meanwhile is newer than the reason why there was none.
            if not isinstance(self._decisions.get(key_of(pod)), Decision):
                self._decisions[key_of(pod)] = _Condition(pod, reason, message)
        self._writers.queue.add(key_of(pod))

    # -- writing ---------------------------------------------------------------------------------------------------

    def _write(self, key: PodKey) -> None:
        # The key may be here only because its deferred event is due (`add_idle` in `_bound`).
        self._record_scheduled(key)
        with self._lock:
            work = self._decisions.pop(key, None)
        if isinstance(work, Decision):
            self._publish(key, work)
        elif work is None:
            self._look_at_conditions(key)
        else:
            try:
                self.write_condition(work.pod, work.reason, work.message)
            except (ApiError, TransportError, OSError):
                with self._lock:
                    # A decision that was enqueued meanwhile is newer than this condition and stays.
                    self._decisions.setdefault(key, work)
                raise

    def _publish(self, key: PodKey, decision: Decision) -> None:
        publisher = self.publisher
        # With BindRequests, the binder waits for the devices.
        must_wait = isinstance(publisher, DirectPublisher) and decision.has_binding_conditions
        try:
            if isinstance(publisher, DirectPublisher) and must_wait:
                publisher.reserve(decision)
            else:
                publisher.publish(decision)
        except Exception as error:  # after any error, the decision must not stay assumed
            self._rejected(key, decision, error)
            return
        if must_wait:
            self._wait_for_devices(key, decision)
        else:
            self._bound(key, decision)

    def _rejected(self, key: PodKey, decision: Decision, error: Exception) -> None:
        """Handle a decision that could not be written, or whose result is unknown."""
        if not (may_be_carried_out(error) and self._publish_again(key, decision)):
            self.publisher.forget(decision.pod)
            self._view.settle(key)
            self._pods.retry_later(key, decision.pod)
        # Any other exception is a bug: the pod is released first, so that only this attempt is lost.
        if not isinstance(error, (ApiError, TransportError, PublishError, OSError)):
            raise error
        log.info("pod %s/%s: %s", *key, error)
        message = f"binding rejected: {error}"
        self._recorder.event(decision.pod, "Warning", "FailedBinding", message)
        self.write_condition(decision.pod, "BindingError", message)

    def _wait_for_devices(self, key: PodKey, decision: Decision) -> None:
        """Bind only when all binding conditions are met; no thread waits for it (DRA-250, DRA-253)."""
        message = f"waiting for binding conditions for device on node {decision.node}"
        self._recorder.event(decision.pod, "Normal", "BindingConditionsPending", message)
        with self._lock:
            self._getting_ready[key] = decision
        self._look_at_conditions(key)

    def _look_at_conditions(self, key: PodKey) -> None:
        """Bind a pod whose devices are ready; release it if they failed; otherwise check again later."""
        publisher = self.publisher
        with self._lock:
            decision = self._getting_ready.get(key)
        if decision is None or not isinstance(publisher, DirectPublisher):
            return
        used = publisher.claims_of(decision)
        with self._view.lock:
            # A claim that the watch has not delivered yet is judged by the copy from its reservation.
            claims = [self._view.claims.get(key_of(claim), claim) for claim in used]
        progress = binding_conditions.progress(claims, self._clock.now(), self._options.ready_within)
        if progress.waits:
            self._writers.queue.add_after(key, progress.seconds)
            return
        with self._lock:
            self._getting_ready.pop(key, None)
        if progress.lost:
            publisher.give_back(decision)
            self._view.settle(key)
            self._pods.retry_later(key, decision.pod)
            self.report(decision.pod, "SchedulerError", f'running PreBind plugin "DynamicResources": {progress.lost}')
            return
        try:
            publisher.bind(decision)
        except Exception as error:  # as in _publish
            self._rejected(key, decision, error)
            return
        self._bound(key, decision)

    def _bound(self, key: PodKey, decision: Decision) -> None:
        """Handle a written decision."""
        self._reported.pop(uid_of(decision.pod), None)
        if self._options.publish == "bind-request":
            # The BindRequest is in the view and holds place and devices from here on. A direct binding stays assumed
            # until the pod is seen bound.
            self._view.settle(key)
            # A binder may have failed it before our own write returned: the pod still had a decision in flight then.
            self._pods.look_again(key)
        with self._lock:
            self._scheduled_events[key] = _Scheduled(decision.pod, decision.node, self._clock.now())
        self._writers.queue.add_idle(key, within=self._options.event_delay)

    def _record_scheduled(self, key: PodKey) -> None:
        """Record the deferred Scheduled event of a pod, if there is one."""
        with self._lock:
            news = self._scheduled_events.pop(key, None)
        if news is None:
            return
        message = f"Successfully assigned {key[0]}/{key[1]} to {news.node}"
        self._recorder.event(news.pod, "Normal", "Scheduled", message, at=news.at)

    def _publish_again(self, key: PodKey, decision: Decision) -> bool:
        """Try the same decision again after the back-off: it may have been carried out, so its devices are not free.

        False if the pod needs it no more.
        """
        with self._view.lock:
            pod = self._view.pods.get(key)
            if pod is None or uid_of(pod) != uid_of(decision.pod) or not self._pods.is_ours(pod):
                return False
        with self._lock:
            self._decisions[key] = decision
        self._pods.count_failure(key)
        self._writers.queue.add_after(key, self._pods.backoff(key))
        return True

    def write_condition(self, pod: Obj, reason: str, message: str) -> None:
        """Set PodScheduled=False on the pod; a pod that is gone needs none."""
        patch = pod_condition.unscheduled(pod, reason, message, self._clock.now())
        try:
            self._client.patch(PODS, name_of(pod), patch, namespace_of(pod), kind="strategic", subresource="status")
        except NotFound:
            return
