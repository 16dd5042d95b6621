"""The binder on the embedded control plane: the happy path, refusals, retries, crashes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_cluster import Cluster, FaultyTransport, condition, dead_after, emulated_cluster, fail_times, refusal

from dra_api.client import KubeClient
from dra_api.objects import BIND_REQUESTS, PODS, RESOURCE_CLAIMS, Obj, uid_of
from dra_api.releases import DEFAULT_RELEASE
from dra_api.transport import Response, TransportError
from reference_impl.binder import Binder, BinderOptions
from reference_impl.binder.claims import DELETE_PROTECTION

OPTIONS = BinderOptions()


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    release = getattr(request, "param", DEFAULT_RELEASE)  # a test names another one by an indirect parameter
    with emulated_cluster(tmp_path, nodes=("n1", "n2"), bind_requests=True, release=release) as found:
        yield found


def binder(cluster: Cluster, *, options: BinderOptions = OPTIONS, transport: FaultyTransport | None = None) -> Binder:
    client = KubeClient(transport or cluster.transport, user_agent="binder")
    return Binder(client, clock=cluster.clock, options=options)


def node_name(pod: Obj) -> str:
    return str(pod["spec"].get("nodeName") or "")


def reserved(claim: Obj) -> list[str]:
    return [item["uid"] for item in claim.get("status", {}).get("reservedFor") or ()]


def test_a_claim_is_allocated_reserved_and_its_pod_bound(cluster: Cluster) -> None:
    transport = FaultyTransport(cluster.transport)
    cluster.run(binder(cluster, transport=transport))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"})
    wanted = cluster.allocation()
    cluster.bind_request("p", allocations={"gpu": wanted}, owner=pod)

    request = cluster.phase("p", "Succeeded")
    bound, claim = cluster.get(PODS, "p"), cluster.get(RESOURCE_CLAIMS, "c1")
    assert node_name(bound) == "n1"
    assert bound["metadata"]["annotations"]["received-resource-type"] == "Regular"
    assert (condition(bound, "PodBound")["status"], condition(bound, "PodBound")["reason"]) == ("True", "Bound")
    assert claim["status"]["allocation"]["devices"]["results"] == wanted["devices"]["results"]
    assert claim["status"]["allocation"]["nodeSelector"] == wanted["nodeSelector"]
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid_of(pod)}]
    assert DELETE_PROTECTION in claim["metadata"]["finalizers"]
    assert cluster.wait_event("p", "Bound") == "Pod bound successfully to node n1"
    assert request["status"] == {"phase": "Succeeded"}
    # claim before binding, binding before phase; six writes: finalizer, allocation, binding, condition, event, phase
    kinds = [path.rpartition("/")[2] if method != "PATCH" else path.split("/")[-2] for method, path in transport.writes]
    assert kinds.index("status") < kinds.index("binding")
    assert len(transport.writes) <= 6
    assert not [path for method, path in transport.writes if method == "PATCH" and path.endswith("/pods/p")]


def test_a_pod_without_claims_needs_two_writes_besides_its_phase(cluster: Cluster) -> None:
    transport = FaultyTransport(cluster.transport)
    cluster.run(binder(cluster, transport=transport))
    cluster.pod("p")
    cluster.bind_request("p", predictedNUMAZones=[{"zone": "z0", "amount": {"cpu": "1"}}])
    cluster.phase("p", "Succeeded")
    pod = cluster.get(PODS, "p")
    assert node_name(pod) == "n1"
    assert (
        pod["metadata"]["annotations"]["kai.scheduler/numa-placement-predicted"]
        == ('[{"amount":{"cpu":"1"},"zone":"z0"}]')
        or '"zone":"z0"' in pod["metadata"]["annotations"]["kai.scheduler/numa-placement-predicted"]
    )
    assert [method for method, _ in transport.writes] == ["POST", "PATCH", "PATCH"]


def test_the_request_may_have_another_name_than_its_pod(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.pod("p")
    cluster.bind_request("p", name="other")
    cluster.phase("other", "Succeeded")
    assert node_name(cluster.get(PODS, "p")) == "n1"


def test_a_shared_claim_keeps_its_other_consumers(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.claim("c1")
    pods = [cluster.pod(f"p{number}", claims={"gpu": "c1"}) for number in range(6)]
    for pod in pods:
        cluster.bind_request(pod["metadata"]["name"], allocations={"gpu": cluster.allocation()}, owner=pod)
    for pod in pods:
        cluster.phase(pod["metadata"]["name"], "Succeeded")
    assert sorted(reserved(cluster.get(RESOURCE_CLAIMS, "c1"))) == sorted(uid_of(pod) for pod in pods)


def test_one_claim_under_two_names_is_reserved_once(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"a": "c1", "b": "c1"})
    cluster.bind_request("p", allocations={"a": cluster.allocation(), "b": cluster.allocation()})
    cluster.phase("p", "Succeeded")
    assert reserved(cluster.get(RESOURCE_CLAIMS, "c1")) == [uid_of(pod)]


def test_a_template_claim_is_found_through_the_pods_status(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    pod = cluster.pod("p", templates={"gpu": "t"})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid_of(pod), "controller": True}
    cluster.claim("p-gpu-abcde", ownerReferences=[owner])
    status = {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-abcde"}]}}
    cluster.client.patch(PODS, "p", status, subresource="status")
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    cluster.phase("p", "Succeeded")
    assert reserved(cluster.get(RESOURCE_CLAIMS, "p-gpu-abcde")) == [uid_of(pod)]


@pytest.mark.parametrize(
    ("prepare", "request_", "reason"),
    [
        (lambda c: None, {"allocations": {"gpu": "x"}}, "not found"),
        (
            lambda c: c.pod("p", claims={"gpu": "c1"}),
            {"allocations": {"gpu": "x"}},
            "ResourceClaim default/c1 does not",
        ),
        (
            lambda c: (c.claim("c1"), c.pod("p", claims={"gpu": "c1"})),
            {"allocations": {"gpu": None}},
            "no allocation for claim 'gpu'",
        ),
        (
            lambda c: (c.claim("c1"), c.pod("p", claims={"gpu": "c1"})),
            {"allocations": {"gpu": "x", "nic": "x"}},
            "claim 'nic'",
        ),
        (
            lambda c: c.pod("p", templates={"gpu": "t"}),
            {"allocations": {"gpu": "x"}},
            "claim 'gpu' comes from a template",
        ),
        (lambda c: (c.claim("c1"), c.pod("p", claims={"gpu": "c1"})), {"allocations": {}}, "has no entry for it"),
        (
            lambda c: (c.claim("c1"), c.pod("p", claims={"gpu": "c1"})),
            {"allocations": {"gpu": "x"}, "node": "n2"},
            "cannot be used on node n2",
        ),
        (
            lambda c: (c.claim("c1"), c.pod("p", claims={"gpu": "c1"})),
            {"allocations": {"gpu": "x"}, "node": "n9"},
            'Node "n9" not found',
        ),
    ],
)
def test_what_cannot_work_fails_with_its_reason_and_leaves_the_claim_alone(
    cluster: Cluster, prepare: Callable[[Cluster], Any], request_: dict[str, Any], reason: str
) -> None:
    cluster.run(binder(cluster))
    prepare(cluster)
    allocations = {k: cluster.allocation() if v else None for k, v in request_["allocations"].items()}
    cluster.bind_request("p", request_.get("node", "n1"), allocations=allocations)
    request = cluster.phase("p", "Failed")
    assert reason in request["status"]["reason"]
    assert request["status"].get("failedAttempts", 0) == 0
    for claim in cluster.client.list(RESOURCE_CLAIMS, "default").items:
        assert not claim.get("status")
    if not cluster.gone(PODS, "p"):
        pod = cluster.get(PODS, "p")
        assert node_name(pod) == ""
        assert condition(pod, "PodBound")["reason"] == "BindingError"
        assert reason in cluster.wait_event("p", "BindingError")
    assert all(event[1] != "Bound" for event in cluster.events("p"))


def test_a_second_claim_that_is_missing_leaves_the_first_alone(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.claim("c1")
    cluster.pod("p", claims={"a": "c1", "b": "c2"})
    cluster.bind_request("p", allocations={"a": cluster.allocation(), "b": cluster.allocation("gpu-1")})
    cluster.phase("p", "Failed")
    assert not cluster.get(RESOURCE_CLAIMS, "c1").get("status")


def test_an_existing_allocation_must_be_the_requested_one(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.claim("c1")
    held = cluster.allocate("c1", cluster.allocation("gpu-7"))
    cluster.pod("p", claims={"gpu": "c1"})
    cluster.bind_request("p", allocations={"gpu": cluster.allocation("gpu-0")})
    cluster.phase("p", "Failed")
    now = cluster.get(RESOURCE_CLAIMS, "c1")
    assert now["status"]["allocation"] == held["status"]["allocation"]
    assert not node_name(cluster.get(PODS, "p"))


def test_a_repeated_allocation_is_kept_whatever_its_timestamp(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.claim("c1")
    cluster.allocate("c1", cluster.allocation())
    pod = cluster.pod("p", claims={"gpu": "c1"})
    entry = {**cluster.allocation(), "allocationTimestamp": "2026-01-01T00:00:00Z"}
    cluster.bind_request("p", allocations={"gpu": entry})
    cluster.phase("p", "Succeeded")
    assert reserved(cluster.get(RESOURCE_CLAIMS, "c1")) == [uid_of(pod)]


def test_entries_of_a_pod_without_claims_are_ignored(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.pod("p")
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    cluster.phase("p", "Succeeded")


def test_a_bound_pod_is_left_as_it_is(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.claim("c1")
    cluster.pod("p", claims={"gpu": "c1"}, node="n2")
    cluster.bind_request("p", "n1", allocations={"gpu": cluster.allocation()})
    cluster.phase("p", "Succeeded")
    assert node_name(cluster.get(PODS, "p")) == "n2"
    assert not cluster.get(RESOURCE_CLAIMS, "c1").get("status")
    assert "n2" in cluster.wait_event("p", "Bound")


def test_a_recreated_pod_is_not_bound_by_the_old_request(cluster: Cluster) -> None:
    cluster.claim("c1")
    cluster.pod("p", claims={"gpu": "c1"})
    # The garbage collector removes such a request soon; the binder must not depend on being slower.
    stale = {
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "b-1",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "an-earlier-pod"}],
        },
        "spec": {
            "podName": "p",
            "selectedNode": "n1",
            "resourceClaimAllocations": [{"name": "gpu", "allocation": cluster.allocation()}],
        },
    }
    part = binder(cluster)
    with cluster.running(part):
        outcome = part.attempt(stale)
    assert outcome is not None
    assert "made for another pod" in outcome.reason
    pod = cluster.get(PODS, "p")
    assert node_name(pod) == ""
    assert not condition(pod, "PodBound")
    assert not cluster.get(RESOURCE_CLAIMS, "c1").get("status")


def test_a_terminating_pod_is_refused_before_its_claim_is_written(cluster: Cluster) -> None:
    transport = FaultyTransport(cluster.transport)
    cluster.run(binder(cluster, transport=transport))
    cluster.claim("c1")
    cluster.pod("p", claims={"gpu": "c1"}, finalizers=["example.com/keep"])
    cluster.client.delete(PODS, "p")
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    assert "being deleted" in cluster.phase("p", "Failed")["status"]["reason"]
    assert not [path for _, path in transport.writes if "resourceclaims" in path]


def test_a_template_claim_of_another_pod_is_refused(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.pod("p", templates={"gpu": "t"})
    cluster.claim("p-gpu-abcde")
    status = {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-abcde"}]}}
    cluster.client.patch(PODS, "p", status, subresource="status")
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    assert "was not made for this pod" in cluster.phase("p", "Failed")["status"]["reason"]
    assert not cluster.get(RESOURCE_CLAIMS, "p-gpu-abcde").get("status")


@pytest.mark.parametrize(("conflicts", "phase"), [(4, "Succeeded"), (99, "Failed")])
def test_conflicts_on_the_claim_are_tried_five_times(cluster: Cluster, conflicts: int, phase: str) -> None:
    transport = FaultyTransport(cluster.transport)
    transport.fault = fail_times(conflicts, "PUT", "/c1/status", lambda: refusal(409, "Conflict"))
    cluster.run(binder(cluster, transport=transport))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"})
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    request = cluster.phase("p", phase)
    assert transport.writes.count(("PUT", RESOURCE_CLAIMS.path("default", "c1", "status"))) == 5
    if phase == "Succeeded":
        assert reserved(cluster.get(RESOURCE_CLAIMS, "c1")) == [uid_of(pod)]
    else:
        assert "5 tries" in request["status"]["reason"]


def test_a_consumer_added_between_read_and_write_is_kept(cluster: Cluster) -> None:
    cluster.claim("c1")
    other, pod = cluster.pod("other"), cluster.pod("p", claims={"gpu": "c1"})
    once = threading.Event()

    def fault(method: str, path: str, send: Callable[[], Response]) -> Response:
        if method == "PUT" and path.endswith("/c1/status") and not once.is_set():
            once.set()
            cluster.allocate("c1", cluster.allocation(), other)
        return send()

    transport = FaultyTransport(cluster.transport)
    transport.fault = fault
    cluster.run(binder(cluster, transport=transport))
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    cluster.phase("p", "Succeeded")
    assert set(reserved(cluster.get(RESOURCE_CLAIMS, "c1"))) == {uid_of(other), uid_of(pod)}


def test_a_forbidden_claim_write_fails_at_once(cluster: Cluster) -> None:
    transport = FaultyTransport(cluster.transport)
    transport.fault = fail_times(1, "PUT", "/c1/status", lambda: refusal(403, "Forbidden", "no binding permission"))
    cluster.run(binder(cluster, transport=transport))
    cluster.claim("c1")
    cluster.pod("p", claims={"gpu": "c1"})
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    assert "no binding permission" in cluster.phase("p", "Failed")["status"]["reason"]
    assert node_name(cluster.get(PODS, "p")) == ""


def test_a_failed_binding_gives_the_claim_back(cluster: Cluster) -> None:
    transport = FaultyTransport(cluster.transport)
    transport.fault = fail_times(1, "POST", "/binding", lambda: refusal(500, "InternalError", "no luck"))
    cluster.run(binder(cluster, transport=transport))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"})
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    assert "no luck" in cluster.phase("p", "Failed")["status"]["reason"]
    claim = cluster.get(RESOURCE_CLAIMS, "c1")
    assert not claim.get("status")
    assert not claim["metadata"].get("finalizers")
    # a new, identical request succeeds
    cluster.client.delete(BIND_REQUESTS, "p")
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    cluster.phase("p", "Succeeded")
    assert reserved(cluster.get(RESOURCE_CLAIMS, "c1")) == [uid_of(pod)]


def test_a_binding_whose_answer_was_lost_is_a_success(cluster: Cluster) -> None:
    lost = threading.Event()

    def fault(method: str, path: str, send: Callable[[], Response]) -> Response:
        answer = send()
        if path.endswith("/binding") and not lost.is_set():
            lost.set()
            raise TransportError("connection reset (injected)")
        return answer

    transport = FaultyTransport(cluster.transport)
    transport.fault = fault
    cluster.run(binder(cluster, transport=transport))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"})
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    cluster.phase("p", "Succeeded")
    assert reserved(cluster.get(RESOURCE_CLAIMS, "c1")) == [uid_of(pod)]


def test_a_binding_that_fails_leaves_no_annotation_behind(cluster: Cluster) -> None:
    transport = FaultyTransport(cluster.transport)
    transport.fault = fail_times(1, "POST", "/pods/p/binding", lambda: refusal(500, "InternalError", "no luck"))
    cluster.run(binder(cluster, transport=transport))
    cluster.pod("p")
    cluster.bind_request("p")
    cluster.phase("p", "Failed")
    pod = cluster.get(PODS, "p")
    assert node_name(pod) == ""
    assert "received-resource-type" not in (pod["metadata"].get("annotations") or {})


def test_bindings_take_priority_over_reports(cluster: Cluster) -> None:
    """With one worker, all bindings come before the first condition; all conditions and phases come in the end."""
    names = [f"p{number}" for number in range(8)]
    for name in names:
        cluster.pod(name)
        cluster.bind_request(name)
    transport = FaultyTransport(cluster.transport)
    cluster.run(binder(cluster, options=BinderOptions(workers=1), transport=transport))
    for name in names:
        cluster.phase(name, "Succeeded")
        assert condition(cluster.get(PODS, name), "PodBound")["status"] == "True"
    kinds = [path.rpartition("/")[2] for _, path in transport.writes if not path.endswith("/events")]
    assert kinds == ["binding"] * 8 + ["status"] * 16


def test_attempts_are_counted_up_to_the_limit_and_then_end(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.pod("p", claims={"gpu": "c1"})
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()}, backoffLimit=3)
    for attempts, wait in ((1, 1.0), (2, 2.0), (3, 4.0)):
        cluster.wait(BIND_REQUESTS, "p", lambda obj, n=attempts: obj.get("status", {}).get("failedAttempts") == n)
        cluster.settle(0.1)
        assert cluster.get(BIND_REQUESTS, "p")["status"]["failedAttempts"] == attempts
        cluster.clock.advance(wait + 0.1)
    cluster.clock.advance(600)
    cluster.settle(0.2)
    request = cluster.get(BIND_REQUESTS, "p")
    assert request["status"]["failedAttempts"] == 3
    assert all(event[1] != "Bound" for event in cluster.events("p"))
    assert condition(cluster.get(PODS, "p"), "PodBound")["status"] == "False"


def test_a_retry_succeeds_once_the_cause_is_gone(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.pod("p", claims={"gpu": "c1"})
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()}, backoffLimit=3)
    cluster.phase("p", "Failed")
    cluster.claim("c1")
    cluster.clock.advance(1.5)
    request = cluster.phase("p", "Succeeded")
    assert "reason" not in request["status"]
    assert condition(cluster.get(PODS, "p"), "PodBound")["status"] == "True"


def test_an_update_of_a_failed_request_causes_one_more_attempt(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.bind_request("p")
    cluster.phase("p", "Failed")
    cluster.pod("p")
    cluster.settle(0.1)
    assert cluster.get(BIND_REQUESTS, "p")["status"]["phase"] == "Failed"
    cluster.client.patch(BIND_REQUESTS, "p", {"metadata": {"annotations": {"again": "please"}}})
    cluster.phase("p", "Succeeded")


def test_a_change_while_the_failure_is_written_causes_one_more_attempt(cluster: Cluster) -> None:
    once = threading.Event()

    def fault(method: str, path: str, send: Callable[[], Response]) -> Response:
        if method == "PATCH" and path.endswith("/p/status") and "bindrequests" in path and not once.is_set():
            once.set()
            cluster.client.patch(BIND_REQUESTS, "p", {"spec": {"selectedNode": "n1"}})
        return send()

    transport = FaultyTransport(cluster.transport)
    transport.fault = fault
    cluster.run(binder(cluster, transport=transport))
    cluster.pod("p")
    cluster.bind_request("p", node="never-was")
    cluster.phase("p", "Succeeded")
    assert once.is_set()


def test_a_restart_tries_failed_requests_again_and_leaves_succeeded_ones(cluster: Cluster) -> None:
    with cluster.running(binder(cluster)):
        cluster.bind_request("p")
        cluster.phase("p", "Failed")
    cluster.pod("p")
    with cluster.running(binder(cluster)):
        cluster.phase("p", "Succeeded")
    before = cluster.get(BIND_REQUESTS, "p")
    transport = FaultyTransport(cluster.transport)
    with cluster.running(binder(cluster, transport=transport)):
        cluster.settle(0.2)
    assert transport.writes == []
    assert cluster.get(BIND_REQUESTS, "p") == before


@pytest.mark.parametrize("writes", range(7))  # it takes seven
def test_a_crash_after_any_write_is_completed_by_the_next_start(cluster: Cluster, writes: int) -> None:
    cluster.claim("c1")
    cluster.claim("c2")
    pod = cluster.pod("p", claims={"a": "c1", "b": "c2"})
    cluster.bind_request("p", allocations={"a": cluster.allocation(), "b": cluster.allocation("gpu-1")}, owner=pod)
    dying = FaultyTransport(cluster.transport)
    first = binder(cluster, transport=dying)
    dying.fault = dead_after(writes)
    with cluster.running(first):
        assert cluster.eventually(lambda: len(dying.writes) > writes)
        cluster.settle(0.05)
    with cluster.running(binder(cluster)):
        cluster.phase("p", "Succeeded")
    bound = cluster.get(PODS, "p")
    assert node_name(bound) == "n1"
    assert bound["metadata"]["annotations"]["received-resource-type"] == "Regular"
    assert condition(bound, "PodBound")["status"] == "True"
    for name in ("c1", "c2"):
        claim = cluster.get(RESOURCE_CLAIMS, name)
        assert reserved(claim) == [uid_of(pod)]
        assert DELETE_PROTECTION in claim["metadata"]["finalizers"]


def test_a_phase_that_could_not_be_written_is_written_later(cluster: Cluster) -> None:
    transport = FaultyTransport(cluster.transport)
    path = BIND_REQUESTS.path("default", "p", "status")
    transport.fault = fail_times(2, "PATCH", path, lambda: refusal(500, "InternalError"))
    cluster.run(binder(cluster, transport=transport))
    cluster.pod("p")
    cluster.bind_request("p")
    cluster.phase("p", "Succeeded")
    assert [item for item in transport.writes if item[1].endswith("/binding")] == [
        ("POST", "/api/v1/namespaces/default/pods/p/binding")
    ]


def test_two_requests_for_one_pod_bind_it_once(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.pod("p")
    cluster.bind_request("p", "n1", name="one")
    cluster.bind_request("p", "n2", name="two")
    cluster.phase("one", "Succeeded")
    cluster.phase("two", "Succeeded")


def test_with_the_gate_off_a_pod_with_claims_is_refused(cluster: Cluster) -> None:
    cluster.run(binder(cluster, options=BinderOptions(dynamic_resource_allocation=False)))
    cluster.claim("c1")
    cluster.pod("p", claims={"gpu": "c1"})
    cluster.pod("plain")
    cluster.bind_request("p", allocations={"gpu": cluster.allocation()})
    cluster.bind_request("plain")
    assert "DynamicResourceAllocation is off" in cluster.phase("p", "Failed")["status"]["reason"]
    cluster.phase("plain", "Succeeded")


def test_a_fraction_without_groups_is_deleted(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    cluster.pod("p")
    cluster.bind_request("p", receivedResourceType="Fraction")
    cluster.wait_gone(BIND_REQUESTS, "p")
    assert node_name(cluster.get(PODS, "p")) == ""
    assert "selectedGPUGroups" in cluster.wait_event("p", "BindingError")
    assert all(event[1] != "Bound" for event in cluster.events("p"))


def test_a_bug_costs_one_request_not_the_binder(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    part = binder(cluster)
    right = part.find_node

    def wrong(request: Obj) -> Obj:
        if request["metadata"]["name"] == "p":
            raise ZeroDivisionError("a bug")
        return right(request)

    monkeypatch.setattr(part, "find_node", wrong)
    cluster.run(part)
    cluster.pod("p")
    cluster.pod("q")
    cluster.bind_request("p")
    cluster.bind_request("q")
    assert "ZeroDivisionError: a bug" in cluster.phase("p", "Failed")["status"]["reason"]
    cluster.phase("q", "Succeeded")


def extended_entry(cluster: Cluster) -> Obj:
    return {
        "allocation": cluster.allocation(request="container-0-request-0"),
        "deviceRequests": [
            {
                "name": "container-0-request-0",
                "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
            }
        ],
        "containerMappings": [
            {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0-request-0"}
        ],
    }


def extended_pod(cluster: Cluster) -> Obj:
    resources = {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}}
    body = {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "busybox", "resources": resources}]},
    }
    return cluster.client.create(PODS, body)


def test_an_extended_resource_gets_its_claim(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    pod = extended_pod(cluster)
    cluster.bind_request("p", extendedResourceClaimAllocation=extended_entry(cluster))
    cluster.phase("p", "Succeeded")
    (claim,) = cluster.client.list(RESOURCE_CLAIMS, "default").items
    assert claim["metadata"]["name"].startswith("p-extended-resources-")
    assert claim["metadata"]["annotations"]["resource.kubernetes.io/extended-resource-claim"] == "true"
    assert DELETE_PROTECTION in claim["metadata"]["finalizers"]
    assert claim["metadata"]["ownerReferences"][0]["uid"] == uid_of(pod)
    assert reserved(claim) == [uid_of(pod)]
    recorded = cluster.get(PODS, "p")["status"]["extendedResourceClaimStatus"]
    assert recorded["resourceClaimName"] == claim["metadata"]["name"]
    assert recorded["requestMappings"] == extended_entry(cluster)["containerMappings"]


def test_an_extended_entry_without_allocation_is_the_reason_of_the_failure(cluster: Cluster) -> None:
    cluster.run(binder(cluster))
    extended_pod(cluster)
    cluster.bind_request("p", extendedResourceClaimAllocation={"containerMappings": []})
    cluster.phase("p", "Failed")
    reason = cluster.get(BIND_REQUESTS, "p")["status"]["reason"]
    assert reason == "extendedResourceClaimAllocation has no allocation"


@pytest.mark.parametrize(
    ("cluster", "recorded"),
    [("1.36", False), ("1.37", True)],  # the API server of 1.37 keeps a status that a write leaves out (#139876)
    indirect=["cluster"],
)
def test_a_failed_binding_removes_the_extended_claim(cluster: Cluster, recorded: bool) -> None:
    transport = FaultyTransport(cluster.transport)
    transport.fault = fail_times(1, "POST", "/binding", lambda: refusal(500, "InternalError"))
    cluster.run(binder(cluster, transport=transport))
    extended_pod(cluster)
    cluster.bind_request("p", extendedResourceClaimAllocation=extended_entry(cluster))
    cluster.phase("p", "Failed")
    assert cluster.client.list(RESOURCE_CLAIMS, "default").items == []
    assert bool(cluster.get(PODS, "p")["status"].get("extendedResourceClaimStatus")) is recorded


def test_stop_may_be_called_twice_and_ends_all_threads(cluster: Cluster) -> None:
    before = threading.active_count()
    part = binder(cluster)
    part.start()
    part.stop()
    part.stop()
    assert cluster.eventually(lambda: threading.active_count() <= before)
