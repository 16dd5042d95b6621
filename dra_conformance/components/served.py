"""The emulated control plane for an externally started driver: kubeconfigs, a Node, and a kubelet's folders.

The folder contains `kubeconfig` for the harness, `driver.kubeconfig` with the role of a driver, `control-plane/`
(certificates), and the node's `plugins_registry/`, `plugins/` and `cdi/`, which the driver owns. `stop` ends the server
and removes its own files, or the whole folder if it is temporary.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from dra_api.client import AlreadyExists, KubeClient
from dra_api.clock import RealClock
from dra_api.objects import NODES
from dra_conformance.components.work_folder import WorkFolder
from dra_conformance.control_plane.base import ControlPlaneFailure
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.core.errors import UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.rbac import target_roles

_SOCKET_LIMIT = 107  # bytes of a Unix socket's path
_REGISTRAR = "plugins_registry"


class Served:
    """A context manager with a running control plane. With an empty `folder` it uses a temporary one."""

    def __init__(self, options: RunOptions, *, folder: str, node_name: str, driver_name: str) -> None:
        self._node_name = node_name
        self._driver_name = driver_name
        self._made = None if folder else WorkFolder()
        self._folder = Path(folder).absolute() if self._made is None else self._made.path
        longest = self._folder / _REGISTRAR / f"{driver_name or 'driver.example.com'}-reg.sock"
        if len(os.fsencode(longest)) > _SOCKET_LIMIT:
            raise UsageError(f"--dir {folder}: {longest} is too long for a Unix socket", hint="Name a shorter folder.")
        self._own = self._folder / "control-plane"
        self._holds = False  # whether what lies there is ours, and not another one's
        self._plane = EmbeddedControlPlane(
            kubernetes_version=options.kubernetes_version,
            directory=self._own,
            clock=RealClock(),
            seed=0,
            feature_gates=options.gates(),
            runtime_config=options.api_versions(),
        )

    def __enter__(self) -> Served:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def kubeconfig(self) -> Path:
        """The admin kubeconfig (0600)."""
        return self._folder / "kubeconfig"

    @property
    def driver_kubeconfig(self) -> Path:
        """The kubeconfig (0600) of the driver: a user with the role of its component."""
        return self._folder / "driver.kubeconfig"

    def stop(self) -> None:
        """End the server and remove its keys and the kubeconfigs. Idempotent."""
        self._plane.stop()
        if self._holds:
            shutil.rmtree(self._own, ignore_errors=True)
            self.kubeconfig.unlink(missing_ok=True)
            self.driver_kubeconfig.unlink(missing_ok=True)
            self._holds = False
        if self._made is not None:
            self._made.end()

    def take_failures(self) -> list[ControlPlaneFailure]:
        """Return the failures of the served control plane itself since the last call."""
        return self._plane.take_failures()

    def instructions(self) -> Iterator[str]:
        """Yield the lines of the user's instructions."""
        registrar, plugins, cdi = (self._folder / name for name in (_REGISTRAR, "plugins", "cdi"))
        driver = self._driver_name or "NAME"
        yield f"serving {self._plane.version()}, an emulation, at {self._plane.url}"
        yield f"  kubeconfig  {self.driver_kubeconfig}"
        yield f"  node        {self._node_name}"
        yield f"  registrar   {registrar}"
        yield f"  plugins     {plugins}"
        yield f"  cdi         {cdi}"
        yield "start your driver with these, then test it:"
        yield (
            f"  dra-conformance run --profile driver-core --control-plane kubeconfig:{self.kubeconfig}"
            f" --driver-name {driver} --driver socket:{registrar}/{driver}-reg.sock"
        )
        yield "Ctrl-C ends it"

    def _start(self) -> None:
        if self._own.exists():
            raise UsageError(
                f"--dir {self._folder}: a control plane is served there, or was killed there",
                hint=f"Name another folder, or remove {self._own}.",
            )
        try:
            for name in (_REGISTRAR, f"plugins/{self._driver_name}", "cdi"):
                (self._folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._own.mkdir(mode=0o700)
            self._holds = True
            self._plane.start()
            # The file is private before it has any content.
            shutil.copyfile(self._plane.kubeconfig, _private(self.kubeconfig))
            driver = self._plane.kubeconfig_for(target_roles.user_of("driver"))
            shutil.copyfile(driver, _private(self.driver_kubeconfig))
        except OSError as error:
            raise UsageError(f"--dir {self._folder}: {error.strerror}: {error.filename}") from None
        client = KubeClient(self._plane.transport(), user_agent="dra-conformance")
        target_roles.grant(client, "driver")
        with contextlib.suppress(AlreadyExists):
            client.create(NODES, {"metadata": {"name": self._node_name}, "spec": {}})


def wait_for_signal() -> None:
    """Return at SIGINT or SIGTERM."""
    ended = threading.Event()
    previous = {
        number: signal.signal(number, lambda _number, _frame: ended.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    sys.stdout.flush()
    try:
        while not ended.wait(3600.0):
            continue
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _private(path: Path) -> Path:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    path.chmod(0o600)
    return path
