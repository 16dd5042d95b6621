"""The kubelet's device manager and topology manager against the harness's kubelet: the cases, and what differs.

Upstream's answers are compared if `dra-device-manager` is built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from dra_conformance.kubelet.topology import Topology
from verification.differential import devices
from verification.differential.rng import Dice
from verification.differential.upstream import Upstream

SEED = "20261128"


@pytest.fixture(name="program", scope="module")
def program_fixture() -> Iterator[Upstream]:
    if not devices.PROGRAM.exists():
        pytest.skip("dra-device-manager is not built (make third-party-all)")
    with Upstream(devices.PROGRAM) as program:
        yield program


def test_a_seed_has_one_case() -> None:
    assert devices.case(Dice("a")) == devices.case(Dice("a")) != devices.case(Dice("b"))


def test_the_cases_reach_every_outcome() -> None:
    found: Counter[str] = Counter()
    for number in range(60):
        answer = devices.play(devices.case(Dice(f"{SEED}/{number}")))
        found[answer["outcome"]] += 1
        found.update(one["reason"] for one in answer["pods"])
    assert {"refused", "admitted", "", "TopologyAffinityError", "UnexpectedAdmissionError"} == found.keys()


def test_devices_of_a_case() -> None:
    limits = {"limits": {"example.com/gpu": "1"}}
    pod = {
        "metadata": {"name": "a", "namespace": "default", "uid": "a"},
        "spec": {"initContainers": [], "containers": [{"name": "main", "resources": limits}]},
    }
    listed = [{"id": f"gpu-{node}", "health": "Healthy", "nodes": [node]} for node in (1, 0)]
    question = {
        "policy": "restricted",
        "scope": "pod",
        "options": {},
        "numa": [{"id": node, "distances": [10, 10]} for node in (0, 1)],
        "plugins": {"example.com/gpu": listed},
        "pods": [{"pod": pod, "ended": []}],
    }
    (found,) = devices.play(question)["pods"]
    assert found == {
        "admitted": True,
        "reason": "",
        "nodes": {"main": [0]},
        "devices": {"main": {"example.com/gpu": ["gpu-0"]}},
    }
    assert devices.play({**question, "options": {"max-allowable-numa-nodes": "7"}})["outcome"] == "refused"


def test_the_harness_does_what_the_kubelet_does(program: Upstream) -> None:
    result = devices.compare(program, range(100), SEED)
    assert [str(one) for one in result.differences] == []
    assert result.outcomes["admitted"] > 50


def test_a_difference_is_found(program: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Topology, "closest", property(lambda self: False))
    assert devices.compare(program, range(100), SEED).differences
