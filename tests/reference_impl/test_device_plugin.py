"""Tests of the reference device plugin's options and offers; the chapter device_plugins judges its behaviour."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_impl.device_plugin.offers import GPU, Offer, mig_resource, resources
from reference_impl.device_plugin.options import MigStrategy, TimeSlicing, list_strategies
from reference_impl.device_plugin.plugin import identity
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.devices import Gpu, Mig
from reference_impl.kubelet_plugin.discovery import Found


def gpu(index: int, *, mig: bool = False, numa: int | None = None) -> Gpu:
    """A GPU with these properties."""
    return Gpu(
        minor=index,
        index=index,
        uuid=f"GPU-{index}",
        product_name="NVIDIA H100",
        brand="Nvidia",
        architecture="Hopper",
        cuda_compute_capability="9.0.0",
        driver_version="580.0.0",
        cuda_driver_version="13.0.0",
        pci_bus_id=f"0000:0{index}:00.0",
        memory_bytes=1 << 30,
        addressing_mode=None,
        pcie_root=None,
        numa_node=numa,
        mig_enabled=mig,
    )


def part(parent: Gpu, profile: str, gi: int) -> Mig:
    """A MIG device of a GPU."""
    return Mig(
        parent=parent,
        uuid=f"MIG-{parent.index}-{gi}",
        profile=profile,
        profile_id=9,
        start=gi,
        size=1,
        gi_id=gi,
        ci_id=0,
        memory_mib=1024,
        engines={},
    )


def offered(gpus: list[Gpu], parts: list[Mig], strategy: MigStrategy, sharing: TimeSlicing | None = None) -> Any:
    """The ids by resource name."""
    devices = (*(one for one in gpus if not one.mig_enabled), *parts)
    found = Found(gpus=tuple(gpus), devices=devices)
    return {
        one.name: [offer.id for offer in one.offers] for one in resources(found, strategy, sharing or TimeSlicing())
    }


def test_strategies_offer_different_devices() -> None:
    whole, cut = gpu(0), gpu(1, mig=True)
    parts = [part(cut, "1g.10gb+me", 1), part(cut, "3g.40gb", 2)]
    assert offered([whole, cut], parts, "none") == {GPU: ["GPU-0", "GPU-1"]}
    assert offered([whole, cut], parts, "mixed") == {
        GPU: ["GPU-0"],
        "nvidia.com/mig-1g.10gb.me": ["MIG-1-1"],
        "nvidia.com/mig-3g.40gb": ["MIG-1-2"],
    }
    assert offered([whole], [], "single") == {GPU: ["GPU-0"]}
    assert offered([cut], [part(cut, "3g.40gb", 1), part(cut, "3g.40gb", 2)], "single") == {GPU: ["MIG-1-1", "MIG-1-2"]}
    assert mig_resource("1g.10gb") == "nvidia.com/mig-1g.10gb"


def test_a_resource_without_devices_is_not_offered() -> None:
    cut = gpu(0, mig=True)
    assert offered([cut], [], "mixed") == {}


@pytest.mark.parametrize(
    ("gpus", "profiles", "reason"),
    [
        ([gpu(0), gpu(1, mig=True)], {1: ["3g.40gb"]}, "on for some"),
        ([gpu(0, mig=True)], {}, "gpu-0 has no MIG devices"),
        ([gpu(0, mig=True)], {0: ["3g.40gb", "2g.20gb"]}, "more than one profile"),
    ],
)
def test_single_refuses_gpus_that_differ(gpus: list[Gpu], profiles: dict[int, list[str]], reason: str) -> None:
    parts = [part(gpus[index], one, at) for index, names in profiles.items() for at, one in enumerate(names)]
    with pytest.raises(ComponentError, match=reason):
        offered(gpus, parts, "single")


def test_shared_devices_are_listed_several_times(tmp_path: Path) -> None:
    sharing = TimeSlicing(replicas={GPU: 2})
    assert offered([gpu(0)], [], "none", sharing) == {GPU: ["GPU-0::0", "GPU-0::1"]}
    renamed = TimeSlicing(replicas={GPU: 2}, rename=True)
    assert offered([gpu(0)], [], "none", renamed) == {f"{GPU}.shared": ["GPU-0::0", "GPU-0::1"]}


@pytest.mark.parametrize(("numa", "seen"), [(1, (1,)), (None, None), ((1, 0), (1, 0))])
def test_a_device_has_the_numa_node_of_its_gpu(numa: Any, seen: Any) -> None:
    assert Offer("a", gpu(0, numa=numa)).listed(healthy=True).numa_nodes == seen


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{version: v2}", "version"),
        ("{sharing: {timeSlicing: {resources: []}}}", "no resources specified"),
        ("{sharing: {timeSlicing: {resources: [{name: a, replicas: 1}]}}}", "must be >= 2"),
        ("{sharing: {mps: {resources: []}}}", "mps"),
        ("{sharing: [", "while parsing"),
    ],
)
def test_a_wrong_configuration_names_the_file_and_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ComponentError, match=f"config.yaml.*{reason}"):
        TimeSlicing.load(path)


def test_a_missing_configuration_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="gone"):
        TimeSlicing.load(tmp_path / "gone.yaml")


def test_a_configuration_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "{version: v1, sharing: {timeSlicing: {renameByDefault: true, failRequestsGreaterThanOne: true, "
        "resources: [{name: nvidia.com/gpu, replicas: 4}]}}}"
    )
    assert TimeSlicing.load(path) == TimeSlicing(replicas={GPU: 4}, rename=True, one_at_most=True)


def test_list_strategies_are_checked() -> None:
    assert list_strategies("envvar, cdi-cri") == ("envvar", "cdi-cri")
    for wrong in ("", "env"):
        with pytest.raises(ComponentError, match="--device-list-strategy"):
            list_strategies(wrong)


def test_a_file_that_was_made_again_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.sock"
    assert identity(path) is None
    path.touch()
    first = identity(path)
    assert first == identity(path)
    path.unlink()
    path.touch()
    assert identity(path) != first


def test_no_folder_of_the_kubelet_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    # Deferred: the options of the component only.
    from reference_impl.device_plugin import DevicePluginOptions, GpuDevicePlugin

    options = DevicePluginOptions(
        plugins_dir=tmp_path / "none",
        cdi_root=tmp_path,
        driver_root=tmp_path,
        mig_strategy="none",
        list_strategies=("envvar",),
        pass_device_specs=False,
        time_slicing=TimeSlicing(),
    )
    with pytest.raises(ComponentError, match="does a kubelet run"):
        GpuDevicePlugin(clock=SimpleNamespace(), nvml=SimpleNamespace(), options=options).start()  # type: ignore[arg-type]
