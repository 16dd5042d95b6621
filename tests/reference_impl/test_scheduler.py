"""The scheduler against the embedded API server: BindRequests, direct binding, retries, feature gates."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scheduling_builders import claim, device_class, gpus, request
from scheduling_cluster import NAMESPACE, SchedulingCluster, running, scheduling_cluster

from dra_api.client import NotFound
from dra_api.objects import (
    BIND_REQUESTS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    name_of,
)
from dra_api.workqueue import WorkQueue
from reference_impl.errors import ComponentError
from reference_impl.scheduler.cycle import Decision
from reference_impl.scheduler.pod_claims import PodClaim
from reference_impl.scheduler.publish import DirectPublisher, PublishError


@pytest.fixture
def cluster():
    with scheduling_cluster() as made:
        made.create(device_class())
        yield made


ROOT = Path(__file__).parents[2]


def ready(cluster: SchedulingCluster, *claims: str, devices: int = 8) -> None:
    cluster.nodes("node-a")
    cluster.create(gpus(devices), *[claim(request(), name=name) for name in claims])


def names(objects) -> set[str]:
    return {name_of(obj) for obj in objects}


def direct(cluster: SchedulingCluster) -> DirectPublisher:
    return DirectPublisher(cluster.client, claims=RESOURCE_CLAIMS, updated=lambda _: None, clock=cluster.clock)


# -- BindRequests ------------------------------------------------------------------------------------------------------


def test_a_bind_request_of_0_17(cluster):
    ready(cluster, "c")
    pod = cluster.pod("p", "c")
    with running(cluster):
        made = cluster.bind_request_of("p")
        assert cluster.event("p", "Scheduled") == "Successfully assigned ns/p to node-a"
    assert made["metadata"]["name"] == "p"
    assert made["metadata"]["labels"] == {"selected-node": "node-a"}
    assert made["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"]}
    ]
    (entry,) = made["spec"].pop("resourceClaimAllocations")
    assert entry["name"] == "c"
    assert entry["allocation"]["devices"]["results"][0]["device"] == "d0"
    assert made["spec"] == {
        "podName": "p",
        "selectedNode": "node-a",
        "receivedResourceType": "Regular",
        "receivedGPU": {"portion": "0.00"},
    }
    assert not made.get("status")
    assert "status" not in cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE) or not cluster.client.get(
        RESOURCE_CLAIMS, "c", NAMESPACE
    )["status"].get("allocation")


def test_deferred_events_are_recorded_at_stop(cluster, monkeypatch):
    monkeypatch.setattr(WorkQueue, "add_idle", lambda self, key, *, within: None)  # other pods without end
    ready(cluster, "c")
    cluster.pod("p", "c")
    with running(cluster):
        cluster.bind_request_of("p")
    assert cluster.event("p", "Scheduled") == "Successfully assigned ns/p to node-a"


def test_a_bind_request_as_documented(cluster):
    ready(cluster, "c")
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    cluster.pod("p", "c", schedulerName="kai-scheduler", containers=[{"name": "c", "image": "i", **limits}])
    with running(cluster, revision="documented", dynamic_resource_allocation=True):
        made = cluster.bind_request_of("p")
    assert re.fullmatch(r"p-[bcdfghjklmnpqrstvwxz2456789]{10}", made["metadata"]["name"])
    assert made["metadata"]["labels"] == {"pod-name": "p", "selected-node": "node-a"}
    assert made["spec"]["receivedGPU"] == {"count": 1, "portion": "1.00"}


def test_devices_are_promised_once(cluster):
    ready(cluster, *[f"c{n}" for n in range(20)])
    with running(cluster):
        for n in range(20):
            cluster.pod(f"p{n}", f"c{n}")
        requests = cluster.wait(BIND_REQUESTS, lambda found: len(found) == 8)
        cluster.wait(
            PODS,
            lambda pods: (
                sum(any(c.get("reason") == "Unschedulable" for c in p["status"].get("conditions", ())) for p in pods)
                == 12
            ),
        )
        requests = cluster.follow(BIND_REQUESTS).list()
    devices = [
        result["device"]
        for made in requests
        for entry in made["spec"]["resourceClaimAllocations"]
        for result in entry["allocation"]["devices"]["results"]
    ]
    assert len(devices) == len(set(devices)) == 8


def test_a_failed_bind_request_is_deleted_and_the_pod_scheduled_again(cluster):
    ready(cluster, "c")
    cluster.pod("p", "c")
    with running(cluster):
        first = cluster.bind_request_of("p")
        cluster.client.patch(
            BIND_REQUESTS, "p", {"status": {"phase": "Failed", "reason": "no"}}, NAMESPACE, subresource="status"
        )
        uid = first["metadata"]["uid"]
        again = cluster.wait(BIND_REQUESTS, lambda found: bool(found) and found[0]["metadata"]["uid"] != uid)
    assert again[0]["spec"]["resourceClaimAllocations"] == first["spec"]["resourceClaimAllocations"]


def test_a_failed_bind_request_with_attempts_left_is_the_binders(cluster):
    ready(cluster, "c")
    cluster.client.create(
        BIND_REQUESTS,
        {
            "metadata": {"name": "mine", "namespace": NAMESPACE},
            "spec": {"podName": "p", "selectedNode": "node-a", "backoffLimit": 3},
        },
    )
    cluster.client.patch(
        BIND_REQUESTS,
        "mine",
        {"status": {"phase": "Failed", "failedAttempts": 1}},
        NAMESPACE,
        subresource="status",
    )
    cluster.pod("p", "c")
    cluster.create(claim(request(), name="d"))
    with running(cluster):
        cluster.pod("q", "d")
        cluster.bind_request_of("q")
        assert names(cluster.follow(BIND_REQUESTS).list()) == {"mine", "q"}


def test_a_bind_request_that_cannot_be_created_is_reported_and_retried(cluster):
    ready(cluster, "c")
    cluster.client.create(
        BIND_REQUESTS,
        {"metadata": {"name": "p", "namespace": NAMESPACE}, "spec": {"podName": "other", "selectedNode": "node-a"}},
    )
    cluster.pod("p", "c")
    with running(cluster):
        assert "already exists" in cluster.condition("p", reason="BindingError")
        assert "already exists" in cluster.event("p", "FailedBinding")
        cluster.client.delete(BIND_REQUESTS, "p", NAMESPACE)
        cluster.bind_request_of("p")


def test_a_restarted_scheduler_honours_what_is_promised(cluster):
    ready(cluster, "c0", "c1", devices=1)
    cluster.pod("p0", "c0")
    with running(cluster):
        cluster.bind_request_of("p0")
    cluster.pod("p1", "c1")
    with running(cluster):
        assert "0/1 nodes are available: 1 cannot allocate all claims." in cluster.condition(
            "p1", reason="Unschedulable"
        )
    assert names(cluster.follow(BIND_REQUESTS).list()) == {"p0"}


# -- waiting -----------------------------------------------------------------------------------------------------------


def test_a_waiting_pod_gets_a_reason_and_is_scheduled_after_a_new_slice(cluster):
    cluster.nodes("node-a")
    cluster.create(claim(request()))
    cluster.pod("p", "c")
    with running(cluster):
        message = cluster.condition("p", reason="Unschedulable")
        assert message.startswith("0/1 nodes are available: 1 cannot allocate all claims.")
        assert cluster.event("p", "FailedScheduling") == message
        cluster.create(gpus(1))
        cluster.bind_request_of("p")


@pytest.mark.parametrize("help_with", ["claim", "class", "node", "uncordon", "device"])
def test_what_wakes_a_waiting_pod(cluster, help_with):
    cluster.nodes("node-b")
    if help_with not in ("node",):
        cluster.nodes("node-a")
    cluster.create(gpus(1))
    if help_with != "claim":
        cluster.create(claim(request(cls="late" if help_with == "class" else "gpu")))
    if help_with == "uncordon":
        cluster.client.patch(NODES, "node-a", {"spec": {"unschedulable": True}})
    with running(cluster):
        if help_with == "device":
            cluster.create(claim(request(), name="first"))
            first = cluster.pod("first", "first")
            cluster.bind_request_of("first")
        cluster.pod("p", "c")
        assert cluster.condition("p", reason="Unschedulable")
        if help_with == "claim":
            cluster.create(claim(request()))
        elif help_with == "class":
            cluster.client.create(DEVICE_CLASSES, device_class("late"))
        elif help_with == "node":
            cluster.nodes("node-a")
        elif help_with == "uncordon":
            cluster.client.patch(NODES, "node-a", {"spec": {"unschedulable": None}})
        else:
            cluster.client.delete(PODS, name_of(first), NAMESPACE, grace_period_seconds=0)
        assert cluster.bind_request_of("p")["spec"]["selectedNode"] == "node-a"


def test_an_impossible_pod_delays_no_other_and_is_not_polled(cluster):
    ready(cluster, *[f"c{n}" for n in range(4)])
    cluster.create(claim(request(count=30), name="huge"))
    with running(cluster) as scheduler:
        cluster.pod("impossible", "huge")
        cluster.condition("impossible", reason="Unschedulable")
        for n in range(4):
            cluster.pod(f"p{n}", f"c{n}")
        cluster.wait(BIND_REQUESTS, lambda found: len(found) == 4)
        assert scheduler.backoff((NAMESPACE, "impossible")) > 0


def test_gated_foreign_and_bound_pods_are_left_alone(cluster):
    ready(cluster, "c0", "c1", "c2", "c3")
    cluster.pod("gated", "c0", schedulingGates=[{"name": "g"}])
    cluster.pod("foreign", "c1", schedulerName="another")
    cluster.pod("bound", "c2", nodeName="node-a")
    with running(cluster):
        cluster.pod("p", "c3")
        cluster.bind_request_of("p")
        assert names(cluster.follow(BIND_REQUESTS).list()) == {"p"}
        cluster.client.patch(PODS, "gated", [{"op": "remove", "path": "/spec/schedulingGates"}], NAMESPACE, kind="json")
        cluster.bind_request_of("gated")


def test_scheduler_names_can_be_chosen(cluster):
    ready(cluster, "c0", "c1")
    with running(cluster, scheduler_names=frozenset({"mine"})):
        cluster.pod("p0", "c0")
        cluster.pod("p1", "c1", schedulerName="mine")
        cluster.bind_request_of("p1")
        assert names(cluster.follow(BIND_REQUESTS).list()) == {"p1"}


# -- the feature gate --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"revision": "documented"},
        {"dynamic_resource_allocation": False},
        {"publish": "direct", "dynamic_resource_allocation": False},
    ],
)
def test_with_dra_off_a_pod_with_claims_is_not_scheduled_and_gets_a_reason(cluster, options):
    ready(cluster, "c")
    with running(cluster, **options):
        cluster.pod("p", "c")
        message = cluster.condition("p", reason="Unschedulable")
        assert message == (
            "pod has resource claims (c), but dynamic resource allocation is not available: "
            "the DynamicResourceAllocation feature gate is off"
        )
        assert cluster.event("p", "FailedScheduling") == message
        cluster.pod("plain")
        if options.get("publish") == "direct":
            cluster.wait(PODS, lambda pods: any(pod["spec"].get("nodeName") for pod in pods))
        else:
            cluster.bind_request_of("plain")
            assert names(cluster.follow(BIND_REQUESTS).list()) != {"p", "plain"}


def test_without_the_bind_request_crd_the_scheduler_says_what_to_do():
    way_out = "install the BindRequest CRD, or let the scheduler bind pods itself"
    with scheduling_cluster(bind_requests=False) as bare, pytest.raises(ComponentError, match=way_out), running(bare):
        pass


# -- binding directly --------------------------------------------------------------------------------------------------


def test_direct_binding_reserves_the_claim_and_binds_the_pod(cluster):
    ready(cluster, "c")
    pod = cluster.pod("p", "c")
    with running(cluster, publish="direct"):
        cluster.wait(PODS, lambda pods: pods[0]["spec"].get("nodeName") == "node-a")
    made = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)
    assert made["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert made["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}]
    assert made["status"]["allocation"]["devices"]["results"][0]["device"] == "d0"
    assert made["status"]["allocation"]["allocationTimestamp"]


def test_direct_binding_shares_a_claim_on_its_node(cluster):
    ready(cluster, "c")
    cluster.nodes("node-b")
    for n in range(3):
        cluster.pod(f"p{n}", "c")
    with running(cluster, publish="direct"):
        pods = cluster.wait(PODS, lambda pods: all(pod["spec"].get("nodeName") for pod in pods))
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-a"}
    assert len(cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)["status"]["reservedFor"]) == 3


def test_an_allocation_that_fits_no_node_is_removed_unless_others_use_it(cluster):
    ready(cluster, "stranded", "used")
    cluster.nodes("node-b")
    cluster.create(gpus(1, node="node-b"))
    with running(cluster, publish="direct"):
        for name in ("stranded", "used"):
            cluster.pod(f"first-{name}", name)
        cluster.wait(PODS, lambda pods: all(pod["spec"].get("nodeName") for pod in pods))
        on = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in cluster.follow(PODS).list()}
    claim_now = cluster.client.get(RESOURCE_CLAIMS, "stranded", NAMESPACE)
    claim_now["status"].pop("reservedFor")
    cluster.client.update_status(RESOURCE_CLAIMS, claim_now)
    for node in set(on.values()):
        cluster.client.patch(NODES, node, {"spec": {"unschedulable": True}})
    cluster.nodes("node-c")
    cluster.create(gpus(1, node="node-c"))
    with running(cluster, publish="direct"):
        cluster.pod("second-stranded", "stranded")
        cluster.wait(PODS, lambda pods: any(pod["spec"].get("nodeName") == "node-c" for pod in pods))
        cluster.pod("second-used", "used")
        assert "resourceclaim not available on the node" in cluster.condition("second-used", reason="Unschedulable")


def test_a_claim_that_changes_meanwhile_is_read_again(cluster):
    ready(cluster, "c")
    cluster.pod("p", "c")
    with running(cluster, publish="direct"):
        cluster.wait(PODS, lambda pods: pods[0]["spec"].get("nodeName") == "node-a")
    stale = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)
    fresh = {**stale, "metadata": {**stale["metadata"], "labels": {"touched": "yes"}}}
    cluster.client.update(RESOURCE_CLAIMS, fresh)
    second = cluster.pod("q", "c")
    decision = Decision(second, "node-a", ((PodClaim("c", stale), stale["status"]["allocation"]),))
    direct(cluster).publish(decision)
    now = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)
    assert now["metadata"]["labels"] == {"touched": "yes"}
    assert [entry["name"] for entry in now["status"]["reservedFor"]] == ["p", "q"]


def test_a_claim_allocated_elsewhere_meanwhile_is_not_overwritten(cluster):
    ready(cluster, "c")
    cluster.pod("p", "c")
    stale = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)
    with running(cluster, publish="direct"):
        cluster.wait(PODS, lambda pods: pods[0]["spec"].get("nodeName") == "node-a")
    other = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)["status"]["allocation"]
    wanted = {**other, "devices": {"results": [{**other["devices"]["results"][0], "device": "d5"}]}}
    second = cluster.pod("q", "c")
    with pytest.raises(PublishError, match="got allocated elsewhere"):
        direct(cluster).publish(Decision(second, "node-a", ((PodClaim("c", stale), wanted),)))
    assert "nodeName" not in cluster.client.get(PODS, "q", NAMESPACE)["spec"]


def test_a_refused_binding_takes_the_reservation_back_and_keeps_the_allocation(cluster):
    ready(cluster, "c")
    ghost = cluster.pod("ghost", "c")
    claim_now = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)
    with running(cluster, publish="direct"):
        cluster.wait(PODS, lambda pods: pods[0]["spec"].get("nodeName") == "node-a")
    allocated = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)
    assert claim_now["metadata"]["uid"] == allocated["metadata"]["uid"]
    gone = {**ghost, "metadata": {**ghost["metadata"], "name": "never", "uid": "never"}}
    entries = ((PodClaim("c", allocated), allocated["status"]["allocation"]),)
    with pytest.raises(NotFound):
        direct(cluster).publish(Decision(gone, "node-a", entries))
    now = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)["status"]
    assert [entry["name"] for entry in now["reservedFor"]] == ["ghost"]
    assert now["allocation"] == allocated["status"]["allocation"]


def test_a_reservation_that_was_taken_back_is_not_read_from_an_older_claim(cluster):
    ready(cluster, "c")
    pod = cluster.pod("p", "c")
    with running(cluster, publish="direct"):
        cluster.wait(PODS, lambda pods: pods[0]["spec"].get("nodeName") == "node-a")
    reserved = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)
    publisher = direct(cluster)
    publisher.unreserve(reserved, pod)
    assert "reservedFor" not in cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)["status"]
    publisher.reserve(Decision(pod, "node-a", ((PodClaim("c", reserved), reserved["status"]["allocation"]),)))
    now = cluster.client.get(RESOURCE_CLAIMS, "c", NAMESPACE)["status"]
    assert [entry["name"] for entry in now["reservedFor"]] == ["p"]


# -- load --------------------------------------------------------------------------------------------------------------


def test_many_pods_are_scheduled_without_losing_one(cluster):
    nodes = [f"n{n:02}" for n in range(10)]
    cluster.nodes(*nodes)
    cluster.create(*[gpus(8, node=node) for node in nodes])
    cluster.create(*[claim(request(), name=f"c{n}") for n in range(80)])
    with running(cluster):
        for n in range(80):
            cluster.pod(f"p{n}", f"c{n}")
        requests = cluster.wait(BIND_REQUESTS, lambda found: len(found) == 80, timeout=30)
    devices = {
        (result["pool"], result["device"])
        for made in requests
        for entry in made["spec"]["resourceClaimAllocations"]
        for result in entry["allocation"]["devices"]["results"]
    }
    assert len(devices) == 80
    assert cluster.client.list(EVENTS).items
    assert cluster.client.list(RESOURCE_SLICES).items


# -- alone -------------------------------------------------------------------------------------------------------------


def test_the_scheduler_runs_as_a_program_until_a_signal():
    with scheduling_cluster(https=True) as cluster:
        cluster.create(device_class())
        ready(cluster, "c")
        options = ["--revision", "documented", "--feature-gates=DynamicResourceAllocation=true"]
        command = [sys.executable, "-m", "reference_impl", "scheduler", "--kubeconfig", str(cluster.plane.kubeconfig)]
        with subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "scheduler ready\n"
                cluster.pod("p", "c", schedulerName="kai-scheduler")
                assert cluster.bind_request_of("p")["metadata"]["labels"]["pod-name"] == "p"
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=60) == 0
            finally:
                process.kill()
