"""Where pods of a scenario may run if a driver of the user runs on another node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dra_api.objects import Obj
from dra_conformance.core.labels import SCENARIO_LABEL
from dra_conformance.engine.world import World
from dra_conformance.steps.pods import BY_HAND, PluginResources, keep_beside_plugins, pod_object


def world(*, driver: bool = True) -> World:
    states: dict[type, Any] = {}
    return cast(
        World,
        SimpleNamespace(
            suffix="ab12-1",
            namespace="dra-ab12-1",
            state=lambda kind: states.setdefault(kind, kind()),
            run=SimpleNamespace(
                on_existing_cluster=True,
                external_driver=SimpleNamespace(node="worker") if driver else None,
                options=SimpleNamespace(scheduler_labels={}, scheduler_annotations={}, scheduler_name="", queue=""),
            ),
        ),
    )


def pod(of: World, requested: dict[str, str]) -> Obj:
    container = {"name": "main", "resources": {"requests": requested, "limits": requested}}
    return pod_object(of, "pod", [], scheduler=BY_HAND, containers=[container])


OWN = {SCENARIO_LABEL: "ab12-1"}


def made(of: World, name: str, *, where: Obj) -> Obj:
    of.state(PluginResources).names.add("nvidia.com/gpu")
    found = pod(of, {name: "1"})
    found["spec"].update(where)
    keep_beside_plugins(of, found)
    return {key: found["spec"][key] for key in ("affinity", "nodeSelector") if key in found["spec"]}


def beside(node: str) -> Obj:
    own = {"matchExpressions": [{"key": SCENARIO_LABEL, "operator": "In", "values": ["ab12-1"]}]}
    its = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"nodeSelectorTerms": [its, own]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def test_a_pod_for_a_plugin_of_the_scenario_stays_on_its_nodes() -> None:
    assert made(world(), "nvidia.com/gpu", where=beside("worker")) == {"nodeSelector": OWN}


@pytest.mark.parametrize("name", ["cpu", "example.com/other"])
def test_a_pod_for_anything_else_may_use_the_node_of_the_driver(name: str) -> None:
    assert made(world(), name, where=beside("worker")) == beside("worker")


def test_an_affinity_of_the_scenario_stays() -> None:
    assert made(world(), "nvidia.com/gpu", where=beside("n1")) == beside("n1")


def test_without_a_driver_of_the_user_nothing_changes() -> None:
    assert made(world(driver=False), "nvidia.com/gpu", where={"nodeSelector": OWN}) == {"nodeSelector": OWN}
