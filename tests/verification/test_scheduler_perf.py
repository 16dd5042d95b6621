"""The workloads of scheduler_perf: their shapes, what fits on their nodes, and the table. No program is started."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from dra_api.client import KubeClient
from dra_api.feature_gates import effective_gates, known_gates
from dra_api.objects import (
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    name_of,
)
from dra_conformance.control_plane.binaries import flags
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.oracle import Cluster, Settings, check, could_be_allocated, read_claim
from dra_conformance.oracle.verdict import Case
from verification.benchmarks.cluster import embedded
from verification.benchmarks.figures import Table
from verification.benchmarks.real import Start
from verification.benchmarks.scheduler_perf import compare, objects
from verification.benchmarks.scheduler_perf.measure import (
    Measured,
    _create,
    _Pods,
    broken_rule,
    scoring_configuration,
    steady_rate,
)
from verification.benchmarks.scheduler_perf.workloads import BACKLOG, Workload, selected, workloads

# The tests of upstream's performance-config.yaml files, but for PublishResourceSlices, which schedules no pod.
UPSTREAM = {
    "SchedulingWithResourceClaimTemplate",
    "SchedulingWithResourceClaim",
    "ConsumableCapacity",
    "Partitionable",
    "PartitionableBacktracking",
    "CompatibilityGroups",
    "DeviceTaintToleration",
    "ExtendedResource",
    "ExtendedResourceScoring",
    "FirstAvailable",
    "SchedulingWithResourceClaimTemplateListAttributes",
    "SharedPodGroupResourceClaim",
    "SharedPodGroupResourceClaimTemplate",
}
SMALL = workloads(20)
BY_NAME = {workload.name: workload for workload in SMALL}


def of_kind(workload: Workload, resource: object) -> list[Obj]:
    return [
        {**obj, "apiVersion": kind.api_version, "kind": kind.kind} for kind, obj in workload.objects if kind == resource
    ]


def cluster_of(workload: Workload) -> Cluster:
    return Cluster.of({**obj, "apiVersion": kind.api_version, "kind": kind.kind} for kind, obj in workload.objects)


def test_every_test_of_upstream_has_a_workload() -> None:
    assert {workload.name.partition("/")[0] for workload in SMALL} == UPSTREAM
    assert len(BY_NAME) == len(SMALL)


def test_at_upstreams_size_the_names_are_upstreams() -> None:
    names = {workload.name for workload in workloads(2500)}
    assert {
        "SchedulingWithResourceClaimTemplate/5000pods_500nodes",
        "SchedulingWithResourceClaimTemplate/full_500nodes",
        "SchedulingWithResourceClaimTemplate/match_empty_500nodes",
        "SchedulingWithResourceClaim/5000pods_500nodes",
        "ConsumableCapacity/half_500nodes",
        "PartitionableBacktracking/full_500nodes",
        "ExtendedResource/Explicit_25classes_5000pods_500nodes",
        "SchedulingWithResourceClaimTemplateListAttributes/empty_500nodes",
    } <= names
    assert "SharedPodGroupResourceClaim/100podgroups_5000pods" in {workload.name for workload in workloads(5000)}


@pytest.mark.parametrize("pods", [10, 20, 500])
def test_names_tell_the_number_of_nodes(pods: int) -> None:
    for workload in workloads(pods):
        assert len(of_kind(workload, NODES)) == workload.nodes
        if found := re.search(r"_(\d+)nodes", workload.name):
            assert int(found[1]) == workload.nodes


def test_upstreams_cluster_has_upstreams_shape() -> None:
    found = {workload.name: workload for workload in workloads(2500)}
    burst = found["SchedulingWithResourceClaimTemplate/5000pods_500nodes"]
    devices = of_kind(burst, RESOURCE_SLICES)[0]["spec"]["devices"]
    assert [len(devices), len(devices[0]["attributes"]), len(devices[0]["capacity"])] == [10, 13, 2]
    assert len(of_kind(burst, RESOURCE_CLAIMS)) == 2500
    assert len(of_kind(found["SchedulingWithResourceClaimTemplate/full_500nodes"], RESOURCE_CLAIMS)) == 4990
    assert found["ConsumableCapacity/full_500nodes"].initial == 3990
    assert len(of_kind(found["PartitionableBacktracking/full_500nodes"], RESOURCE_CLAIMS)) == 490
    shared = found["SchedulingWithResourceClaim/5000pods_500nodes"]
    assert shared.initial == 2500
    assert len(of_kind(shared, RESOURCE_CLAIMS)) == 1000
    lists = found["SchedulingWithResourceClaimTemplateListAttributes/empty_500nodes"]
    slots = of_kind(lists, RESOURCE_SLICES)[0]["spec"]["devices"]
    assert Counter(len(slot["attributes"]["bench.dra.test/match"]["strings"]) for slot in slots) == {47: 32, 48: 32}


def test_gates_can_be_set_in_the_release() -> None:
    """A locked gate is no option of its programs."""
    known = known_gates("1.37")
    for workload in SMALL:
        assert effective_gates("1.37", workload.gates).items() >= dict(workload.gates).items()
        assert not [gate for gate in workload.gates if gate in known and known[gate].locked], workload.name


def test_initial_allocations_are_valid_and_leave_room() -> None:
    """The checker accepts every claim in use, and finds an allocation for a claim of the next pod."""
    for workload in SMALL:
        templates = [obj for kind, obj in workload.objects if kind.kind == "ResourceClaimTemplate"]
        if not templates:
            continue
        cluster = cluster_of(workload)
        for claim in cluster.claims:
            if claim.status.allocation is not None:
                assert not check(Case(cluster, claim, Settings(release=37))).violations, workload.name
        identity = {"name": "next", "namespace": "default", "uid": "next"}
        following = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": identity,
            "spec": templates[0]["spec"]["spec"],
        }
        answer = could_be_allocated(Case(cluster, read_claim(following), Settings(release=37)))
        assert answer.verdict == "yes", workload.name


def test_a_wrong_allocation_is_found_in_every_workload() -> None:
    """The claims of a cluster in use once more, under other names: no device has room for both."""
    settings, judged = Settings(release=37), 0
    for workload in SMALL:
        cluster = cluster_of(workload)
        assert not broken_rule(cluster, settings), workload.name
        if used := [claim for claim in of_kind(workload, RESOURCE_CLAIMS) if "status" in claim]:
            identity = {"name": "again", "namespace": "default", "uid": "again"}
            twice = cluster.with_claims([read_claim({**used[0], "metadata": identity})])
            assert "breaks DRA-" in broken_rule(twice, settings), workload.name
            judged += 1
    assert judged >= 5


def test_a_full_cluster_has_room_for_one_backlog() -> None:
    full = BY_NAME["SchedulingWithResourceClaimTemplate/full_4nodes"]
    devices = sum(len(one["spec"]["devices"]) for one in of_kind(full, RESOURCE_SLICES))
    assert devices - len(of_kind(full, RESOURCE_CLAIMS)) == BACKLOG


def test_too_few_places_are_an_error() -> None:
    spec = objects.devices_of(objects.request())
    with pytest.raises(ValueError, match="2 claims need more places"):
        list(objects.allocated_claims(2, spec, [objects.NodeDevices("n", ("gpu-0",))]))


def test_the_taint_is_on_every_device_and_tolerated() -> None:
    workload = BY_NAME["DeviceTaintToleration/20pods_2nodes"]
    cluster = cluster_of(workload)
    assert of_kind(workload, DEVICE_TAINT_RULES.at("v1"))
    assert all(
        entry.taints for pool in cluster.pools.values() for entries in pool.by_name.values() for entry in entries
    )


def test_pods_of_a_claim_and_of_a_group() -> None:
    shared = BY_NAME["SchedulingWithResourceClaim/40pods_4nodes"]
    named = [
        shared.pod(f"pod-{number}", number)["spec"]["resourceClaims"][0]["resourceClaimName"] for number in range(20)
    ]
    assert Counter(named) == {f"shared-{number}": 5 for number in range(4)}
    existing = {name_of(claim) for claim in of_kind(shared, RESOURCE_CLAIMS)}
    assert (
        set(named)
        | {
            shared.pod(f"initial-{number}", number)["spec"]["resourceClaims"][0]["resourceClaimName"]
            for number in range(20)
        }
        == existing
    )
    grouped = BY_NAME["SharedPodGroupResourceClaim/2podgroups_20pods"]
    pod = grouped.pod("pod-3", 3)["spec"]
    assert pod["schedulingGroup"] == {"podGroupName": "group-1"}
    assert pod["resourceClaims"] == [{"name": "device", "resourceClaimName": "shared-1"}]


def test_workloads_are_selected_by_a_part_of_their_name() -> None:
    assert [one.name for one in selected(["FirstAvailable"], 20)] == ["FirstAvailable/20pods_2nodes"]
    assert len(selected([], 20)) == len(SMALL)
    with pytest.raises(ValueError, match="'Nothing'"):
        selected(["Nothing"], 20)
    with pytest.raises(ValueError, match="at least 10"):
        workloads(9)


def test_a_steady_rate_leaves_out_the_first_and_the_last_backlog() -> None:
    # 2 warm-up bindings, then one each half second; the last two come late.
    times = [0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 90.0, 91.0]
    assert steady_rate(times, 2) == 2.0


def test_kube_scheduler_scores_the_extended_resource() -> None:
    workload = BY_NAME["ExtendedResourceScoring/20pods_2nodes"]
    found = scoring_configuration(Path("/k"), workload.scoring)
    plain = json.loads(flags.scheduler_configuration(Path("/k"), {}))
    assert found["clientConnection"] == plain["clientConnection"]
    (plugin,) = found["profiles"][0]["pluginConfig"]
    counted = [one["name"] for one in plugin["args"]["scoringStrategy"]["resources"]]
    assert counted == ["cpu", "memory", "dra.test/gpu"]


def test_bound_pods_are_replaced_until_all_were_bound() -> None:
    """In a steady state no more pods wait than the backlog, and each is deleted once it is bound."""
    workload = Workload(
        name="test/steady",
        pods=4,
        nodes=1,
        objects=[*objects.nodes(1)],
        pod=lambda name, _: objects.pod(name),
        backlog=2,
        templated=False,
    )
    with embedded() as emulator:
        client = KubeClient(emulator.transport())
        _create(client, workload.objects)
        with _Pods(client, workload) as pods:
            pods.create(workload.backlog)
            waited = []
            for _ in range(workload.total):
                waiting = _waiting(client)
                waited.append(len(waiting))
                client.bind(waiting[0], objects.node_name(0))
            pods.wait_bound(workload.total, [])
            assert len(pods.bound()) == workload.total == 8
        assert max(waited) <= workload.backlog
        assert client.list(PODS, "default").items == []


def _waiting(client: KubeClient) -> list[Obj]:
    """Return the pods without a node, as soon as there is one."""
    with client.watch(PODS, "default", initial_events=True) as events:
        for event in events:
            if event.type == "ADDED":
                found = [pod for pod in client.list(PODS, "default").items if not pod["spec"].get("nodeName")]
                if found:
                    return found
    raise AssertionError("the watch ended")


def test_the_table_has_rates_ratio_and_what_is_missing() -> None:
    figures = {"reference": Measured(30.0, 1.0, 4.0), "kube-scheduler": Measured(20.0, 2.0, 6.0)}

    def measured(start: Start, workload: Workload) -> Measured:
        assert start
        return figures[next(names)]

    names = iter(["kube-scheduler", "reference"] * 2)
    burst = BY_NAME["FirstAvailable/20pods_2nodes"]
    row = compare.compare(burst, rounds=2, measured=measured).row()
    assert row == [burst.name, "20", "20.0", "30.0", "1.50 (1.50 to 1.50)", "2.0 (6.0)", "1.0 (4.0)", "-"]

    names = iter(["kube-scheduler"])
    scoring = BY_NAME["ExtendedResourceScoring/20pods_2nodes"]
    row = compare.compare(scoring, rounds=1, measured=measured).row()
    assert row[2:] == ["20.0", "no scoringStrategy", "-", "2.0 (6.0)", "-", "-"]


def test_a_scheduler_that_fails_is_in_the_table_and_not_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[str] = []

    def measured(start: Start, workload: Workload) -> Measured:
        calls.append("")
        if len(calls) == 2:
            raise RuntimeError("only 3 of 20 pods were bound")
        return Measured(20.0, 2.0, 6.0)

    workload = BY_NAME["FirstAvailable/20pods_2nodes"]
    found = compare.compare(workload, rounds=2, measured=measured)
    assert len(calls) == 3
    made = compare.table([found])
    assert made.rows[0][2:5] == ["20.0", "failed", "-"]
    assert made.notes[-1] == f"failed: {workload.name}, reference: only 3 of 20 pods were bound"
    assert "only 3 of 20" in capsys.readouterr().err


def test_a_control_plane_that_does_not_start_is_no_failure_of_a_scheduler() -> None:
    calls: list[str] = []

    def measured(start: Start, workload: Workload) -> Measured:
        calls.append("")
        if len(calls) == 2:
            raise TargetUnreachable("kube-apiserver was not ready")
        return Measured(20.0, 2.0, 6.0)

    workload = BY_NAME["FirstAvailable/20pods_2nodes"]
    found = compare.compare(workload, rounds=2, measured=measured)
    assert len(calls) == 4
    made = compare.table([found])
    assert made.rows[0][2:5] == ["20.0", "20.0", "1.00"]
    assert made.notes[-1] == f"not measured: {workload.name}, reference: kube-apiserver was not ready"


def test_columns_are_aligned() -> None:
    assert Table(("a", "bbb"), [("cccc", "1")], ["note"]).lines() == ["a     bbb", "cccc    1", "note"]
