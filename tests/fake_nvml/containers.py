"""Folders that stand for the root of a container, and an unmodified NVML client that runs on the libraries in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fake_nvml

CONTROL = ("nvidiactl", "nvidia-uvm")

CLIENT = """
import json, pynvml
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except pynvml.NVMLError as error:
        return str(error)
def gpu(handle):
    found = {"uuid": pynvml.nvmlDeviceGetUUID(handle), "index": pynvml.nvmlDeviceGetIndex(handle)}
    found["minor"] = pynvml.nvmlDeviceGetMinorNumber(handle)
    memory = attempt(pynvml.nvmlDeviceGetMemoryInfo, handle)
    found["memory"] = memory if isinstance(memory, str) else memory.total
    found["migs"] = []
    for index in range(attempt(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle)):
        mig = attempt(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        if not isinstance(mig, str):
            assert pynvml.nvmlDeviceGetIndex(mig) == index
            found["migs"].append([pynvml.nvmlDeviceGetUUID(mig), index])
            assert pynvml.nvmlDeviceGetMemoryInfo(mig).total > 0
    return found
failed = attempt(pynvml.nvmlInit)
if failed:
    print(json.dumps(failed))
else:
    print(json.dumps([gpu(pynvml.nvmlDeviceGetHandleByIndex(i)) for i in range(pynvml.nvmlDeviceGetCount())]))
"""


def contain(node: fake_nvml.Node, root: Path, devices: Iterable[str]) -> Path:
    """Make the root of a container of the node with the library, the state and some device files."""
    library = root / "usr/lib64/libnvidia-ml.so.1"
    library.parent.mkdir(parents=True)
    shutil.copyfile(fake_nvml.library_path(), library)
    (root / "run/fake-nvml").mkdir(parents=True)
    os.link(node.state_path, root / "run/fake-nvml/state")
    (root / "dev/nvidia-caps").mkdir(parents=True)
    for name in (*CONTROL, *devices):
        (root / "dev" / name).touch()
    return root


def apply_edits(root: Path, edits: Iterable[Mapping[str, Any]]) -> Path:
    """Make the root of a container with the mounts and device files of some CDI edits."""
    for edit in edits:
        for mount in edit.get("mounts", ()):
            path = root / mount["containerPath"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(os.path.realpath(mount["hostPath"]), path)
        for device in edit.get("deviceNodes", ()):
            path = root / device["path"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    return root


def client(root: Path, code: str = CLIENT) -> Any:
    """Run a program with the installed pynvml in the container; return what it prints as JSON."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FAKE_NVML_STATE")}
    environment["LD_LIBRARY_PATH"] = str(root / "usr/lib64")
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
