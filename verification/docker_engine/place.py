"""An isolated environment for the engine: mount, PID and network namespaces, a folder (0700) and cgroups.

`apart` runs a command in it and removes everything afterwards. That command first calls `settle`. Inside, mounts are
shared below the namespace, as Docker's `rshared` needs and systemd configures; the network is a loopback and what the
engine creates; /run, /var/lib and /var/log are empty.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from dra_conformance.kubelet.real.cgroups import NodeCgroups, mounted

_HIDDEN = ("/run", "/var/lib", "/var/log")
_END = 20.0
_SIOCSIFFLAGS, _UP_AND_RUNNING = 0x8914, 0x41  # netdevice(7)


def apart(command: Callable[[Path], Sequence[str]]) -> tuple[int, list[str]]:
    """Run `command(folder)` there; return its exit code and what could not be removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="dra-docker-"))
    # If this process is killed, so is `unshare`, and with it everything in its PID namespace.
    words = ["setpriv", "--pdeathsig", "KILL", "--"]
    words += ["unshare", "--mount", "--propagation", "private", "--net", "--pid", "--fork", "--kill-child"]
    words += ["--mount-proc", "--", *command(folder)]
    try:
        NodeCgroups(folder.name).make()
        process = subprocess.Popen(words, cwd=Path(__file__).resolve().parents[2])
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the command received the signal too: it stops its children, or it is killed
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            raise
        finally:
            _kill(process)
    finally:
        clear(folder)
    return code, traces(folder)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill `unshare` and wait until process 1 of its namespace has exited, which is after all others."""
    with contextlib.ExitStack() as open_files:
        first: list[int] = []
        with contextlib.suppress(OSError):
            for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                # A descriptor, before the kill: the number of the process may be used again afterwards.
                first.append(os.pidfd_open(int(pid)))
                open_files.callback(os.close, first[-1])
        process.kill()
        process.wait()
        if first:
            select.select(first, [], [], _END)


def clear(folder: Path) -> None:
    """Remove what the kernel does not: the cgroups and the folder of an environment that has ended."""
    NodeCgroups(folder.name).remove()
    shutil.rmtree(folder, ignore_errors=True)


def traces(folder: Path) -> list[str]:
    """Return what is left on this machine of an environment, by its folder."""
    found = [f"the folder {folder}"] if folder.exists() else []
    cgroups = [path / folder.name for path in mounted(Path("/proc/mounts").read_text())]
    found += [f"the cgroup {path}" for path in cgroups if path.exists()]
    found += [f"the mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if str(folder) in line]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(folder) in words:
                found.append(f"process {path.parent.name}: {words}")
    return found


def settle() -> None:
    """Make the namespaces into a machine for Docker."""
    for how in ("--make-rprivate", "--make-rshared"):  # private first, so that nothing outside shares them
        subprocess.run(["mount", how, "/"], check=True)
    # dockerd and containerd write here too: the machine's own files must not change.
    for path in _HIDDEN:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path], check=True)
    with socket.socket() as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))
