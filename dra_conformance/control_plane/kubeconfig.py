"""An existing cluster, reached through a kubeconfig. The run owns nothing of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_api.kubeconfig import KubeconfigError
from dra_api.transport import HttpTransport, Transport, TransportError
from dra_conformance.control_plane.base import ControlPlaneFailure, NotOurs
from dra_conformance.control_plane.server_facts import gates_of, version_in
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.process import ManagedProcess

_WAY_OUT = "`kubectl version` with the same kubeconfig must work."


class KubeconfigControlPlane:
    """An existing cluster. `path` empty: KUBECONFIG, then ~/.kube/config."""

    own = False

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._transport: HttpTransport | None = None
        self._version = ""
        self._gates: Mapping[str, bool] | None = None
        self._simulated = False

    @property
    def evidence(self) -> str:
        """`rehearsal` for `dra-conformance control-plane serve`, whose version names the emulation; else `evidence`."""
        return "rehearsal" if self._simulated else "evidence"

    @property
    def name(self) -> str:
        """The name for the report, without the server's address and user."""
        return "kubeconfig"

    @property
    def kubeconfig(self) -> Path:
        """The given or found file; with several files in KUBECONFIG, their list."""
        return Path(self._path or os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser()

    @property
    def files(self) -> Sequence[Path]:
        """The files that are merged; more than one if KUBECONFIG lists several."""
        if self._path:
            return (self.kubeconfig,)
        return tuple(Path(name).expanduser() for name in str(self.kubeconfig).split(os.pathsep) if name)

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The gates in the server's /metrics; empty if this user may not read them, which is usual."""
        if self._gates is None and self._transport is not None:
            try:
                self._gates = gates_of(self._transport)
            except TransportError:
                return {}
        return self._gates or {}

    def start(self) -> None:
        """Connect. Raises UsageError for a kubeconfig that is wrong, and TargetUnreachable if the server fails."""
        try:
            self._transport = HttpTransport.from_kubeconfig(self._path or None)
            answer = self._transport.request("GET", "/version", timeout=10.0)
        except KubeconfigError as error:
            raise UsageError(str(error), hint=_WAY_OUT) from None
        except TransportError as error:
            raise TargetUnreachable(str(error), hint=_WAY_OUT) from None
        reported = version_in(answer)
        self._version = str(reported.get("gitVersion") or "")
        self._simulated = reported.get("platform") == "embedded"

    def stop(self) -> None:
        """Close the connections."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def kill(self, program: str) -> None:
        """Raises NotOurs."""
        raise NotOurs(f"the run cannot kill the cluster's {program}")

    def restart(self, program: str) -> None:
        """Raises NotOurs."""
        raise NotOurs(f"the run cannot start the cluster's {program}")

    def restart_with_gates(self, feature_gates: Mapping[str, bool]) -> None:
        """Raises NotOurs."""
        raise NotOurs("the run cannot change the feature gates of the cluster")

    def restart_as(self, release: str, runtime_config: Mapping[str, bool] | None = None) -> None:
        """Raises NotOurs."""
        raise NotOurs("the run cannot change the release of the cluster")

    def transport(self) -> Transport:
        """Return the connection."""
        if self._transport is None:
            raise TargetUnreachable("the cluster is not connected")
        return self._transport

    def kubeconfig_for(self, user: str) -> Path | None:
        """Return None: the users of the cluster are not the run's."""
        return None

    def version(self) -> str:
        """Return the server's gitVersion."""
        return self._version

    def known_as(self, user: str) -> str:
        """Return the name unchanged; no user is made."""
        return user

    def watches_drained(self) -> bool:
        """Return True: the watches of a real API server cannot be observed from outside."""
        return True

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """None: its programs are the cluster's."""
        return ()

    def take_failures(self) -> list[ControlPlaneFailure]:
        """Return nothing: Kubernetes' own programs write their failures to their logs."""
        return []
