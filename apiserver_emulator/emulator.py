"""`ApiServerEmulator`: the server with its HTTPS endpoint, kubeconfig and in-process transports.

Owns the server, its threads, and the files in its directory (certificates, kubeconfig). `stop` ends the threads; the
caller removes the directory.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import yaml

from apiserver_emulator import dra
from apiserver_emulator.auth import ADMIN
from apiserver_emulator.failures import Failure
from apiserver_emulator.https_endpoint import HttpsEndpoint
from apiserver_emulator.in_process import InProcessTransport
from apiserver_emulator.release_change import StoredObjects
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.server import ApiServer
from dra_api import certificates
from dra_api.clock import Clock, RealClock
from dra_api.feature_gates import effective_gates
from dra_api.private_file import write_private
from dra_api.releases import DEFAULT_RELEASE
from dra_api.request import User
from dra_api.transport import OpenTransports

SERVE_ALL: Mapping[str, str | bool] = {"api/all": True}


class ApiServerEmulator:
    """A Kubernetes API server emulation in this process.

    Arguments:
        directory: gets the kubeconfig and the certificates.
        kubernetes_version: "1.34", "1.35", "1.36" or "1.37".
        feature_gates: override the defaults of the release.
        clock: the time of timestamps, timeouts and bookmarks; the machine's own by default.
        seed: makes generated names repeatable.
        https: without it there is no HTTPS endpoint, no kubeconfig and no url.
        runtime_config: kube-apiserver's flag, for resource.k8s.io only; by default all versions are served.
        node_restriction: enable the NodeRestriction admission plugin for ResourceSlices.
        watch_delay: returns the delay in seconds of one more in-process watch of a resource (plural name).
        pool_statuses: while the gate DRAResourcePoolStatus is on, write the status of ResourcePoolStatusRequests.

    Raises ValueError for a release without definitions, FeatureGateError for a gate that the release does not have.
    """

    name = "embedded-control-plane"

    def __init__(
        self,
        *,
        directory: Path,
        kubernetes_version: str = DEFAULT_RELEASE,
        feature_gates: Mapping[str, bool] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        https: bool = True,
        runtime_config: Mapping[str, str | bool] | None = None,
        node_restriction: bool = True,
        watch_delay: Callable[[str], float] | None = None,
        pool_statuses: bool = False,
    ) -> None:
        self._directory = directory
        self._https = https
        self.server = ApiServer(
            kubernetes_version=kubernetes_version,
            feature_gates=effective_gates(kubernetes_version, feature_gates),
            clock=clock or RealClock(),
            seed=seed,
            watch_delay=watch_delay,
        )
        self.server.controllers.pool_statuses.enabled = pool_statuses
        self._runtime_config = SERVE_ALL if runtime_config is None else runtime_config
        self._node_restriction = node_restriction
        self._stored = StoredObjects()
        self._register()
        self._endpoint: HttpsEndpoint | None = None
        self._certificates: certificates.Certificates | None = None
        self._port = 0
        self._transports = OpenTransports[InProcessTransport]()
        self._running = False

    def _register(self, runtime_config: Mapping[str, str | bool] | None = None) -> None:
        dra.register(
            self.server.resources,
            kubernetes_version=self.server.kubernetes_version,
            runtime_config={**self._runtime_config, **(runtime_config or {})},
            node_restriction=self._node_restriction,
        )

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the administrator (mode 0600); it exists after `start`."""
        return self._directory / "kubeconfig"

    @property
    def url(self) -> str:
        """The HTTPS address; empty without an HTTPS endpoint."""
        return self._endpoint.url if self._endpoint is not None else ""

    def start(self) -> None:
        """Start the controllers and the endpoints. Raises CertificateError."""
        if self._running:
            return
        if self._https:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._certificates = certificates.make(self._directory)
            # Before the controllers, which publish it in every namespace.
            self.server.controllers.root_ca.certificate = (self._directory / "ca.crt").read_text()
        self.server.start()
        if self._https:
            self._endpoint = endpoint = self._listen()
            self.server.address = endpoint.url.removeprefix("https://")
            self.write_kubeconfig(self.kubeconfig, ADMIN)
        self._running = True

    def stop(self) -> None:
        """Close endpoints and watches, end the threads. Idempotent."""
        self._running = False
        self._transports.close()
        self.server.stop()
        if self._endpoint is not None:
            self._endpoint.stop()
            self._endpoint = None

    def kill(self) -> None:
        """Stop serving as a crash would: connections break, new ones are refused, stored objects stay. Idempotent.

        The controllers go on: in a cluster they run in another process.
        """
        # First: clients reconnect as soon as their watch ends, and must be refused.
        self.server.down = True
        for watcher in self.server.store.watchers():
            watcher.close()
        if self._endpoint is not None:
            # `restart` needs the same port: kubeconfigs contain it.
            self._port = int(self._endpoint.url.rpartition(":")[2])
            self._endpoint.stop()
            self._endpoint = None

    def restart(self, feature_gates: Mapping[str, bool] | None = None) -> None:
        """Serve again after `kill`, with the same address, objects and tokens.

        `feature_gates` replace the overrides of the defaults; without them all gates stay as they are. Raises
        FeatureGateError.
        """
        if feature_gates is not None:
            self.server.feature_gates.update(effective_gates(self.server.kubernetes_version, feature_gates))
        if self._running and self.server.down:
            if self._https:
                self._endpoint = self._listen(port=self._port)
            self.server.down = False

    def restart_as(
        self,
        kubernetes_version: str,
        feature_gates: Mapping[str, bool],
        runtime_config: Mapping[str, str | bool] | None = None,
    ) -> None:
        """Serve again after `kill` as another release with its gates, and with further words of `runtime_config`.

        Raises FeatureGateError.
        """
        gates = effective_gates(kubernetes_version, feature_gates)
        self.server.set_release(kubernetes_version, gates)
        for resource in self._of_dra():
            self.server.resources.remove(resource.group, resource.plural)
        self._register(runtime_config)
        self._stored.read_by(self.server.core, self._of_dra())
        self.restart()

    def _of_dra(self) -> list[ResourceType]:
        return [found for found in self.server.resources.all() if found.group == dra.GROUP]

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
        """Return an in-process transport as the administrator."""
        return self._transport_as(ADMIN)

    def transport_for(
        self,
        user: str,
        groups: Iterable[str] = (),
        *,
        extra: Mapping[str, tuple[str, ...]] | None = None,
    ) -> InProcessTransport:
        """Return an in-process transport as a user, authorized by RBAC; `system:authenticated` joins its groups."""
        found = tuple(groups)
        if "system:authenticated" not in found:
            found = (*found, "system:authenticated")
        return self._transport_as(User(user, groups=found, extra=extra or {}))

    def _listen(self, *, port: int = 0) -> HttpsEndpoint:
        made = self._certificates
        if made is None:
            raise certificates.CertificateError("the control plane has not been started")
        endpoint = HttpsEndpoint(self.server, certificate=made.certificate, key=made.key, port=port)
        endpoint.start()
        return endpoint

    def _transport_as(self, user: User) -> InProcessTransport:
        return self._transports.add(InProcessTransport(self.server, user))

    def write_kubeconfig(self, path: Path, user: User, *, namespace: str = "default") -> Path:
        """Write a kubeconfig (mode 0600) with a new token for a user. The HTTPS endpoint must be running."""
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
