"""An installed `dockerd`, started in a folder and stopped at the end of the `with` block.

It runs inside the namespaces of `verification.docker_engine.place`: its networks and packet filters are not the
machine's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dra_conformance.control_plane.kind import programs
from dra_conformance.core.process import ManagedProcess
from verification.docker_engine.waiting import until
from verification.kind_cluster import runtime

_UP = 90.0
_RUNTIME = "without-sys-resource"


class Engine:
    """dockerd with its containers in the cgroup `cgroup`. `host` is the value for DOCKER_HOST.

    `wrapped`: on a machine without CAP_SYS_RESOURCE, privileged containers start without it, and are not refused.
    """

    def __init__(self, folder: Path, *, cgroup: str, wrapped: bool = True) -> None:
        self.host = f"unix://{folder}/docker.sock"
        words = ["dockerd", f"--host={self.host}", f"--cgroup-parent=/{cgroup}", "--storage-driver=overlay2"]
        words += [f"--{name}={folder / name}" for name in ("data-root", "exec-root", "pidfile")]
        if wrapped and lacks_sys_resource():
            script = folder / _RUNTIME
            script.write_text(f'#!/bin/sh\nexec {sys.executable} -SI {runtime.__file__} "$@"\n', encoding="utf-8")
            script.chmod(0o700)
            words += [f"--add-runtime={_RUNTIME}={script}", f"--default-runtime={_RUNTIME}"]
        # 30 s: dockerd stops its containers and containerd before it ends.
        self._process = ManagedProcess("dockerd", words, log_path=folder / "dockerd.log", grace=30.0)

    def __enter__(self) -> Engine:
        os.environ["DOCKER_HOST"] = self.host
        self._process.start()
        try:
            until(self._answers, what="dockerd serves", within=_UP)
        # On KeyboardInterrupt too: dockerd must not outlive a failed start.
        except BaseException:
            print(self._process.last_lines(8), file=sys.stderr)
            self._process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def _answers(self) -> bool:
        if not self._process.running:
            raise AssertionError("dockerd has exited")
        return programs.run([programs.DOCKER, "info"], timeout=20.0).returncode == 0


def lacks_sys_resource() -> bool:
    """Return whether this process cannot give a container CAP_SYS_RESOURCE."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:"))
    return not int(bounding, 16) >> 24 & 1  # CAP_SYS_RESOURCE, capability.h
