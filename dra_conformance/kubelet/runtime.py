"""The containers of a node. They survive the kubelet, not the node.

Most are records only. The harness can provide programs for pods of which it needs a container that runs (`Programs`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from typing import Protocol

from dra_api.objects import Obj, uid_of
from dra_conformance.kubelet.container_view import ContainerView
from dra_conformance.kubelet.pod_resize import Resources, resources_of

_PODS = IPv4Network("10.244.0.0/16")
"""The addresses of pods."""


class PodProgram(Protocol):
    """The program of a pod's container."""

    def look(self) -> float | None:
        """Probe the container, or start it again. Return the seconds until the next look; None if it is ready."""
        ...

    @property
    def restarts(self) -> int:
        """How often the container was started again."""
        ...

    def end(self) -> None:
        """Kill the container."""
        ...


class Programs(Protocol):
    """Starts the programs of containers."""

    def start(self, pod: Obj) -> PodProgram | None:
        """Start the program of a pod; None if its containers are records only."""
        ...


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod whose containers run: start time, address, the view of each container, and their allocated resources."""

    started_at: str
    pod_ip: str
    views: Mapping[str, ContainerView]
    program: PodProgram | None = None
    resources: Resources = field(default_factory=dict)


class Runtime:
    """The containers of a node; they do not notice that a kubelet restarts."""

    def __init__(self, programs: Programs | None = None) -> None:
        self._programs = programs
        self._lock = threading.Lock()
        self._pods: dict[str, RunningPod] = {}
        self._addresses = _PODS.hosts()

    def get(self, uid: str) -> RunningPod | None:
        """The running pod of that uid."""
        with self._lock:
            return self._pods.get(uid)

    def run(self, pod: Obj, views: Mapping[str, ContainerView], now: str) -> RunningPod:
        """Start a pod's containers."""
        program = self._programs.start(pod) if self._programs else None
        with self._lock:
            found = RunningPod(now, str(next(self._addresses)), views, program, resources_of(pod))
            self._pods[uid_of(pod)] = found
            return found

    def resize(self, pod: Obj) -> None:
        """Give the containers of a running pod the resources of its spec."""
        with self._lock:
            if (running := self._pods.get(uid_of(pod))) is not None:
                self._pods[uid_of(pod)] = replace(running, resources=resources_of(pod))

    def kill(self, uid: str) -> RunningPod | None:
        """End a pod's containers."""
        with self._lock:
            found = self._pods.pop(uid, None)
        if found is not None and found.program is not None:
            found.program.end()
        return found

    def kill_all(self) -> None:
        """End everything, as a reboot of the node does."""
        with self._lock:
            uids = list(self._pods)
        for uid in uids:
            self.kill(uid)
