"""containerd and runc of one node: started in the node's namespaces with folders of their own, ended with them.

The only image is the scenario's program, imported once a node (see `image`); nothing is ever pulled.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.kubelet.real import image, settings
from dra_conformance.kubelet.real.namespace import NodeNamespace
from dra_conformance.kubelet.real.programs import CONTAINERD, CTR, NODE, RUNC, NodePrograms

_READY_TIMEOUT = 30.0
_CALL_TIMEOUT = 60.0
_TURN = 0.02


class Containerd:
    """containerd of one node; `log` receives its output, `isolation` limits its environment."""

    def __init__(self, layout: settings.Layout, programs: NodePrograms, *, log: Path, isolation: Isolation) -> None:
        self._layout = layout
        self._programs = programs
        self._log = log
        self._isolation = isolation
        self.process: ManagedProcess | None = None
        """containerd; None while it is not started."""

    def start(self, inside: NodeNamespace) -> None:
        """Start it in the node's namespaces and import the image. Raises KubeletError with its last output."""
        layout, programs = self._layout, self._programs
        for folder in (layout.storage, layout.cni, layout.pod_logs):
            folder.mkdir(mode=0o700, exist_ok=True)
        plugin = layout.cni / settings.CNI_PLUGIN
        if not plugin.is_symlink():
            plugin.symlink_to(programs[NODE])
        (layout.cni / "10-none.conflist").write_bytes(settings.cni())
        layout.containerd_config.write_text(settings.containerd(layout, runc=self._runc()))
        # The socket of an earlier life would look like a containerd that serves.
        layout.socket.unlink(missing_ok=True)
        # containerd looks for its shim on PATH.
        folders = dict.fromkeys([*(str(path.parent) for path in programs.paths.values()), os.environ.get("PATH", "")])
        command = [str(programs[CONTAINERD]), "--config", str(layout.containerd_config)]
        process = ManagedProcess(
            "containerd",
            inside.command(command),
            log_path=self._log,
            env={"PATH": os.pathsep.join(folders)},
            isolation=self._isolation,
        )
        process.start()
        self.process = process
        clock, never = RealClock(), threading.Event()
        deadline = clock.monotonic() + _READY_TIMEOUT
        while not layout.socket.exists():
            if not process.running or clock.monotonic() > deadline:
                raise KubeletError(f"containerd does not serve; last output: {process.last_lines()}")
            clock.wait(never, _TURN)
        self._import(inside)

    def signal(self, inside: NodeNamespace, container: str, signal: str) -> None:
        """Send a signal to the process of a container. Raises KubeletError."""
        self._ctr(inside, ["tasks", "kill", "--signal", signal, container], what=f"{signal} for {container}")

    def reap(self) -> None:
        """Collect the process once the namespaces have ended."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def _runc(self) -> Path:
        """Return runc, or its wrapper if runc was built without seccomp."""
        runc = self._programs[RUNC]
        if self._programs.seccomp:
            return runc
        folder = self._layout.root / "runc"
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, target in ((RUNC, runc), ("runc-unfiltered", self._programs[NODE])):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(target)
        return folder / "runc-unfiltered"

    def _import(self, inside: NodeNamespace) -> None:
        archive = self._layout.root / "image.tar"
        if archive.exists():
            return  # a reboot: the image is in the storage
        image.write_archive(self._programs[NODE], archive)
        self._ctr(inside, ["images", "import", str(archive)], what="the image")

    def _ctr(self, inside: NodeNamespace, words: Sequence[str], *, what: str) -> None:
        command = [str(self._programs[CTR]), "--address", str(self._layout.socket), "--namespace", "k8s.io", *words]
        try:
            done = subprocess.run(
                inside.command(command),
                capture_output=True,
                text=True,
                timeout=_CALL_TIMEOUT,
                check=False,
                env=self._isolation.environment({}),
            )
        except subprocess.TimeoutExpired:
            raise KubeletError(f"containerd did not take {what} within {_CALL_TIMEOUT:.0f} s") from None
        if done.returncode != 0:
            raise KubeletError(f"containerd does not take {what}: {done.stderr.strip()[-500:]}")
