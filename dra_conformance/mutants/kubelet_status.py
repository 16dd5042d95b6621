"""Mutants of the status and the events that the emulated kubelet writes."""

from __future__ import annotations

from typing import Any

from dra_api.client import ApiError
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.kubelet import PODS, nothing

WRITER = "dra_conformance.kubelet.pod_writer:PodWriter"
STATUS = "dra_conformance.kubelet.pod_status"


@mutant("waiting-pod-without-status", rule="DRA-265b")
def _(patch: Patch) -> None:
    """The status of a pod whose containers do not start is not written."""

    def make(original: Any) -> Any:
        def write(self: Any, pod: Any, written: Any, status: Any) -> None:
            if status["phase"] != "Pending":
                original(self, pod, written, status)

        return write

    patch.wrap(f"{WRITER}.write", make)


@mutant("waiting-pod-ready", rule="DRA-265b")
def _(patch: Patch) -> None:
    """All conditions of a pod are True as soon as the kubelet handles it."""

    def make(original: Any) -> Any:
        def conditions(pod: Any, now: str, wanted: Any) -> Any:
            return original(pod, now, dict.fromkeys(wanted, (True, "", "")))

        return conditions

    patch.wrap(f"{STATUS}:_conditions", make)


@mutant("failed-prepare-without-event", rule="DRA-265c")
def _(patch: Patch) -> None:
    """The kubelet writes no event."""
    patch.replace(f"{WRITER}.record_event", nothing)


@mutant("event-for-every-failed-attempt", rule="DRA-265d")
def _(patch: Patch) -> None:
    """Each attempt to prepare claims that fails has an event of its own."""

    def make(original: Any) -> Any:
        def record(self: Any, pod: Any, written: Any, reason: str, message: str) -> None:
            written.event = ""
            original(self, pod, written, reason, message)

        return record

    patch.wrap(f"{WRITER}.record_event", make)


@mutant("refused-status-not-written-again", rule="DRA-840")
def _(patch: Patch) -> None:
    """A status counts as written before the API server has accepted it."""

    def make(original: Any) -> Any:
        def write(self: Any, pod: Any, written: Any, status: Any) -> None:
            try:
                original(self, pod, written, status)
            except ApiError:
                written.status = status
                raise

        return write

    patch.wrap(f"{WRITER}.write", make)


@mutant("one-event-for-a-pod", rule="DRA-265c")
def _(patch: Patch) -> None:
    """After the first event of a pod, other failures have none."""

    def make(original: Any) -> Any:
        def record(self: Any, pod: Any, written: Any, reason: str, message: str) -> None:
            if not written.event:
                original(self, pod, written, reason, message)

        return record

    patch.wrap(f"{WRITER}.record_event", make)


@mutant("ended-pod-without-container-states", rule="DRA-275b")
def _(patch: Patch) -> None:
    """The status of a pod that ended does not say how its containers ended."""

    def make(original: Any) -> Any:
        return lambda pod, **options: original(pod, **{**options, "started_at": ""})

    patch.wrap(f"{STATUS}:ended", make)


@mutant("every-pod-succeeds", rule="DRA-275b")
def _(patch: Patch) -> None:
    """A pod whose containers failed is Succeeded."""

    def make(original: Any) -> Any:
        return lambda self, pod, state, phase: original(self, pod, state, "Succeeded")

    patch.wrap(f"{PODS}._end", make)


@mutant("node-without-addresses", rule="DRA-285b")
def _(patch: Patch) -> None:
    """The node has no addresses and no capacity."""

    def make(original: Any) -> Any:
        def patched(self: Any, resource: Any, name: str, patch: Any, *args: Any, **options: Any) -> Any:
            status = {key: value for key, value in patch["status"].items() if key == "conditions"}
            change = {**patch, "status": status} if resource.plural == "nodes" else patch
            return original(self, resource, name, change, *args, **options)

        return patched

    patch.wrap("dra_conformance.kubelet.kubelet:KubeClient.patch", make)
