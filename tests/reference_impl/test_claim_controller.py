"""The claim controller on the embedded control plane: rules DRA-100 to DRA-121."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_cluster import Cluster, FaultyTransport, dead_after, emulated_cluster

from dra_api.client import KubeClient
from dra_api.objects import NAMESPACES, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, Obj, name_of, uid_of
from reference_impl.claim_controller import ClaimController, ClaimControllerOptions
from reference_impl.claim_controller.generate import generate_name

PROTECTION = "resource.kubernetes.io/delete-protection"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with emulated_cluster(tmp_path, nodes=("n1",)) as found:
        yield found


def controller(cluster: Cluster, transport: FaultyTransport | None = None) -> ClaimController:
    return ClaimController(KubeClient(transport or cluster.transport, user_agent="claims"), clock=cluster.clock)


def recorded(pod: Obj) -> dict[str, str | None]:
    return {
        item["name"]: item.get("resourceClaimName") for item in pod.get("status", {}).get("resourceClaimStatuses") or ()
    }


def generated(cluster: Cluster, pod: str, entry: str = "gpu") -> str:
    found = cluster.wait(PODS, pod, lambda obj: recorded(obj).get(entry))
    name = recorded(found)[entry]
    assert name
    return name


def claims(cluster: Cluster) -> list[Obj]:
    return cluster.client.list(RESOURCE_CLAIMS, "default").items


def bind(cluster: Cluster, pod: str) -> None:
    cluster.client.bind(cluster.get(PODS, pod), "n1")


@pytest.mark.parametrize(
    ("pod", "claim", "expected"),
    [
        ("p", "m0", "p-m0-"),
        ("a" * 27, "b" * 28, "a" * 27 + "-" + "b" * 28 + "-"),
        ("a" * 60, "b" * 63, "a" * 27 + "-" + "b" * 28),
    ],
)
def test_the_name_is_cut_in_proportion(pod: str, claim: str, expected: str) -> None:
    assert generate_name(pod, claim) == expected
    assert len(expected) + 5 <= 62


def test_a_claim_is_made_from_its_template_and_recorded(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.template("t", labels={"team": "a"}, annotations={"note": "b"})
    pod = cluster.pod("p", templates={"gpu": "t", "nic": "t"})
    name = generated(cluster, "p")
    claim = cluster.get(RESOURCE_CLAIMS, name)
    meta = claim["metadata"]
    assert meta["generateName"] == "p-gpu-"
    assert meta["labels"] == {"team": "a"}
    assert meta["annotations"] == {"note": "b", "resource.kubernetes.io/pod-claim-name": "gpu"}
    assert meta["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "uid": uid_of(pod),
            "controller": True,
        }
    ]
    assert claim["spec"] == cluster.get(RESOURCE_CLAIM_TEMPLATES, "t")["spec"]["spec"]
    assert generated(cluster, "p", "nic") != name
    cluster.settle(0.1)
    assert len(claims(cluster)) == 2
    managers = [item["manager"] for item in cluster.get(PODS, "p")["metadata"].get("managedFields") or ()]
    assert not managers or "ResourceClaimController" in managers


def test_a_missing_template_is_reported_and_waited_for(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.pod("p", templates={"gpu": "t"})
    message = cluster.wait_event("p", "FailedResourceClaimCreation")
    assert message == 'PodResourceClaim gpu: resource claim template "t" not found'
    cluster.template("t")
    generated(cluster, "p")


def test_a_deleted_claim_is_made_again(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.template("t")
    cluster.pod("p", templates={"gpu": "t"})
    first = generated(cluster, "p")
    cluster.client.delete(RESOURCE_CLAIMS, first)
    cluster.wait(PODS, "p", lambda obj: recorded(obj).get("gpu") not in (None, first))
    assert [name_of(item) for item in claims(cluster)] == [generated(cluster, "p")]


def test_an_orphan_of_an_earlier_run_is_adopted(cluster: Cluster) -> None:
    cluster.template("t")
    cluster.pod("p", templates={"gpu": "t"})
    dying = FaultyTransport(cluster.transport)
    dying.fault = dead_after(1)
    with cluster.running(controller(cluster, dying)):
        assert cluster.eventually(lambda: len(claims(cluster)) == 1)
        cluster.settle(0.05)
    with cluster.running(controller(cluster)):
        name = generated(cluster, "p")
    assert [name_of(item) for item in claims(cluster)] == [name]


def test_a_claim_of_another_owner_is_not_taken(cluster: Cluster) -> None:
    cluster.template("t")
    cluster.pod("p", templates={"gpu": "t"})
    cluster.claim("p-gpu-xxxxx")
    status = {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-xxxxx"}]}}
    cluster.client.patch(PODS, "p", status, subresource="status")
    cluster.run(controller(cluster))
    cluster.wait(PODS, "p", lambda obj: recorded(obj).get("gpu") not in (None, "p-gpu-xxxxx"))


def test_an_entry_without_a_name_means_no_claim(cluster: Cluster) -> None:
    cluster.template("t")
    cluster.pod("p", templates={"gpu": "t"})
    cluster.client.patch(PODS, "p", {"status": {"resourceClaimStatuses": [{"name": "gpu"}]}}, subresource="status")
    cluster.run(controller(cluster))
    cluster.settle()
    assert claims(cluster) == []


@pytest.mark.parametrize("how", ["deleted", "Succeeded", "Failed"])
def test_the_last_consumer_frees_a_users_claim(cluster: Cluster, how: str) -> None:
    cluster.run(controller(cluster))
    cluster.claim("c1")
    pods = [cluster.pod(name, claims={"gpu": "c1"}) for name in ("p", "q")]
    cluster.allocate("c1", cluster.allocation(), *pods)
    for name in ("p", "q"):
        bind(cluster, name)

    def leave(name: str) -> None:
        if how == "deleted":
            cluster.client.delete(PODS, name, grace_period_seconds=0)
        else:
            cluster.finish_pod(name, how)

    leave("p")
    claim = cluster.wait(RESOURCE_CLAIMS, "c1", lambda obj: len(obj["status"]["reservedFor"]) == 1)
    assert claim["status"]["allocation"]
    cluster.settle(0.2)
    assert [item["name"] for item in cluster.get(RESOURCE_CLAIMS, "c1")["status"]["reservedFor"]] == ["q"]
    leave("q")
    claim = cluster.wait(RESOURCE_CLAIMS, "c1", lambda obj: not obj["metadata"].get("finalizers"))
    assert not claim.get("status")
    cluster.settle(0.1)
    assert not cluster.gone(RESOURCE_CLAIMS, "c1")


def test_an_entry_of_another_kind_stays(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"})
    cluster.allocate("c1", cluster.allocation(), pod)
    claim = cluster.get(RESOURCE_CLAIMS, "c1")
    other = {"apiGroup": "example.com", "resource": "widgets", "name": "w", "uid": "w-1"}
    claim["status"]["reservedFor"].append(other)
    cluster.client.update_status(RESOURCE_CLAIMS, claim)
    cluster.client.delete(PODS, "p", grace_period_seconds=0)
    claim = cluster.wait(RESOURCE_CLAIMS, "c1", lambda obj: len(obj["status"]["reservedFor"]) == 1)
    assert claim["status"]["reservedFor"] == [other]
    assert claim["status"]["allocation"]
    assert PROTECTION in claim["metadata"]["finalizers"]


def test_an_entry_of_an_earlier_pod_of_that_name_goes(cluster: Cluster) -> None:
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"})
    earlier = {"metadata": {"name": "p", "uid": "00000000-0000-0000-0000-000000000001"}}
    cluster.allocate("c1", cluster.allocation(), pod, earlier)
    cluster.run(controller(cluster))
    claim = cluster.wait(RESOURCE_CLAIMS, "c1", lambda obj: len(obj["status"]["reservedFor"]) == 1)
    assert claim["status"]["reservedFor"][0]["uid"] == uid_of(pod)


def test_a_claim_that_was_never_reserved_is_left_until_it_is_deleted(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.claim("c1")
    cluster.allocate("c1", cluster.allocation())
    cluster.settle()
    assert cluster.get(RESOURCE_CLAIMS, "c1")["status"]["allocation"]
    cluster.client.delete(RESOURCE_CLAIMS, "c1")
    cluster.wait_gone(RESOURCE_CLAIMS, "c1")


def test_a_reserved_claim_outlives_its_deletion_until_the_pod_is_gone(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"})
    cluster.allocate("c1", cluster.allocation(), pod)
    bind(cluster, "p")
    cluster.client.delete(RESOURCE_CLAIMS, "c1")
    cluster.settle(0.2)
    claim = cluster.get(RESOURCE_CLAIMS, "c1")
    assert claim["metadata"]["deletionTimestamp"]
    assert claim["status"]["allocation"]
    cluster.client.delete(PODS, "p", grace_period_seconds=0)
    cluster.wait_gone(RESOURCE_CLAIMS, "c1")


def test_a_finished_pod_loses_its_generated_claim_and_a_running_one_keeps_it(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.template("t")
    names = {}
    for pod_name in ("done", "busy"):
        pod = cluster.pod(pod_name, templates={"gpu": "t"})
        names[pod_name] = generated(cluster, pod_name)
        cluster.allocate(names[pod_name], cluster.allocation(pod_name), pod)
        bind(cluster, pod_name)
        cluster.run_pod(pod_name)
    cluster.finish_pod("done")
    cluster.wait_gone(RESOURCE_CLAIMS, names["done"])
    assert not cluster.gone(PODS, "done")
    cluster.settle(0.2)
    assert cluster.get(RESOURCE_CLAIMS, names["busy"])["status"]["allocation"]
    assert len(claims(cluster)) == 1


def test_a_pod_with_a_preset_node_is_reserved_but_never_allocated(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"}, node="n1")
    cluster.settle(0.2)
    assert not cluster.get(RESOURCE_CLAIMS, "c1").get("status")
    cluster.allocate("c1", cluster.allocation())
    claim = cluster.wait(RESOURCE_CLAIMS, "c1", lambda obj: obj["status"].get("reservedFor"))
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid_of(pod)}]


def test_a_finished_pod_is_not_reserved_again_beside_a_live_one(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.claim("c1")
    pods = [cluster.pod(name, claims={"gpu": "c1"}) for name in ("p", "q")]
    cluster.allocate("c1", cluster.allocation(), *pods)
    for name in ("p", "q"):
        bind(cluster, name)
    cluster.finish_pod("p")
    cluster.wait(RESOURCE_CLAIMS, "c1", lambda obj: len(obj["status"]["reservedFor"]) == 1)
    before = cluster.get(RESOURCE_CLAIMS, "c1")["metadata"]["resourceVersion"]
    cluster.settle()
    assert cluster.get(RESOURCE_CLAIMS, "c1")["metadata"]["resourceVersion"] == before


def test_a_pod_deleted_before_it_was_scheduled_gives_its_claim_back(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    cluster.claim("c1")
    pod = cluster.pod("p", claims={"gpu": "c1"}, finalizers=["example.com/keep"])
    cluster.allocate("c1", cluster.allocation(), pod)
    cluster.client.delete(PODS, "p")
    cluster.wait(RESOURCE_CLAIMS, "c1", lambda obj: not obj.get("status"))


def test_a_refused_claim_is_reported_in_an_event(cluster: Cluster) -> None:
    cluster.run(controller(cluster))
    label = "resource.kubernetes.io/admin-access"
    cluster.client.patch(NAMESPACES, "default", {"metadata": {"labels": {label: "true"}}})
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}]}}
    cluster.client.create(
        RESOURCE_CLAIM_TEMPLATES, {"metadata": {"name": "t", "namespace": "default"}, "spec": {"spec": spec}}
    )
    cluster.client.patch(NAMESPACES, "default", {"metadata": {"labels": {label: None}}})
    cluster.pod("p", templates={"gpu": "t"})
    # The first attempt may fail because the controller has not observed the template yet.
    message = cluster.wait_event("p", "FailedResourceClaimCreation", text="create ResourceClaim")
    assert message.startswith("PodResourceClaim gpu: create ResourceClaim : ")
    assert "admin" in message
    assert claims(cluster) == []


def test_pods_of_groups_get_no_claims_while_workloads_are_off() -> None:
    """`sync_pod` returns before it creates anything; the pod with no group is the other tests'."""
    pod: Obj = {"metadata": {"name": "p"}, "spec": {"schedulingGroup": {"podGroupName": "g"}}}
    made: list[str] = []

    class Groups:
        def is_awaited(self, pod: Obj) -> bool:
            return False

        def claims_of(self, pod: Obj) -> dict[str, str | None]:
            made.append(name_of(pod))
            return {}

    part = ClaimController.__new__(ClaimController)
    part.groups = Groups()  # type: ignore[assignment]
    for on in (True, False):
        part.options = ClaimControllerOptions(workloads=on)
        made.clear()
        part.sync_pod(pod)
        assert made == (["p"] if on else [])
