"""Reports of an attempt: condition and event of the pod, phase of the BindRequest.

Condition and event inform users, so a failure to write them is logged. Other components act on the phase, so a failure
to write it is raised.

Source: KAI-Scheduler 0.17 pkg/binder/controllers/bindrequest_controller.go; rules KAI-103, KAI-170 to KAI-182.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from dra_api.client import ApiError, KubeClient
from dra_api.objects import BIND_REQUESTS, Obj, meta, name_of, namespace_of
from dra_api.transport import TransportError
from reference_impl.binder.checks import spec_of
from reference_impl.binder.pods import PodWriter
from reference_impl.recorder import EventRecorder

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt. `node` is the node of the bound pod; `reason` is the failure.

    `attempts` is the new `failedAttempts`, `final` means that no retry follows. `unreported` is the bound pod whose
    condition and event are not written yet. `tried` is the fingerprint of the BindRequest that was tried.
    """

    node: str = ""
    reason: str = ""
    attempts: int = 0
    final: bool = False
    unreported: Obj | None = None
    tried: bytes = b""

    @property
    def bound(self) -> bool:
        """Return whether the pod is bound."""
        return not self.reason


class Reporter:
    """Writes the outcome of attempts."""

    def __init__(self, client: KubeClient, *, pods: PodWriter, recorder: EventRecorder) -> None:
        self._client = client
        self._pods = pods
        self._recorder = recorder

    def report_success(self, pod: Obj, node: str) -> None:
        """Write the event Bound and the condition PodBound=True (KAI-103)."""
        message = f"Pod bound successfully to node {node}"
        self._recorder.event(pod, "Normal", "Bound", message)
        self._set_condition(pod, status="True", reason="Bound", message=message)

    def report_failure(self, request: Obj, pod: Obj | None, reason: str) -> None:
        """Write the event BindingError and the condition PodBound=False (KAI-170)."""
        name, node = str(spec_of(request).get("podName") or ""), spec_of(request).get("selectedNode") or ""
        message = f"Failed to bind pod {namespace_of(request)}/{name} to node {node}: {reason}"
        # The event names the pod even if it does not exist: the BindRequest is all that users can see then.
        subject = pod or {"metadata": {"name": name or name_of(request), "namespace": namespace_of(request)}}
        self._recorder.event(subject, "Warning", "BindingError", message)
        if pod is not None:
            self._set_condition(pod, status="False", reason="BindingError", message=message)

    def record(self, request: Obj, outcome: Outcome) -> None:
        """Write phase, reason and attempts. Raises API errors, after which the outcome is written again later."""
        patch = {
            # Without it the patch could land on a new BindRequest of the same name.
            "metadata": {"resourceVersion": meta(request)["resourceVersion"]},
            "status": self.new_status(request, outcome),
        }
        self._client.patch(BIND_REQUESTS, name_of(request), patch, namespace_of(request), subresource="status")

    def new_status(self, request: Obj, outcome: Outcome) -> Obj:
        """Return the status patch of an outcome (null removes a field)."""
        if outcome.bound:
            held = (request.get("status") or {}).get("reason")
            return {"phase": "Succeeded", **({"reason": None} if held else {})}
        return {"phase": "Failed", "reason": outcome.reason, "failedAttempts": outcome.attempts}

    def _set_condition(self, pod: Obj, *, status: str, reason: str, message: str) -> None:
        try:
            self._pods.set_bound_condition(pod, status=status, reason=reason, message=message)
        except (ApiError, TransportError, OSError) as error:
            log.info("pod %s/%s: condition PodBound: %s", namespace_of(pod), name_of(pod), error)
