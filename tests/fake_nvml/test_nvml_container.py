"""What an unmodified NVML client sees in a container: the GPUs and MIG devices whose device files it was given.

A folder stands for the root of a container: it has the files that a container runtime would mount or create.
Source: issues of NVIDIA's repositories and the MIG User Guide, as named in fake_nvml/src/state/visible.c.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import fake_nvml
from fake_nvml.driver_root import CAP_MIG_MONITOR, MAJOR_FRONTEND, gi_minor
from tests.fake_nvml.containers import client, contain

Make = Callable[..., fake_nvml.Node]


BY_UUID = """
import json, pynvml
pynvml.nvmlInit()
try:
    print(json.dumps(pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID("%s"))))
except pynvml.NVMLError as error:
    print(json.dumps(str(error)))
"""


def caps(node: fake_nvml.Node, gpu: int, instances: Iterable[int]) -> list[str]:
    """Return the capability files of MIG devices of a GPU by their index, each alone in its GPU instance."""
    rows = enumerate(node.read().gpus[gpu].instances)
    by_index = {row.compute[0].mig_index: gi for gi, row in rows if row.used}
    minors = [gi_minor(gpu, by_index[instance]) for instance in instances]
    return [f"nvidia-caps/nvidia-cap{number}" for minor in minors for number in (minor, minor + 1)]


def test_a_container_sees_the_gpus_of_its_device_files_counted_from_0(make_node: Make, tmp_path: Path) -> None:
    node = make_node("dgx-h100")
    found = client(contain(node, tmp_path / "pod", ["nvidia2", "nvidia5"]))
    assert [(gpu["uuid"], gpu["index"], gpu["minor"]) for gpu in found] == [
        (node.gpus[2].uuid, 0, 2),
        (node.gpus[5].uuid, 1, 5),
    ]


def test_a_gpu_of_another_container_is_not_found_by_its_identity_either(make_node: Make, tmp_path: Path) -> None:
    node = make_node("dgx-h100")
    other, own = node.gpus[1], node.gpus[0]
    code = f"""
import json, pynvml
pynvml.nvmlInit()
def code(call, name):
    try:
        return pynvml.nvmlDeviceGetIndex(call(name))
    except pynvml.NVMLError as error:
        return str(error)
print(json.dumps([
    code(pynvml.nvmlDeviceGetHandleByUUID, {other.uuid!r}),
    code(pynvml.nvmlDeviceGetHandleByPciBusId, {other.bus_id!r}),
    code(pynvml.nvmlDeviceGetHandleBySerial, {str(node.get(1, "serial"))!r}),
    code(pynvml.nvmlDeviceGetHandleByUUID, {own.uuid!r}),
    len(pynvml.nvmlDeviceGetTopologyNearestGpus(pynvml.nvmlDeviceGetHandleByIndex(0), 50)),
]))
"""
    missing = "Not Found"
    assert client(contain(node, tmp_path / "pod", ["nvidia0"]), code) == [missing, missing, missing, 0, 0]


def test_a_container_without_a_gpu_sees_none(make_node: Make, tmp_path: Path) -> None:
    assert client(contain(make_node("dgx-h100"), tmp_path / "pod", [])) == []


def test_a_container_without_the_control_device_has_no_driver(make_node: Make, tmp_path: Path) -> None:
    root = contain(make_node("t4"), tmp_path / "pod", ["nvidia0"])
    (root / "dev/nvidiactl").unlink()
    assert client(root) == "Driver Not Loaded"
    (root / "dev/nvidiactl").symlink_to("nvidiactl")  # there, but it cannot be opened
    assert client(root) == "Unknown Error"


def test_a_container_with_a_mig_device_sees_that_one(make_node: Make, tmp_path: Path) -> None:
    node = make_node("dgx-h100-mig")
    uuids = [uuid for uuid, _ in client(node.driver_root)[0]["migs"]]
    root = contain(node, tmp_path / "pod", ["nvidia0", *caps(node, 0, [2])])
    (only,) = client(root)
    assert only["migs"] == [[uuids[2], 0]]
    assert only["memory"] == "Insufficient Permissions"
    assert client(root, BY_UUID % uuids[0]) == "Not Found"
    assert client(root, BY_UUID % uuids[2]) == 0


@pytest.mark.parametrize("missing", [0, 1], ids=["GPU instance", "compute instance"])
def test_both_capabilities_of_a_mig_device_are_needed(make_node: Make, tmp_path: Path, missing: int) -> None:
    node = make_node("dgx-h100-mig")
    files = caps(node, 0, [1])
    del files[missing]
    (only,) = client(contain(node, tmp_path / "pod", ["nvidia0", *files]))
    assert only["migs"] == []


def test_the_capability_of_monitoring_shows_every_mig_device_of_the_containers_gpus(
    make_node: Make, tmp_path: Path
) -> None:
    node = make_node("dgx-h100-mig")
    monitor = f"nvidia-caps/nvidia-cap{CAP_MIG_MONITOR}"
    (only,) = client(contain(node, tmp_path / "pod", ["nvidia0", monitor]))
    assert only["migs"] == client(node.driver_root)[0]["migs"]
    assert only["memory"] > 0


def test_a_mig_device_of_a_hidden_gpu_is_not_found(make_node: Make, tmp_path: Path) -> None:
    node = make_node("dgx-h100-mig")
    uuid = client(node.driver_root)[0]["migs"][0][0]
    root = contain(node, tmp_path / "pod", ["nvidia1", f"nvidia-caps/nvidia-cap{CAP_MIG_MONITOR}"])
    assert client(root, BY_UUID % uuid) == "Not Found"


INSTANCES = """
import ctypes, json, pynvml
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
room, count = (pynvml.c_nvmlGpuInstance_t * 8)(), ctypes.c_uint()
def code(call, *arguments):
    try:
        call(handle, *arguments)
    except pynvml.NVMLError as error:
        return str(error)
print(json.dumps([
    code(pynvml.nvmlDeviceGetGpuInstances, 19, room, ctypes.byref(count)), code(pynvml.nvmlDeviceGetGpuInstanceById, 9)
]))
"""


def test_the_instances_of_a_gpu_need_the_capability_of_monitoring(make_node: Make, tmp_path: Path) -> None:
    node = make_node("dgx-h100-mig")
    root = contain(node, tmp_path / "pod", ["nvidia0", *caps(node, 0, [0])])
    assert client(root, INSTANCES) == ["Insufficient Permissions"] * 2
    (root / f"dev/nvidia-caps/nvidia-cap{CAP_MIG_MONITOR}").touch()
    assert client(root, INSTANCES) == [None, "Not Found"]


def test_a_device_file_needs_no_driver_behind_it(make_node: Make, tmp_path: Path) -> None:
    """As in a container on a machine without GPUs: the runtime makes the device files from their numbers."""
    node = make_node("dgx-h100")
    root = contain(node, tmp_path / "pod", [])
    path = root / "dev/nvidia4"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(MAJOR_FRONTEND, 4))
        os.close(os.open(path, os.O_RDWR))
    except PermissionError:
        # Only root makes device files, and only with a device cgroup that allows them; plain files are tested above.
        pytest.skip("no device files can be made, or opened, here")
    except OSError as error:
        assert error.errno in (errno.ENXIO, errno.ENODEV)  # noqa: PT017 - what the test is about
    assert [gpu["minor"] for gpu in client(root)] == [4]


def test_a_change_of_the_node_is_seen_at_once(make_node: Make, tmp_path: Path) -> None:
    node = make_node("dgx-h100")
    root = contain(node, tmp_path / "pod", ["nvidia3"])
    code = "import json, pynvml as p; p.nvmlInit(); print(json.dumps(p.nvmlDeviceGetTemperature(%s, 0)))"
    node.set(3, "temperature_gpu", 77)
    assert client(root, code % "p.nvmlDeviceGetHandleByIndex(0)") == 77


def test_a_program_beside_the_containers_sees_every_gpu(make_node: Make, tmp_path: Path) -> None:
    """Whatever device files the node's own driver root has: scenarios remove some of them."""
    node = make_node("dgx-h100")
    (node.driver_root / "dev/nvidia3").unlink()
    assert len(client(node.driver_root)) == 8


NAMESPACE = """
set -e
mount -t tmpfs none /run
mkdir /run/fake-nvml
touch /run/fake-nvml/state
mount --bind "$1" /run/fake-nvml/state
mount -o remount,bind,ro /run/fake-nvml/state
mount -t tmpfs none /dev
touch /dev/null /dev/urandom /dev/nvidiactl /dev/nvidia1
exec "$2" -c "$3"
"""

WRITE = """
import json, pynvml
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
try:
    pynvml.nvmlDeviceSetPersistenceMode(handle, 0)
except pynvml.NVMLError as error:
    print(json.dumps([pynvml.nvmlDeviceGetCount(), pynvml.nvmlDeviceGetMinorNumber(handle), str(error)]))
"""


def test_the_paths_of_a_container_and_a_read_only_state(make_node: Make) -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode
    ):
        # Containers and some distributions forbid them; the filter itself is tested above without one.
        pytest.skip("no user namespaces here")
    node = make_node("dgx-h100")
    # A copy elsewhere, as if it were found by the loader's own search.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FAKE_NVML_STATE")}
    environment["LD_LIBRARY_PATH"] = str(fake_nvml.library_path().parent)
    command = [*unshare, "sh", "-c", NAMESPACE, "sh", str(node.state_path), sys.executable, WRITE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [1, 1, "Insufficient Permissions"]
