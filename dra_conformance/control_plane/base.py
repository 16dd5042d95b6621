"""What every control plane offers the run, whoever it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from dra_api.transport import Transport

API_SERVER = "kube-apiserver"
ETCD = "etcd"


class NotOurs(Exception):
    """A program of the control plane that the run can neither kill nor start."""


class ControlPlane(Protocol):
    """An API server that the run can talk to.

    `own` says that it belongs to the run, which may then install, delete and break what it likes; `evidence` is
    `rehearsal` on an imitation and `evidence` on the real thing.
    """

    @property
    def name(self) -> str:
        """What the report calls it."""
        ...

    @property
    def own(self) -> bool:
        """Whether it belongs to the run."""
        ...

    @property
    def evidence(self) -> str:
        """`rehearsal` or `evidence`."""
        ...

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig for programs in components (mode 0600)."""
        ...

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Feature gates, as far as they can be known."""
        ...

    def start(self) -> None:
        """Bring it up, or find it. Raises TargetUnreachable with cause and way out."""
        ...

    def stop(self) -> None:
        """End what `start` began. Idempotent."""
        ...

    def kill(self, program: str) -> None:
        """End `kube-apiserver` or `etcd` at once, as a crash would. Raises NotOurs."""
        ...

    def restart(self, program: str) -> None:
        """Start a program again after `kill`, on its old address and data; returns once the API server serves."""
        ...

    def transport(self) -> Transport:
        """A transport for the harness and for reference parts."""
        ...

    def version(self) -> str:
        """The Kubernetes version that it speaks, such as v1.36.2."""
        ...
