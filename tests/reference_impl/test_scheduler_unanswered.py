"""Writes without response that succeeded: nothing is created twice, no used device counts as free."""

from __future__ import annotations

import threading

import pytest
from scheduling_builders import claim, device_class, gpus, request
from scheduling_cluster import NAMESPACE, SchedulingCluster, scheduling_cluster

from dra_api.client import KubeClient
from dra_api.objects import BIND_REQUESTS, PODS, RESOURCE_CLAIMS, Resource, name_of, uid_of
from dra_conformance.faults import Aim, Fault, FaultPoints, FaultyTransport, Volley
from reference_impl.scheduler import Scheduler, SchedulerOptions

EXTENDED = "example.com/gpu"


@pytest.fixture
def cluster():
    with scheduling_cluster() as made:
        yield made


def schedule(cluster: SchedulingCluster, pods: tuple[str, ...], volley: Volley, **options: object) -> None:
    """Run a scheduler with the injected faults `volley` until these pods are bound, or have a BindRequest."""
    points = FaultPoints()
    points.add(volley)
    transport = FaultyTransport(cluster.plane.transport(), points, component="scheduler", clock=cluster.clock)
    chosen = SchedulerOptions(**options)  # type: ignore[arg-type]
    scheduler = Scheduler(KubeClient(transport), clock=cluster.clock, options=chosen)
    scheduler.start()
    try:
        for pod in pods:
            if options.get("publish") == "direct":
                cluster.wait(
                    PODS, lambda seen, pod=pod: any(name_of(p) == pod and p["spec"].get("nodeName") for p in seen)
                )
            else:
                cluster.bind_request_of(pod)
    finally:
        scheduler.stop()
        transport.close()
    assert volley.struck == 1


def lost(what: str, resource: Resource) -> Volley:
    return Volley(Aim.at(what, resource, components=["scheduler"], namespace=NAMESPACE), Fault(lost="answer"), count=1)


def test_a_bind_request_that_fails_before_its_creation_is_answered_is_replaced(cluster):
    """The failure arrives while the decision of the pod is in flight: it must not be lost."""
    cluster.create(device_class())
    cluster.nodes("node-a")
    cluster.create(gpus(1), claim(request(), name="a"))
    cluster.pod("a", "a")
    points = FaultPoints()
    transport = FaultyTransport(cluster.plane.transport(), points, component="scheduler", clock=cluster.clock)
    scheduler = Scheduler(KubeClient(transport), clock=cluster.clock, options=SchedulerOptions())
    failed: list[str] = []

    def fail() -> None:
        """Be a binder that is quicker than the answer, and wait until the scheduler has seen to it."""
        made = cluster.client.get(BIND_REQUESTS, "a", NAMESPACE)
        cluster.client.update_status(BIND_REQUESTS, {**made, "status": {"phase": "Failed", "reason": "no"}})
        uid, over = made["metadata"]["uid"], threading.Event()

        def seen() -> bool:
            return bool((scheduler.view.requests.get(uid) or {}).get("status", {}).get("phase") == "Failed")

        deadline = cluster.clock.monotonic() + 60
        while not (seen() and scheduler._queue.queue.is_idle()) and cluster.clock.monotonic() < deadline:
            cluster.clock.wait(over, 0.005)
        failed.append(uid)

    aim = Aim.at("creations", BIND_REQUESTS, components=["scheduler"], namespace=NAMESPACE)
    points.add(Volley(aim, Fault(then=fail), count=1))
    scheduler.start()
    try:
        cluster.wait(BIND_REQUESTS, lambda seen: any(failed and uid_of(one) not in failed for one in seen))
    finally:
        scheduler.stop()
        transport.close()
    assert len(failed) == 1


def held(cluster: SchedulingCluster) -> list[str]:
    claims = cluster.client.list(RESOURCE_CLAIMS, NAMESPACE).items
    return [
        result["device"]
        for found in claims
        for result in found.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    ]


@pytest.mark.parametrize("revision", ["kai-0.17", "documented"])
def test_a_bind_request_that_was_not_answered_is_not_made_twice(cluster, revision):
    cluster.create(device_class())
    cluster.nodes("node-a")
    cluster.create(gpus(2), claim(request(), name="a"), claim(request(), name="b"))
    cluster.pod("a", "a")
    cluster.pod("b", "b")
    schedule(cluster, ("a", "b"), lost("creations", BIND_REQUESTS), revision=revision, dynamic_resource_allocation=True)
    made = cluster.client.list(BIND_REQUESTS, NAMESPACE).items
    assert sorted(one["spec"]["podName"] for one in made) == ["a", "b"]
    devices = [
        result["device"]
        for one in made
        for entry in one["spec"]["resourceClaimAllocations"]
        for result in entry["allocation"]["devices"]["results"]
    ]
    assert len(set(devices)) == 2


@pytest.mark.parametrize(
    ("what", "resource"),
    [("updates", RESOURCE_CLAIMS), ("status updates", RESOURCE_CLAIMS), ("bindings", PODS)],
)
def test_a_direct_binding_that_was_not_answered_is_finished(cluster, what, resource):
    cluster.create(device_class())
    cluster.nodes("node-a")
    cluster.create(gpus(2), claim(request(), name="a"), claim(request(), name="b"))
    cluster.pod("a", "a")
    cluster.pod("b", "b")
    schedule(cluster, ("a", "b"), lost(what, resource), publish="direct")
    assert len(set(held(cluster))) == len(held(cluster)) == 2
    for found in cluster.client.list(RESOURCE_CLAIMS, NAMESPACE).items:
        assert [user["name"] for user in found["status"]["reservedFor"]] == [name_of(found)]


@pytest.mark.parametrize(
    ("what", "resource"),
    [
        ("creations", RESOURCE_CLAIMS),
        ("updates", RESOURCE_CLAIMS),
        ("status updates", RESOURCE_CLAIMS),
        ("status updates", PODS),
        ("bindings", PODS),
    ],
)
def test_the_claim_of_extended_resources_is_made_once(cluster, what, resource):
    made = device_class()
    made["spec"]["extendedResourceName"] = EXTENDED
    cluster.create(made)
    cluster.nodes("node-a")
    cluster.create(gpus(2))
    limits = {"limits": {EXTENDED: "1"}, "requests": {EXTENDED: "1"}}
    cluster.pod("train", containers=[{"name": "c", "image": "i", "resources": limits}])
    schedule(cluster, ("train",), lost(what, resource), publish="direct")
    (found,) = cluster.client.list(RESOURCE_CLAIMS, NAMESPACE).items
    assert [user["name"] for user in found["status"]["reservedFor"]] == ["train"]
    pod = cluster.client.get(PODS, "train", NAMESPACE)
    assert pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"] == name_of(found)
