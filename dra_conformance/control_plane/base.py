"""The interface of a control plane: the embedded emulation, Kubernetes' own programs, or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dra_api.transport import Transport
from dra_conformance.core.process import ManagedProcess

API_SERVER = "kube-apiserver"
ETCD = "etcd"


class NotOurs(Exception):
    """A program of the control plane that the run can neither kill nor start."""


@dataclass(frozen=True, slots=True)
class ControlPlaneFailure:
    """A failure of the control plane itself, which makes the verdicts of a run worthless."""

    message: str
    traceback: str = ""


class ControlPlane(Protocol):
    """A control plane that a run can use.

    The harness works with every control plane through this interface only, so that a scenario meets the emulation in
    the same way as a real API server.
    """

    @property
    def name(self) -> str:
        """The name that reports show."""
        ...

    @property
    def own(self) -> bool:
        """Whether it belongs to the run, which may then install, delete and break everything in it."""
        ...

    @property
    def evidence(self) -> str:
        """`rehearsal` for an emulation, `evidence` for real programs."""
        ...

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig for programs under test (mode 0600)."""
        ...

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The feature gates of the API server; empty if they cannot be read."""
        ...

    def start(self) -> None:
        """Start the control plane, or connect to it. Raises TargetUnreachable with the cause and a hint."""
        ...

    def stop(self) -> None:
        """Stop everything that `start` started. Idempotent."""
        ...

    def kill(self, program: str) -> None:
        """Kill `kube-apiserver` or `etcd`, as a crash would. Raises NotOurs if the run cannot do that."""
        ...

    def restart(self, program: str) -> None:
        """Start a program again after `kill`, on its old address and data; return when the API server is ready."""
        ...

    def restart_with_gates(self, feature_gates: Mapping[str, bool]) -> None:
        """Restart the API server on its old data with other overrides of the defaults of its release.

        The other programs keep their gates. Raises NotOurs if the run cannot do that, and UsageError or
        TargetUnreachable if the gates do not fit.
        """
        ...

    def restart_as(self, release: str, runtime_config: Mapping[str, bool] | None = None) -> None:
        """Restart the API server of another release ("1.36") on its old data; "" is the release of the run.

        The other programs stay those of the run. Feature gates of the run that the release lacks are left out.
        `runtime_config` overrides the served versions. Raises NotOurs if the run cannot do that.
        """
        ...

    def transport(self) -> Transport:
        """Return a new transport as the administrator."""
        ...

    def kubeconfig_for(self, user: str) -> Path | None:
        """Return a kubeconfig (0600) of a new user without permissions; None if the run cannot make users."""
        ...

    def known_as(self, user: str) -> str:
        """Return the user name that the API server has for the user of `kubeconfig_for`; RBAC rules name it."""
        ...

    def version(self) -> str:
        """Return the Kubernetes version of the API server, such as v1.36.2."""
        ...

    def watches_drained(self) -> bool:
        """Return whether the client of every open watch has processed all events; True if that cannot be observed."""
        ...

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """The programs that it has started, the API server first; empty if their output is not the run's."""
        ...

    def take_failures(self) -> list[ControlPlaneFailure]:
        """Return failures of the control plane itself since the last call; empty if they cannot be observed."""
        ...
