"""Tests of what a failed check says about a pod that does not run, and about the events of a pod."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dra_api.objects import EVENTS, PODS
from dra_conformance.steps.pods import described_events, phase_with_reason

ABOUT = {"kind": "Pod", "name": "train", "uid": "1"}
TIMES = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"}
FAILED = {
    "type": "Warning",
    "reason": "FailedPrepareDynamicResources",
    "message": "no device gpu-7",
    "involvedObject": ABOUT,
    "source": {"component": "kubelet"},
    **TIMES,
}
NORMAL = {**FAILED, "type": "Normal", "reason": "Scheduled", "message": "to n1"}


def world(status: dict[str, Any] | None, *events: dict[str, Any]) -> Any:
    pod = None if status is None else {"metadata": {"name": "train", "uid": "1"}, "status": status}
    return SimpleNamespace(
        seen=lambda resource, name: pod if (resource, name) == (PODS, "train") else None,
        all_seen=lambda resource: list(events) if resource is EVENTS else [],
    )


WAITING = {"state": {"waiting": {"reason": "ContainerCreating"}}}
ENDED = {"state": {"terminated": {"reason": "Error", "message": "no CUDA", "exitCode": 1}}}


@pytest.mark.parametrize(
    ("status", "events", "text"),
    [
        (None, [], "no pod"),
        ({}, [], "no phase"),
        ({"phase": "Running", "containerStatuses": [WAITING]}, [FAILED], "Running"),
        ({"phase": "Pending"}, [NORMAL], "Pending"),
        (
            {"phase": "Pending", "containerStatuses": [WAITING]},
            [NORMAL, FAILED, FAILED],
            "Pending (ContainerCreating; FailedPrepareDynamicResources: no device gpu-7)",
        ),
        ({"phase": "Failed", "containerStatuses": [ENDED, ENDED]}, [], "Failed (Error: no CUDA)"),
        (
            {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no memory"},
            [],
            "Failed (UnexpectedAdmissionError: no memory)",
        ),
    ],
)
def test_a_pod_that_does_not_run_quotes_its_kubelet(status: Any, events: list[dict[str, Any]], text: str) -> None:
    assert phase_with_reason(world(status, *events), "train") == text


def test_events_are_text_with_what_is_wrong_with_them() -> None:
    other = {**FAILED, "involvedObject": {**ABOUT, "uid": "2"}}
    there = world({"phase": "Pending"}, FAILED, other)
    assert described_events(there, "train", []) == "no event"
    assert described_events(there, "train", [FAILED, FAILED, other]) == (
        "Warning FailedPrepareDynamicResources: no device gpu-7; "
        "Warning FailedPrepareDynamicResources: no device gpu-7 (it is about uid '2', the pod has '1')"
    )
