"""The emulated API server restarted as another release on the same objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import ApiError, KubeClient
from dra_api.clock import RealClock
from dra_api.feature_gates import allowed_in, kept_in
from dra_api.objects import DEVICE_TAINT_RULES, RESOURCE_SLICES, Obj
from dra_conformance.control_plane.embedded import EmbeddedControlPlane


def stored_slice(name: str) -> Obj:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": "d.test",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d"}],
            "skipNodeOperations": ["NodeUnprepareResources"],
        },
    }


def rule(version: str) -> Obj:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": {"deviceSelector": {"driver": "d.test"}, "taint": {"key": "k", "effect": "NoSchedule"}},
    }


def test_fields_of_a_newer_release_are_back_unless_the_older_one_has_written_the_object(tmp_path: Path) -> None:
    gates = {"DRAOptionalNodeOperations": True}
    with ApiServerEmulator(directory=tmp_path, kubernetes_version="1.37", feature_gates=gates, https=False) as emulator:
        client = KubeClient(emulator.transport())
        for name in ("read", "written"):
            client.create(RESOURCE_SLICES, stored_slice(name))
        assert "skipNodeOperations" in client.get(RESOURCE_SLICES, "read")["spec"]
        emulator.kill()
        emulator.restart_as("1.36", {})
        client = KubeClient(emulator.transport())
        assert "skipNodeOperations" not in client.get(RESOURCE_SLICES, "read")["spec"]
        written = client.get(RESOURCE_SLICES, "written")
        client.update(RESOURCE_SLICES, {**written, "metadata": {**written["metadata"], "labels": {"a": "b"}}})
        emulator.kill()
        emulator.restart_as("1.37", gates)
        client = KubeClient(emulator.transport())
        assert "skipNodeOperations" in client.get(RESOURCE_SLICES, "read")["spec"]
        assert "skipNodeOperations" not in client.get(RESOURCE_SLICES, "written")["spec"]


@pytest.mark.parametrize("version", ["v1beta2", "v1alpha3"])
def test_a_taint_rule_has_the_storage_version_of_the_release(tmp_path: Path, version: str) -> None:
    with ApiServerEmulator(
        directory=tmp_path, kubernetes_version="1.36", feature_gates={"DRADeviceTaintRules": True}, https=False
    ) as emulator:
        KubeClient(emulator.transport()).create(DEVICE_TAINT_RULES.at(version), rule(version))
        emulator.kill()
        emulator.restart_as("1.37", {}, {"resource.k8s.io/v1alpha3": False, "resource.k8s.io/v1beta2": False})
        client = KubeClient(emulator.transport())
        assert client.get(DEVICE_TAINT_RULES.at("v1"), "r")["apiVersion"] == "resource.k8s.io/v1"
        with pytest.raises(ApiError, match="404"):
            client.get(DEVICE_TAINT_RULES.at(version), "r")
        emulator.kill()
        emulator.restart_as("1.36", {"DRADeviceTaintRules": True})
        assert KubeClient(emulator.transport()).get(DEVICE_TAINT_RULES.at(version), "r")["apiVersion"].endswith(version)


def test_gates_that_a_release_lacks_or_has_locked_are_left_out() -> None:
    overrides = {"DRADeviceTaints": True, "DRADerivedAttributes": True, "Other": True}
    assert allowed_in("1.36", overrides) == {"DRADeviceTaints": True}
    assert allowed_in("1.37", {"DRAPrioritizedList": False}) == {}


def test_gates_that_need_one_that_is_off_in_a_release_are_off() -> None:
    assert allowed_in("1.35", {"DRADeviceTaintRules": True}) == {"DRADeviceTaintRules": False}
    both = {"DRADeviceTaintRules": True, "DRADeviceTaints": True}
    assert allowed_in("1.35", both) == both


def test_alpha_features_of_another_release_are_left_out() -> None:
    overrides = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True, "DRADeviceTaints": False}
    assert kept_in("1.37", overrides) == {**overrides, "DRADeviceTaintRules": False}
    assert kept_in("1.36", overrides) == {"DRADeviceTaints": False}


def test_the_embedded_control_plane_comes_back_as_its_own_release(tmp_path: Path) -> None:
    plane = EmbeddedControlPlane(
        kubernetes_version="1.37",
        directory=tmp_path,
        clock=RealClock(),
        seed=1,
        feature_gates={"DRADerivedAttributes": True},
    )
    plane.start()
    try:
        plane.restart_as("1.36")
        assert "DRADerivedAttributes" not in plane.feature_gates
        plane.restart_as("")
        assert plane.feature_gates["DRADerivedAttributes"]
    finally:
        plane.stop()
