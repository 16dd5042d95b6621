"""Tests of the kubelet's comparison of a pod's requests with its node."""

from __future__ import annotations

from typing import Any

import pytest

from dra_conformance.kubelet import node_fit
from dra_conformance.kubelet.errors import AdmissionRefused


def test_a_pod_has_the_amounts_of_all_containers_that_run_at_one_time() -> None:
    spec = {
        "initContainers": [
            {"name": "first"},
            {"name": "side", "restartPolicy": "Always"},
            {"name": "last"},
        ],
        "containers": [{"name": "one"}, {"name": "two"}],
    }
    assert node_fit.pod_total(spec, {"first": 5, "side": 1, "last": 3, "one": 1, "two": 1}) == 5
    assert node_fit.pod_total(spec, {"first": 3, "side": 1, "last": 3, "one": 1, "two": 1}) == 4
    assert node_fit.pod_total(spec, {"side": 2, "one": 1}) == 3
    assert node_fit.pod_total({"containers": []}, {}) == 0


def pod(*requests: dict[str, Any]) -> dict[str, Any]:
    containers = [{"name": f"c{number}", "resources": {"requests": one}} for number, one in enumerate(requests)]
    return {"spec": {"containers": [*containers, {"name": "none"}]}}


def test_requests_of_containers_are_added_up() -> None:
    assert node_fit.needs(pod({"cpu": "500m"}, {"cpu": 2, "memory": "1Ki"})) == {"cpu": 2500, "memory": 1024}
    assert node_fit.needs(pod({"example.com/gpu": 1})) == {}


def test_the_overhead_of_a_pod_is_on_top() -> None:
    one = pod({"cpu": 1})
    one["spec"]["overhead"] = {"cpu": "250m", "memory": "1Mi"}
    assert node_fit.needs(one) == {"cpu": 1250, "memory": 1 << 20}


def test_a_pod_has_room_until_the_node_is_full() -> None:
    allocatable = {"cpu": "2"}
    node_fit.check(pod({"cpu": "1500m"}), others=[pod({"cpu": "500m"}), pod()], allocatable=allocatable)
    with pytest.raises(AdmissionRefused, match="cpu, requested: 1501, used: 500, capacity: 2000") as refused:
        node_fit.check(pod({"cpu": "1501m"}), others=[pod({"cpu": "500m"})], allocatable=allocatable)
    assert refused.value.reason == "OutOfcpu"
    with pytest.raises(AdmissionRefused, match="memory"):
        node_fit.check(pod({"memory": 1}), others=[], allocatable=allocatable)
