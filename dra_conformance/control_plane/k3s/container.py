"""The container of a k3s cluster, based on testcontainers' class, with own command line and folders.

The caller stops the container; testcontainers' reaper removes that of a killed harness.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docker
import requests
from testcontainers.community.k3s import K3SContainer
from testcontainers.core.config import ConnectionMode, testcontainers_config

from dra_api.clock import RealClock
from dra_conformance.core.errors import TargetUnreachable

REAPER = testcontainers_config.ryuk_image
"""The image of testcontainers' reaper, which is started with the first container."""

_CDI = "/etc/cdi"  # where containerd in the image looks for specs, beside the volatile /var/run/cdi
_READY_LINE = b"Node controller sync successful"
_TURN = 0.25
_ATTEMPTS = 20


class Container(K3SContainer):
    """One k3s server.

    Arguments:
        image: the image, with a tag.
        kubelet_root: mounted at the same path, shared both ways: drivers on either side find the other's sockets.
        cdi: mounted where the container's runtime looks for CDI specifications.
        timeout: seconds from the start of the container to a running cluster.
    """

    def __init__(self, image: str, *, kubelet_root: Path, cdi: Path, timeout: float, **options: Any) -> None:
        super().__init__(image, **options)
        self._timeout = timeout
        self.with_volume_mapping(str(kubelet_root), str(kubelet_root), "rw,rshared")
        self.with_volume_mapping(str(cdi), _CDI, "rw")
        # What tells a server of another one to join; there is none.
        self.env.pop("K3S_URL", None)

    def get_container_host_ip(self) -> str:
        """Return the host name of the container; known before its start, for the server's certificate."""
        if self._container is not None:
            return str(super().get_container_host_ip())
        client = self.get_docker_client()
        if client.get_connection_mode() is ConnectionMode.gateway_ip:  # the harness itself runs in a container
            bridge = client.client.networks.get("bridge").attrs
            return str(bridge["IPAM"]["Config"][0]["Gateway"])
        return str(client.host())

    def serving(self, command: Sequence[str]) -> Container:
        """Set the arguments of `k3s` and return the container."""
        self.with_command(list(command))
        return self

    def discard(self, folder: Path) -> None:
        """Remove the container and its files and mounts in the shared `folder`.

        Raises TargetUnreachable with anything that could not be removed.
        """
        client, container = self.get_docker_client().client, self._container
        self._container = None
        try:
            if container is not None:
                with contextlib.suppress(docker.errors.NotFound):  # removed concurrently
                    container.remove(force=True, v=True)
            shutil.rmtree(folder, ignore_errors=True)
            if container is not None and folder.exists():
                self._clear(client, folder)
        except (docker.errors.DockerException, requests.RequestException) as error:
            name = container.name if container is not None else self.image
            raise TargetUnreachable(
                f"--control-plane k3s: Docker does not remove the container {name}: {error}",
                hint=f"`docker rm --force --volumes {name}`, and remove {folder}.",
            ) from None
        finally:
            client.close()

    def _clear(self, client: Any, folder: Path) -> None:
        """Remove files of root with the image's tools in a container."""

        def let(tool: str, *arguments: str) -> None:
            shared = {str(folder): {"bind": str(folder), "mode": "rw,rshared"}}
            client.containers.run(
                self.image,
                list(arguments),
                entrypoint=[tool],
                volumes=shared,
                privileged=True,
                network_mode="none",
                remove=True,
            )

        if mounts := _mounts_below(folder):
            let("umount", "-l", *mounts)
        if there := sorted(str(path) for path in folder.iterdir()):
            let("rm", "-rf", *there)
        shutil.rmtree(folder, ignore_errors=True)

    def _connect(self) -> None:
        """Wait for the log line of a running cluster. Raises TimeoutError, at once if the container exits."""
        clock, never = RealClock(), threading.Event()
        deadline = clock.monotonic() + self._timeout
        wrapped = self.get_wrapped_container()
        while _READY_LINE not in wrapped.logs():
            wrapped.reload()
            if wrapped.status in ("exited", "dead") or clock.monotonic() > deadline:
                raise TimeoutError
            clock.wait(never, _TURN)

    def config_yaml(self) -> str:
        """Return the kubeconfig for clients outside. Raises TimeoutError if the container does not print it."""
        clock, never = RealClock(), threading.Event()
        for _ in range(_ATTEMPTS):
            if text := str(super().config_yaml()):
                return text
            clock.wait(never, _TURN)  # docker-py can lose the output of a command that is over at once
        raise TimeoutError

    def state(self) -> str:
        """Return the container's state in Docker with its last output, for messages."""
        wrapped = self._container
        if wrapped is None:
            return "no container was made"
        try:
            wrapped.reload()
            said = wrapped.logs(tail=5).decode(errors="replace").strip()
        except docker.errors.DockerException as error:
            return str(error)
        code = wrapped.attrs["State"].get("ExitCode")
        ended = f" with exit code {code}" if wrapped.status == "exited" else ""
        return f"it is {wrapped.status}{ended}; last output: {said or 'nothing'}"


def _mounts_below(folder: Path) -> list[str]:
    """Return the mounts below a folder in this process's view, innermost first."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux: Docker runs in a machine of its own, whose mounts do not come here
        return []
    # mountinfo writes spaces and backslashes as octal codes.
    points = [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split(" ")[4]) for line in lines]
    return sorted((point for point in points if point.startswith(f"{folder}/")), key=len, reverse=True)
