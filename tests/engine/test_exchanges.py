"""Tests of the parts of the system that the picture of a failure shows, from the events of a scenario."""

from __future__ import annotations

import msgspec
import pytest
from invented_runs import InventedRun

from dra_conformance.core.events import (
    ApiWrite,
    ComponentChanged,
    DriverChanged,
    Event,
    KubeletCall,
    KubeletProblem,
    ScenarioFinished,
)
from dra_conformance.report import build
from dra_conformance.report.html import render


def write(agent: str, status: int = 200) -> ApiWrite:
    return ApiWrite(agent=agent, method="PATCH", path="/api/v1/namespaces/ns/pods/p/status", status=status)


CALL = KubeletCall(
    driver="d",
    endpoint="/s",
    service="v1.DRAPlugin",
    method="NodePrepareResources",
    request={},
    response={},
    code="OK",
    seconds=0.1,
    node="n1",
)


@pytest.mark.parametrize(
    ("event", "source", "target", "failed"),
    [
        (write("dra-conformance"), "test", "API server", False),
        (write("scheduler"), "controllers", "API server", False),
        (write("claim-controller", 409), "controllers", "API server", True),
        (write("reference-binder"), "controllers", "API server", False),
        (write("kubelet"), "kubelet", "API server", False),
        (write("compute-domain-plugin"), "driver", "API server", False),
        (write("webhook"), "webhook", "API server", False),
        (CALL, "kubelet", "driver", False),
        (msgspec.structs.replace(CALL, code="UNAVAILABLE"), "kubelet", "driver", True),
        (KubeletProblem(node="n1", message="no"), "kubelet", "kubelet", True),
        (DriverChanged(driver="d", node="n1", action="restart"), "test", "driver", False),
        (
            ComponentChanged(component="scheduler", implementation="exec", action="ended", exit_code=2),
            "test",
            "controllers",
            True,
        ),
    ],
)
def test_an_event_is_a_message_between_two_parts(event: Event, source: str, target: str, failed: bool) -> None:
    events: list[Event] = []
    for each in InventedRun().scenario("bad", status="failed").events():
        if isinstance(each, ScenarioFinished):
            events.append(msgspec.structs.replace(event, scenario=each.scenario, time=each.time))
        events.append(each)
    report = build(events)
    last = report.scenarios[0].exchanges[-1]
    assert (last.source, last.target, last.failed) == (source, target, failed)
    page = render(report)
    assert all(f">{part}</text>" in page for part in {"test", "API server", "kubelet", "driver", source, target})
