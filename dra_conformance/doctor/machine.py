"""Checks of machine and installation: Python, packages, folders for reports and sockets, real and fake GPUs.

Reads /proc, the file system and the metadata of installed packages. A separate process calls the real NVML library,
because a hanging NVIDIA driver must not block the doctor.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

import fake_nvml
from dra_conformance.components.work_folder import root_for_sockets
from dra_conformance.core.options import RunOptions
from dra_conformance.doctor.finding import Finding, missing, ok, wrong
from fake_nvml.errors import InventoryError, LibraryMissingError
from fake_nvml.library import control_path, library_path

_PYTHON = (3, 11)
_SPACE = 200 << 20
_NVML_TIMEOUT = 20.0
_QUERY_NVML = """\
import pynvml as n
n.nvmlInit()
names = [n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(i)) for i in range(n.nvmlDeviceGetCount())]
mig = 0
for i in range(len(names)):
    try:
        mig += n.nvmlDeviceGetMigMode(n.nvmlDeviceGetHandleByIndex(i))[0]
    except n.NVMLError:
        pass
text = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names)) or "no GPU"
print(f"driver {n.nvmlSystemGetDriverVersion()}: {text}" + (f"; MIG on {mig}" if mig else ""))
"""


def look(options: RunOptions) -> Iterator[Finding]:
    """Yield the findings about this machine."""
    yield from _python()
    yield from _folders(options)
    yield from _gpus(options)


def _python() -> Iterator[Finding]:
    area = "Python"
    found = f"{platform.python_version()} on {sys.platform} {platform.machine()}"
    if sys.version_info < _PYTHON:
        wanted = ".".join(map(str, _PYTHON))
        yield wrong(area, "interpreter", f"needs Python {wanted} or newer", f"Install Python {wanted}.", found=found)
    elif sys.platform != "linux":
        cause = "drivers and the kubelet meet at Linux sockets, and the fake NVML is a Linux library"
        yield wrong(area, "interpreter", cause, "Run it on Linux, or in a Linux container.", found=found)
    else:
        yield ok(area, "interpreter", found)
    yield from _packages(area)


def _packages(area: str) -> Iterator[Finding]:
    try:
        wanted = [Requirement(text) for text in requires("dra-conformance") or ()]
    except PackageNotFoundError:
        yield wrong(area, "packages", "dra-conformance is not installed", "pip install . in the checkout.")
        return
    count = 0
    for each in wanted:
        # Packages of extras are optional.
        if each.marker is not None and not each.marker.evaluate({"extra": ""}):
            continue
        count += 1
        try:
            there = version(each.name)
        except PackageNotFoundError:
            yield missing(area, each.name, f"{each} is not installed", f"pip install '{each}'")
            continue
        if not each.specifier.contains(there, prereleases=True):
            yield wrong(area, each.name, f"needs {each.specifier}", f"pip install '{each}'", found=there)
    yield ok(area, "packages", f"dra-conformance {version('dra-conformance')}; {count} required")


def _folders(options: RunOptions) -> Iterator[Finding]:
    area = "Folders"
    out = Path(options.out).absolute()
    # The run creates the folder; before that its nearest existing parent decides.
    there = next(each for each in (out, *out.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield wrong(area, "report", f"cannot write to {there}", "--out names another folder.", found=str(out))
    else:
        yield ok(area, "report", str(out))
    root = root_for_sockets(small=options.component("control-plane").kind == "embedded")
    if not os.access(root, os.W_OK | os.X_OK):
        yield wrong(area, "sockets", f"cannot write to {root}", "TMPDIR names another folder, with a short path.")
    elif (free := shutil.disk_usage(root).free) < _SPACE:
        yield wrong(
            area, "sockets", f"{free >> 20} MiB free, {_SPACE >> 20} needed", f"Make room in {root}.", found=str(root)
        )
    else:
        yield ok(area, "sockets", f"{root}, {free >> 20} MiB free")


def _gpus(options: RunOptions) -> Iterator[Finding]:
    area = "GPUs"
    needed = options.component("driver").kind == "reference" and options.component("kubelet").kind == "reference"
    try:
        control_path()
        yield ok(area, "fake NVML", str(library_path()), needed=needed)
    except LibraryMissingError as error:
        yield missing(
            area, "fake NVML", str(error), "python -m fake_nvml.build, or `pip install .` again.", needed=needed
        )
    try:
        fake_nvml.Inventory.load(options.inventory)
        yield ok(area, "inventory", options.inventory, needed=needed)
    except InventoryError as error:
        yield wrong(area, "inventory", str(error), "--inventory names another one.", needed=needed)
    yield _real_nvml(area)


def _real_nvml(area: str) -> Finding:
    try:
        done = subprocess.run(
            [sys.executable, "-c", _QUERY_NVML], check=False, capture_output=True, text=True, timeout=_NVML_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        cause = f"the library did not respond within {_NVML_TIMEOUT:.0f} s"
        return wrong(area, "real NVML", cause, "`nvidia-smi` will hang too: look at the kernel's log.", needed=False)
    if done.returncode == 0:
        return ok(area, "real NVML", done.stdout.strip(), needed=False)
    last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    message = last.partition(": ")[2] or last
    way_out = "Only for a driver on real GPUs: install the NVIDIA driver; `nvidia-smi` must work."
    if "Not Found" in last or "LibraryNotFound" in last:
        return missing(area, "real NVML", "there is no libnvidia-ml.so.1 on this machine", way_out, needed=False)
    return wrong(area, "real NVML", message, way_out, needed=False)
