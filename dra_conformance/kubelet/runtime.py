"""The containers of a node as records; none is started. They survive the kubelet, not the node."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

from dra_conformance.kubelet.container_view import ContainerView

_PODS = IPv4Network("10.244.0.0/16")
"""The addresses of pods."""


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod whose containers run: start time, address, and the view of each container."""

    started_at: str
    pod_ip: str
    views: Mapping[str, ContainerView]


class Runtime:
    """The containers of a node; they do not notice that a kubelet restarts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pods: dict[str, RunningPod] = {}
        self._addresses = _PODS.hosts()

    def get(self, uid: str) -> RunningPod | None:
        """The running pod of that uid."""
        with self._lock:
            return self._pods.get(uid)

    def run(self, uid: str, views: Mapping[str, ContainerView], now: str) -> RunningPod:
        """Start a pod's containers."""
        with self._lock:
            self._pods[uid] = RunningPod(now, str(next(self._addresses)), views)
            return self._pods[uid]

    def kill(self, uid: str) -> RunningPod | None:
        """End a pod's containers."""
        with self._lock:
            return self._pods.pop(uid, None)

    def kill_all(self) -> None:
        """End everything, as a reboot of the node does."""
        with self._lock:
            self._pods.clear()
