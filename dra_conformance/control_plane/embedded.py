"""The embedded control plane as the run sees it: ours to start, stop and break, and a rehearsal only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apiserver_emulator.control_plane import SERVE_ALL, ApiServerEmulator
from apiserver_emulator.resource.gates import FeatureGateError
from dra_api.certificates import CertificateError
from dra_api.clock import Clock
from dra_api.transport import Transport
from dra_conformance.control_plane.base import API_SERVER, NotOurs
from dra_conformance.core.errors import TargetUnreachable, UsageError


class EmbeddedControlPlane:
    """The emulation, with its files in `directory`."""

    name = "embedded emulation"
    own = True
    evidence = "rehearsal"

    def __init__(
        self,
        *,
        kubernetes_version: str,
        directory: Path,
        clock: Clock,
        seed: int,
        feature_gates: Mapping[str, bool] | None = None,
        runtime_config: Mapping[str, bool] | None = None,
        watch_lag: float = 0.0,
    ) -> None:
        self._version = kubernetes_version
        try:
            self.embedded = ApiServerEmulator(
                kubernetes_version=kubernetes_version,
                directory=directory,
                clock=clock,
                seed=seed,
                feature_gates=feature_gates,
                runtime_config={**SERVE_ALL, **(runtime_config or {})},
                watch_lag=watch_lag,
            )
        except FeatureGateError as error:
            raise UsageError(f"--feature-gates: {error}") from None

    @property
    def kubeconfig(self) -> Path:
        """The admin kubeconfig of the HTTPS door."""
        return self.embedded.kubeconfig

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The gates that the emulation runs with."""
        return self.embedded.server.feature_gates

    def start(self) -> None:
        """Open the doors. Raises TargetUnreachable when there is no way to make a certificate."""
        try:
            self.embedded.start()
        except (CertificateError, OSError) as error:
            raise TargetUnreachable(f"the embedded control plane does not start: {error}") from error

    def stop(self) -> None:
        """Close the doors."""
        self.embedded.stop()

    def kill(self, program: str) -> None:
        """End the API server as a crash would. Raises NotOurs for a program that the emulation has not."""
        self._only_api_server(program)
        self.embedded.kill()

    def restart(self, program: str) -> None:
        """Start it again on its old address and data."""
        self._only_api_server(program)
        self.embedded.restart()

    def all_heard(self) -> bool:
        """Whether every watch was read to its end: its client has dealt with all that was written, where in process."""
        return all(watcher.drained for watcher in self.embedded.server.store.watchers())

    @staticmethod
    def _only_api_server(program: str) -> None:
        if program != API_SERVER:
            raise NotOurs(f"the embedded control plane has no {program} that could be killed")

    def transport(self) -> Transport:
        """The in-process door, as the admin."""
        return self.embedded.transport()

    def version(self) -> str:
        """The version that it emulates."""
        return f"v{self._version}"
