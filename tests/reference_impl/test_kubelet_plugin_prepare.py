"""Prepare and Unprepare of claims, checkpoints, CDI specs, and death in between."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from nvml_double import Card, NvmlDouble, mig_card

from dra_api.clock import AdvanceableClock
from dra_api.rpc import PreparedDevice
from reference_impl.kubelet_plugin import atomicfile
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.checkpoint import Checkpoint, ClaimState, CorruptCheckpointError
from reference_impl.kubelet_plugin.claims import AllocatedClaim, ClaimReader
from reference_impl.kubelet_plugin.configs import ConfigError, EnabledSharing
from reference_impl.kubelet_plugin.discovery import Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot, DriverRootError
from reference_impl.kubelet_plugin.metadata import MetadataFiles
from reference_impl.kubelet_plugin.node_service import ClaimStorage
from reference_impl.kubelet_plugin.nodelock import LockTimeoutError, NodeLock
from reference_impl.kubelet_plugin.prepare import ClaimPreparer, DeviceFeatures, NodeDevices, PrepareError
from reference_impl.kubelet_plugin.shares import ShareMode
from reference_impl.kubelet_plugin.sharing import TimeSlicing

DRIVER = "gpu.nvidia.com"
VERSION = "550.163.01"


class Claims(ClaimReader):
    """The claims that the API still has."""

    def __init__(self) -> None:
        self.alive: dict[str, bool | None] = {}

    def exists(self, *, namespace: str, name: str, uid: str) -> bool | None:
        return self.alive.get(uid, True)


class World:
    """One node's folders; `plugin` is a process over them, which may be replaced at any time."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "driver"
        self.data = base / "plugins" / DRIVER
        self.data.mkdir(parents=True)
        self.cdi = base / "cdi"
        dev = self.root / "dev"
        (dev / "nvidia-caps").mkdir(parents=True)
        for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
            (dev / name).touch()
        lib = self.root / "usr/lib64"
        lib.mkdir(parents=True)
        self.library = lib / f"libnvidia-ml.so.{VERSION}"
        self.library.touch()
        proc = self.root / "proc"
        caps = proc / "driver/nvidia/capabilities/gpu0/mig/gi1"
        (caps / "ci0").mkdir(parents=True)
        (caps / "access").write_text("DeviceFileMinor: 12\nDeviceFileMode: 292\n")
        (caps / "ci0/access").write_text("DeviceFileMinor: 13\nDeviceFileMode: 292\n")
        (proc / "devices").write_text(
            "Character devices:\n195 nvidia\n511 nvidia-caps\n510 nvidia-uvm\n\nBlock devices:\n"
        )
        self.nvml = NvmlDouble([Card(0, "GPU-0"), Card(1, "GPU-1")])
        self.claims = Claims()
        self.ran: list[list[str]] = []
        self.clock = AdvanceableClock()
        self.slicing = False
        self.shares = ShareMode()

    def plugin(self, *, boot_id: str = "boot-1") -> ClaimPreparer:
        found = Nvml(self.nvml).discover(Path("/nonexistent"))
        made = ClaimPreparer(
            driver=DRIVER,
            storage=ClaimStorage(
                claims=self.claims,
                checkpoint=Checkpoint(self.data / "checkpoint.json", boot_id=boot_id),
                cdi=CdiFolder(self.cdi, vendor=f"k8s.{DRIVER}", cdi_class="claim"),
                metadata=MetadataFiles(driver=DRIVER, folder=self.data / "metadata", cdi_root=self.cdi, enabled=False),
                lock=NodeLock(self.data / "pu.lock", clock=self.clock, timeout=10),
            ),
            devices=NodeDevices(
                found=lambda: found,
                raw_driver_version=lambda: VERSION,
                root=DriverRoot(self.root),
                on_change=lambda: None,
            ),
            features=DeviceFeatures(
                sharing=EnabledSharing(time_slicing=self.slicing, mps=False),
                settings=(TimeSlicing(run=lambda arguments: self.ran.append([*arguments])),),
                shares=self.shares,
                mig=None,
                mps=None,
                passthrough=None,
            ),
        )
        made.repair()
        return made

    def checkpoint(self) -> dict[str, Any]:
        parsed: dict[str, Any] = orjson.loads((self.data / "checkpoint.json").read_bytes())
        return parsed

    def spec(self, uid: str) -> dict[str, Any]:
        parsed: dict[str, Any] = yaml.safe_load(self.spec_path(uid).read_text())
        return parsed

    def spec_path(self, uid: str) -> Path:
        return self.cdi / f"k8s.gpu.nvidia.com-claim_{uid}.yaml"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def claim(uid: str = "u1", *devices: str, config: list[dict[str, Any]] | None = None, **result: Any) -> AllocatedClaim:
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": "n1", "device": device, **result}
        for device in devices or ("gpu-0",)
    ]
    status = {"allocation": {"devices": {"results": results, "config": config or []}}}
    return AllocatedClaim(uid=uid, name=f"claim-{uid}", namespace="ns", status=status)


def opaque(**fields: Any) -> list[dict[str, Any]]:
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", **fields}
    return [{"source": "FromClaim", "requests": ["gpu"], "opaque": {"driver": DRIVER, "parameters": parameters}}]


ANSWER = (PreparedDevice(("gpu",), "n1", "gpu-0", ("k8s.gpu.nvidia.com/claim=u1-gpu-0",)),)


def test_prepare_answers_and_writes_the_spec(world: World) -> None:
    assert world.plugin().prepare(claim()) == ANSWER
    spec = world.spec("u1")
    assert (spec["cdiVersion"], spec["kind"]) == ("0.5.0", "k8s.gpu.nvidia.com/claim")
    (device,) = spec["devices"]
    assert device["name"] == "u1-gpu-0"
    assert [(node["path"], node["hostPath"]) for node in device["containerEdits"]["deviceNodes"]] == [
        ("/dev/nvidia0", str(world.root / "dev/nvidia0"))
    ]
    common = spec["containerEdits"]
    assert common["env"] == ["NVIDIA_VISIBLE_DEVICES=void"]
    assert {node["path"] for node in common["deviceNodes"]} == {"/dev/nvidiactl", "/dev/nvidia-uvm"}
    assert common["mounts"][0]["containerPath"] == f"/usr/lib64/libnvidia-ml.so.{VERSION}"
    assert stat.S_IMODE(world.spec_path("u1").stat().st_mode) == 0o644


def test_prepare_again_answers_the_same_without_a_write(world: World) -> None:
    plugin = world.plugin()
    plugin.prepare(claim())
    before = world.spec_path("u1").stat().st_mtime_ns
    assert plugin.prepare(claim()) == ANSWER
    assert world.plugin().prepare(claim()) == ANSWER
    assert world.spec_path("u1").stat().st_mtime_ns == before


def test_lost_spec_is_written_again(world: World) -> None:
    plugin = world.plugin()
    plugin.prepare(claim())
    world.spec_path("u1").unlink()
    assert plugin.prepare(claim()) == ANSWER
    assert world.spec("u1")["devices"]


def test_checkpoint_layout(world: World) -> None:
    world.plugin().prepare(claim())
    document = world.checkpoint()
    entry = document["v2"]["preparedClaims"]["u1"]
    assert entry["checkpointState"] == "PrepareCompleted"
    assert "u1" in document["v1"]["preparedClaims"]
    (group,) = entry["preparedDevices"]
    assert group["devices"][0]["gpu"]["device"]["DeviceName"] == "gpu-0"
    assert stat.S_IMODE((world.data / "checkpoint.json").stat().st_mode) == 0o600


def test_unknown_device_fails_and_leaves_started(world: World) -> None:
    plugin = world.plugin()
    with pytest.raises(PrepareError, match='allocatable not found for device "gpu-7"'):
        plugin.prepare(claim("u1", "gpu-7"))
    document = world.checkpoint()
    entry = document["v2"]["preparedClaims"]["u1"]
    assert (entry["checkpointState"], entry["name"], entry["namespace"]) == ("PrepareStarted", "claim-u1", "ns")
    assert "u1" not in document["v1"]["preparedClaims"]
    plugin.unprepare("u1")
    assert world.checkpoint()["v2"]["preparedClaims"] == {}
    assert plugin.prepare(claim()) == ANSWER


def test_results_of_other_drivers_are_left_alone(world: World) -> None:
    mixed = claim("u1", "gpu-0")
    mixed.status["allocation"]["devices"]["results"].append(
        {"request": "nic", "driver": "nic.example.com", "pool": "n1", "device": "eth0"}
    )
    assert world.plugin().prepare(mixed) == ANSWER
    foreign = claim("u2", "x")
    foreign.status["allocation"]["devices"]["results"][0]["driver"] = "nic.example.com"
    with pytest.raises(PrepareError, match="no devices"):
        world.plugin().prepare(foreign)


def test_subrequest_answers_with_its_parents_name(world: World) -> None:
    assert world.plugin().prepare(claim("u1", "gpu-0", request="gpu/big"))[0].request_names == ("gpu",)


def test_overlap(world: World) -> None:
    plugin = world.plugin()
    plugin.prepare(claim("u1"))
    with pytest.raises(PrepareError, match="requested device gpu-0 is already allocated to different claim u1"):
        plugin.prepare(claim("u2"))
    plugin.prepare(claim("admin", adminAccess=True))
    plugin.prepare(claim("u3", "gpu-1"))
    plugin.unprepare("u1")
    plugin.prepare(claim("u2"))


def test_admin_claim_and_started_claim_do_not_block(world: World) -> None:
    plugin = world.plugin()
    plugin.prepare(claim("admin", adminAccess=True))
    with pytest.raises(ConfigError):
        plugin.prepare(claim("broken", config=opaque(color="red")))
    plugin.prepare(claim("u1"))


def test_unprepare_removes_all_and_is_idempotent(world: World) -> None:
    plugin = world.plugin()
    plugin.unprepare("never-seen")
    plugin.prepare(claim())
    plugin.unprepare("u1")
    plugin.unprepare("u1")
    assert not world.spec_path("u1").exists()
    assert world.checkpoint()["v2"]["preparedClaims"] == {}


def test_missing_library_fails_until_it_appears(world: World) -> None:
    world.library.unlink()
    plugin = world.plugin()
    with pytest.raises(DriverRootError, match=r"failed to locate libcuda\.so"):
        plugin.prepare(claim())
    world.library.touch()
    assert plugin.prepare(claim()) == ANSWER


def test_mig_spec_has_parent_and_capabilities(world: World) -> None:
    migs = {0: mig_card(0, 1, profile="1g.18gb", profile_id=19, start=0, size=1)}
    world.nvml.cards[0] = Card(0, "GPU-0", mig=True, migs=migs)
    plugin = world.plugin()
    plugin.prepare(claim("u1", "gpu-0-mig-1g18gb-19-0"))
    nodes = world.spec("u1")["devices"][0]["containerEdits"]["deviceNodes"]
    assert [(n["path"], n["type"], n["major"], n["minor"]) for n in nodes] == [
        ("/dev/nvidia0", "c", 195, 0),
        ("/dev/nvidia-caps/nvidia-cap12", "c", 511, 12),
        ("/dev/nvidia-caps/nvidia-cap13", "c", 511, 13),
    ]


def test_time_slicing_is_set_and_reset(world: World) -> None:
    world.slicing = True
    plugin = world.plugin()
    plugin.prepare(claim(config=opaque(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}})))
    assert world.ran == [["-i", "GPU-0", "-c", "DEFAULT"], ["compute-policy", "-i", "GPU-0", "--set-timeslice", "3"]]
    world.ran.clear()
    world.plugin().unprepare("u1")
    assert world.ran[1] == ["compute-policy", "-i", "GPU-0", "--set-timeslice", "0"]


def test_the_time_slice_of_a_shared_gpu_is_reset_with_its_last_claim(world: World) -> None:
    world.slicing, world.shares = True, ShareMode("count", 4)
    sharing = opaque(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}})
    plugin = world.plugin()
    for uid in ("u1", "u2"):
        plugin.prepare(claim(uid, config=sharing))
    world.ran.clear()
    plugin.unprepare("u1")
    assert not world.ran
    plugin.unprepare("u2")
    assert world.ran[1] == ["compute-policy", "-i", "GPU-0", "--set-timeslice", "0"]


def test_time_slicing_that_fails_is_undone_by_unprepare(world: World) -> None:
    world.slicing = True
    plugin = world.plugin()

    def fail(arguments: object) -> None:
        raise PrepareError("nvidia-smi died")

    plugin._settings[0]._run = fail
    with pytest.raises(PrepareError, match="nvidia-smi died"):
        plugin.prepare(claim(config=opaque(sharing={"strategy": "TimeSlicing"})))
    world.plugin().unprepare("u1")
    assert ["compute-policy", "-i", "GPU-0", "--set-timeslice", "0"] in world.ran


# -- the checkpoint file -----------------------------------------------------------------------------------------------


def test_reboot_removes_claims_and_their_specs(world: World) -> None:
    world.plugin().prepare(claim())
    world.plugin(boot_id="boot-2")
    assert world.checkpoint()["v2"] == {**world.checkpoint()["v2"], "preparedClaims": {}, "nodeBootID": "boot-2"}
    assert not world.spec_path("u1").exists()


def test_a_checkpoint_that_a_power_failure_damaged_is_removed(world: World) -> None:
    world.plugin().prepare(claim())
    path = world.data / "checkpoint.json"
    path.write_bytes(b"")
    with pytest.raises(CorruptCheckpointError):
        world.plugin()  # in the same boot nothing but a fault empties it
    plugin = world.plugin(boot_id="boot-2")
    assert world.checkpoint()["v2"]["preparedClaims"] == {}
    assert not world.spec_path("u1").exists()
    assert plugin.prepare(claim()) == ANSWER
    assert world.plugin(boot_id="boot-2").prepare(claim()) == ANSWER


def test_the_name_of_the_boot_is_synced_before_the_first_claim(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        sync(descriptor)
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    monkeypatch.setattr(os, "fsync", note)
    plugin = world.plugin()
    assert synced == [".checkpoint.json.boot.partial", world.data.name]
    plugin.prepare(claim())
    world.plugin().unprepare("u1")
    assert len(synced) == 2  # the claims end with the boot


def test_checkpoint_without_boot_id_keeps_claims(world: World) -> None:
    world.plugin(boot_id="").prepare(claim())
    world.plugin(boot_id="boot-1")
    assert world.checkpoint()["v2"]["nodeBootID"] == "boot-1"
    assert "u1" in world.checkpoint()["v2"]["preparedClaims"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"gpu-0", b"gpu-1"),
        lambda data: b"",
        lambda data: b"[]",
        lambda data: b'{"v2": 3}',
        lambda data: data.replace(b"PrepareCompleted", b"PrepareFinished"),
    ],
)
def test_damaged_checkpoint_is_refused_with_a_hint(world: World, damage: Any) -> None:
    world.plugin().prepare(claim())
    path = world.data / "checkpoint.json"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorruptCheckpointError, match=r"checkpoint is corrupted: .*checkpoint\.json.*remove the file"):
        world.plugin()


def test_v1_only_checkpoint_means_completed(world: World) -> None:
    world.plugin().prepare(claim())
    document = world.checkpoint()
    del document["v2"]
    (world.data / "checkpoint.json").write_bytes(orjson.dumps(document))
    assert world.plugin().prepare(claim()) == ANSWER


def test_stale_started_claims_are_cleaned(world: World) -> None:
    plugin = world.plugin()
    for uid in ("gone", "alive", "unknown"):
        with pytest.raises(PrepareError):
            plugin.prepare(claim(uid, "gpu-7"))
    plugin.prepare(claim("done"))
    world.claims.alive = {"gone": False, "done": False, "unknown": None}
    assert world.plugin().clean_stale() == ["gone"]
    assert set(world.checkpoint()["v2"]["preparedClaims"]) == {"alive", "unknown", "done"}


def test_a_stale_claim_that_cannot_be_unprepared_keeps_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = world.plugin()
    for uid in ("first", "second"):
        with pytest.raises(PrepareError):
            plugin.prepare(claim(uid, "gpu-7"))
    world.claims.alive = {"first": False, "second": False}
    plugin = world.plugin()
    unprepare = plugin.unprepare

    def failing(uid: str) -> None:
        if uid == "first":
            raise OSError("the disk is full")
        unprepare(uid)

    monkeypatch.setattr(plugin, "unprepare", failing)
    assert plugin.clean_stale() == ["second"]


def test_foreign_specs_stay_and_unknown_own_ones_go(world: World) -> None:
    world.cdi.mkdir()
    (world.cdi / "vendor.com-thing.yaml").touch()
    world.spec_path("orphan").touch()
    world.plugin()
    assert [path.name for path in world.cdi.iterdir()] == ["vendor.com-thing.yaml"]


def test_a_spec_that_does_not_exist_needs_no_write_access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reports a read-only file system before it checks whether the file exists."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    folder = CdiFolder(tmp_path, vendor="k8s.gpu.nvidia.com", cdi_class="claim")
    folder.remove("never")
    folder.path("there").touch()
    with pytest.raises(OSError, match="Read-only file system"):
        folder.remove("there")


# -- death in between --------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """SIGKILL, as far as a test in the same process can have it."""


class Deadly:
    """Counts system calls that change files and dies before one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        self.seen = 0
        for module, name in ((os, "open"), (os, "replace"), (os, "fsync"), (os, "fchmod")):
            self._wrap(monkeypatch, module, name)
        self._wrap(monkeypatch, os, "unlink")
        self._wrap(monkeypatch, atomicfile, "exchange")

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        monkeypatch.setattr(module, name, self._counted(getattr(module, name)))

    def _counted(self, real: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.seen += 1
            if self.left == 0:
                raise Killed
            self.left -= 1
            return real(*arguments, **options)

        return call


@pytest.fixture
def deadly(monkeypatch: pytest.MonkeyPatch) -> Deadly:
    return Deadly(monkeypatch)


def calls_of(deadly: Deadly, action: Any) -> int:
    deadly.left = -1
    before = deadly.seen
    action()
    return deadly.seen - before


def test_death_at_any_call_of_prepare_is_repaired(tmp_path: Path, deadly: Deadly) -> None:
    untouched = World(tmp_path / "count")
    count = calls_of(deadly, lambda: untouched.plugin().prepare(claim()))
    assert count > 15
    for at in range(count):
        world = World(tmp_path / f"at{at}")
        plugin = None
        deadly.left = at
        try:
            plugin = world.plugin()
            plugin.prepare(claim())
        except Killed:
            pass
        deadly.left = -1
        successor = world.plugin()
        assert successor.prepare(claim()) == ANSWER
        assert world.spec("u1")["devices"][0]["name"] == "u1-gpu-0"
        successor.unprepare("u1")
        assert list(world.cdi.iterdir()) == []
        assert sorted(path.name for path in world.data.iterdir()) == [
            "checkpoint.json",
            "checkpoint.json.boot",
            "pu.lock",
        ]


def test_death_at_any_call_of_unprepare_is_repaired(tmp_path: Path, deadly: Deadly) -> None:
    def prepared(name: str) -> World:
        made = World(tmp_path / name)
        made.plugin().prepare(claim())
        return made

    world = prepared("count")
    plugin = world.plugin()
    count = calls_of(deadly, lambda: plugin.unprepare("u1"))
    assert count >= 5
    for at in range(count):
        world = prepared(f"at{at}")
        plugin = world.plugin()
        deadly.left = at
        with pytest.raises(Killed):
            plugin.unprepare("u1")
        deadly.left = -1
        successor = world.plugin()
        assert successor.prepare(claim()) == ANSWER  # the kubelet may also change its mind
        successor.unprepare("u1")
        assert list(world.cdi.iterdir()) == []
        assert sorted(path.name for path in world.data.iterdir()) == [
            "checkpoint.json",
            "checkpoint.json.boot",
            "pu.lock",
        ]
        successor.prepare(claim("u2"))


# -- the lock ----------------------------------------------------------------------------------------------------------


def test_lock_of_another_process_times_out(world: World) -> None:
    plugin = world.plugin()
    with (world.data / "pu.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        failed: list[BaseException] = []

        def prepare() -> None:
            try:
                plugin.prepare(claim())
            except LockTimeoutError as error:
                failed.append(error)

        thread = threading.Thread(target=prepare)
        thread.start()
        while thread.is_alive():
            world.clock.advance(5)
            thread.join(0.05)
    assert "timeout acquiring lock" in str(failed[0])
    assert plugin.prepare(claim()) == ANSWER


def test_calls_that_another_process_keeps_waiting_wait_at_the_same_time(world: World) -> None:
    lock = NodeLock(world.data / "pu.lock", clock=world.clock, timeout=10)
    started, failed = [], []

    def take() -> None:
        started.append(world.clock.monotonic())
        with pytest.raises(LockTimeoutError), lock.hold():
            pass
        failed.append(world.clock.monotonic())

    with (world.data / "pu.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        threads = [threading.Thread(target=take) for _ in range(3)]
        for thread in threads:
            thread.start()
        while len(started) < len(threads):
            threads[0].join(0.001)
        while threads[0].is_alive():
            world.clock.advance(0.5)
            threads[0].join(0.02)
        advanced = world.clock.monotonic()
        for thread in threads:
            thread.join(30)  # the clock does not advance any more
    assert advanced >= started[0] + 10
    assert len(failed) == len(threads)
    with lock.hold():
        pass


def test_concurrent_prepares_end_as_if_one_after_another(world: World) -> None:
    plugin = world.plugin()
    outcomes: list[str] = []

    def prepare(uid: str) -> None:
        try:
            plugin.prepare(claim(uid))
            outcomes.append("ok")
        except PrepareError:
            outcomes.append("refused")

    threads = [threading.Thread(target=prepare, args=(f"u{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["ok"] + ["refused"] * 7
    states = [entry["checkpointState"] for entry in world.checkpoint()["v2"]["preparedClaims"].values()]
    assert states == [ClaimState.COMPLETED]


def test_a_checkpoint_that_another_process_changed_is_read_again(world: World) -> None:
    one, other = world.plugin(), world.plugin()
    one.prepare(claim())
    other.prepare(claim("u2", "gpu-1"))
    with pytest.raises(PrepareError, match="already allocated to different claim u2"):
        one.prepare(claim("u3", "gpu-1"))
    other.unprepare("u2")
    one.prepare(claim("u3", "gpu-1"))
    assert set(world.checkpoint()["v2"]["preparedClaims"]) == {"u1", "u3"}
