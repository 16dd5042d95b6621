"""A k3s cluster in a container that the run starts.

It owns the container and `directory` (kubeconfig, the kubelet's plugin folders, CDI files); `stop` removes both. k3s
provides scheduler, controllers and kubelet (`cluster`), except for components with another implementation, which are
disabled in k3s.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_api.private_file import write_private
from dra_conformance.control_plane import server_facts
from dra_conformance.control_plane.base import NotOurs
from dra_conformance.control_plane.image_cluster import ImageControlPlane
from dra_conformance.control_plane.k3s import flags
from dra_conformance.core.errors import TargetUnreachable, UsageError

if TYPE_CHECKING:
    from dra_conformance.control_plane.k3s.container import Container

DEFAULT_IMAGE = "rancher/k3s:v1.36.2-k3s1"
_TIMEOUT = 180.0
_ANSWERS_WITHIN = 15
_V1 = "resource.k8s.io/v1"
_FIRST_WITH_V1 = (1, 34)
_WAY_OUT = "`docker info` must work for this user; without Docker, --control-plane binaries needs none."


class K3sControlPlane(ImageControlPlane):
    """A k3s server. `directory` has the folders that it shares with drivers, too."""

    kind = "k3s"
    default_image = DEFAULT_IMAGE
    _container: Container | None = None

    # -- properties ---------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name for the report; it contains k3s only if the image's name does."""
        repository = self.image.rpartition(":")[0].rpartition("/")[2]
        return f"{'k3s' if repository == 'k3s' else 'container in the place of k3s'} ({self.image})"

    @property
    def kubelet_root(self) -> Path:
        """The kubelet's root folder, with `plugins` and `plugins_registry`, for drivers outside the container."""
        return self._directory / "kubelet"

    @property
    def cdi(self) -> Path:
        """The folder for CDI specifications of drivers outside the container."""
        return self._directory / "cdi"

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the container and wait until the cluster serves. Raises TargetUnreachable with cause and hint."""
        if self._container is not None:
            return
        self._check_versions()  # before the image is pulled
        for folder in (self._directory, self.kubelet_root, self.cdi):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Remove the container and the folder. Idempotent. Raises TargetUnreachable with what could not be removed."""
        self._disconnect()
        container, self._container = self._container, None
        try:
            if container is not None:
                container.discard(self._directory)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def kill(self, program: str) -> None:
        """Raises NotOurs: k3s is one process for all."""
        raise NotOurs(f"{program} of k3s cannot be killed alone: it is one process for all")

    def restart(self, program: str) -> None:
        """Raises NotOurs."""
        raise NotOurs(f"{program} of k3s cannot be started alone")

    def restart_with_gates(self, feature_gates: Mapping[str, bool]) -> None:
        """Raises NotOurs."""
        raise NotOurs("k3s is one process, and keeps its feature gates")

    def restart_as(self, release: str, runtime_config: Mapping[str, bool] | None = None) -> None:
        """Raises NotOurs."""
        raise NotOurs("k3s is one process of one release")

    # -- inside ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        docker_info()
        import docker.errors  # deferred: slow to import

        from dra_conformance.control_plane.k3s.container import Container

        container = Container(self.image, kubelet_root=self.kubelet_root, cdi=self.cdi, timeout=_TIMEOUT)
        self._container = container.serving(
            flags.server(
                host=container.get_container_host_ip(),
                kubelet_root=str(self.kubelet_root),
                feature_gates=self._gates,
                runtime_config=self._runtime_config,
                foreign_components=self._foreign,
            )
        )
        try:
            container.start()
            config = container.config_yaml()
        except docker.errors.DockerException as error:
            raise self._refused(error) from None
        except TimeoutError:
            raise TargetUnreachable(
                f"--control-plane k3s: the cluster did not come up (at most {_TIMEOUT:.0f} s); {container.state()}"
            ) from None
        write_private(self.kubeconfig, config.encode())
        self._check_server()

    def _refused(self, error: Exception) -> TargetUnreachable:
        """Return an error for Docker's refusal, which may concern the reaper's image or a mount instead of k3s."""
        # Deferred: the module imports testcontainers, which is slow.
        from dra_conformance.control_plane.k3s.container import REAPER

        reported, start = _first_line(error), f"--control-plane k3s: Docker does not start {self.image}"
        if REAPER.partition(":")[0] in str(error):
            start = f"--control-plane k3s: Docker does not start {REAPER}, which removes containers of killed harnesses"
            way_out = "Pull that image too, or set TESTCONTAINERS_RYUK_DISABLED=true and do without it."
        elif "shared mount" in str(error):
            way_out = (
                f"Drivers and the cluster share {self.kubelet_root}: `mount --make-rshared /` on Docker's machine."
            )
        else:
            way_out = _WAY_OUT
        return TargetUnreachable(f"{start}: {reported}", hint=way_out)

    def _check_versions(self) -> None:
        release = self.version()
        if not self._runtime_config.get(_V1, True) and server_facts.minor_of(release) >= _FIRST_WITH_V1:
            raise UsageError(
                f"--runtime-config {_V1}=false: a k3s cluster of {release} never becomes ready without {_V1}: "
                "its Node authorizer watches it, and its own node needs that authorizer",
                hint="--control-plane binaries can do without it.",
            )


def docker_info() -> Mapping[str, Any]:
    """Return the Docker daemon's `docker info`.

    Raises TargetUnreachable if the daemon or testcontainers is missing.
    """
    try:
        # Deferred: slow to import, and only this control plane needs them.
        import docker
        import requests
        import testcontainers.community.k3s  # noqa: F401 - is it installed
        from testcontainers.core.docker_client import DockerClient
    except ImportError as error:
        raise TargetUnreachable(
            f"--control-plane k3s: {str(error.name).partition('.')[0]} is not installed",
            hint="pip install testcontainers",
        ) from None
    try:
        client = DockerClient(timeout=_ANSWERS_WITHIN).client  # as the container's own: it knows contexts, too
        try:
            reported: Mapping[str, Any] = client.info()
        finally:
            client.close()
    except (docker.errors.DockerException, requests.RequestException) as error:
        why = _root_cause(error)
        raise TargetUnreachable(f"--control-plane k3s: no Docker daemon answers: {why}", hint=_WAY_OUT) from None
    return reported


def _root_cause(error: BaseException) -> str:
    """Return the operating system's words for a failed connection, which docker and requests quote as Python tuples."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
