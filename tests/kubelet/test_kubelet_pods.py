"""Pods from bound to gone: what is called, when, with what, and what pod status says."""

from __future__ import annotations

import threading

import pytest
from kubelet_world import DRIVER, NODE, World

from dra_api.rpc import ClaimRef, PreparedDevice, PrepareResult
from dra_conformance.kubelet import ClaimRefused, DriverNotRegistered, Gates, KubeletError


def running(node: World, name: str, *claims: str) -> None:
    node.pod(name, *claims)
    node.wait_phase(name, "Running")


def test_one_call_with_all_claims_of_a_driver(node: World) -> None:
    driver = node.driver()
    for name in ("a", "b", "unused"):
        node.claim(name, "p")
    node.pod("p", "a", "b", "unused", uses=["a", "b"])
    node.wait_phase("p", "Running")
    assert [sorted(c.name for c in call) for call in driver.prepared] == [["a", "b", "unused"]]
    assert set(driver.prepared[0]) == {ClaimRef("default", f"uid-claim-{name}", name) for name in ("a", "b", "unused")}
    status = node.status("p")
    assert {c["type"]: c["status"] for c in status["conditions"]}["Ready"] == "True"
    assert status["containerStatuses"][0]["state"]["running"]["startedAt"]
    assert status["podIP"].startswith("10.244.")


def test_a_claim_of_two_drivers_is_prepared_by_both(node: World) -> None:
    one = node.driver()
    two = node.driver(name="nic.example.com")
    node.claim("c", "p", driver=f"{DRIVER} nic.example.com")
    two.devices["c"] = (PreparedDevice(("nic",), NODE, "nic-0", ("nic.example.com/nic=nic-0",)),)
    one.write_spec = False
    (node.kubelet.cdi_roots[0] / "gpu.json").write_text(
        '{"cdiVersion": "0.3.0", "kind": "gpu.example.com/gpu",'
        ' "devices": [{"name": "c", "containerEdits": {"env": ["A=1"]}}]}'
    )
    node.pod("p", "c", uses=["c/nic"])
    node.wait_phase("p", "Running")
    assert (len(one.prepared), len(two.prepared)) == (1, 1)
    assert node.kubelet.wait_running("default", "p", 10.0)["main"].cdi_devices == ("nic.example.com/nic=nic-0",)


def test_the_container_sees_its_devices(node: World) -> None:
    node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    view = node.kubelet.wait_running("default", "p", 10.0)["main"]
    assert view.cdi_devices == ("gpu.example.com/gpu=c",)
    assert view.env == {"COMMON": "yes", "DEVICE_C": "1"}
    assert view.device_paths() == ("/dev/c",)
    assert view.mounts[0].container_path == "/usr/lib/vendor"


def test_a_request_gets_its_own_devices_and_those_without_request(node: World) -> None:
    driver = node.driver()
    driver.devices["c"] = (
        PreparedDevice(("big",), NODE, "d0", ("gpu.example.com/gpu=d0",)),
        PreparedDevice(("small",), NODE, "d1", ("gpu.example.com/gpu=d1",)),
        PreparedDevice((), NODE, "d2", ("gpu.example.com/gpu=d2",)),
    )
    node.claim("c", "p")
    containers = [
        {"name": name, "resources": {"claims": [{"name": "c", **request}]}}
        for name, request in (("big", {"request": "big"}), ("sub", {"request": "small/x"}), ("all", {}))
    ]
    node.pod("p", "c", containers=[*containers, {"name": "none"}])
    node.wait_phase("p", "Running")
    ids = {
        n: [i.split("=")[1] for i in v.cdi_devices] for n, v in node.kubelet.wait_running("default", "p", 10.0).items()
    }
    assert ids == {"big": ["d0", "d2"], "sub": ["d1", "d2"], "all": ["d0", "d1", "d2"], "none": []}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"uid-claim-c": PrepareResult(error="no memory left")}, "failed for ResourceClaim c: no memory left"),
        ({}, "NodePrepareResources skipped 1 ResourceClaims"),
        ({"uid-x": PrepareResult()}, "returned result for unknown claim UID uid-x"),
    ],
)
def test_a_wrong_answer_keeps_the_pod_pending_and_is_retried(
    node: World, answer: dict[str, PrepareResult], expected: str
) -> None:
    driver = node.driver()
    driver.answer = answer
    node.claim("c", "p")
    node.pod("p", "c")
    node.log.wait(lambda: expected in node.kubelet.pod_error("default", "p"))
    assert node.phase("p") == "Pending"
    (event,) = node.api.all("events")
    assert event["reason"] == "FailedPrepareDynamicResources"
    assert expected in event["message"]
    driver.answer = None
    node.wait_phase("p", "Running")
    assert node.kubelet.pod_error("default", "p") == ""


def test_a_prepare_over_45_seconds_times_out_and_is_retried(node: World) -> None:
    driver = node.driver()
    driver.hold = threading.Event()
    node.claim("c", "p")
    node.pod("p", "c")
    assert driver.entered.wait(60)
    node.clock.advance(46)
    node.log.wait(lambda: "DEADLINE_EXCEEDED" in node.kubelet.pod_error("default", "p"))
    driver.hold.set()
    node.wait_phase("p", "Running")


def test_a_shared_claim_is_prepared_once_and_unprepared_by_the_last(node: World) -> None:
    driver = node.driver()
    node.claim("c", "p", "q")
    node.pod("p", "c")
    node.pod("q", "c")
    node.wait_phase("p", "Running")
    node.wait_phase("q", "Running")
    node.kubelet.finish_pod("default", "p", "Succeeded")
    node.wait_phase("p", "Succeeded")
    assert (len(driver.prepared), driver.unprepared) == (1, [])
    node.kubelet.finish_pod("default", "q", "Failed")
    node.wait_phase("q", "Failed")
    assert [c.name for c in driver.unprepared[0]] == ["c"]
    assert node.status("q")["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    assert node.kubelet.claims() == []


def test_a_pod_not_in_reserved_for_is_refused_without_a_call(node: World) -> None:
    driver = node.driver()
    node.claim("c", "someone-else")
    node.pod("p", "c")
    expected = "pod p (uid-p) is not allowed to use ResourceClaim c (uid-claim-c)"
    node.log.wait(lambda: expected in node.kubelet.pod_error("default", "p"))
    assert driver.prepared == []
    node.delete("p")
    node.log.wait(lambda: node.phase("p") == "gone")
    assert driver.unprepared == []


def test_a_pod_of_an_absent_driver_waits_and_can_be_deleted(node: World) -> None:
    node.claim("c", "p")
    node.pod("p", "c")
    node.log.wait(lambda: f"DRA driver {DRIVER} is not registered" in node.kubelet.pod_error("default", "p"))
    node.delete("p")
    node.log.wait(lambda: node.phase("p") == "gone")


def test_a_template_claim_must_be_the_pods_own(node: World) -> None:
    node.driver()
    node.claim("generated", "p")
    pod = node.pod("p", resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}])
    node.log.wait(lambda: "ResourceClaim not created yet" in node.kubelet.pod_error("default", "p"))
    pod["status"]["resourceClaimStatuses"] = [{"name": "c", "resourceClaimName": "generated"}]
    node.api.put("pods", pod)
    node.log.wait(lambda: "was not created for Pod default/p" in node.kubelet.pod_error("default", "p"))
    claim = node.claim("generated", "p")
    claim["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}]
    node.api.put("resourceclaims", claim)
    node.wait_phase("p", "Running")


def test_the_claim_of_a_pod_group_is_used_by_the_pods_that_name_the_group(node: World) -> None:
    driver = node.driver()
    claim = node.claim("shared")
    owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "g", "uid": "u", "controller": True}
    claim["metadata"]["ownerReferences"] = [owner]
    reserved = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "u"}
    claim["status"]["reservedFor"] = [reserved]
    node.api.put("resourceclaims", claim)
    entries = [{"name": "c", "resourceClaimTemplateName": "t"}]
    statuses = [{"name": "c", "resourceClaimName": "shared"}]
    for pod, group in (("p", "g"), ("q", "g"), ("other", "h")):
        made = node.pod(pod, schedulingGroup={"podGroupName": group}, resourceClaims=entries)
        made["status"]["resourceClaimStatuses"] = statuses
        node.api.put("pods", made)
    node.wait_phase("p", "Running")
    node.wait_phase("q", "Running")
    node.log.wait(lambda: "was not created for Pod default/other" in node.kubelet.pod_error("default", "other"))
    assert len(driver.prepared) == 1
    claim["metadata"]["ownerReferences"] = [{**owner, "name": "h"}]
    node.api.put("resourceclaims", claim)
    node.log.wait(lambda: "pod other (uid-other) is not allowed" in node.kubelet.pod_error("default", "other"))


def test_deleting_a_pod_unprepares_first_and_waits_for_success(node: World) -> None:
    driver = node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    driver.unprepare_error["c"] = "still busy"
    node.delete("p")
    node.log.wait(lambda: "failed for ResourceClaim c: still busy" in node.kubelet.pod_error("default", "p"))
    assert node.phase("p") == "Running"
    driver.unprepare_error.clear()
    node.log.wait(lambda: node.phase("p") == "gone")
    assert node.kubelet.claims() == []


def test_an_absent_driver_blocks_the_end_of_a_prepared_pod(node: World) -> None:
    node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    node.servers[0].stop(grace=0)
    node.log.wait(lambda: not node.kubelet.plugins.instances(DRIVER))
    node.delete("p")
    node.log.wait(lambda: "is not registered" in node.kubelet.pod_error("default", "p"))
    assert node.phase("p") == "Running"
    node.servers[0].start()
    node.log.wait(lambda: node.phase("p") == "gone")


def test_a_finished_pod_is_unprepared_before_it_is_reported(node: World) -> None:
    driver = node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    driver.unprepare_error["c"] = "not yet"
    node.kubelet.finish_pod("default", "p", "Succeeded")
    node.log.wait(lambda: driver.unprepared)
    assert node.phase("p") == "Running"
    driver.unprepare_error.clear()
    node.wait_phase("p", "Succeeded")
    ready = next(c for c in node.status("p")["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


def test_a_force_deleted_pod_is_unprepared_and_the_loop_catches_failures(node: World) -> None:
    driver = node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    driver.unprepare_error["c"] = "busy"
    node.api.force_delete("pods", "p")
    node.log.wait(lambda: len(driver.unprepared) == 1)
    driver.unprepare_error.clear()
    node.clock.advance(61)
    node.log.wait(lambda: not node.kubelet.claims())
    assert len(driver.unprepared) == 2


def test_the_same_name_with_another_uid_waits_for_the_old_one(node: World) -> None:
    driver = node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    driver.unprepare_error["c"] = "busy"
    node.api.force_delete("pods", "p")
    node.api.force_delete("resourceclaims", "c")
    node.claim("c", "q", uid="uid-new")
    node.pod("q", "c")
    expected = "old ResourceClaim with same name c and different UID uid-claim-c still exists"
    node.log.wait(lambda: expected in node.kubelet.pod_error("default", "q"))
    driver.unprepare_error.clear()
    node.clock.advance(61)
    node.wait_phase("q", "Running")
    assert driver.prepared[-1] == [ClaimRef("default", "uid-new", "c")]


def test_an_undeclared_cdi_id_is_reported_in_status_and_event(node: World) -> None:
    driver = node.driver()
    driver.write_spec = False
    node.claim("c", "p")
    node.pod("p", "c")
    told = "container main: unresolvable CDI devices gpu.example.com/gpu=c"
    node.log.wait(lambda: told in node.kubelet.pod_error("default", "p"))
    waiting = node.status("p")["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "CreateContainerError"
    assert "returned by driver gpu.example.com for claim c" in waiting["message"]
    assert [e["reason"] for e in node.api.all("events")] == ["Failed"]
    with pytest.raises(KubeletError, match="does not run: container main"):
        node.kubelet.wait_running("default", "p", 0.05)
    node.delete("p")
    node.log.wait(lambda: node.phase("p") == "gone")
    assert len(driver.unprepared) == 1


def test_the_extended_resource_claim_counts_as_one_more(node: World) -> None:
    driver = node.driver()
    node.claim("ext", "p")
    pod = node.pod("p")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"example.com/gpu": "1"}}
    pod["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "ext",
        "requestMappings": [{"containerName": "main", "resourceName": "example.com/gpu", "requestName": "gpu"}],
    }
    pod["metadata"]["name"] = "q"
    pod["metadata"]["uid"] = "uid-q"
    node.claim("ext", "q")
    node.api.put("pods", pod)
    node.wait_phase("q", "Running")
    assert node.kubelet.wait_running("default", "q", 10.0)["main"].cdi_devices == ("gpu.example.com/gpu=ext",)
    assert len(driver.prepared) == 1


@pytest.mark.parametrize("skipped", [["*"], ["NodePrepareResources", "NodeUnprepareResources"]])
def test_skipped_node_operations_make_no_call(world: World, skipped: list[str]) -> None:
    world.make(gates=Gates(optional_node_operations=True)).start()
    world.claim("c", "p", skipNodeOperations=skipped)
    world.pod("p", "c")
    world.wait_phase("p", "Running")
    world.delete("p")
    world.log.wait(lambda: world.phase("p") == "gone")
    assert world.log.of("call") == []


def test_a_restart_keeps_running_pods_and_a_reboot_prepares_them_again(node: World) -> None:
    driver = node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    node.kubelet.restart()
    node.kubelet.wait_registered(DRIVER)
    assert node.kubelet.wait_running("default", "p", 10.0)["main"].device_paths() == ("/dev/c",)
    assert len(driver.prepared) == 1
    (claim,) = node.kubelet.claims()
    assert claim.drivers[DRIVER][0].device_name == "dev-c"
    assert claim.drivers[DRIVER][0].share_id == "share-1"
    node.kubelet.reboot()
    node.log.wait(lambda: len(driver.prepared) == 2)
    assert node.kubelet.wait_running("default", "p", 10.0)["main"].device_paths() == ("/dev/c",)


def test_a_pod_deleted_while_the_kubelet_is_down_is_unprepared_from_the_checkpoint(node: World) -> None:
    driver = node.driver()
    node.claim("c", "p")
    running(node, "p", "c")
    node.kubelet.stop()
    node.api.force_delete("pods", "p")
    node.kubelet.start()
    node.kubelet.wait_registered(DRIVER)
    # The loop's first round may come before the driver is registered; then the next is 60 s later.
    node.log.wait(lambda: node.log.of("problem", about="unprepare") or not node.kubelet.claims())
    node.clock.advance(61)
    node.log.wait(lambda: not node.kubelet.claims())
    assert len(driver.unprepared) == 1


def test_a_restart_during_a_call_prepares_again_without_an_event(node: World) -> None:
    driver = node.driver()
    driver.hold = threading.Event()
    node.claim("c", "p")
    node.pod("p", "c")
    assert driver.entered.wait(60)
    node.kubelet.stop()
    assert node.api.all("events") == []
    driver.hold.set()
    node.kubelet.start()
    node.wait_phase("p", "Running")
    assert len(driver.prepared) >= 2


def test_a_pod_that_arrives_during_a_reconcile_round_keeps_its_claims(
    node: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = node.driver()
    life = node.kubelet._life
    assert life is not None
    cache = life.cache
    read = cache.pod_uids
    arrived: list[str] = []

    def pod_arrives_first() -> set[str]:
        if not arrived:
            arrived.append("p")
            node.claim("c", "p")
            running(node, "p", "c")
        return read()

    monkeypatch.setattr(cache, "pod_uids", pod_arrives_first)
    life.pods.reconcile()
    assert arrived
    assert driver.unprepared == []


def test_the_node_is_made_ready(node: World) -> None:
    found = node.api.get("nodes", NODE)
    assert found is not None
    assert found["metadata"]["labels"]["kubernetes.io/hostname"] == NODE
    assert found["status"]["conditions"][0]["status"] == "True"


def test_finishing_an_unknown_pod_is_an_error(node: World) -> None:
    with pytest.raises(KubeletError, match="pod default/absent is not on node node-1"):
        node.kubelet.finish_pod("default", "absent", "Failed")


def test_errors_of_the_kubelet_have_one_base() -> None:
    assert issubclass(ClaimRefused, KubeletError)
    assert issubclass(DriverNotRegistered, KubeletError)


def test_a_pod_that_has_ended_leaves_its_cpu_to_others(node: World) -> None:
    def pod_with_all_cpu(name: str) -> None:
        resources = {"requests": {"cpu": "64"}}
        node.pod(name, containers=[{"name": "main", "image": "i", "resources": resources}])

    pod_with_all_cpu("first")
    node.wait_phase("first", "Running")
    pod_with_all_cpu("early")
    node.wait_phase("early", "Failed")
    assert node.status("early")["reason"] == "OutOfcpu"
    node.kubelet.finish_pod("default", "first", "Succeeded")
    node.wait_phase("first", "Succeeded")
    pod_with_all_cpu("late")
    node.wait_phase("late", "Running")


def test_on_a_node_of_others_only_pods_of_its_namespaces_run(world: World) -> None:
    address = [{"type": "InternalIP", "address": "10.1.2.3"}]
    capacity = {"cpu": "4", "pods": "10"}
    status = {"addresses": address, "capacity": capacity, "allocatable": capacity}
    world.api.put("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "status": status})
    world.make(wipe_at_start=False, serves=lambda namespace: namespace == "default").start()
    node = world.api.get("nodes", NODE)
    assert node is not None
    assert node["status"]["addresses"] == address
    other = {"metadata": {"name": "proxy", "namespace": "kube-system", "uid": "uid-proxy"}}
    spec = {"nodeName": NODE, "containers": [{"name": "main", "image": "i"}]}
    world.api.put("pods", {"apiVersion": "v1", "kind": "Pod", **other, "spec": spec, "status": {"phase": "Pending"}})
    running(world, "p")
    found = world.api.get("pods", "proxy", "kube-system")
    assert found is not None
    assert found["status"] == {"phase": "Pending"}
