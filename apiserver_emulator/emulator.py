"""The embedded control plane as a part: server, HTTPS door, kubeconfig, transports.

Owns its folder's files (certificates, kubeconfig), the server and its threads; `stop` ends the threads and leaves the
folder to whoever gave it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from apiserver_emulator import dra
from apiserver_emulator.auth import ADMIN
from apiserver_emulator.failures import Failure
from apiserver_emulator.https_endpoint import HttpsEndpoint
from apiserver_emulator.in_process import InProcessTransport
from apiserver_emulator.server import ApiServer
from dra_api import certificates
from dra_api.clock import Clock, RealClock
from dra_api.feature_gates import effective_gates
from dra_api.private_file import write_private
from dra_api.request import User

SERVE_ALL: Mapping[str, str | bool] = {"api/all": True}


class ApiServerEmulator:
    """A Kubernetes API server emulation in this process.

    `kubernetes_version` is "1.34", "1.35", "1.36" or "1.37"; `directory` gets the kubeconfig and certificates; `https`
    False leaves the HTTPS door shut (then there is no kubeconfig and no url). `feature_gates` override the release's
    defaults; `runtime_config` is kube-apiserver's flag for resource.k8s.io (unlike there, the default serves every
    version of the release). `node_restriction` holds node identities to their own slices.
    `watch_lag` makes half of the in-process watches tell of a write up to so many seconds late, each by its own time.

    Raises ValueError for a release without definitions, FeatureGateError for a gate that the release does not have.
    """

    name = "embedded-control-plane"

    def __init__(
        self,
        *,
        directory: Path,
        kubernetes_version: str = "1.36",
        feature_gates: Mapping[str, bool] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        https: bool = True,
        runtime_config: Mapping[str, str | bool] | None = None,
        node_restriction: bool = True,
        watch_lag: float = 0.0,
    ) -> None:
        self._directory = directory
        self._https = https
        self.server = ApiServer(
            kubernetes_version=kubernetes_version,
            feature_gates=effective_gates(kubernetes_version, feature_gates),
            clock=clock or RealClock(),
            seed=seed,
            watch_lag=watch_lag,
        )
        dra.register(
            self.server.resources,
            kubernetes_version=self.server.kubernetes_version,
            runtime_config=SERVE_ALL if runtime_config is None else runtime_config,
            node_restriction=node_restriction,
        )
        self._endpoint: HttpsEndpoint | None = None
        self._certificates: certificates.Certificates | None = None
        self._port = 0
        self._transports: list[InProcessTransport] = []
        self._running = False

    @property
    def kubeconfig(self) -> Path:
        """The admin kubeconfig (0600), there after `start`."""
        return self._directory / "kubeconfig"

    @property
    def url(self) -> str:
        """The HTTPS address, or an empty string when the door is shut."""
        return self._endpoint.url if self._endpoint is not None else ""

    def start(self) -> None:
        """Open the doors. Raises CertificateError."""
        if self._running:
            return
        self.server.start()
        if self._https:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._certificates = certificates.make(self._directory)
            self._endpoint = door = self._opened()
            self.server.address = door.url.removeprefix("https://")
            self.write_kubeconfig(self.kubeconfig, ADMIN)
        self._running = True

    def stop(self) -> None:
        """Close doors and watches, end threads. Idempotent."""
        self._running = False
        for transport in self._transports:
            transport.close()
        self._transports.clear()
        self.server.stop()
        if self._endpoint is not None:
            self._endpoint.stop()
            self._endpoint = None

    def kill(self) -> None:
        """End the API server as a crash would: connections break, new ones are refused. What it stored stays.

        The controllers of this package go on: in a cluster they live in another process. Idempotent.
        """
        self.server.down = True
        for watcher in self.server.store.watchers():
            watcher.close()
        if self._endpoint is not None:
            self._port = int(self._endpoint.url.rpartition(":")[2])
            self._endpoint.stop()
            self._endpoint = None

    def restart(self) -> None:
        """Start the API server again after `kill`: the same address, the same objects, the same tokens."""
        if self._running and self.server.down:
            if self._https:
                self._endpoint = self._opened(port=self._port)
            self.server.down = False

    def watches_drained(self) -> bool:
        """Return whether the client of every open watch came back for more and found nothing."""
        return self.server.watches_drained()

    def take_failures(self) -> list[Failure]:
        """Return the failures of requests and background threads since the last call, oldest first."""
        return self.server.failures.take()

    def __enter__(self) -> ApiServerEmulator:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def transport(self) -> InProcessTransport:
        """An in-process transport as the admin."""
        return self._as(ADMIN)

    def transport_for(
        self,
        user: str,
        groups: Iterable[str] = (),
        *,
        extra: Mapping[str, tuple[str, ...]] | None = None,
    ) -> InProcessTransport:
        """An in-process transport as a user, authorized by RBAC. `system:authenticated` is added to its groups."""
        found = tuple(groups)
        if "system:authenticated" not in found:
            found = (*found, "system:authenticated")
        return self._as(User(user, groups=found, extra=extra or {}))

    def _opened(self, *, port: int = 0) -> HttpsEndpoint:
        made = self._certificates
        if made is None:
            raise certificates.CertificateError("the control plane has not been started")
        door = HttpsEndpoint(self.server, certificate=made.certificate, key=made.key, port=port)
        door.start()
        return door

    def _as(self, user: User) -> InProcessTransport:
        made = InProcessTransport(self.server, user)
        self._transports.append(made)
        return made

    def write_kubeconfig(self, path: Path, user: User, *, namespace: str = "default") -> Path:
        """A kubeconfig (0600) with a fresh token for a user. The HTTPS door must be open."""
        authority = (self._directory / "ca.crt").read_bytes()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "embedded",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority-data": base64.b64encode(authority).decode(),
                    },
                }
            ],
            "users": [{"name": user.name, "user": {"token": self.server.authenticator.issue(user)}}],
            "contexts": [
                {
                    "name": "embedded",
                    "context": {"cluster": "embedded", "user": user.name, "namespace": namespace},
                }
            ],
            "current-context": "embedded",
        }
        write_private(path, yaml.safe_dump(config).encode())
        return path
