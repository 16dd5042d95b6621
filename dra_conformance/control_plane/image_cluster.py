"""A cluster whose release the tag of an image names, reached through a kubeconfig that it has made itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dra_api.client import KubeClient
from dra_api.feature_gates import default_gates
from dra_api.transport import HttpTransport, OpenTransports, Transport
from dra_conformance.control_plane import server_facts, service_account
from dra_conformance.control_plane.base import ControlPlaneFailure
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.process import ManagedProcess


class ImageControlPlane:
    """What kind and k3s have in common: release and gates, users, connections.

    Subclasses start and stop the cluster, and write `kubeconfig`. They set `kind` (the value of --control-plane) and
    `default_image`.

    Arguments:
        image: the image with its tag, which names the release; empty: the default one.
        directory: for the kubeconfig; removed by `stop`.
        feature_gates: for every program of Kubernetes in it.
        runtime_config: enabled versions of resource.k8s.io; by default all.
        foreign_components: components with another implementation, which the cluster does not run.
    """

    own = True
    evidence = "evidence"
    kind: ClassVar[str]
    default_image: ClassVar[str]

    def __init__(
        self,
        *,
        image: str = "",
        directory: Path,
        feature_gates: Mapping[str, bool] | None = None,
        runtime_config: Mapping[str, bool] | None = None,
        foreign_components: Collection[str] = (),
    ) -> None:
        self.image = image or self.default_image
        self._directory = directory
        self._gates = dict(feature_gates or {})
        self._runtime_config = dict(runtime_config or {})
        self._foreign = frozenset(foreign_components)
        self._transports = OpenTransports[HttpTransport]()
        self._version = ""

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig (0600), after `start`."""
        return self._directory / "kubeconfig"

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The DRA gates of the image's release, with overrides."""
        release = server_facts.release_of(self.image)
        return {**(default_gates(release[1]) if release else {}), **self._gates}

    def kubeconfig_for(self, user: str) -> Path:
        """Return a kubeconfig (0600) of a new service account without permissions."""
        path = self._directory / f"{user.replace(':', '-')}.kubeconfig"
        return service_account.write_kubeconfig(KubeClient(self.transport()), self.kubeconfig, path, name=user)

    def known_as(self, user: str) -> str:
        """Return the user name of the service account for a user."""
        return service_account.user_of(user)

    def version(self) -> str:
        """Return the server's version, or before `start` that of the image's tag. Raises UsageError without one."""
        if self._version:
            return self._version
        release = server_facts.release_of(self.image)
        if release is None:
            raise UsageError(
                f"--{self.kind}-image {self.image}: the tag names no release",
                hint=f"For example {self.default_image}.",
            )
        return f"v{release[0]}"

    def transport(self) -> Transport:
        """Return a connection as the administrator."""
        return self._transports.add(HttpTransport.from_kubeconfig(self.kubeconfig))

    def watches_drained(self) -> bool:
        """Return True: the watches of a real API server cannot be observed from outside."""
        return True

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """None: its programs write their output in a container."""
        return ()

    def take_failures(self) -> list[ControlPlaneFailure]:
        """Return nothing: Kubernetes' own programs write their failures to their logs."""
        return []

    def _disconnect(self) -> None:
        """Close all connections."""
        self._transports.close()

    def _check_server(self) -> None:
        """Raise TargetUnreachable if the server is not what the run was planned for."""
        # version() returns the release of the tag as long as `_version` is empty.
        promised = self.version()
        self._version = server_facts.version_of(self.transport, plane=self.kind)
        start = f"--control-plane {self.kind}: {self.image}"
        if server_facts.minor_of(self._version) != server_facts.minor_of(promised):
            raise TargetUnreachable(
                f"{start} is Kubernetes {self._version}, not {promised} as its tag says",
                hint="The run was planned for the tag's release: tag the image with its own.",
            )
        if wrong := server_facts.differing(self.feature_gates, server_facts.gates_of(self.transport())):
            raise TargetUnreachable(
                f"{start} does not have the gates that were planned for: {', '.join(wrong)}",
                hint="Say with --feature-gates what they are to be.",
            )
