"""GPUs that go to vfio-pci and back, on a fake node's /sys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import fake_nvml
from dra_api.clock import RealClock
from fake_nvml import pci_kernel
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.checkpoint import Checkpoint, ClaimEntry, ClaimState
from reference_impl.kubelet_plugin.claims import AllocatedClaim, ClaimReader, Result
from reference_impl.kubelet_plugin.configs import ConfigError, EnabledSharing, VfioDeviceConfig
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice
from reference_impl.kubelet_plugin.devices import Vfio
from reference_impl.kubelet_plugin.discovery import Found, Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.metadata import MetadataFiles
from reference_impl.kubelet_plugin.node_service import ClaimStorage
from reference_impl.kubelet_plugin.nodelock import NodeLock
from reference_impl.kubelet_plugin.passthrough import Passthrough, PassthroughError, Persistence, twins
from reference_impl.kubelet_plugin.persistence import PersistenceMode
from reference_impl.kubelet_plugin.prepare import ClaimPreparer, DeviceFeatures, NodeDevices
from reference_impl.kubelet_plugin.shares import ShareMode


@pytest.fixture
def node(tmp_path: Path) -> Iterator[fake_nvml.Node]:
    with fake_nvml.Node.create("dgx-h100", tmp_path / "node") as node:
        pci_kernel.add_iommu(node.driver_root)
        yield node


@pytest.fixture
def root(node: fake_nvml.Node) -> DriverRoot:
    return DriverRoot(node.driver_root)


class NoModes:
    """GPUs without persistence mode."""

    def is_on(self, address: str) -> bool:
        return False

    def switch_on(self, address: str) -> None:
        raise AssertionError(address)


def through(root: DriverRoot, persistence: Persistence | None = None) -> Passthrough:
    return Passthrough(
        root, processes=lambda gpu: [], found=lambda: Found((), ()), persistence=persistence or NoModes()
    )


@pytest.fixture
def modes(node: fake_nvml.Node) -> Iterator[PersistenceMode]:
    """The modes of the node's GPUs, as NVML reports them."""
    nvml = Nvml(fake_nvml.load_pynvml(node))
    nvml.open()
    yield PersistenceMode(nvml)
    nvml.close()


DEFAULT = VfioDeviceConfig()


def configured(device: Vfio, config: VfioDeviceConfig = DEFAULT) -> ConfiguredDevice:
    return ConfiguredDevice(
        Result(request="gpu", pool="n1", device=device.name, admin_access=False, share_id=None, consumed={}),
        device,
        config,
    )


def entry(planned: dict[str, object]) -> ClaimEntry:
    return ClaimEntry(state=ClaimState.STARTED, status={}, config_state=planned)


def drivers(root: DriverRoot, devices: tuple[Vfio, ...]) -> list[str]:
    return [through(root).driver_of(device.address) for device in devices]


def test_devices_are_read_from_sysfs_alone(root: DriverRoot) -> None:
    devices = through(root).discover(Found((), ()))
    assert [device.name for device in devices] == [f"gpu-vfio-{index}" for index in range(8)]
    first = devices[0]
    assert (first.vendor_id, first.group, first.iommufd) == ("0x10de", 0, False)
    assert first.product_name == f"0x10de:{first.device_id}"  # NVML, which has its name, was not queried
    assert first.memory_bytes == 256 << 30  # 128 GiB and 32 MiB, rounded up
    assert first.uuid == through(root).discover(Found((), ()))[0].uuid != devices[1].uuid


def test_there_and_back(root: DriverRoot) -> None:
    passing = through(root)
    devices = passing.discover(Found((), ()))[:2]
    planned = passing.plan("u1", [configured(device) for device in devices])
    assert drivers(root, devices) == ["nvidia", "nvidia"]
    passing.apply(planned)
    assert drivers(root, devices) == ["vfio-pci", "vfio-pci"]
    passing.undo(entry(planned))
    passing.undo(entry(planned))
    assert drivers(root, devices) == ["nvidia", "nvidia"]


def test_persistence_mode_is_what_it_was(
    node: fake_nvml.Node, root: DriverRoot, modes: PersistenceMode, caplog: pytest.LogCaptureFixture
) -> None:
    passing = through(root, modes)
    devices = passing.discover(Found((), ()))[:3]
    node.set(1, "persistence_mode", 0)
    node.set(2, "persistence_mode", "N/A")
    planned = passing.plan("u1", [configured(device) for device in devices])
    passing.apply(planned)
    passing.undo(entry(planned))
    assert [modes.is_on(device.address) for device in devices] == [True, False, False]
    passing.apply(planned)
    node.inject_fault("nvmlDeviceSetPersistenceMode", error="NO_PERMISSION")
    passing.undo(entry(planned))
    assert [modes.is_on(device.address) for device in devices] == [False, False, False]
    assert f"GPU {devices[0].address}: persistence mode cannot be switched on again" in caplog.text
    assert drivers(root, devices) == ["nvidia", "nvidia", "nvidia"]


@pytest.mark.parametrize("words", range(1, 4))
def test_whatever_a_killed_driver_left_is_undone(root: DriverRoot, words: int) -> None:
    """SIGKILL after each step: override written, unbound, bound."""
    passing = through(root)
    (device,) = passing.discover(Found((), ()))[:1]
    planned = passing.plan("u1", [configured(device)])
    bus = root.sysfs / "bus/pci"
    steps = [
        (bus / "devices" / device.address / "driver_override", "vfio-pci"),
        (bus / "drivers/nvidia/unbind", device.address),
        (bus / "drivers/vfio-pci/bind", device.address),
    ]
    for file, text in steps[:words]:
        passing.write(file, text)
    through(root).undo(entry(planned))
    assert drivers(root, (device,)) == ["nvidia"]
    again = passing.plan("u1", [configured(device)])
    passing.apply(again)
    assert drivers(root, (device,)) == ["vfio-pci"]


def test_a_device_that_an_administrator_bound_stays_his(root: DriverRoot) -> None:
    passing = through(root)
    (device,) = passing.discover(Found((), ()))[:1]
    passing.rebind(device.address, "vfio-pci")
    planned = passing.plan("u1", [configured(device)])
    passing.apply(planned)
    passing.undo(entry(planned))
    assert drivers(root, (device,)) == ["vfio-pci"]


def test_a_module_that_is_not_loaded_is_named(root: DriverRoot) -> None:
    passing = through(root)
    (device,) = passing.discover(Found((), ()))[:1]
    os.rename(root.sysfs / "bus/pci/drivers/vfio-pci", root.sysfs / "aside")
    with pytest.raises(PassthroughError, match="vfio-pci"):
        passing.rebind(device.address, "vfio-pci")


def test_two_configs_and_no_iommu_are_refused(root: DriverRoot, tmp_path: Path) -> None:
    passing = through(root)
    first, second = passing.discover(Found((), ()))[:2]
    with pytest.raises(ConfigError, match="at most one"):
        passing.plan("u1", [configured(first), configured(second, VfioDeviceConfig(enable_api_device=True))])
    (tmp_path / "bare/sys").mkdir(parents=True)
    with pytest.raises(ComponentError, match="IOMMU is not enabled"):
        through(DriverRoot(tmp_path / "bare")).check()


def test_a_twin_is_the_same_gpu_under_another_name(root: DriverRoot) -> None:
    devices = through(root).discover(Found((), ()))
    assert twins(Found((), (), devices), {"gpu-vfio-0"}) == set()


# -- death after every effect ------------------------------------------------------------------------------------------


class Killed(BaseException):
    """SIGKILL, for the code under test."""


class Lives:
    """Processes of one plugin over the same folders; one of them dies after a number of effects."""

    def __init__(self, folder: Path, root: DriverRoot, modes: PersistenceMode) -> None:
        (folder / "data").mkdir()
        self.modes = modes
        self.folder = folder
        self.root = root
        self.effects = 0

    def start(self, *, deadly: int = -1) -> ClaimPreparer:
        """A new life."""
        self.effects = 0

        def after(call: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(*args: Any, **how: Any) -> Any:
                result = call(*args, **how)
                self.effects += 1
                if self.effects == deadly:
                    raise Killed
                return result

            return wrapped

        found = Found((), ())
        passing = Passthrough(
            self.root, processes=lambda gpu: [], found=lambda: found, persistence=PersistenceMode(self.modes.nvml)
        )
        found = Found((), (), passing.discover(found))
        checkpoint = Checkpoint(self.folder / "data/checkpoint.json", boot_id="boot")
        cdi = CdiFolder(self.folder / "cdi", vendor="k8s.gpu.nvidia.com", cdi_class="claim")
        preparer = ClaimPreparer(
            driver="gpu.nvidia.com",
            storage=ClaimStorage(
                claims=cast(ClaimReader, None),
                checkpoint=checkpoint,
                cdi=cdi,
                metadata=MetadataFiles(
                    driver="gpu.nvidia.com",
                    folder=self.folder / "data/metadata",
                    cdi_root=self.folder / "cdi",
                    enabled=False,
                ),
                lock=NodeLock(self.folder / "data/lock", clock=RealClock(), timeout=60),
            ),
            devices=NodeDevices(
                found=lambda: found, raw_driver_version=lambda: "1", root=self.root, on_change=lambda: None
            ),
            features=DeviceFeatures(
                sharing=EnabledSharing(time_slicing=False, mps=False),
                settings=(passing,),
                shares=ShareMode(),
                mig=None,
                mps=None,
                passthrough=passing,
            ),
        )
        preparer.repair()
        deeds: list[tuple[Any, str]] = [(passing, "write"), (checkpoint, "write"), (cdi, "write"), (cdi, "remove")]
        for owner, name in (*deeds, (passing.persistence, "switch_on")):
            setattr(owner, name, after(getattr(owner, name)))
        return preparer

    def state(self) -> object:
        """All observable state: drivers and modes of GPUs, claims and their states, CDI files."""
        passing = through(self.root)
        held = Checkpoint(self.folder / "data/checkpoint.json", boot_id="boot").claims()
        files = self.folder / "cdi"
        return (
            [(passing.driver_of(address), self.modes.is_on(address)) for address in passing.addresses()],
            {uid: entry.state for uid, entry in held.items()},
            sorted(path.name for path in files.iterdir()) if files.is_dir() else [],
        )


def vm(uid: str = "u1") -> AllocatedClaim:
    results = [
        {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": f"gpu-vfio-{index}"} for index in (0, 1)
    ]
    return AllocatedClaim(uid=uid, name=uid, namespace="ns", status={"allocation": {"devices": {"results": results}}})


def test_a_driver_that_dies_after_any_effect_is_made_good(
    root: DriverRoot, modes: PersistenceMode, tmp_path: Path
) -> None:
    lives = Lives(tmp_path, root, modes)
    before = lives.start() and lives.state()
    plugin = lives.start()
    plugin.prepare(vm())
    prepared, steps = lives.state(), lives.effects
    plugin = lives.start()
    plugin.unprepare("u1")
    back = lives.effects
    assert lives.state() == before != prepared
    assert steps == 10  # three writes of the checkpoint, one of the spec; override, unbind and bind of two GPUs
    for deadly in range(1, steps + 1):
        with pytest.raises(Killed):
            lives.start(deadly=deadly).prepare(vm())
        lives.start().prepare(vm())  # the kubelet retries
        assert lives.state() == prepared, deadly
        lives.start().unprepare("u1")
        assert lives.state() == before, deadly
        with pytest.raises(Killed):
            lives.start(deadly=deadly).prepare(vm())
        lives.start().unprepare("u1")  # the pod is gone meanwhile
        assert lives.state() == before, deadly
    for deadly in range(1, back + 1):
        lives.start().prepare(vm())
        with pytest.raises(Killed):
            lives.start(deadly=deadly).unprepare("u1")
        lives.start().unprepare("u1")
        assert lives.state() == before, deadly
