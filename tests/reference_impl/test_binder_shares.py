"""Shares of GPUs in the binder: what a BindRequest says about them, reservation pods, ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_cluster import Cluster, emulated_cluster

from dra_api.informer import Change
from dra_api.objects import CONFIG_MAPS, NAMESPACES, PODS, Obj, meta, name_of
from reference_impl.binder import fractions
from reference_impl.binder.failure import BindFailure, DevicesPending
from reference_impl.binder.options import BinderOptions
from reference_impl.binder.reservations import Key, Reservations, reservation_pod
from reference_impl.binder.shared_gpus import SharedGpus, is_owned_by
from reference_impl.gpu_groups import GROUP_LABEL, groups_of, groups_of_pod

OPTIONS = BinderOptions(reservation_namespace="default", reservation_service_account="default", reservation_timeout=5.0)


def request(*groups: str, **spec: Any) -> Obj:
    base = {"receivedResourceType": "Fraction", "receivedGPU": {"portion": "0.50"}, "selectedGPUGroups": [*groups]}
    return {"metadata": {"name": "p", "uid": "r"}, "spec": {**base, **spec}}


def pod(containers: tuple[Obj, ...] = ({"name": "main"},), init: tuple[Obj, ...] = (), **annotations: str) -> Obj:
    named = {key.replace("_", "-"): value for key, value in annotations.items()}
    return {
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "uid": "u",
            "annotations": {"runai/shared-gpu-configmap": "m", **named},
        },
        "spec": {"containers": [*containers], "initContainers": [*init]},
    }


def share(*groups: str, of: Obj | None = None) -> fractions.PodShare:
    found = fractions.share_of(request(*groups), of or pod())
    assert found is not None
    return found


# -- decisions ---------------------------------------------------------------------------------------------------------


def test_only_a_request_for_a_fraction_has_groups() -> None:
    assert groups_of(request("a", "b")) == ("a", "b")
    assert groups_of(request("a", receivedResourceType="Regular")) == ()
    assert fractions.share_of(request(), pod()) is None


def test_a_pod_names_its_groups_in_one_label_or_in_one_for_each() -> None:
    assert share("a").labels == {GROUP_LABEL: "a"}
    assert share("a", "b").labels == {f"{GROUP_LABEL}/a": "a", f"{GROUP_LABEL}/b": "b"}
    assert share("a", of=pod(gpu_fraction_num_devices="2")).labels == {f"{GROUP_LABEL}/a": "a"}
    labels = {GROUP_LABEL: "a", f"{GROUP_LABEL}/b": "b", f"{GROUP_LABEL}-other": "c"}
    assert groups_of_pod({"metadata": {"labels": labels}}) == {"a", "b"}


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({}, "m-0"),
        ({"gpu_fraction_container_name": "side"}, "m-1"),
        ({"gpu_fraction_container_name": "prepare"}, "m-i0"),
    ],
)
def test_the_config_map_is_that_of_the_container(named: dict[str, str], expected: str) -> None:
    found = share("a", of=pod(({"name": "main"}, {"name": "side"}), ({"name": "prepare"},), **named))
    assert (found.config_map, found.environment_map) == (expected, f"{expected}-evar")


def test_a_share_without_portion_config_map_or_container_fails() -> None:
    with pytest.raises(BindFailure, match="no portion"):
        fractions.share_of(request("a", receivedGPU=None), pod())
    with pytest.raises(BindFailure, match="shared-gpu-configmap"):
        fractions.share_of(request("a"), {"metadata": {"name": "p"}, "spec": {}})
    with pytest.raises(BindFailure, match="'none'"):
        fractions.share_of(request("a"), pod(gpu_fraction_container_name="none"))


def test_visible_devices_are_where_the_container_reads_them() -> None:
    settings = {"GPU_PORTION": "0.50", "RUNAI_NUM_OF_GPUS": "0.50"}
    assert share("a").config_maps(("3",)) == {"m-0": settings, "m-0-evar": {"NVIDIA_VISIBLE_DEVICES": "3"}}
    reference = {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"configMapKeyRef": {"name": "m-0"}}}
    referred = share("a", of=pod(({"name": "main", "env": [reference]},)))
    assert referred.config_maps(("3", "1"))["m-0"]["NVIDIA_VISIBLE_DEVICES"] == "3,1"
    assert referred.config_maps(("3", "1"))["m-0-evar"] == {}


def test_cdi_devices_have_the_kind_of_the_device_plugin() -> None:
    assert fractions.cdi_devices(("0", "4")) == tuple(f"k8s.device-plugin.nvidia.com/gpu={index}" for index in (0, 4))


@pytest.mark.parametrize(
    ("status", "limit", "wanted"),
    [({}, None, True), ({"phase": "Succeeded"}, None, False), ({"phase": "Failed"}, None, False)]
    + [({"phase": "Failed", "failedAttempts": count}, 2, count < 2) for count in (1, 2)],
)
def test_a_request_may_reserve_until_its_last_attempt(status: Obj, limit: int | None, wanted: bool) -> None:
    found = request("a", **({} if limit is None else {"backoffLimit": limit}))
    found["status"] = status
    assert fractions.may_reserve(found, "a") is wanted
    assert not fractions.may_reserve(found, "b")


def test_a_reservation_pod_has_a_name_of_its_node_and_group() -> None:
    one, other = reservation_pod("n1", "a", OPTIONS), reservation_pod("n2", "a", OPTIONS)
    assert name_of(one) == name_of(reservation_pod("n1", "a", OPTIONS)) != name_of(other)
    assert one["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}


# -- on an API server --------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with emulated_cluster(tmp_path, bind_requests=True) as found:
        found.client.create(NAMESPACES, {"metadata": {"name": "work"}})
        yield found


class Lab:
    """Reservations on a cluster; pods are in the namespace `work`."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        self.woken: list[Key] = []
        self.synced: list[str] = []
        self.client = cluster.client
        self.clock = cluster.clock
        settings = replace(OPTIONS, **options)
        self.reservations = Reservations(
            cluster.client, options=settings, clock=cluster.clock, wake=self.woken.append, sync=self.synced.append
        )
        self.shares = SharedGpus(cluster.client, self.reservations, cdi_enabled=settings.cdi_enabled)

    def pod(self, name: str, phase: str = "Pending", **labels: str) -> Obj:
        named = {key.replace("_", "-"): value for key, value in labels.items()}
        annotations = {"runai/shared-gpu-configmap": name}
        container = {"name": "main", "image": "pause"}
        made = self.client.create(
            PODS,
            {
                "metadata": {"name": name, "namespace": "work", "labels": named, "annotations": annotations},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
            },
        )
        if phase != "Pending":
            made = self.client.patch(PODS, name, {"status": {"phase": phase}}, "work", subresource="status")
        return made

    def held(self) -> list[Obj]:
        return list(self.client.list(PODS, "default").items)

    def report(self, index: str) -> None:
        for one in self.held():
            patch = {"metadata": {"annotations": {fractions.INDEX_ANNOTATION: index}}}
            self.client.patch(PODS, name_of(one), patch, "default")

    def reserve(self, pod_object: Obj, *groups: str) -> tuple[str, ...]:
        found = fractions.share_of(request(*groups), pod_object)
        assert found is not None
        return self.reservations.reserve(pod_object, "n1", found)


def test_the_pod_gets_its_label_once_the_gpu_is_known(cluster: Cluster) -> None:
    lab = Lab(cluster)
    mine = lab.pod("p")
    with pytest.raises(DevicesPending):
        lab.reserve(mine, "a")
    assert GROUP_LABEL not in (meta(lab.client.get(PODS, "p", "work")).get("labels") or {})
    lab.report("7")
    assert lab.reserve(mine, "a") == ("7",)
    assert meta(lab.client.get(PODS, "p", "work"))["labels"][GROUP_LABEL] == "a"
    assert len(lab.held()) == 1


def test_a_reservation_without_index_is_given_up_after_the_timeout(cluster: Cluster) -> None:
    lab = Lab(cluster)
    mine = lab.pod("p")
    with pytest.raises(DevicesPending):
        lab.reserve(mine, "a")
    lab.clock.advance(5.1)
    with pytest.raises(BindFailure, match="after 5 s"):
        lab.reserve(mine, "a")
    assert lab.held() == []


def test_a_reservation_on_another_node_is_a_failure(cluster: Cluster) -> None:
    lab = Lab(cluster)
    lab.client.create(PODS, reservation_pod("n2", "a", OPTIONS))
    with pytest.raises(BindFailure, match="reserved on node n2"):
        lab.reserve(lab.pod("p"), "a")


@pytest.mark.parametrize(("condition", "blocks"), [(None, False), ("True", False), ("False", True), ("Unknown", True)])
def test_an_unschedulable_pod_of_the_scale_adjust_namespace_blocks(
    cluster: Cluster, condition: str | None, blocks: bool
) -> None:
    lab = Lab(cluster, scale_adjust_namespace="work")
    mine = lab.pod("p")
    if condition is not None:
        conditions = [{"type": "PodScheduled", "status": condition}]
        lab.client.patch(PODS, "p", {"status": {"conditions": conditions}}, "work", subresource="status")
    with pytest.raises(BindFailure if blocks else DevicesPending):
        lab.reserve(mine, "a")
    assert bool(lab.held()) is not blocks


def test_running_pods_without_reservation_are_deleted(cluster: Cluster) -> None:
    lab = Lab(cluster)
    labels = {"runai_gpu_group": "a"}
    lab.pod("running", "Running", **labels)
    lab.pod("pending", **labels)
    lab.pod("other", "Running", runai_gpu_group="b")
    lab.reservations.delete_unreserved("a")
    assert sorted(name_of(one) for one in lab.client.list(PODS, "work").items) == ["other", "pending"]
    lab.client.create(PODS, reservation_pod("n1", "b", OPTIONS))
    lab.reservations.delete_unreserved("b")
    assert lab.client.find(PODS, "other", "work") is not None


def test_a_reservation_stays_for_a_consumer_and_for_a_waiting_request(cluster: Cluster) -> None:
    lab = Lab(cluster)
    lab.client.create(PODS, reservation_pod("n1", "a", OPTIONS))
    lab.pod("p", runai_gpu_group="a")
    lab.reservations.release_unused("a")
    assert lab.held()
    lab.client.delete(PODS, "p", "work")
    made = cluster.bind_request("q", receivedResourceType="Fraction", selectedGPUGroups=["a"])
    lab.reservations.release_unused("a")
    assert lab.held()
    lab.reservations.release_unused("a", ended=meta(made)["uid"])
    assert lab.held() == []


def test_labels_of_an_earlier_attempt_go(cluster: Cluster) -> None:
    lab = Lab(cluster)
    mine = lab.pod("p", runai_gpu_group="old")
    with pytest.raises(DevicesPending):
        lab.reserve(mine, "a", "b")
    lab.report("7")
    assert lab.reserve(mine, "a", "b") == ("7", "7")
    assert groups_of_pod(lab.client.get(PODS, "p", "work")) == {"a", "b"}


def test_a_group_that_a_pod_leaves_is_looked_after(cluster: Cluster) -> None:
    lab = Lab(cluster)
    before, after = lab.pod("p", runai_gpu_group="old"), lab.pod("q", runai_gpu_group="new")
    lab.reservations.on_pod(Change("MODIFIED", after, before))
    assert lab.synced == ["old"]


def test_changes_of_pods_wake_and_sync(cluster: Cluster) -> None:
    lab = Lab(cluster)
    mine = lab.pod("p")
    with pytest.raises(DevicesPending):
        lab.reserve(mine, "a")
    (held,) = lab.held()
    lab.report("7")
    (reported,) = lab.held()
    lab.reservations.on_pod(Change("MODIFIED", reported, held))
    assert lab.woken == [("work", "p")]
    lab.reservations.on_pod(Change("DELETED", reported, reported))
    pending = lab.pod("r", runai_gpu_group="b")
    running: Obj = {**pending, "status": {"phase": "Running"}}
    ended: Obj = {**pending, "status": {"phase": "Succeeded"}}
    lab.reservations.on_pod(Change("MODIFIED", running, pending))
    lab.reservations.on_pod(Change("MODIFIED", ended, running))
    assert lab.synced == ["a", "b", "b"]


def test_other_changes_of_pods_lead_to_no_request(cluster: Cluster) -> None:
    lab = Lab(cluster)
    with pytest.raises(DevicesPending):
        lab.reserve(lab.pod("p"), "a")
    (held,) = lab.held()
    conditions = [{"type": "Ready", "status": "True"}]
    started: Obj = {**held, "status": {"phase": "Running", "conditions": conditions}}
    lab.reservations.on_pod(Change("MODIFIED", started, held))
    running = lab.pod("r", "Running", runai_gpu_group="b")
    ready: Obj = {**running, "status": {**running["status"], "conditions": conditions}}
    lab.reservations.on_pod(Change("MODIFIED", ready, running))
    assert (lab.woken, lab.synced) == ([], [])


def test_a_roll_back_removes_config_maps_of_this_pod_and_its_label(cluster: Cluster) -> None:
    lab = Lab(cluster, cdi_enabled=True)
    mine = lab.pod("p")
    found = fractions.share_of(request("a"), mine)
    assert found is not None
    with pytest.raises(DevicesPending):
        lab.shares.commit(mine, "n1", found)
    lab.report("2")
    lab.shares.commit(mine, "n1", found)
    environment = lab.client.get(CONFIG_MAPS, "p-0-evar", "work")
    assert environment["data"] == {"NVIDIA_VISIBLE_DEVICES": "k8s.device-plugin.nvidia.com/gpu=2"}
    assert is_owned_by(environment, mine)
    lab.client.update(CONFIG_MAPS, {**environment, "metadata": {**environment["metadata"], "ownerReferences": []}})
    lab.shares.roll_back(request("a"), mine)
    assert lab.client.find(CONFIG_MAPS, "p-0", "work") is None
    assert lab.client.find(CONFIG_MAPS, "p-0-evar", "work") is not None, "it is another pod's now"
    assert GROUP_LABEL not in (meta(lab.client.get(PODS, "p", "work")).get("labels") or {})
    assert lab.held() == []
