"""What queues allow, without an API server: rules KAI-059, KAI-060, KAI-300 to KAI-311."""

from __future__ import annotations

import pytest

from dra_api.informer import Change
from dra_api.objects import Obj
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.cluster_view import ClusterView
from reference_impl.scheduler.gangs import ANNOTATION, group_of
from reference_impl.scheduler.queues import DEFAULT_QUEUE, Queues

NONE = {"quota": 0, "limit": -1}


def pod(name: str, group: str = "train", *, claim: str = "", gpu_fraction: str = "", **requests: str) -> Obj:
    annotations = {ANNOTATION: group} if group else {}
    if gpu_fraction:
        annotations["gpu-fraction"] = gpu_fraction
    named = {key.replace("gpus", "nvidia.com/gpu"): value for key, value in requests.items()}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": name, "annotations": annotations},
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": named}}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}] if claim else [],
        },
    }


class Lab:
    """A view with pods, and the queues."""

    def __init__(self, *, counts_claims: bool = False) -> None:
        self.view = ClusterView(features=Features(), seed=None, listener=lambda what, key: None)
        self.queues = Queues(self.view, group_of=group_of, counts_claims=counts_claims)
        self.queue("top")

    def queue(self, name: str, parent: str = "", **resources: dict[str, float]) -> None:
        spec = {"parentQueue": parent, "resources": {"cpu": NONE, "gpu": NONE, "memory": NONE, **resources}}
        self.queues.on_queue(Change("ADDED", {"metadata": {"name": name}, "spec": spec}))

    def group(self, name: str, queue: str, **spec: str) -> None:
        self.queues.on_group(
            Change("ADDED", {"metadata": {"name": name, "namespace": "ns"}, "spec": {"queue": queue, **spec}})
        )

    def place(self, one: Obj) -> None:
        self.view.on_pod(Change("ADDED", one))
        self.view.assume(one, "n1", {})

    def refusal(self, one: Obj) -> str:
        with self.view.lock:
            return self.queues.refusal(one)


@pytest.mark.parametrize(
    ("resource", "limit", "fits", "exceeds"),
    [
        ("cpu", 500, {"cpu": "500m"}, {"cpu": "501m"}),
        ("memory", 1, {"memory": "1000000"}, {"memory": "1Mi"}),
        ("gpu", 1, {"gpus": "1"}, {"gpus": "2"}),
        ("gpu", 0.5, {"gpu_fraction": "0.5"}, {"gpu_fraction": "0.6"}),
    ],
)
def test_a_limit_is_in_the_unit_of_its_resource(
    resource: str, limit: float, fits: dict[str, str], exceeds: dict[str, str]
) -> None:
    lab = Lab()
    lab.queue("team", "top", **{resource: {"limit": limit}})
    lab.group("train", "team")
    assert not lab.refusal(pod("small", **fits))  # type: ignore[arg-type]
    assert lab.refusal(pod("large", **exceeds)) == f"queue team has reached its limit of {resource}"  # type: ignore[arg-type]


def test_placed_pods_of_all_queues_below_count() -> None:
    lab = Lab()
    lab.queue("department", cpu={"limit": 2000})
    for side in ("left", "right"):
        lab.queue(side, "department")
        lab.group(side, side)
    lab.place(pod("a", "left", cpu="1"))
    assert not lab.refusal(pod("b", "right", cpu="1"))
    lab.place(pod("b", "right", cpu="1"))
    assert lab.refusal(pod("c", "right", cpu="1")) == "queue department has reached its limit of cpu"
    assert not lab.refusal(pod("d", "right", memory="1Gi"))


def test_a_pod_without_a_group_or_a_queue_has_no_limit() -> None:
    lab = Lab()
    lab.group("free", "")
    lab.group("default", DEFAULT_QUEUE)
    for group in ("", "free", "default", "unknown"):
        assert not lab.refusal(pod("any", group, cpu="64"))


@pytest.mark.parametrize("parent", ["gone", "team"])
def test_a_queue_without_a_way_to_the_top_is_missing(parent: str) -> None:
    lab = Lab()
    lab.queue("team", parent)
    lab.group("train", "team")
    assert lab.refusal(pod("one")) == f"queue {parent} not found"


def test_a_limit_that_is_not_set_allows_nothing() -> None:
    lab = Lab()
    lab.queue("team", "top", cpu={})
    lab.group("train", "team")
    assert lab.refusal(pod("one", cpu="1m"))
    assert not lab.refusal(pod("other", memory="1Gi"))


def test_the_quota_counts_pods_that_cannot_be_preempted() -> None:
    lab = Lab()
    lab.queue("department", cpu={"quota": -1, "limit": -1})
    lab.queue("team", "department", cpu={"quota": 1000, "limit": -1})
    lab.group("batch", "team")
    lab.group("serve", "team", preemptibility="non-preemptible")
    lab.place(pod("a", "batch", cpu="2"))
    assert not lab.refusal(pod("b", "serve", cpu="1"))
    lab.place(pod("b", "serve", cpu="1"))
    assert "no quota of cpu" in lab.refusal(pod("c", "serve", cpu="1"))
    assert not lab.refusal(pod("d", "batch", cpu="1"))


@pytest.mark.parametrize("counts", [True, False])
def test_devices_of_gpu_classes_count_from_release_0_17_on(counts: bool) -> None:
    lab = Lab(counts_claims=counts)
    lab.queue("team", "top", gpu={"limit": 1})
    lab.group("train", "team")
    for name, request in (
        ("two", {"deviceClassName": "GPU.example.com", "count": 2}),
        ("all", {"deviceClassName": "gpu", "allocationMode": "All"}),
        ("nic", {"deviceClassName": "nic", "count": 2}),
    ):
        spec = {"devices": {"requests": [{"name": "one", "exactly": request}]}}
        lab.view.on_claim(Change("ADDED", {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec}))
    assert bool(lab.refusal(pod("a", claim="two"))) is counts
    assert not lab.refusal(pod("b", claim="all"))
    assert not lab.refusal(pod("c", claim="nic"))
    assert not lab.refusal(pod("d", claim="missing"))


def test_deleted_queues_and_groups_are_forgotten() -> None:
    lab = Lab()
    lab.queue("team", "top")
    lab.group("train", "team")
    lab.queues.on_queue(Change("DELETED", {"metadata": {"name": "team"}}))
    assert lab.refusal(pod("one")) == "queue team not found"
    lab.queues.on_group(Change("DELETED", {"metadata": {"name": "train", "namespace": "ns"}}))
    assert not lab.refusal(pod("one"))


def test_pods_of_a_queue_below_one_that_is_missing_count_for_no_queue_whose_name_is_a_part_of_it() -> None:
    lab = Lab()
    lab.queue("team", "top", cpu={"quota": 0, "limit": 1000.0})
    lab.queue("orphan", "teams-of-last-year")
    lab.group("train", "team")
    lab.group("old", "orphan")
    lab.place(pod("placed", "old", cpu="1"))
    assert not lab.refusal(pod("next", cpu="1"))
