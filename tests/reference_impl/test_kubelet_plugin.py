"""The kubelet plugin as a whole: sockets, slices, health, on fake GPUs and an embedded control plane."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fabric_bench import Bench, bench

import fake_nvml
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import NODES, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj, name_of
from dra_api.rpc import DRA_VERSIONS, HEALTH_VERSIONS, ClaimRef, HealthStatus, RegistrationClient, RpcError
from dra_conformance.kubelet.cdi import validate_spec
from reference_impl.kubelet_plugin.discovery import DiscoveryError
from reference_impl.kubelet_plugin.options import OptionError
from reference_impl.kubelet_plugin.plugin import KubeletPlugin
from reference_impl.kubelet_plugin.slices import SliceContent


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        made.node("n1")
        yield made


def only_slice(lab: Bench) -> Obj:
    (found,) = lab.slices()
    return found


def test_registration_announces_all_services(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    with RegistrationClient(lab.base / "n1/r/gpu.nvidia.com-reg.sock") as kubelet:
        info = kubelet.get_info()
    assert (info.type, info.name) == ("DRAPlugin", "gpu.nvidia.com")
    assert info.endpoint == str(lab.base / "n1/p/gpu.nvidia.com/dra.sock")
    assert info.supported_versions == (*DRA_VERSIONS, *HEALTH_VERSIONS)
    assert stat.S_IMODE((lab.base / "n1/p/gpu.nvidia.com").stat().st_mode) == 0o700


def test_health_service_is_not_announced_with_its_gate_off(lab: Bench) -> None:
    lab.gpu_plugin("n1", health=False)
    with RegistrationClient(lab.base / "n1/r/gpu.nvidia.com-reg.sock") as kubelet:
        assert kubelet.get_info().supported_versions == ("v1.DRAPlugin", "v1beta1.DRAPlugin")
    lab.machines["n1"].inject_xid(0, 79)
    assert "taints" not in only_slice(lab)["spec"]["devices"][0]


def test_one_slice_with_all_gpus(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    published = only_slice(lab)
    spec = published["spec"]
    assert spec["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    assert spec["nodeName"] == "n1"
    assert sorted(device["name"] for device in spec["devices"]) == [f"gpu-{i}" for i in range(8)]
    assert name_of(published).startswith("00000-gpu.nvidia.com-n1-")
    (owner,) = published["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Node", "n1")


def test_restart_keeps_the_slice_and_the_claims(lab: Bench) -> None:
    first = lab.gpu_plugin("n1")
    ref = lab.claim("c", "gpu-0")
    before = only_slice(lab)["metadata"]
    with lab.kubelet("n1") as kubelet:
        answer = kubelet.prepare([ref])
    first.stop()
    assert only_slice(lab)["metadata"]["uid"] == before["uid"]
    assert not (lab.base / "n1/p/gpu.nvidia.com/dra.sock").exists()
    assert not (lab.base / "n1/r/gpu.nvidia.com-reg.sock").exists()
    lab.gpu_plugin("n1")
    with lab.kubelet("n1") as kubelet:
        assert kubelet.prepare([ref]) == answer
    assert only_slice(lab)["metadata"]["resourceVersion"] == before["resourceVersion"]


def test_deleted_slice_comes_back(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    lost = only_slice(lab)
    lab.client.delete(RESOURCE_SLICES, name_of(lost))

    def is_back() -> bool:
        found = lab.slices()
        return len(found) == 1 and found[0]["metadata"]["uid"] != lost["metadata"]["uid"]

    assert lab.eventually(is_back, RESOURCE_SLICES)


def test_a_slice_that_others_changed_is_restored(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    bad = only_slice(lab)
    lab.client.update(RESOURCE_SLICES, {**bad, "spec": {**bad["spec"], "devices": bad["spec"]["devices"][:1]}})
    assert lab.eventually(lambda: len(only_slice(lab)["spec"]["devices"]) == 8, RESOURCE_SLICES)
    assert only_slice(lab)["spec"]["pool"]["generation"] == 1


def test_stale_slices_of_its_own_go(lab: Bench) -> None:
    stale = {
        "metadata": {"name": "left-behind"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "n1",
            "pool": {"name": "other", "generation": 1, "resourceSliceCount": 1},
        },
    }
    lab.client.create(RESOURCE_SLICES, stale)
    lab.gpu_plugin("n1")
    assert lab.eventually(lambda: [name_of(s)[:5] for s in lab.slices()] == ["00000"], RESOURCE_SLICES)


def test_node_that_comes_late(tmp_path: Path) -> None:
    with bench(tmp_path) as lab:
        lab.node("n1")
        lab.client.delete(NODES, "n1")
        made = KubeletPlugin(
            lab.client,
            clock=RealClock(),
            nvml=fake_nvml.load_pynvml(lab.machines["n1"]),
            options=lab.options("n1"),
        )
        made.publisher.wait_published = lambda timeout: False  # type: ignore[method-assign]
        lab.run(made)
        assert lab.slices() == []
        lab.client.create(NODES, {"metadata": {"name": "n1"}})
        assert lab.eventually(lambda: len(lab.slices()) == 1, RESOURCE_SLICES)


# -- Prepare over the socket -------------------------------------------------------------------------------------------


def test_prepare_and_unprepare(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    ref = lab.claim("c", "gpu-3")
    spec = lab.base / f"n1/cdi/k8s.gpu.nvidia.com-claim_{ref.uid}.yaml"
    for version in DRA_VERSIONS:
        with lab.kubelet("n1", version=version) as kubelet:
            (device,) = kubelet.prepare([ref])[ref.uid].devices
            assert device.cdi_device_ids == (f"k8s.gpu.nvidia.com/claim={ref.uid}-gpu-3",)
            assert (device.pool_name, device.device_name, device.request_names) == ("n1", "gpu-3", ("r",))
            document = yaml.safe_load(spec.read_text())
            assert validate_spec(document) == []
            nodes = document["devices"][0]["containerEdits"]["deviceNodes"]
            assert [node["path"] for node in nodes] == ["/dev/nvidia3"]
            assert kubelet.unprepare([ref]) == {ref.uid: ""}
            assert not spec.exists()


def test_empty_call_is_a_liveness_probe(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    with lab.kubelet("n1") as kubelet:
        assert kubelet.prepare([]) == {}


def test_claims_that_the_server_does_not_have_fail_the_call(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    good = lab.claim("good", "gpu-0")
    with lab.kubelet("n1") as kubelet:
        with pytest.raises(RpcError, match="got replaced"):
            kubelet.prepare([ClaimRef("default", "other", "good")])
        with pytest.raises(RpcError, match="not allocated"):
            kubelet.prepare([lab.claim("empty")])
        with pytest.raises(RpcError, match="retrieve claim"):
            kubelet.prepare([ClaimRef("default", "x", "nowhere")])
        with pytest.raises(RpcError, match="retrieve claim"):
            kubelet.prepare([good, ClaimRef("default", "x", "nowhere")])


def test_one_bad_claim_does_not_hurt_the_other(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    good, bad = lab.claim("good", "gpu-0"), lab.claim("bad", "gpu-99")
    with lab.kubelet("n1") as kubelet:
        answers = kubelet.prepare([bad, good])
    assert 'allocatable not found for device "gpu-99"' in answers[bad.uid].error
    assert answers[good.uid].error == ""


def test_unprepare_needs_no_claim_object(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    ref = lab.claim("c", "gpu-0")
    with lab.kubelet("n1") as kubelet:
        kubelet.prepare([ref])
        lab.client.delete(RESOURCE_CLAIMS, "c", "default")
        assert kubelet.unprepare([ref, ClaimRef("default", "../../x", "never")]) == {ref.uid: "", "../../x": ""}


def test_static_mig_device_is_published_and_prepared(tmp_path: Path) -> None:
    with bench(tmp_path) as lab:
        lab.node("n1", "dgx-h100-mig")
        lab.gpu_plugin("n1")
        migs = [d for d in only_slice(lab)["spec"]["devices"] if d["attributes"]["type"]["string"] == "mig"]
        assert "gpu-0-mig-1g10gb-19-6" in {device["name"] for device in migs}
        assert "gpu-0" not in {device["name"] for device in only_slice(lab)["spec"]["devices"]}
        ref = lab.claim("c", "gpu-0-mig-1g10gb-19-6")
        with lab.kubelet("n1") as kubelet:
            assert kubelet.prepare([ref])[ref.uid].error == ""
        spec = yaml.safe_load((lab.base / f"n1/cdi/k8s.gpu.nvidia.com-claim_{ref.uid}.yaml").read_text())
        assert validate_spec(spec) == []
        paths = [node["path"] for node in spec["devices"][0]["containerEdits"]["deviceNodes"]]
        assert paths[0] == "/dev/nvidia0"
        assert [path.rstrip("0123456789") for path in paths[1:]] == ["/dev/nvidia-caps/nvidia-cap"] * 2


# -- health ------------------------------------------------------------------------------------------------------------


def test_injected_xid_becomes_taint_and_health(lab: Bench) -> None:
    lab.gpu_plugin("n1")
    generation = only_slice(lab)["spec"]["pool"]["generation"]
    lab.machines["n1"].inject_xid(2, 79)

    def sick() -> Obj | None:
        return next((d for d in only_slice(lab)["spec"]["devices"] if d.get("taints")), None)

    assert lab.eventually(sick, RESOURCE_SLICES)
    device = sick()
    assert device is not None
    assert device["name"] == "gpu-2"
    assert [d["name"] for d in only_slice(lab)["spec"]["devices"] if d.get("taints")] == ["gpu-2"]
    (taint,) = device["taints"]
    assert (taint["key"], taint["value"], taint["effect"]) == ("gpu.nvidia.com/xid", "79", "NoSchedule")
    assert taint["timeAdded"]
    assert only_slice(lab)["spec"]["pool"]["generation"] == generation
    ref = lab.claim("c", "gpu-2")
    with lab.kubelet("n1") as kubelet:
        assert kubelet.prepare([ref])[ref.uid].error == ""
        stream = kubelet.watch_health()
        latest = {d.device_name: d for d in next(iter(stream))}
        stream.close()
    assert latest["gpu-2"].health is HealthStatus.UNHEALTHY
    assert "79" in latest["gpu-2"].message
    assert latest["gpu-1"].health is HealthStatus.HEALTHY


def test_restart_removes_taints(lab: Bench) -> None:
    first = lab.gpu_plugin("n1")
    lab.machines["n1"].inject_xid(0, 48)
    assert lab.eventually(lambda: any(d.get("taints") for d in only_slice(lab)["spec"]["devices"]), RESOURCE_SLICES)
    first.stop()
    lab.gpu_plugin("n1")
    assert lab.eventually(lambda: not any(d.get("taints") for d in only_slice(lab)["spec"]["devices"]), RESOURCE_SLICES)


def test_dropped_taints_are_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with bench(tmp_path, feature_gates={"DRADeviceTaints": False, "DRADeviceTaintRules": False}) as lab:
        lab.node("n1")
        plugin = lab.gpu_plugin("n1")
        lab.machines["n1"].inject_xid(0, 79)
        assert lab.eventually(lambda: "dropped fields of slice" in caplog.text, RESOURCE_SLICES)
        plugin.publisher.sync()
        plugin.publisher.sync()
        assert caplog.text.count("dropped fields of slice") == 1


def test_no_driver_is_one_clear_error(lab: Bench) -> None:
    lab.machines["n1"].fail_init("DRIVER_NOT_LOADED")
    plugin = KubeletPlugin(
        KubeClient(lab.plane.transport()),
        clock=lab.clock,
        nvml=fake_nvml.load_pynvml(lab.machines["n1"]),
        options=lab.options("n1"),
    )
    with pytest.raises(DiscoveryError, match="NVML cannot be initialised"):
        plugin.start()
    assert not (lab.base / "n1/p/gpu.nvidia.com/dra.sock").exists()


def test_socket_name_that_is_too_long_is_one_clear_error(lab: Bench) -> None:
    with pytest.raises(OptionError, match=r"dra\.sock"):
        lab.gpu_plugin("n1", plugins_dir=lab.base / ("x" * 120))


def test_second_plugin_of_a_node_does_not_hold_the_first_up(lab: Bench) -> None:
    """A rolling update: both run for a while over one data folder, with sockets of their own."""
    lab.gpu_plugin("n1")
    ref = lab.claim("c", "gpu-0")
    with lab.kubelet("n1") as kubelet:
        answer = kubelet.prepare([ref])
    lab.gpu_plugin("n1")
    with lab.kubelet("n1") as kubelet:
        assert kubelet.prepare([ref]) == answer
        other = lab.claim("d", "gpu-0")
        assert f"already allocated to different claim {ref.uid}" in kubelet.prepare([other])[other.uid].error


@pytest.mark.parametrize("version", ["1.34", "1.35", "1.37"])
def test_other_releases(tmp_path: Path, version: str) -> None:
    with bench(tmp_path, kubernetes_version=version) as lab:
        lab.node("n1")
        lab.gpu_plugin("n1")
        ref = lab.claim("c", "gpu-0")
        with lab.kubelet("n1") as kubelet:
            assert kubelet.prepare([ref])[ref.uid].error == ""
        assert len(only_slice(lab)["spec"]["devices"]) == 8


def test_a_slice_that_the_server_refuses_is_logged(lab: Bench, caplog: pytest.LogCaptureFixture) -> None:
    plugin = lab.gpu_plugin("n1")
    plugin.publisher.publish([SliceContent(({"name": "Not_A_Label"},))])
    assert lab.eventually(lambda: "Not_A_Label" in caplog.text, RESOURCE_SLICES)
    plugin.publish()
    lab.client.delete(RESOURCE_SLICES, name_of(only_slice(lab)))
    assert lab.eventually(lambda: len(lab.slices()) == 1, RESOURCE_SLICES)
