"""Binding conditions and extended resources: the pure functions of the scheduler behind them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reference_impl import binding_conditions
from reference_impl.scheduler import extended_resources
from reference_impl.scheduler.allocator.model import DeviceClass, Features
from reference_impl.scheduler.options import features_of

MADE = datetime(2026, 1, 1, tzinfo=UTC)


def claim(*conditions: tuple[str, str], devices: int = 1) -> dict[str, Any]:
    where = [{"driver": "d", "pool": "p", "device": f"d{at}"} for at in range(devices)]
    results = [{**one, "bindingConditions": ["a", "b"], "bindingFailureConditions": ["f"]} for one in where]
    told = [{"type": kind, "status": status, "reason": "R", "message": "m"} for kind, status in conditions]
    return {
        "metadata": {"name": "c", "namespace": "n"},
        "status": {
            "allocation": {"devices": {"results": results}, "allocationTimestamp": "2026-01-01T00:00:00Z"},
            "devices": [{**where[-1], "conditions": told}],
        },
    }


def test_all_conditions_of_all_devices_count() -> None:
    assert not binding_conditions.is_ready(claim(("a", "True")))
    assert not binding_conditions.is_ready(claim(("a", "True"), ("b", "False")))
    assert binding_conditions.is_ready(claim(("a", "True"), ("b", "True")))
    assert not binding_conditions.is_ready(claim(("a", "True"), ("b", "True"), devices=2))


def test_a_failure_of_any_device_is_seen_although_another_has_said_nothing() -> None:
    told = binding_conditions.failure(claim(("f", "True"), devices=2))
    assert told == 'device binding failed: claim=c, reason=R, message="m"'
    assert binding_conditions.failure(claim(("f", "False"))) == ""


@pytest.mark.parametrize(("seconds", "lost"), [(599, False), (601, True)])
def test_the_time_counts_from_the_allocation(seconds: int, lost: bool) -> None:
    progress = binding_conditions.progress([claim()], MADE + timedelta(seconds=seconds), 600)
    assert bool(progress.lost) == lost
    assert progress.waits != lost


def test_a_claim_that_lost_its_allocation_is_not_waited_for() -> None:
    gone = {"metadata": {"name": "c"}, "status": {}}
    assert "deallocated" in binding_conditions.progress([gone], MADE, 600).lost


def test_shares_of_one_device_are_distinguished() -> None:
    mine = claim(("a", "True"), ("b", "True"))
    mine["status"]["allocation"]["devices"]["results"][0]["shareID"] = "x"
    assert not binding_conditions.is_ready(mine)
    mine["status"]["devices"][0]["shareID"] = "x"
    assert binding_conditions.is_ready(mine)


def device_class(name: str, resource: str = "", created: str = "2026") -> DeviceClass:
    return DeviceClass(name, (), (), resource, created)


def test_the_class_of_an_extended_resource() -> None:
    class_of = extended_resources.resolver(
        [device_class("b", "x/gpu"), device_class("a", "x/gpu"), device_class("c", "x/gpu", "2025"), device_class("d")]
    )
    assert class_of("x/gpu") == "a"
    assert class_of("deviceclass.resource.kubernetes.io/d") == "d"
    assert class_of("x/other") is None


def container(name: str, count: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": "1", "x/gpu": str(count)}}, **more}


def requests_of(pod: dict[str, Any]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    found = extended_resources.wanted({"metadata": {"name": "p"}, "spec": pod}, {"x/gpu": "gpu"}, ["x/gpu"])
    return (
        {one["name"]: one["exactly"]["count"] for one in found.requests},
        [(one["containerName"], one["requestName"]) for one in found.mappings],
    )


def test_each_container_has_a_request_named_by_place_and_order() -> None:
    requests, mappings = requests_of({"containers": [container("a", 2), container("b", 1)]})
    assert requests == {"container-0-request-1": 2, "container-1-request-1": 1}
    assert mappings == [("a", "container-0-request-1"), ("b", "container-1-request-1")]


def test_init_containers_borrow_and_share_what_is_missing() -> None:
    init = [container("i", 2), container("j", 4), container("side", 1, restartPolicy="Always")]
    requests, mappings = requests_of({"initContainers": init, "containers": [container("a", 1)]})
    assert requests == {"container-1-request-1": 2, "container-2-request-1": 1, "container-3-request-1": 1}
    assert ("i", "container-2-request-1") in mappings
    assert ("i", "container-3-request-1") in mappings
    assert ("j", "container-1-request-1") in mappings
    assert ("i", "container-1-request-1") not in mappings


def test_a_sidecar_before_an_init_container_is_not_borrowed_from() -> None:
    init = [container("side", 1, restartPolicy="Always"), container("i", 1)]
    requests, _ = requests_of({"initContainers": init, "containers": [{"name": "a"}]})
    assert requests == {"container-0-request-1": 1, "container-1-request-1": 1}


def test_gates_turn_features_off() -> None:
    assert features_of({}) == Features()
    assert features_of({"DRAAdminAccess": True, "SomethingElse": False}) == Features()
    assert not features_of({"DRAResourceClaimDeviceStatus": False}).binding_conditions
    assert not features_of({"DRAExtendedResource": False}).extended_resources
