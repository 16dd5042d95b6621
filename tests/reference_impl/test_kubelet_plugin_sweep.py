"""Sweeps generated from successful runs: every call repeated, calls in every order, a kill after every effect.

An effect is any change that others can observe: a file or folder that is created, replaced or removed, a change of the
hardware, a call of nvidia-smi or of the control program of MPS. A kill is an exception that no handler of the plugin
catches, so nothing is cleaned up; closing the descriptor releases the lock, as the kernel does. Time and order are
under control: each case is the same on every run. The GPUs are the fake NVML's.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

import fake_nvml
from dra_api.clock import AdvanceableClock
from dra_conformance.faults import partial_writes
from reference_impl.kubelet_plugin import atomicfile
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.checkpoint import Checkpoint
from reference_impl.kubelet_plugin.claims import AllocatedClaim, ClaimReader
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.kubelet_plugin.discovery import Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.metadata import MetadataFiles
from reference_impl.kubelet_plugin.mig import MigInstances
from reference_impl.kubelet_plugin.mps import Mps
from reference_impl.kubelet_plugin.node_service import ClaimStorage
from reference_impl.kubelet_plugin.nodelock import NodeLock
from reference_impl.kubelet_plugin.prepare import ClaimPreparer, DeviceFeatures, NodeDevices
from reference_impl.kubelet_plugin.shares import ShareMode
from reference_impl.kubelet_plugin.sharing import SharingError, TimeSlicing

DRIVER = "gpu.nvidia.com"
CHANGES = (
    "nvmlDeviceSetMigMode",
    "nvmlDeviceCreateGpuInstanceWithPlacement",
    "nvmlGpuInstanceCreateComputeInstance",
    "nvmlComputeInstanceDestroy",
    "nvmlGpuInstanceDestroy",
)


class Killed(BaseException):
    """SIGKILL, for the code under test."""


def told(name: str, args: tuple[Any, ...]) -> str:
    """An effect in words: a file by what it is, a change of the hardware by its call."""
    if name in ("mkdir", "rmdir"):
        return f"{'make' if name == 'mkdir' else 'remove'} a folder of MPS"
    if name not in ("replace", "unlink"):
        return name
    path = Path(args[-1])
    if path.name.endswith(atomicfile.PARTIAL):
        return f"remove the old {path.name[1 : -len(atomicfile.PARTIAL)]}"
    what = "CDI spec of the claim" if path.parent.name == "cdi" else path.name
    return f"{'remove' if name == 'unlink' else 'write'} {what}"


@dataclass
class Effects:
    """Counts effects, and kills after the requested one."""

    count: int = 0
    deadly: int = -1
    names: list[str] = field(default_factory=list)

    def after(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            result = call(*args, **options)
            if result is False:
                return result  # nothing was exchanged
            self.names.append(told(name, args))
            self.count += 1
            if self.count - 1 == self.deadly:
                raise Killed(name)
            return result

        return wrapped


class Claims(ClaimReader):
    """Every claim is in the API."""

    def __init__(self) -> None:
        """No client."""

    def exists(self, *, namespace: str, name: str, uid: str) -> bool | None:
        return True


class SimulatedMps(Mps):
    """Control daemons that are no processes: one runs while the file `control` is in its pipe folder, as the real."""

    def run(self, daemon: Any, arguments: Any, *, stdin: str = "") -> None:
        control = self.folder / daemon["id"] / "pipe/control"
        if arguments:
            control.touch()
        elif not control.exists():
            raise SharingError(f"{stdin}: no control daemon")
        elif stdin == "quit":
            os.remove(control)  # the daemon's own doing, and no effect of the plugin's


class Machine:
    """One node: its folders and fake GPUs, and successive processes of the plugin.

    With MPS, MIG devices are not created on demand: the gates exclude each other.
    """

    def __init__(self, base: Path, pool: Any, *, mps: bool) -> None:
        base.mkdir()
        self.has_mps = mps
        self.modes: dict[str, str] = {}
        self.base = base
        self.node = fake_nvml.Node.create("h200", base / "nvml")
        self.pool, self.module = pool, pool.load(self.node)
        self.data, self.cdi = base / "plugin", base / "cdi"
        self.data.mkdir()
        self.cdi.mkdir()
        self.slices: dict[str, str] = {}
        self.effects = Effects()
        for name in CHANGES:
            setattr(self.module, name, self.effects.after(name, getattr(self.module, name)))

    def close(self) -> None:
        self.pool.give_back(self.module)
        self.node.close()

    def start(self) -> ClaimPreparer:
        """A new life of the plugin."""
        nvml = Nvml(self.module)
        nvml.open()
        found = nvml.discover(self.node.driver_root / "sys", dynamic_mig=not self.has_mps)
        smi = self.effects.after("nvidia-smi", self.nvidia_smi)
        mps = SimulatedMps(self.data / "mps", binary=lambda: None, smi=smi)
        mps.run = self.effects.after("nvidia-cuda-mps-control", mps.run)  # type: ignore[method-assign]
        preparer = ClaimPreparer(
            driver=DRIVER,
            storage=ClaimStorage(
                claims=Claims(),
                checkpoint=Checkpoint(self.data / "checkpoint.json", boot_id="boot"),
                cdi=CdiFolder(self.cdi, vendor=f"k8s.{DRIVER}", cdi_class="claim"),
                metadata=MetadataFiles(driver=DRIVER, folder=self.data / "metadata", cdi_root=self.cdi, enabled=False),
                lock=NodeLock(self.data / "pu.lock", clock=AdvanceableClock(), timeout=1),
            ),
            devices=NodeDevices(
                found=lambda: found,
                raw_driver_version=nvml.raw_driver_version,
                root=DriverRoot(self.node.driver_root),
                on_change=lambda: None,
            ),
            features=DeviceFeatures(
                sharing=EnabledSharing(time_slicing=True, mps=self.has_mps),
                settings=(TimeSlicing(run=smi), mps),
                shares=ShareMode(),
                passthrough=None,
                mig=None if self.has_mps else MigInstances(nvml),
                mps=mps if self.has_mps else None,
            ),
        )
        preparer.repair()
        return preparer

    def nvidia_smi(self, words: Any) -> None:
        if "--set-timeslice" in words:
            self.slices[words[2]] = words[-1]
        elif "-c" in words:
            self.modes[words[1]] = words[-1]

    def state(self) -> dict[str, Any]:
        """All observable state: claims and answers, CDI files, instances and MIG modes, time slices, litter."""
        document = orjson.loads((self.data / "checkpoint.json").read_bytes())
        state = self.node.read()
        return {
            "claims": {
                uid: (entry["checkpointState"], entry.get("preparedDevices"))
                for uid, entry in document["v2"]["preparedClaims"].items()
            },
            "cdi": {
                p.name: yaml.safe_load(p.read_text().replace(str(self.base), "")) for p in sorted(self.cdi.glob("*"))
            },
            "instances": sorted((i.profile, i.start) for i in state.gpus[0].instances if i.used),
            "mig": [view.mig_enabled for view in self.node.gpus],
            "slices": {uuid: number for uuid, number in self.slices.items() if number != "0"},
            "modes": {uuid: mode for uuid, mode in self.modes.items() if mode != "DEFAULT"},
            "mps": sorted(str(p.relative_to(self.data)) for p in self.data.glob("mps/**/*")),
            "litter": sorted(
                p.name
                for p in self.data.iterdir()
                if p.name not in ("checkpoint.json", "checkpoint.json.boot", "mps", "pu.lock")
            ),
        }


def claim(uid: str, *devices: str, interval: str = "", threads: int = 0) -> AllocatedClaim:
    sharing: Any = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}
    if threads:
        sharing = {"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": threads}}
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": sharing}
    config = {"source": "FromClaim", "requests": [], "opaque": {"driver": DRIVER, "parameters": parameters}}
    results = [{"request": "r", "driver": DRIVER, "pool": "n", "device": device} for device in devices]
    allocation = {"devices": {"results": results, "config": [config] if interval or threads else []}}
    return AllocatedClaim(uid=uid, name=uid, namespace="default", status={"allocation": allocation})


HAPPY = {
    "a whole GPU": claim("a", "gpu-0"),
    "a GPU with a time slice": claim("a", "gpu-0", interval="Long"),
    "a GPU shared by MPS": claim("a", "gpu-0", threads=50),
    "one MIG device": claim("a", "gpu-0-mig-1g18gb-19-2"),
    "two MIG devices": claim("a", "gpu-0-mig-3g71gb-9-4", "gpu-0-mig-1g18gb-me-20-0"),
}


@pytest.fixture(scope="module")
def pool() -> Any:
    return fake_nvml.PynvmlPool()


def kind_of(name: str, machines: Callable[..., Machine]) -> Callable[[], Machine]:
    """The machines on which a happy path can be walked."""
    return functools.partial(machines, mps="MPS" in name)


@pytest.fixture
def machines(tmp_path: Path, pool: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []
    real = {name: getattr(os, name) for name in ("mkdir", "replace", "unlink", "rmdir")}
    exchange = atomicfile.exchange

    def new(*, mps: bool = False) -> Machine:
        machine = Machine(tmp_path / str(len(made)), pool, mps=mps)
        made.append(machine)
        for name, call in real.items():
            monkeypatch.setattr(os, name, machine.effects.after(name, call))
        monkeypatch.setattr(atomicfile, "exchange", machine.effects.after("replace", exchange))
        return machine

    yield new
    monkeypatch.undo()
    for machine in made:
        machine.close()


@pytest.mark.parametrize("name", HAPPY)
def test_death_after_every_effect_of_prepare_and_unprepare(name: str, machines: Callable[..., Machine]) -> None:
    sweep(HAPPY[name], kind_of(name, machines))


def test_the_sweep_catches_a_plugin_that_removes_its_record_first(
    machines: Callable[[], Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unprepare(self: ClaimPreparer, uid: str) -> None:
        entry = self._checkpoint.get(uid)
        if entry is not None:
            self._checkpoint.drop(uid)
            self.roll_back(uid, entry)

    monkeypatch.setattr(ClaimPreparer, "unprepare", unprepare)
    with pytest.raises(AssertionError, match="killed after effect"):
        sweep(HAPPY["a GPU with a time slice"], machines)


def test_the_sweep_catches_an_mps_daemon_whose_folder_goes_before_its_gpu_is_as_it_was(
    machines: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(self: Mps, daemon: Any) -> None:
        folder = self.folder / daemon["id"]
        if (folder / "pipe/control").exists():
            self.run(daemon, [], stdin="quit")
        if folder.exists():
            shutil.rmtree(folder)
            for uuid in daemon["gpus"]:
                self._smi(["-i", uuid, "-c", "DEFAULT"])

    monkeypatch.setattr(Mps, "end", end)
    name = "a GPU shared by MPS"
    with pytest.raises(AssertionError, match=r"killed after effect .*, remove a folder of MPS"):
        sweep(HAPPY[name], kind_of(name, machines))


def prepare_and_unprepare(plugin: ClaimPreparer, one: AllocatedClaim) -> None:
    """The happy path."""
    plugin.prepare(one)
    plugin.unprepare(one.uid)


def sweep(one: AllocatedClaim, machines: Callable[[], Machine]) -> None:
    """Kill after every effect of Prepare and Unprepare; the next process ends in the state of an undisturbed run."""
    happy = machines()
    plugin = happy.start()
    begins = happy.effects.count
    empty = happy.state()
    answer = plugin.prepare(one)
    prepared, ends_of_prepare = happy.state(), happy.effects.count
    plugin.unprepare(one.uid)
    assert happy.state() == empty
    total = happy.effects.count
    assert total - begins >= 5, "a sweep over nothing proves nothing"

    for deadly in range(begins, total):
        machine = machines()
        plugin = machine.start()
        machine.effects.deadly = deadly
        with pytest.raises(Killed):
            prepare_and_unprepare(plugin, one)
        where = f"killed after effect {deadly}, {machine.effects.names[-1]}"
        plugin = machine.start()  # the kubelet retries calls without response
        if deadly < ends_of_prepare:
            assert plugin.prepare(one) == answer, where
            assert machine.state() == prepared, where
        plugin.unprepare(one.uid)
        assert machine.state() == empty, where


@pytest.mark.parametrize("name", HAPPY)
def test_a_claim_that_is_not_retried_leaves_nothing(name: str, machines: Callable[..., Machine]) -> None:
    """Death in the middle of Prepare; then Unprepare is all that comes, as for a pod that was deleted meanwhile."""
    one, machines = HAPPY[name], kind_of(name, machines)
    happy = machines()
    plugin = happy.start()
    begins, empty = happy.effects.count, happy.state()
    plugin.prepare(one)
    for deadly in range(begins, happy.effects.count):
        machine = machines()
        plugin = machine.start()
        machine.effects.deadly = deadly
        with pytest.raises(Killed):
            plugin.prepare(one)
        plugin = machine.start()
        plugin.unprepare(one.uid)
        assert machine.state() == empty, f"killed after effect {deadly}, {machine.effects.names[-1]}"


def test_death_twice_in_a_row_ends_like_once(machines: Callable[[], Machine]) -> None:
    """The successor dies as well, at every one of its first effects."""
    one = HAPPY["two MIG devices"]
    happy = machines()
    plugin = happy.start()
    begins = happy.effects.count
    plugin.prepare(one)
    prepared, total = happy.state(), happy.effects.count
    for first, second in itertools.product(range(begins, total, 2), range(6)):
        machine = machines()
        plugin = machine.start()
        machine.effects.deadly = first
        with pytest.raises(Killed):
            plugin.prepare(one)
        machine.effects.deadly = machine.effects.count + second
        with contextlib.suppress(Killed):
            machine.start().prepare(one)
        machine.effects.deadly = -1
        machine.start().prepare(one)
        assert machine.state() == prepared, (first, second)


def test_calls_in_every_order_end_where_their_last_ones_lead(machines: Callable[[], Machine]) -> None:
    """Up to two Prepares and Unprepares of two claims, in every order: all stories of four calls."""
    claims = {"a": HAPPY["one MIG device"], "b": claim("b", "gpu-0-mig-2g35gb-14-4")}
    machine = machines()
    plugin = machine.start()
    ends: dict[tuple[bool, bool], Any] = {}
    for wanted in itertools.product((False, True), repeat=2):
        for uid, there in zip(claims, wanted, strict=True):
            if there:
                plugin.prepare(claims[uid])
            else:
                plugin.unprepare(uid)
        ends[wanted] = machine.state()
    for uid in claims:
        plugin.unprepare(uid)
    for story in itertools.product(("+a", "-a", "+b", "-b"), repeat=4):
        held = {"a": False, "b": False}
        for step in story:
            held[step[1]] = step[0] == "+"
            if held[step[1]]:
                plugin.prepare(claims[step[1]])
            else:
                plugin.unprepare(step[1])
        found, wanted_end = machine.state(), ends[held["a"], held["b"]]
        assert found == wanted_end, story
        for uid in claims:
            plugin.unprepare(uid)


@pytest.mark.parametrize("name", HAPPY)
def test_the_page_lists_the_effects_in_their_order(name: str, machines: Callable[..., Machine]) -> None:
    """docs/reference/partial-writes.md lists the effects of the driver on disk and hardware; the sweep kills after each
    of it.
    """
    machine = kind_of(name, machines)()
    plugin = machine.start()
    begins = machine.effects.count
    prepare_and_unprepare(plugin, HAPPY[name])
    listed = partial_writes.stored().disk
    assert listed[name] == tuple(machine.effects.names[begins:])
    assert set(listed) == set(HAPPY)
