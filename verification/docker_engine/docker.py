"""A Docker engine in one folder: dockerd and its child processes, stopped at the end of the `with` block.

Packet filters stay untouched: docker-proxy serves published ports. Everything else is the default: bridge network,
containerd image store, and the containerd and runc beside dockerd.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docker

from dra_api.clock import RealClock
from dra_conformance.core.process import ManagedProcess
from verification.docker_engine import image

PROGRAMS = ("dockerd", "docker-proxy", "containerd", "containerd-shim-runc-v2", "runc")
_UP, _CALL, _TURN = 60.0, 120.0, 0.05


class Engine:
    """dockerd in `folder`, with the programs of `bin_dir` and its containers in the cgroup `cgroup`."""

    def __init__(self, folder: Path, *, bin_dir: Path, cgroup: str) -> None:
        self._folder = folder
        self._bin_dir = bin_dir
        self.host = f"unix://{folder}/docker.sock"
        self.log = folder / "dockerd.log"
        own = folder / "path"  # only the programs that the engine itself looks for on PATH
        own.mkdir(mode=0o700)
        for name in PROGRAMS:
            (own / name).symlink_to((bin_dir / name).resolve())
        words = [str(own / "dockerd"), f"--host={self.host}", f"--cgroup-parent=/{cgroup}"]
        words += [f"--{name}={folder / name}" for name in ("data-root", "exec-root", "pidfile")]
        words += ["--iptables=false", "--ip6tables=false", "--ip-forward=false"]
        words += [f"--userland-proxy-path={own / 'docker-proxy'}"]
        search = os.pathsep.join([str(own), os.environ.get("PATH", "")])
        # 20 s: dockerd stops its containers and containerd before it ends.
        self._process = ManagedProcess("dockerd", words, log_path=self.log, env={"PATH": search}, grace=20.0)
        self.client: Any = None

    def __enter__(self) -> Engine:
        self._process.start()
        clock, never = RealClock(), threading.Event()
        deadline = clock.monotonic() + _UP
        try:
            while not self._answers():
                if not self._process.running or clock.monotonic() > deadline:
                    raise RuntimeError(f"dockerd does not serve; last output:\n{self._process.last_lines(8)}")
                clock.wait(never, _TURN)
        # On KeyboardInterrupt too: dockerd must not outlive a failed start.
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.client is not None:
            self.client.close()
        self._process.stop()

    def _answers(self) -> bool:
        if not (self._folder / "docker.sock").exists():
            return False
        try:
            self.client = docker.DockerClient(base_url=self.host, timeout=_CALL)
            return bool(self.client.ping())
        except docker.errors.DockerException:
            return False

    def load(self, release: str) -> str:
        """Build the image that replaces k3s' and return its name with the tag."""
        path = self._folder / "image.tar"
        with path.open("wb") as file:
            image.write(file, bin_dir=self._bin_dir)
        try:
            return self._import(str(path), image.NAME, release, image.ENTRYPOINT)
        finally:
            # The engine has a copy of its own by now.
            path.unlink()

    def load_broken(self, release: str) -> str:
        """Build an image whose program does not exist and return its name with the tag."""
        path = self._folder / "nothing.tar"
        path.write_bytes(image.nothing())
        return self._import(str(path), "nothing-in-it", release, ["/bin/k3s"])

    def _import(self, path: str, name: str, tag: str, entrypoint: Sequence[str]) -> str:
        changes = image.changes(entrypoint)
        self.client.api.import_image_from_file(path, repository=name, tag=tag, changes=changes)
        return f"{name}:{tag}"

    def left(self) -> list[str]:
        """Return what runs left in the engine: containers, volumes, networks."""
        found = [f"the container {each.name} ({each.status})" for each in self.client.containers.list(all=True)]
        found += [f"the volume {each.name}" for each in self.client.volumes.list()]
        # Networks that every engine creates for itself.
        usual = {"bridge", "host", "none"}
        return found + [f"the network {each.name}" for each in self.client.networks.list() if each.name not in usual]
