"""Prerequisites of a machine for a real kubelet with containers.

Reads /proc and the file system below `root` (another one in tests); starts programs only for their version.
`dra-conformance doctor` shows each prerequisite; a run with `--kubelet kubelet` fails with all that are missing.

Source: Kubernetes 1.36 pkg/kubelet/cm; containerd's and runc's own requirements; namespaces(7), capabilities(7).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.kubelet.real import cgroups, programs

Which = Callable[[str], str | None]

# Bit numbers from linux/capability.h.
_CAPABILITIES: Mapping[str, int] = {"SYS_ADMIN": 21, "NET_ADMIN": 12, "MKNOD": 27, "SYS_CHROOT": 18}
_CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
_TOOLS = ("unshare", "nsenter", "setpriv")
_NAMESPACES = ("mnt", "pid", "net", "ipc", "uts")


@dataclass(frozen=True, slots=True)
class Need:
    """One prerequisite. `lacks` is the problem, or empty; `way_out` a fix; `found` what exists."""

    name: str
    found: str = ""
    lacks: str = ""
    way_out: str = ""


def look(*, root: Path = Path("/"), which: Which = shutil.which) -> Iterator[Need]:
    """Yield the machine's prerequisites, except Kubernetes' and containerd's programs (see `programs.find`)."""
    yield _privileges(root)
    yield _cgroups(root)
    yield _kernel(root)
    yield _tools(which)


def require(release: str, *, bin_dir: str = "") -> None:
    """Raise TargetUnreachable with everything that is missing, in one message.

    `release` is that of the control plane, such as v1.36.2; empty accepts the first kubelet found.
    """
    lacking = [need for need in look() if need.lacks]
    message = [f"{need.name}: {need.lacks}" for need in lacking]
    ways = [need.way_out for need in lacking]
    try:
        programs.find(release, bin_dir=bin_dir)
    except TargetUnreachable as error:
        message.append(error.message.removeprefix("--kubelet kubelet: "))
        ways.append(error.hint)
    if message:
        raise TargetUnreachable(
            f"--kubelet kubelet: this machine cannot run containers: {'; '.join(message)}",
            hint=" ".join(dict.fromkeys(way for way in ways if way)),
        )


def _privileges(root: Path) -> Need:
    name = "privileges"
    if not sys.platform.startswith("linux"):
        return Need(name, sys.platform, "containers need Linux", "Run on Linux, or in a virtual machine with it.")
    if os.geteuid() != 0:
        return Need(name, f"uid {os.geteuid()}", "a kubelet runs as root", "Run as root, or in a virtual machine.")
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", _text(root / "proc/self/status"), re.MULTILINE)
    mask = int(found[1], 16) if found else 0
    lacking = [each for each, bit in _CAPABILITIES.items() if not mask >> bit & 1]
    if lacking:
        return Need(name, "root", f"root without {', '.join(lacking)}", "In a container: start it privileged.")
    return Need(name, "root with the capabilities for mounts and devices")


def _cgroups(root: Path) -> Need:
    """Version 2, or version 1, which a kubelet accepts with failCgroupV1: false."""
    name, base = "cgroups", root / "sys/fs/cgroup"
    way_out = "In a container: start it with a writable cgroup namespace (--privileged --cgroupns=private)."
    mounts = _text(root / "proc/mounts")
    found = cgroups.hierarchies(mounts)
    if not found:
        return Need(name, "", "nothing is mounted at /sys/fs/cgroup", way_out)
    version = "v1" if cgroups.mounted(mounts, "cgroup") else "v2"
    there = {path.name for path in found} if version == "v1" else set(_text(base / "cgroup.controllers").split())
    # Version 1 mounts several controllers in one hierarchy, such as cpu,cpuacct.
    there |= {part for each in there for part in each.split(",")}
    if lacking := [each for each in _CONTROLLERS if each not in there]:
        return Need(name, version, f"{version} without {', '.join(lacking)}", "Delegate these controllers.")
    if closed := [str(path) for path in found if not _writable(root / str(path).lstrip("/"))]:
        return Need(name, version, f"{closed[0]} is read-only", way_out)
    message = "v1 (accepted with failCgroupV1: false)" if version == "v1" else "v2"
    return Need(name, message)


def _kernel(root: Path) -> Need:
    lacking = [] if re.search(r"\boverlay$", _text(root / "proc/filesystems"), re.MULTILINE) else ["overlayfs"]
    lacking += [f"{each} namespaces" for each in _NAMESPACES if not (root / f"proc/self/ns/{each}").exists()]
    if lacking:
        return Need("kernel", "", f"without {', '.join(lacking)}", "modprobe overlay, or another kernel.")
    return Need("kernel", "overlayfs and namespaces")


def _tools(which: Which) -> Need:
    if lacking := [each for each in _TOOLS if which(each) is None]:
        return Need("util-linux", "", f"no {', '.join(lacking)} on PATH", "Install util-linux.")
    return Need("util-linux", ", ".join(_TOOLS))


def _writable(path: Path) -> bool:
    """Whether one could write there: by permission, and by the mount, without trying."""
    return path.exists() and os.access(path, os.W_OK) and not os.statvfs(path).f_flag & os.ST_RDONLY


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
