"""What a real kubelet with real containers would need on this machine, and which of it is not there.

Reads /proc, /sys and the file system below `root` (another one in tests), asks programs for their version and opens
containerd's socket; starts nothing. Source: Kubernetes 1.36 pkg/kubelet (cgroup v1 is refused by default since 1.35,
FailCgroupV1), containerd 2.x and runc's own requirements.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dra_conformance.doctor.finding import Finding, missing, ok, wrong

_AREA = "Real kubelet"
_CONTAINERD = (2, 0)
_SOCKET = "run/containerd/containerd.sock"
_CONTROLLERS = ("cpu", "memory", "pids")
_CAPABILITIES: Mapping[str, int] = {"SYS_ADMIN": 21, "NET_ADMIN": 12, "MKNOD": 27, "SYS_CHROOT": 18}
_FOLDERS = ("var/lib/kubelet", "var/lib/containerd", "run", "etc/cdi")
_TIMEOUT = 10.0

Which = Callable[[str], str | None]


def look(*, root: Path = Path("/"), which: Which = shutil.which, needed: bool = False) -> Iterator[Finding]:
    """One finding for each prerequisite."""
    yield _user(root, needed)
    yield _cgroups(root, needed)
    yield _file_system(root, needed)
    yield from _programs(which, needed)
    yield _socket(root, needed)
    yield _swap(root, needed)
    yield from _folders(root, needed)


def _user(root: Path, needed: bool) -> Finding:
    """root with the capabilities that mounts, cgroups and device nodes take; a container often lacks some."""
    if os.geteuid() != 0:
        way_out = "Run as root, or in a virtual machine."
        return wrong(_AREA, "privileges", "a kubelet runs as root", way_out, found=f"uid {os.geteuid()}", needed=needed)
    text = _text(root / "proc/self/status")
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", text, re.MULTILINE)
    mask = int(found[1], 16) if found else 0
    lacking = [name for name, bit in _CAPABILITIES.items() if not mask >> bit & 1]
    if lacking:
        way_out = "In a container: start it privileged."
        return wrong(_AREA, "privileges", f"root without {', '.join(lacking)}", way_out, found="root", needed=needed)
    return ok(_AREA, "privileges", "root with the capabilities for mounts and devices", needed=needed)


def _cgroups(root: Path, needed: bool) -> Finding:
    name, base = "cgroups", root / "sys/fs/cgroup"
    controllers = _text(base / "cgroup.controllers").split()
    if not controllers:
        cause = "cgroup v1 (or none) is mounted; kubelet refuses it by default since 1.35"
        way_out = "Boot with systemd.unified_cgroup_hierarchy=1; for a container that is up to its host."
        if base.is_dir() and any(base.iterdir()):
            return wrong(_AREA, name, cause, way_out, found="v1", needed=needed)
        return missing(_AREA, name, "nothing is mounted at /sys/fs/cgroup", way_out, needed=needed)
    if lacking := [each for each in _CONTROLLERS if each not in controllers]:
        way_out = "Delegate these controllers to this cgroup."
        return wrong(_AREA, name, f"v2 without {', '.join(lacking)}", way_out, found="v2", needed=needed)
    if not _writable(base):
        way_out = "In a container: start it with a writable cgroup namespace (--privileged --cgroupns=private)."
        return wrong(_AREA, name, "/sys/fs/cgroup is read-only", way_out, found="v2", needed=needed)
    return ok(_AREA, name, f"v2 with {', '.join(controllers)}", needed=needed)


def _file_system(root: Path, needed: bool) -> Finding:
    if re.search(r"\boverlay$", _text(root / "proc/filesystems"), re.MULTILINE):
        return ok(_AREA, "overlayfs", "known to the kernel", needed=needed)
    return missing(_AREA, "overlayfs", "the kernel does not know it", "modprobe overlay", needed=needed)


def _programs(which: Which, needed: bool) -> Iterator[Finding]:
    way_out = "Install containerd 2.x and runc from their releases or the distribution."
    for name in ("containerd", "runc"):
        program = which(name)
        if program is None:
            yield missing(_AREA, name, f"there is no {name} on PATH", way_out, needed=needed)
            continue
        said = _version(program)
        found = re.search(r"v?(\d+)\.(\d+)\.(\d+)", said)
        if name == "containerd" and (not found or (int(found[1]), int(found[2])) < _CONTAINERD):
            cause = "containerd 2.0 or newer is needed: it reads CDI devices without being told to"
            yield wrong(_AREA, name, cause, way_out, found=found[0] if found else said or program, needed=needed)
        else:
            yield ok(_AREA, name, f"{found[0] if found else said}: {program}", needed=needed)
    program = which("kubelet") or _built_kubelet()
    if program is None:
        yield missing(_AREA, "kubelet", "there is no kubelet on PATH or in peers/bin", "make peers", needed=needed)
    else:
        yield ok(_AREA, "kubelet", program, needed=needed)


def _built_kubelet() -> str | None:
    from dra_conformance import assets

    program = assets.features().parent / "peers" / "bin" / "kubelet"
    return str(program) if os.access(program, os.X_OK) else None


def _socket(root: Path, needed: bool) -> Finding:
    path = root / _SOCKET
    name, way_out = "containerd socket", "Start containerd (`systemctl start containerd`)."
    if not path.exists():
        return missing(_AREA, name, f"there is no /{_SOCKET}", way_out, needed=needed)
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(_TIMEOUT)
        try:
            door.connect(str(path))
        except OSError as error:
            return wrong(_AREA, name, f"nobody answers: {error.strerror or error}", way_out, needed=needed)
    return ok(_AREA, name, f"/{_SOCKET}", needed=needed)


def _swap(root: Path, needed: bool) -> Finding:
    devices = [line.split()[0] for line in _text(root / "proc/swaps").splitlines()[1:] if line.split()]
    if devices:
        return wrong(
            _AREA,
            "swap",
            "kubelet refuses to start with swap by default",
            "swapoff -a",
            found=", ".join(devices),
            needed=needed,
        )
    return ok(_AREA, "swap", "off", needed=needed)


def _folders(root: Path, needed: bool) -> Iterator[Finding]:
    bad = []
    for name in _FOLDERS:
        there = next(each for each in (root / name, *(root / name).parents) if each.exists())
        if not _writable(there):
            bad.append(f"/{name}")
    if bad:
        cause = f"cannot write to {', '.join(bad)}"
        yield wrong(_AREA, "folders", cause, "Run as root on a writable file system.", needed=needed)
    else:
        yield ok(_AREA, "folders", ", ".join(f"/{name}" for name in _FOLDERS), needed=needed)


def _writable(path: Path) -> bool:
    """Whether one could write there: by permission, and by the mount, without trying."""
    if not os.access(path, os.W_OK):
        return False
    return not os.statvfs(path).f_flag & os.ST_RDONLY


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _version(program: str) -> str:
    try:
        done = subprocess.run([program, "--version"], check=False, capture_output=True, text=True, timeout=_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.splitlines() or [""])[0]
