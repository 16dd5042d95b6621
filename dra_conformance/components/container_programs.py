"""Containers of Deployments as processes: what the emulated kubelet runs for a driver that starts helpers in pods.

There are no images. A container's command runs with the environment of its pod on the machine's own root file system,
on which its hostPath volumes are mounted, as the user of the driver under test. What it calls in the driver root of a
fake node is simulated. Only hostPath volumes of the node's own folder are mounted, and only exec probes are run.

The processes belong to the kubelet's runtime, which ends them with their pod or with the node.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_api.clock import Clock
from dra_api.objects import Obj, controller_of, name_of, uid_of
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.process import ManagedProcess

MOUNTS = "SIMULATED_MOUNTS"
"""Variable of a container: `path=host path` of each volume, so that simulated programs log paths of the node."""

_OWNERS = ("Deployment", "ReplicaSet")
_PROBE_SECONDS = 10.0
"""Deadline of a probe. Kubernetes' default is 1 s, which a busy machine can need to start the process."""
_RESTART_SECONDS = 1.0
"""From the end of a container to its restart; a kubelet waits 10 s and more."""
_RETRY_SECONDS = 0.25

Prepare = Callable[[Mapping[Path, Path], str], Isolation]
"""Returns the isolation of a container from its mounts (path in the container: path on the node) and its pod's uid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPrograms:
    """Starts the containers of Deployments on one node.

    `root`: the node's folder. `logs`: the folder for output. `prepare`: isolates a container. `ended`: is called with
    the host paths of a container's volumes when the container has ended.
    """

    root: Path
    logs: Path
    clock: Clock
    prepare: Prepare
    ended: Callable[[tuple[Path, ...]], None]

    def start(self, pod: Obj) -> ContainerProgram | None:
        """Start the container of a Deployment's pod; other pods are records."""
        owner = controller_of(pod)
        if owner is None or owner["kind"] not in _OWNERS:
            return None
        return ContainerProgram(self, pod)

    def mounts(self, pod: Obj, container: Mapping[str, Any]) -> dict[Path, Path]:
        """Return the mounts of a container: path in the container to path on the node, parents first."""
        hosts = {
            volume["name"]: Path(volume["hostPath"]["path"])
            for volume in pod["spec"].get("volumes") or ()
            if "hostPath" in volume
        }
        # The target wrote the paths: links are resolved, so that none leads out of the node's folder.
        own = {name: path for name, path in hosts.items() if path.resolve().is_relative_to(self.root.resolve())}
        found = {
            Path(mount["mountPath"]): own[mount["name"]]
            for mount in container.get("volumeMounts") or ()
            if mount["name"] in own and own[mount["name"]].is_dir()
        }
        return dict(sorted(found.items(), key=lambda pair: len(pair[0].parts)))


class ContainerProgram:
    """The first container of a pod as a process, started at once. Only the kubelet's worker of the pod calls it."""

    def __init__(self, programs: ContainerPrograms, pod: Obj) -> None:
        self.restarts = 0
        self._programs = programs
        self._container: Mapping[str, Any] = pod["spec"]["containers"][0]
        mounts = programs.mounts(pod, self._container)
        self._volumes = tuple(mounts.values())
        self._isolation = programs.prepare(mounts, uid_of(pod))
        self._environment = {
            **{entry["name"]: str(entry.get("value", "")) for entry in self._container.get("env") or ()},
            # The longest first: a volume may be mounted below another.
            MOUNTS: " ".join(f"{path}={host}" for path, host in reversed(mounts.items())),
        }
        self._process = ManagedProcess(
            f"container {self._container['name']}",
            [*(self._container.get("command") or ()), *(self._container.get("args") or ())],
            log_path=programs.logs / f"container-{name_of(pod)}.log",
            env=self._environment,
            isolation=self._isolation,
            grace=1.0,
        )
        self._ready = False
        self._next = 0.0
        self._ended_at: float | None = None
        self._start()

    def look(self) -> float | None:
        """Probe the container, or start it again. Return the seconds until the next look; None if it is ready."""
        now = self._programs.clock.monotonic()
        if not self._process.running:
            return self._restart(now)
        if not self._ready and now < self._next:
            return self._next - now
        if not self._ready:
            self._ready = self._probe()
            self._next = now + self._period
        return None if self._ready else self._period

    def end(self) -> None:
        """Kill the container."""
        self._process.kill()
        self._programs.ended(self._volumes)

    @property
    def _startup(self) -> Mapping[str, Any]:
        return self._container.get("startupProbe") or self._container.get("readinessProbe") or {}

    @property
    def _period(self) -> float:
        return float(self._startup.get("periodSeconds", 10))

    def _start(self) -> None:
        self._process.start()
        self._ended_at = None
        self._next = self._programs.clock.monotonic() + float(self._startup.get("initialDelaySeconds", 0))

    def _restart(self, now: float) -> float:
        if self._ended_at is None:
            self._ready, self._ended_at = False, now
            self.end()
        if now < self._ended_at + _RESTART_SECONDS:
            return self._ended_at + _RESTART_SECONDS - now
        self.restarts += 1
        self._start()
        return _RETRY_SECONDS

    def _probe(self) -> bool:
        """Return whether the container's startup or readiness probe succeeds; without a probe it does."""
        if not self._startup:
            return True
        command = (self._startup.get("exec") or {}).get("command")
        if not command:
            return False
        try:
            done = subprocess.run(
                self._isolation.command(command),
                check=False,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                env=self._isolation.environment({"PATH": "/usr/bin:/bin", **self._environment}),
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0
