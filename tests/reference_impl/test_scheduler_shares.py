"""Shares of GPUs in the scheduler: requests, groups, and the view that counts them."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from dra_api.informer import Change
from dra_api.objects import Obj
from reference_impl.scheduler import bind_requests, gpu_shares
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.cluster_view import ClusterView
from reference_impl.scheduler.cycle import Cycle, Decision, Refusal
from reference_impl.scheduler.gpu_shares import GpuShares, GrantedShare, ShareRequest

HALF = Fraction(1, 2)


def pod(name: str, *, node: str = "", labels: dict[str, str] | None = None, gpus: int = 0, **annotations: str) -> Obj:
    named = {key.replace("_", "-"): value for key, value in annotations.items()}
    container: Obj = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}}
    metadata = {"name": name, "namespace": "ns", "uid": name, "labels": labels or {}, "annotations": named}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container], "nodeName": node}}


def node(name: str, gpus: int, *, pods: int = 100, **labels: str) -> Obj:
    allocatable = {"nvidia.com/gpu": str(gpus), "pods": str(pods)}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


class Lab:
    """A view that counts shares, and a cycle."""

    def __init__(self, *nodes: Obj) -> None:
        names = iter(f"g{number}" for number in range(100))
        self.view = ClusterView(
            features=Features(), seed=None, listener=lambda what, key: None, shares=GpuShares(lambda: next(names))
        )
        self.cycle = Cycle(self.view, features=Features(), max_steps=1000)
        for one in nodes:
            self.view.on_node(Change("ADDED", one, None))

    def decide(self, wanted: Obj) -> Decision | Refusal:
        self.view.on_pod(Change("ADDED", wanted, None))
        with self.view.lock:
            return self.cycle.decide(wanted)

    def place(self, wanted: Obj) -> tuple[str, tuple[str, ...]]:
        decision = self.decide(wanted)
        assert isinstance(decision, Decision), decision
        self.view.assume(wanted, decision.node, {}, share=decision.share)
        return decision.node, decision.share.groups if decision.share else ()

    def refused(self, wanted: Obj) -> str:
        decision = self.decide(wanted)
        assert isinstance(decision, Refusal), decision
        return decision.message


@pytest.mark.parametrize(
    ("annotations", "requested"),
    [
        ({}, None),
        ({"gpu_fraction": "0.5"}, ShareRequest(HALF, 0, 1)),
        ({"gpu_fraction": "1"}, ShareRequest(Fraction(1), 0, 1)),
        ({"gpu_fraction": "0.5", "gpu_fraction_num_devices": "2"}, ShareRequest(HALF, 0, 2)),
        ({"gpu_fraction": "0.5", "gpu_fraction_num_devices": "two"}, ShareRequest(HALF, 0, 1)),
        ({"gpu_memory": "2000"}, ShareRequest(Fraction(0), 2000, 1)),
        ({"gpu_fraction": "1.5", "gpu_memory": "2000"}, ShareRequest(Fraction(0), 2000, 1)),
        *(({"gpu_fraction": text}, None) for text in ("0", "-1", "1.01", "nan", "inf", "half", "")),
        *(({"gpu_memory": text}, None) for text in ("0", "-1", "2Gi")),
    ],
)
def test_the_requested_share_of_a_pod(annotations: dict[str, str], requested: ShareRequest | None) -> None:
    assert gpu_shares.requested_share(pod("p", **annotations)) == requested


def test_ten_tenths_are_a_whole() -> None:
    shares = GpuShares(lambda: "g")
    requested = gpu_shares.requested_share(pod("p", gpu_fraction="0.1"))
    assert requested is not None
    for number in range(10):
        assert shares.share_on("n", requested, 0) == GrantedShare(
            ("g",) if number else (), Fraction(1, 10), 0 if number else 1
        )
        shares.put(("ns", str(number)), "n", ["g"], Fraction(1, 10))
    assert shares.share_on("n", requested, 0) == GrantedShare((), Fraction(1, 10), 1)


def test_the_fullest_group_with_room_is_joined() -> None:
    shares = GpuShares()
    for group, portion in (("a", Fraction(1, 4)), ("b", HALF), ("c", Fraction(3, 4))):
        shares.put(("ns", group), "n", [group], portion)
    joined = shares.share_on("n", ShareRequest(HALF, 0, 1), 0)
    assert joined is not None
    assert joined.groups == ("b",)
    both = shares.share_on("n", ShareRequest(HALF, 0, 3), 0)
    assert both is not None
    assert (both.groups, both.opened) == (("b", "a"), 1)
    assert len(set(shares.opened(both).groups)) == 3
    assert shares.share_on("n", ShareRequest(HALF, 0, 10**12), 0) is None


def test_a_dropped_pod_ends_its_group() -> None:
    shares = GpuShares()
    shares.put(("ns", "p"), "n", ["a"], HALF)
    shares.put(("ns", "p"), "m", ["b"], HALF)
    assert (shares.count("n"), shares.count("m")) == (0, 1)
    shares.drop(("ns", "p"))
    assert shares.count("m") == 0


def test_portions_have_two_decimals() -> None:
    assert GrantedShare(("a", "b"), Fraction(1, 3)).received == {"count": 2, "portion": "0.33"}


def test_shares_and_whole_gpus_keep_apart() -> None:
    lab = Lab(node("n1", 2))
    assert lab.place(pod("a", gpu_fraction="0.6")) == ("n1", ("g0",))
    assert lab.place(pod("whole", gpus=1)) == ("n1", ())
    assert "Insufficient nvidia.com/gpu" in lab.refused(pod("more", gpus=1))
    assert "Insufficient nvidia.com/gpu" in lab.refused(pod("b", gpu_fraction="0.6"))
    assert lab.place(pod("c", gpu_fraction="0.4")) == ("n1", ("g0",))


def test_a_node_with_a_shared_gpu_comes_first() -> None:
    lab = Lab(node("n1", 1), node("n2", 1))
    where, groups = lab.place(pod("a", gpu_fraction="0.5"))
    assert lab.place(pod("b", gpu_fraction="0.5")) == (where, groups)


def test_memory_is_a_portion_of_the_nodes_gpus() -> None:
    lab = Lab(node("n1", 1), node("n2", 1, **{gpu_shares.MEMORY_LABEL: "40000"}))
    decision = lab.decide(pod("a", gpu_memory="10000"))
    assert isinstance(decision, Decision)
    assert decision.share is not None
    assert (decision.node, decision.share.received) == ("n2", {"count": 1, "portion": "0.25"})
    assert "too little or unknown memory" in lab.refused(pod("b", gpu_memory="50000"))


def test_a_portion_of_memory_is_rounded_up() -> None:
    requested = ShareRequest(Fraction(0), 1000, 1)
    assert [requested.amount(memory) for memory in (3000, 2000, 1000, 999)] == [Fraction(34, 100), HALF, 1, None]


def test_a_group_that_is_named_twice_counts_once() -> None:
    shares = GpuShares()
    shares.put(("ns", "p"), "n", ["a", "a"], HALF)
    assert shares.count("n") == 1
    shares.drop(("ns", "p"))
    assert shares.count("n") == 0


def test_the_memory_of_a_node_may_be_known_after_its_pods() -> None:
    lab = Lab(node("n1", 1))
    lab.view.on_pod(Change("ADDED", pod("a", node="n1", labels={"runai-gpu-group": "g"}, gpu_memory="10000"), None))
    lab.view.on_node(Change("MODIFIED", node("n1", 1, **{gpu_shares.MEMORY_LABEL: "40000"}), None))
    assert lab.place(pod("b", gpu_memory="30000")) == ("n1", ("g",))


def test_a_pod_with_a_share_takes_no_gpu_of_its_own() -> None:
    lab = Lab(node("n1", 2))
    assert lab.place(pod("a", gpus=1, gpu_fraction="0.5")) == ("n1", ("g0",))
    assert lab.place(pod("whole", gpus=1)) == ("n1", ())


def test_a_new_group_needs_room_for_its_reservation_pod() -> None:
    lab = Lab(node("n1", 2, pods=2))
    assert lab.place(pod("a", gpu_fraction="0.5"))[0] == "n1"
    assert lab.place(pod("b", gpu_fraction="0.5"))[0] == "n1"
    lab = Lab(node("n1", 2, pods=1))
    assert "Too many pods" in lab.refused(pod("a", gpu_fraction="0.5"))


def test_a_reservation_pod_takes_no_gpu_besides_its_group() -> None:
    lab = Lab(node("n1", 2))
    labels = {"runai-gpu-group": "a"}
    held = pod("r", node="n1", labels={"app": "kai-resource-reservation", **labels}, gpus=1)
    consumer = pod("c", node="n1", labels=labels, gpu_fraction="0.5")
    for one in (held, consumer):
        lab.view.on_pod(Change("ADDED", one, None))
    assert lab.place(pod("p", gpu_fraction="0.5")) == ("n1", ("a",))
    assert lab.place(pod("whole", gpus=1))[0] == "n1"


def test_labels_count_for_bound_pods_only() -> None:
    lab = Lab(node("n1", 2))
    labelled = pod("p", labels={"runai-gpu-group": "old"}, gpu_fraction="0.5")
    assert lab.place(labelled) == ("n1", ("g0",))
    assert lab.place(pod("q", gpu_fraction="0.5")) == ("n1", ("g0",))


def test_a_bind_request_with_another_gpu_group_is_another_decision() -> None:
    mine = pod("p", gpu_fraction="0.5")

    def made(*groups: str) -> Obj:
        share = GrantedShare(groups, HALF)
        names = random.Random(0)  # noqa: S311 - names, not secrets
        return bind_requests.make(mine, "n1", [], {}, "kai-0.17", names, share=share)

    assert bind_requests.same_decision(made("a"), made("a"))
    assert not bind_requests.same_decision(made("a"), made("b"))
    assert not bind_requests.same_decision(made("a"), made("a", "b"))


def test_without_shares_annotations_mean_nothing() -> None:
    lab = Lab(node("n1", 0))
    lab.view.shares = None
    assert lab.place(pod("p", gpu_fraction="0.5")) == ("n1", ())
