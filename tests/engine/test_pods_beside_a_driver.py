"""Where pods of a scenario may run on a cluster that has other nodes, and beside a driver of the user."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dra_api.objects import Obj
from dra_conformance.core.labels import SCENARIO_LABEL
from dra_conformance.engine.world import World
from dra_conformance.steps.placement import PluginResources
from dra_conformance.steps.pods import BY_HAND, placed, pod_object

GPU = "nvidia.com/gpu"
OWN = {"nodeSelector": {SCENARIO_LABEL: "ab12-1"}}


def world(*, driver: bool = True, cluster: bool = True, offered_on: str = "n1") -> World:
    states: dict[type, Any] = {}
    found = cast(
        World,
        SimpleNamespace(
            suffix="ab12-1",
            namespace="dra-ab12-1",
            state=lambda kind: states.setdefault(kind, kind()),
            run=SimpleNamespace(
                on_existing_cluster=cluster,
                external_driver=SimpleNamespace(node="worker") if driver else None,
                options=SimpleNamespace(pod_labels={}, pod_annotations={}),
            ),
        ),
    )
    found.state(PluginResources).nodes[GPU] = {offered_on}
    return found


def where(
    of: World, *names: str, annotations: Obj | None = None, scheduler: str = "", spec: Obj | None = None
) -> dict[str, Any]:
    """Return what restricts a pod that requests one of each resource."""
    requested = dict.fromkeys(names, "1")
    container = {"name": "main", "resources": {"requests": requested, "limits": requested}}
    pod = pod_object(of, "pod", [], scheduler=scheduler, containers=[container])
    pod["metadata"]["annotations"] = annotations or {}
    pod["spec"].update(spec or {})
    found = placed(of, pod)["spec"]
    return {key: found[key] for key in ("affinity", "nodeSelector") if key in found}


def beside(node: str) -> Obj:
    own = {"matchExpressions": [{"key": SCENARIO_LABEL, "operator": "In", "values": ["ab12-1"]}]}
    its = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"nodeSelectorTerms": [its, own]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def test_a_pod_for_a_plugin_of_the_scenario_stays_on_its_nodes() -> None:
    assert where(world(), GPU) == OWN


def test_a_pod_for_a_plugin_on_the_node_of_the_driver_may_use_it() -> None:
    assert where(world(offered_on="worker"), GPU) == beside("worker")


@pytest.mark.parametrize("share", [{"gpu-fraction": "0.5"}, {"gpu-memory": "10000"}])
def test_a_pod_that_shares_gpus_stays_on_nodes_of_the_scenario(share: Obj) -> None:
    assert where(world(), annotations=share) == OWN


@pytest.mark.parametrize("name", ["cpu", "example.com/other"])
def test_a_pod_for_anything_else_may_use_the_node_of_the_driver(name: str) -> None:
    assert where(world(), name) == beside("worker")


def test_an_affinity_of_the_scenario_stays() -> None:
    assert where(world(), "cpu", spec=beside("n1")) == beside("n1")


def test_a_node_selector_of_the_scenario_stays() -> None:
    found = where(world(driver=False), "cpu", spec={"nodeSelector": {"disk": "ssd"}})
    assert found == {"nodeSelector": {"disk": "ssd", **OWN["nodeSelector"]}}


def test_pods_on_a_cluster_without_a_driver_of_the_user_stay_on_nodes_of_the_scenario() -> None:
    assert where(world(driver=False), "cpu") == OWN


def test_pods_on_a_control_plane_of_the_run_may_use_all_nodes() -> None:
    assert where(world(driver=False, cluster=False), GPU, annotations={"gpu-fraction": "0.5"}) == {}


def test_pods_that_are_bound_by_hand_stay_as_they_are() -> None:
    assert where(world(), GPU, scheduler=BY_HAND) == {}
