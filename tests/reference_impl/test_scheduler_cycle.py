"""Decisions without an API server: tests fill the view, and the cycle decides about one pod at a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import count

import pytest
from scheduling_builders import (
    DRIVER,
    all_request,
    claim,
    device,
    device_class,
    expression,
    first_available,
    gpus,
    request,
    resource_slice,
    sub,
)

from dra_api.informer import Change
from dra_api.objects import Obj
from reference_impl.errors import ComponentError
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.cluster_view import ClusterView
from reference_impl.scheduler.cycle import Cycle, Decision, Refusal
from reference_impl.scheduler.options import SchedulerOptions

_uids = count()


def node(name: str, *, labels: dict | None = None, taints: list | None = None, **fields) -> Obj:
    spec = {**fields}
    if taints:
        spec["taints"] = taints
    return {"kind": "Node", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def pod(name: str, *claims: str, templates: dict[str, str | None] | None = None, **spec) -> Obj:
    entries = [{"name": reference, "resourceClaimName": reference} for reference in claims]
    entries += [{"name": reference, "resourceClaimTemplateName": "t"} for reference in templates or {}]
    made: Obj = {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {**spec, "resourceClaims": entries},
        "status": {},
    }
    if templates:
        made["status"]["resourceClaimStatuses"] = [
            {"name": reference, **({"resourceClaimName": to} if to else {})} for reference, to in templates.items()
        ]
    return made


def bind_request(of: str, on: str, allocations: dict[str, Obj], *, phase: str = "", uid: str = "br") -> Obj:
    entries = [{"name": name, "allocation": allocation} for name, allocation in allocations.items()]
    return {
        "metadata": {"name": of, "namespace": "ns", "uid": uid},
        "spec": {"podName": of, "selectedNode": on, "resourceClaimAllocations": entries},
        "status": {"phase": phase} if phase else {},
    }


class Cluster:
    """A view, filled by `apply`, and a cycle, run by `decide`."""

    def __init__(self, *objects: Obj, seed: int | None = None) -> None:
        self.heard: list[str] = []
        self.view = ClusterView(
            features=Features(), seed=seed, listener=lambda what, key: self.heard.append(f"{what} {key[1]}")
        )
        self.cycle = Cycle(self.view, features=Features(), max_steps=20_000)
        self.apply(device_class(), *objects)

    def apply(self, *objects: Obj, deleted: bool = False) -> None:
        for obj in objects:
            metadata = obj["metadata"]
            kind = obj.get("kind") or "BindRequest"
            handler = {
                "Node": self.view.on_node,
                "Pod": self.view.on_pod,
                "ResourceSlice": self.view.on_slice,
                "DeviceClass": self.view.on_class,
                "ResourceClaim": self.view.on_claim,
                "BindRequest": self.view.on_bind_request,
                "DeviceTaintRule": self.view.on_taint_rule,
            }[kind]
            old = self.view.pods.get(("ns", metadata["name"])) if kind == "Pod" else None
            handler(Change("DELETED" if deleted else "MODIFIED" if old else "ADDED", obj, old))

    def decide(self, pod_object: Obj) -> Decision | Refusal:
        self.apply(pod_object)
        with self.view.lock:
            return self.cycle.decide(pod_object)

    def place(self, pod_object: Obj) -> Decision:
        decision = self.decide(pod_object)
        assert isinstance(decision, Decision), decision
        self.view.assume(pod_object, decision.node, decision.allocations)
        return decision


def devices_of(decision: Decision | Refusal) -> list[str]:
    assert isinstance(decision, Decision), decision
    return [
        f"{result['pool']}/{result['device']}"
        for _, allocation in decision.entries
        for result in allocation["devices"]["results"]
    ]


def refused(outcome: Decision | Refusal) -> str:
    assert isinstance(outcome, Refusal), outcome
    return outcome.message


def two_nodes(per_node: int = 2) -> Cluster:
    return Cluster(node("node-a"), node("node-b"), gpus(per_node, node="node-a"), gpus(per_node, node="node-b"))


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_pods_spread_over_nodes_by_load_then_name():
    cluster = two_nodes()
    cluster.apply(*[claim(request(), name=f"c{n}") for n in range(4)])
    assert [cluster.place(pod(f"p{n}", f"c{n}")).node for n in range(4)] == ["node-a", "node-b", "node-a", "node-b"]
    cluster.apply(claim(request(), name="c4"))
    message = refused(cluster.decide(pod("p4", "c4")))
    assert message.startswith("0/2 nodes are available: 2 cannot allocate all claims.")
    assert "node-a, node-b: claim ns/c4, request gpu: wants 1 device, but only 0 of 2 matching are free" in message


def test_a_seed_orders_equal_nodes_repeatably():
    orders = set()
    for seed in range(8):
        names = [Cluster(*[node(f"n{n}") for n in range(5)], seed=seed).place(pod("p")).node for _ in range(2)]
        assert names[0] == names[1]
        orders.add(names[0])
    assert len(orders) > 1


def with_conditions(**status: str) -> Obj:
    conditions = [{"type": name, "status": value} for name, value in status.items()]
    return {**node("node-a"), "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("unfit", "spec", "reason"),
    [
        (node("node-a", unschedulable=True), {}, "node(s) were unschedulable"),
        (
            node("node-a", taints=[{"key": "k", "effect": "NoSchedule"}]),
            {},
            "node(s) had untolerated taint {k: }",
        ),
        (node("node-a"), {"nodeSelector": {"zone": "z"}}, "node(s) didn't match Pod's node affinity/selector"),
        (
            node("node-a", labels={"zone": "y"}),
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
                            ]
                        }
                    }
                }
            },
            "node(s) didn't match Pod's node affinity/selector",
        ),
        (
            {**node("node-a"), "status": {"allocatable": {"cpu": "1", "pods": "10"}}},
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}]},
            "Insufficient cpu",
        ),
        ({**node("node-a"), "status": {"allocatable": {"pods": "0"}}}, {}, "Too many pods"),
        (with_conditions(Ready="False"), {}, "node(s) had condition Ready=False"),
        (with_conditions(Ready="True", PIDPressure="Unknown"), {}, "node(s) had condition PIDPressure=Unknown"),
    ],
)
def test_unfit_nodes_are_named_by_reason(unfit, spec, reason):
    cluster = Cluster(unfit, gpus(1), claim(request()))
    message = refused(cluster.decide(pod("p", "c", **spec)))
    assert message == f"0/1 nodes are available: 1 {reason}."


def test_a_node_whose_condition_changes_has_room_again():
    cluster = Cluster(with_conditions(Ready="Unknown"), gpus(1), claim(request()))
    refused(cluster.decide(pod("p", "c")))
    cluster.heard.clear()
    cluster.apply(with_conditions(Ready="Unknown", DiskPressure="True"))
    assert cluster.heard == []
    cluster.apply(with_conditions(Ready="True", DiskPressure="False", Other="True"))
    assert cluster.heard == ["room node-a"]
    assert devices_of(cluster.decide(pod("p", "c"))) == ["node-a/d0"]


def test_conditions_do_not_matter_to_a_scheduler_that_binds_itself():
    cluster = Cluster(with_conditions(Ready="False"))
    direct = Cycle(cluster.view, features=Features(), max_steps=20_000, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    with cluster.view.lock:
        assert isinstance(direct.decide(pod("p")), Decision)


def test_tolerated_taints_do_not_matter():
    cluster = Cluster(node("node-a", unschedulable=True, taints=[{"key": "k", "effect": "NoExecute"}]))
    assert isinstance(cluster.decide(pod("p", tolerations=[{"operator": "Exists"}])), Decision)


def test_bound_promised_and_assumed_pods_use_their_nodes_resources():
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    cluster = Cluster({**node("node-a"), "status": {"allocatable": {"cpu": "3", "pods": "10"}}})
    cluster.apply(pod("bound", containers=containers, nodeName="node-a"))
    cluster.apply(pod("promised", containers=containers), bind_request("promised", "node-a", {}))
    cluster.place(pod("assumed", containers=containers))
    assert "Insufficient cpu" in refused(cluster.decide(pod("p", containers=containers)))
    finished = pod("bound", containers=containers, nodeName="node-a")
    finished["status"]["phase"] = "Succeeded"
    cluster.apply(finished)
    assert isinstance(cluster.decide(pod("p", containers=containers)), Decision)


def test_no_nodes_at_all():
    assert refused(Cluster().decide(pod("p"))) == "no nodes available to schedule pods"


# -- claims ------------------------------------------------------------------------------------------------------------


def test_a_missing_claim_is_reported_and_a_pending_one_is_awaited_silently():
    cluster = two_nodes()
    assert refused(cluster.decide(pod("p", "none"))) == 'resourceclaim "none" not found'
    waiting = pod("q")
    waiting["spec"]["resourceClaims"] = [{"name": "m", "resourceClaimTemplateName": "t"}]
    outcome = cluster.decide(waiting)
    assert isinstance(outcome, Refusal)
    assert outcome.silent
    assert outcome.for_own_claims


def test_a_template_claim_must_be_the_pods_own():
    cluster = two_nodes()
    generated = claim(request(), name="g")
    cluster.apply(generated)
    assert "was not created for pod ns/p" in refused(cluster.decide(pod("p", templates={"m": "g"})))
    generated["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}]
    cluster.apply(generated)
    decision = cluster.decide(pod("p", templates={"m": "g"}))
    assert devices_of(decision) == ["node-a/d0"]
    assert decision.entries[0][0].reference == "m"


def test_a_template_entry_that_needs_no_claim_is_skipped():
    decision = two_nodes().decide(pod("p", templates={"m": None}))
    assert isinstance(decision, Decision)
    assert decision.entries == ()


def test_a_claim_that_is_being_deleted_or_is_full_is_not_used():
    cluster = two_nodes()
    going = claim(request(), name="going")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    full = claim(request(), name="full")
    full["status"] = {"reservedFor": [{"resource": "pods", "name": f"x{n}", "uid": f"x{n}"} for n in range(256)]}
    cluster.apply(going, full)
    assert "is being deleted" in refused(cluster.decide(pod("p", "going")))
    assert "256 consumers" in refused(cluster.decide(pod("p", "full")))
    full["status"]["reservedFor"].pop()
    cluster.apply(full)
    assert isinstance(cluster.decide(pod("p", "full")), Decision)


def test_an_allocated_claim_pins_the_pod_and_is_repeated():
    cluster = two_nodes()
    first = claim(request(), name="shared")
    cluster.apply(first)
    decision = cluster.place(pod("p1", "shared"))
    later = cluster.decide(pod("p2", "shared"))
    assert isinstance(later, Decision)
    assert (later.node, later.fresh) == (decision.node, frozenset())
    assert later.entries[0][1] == decision.entries[0][1]
    elsewhere = cluster.decide(pod("p3", "shared", nodeSelector={"kubernetes.io/hostname": "b"}))
    assert isinstance(elsewhere, Refusal)


def test_a_claim_stranded_on_another_node_is_named():
    cluster = two_nodes()
    cluster.apply(claim(request(), name="shared"))
    cluster.place(pod("p1", "shared"))
    cluster.apply(node("node-a", unschedulable=True))
    outcome = cluster.decide(pod("p2", "shared"))
    assert refused(outcome) == (
        "0/2 nodes are available: 1 node(s) were unschedulable, 1 resourceclaim not available on the node."
    )
    assert outcome.stranded == (("ns", "shared"),)


def test_two_claims_of_one_pod_are_on_one_node():
    cluster = Cluster(node("node-a"), node("node-b"), gpus(1, node="node-a"), gpus(2, node="node-b"))
    cluster.apply(claim(request(), name="c1"), claim(request(), name="c2"))
    assert devices_of(cluster.decide(pod("p", "c1", "c2"))) == ["node-b/d0", "node-b/d1"]


def test_one_claim_under_two_names_is_allocated_once():
    cluster = two_nodes()
    cluster.apply(claim(request(), name="c"))
    twice = pod("p", "c")
    twice["spec"]["resourceClaims"].append({"name": "again", "resourceClaimName": "c"})
    decision = cluster.decide(twice)
    assert devices_of(decision) == ["node-a/d0", "node-a/d0"]
    assert len(decision.fresh) == 1


def test_an_unknown_class_is_unschedulable_until_it_exists():
    cluster = two_nodes()
    cluster.apply(claim(request(cls="none")))
    outcome = cluster.decide(pod("p", "c"))
    assert (refused(outcome), outcome.reason) == ("request gpu: device class none does not exist", "Unschedulable")
    cluster.apply(device_class("none"))
    assert isinstance(cluster.decide(pod("p", "c")), Decision)


# -- selectors ---------------------------------------------------------------------------------------------------------


def mixed() -> Obj:
    devices = [device("d0", attributes={"model": "x"}), device("d1", attributes={"model": "y", "size": 2})]
    return resource_slice("s", devices, node="node-a")


def choose(text: str) -> Cluster:
    return Cluster(node("node-a"), mixed(), claim(request(selectors=expression(text))))


def test_class_and_request_selectors_must_both_hold():
    cluster = choose(f'device.attributes["{DRIVER}"].model == "y"')
    assert devices_of(cluster.decide(pod("p", "c"))) == ["pool/d1"]
    cluster.apply(device_class("gpu", f'device.driver == "{DRIVER}"'))
    assert devices_of(cluster.decide(pod("p", "c"))) == ["pool/d1"]
    cluster.apply(device_class("gpu", f'device.attributes["{DRIVER}"].model == "x"'))
    assert "0 of 2 on the node match its selectors" in refused(cluster.decide(pod("p", "c")))


def test_a_selector_error_is_an_error_of_the_attempt():
    cluster = choose(f'device.attributes["{DRIVER}"].size == 2')
    outcome = cluster.decide(pod("p", "c"))
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "SchedulerError"
    assert (
        f'claim ns/c, request gpu: selector #0 (device.attributes["{DRIVER}"].size == 2): CEL runtime error: '
        f"no such key: size (on device {DRIVER}/pool/d0)"
    ) in outcome.message


def test_a_long_expression_is_shortened_to_one_line():
    cluster = choose(f'device.attributes["{DRIVER}"].size == 2 &&\n' + " && ".join(["true"] * 200))
    outcome = cluster.decide(pod("p", "c"))
    assert isinstance(outcome, Refusal)
    assert ".size == 2 && true && true" in outcome.message
    assert "true …): CEL runtime error" in outcome.message or "…): CEL runtime error" in outcome.message
    assert len(outcome.message) < 500


@pytest.mark.parametrize(
    ("slices", "reason"),
    [
        (
            [resource_slice("s", [device("d0"), device("d0")], node="node-a")],
            "1 invalid resource pools were encountered. node-a: claim ns/c, request gpu: wants 2 devices, but only 1 "
            f"of 1 on the node matches its selectors, capacity and tolerations (pool {DRIVER}/pool is invalid: device "
            "d0 is listed twice).",
        ),
        (
            [resource_slice("s", [device("d0")], node="node-a", count=2)],
            f"(pool {DRIVER}/pool is incomplete: 1 of 2 slices of generation 1 are published).",
        ),
    ],
    ids=["invalid", "incomplete"],
)
def test_the_message_names_the_unusable_pool(slices: list[Obj], reason: str):
    sound = resource_slice("sound", [device("d1")], node="node-a", pool="sound")
    cluster = Cluster(node("node-a"), *slices, sound, claim(request(count=2)), claim(request(), name="other"))
    assert reason in refused(cluster.decide(pod("p", "c")))
    assert devices_of(cluster.decide(pod("q", "other"))) == ["sound/d1"]


def test_a_selector_error_on_a_device_behind_the_chosen_one_is_not_met():
    devices = [device("d0", attributes={"size": 2}), device("d1")]
    text = f'device.attributes["{DRIVER}"].size == 2'
    cluster = Cluster(
        node("node-a"), resource_slice("s", devices, node="node-a"), claim(request(selectors=expression(text)))
    )
    assert devices_of(cluster.decide(pod("p", "c"))) == ["pool/d0"]


def test_a_selector_error_on_one_node_leaves_the_others():
    text = f'device.attributes["{DRIVER}"].size == 2'
    cluster = Cluster(node("node-a"), node("node-b"), mixed(), claim(request(selectors=expression(text))))
    cluster.apply(resource_slice("t", [device("d0", attributes={"size": 2})], node="node-b", pool="b"))
    assert devices_of(cluster.decide(pod("p", "c"))) == ["b/d0"]


def test_guards_avoid_the_error():
    cluster = choose(f'device.attributes["{DRIVER}"].?size.orValue(0) == 2')
    assert devices_of(cluster.decide(pod("p", "c"))) == ["pool/d1"]


# -- devices in use ----------------------------------------------------------------------------------------------------


def test_devices_of_pending_bind_requests_are_taken_until_they_fail():
    cluster = Cluster(node("node-a"), gpus(1))
    cluster.apply(claim(request(), name="c1"), claim(request(), name="c2"), pod("p1", "c1"))
    allocation = cluster.decide(pod("p1", "c1")).entries[0][1]
    cluster.apply(bind_request("p1", "node-a", {"c1": allocation}))
    assert isinstance(cluster.decide(pod("p2", "c2")), Refusal)
    cluster.heard.clear()
    cluster.apply(bind_request("p1", "node-a", {"c1": allocation}, phase="Failed"))
    assert "room p1" in cluster.heard
    assert isinstance(cluster.decide(pod("p2", "c2")), Decision)


def test_a_bind_request_seen_before_its_pod_counts_once_the_pod_is_seen():
    cluster = Cluster(node("node-a"), gpus(1))
    cluster.apply(claim(request(), name="c1"), claim(request(), name="c2"))
    allocation = cluster.decide(pod("other", "c1")).entries[0][1]
    cluster.apply(bind_request("p1", "node-a", {"c1": allocation}))
    cluster.apply(pod("p1", "c1"))
    assert isinstance(cluster.decide(pod("p2", "c2")), Refusal)


def test_a_freed_claim_is_not_held_by_the_old_promise():
    cluster = Cluster(node("node-a"), gpus(1))
    one = claim(request(), name="c1")
    cluster.apply(one, claim(request(), name="c2"), pod("p1", "c1"))
    allocation = cluster.decide(pod("p1", "c1")).entries[0][1]
    cluster.apply(bind_request("p1", "node-a", {"c1": allocation}))
    cluster.apply({**one, "status": {"allocation": allocation}})
    cluster.apply(bind_request("p1", "node-a", {"c1": allocation}, phase="Succeeded"))
    assert isinstance(cluster.decide(pod("p2", "c2")), Refusal)
    cluster.apply({**one, "status": {}})
    assert isinstance(cluster.decide(pod("p2", "c2")), Decision)


def test_a_bind_request_of_a_finished_pod_holds_nothing():
    cluster = Cluster(node("node-a"), gpus(1))
    cluster.apply(claim(request(), name="c1"), claim(request(), name="c2"), pod("p1", "c1"))
    allocation = cluster.decide(pod("p1", "c1")).entries[0][1]
    cluster.apply(bind_request("p1", "node-a", {"c1": allocation}))
    finished = pod("p1", "c1")
    finished["status"]["phase"] = "Failed"
    cluster.apply(finished)
    assert isinstance(cluster.decide(pod("p2", "c2")), Decision)


def test_a_decision_holds_until_it_is_settled_and_a_claim_until_it_is_deleted():
    cluster = Cluster(node("node-a"), gpus(1))
    one = claim(request(), name="c1")
    cluster.apply(one, claim(request(), name="c2"))
    decision = cluster.place(pod("p1", "c1"))
    assert isinstance(cluster.decide(pod("p2", "c2")), Refusal)
    cluster.view.settle(("ns", "p1"))
    cluster.apply({**one, "status": {"allocation": decision.entries[0][1]}})
    assert isinstance(cluster.decide(pod("p2", "c2")), Refusal)
    cluster.apply(one, deleted=True)
    assert isinstance(cluster.decide(pod("p2", "c2")), Decision)


# -- slices and rules --------------------------------------------------------------------------------------------------


def test_slices_come_change_and_go():
    cluster = Cluster(node("node-a"), claim(request()))
    assert "has no usable device" in refused(cluster.decide(pod("p", "c")))
    cluster.apply(gpus(1))
    assert isinstance(cluster.decide(pod("p", "c")), Decision)
    cluster.apply(gpus(0))
    assert isinstance(cluster.decide(pod("p", "c")), Refusal)
    cluster.apply(gpus(1))
    cluster.apply(gpus(1), deleted=True)
    assert isinstance(cluster.decide(pod("p", "c")), Refusal)


def test_a_slice_for_selected_nodes_follows_labels():
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}]}
    cluster = Cluster(node("node-a"), resource_slice("s", [device("d0")], nodeSelector=selector), claim(request()))
    assert isinstance(cluster.decide(pod("p", "c")), Refusal)
    cluster.apply(node("node-a", labels={"zone": "z"}))
    assert isinstance(cluster.decide(pod("p", "c")), Decision)


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ({"driver": DRIVER, "pool": "node-a", "device": "d0"}, ["node-a/d1"]),
        ({"device": "d1"}, ["node-a/d0"]),
        ({"driver": "other"}, ["node-a/d0"]),
        ({}, None),
        (None, ["node-a/d0"]),
    ],
)
def test_taint_rules_taint_the_devices_that_they_select(selector, chosen):
    cluster = Cluster(node("node-a"), gpus(2), claim(request()))
    rule = {
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": {"taint": {"key": "k", "effect": "NoSchedule"}},
    }
    if selector is not None:
        rule["spec"]["deviceSelector"] = selector
    cluster.apply(rule)
    outcome = cluster.decide(pod("p", "c"))
    assert (devices_of(outcome) if isinstance(outcome, Decision) else None) == chosen
    cluster.apply(rule, deleted=True)
    assert devices_of(cluster.decide(pod("p", "c"))) == ["node-a/d0"]


def test_invalid_pools_and_all_on_incomplete_pools_have_different_messages():
    cluster = Cluster(node("node-a"), resource_slice("s", [device("d0"), device("d0")], node="node-a"))
    cluster.apply(claim(request(), name="c1"), claim(all_request(), name="c2"))
    outcome = cluster.decide(pod("p1", "c1"))
    assert refused(outcome).startswith("0/1 nodes are available: 1 invalid resource pools were encountered. node-a: ")
    assert outcome.reason == "Unschedulable"
    cluster.apply(resource_slice("s", [device("d0")], node="node-a", count=2))
    outcome = cluster.decide(pod("p2", "c2"))
    assert "asks for all devices, but resource pool gpu.example.com/pool is currently being updated" in refused(outcome)
    assert outcome.reason == "SchedulerError"


# -- preference --------------------------------------------------------------------------------------------------------


def test_the_node_with_the_better_alternative_wins():
    cluster = Cluster(node("node-a"), node("node-b"), gpus(1, node="node-a"), gpus(4, node="node-b"))
    cluster.apply(claim(first_available("r", sub("big", count=4), sub("small"))))
    assert cluster.decide(pod("p", "c")).node == "node-b"
    cluster.apply(gpus(3, node="node-b"))
    assert cluster.decide(pod("p", "c")).node == "node-a"


def test_a_search_that_does_not_end_is_stopped_and_others_continue():
    """DRA-136. A cyclic Latin square of even order has no transversal, and counting does not show it."""
    order = 8
    square = [
        device(f"d{row}-{column}", attributes={"row": row, "column": column, "symbol": (row + column) % order})
        for row in range(order)
        for column in range(order)
    ]
    distinct = [{"distinctAttribute": f"{DRIVER}/{name}"} for name in ("row", "column", "symbol")]
    cluster = Cluster(node("n"), resource_slice("s", square, allNodes=True))
    cluster.cycle = Cycle(cluster.view, features=Features(), max_steps=300)
    cluster.apply(
        claim(*[request(f"r{at}") for at in range(order)], name="hard", constraints=distinct), claim(request())
    )
    outcome = cluster.decide(pod("puzzle", "hard"))
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "SchedulerError"
    assert "node n: timed out trying to allocate devices" in outcome.message
    assert devices_of(cluster.decide(pod("easy", "c"))) == ["pool/d0-0"]


def test_the_time_of_a_search_is_counted_in_steps():
    """DRA-136, DRA-137."""
    assert SchedulerOptions().max_steps == 20_000
    assert SchedulerOptions(filter_timeout=0.05).max_steps == 100
    assert SchedulerOptions(filter_timeout=0.000001).max_steps == 1
    assert SchedulerOptions(filter_timeout=0).max_steps > 10**12


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"filter_timeout": -0.001}, "filterTimeout -0.001s: must be 0"),
        ({"binding_timeout": 0.999}, "bindingTimeout 0.999s: must be 1 second or more"),
        ({"binding_timeout": 10.0, "features": Features(binding_conditions=False)}, "gate DRADeviceBindingConditions"),
    ],
)
def test_times_that_kube_scheduler_refuses_are_refused(options, text):
    """DRA-138."""
    with pytest.raises(ComponentError, match=re.escape(text)):
        SchedulerOptions(**options).check()


@pytest.mark.parametrize("options", [{"filter_timeout": 0}, {"binding_timeout": 1.0}, {"binding_timeout": None}])
def test_times_that_kube_scheduler_takes_are_taken(options):
    SchedulerOptions(**options).check()


def test_a_selector_that_fails_is_met_before_a_later_claim_that_cannot_be_satisfied():
    """Found by `make duel SEED=b5e3016c`: the later claim's constraint hid the error of the earlier one."""
    failing = request("b", selectors=expression(f'device.attributes["{DRIVER}"].s == "a"'))
    absent = [{"matchAttribute": "other.example.com/x"}]
    cluster = Cluster(
        node("n"),
        resource_slice("s", [device("d0", allowMultipleAllocations=True)], allNodes=True),
        claim(request("a"), failing, name="first"),
        claim(request(), name="second", constraints=absent),
    )
    outcome = cluster.decide(pod("p", "first", "second"))
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "SchedulerError"
    assert "no such key: s" in outcome.message
