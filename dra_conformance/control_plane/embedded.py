"""The control plane `embedded`: the API server emulator behind the interface that every control plane has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from apiserver_emulator.emulator import SERVE_ALL, ApiServerEmulator
from dra_api.certificates import CertificateError
from dra_api.clock import Clock
from dra_api.feature_gates import FeatureGateError, allowed_in
from dra_api.request import User
from dra_api.transport import Transport
from dra_conformance.control_plane.base import API_SERVER, ControlPlaneFailure, NotOurs
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.process import ManagedProcess


class EmbeddedControlPlane:
    """The emulator, started and stopped by the run. Its files are in `directory`; its results are a rehearsal only.

    Raises UsageError if the feature gates do not fit the release.
    """

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
        watch_delay: Callable[[str], float] | None = None,
    ) -> None:
        self._version = kubernetes_version
        self._overrides = dict(feature_gates or {})
        try:
            self._emulator = ApiServerEmulator(
                kubernetes_version=kubernetes_version,
                directory=directory,
                clock=clock,
                seed=seed,
                feature_gates=feature_gates,
                runtime_config={**SERVE_ALL, **(runtime_config or {})},
                watch_delay=watch_delay,
                pool_statuses=True,
            )
        except FeatureGateError as error:
            raise UsageError(f"--feature-gates: {error}") from None

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the administrator, for the HTTPS endpoint."""
        return self._emulator.kubeconfig

    @property
    def url(self) -> str:
        """The HTTPS address; empty while the server does not run."""
        return self._emulator.url

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The feature gates of the emulated API server."""
        return self._emulator.server.feature_gates

    def start(self) -> None:
        """Start the server and open its endpoints. Raises TargetUnreachable if certificates cannot be made."""
        try:
            self._emulator.start()
        except (CertificateError, OSError) as error:
            raise TargetUnreachable(f"the embedded control plane does not start: {error}") from error

    def stop(self) -> None:
        """Stop the server. Idempotent."""
        self._emulator.stop()

    def kill(self, program: str) -> None:
        """Stop the API server as a crash would. Raises NotOurs for any other program."""
        self._only_api_server(program)
        self._emulator.kill()

    def restart(self, program: str) -> None:
        """Start the API server again, on its old address and data."""
        self._only_api_server(program)
        self._emulator.restart()

    def restart_with_gates(self, feature_gates: Mapping[str, bool]) -> None:
        """Start the API server again with other feature gates. Raises UsageError if they do not fit the release."""
        self._emulator.kill()
        try:
            self._emulator.restart(feature_gates)
        except FeatureGateError as error:
            self._emulator.restart()
            raise UsageError(f"feature gates: {error}") from None

    def restart_as(self, release: str, runtime_config: Mapping[str, bool] | None = None) -> None:
        """Start the API server again as another release, or as that of the run ("")."""
        release = release or self._version
        self._emulator.kill()
        self._emulator.restart_as(release, allowed_in(release, self._overrides), runtime_config)

    def watches_drained(self) -> bool:
        """Return whether the client of every open watch has processed all events."""
        return self._emulator.watches_drained()

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """None: it runs in this process."""
        return ()

    def take_failures(self) -> list[ControlPlaneFailure]:
        """Return the failures of requests and background threads of the emulator since the last call."""
        return [ControlPlaneFailure(str(failure), failure.traceback) for failure in self._emulator.take_failures()]

    @staticmethod
    def _only_api_server(program: str) -> None:
        if program != API_SERVER:
            raise NotOurs(f"the embedded control plane has no {program} that could be killed")

    def transport(self) -> Transport:
        """Return an in-process transport as the administrator."""
        return self._emulator.transport()

    def kubeconfig_for(self, user: str) -> Path:
        """Return a kubeconfig (0600) of a new user without permissions."""
        # Names of users have characters that do not belong into file names.
        path = self.kubeconfig.with_name(f"{user.replace(':', '-')}.kubeconfig")
        return self._emulator.write_kubeconfig(path, User(user, groups=("system:authenticated",)))

    def known_as(self, user: str) -> str:
        """Return the name unchanged: the API server takes it from the credentials."""
        return user

    def version(self) -> str:
        """Return the Kubernetes version that is emulated, such as v1.37."""
        return f"v{self._version}"
