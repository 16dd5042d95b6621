"""Pods: binding, eviction, graceful deletion, validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import ApiError, Conflict, Forbidden, Invalid, KubeClient, TooManyRequests
from dra_api.objects import NODES, PODS

Obj = dict[str, Any]
MakePod = Callable[..., Obj]


def causes(error: ApiError) -> list[tuple[str, str]]:
    return [(c["reason"], c["field"]) for c in error.causes]


def test_binding_assigns_once(client: KubeClient, pod: MakePod) -> None:
    made = client.create(PODS, pod("p"))
    client.bind(made, "n1")
    found = client.get(PODS, "p", "default")
    assert found["spec"]["nodeName"] == "n1"
    scheduled = found["status"]["conditions"][0]
    assert (scheduled["type"], scheduled["status"]) == ("PodScheduled", "True")
    with pytest.raises(Conflict) as refused:
        client.bind(made, "n2")
    assert refused.value.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )


def test_binding_checks_uid_deletion_gates_and_target(
    plane: ApiServerEmulator, client: KubeClient, pod: MakePod
) -> None:
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    made = client.create(PODS, held)
    with pytest.raises(Conflict, match="Precondition failed: UID"):
        client.bind({"metadata": {**made["metadata"], "uid": "other"}}, "n1")
    with pytest.raises(Exception, match="Required value"):
        plane.server.call(
            "POST", "/api/v1/namespaces/default/pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node"}}
        )
    client.delete(PODS, "p", "default")
    with pytest.raises(Conflict, match="is being deleted, cannot be assigned to a host"):
        client.bind(made, "n1")
    gated = client.create(PODS, pod("g", schedulingGates=[{"name": "example.com/wait"}]))
    assert gated["status"]["conditions"][0]["reason"] == "SchedulingGated"
    with pytest.raises(Conflict, match=r"non-empty \.spec\.schedulingGates"):
        client.bind(gated, "n1")


def test_unbound_pods_are_deleted_at_once_and_bound_ones_by_their_kubelet(client: KubeClient, pod: MakePod) -> None:
    client.create(PODS, pod("free"))
    client.delete(PODS, "free", "default")
    assert client.find(PODS, "free", "default") is None
    client.create(PODS, pod("bound", nodeName="n1"))
    marked = client.delete(PODS, "bound", "default")
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert marked["metadata"]["generation"] == 2
    shorter = client.delete(PODS, "bound", "default", grace_period_seconds=5)
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    longer = client.delete(PODS, "bound", "default", grace_period_seconds=60)
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 5
    client.delete(PODS, "bound", "default", grace_period_seconds=0)
    assert client.find(PODS, "bound", "default") is None


def test_finished_pods_are_deleted_at_once(client: KubeClient, pod: MakePod) -> None:
    client.create(PODS, pod("done", nodeName="n1"))
    client.patch(PODS, "done", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
    client.delete(PODS, "done", "default")
    assert client.find(PODS, "done", "default") is None


def test_eviction_deletes_unless_a_budget_forbids(plane: ApiServerEmulator, client: KubeClient, pod: MakePod) -> None:
    labelled = pod("p")
    labelled["metadata"]["labels"] = {"app": "a"}
    made = client.create(PODS, labelled)
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    plane.server.call(
        "POST",
        budgets,
        {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}},
    )
    client.patch(PODS, "p", {"status": {"phase": "Running"}}, "default", subresource="status")
    with pytest.raises(TooManyRequests):
        client.evict(made)
    plane.server.call("DELETE", f"{budgets}/b")
    client.evict(made)
    assert client.find(PODS, "p", "default") is None


def test_eviction_fails_for_a_pod_with_two_budgets(plane: ApiServerEmulator, client: KubeClient, pod: MakePod) -> None:
    labelled = pod("p")
    labelled["metadata"]["labels"] = {"app": "a"}
    made = client.create(PODS, labelled)
    client.patch(PODS, "p", {"status": {"phase": "Running"}}, "default", subresource="status")
    for name in ("one", "two"):
        plane.server.call(
            "POST",
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {"metadata": {"name": name}, "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": "a"}}}},
        )
    with pytest.raises(ApiError) as refused:
        client.evict(made)
    assert refused.value.status == 500
    assert "more than one PodDisruptionBudget" in str(refused.value)


def test_claims_of_a_pod_are_checked(client: KubeClient, pod: MakePod) -> None:
    def create(claims: list[Obj], references: list[Obj] | None = None) -> ApiError:
        body = pod("p", resourceClaims=claims)
        body["spec"]["containers"][0]["resources"] = {"claims": references or []}
        with pytest.raises(Invalid) as refused:
            client.create(PODS, body)
        return refused.value

    both = create([{"name": "c", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}])
    neither = create([{"name": "c"}])
    assert causes(both) == causes(neither) == [("FieldValueInvalid", "spec.resourceClaims[0]")]
    named = {"name": "c", "resourceClaimName": "a"}
    assert causes(create([named, named])) == [("FieldValueDuplicate", "spec.resourceClaims[1].name")]
    unknown = create([named], [{"name": "d"}])
    assert causes(unknown) == [("FieldValueNotFound", "spec.containers[0].resources.claims[0]")]
    for pair in (
        [{"name": "c"}, {"name": "c", "request": "r"}],
        [{"name": "c", "request": "r"}, {"name": "c"}],
        [{"name": "c"}, {"name": "c"}],
        [{"name": "c", "request": "r"}, {"name": "c", "request": "r"}],
    ):
        assert causes(create([named], pair)) == [("FieldValueDuplicate", "spec.containers[0].resources.claims[1]")]
    good = pod("ok", resourceClaims=[named])
    good["spec"]["containers"][0]["resources"] = {
        "claims": [{"name": "c", "request": "r1"}, {"name": "c", "request": "r2"}]
    }
    client.create(PODS, good)


def test_mirror_pods_have_no_claims(client: KubeClient, pod: MakePod) -> None:
    body = pod("m", resourceClaims=[{"name": "c", "resourceClaimName": "a"}])
    body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    with pytest.raises(Invalid) as refused:
        client.create(PODS, body)
    assert causes(refused.value) == [("FieldValueForbidden", "[]")]


def test_claim_statuses_must_match_the_spec(client: KubeClient, pod: MakePod) -> None:
    client.create(PODS, pod("p", resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}]))

    def put(*entries: Obj) -> Obj:
        return client.patch(
            PODS, "p", {"status": {"resourceClaimStatuses": list(entries)}}, "default", subresource="status"
        )

    with pytest.raises(Invalid) as refused:
        put({"name": "d", "resourceClaimName": "x"})
    assert causes(refused.value) == [("FieldValueInvalid", "status.resourceClaimStatuses[0].name")]
    with pytest.raises(Invalid) as refused:
        put({"name": "c"}, {"name": "c"})
    assert causes(refused.value) == [("FieldValueDuplicate", "status.resourceClaimStatuses[1].name")]
    assert put({"name": "c"})["status"]["resourceClaimStatuses"] == [{"name": "c"}]


def test_pod_specs_are_nearly_immutable(client: KubeClient, pod: MakePod) -> None:
    made = client.create(PODS, pod("p", activeDeadlineSeconds=100))
    toleration = {"key": "x", "operator": "Exists"}
    allowed = client.patch(
        PODS,
        "p",
        {
            "spec": {
                "activeDeadlineSeconds": 50,
                "tolerations": [*made["spec"]["tolerations"], toleration],
                "containers": [{**made["spec"]["containers"][0], "image": "registry.example/app:2"}],
            }
        },
        "default",
    )
    assert allowed["metadata"]["generation"] == 2
    for change in (
        {"nodeName": "n1"},
        {"restartPolicy": "Never"},
        {"resourceClaims": [{"name": "c", "resourceClaimName": "a"}]},
    ):
        with pytest.raises(Invalid) as refused:
            client.patch(PODS, "p", {"spec": change}, "default")
        assert causes(refused.value) == [("FieldValueForbidden", "spec")]
        assert "pod updates may not change fields other than" in refused.value.message


def test_a_resize_changes_cpu_and_memory_only(client: KubeClient, pod: MakePod) -> None:
    body = pod("p", initContainers=[{"name": "load", "image": "registry.example/app:1"}])
    amounts = {"cpu": "1", "example.com/gpu": "1"}
    body["spec"]["containers"][0]["resources"] = {"limits": amounts, "requests": amounts}
    made = client.create(PODS, body)

    def resize(**spec: Obj | list[Obj]) -> Obj:
        changed = {**made, "spec": {**made["spec"], **spec}}
        changed["metadata"] = {"name": "p", "namespace": "default"}
        return client.update(PODS, changed, subresource="resize")

    def containers(**resources: str) -> list[Obj]:
        of_all = {"limits": resources, "requests": resources}
        return [{**made["spec"]["containers"][0], "image": "registry.example/app:2", "resources": of_all}]

    done = resize(containers=containers(cpu="2", **{"example.com/gpu": "1"}), restartPolicy="Never")
    assert done["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2", "example.com/gpu": "1"}
    assert done["spec"]["containers"][0]["image"] == made["spec"]["containers"][0]["image"]
    assert done["spec"]["restartPolicy"] == "Always"
    load = made["spec"]["initContainers"][0]
    nic = {"limits": {"example.com/nic": "1"}, "requests": {"example.com/nic": "1"}}
    for spec, fields in (
        ({"containers": containers(cpu="2", **{"example.com/gpu": "2"})}, {"spec"}),
        (
            {"containers": containers(cpu="2")},
            {f"spec.containers[0].resources.{kind}" for kind in ("requests", "limits")} | {"spec"},
        ),
        ({"initContainers": []}, {"spec.initContainers"}),
        ({"initContainers": [{**load, "name": "other"}]}, {"spec.initContainers[0].name"}),
        ({"initContainers": [{**load, "resources": nic}]}, {"spec.initContainers[0]"}),
    ):
        with pytest.raises(Invalid) as refused:
            resize(**spec)
        assert {field for _, field in causes(refused.value)} == fields


def test_a_resize_needs_a_node_with_that_much(client: KubeClient, pod: MakePod) -> None:
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}}
    client.create(NODES, node)
    body = pod("p")
    amounts = {"cpu": "1", "example.com/gpu": "1"}
    body["spec"]["containers"][0]["resources"] = {"limits": amounts, "requests": amounts}
    made = client.create(PODS, body)
    client.bind(made, "n1")
    name = made["spec"]["containers"][0]["name"]

    def resize(cpu: str) -> Obj:
        resources = {"limits": {"cpu": cpu}, "requests": {"cpu": cpu}}
        patch = {"spec": {"containers": [{"name": name, "resources": resources}]}}
        return client.patch(PODS, "p", patch, "default", kind="strategic", subresource="resize")

    assert resize("4")["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "4", "example.com/gpu": "1"}
    with pytest.raises(Forbidden) as refused:
        resize("4001m")
    assert refused.value.message == (
        'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 4001, allocatable: 4000'
    )
    client.patch(NODES, "n1", {"metadata": {"labels": {"kubernetes.io/os": "windows"}}})
    with pytest.raises(Forbidden, match="only supported on linux nodes"):
        resize("2")
    client.delete(NODES, "n1")
    with pytest.raises(Forbidden, match='node "n1" not found'):
        resize("2")


def test_defaults_of_a_pod(client: KubeClient, pod: MakePod) -> None:
    body = pod("p")
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}}
    made = client.create(PODS, body)
    assert made["status"]["qosClass"] == "Guaranteed"
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert made["spec"]["terminationGracePeriodSeconds"] == 30
    assert {t["key"] for t in made["spec"]["tolerations"]} == {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    }


WHOLE: Obj = {"limits": {"cpu": "1", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("resources", "found"),
    [
        ([WHOLE, WHOLE], "Guaranteed"),
        ([{**WHOLE, "requests": {"cpu": "1000m"}}], "Guaranteed"),
        ([WHOLE, {}], "Burstable"),
        ([{**WHOLE, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"limits": {"cpu": "0", "memory": "0"}}], "BestEffort"),
        ([{"limits": {"example.com/gpu": "1"}}], "BestEffort"),
    ],
)
def test_quality_of_service(client: KubeClient, pod: MakePod, resources: list[Obj], found: str) -> None:
    containers = [{"name": f"c{at}", "image": "x", "resources": each} for at, each in enumerate(resources)]
    assert client.create(PODS, pod("p", containers=containers))["status"]["qosClass"] == found


def _affinity(*keys: str) -> Obj:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def test_the_node_selection_of_a_gated_pod_becomes_narrower_only(client: KubeClient, pod: MakePod) -> None:
    gates = [{"name": "example.com/wait"}]
    client.create(PODS, pod("p", schedulingGates=gates, nodeSelector={"a": "b"}, affinity=_affinity("a")))

    def refused(spec: Obj) -> str:
        with pytest.raises(Invalid) as found:
            client.patch(PODS, "p", {"spec": spec}, "default")
        return found.value.message

    assert "only additions to spec.nodeSelector are allowed" in refused({"nodeSelector": {"a": None}})
    assert "only additions are allowed (no mutations or deletions)" in refused({"affinity": _affinity("b", "a")})
    assert "no additions/deletions to non-empty NodeSelectorTerms" in refused({"affinity": None})
    narrower = {"nodeSelector": {"c": "d"}, "affinity": _affinity("a", "b")}
    assert client.patch(PODS, "p", {"spec": narrower}, "default")["spec"]["nodeSelector"] == {"a": "b", "c": "d"}


def test_a_mapping_of_extended_resources_names_a_container_and_its_resource(client: KubeClient, pod: MakePod) -> None:
    container = {"name": "a", "image": "x", "resources": {"limits": {"example.com/gpu": "1"}}}
    client.create(PODS, pod("p", containers=[container]))
    good = {"containerName": "a", "resourceName": "example.com/gpu", "requestName": "r"}

    def put(*mappings: Obj, claim: str = "c") -> list[str]:
        status = {"extendedResourceClaimStatus": {"resourceClaimName": claim, "requestMappings": list(mappings)}}
        with pytest.raises(Invalid) as refused:
            client.patch(PODS, "p", {"status": status}, "default", subresource="status")
        return [each["field"].removeprefix("status.extendedResourceClaimStatus.") for each in refused.value.causes]

    assert put({**good, "containerName": "z"}) == ["requestMappings[0].containerName"]
    assert put({**good, "resourceName": "example.com/nic"}) == ["requestMappings[0].resourceName"]
    assert put({**good, "requestName": "Not_Valid"}) == ["requestName"]
    assert put({**good, "requestName": "r" * 64}) == ["requestName"]
    assert put() == ["requestMappings"]
    assert put(good, claim="") == put(good, claim="A_b") == put(good, claim="c" * 254) == ["resourceClaimName"]
    assert put(good, good) == [
        f"requestMappings[1].{name}" for name in ("containerName", "resourceName", "requestName")
    ]


def test_a_node_writes_no_claims_and_no_labels_through_the_status_of_its_pods(
    plane: ApiServerEmulator, client: KubeClient, pod: MakePod
) -> None:
    claims = [{"name": "g", "resourceClaimTemplateName": "t"}]
    client.create(PODS, pod("p", nodeName="n1", resourceClaims=claims))
    node = KubeClient(plane.transport_for("system:node:n1", ["system:nodes"]))
    refused: tuple[tuple[Obj, str], ...] = (
        ({"metadata": {"labels": {"a": "b"}}}, "cannot update labels through pod status"),
        (
            {"status": {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "c"}]}},
            "cannot update resource claim statues",
        ),
        (
            {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}}},
            "cannot update extended resource claim status",
        ),
    )
    for change, words in refused:
        with pytest.raises(Forbidden, match=words):
            node.patch(PODS, "p", change, "default", subresource="status")
    running = node.patch(PODS, "p", {"status": {"phase": "Running"}}, "default", subresource="status")
    assert running["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"controller": False}, "a controller owner reference set to itself"),
        ({"kind": "Pod"}, "can only create pods with an owner reference set to itself"),
        ({"blockOwnerDeletion": True}, "must not set blockOwnerDeletion on an owner reference"),
        ({"uid": "x"}, "UID mismatch: expected x got "),
    ],
)
def test_a_node_creates_mirror_pods_that_it_owns(
    plane: ApiServerEmulator, client: KubeClient, pod: MakePod, changed: Obj, words: str
) -> None:
    uid = client.create(NODES, {"metadata": {"name": "n1"}})["metadata"]["uid"]
    node = KubeClient(plane.transport_for("system:node:n1", ["system:nodes"]))
    body = pod("m", nodeName="n1")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": True}
    body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    body["metadata"]["ownerReferences"] = [{**owner, **changed}]
    with pytest.raises(Forbidden, match=words):
        node.create(PODS, body)
    body["metadata"]["ownerReferences"] = [owner]
    body["spec"]["volumes"] = [{"name": "v", "configMap": {"name": "m"}}]
    with pytest.raises(Forbidden, match="can not create pods that reference configmaps"):
        node.create(PODS, body)
    del body["spec"]["volumes"]
    assert node.create(PODS, body)["spec"]["nodeName"] == "n1"
