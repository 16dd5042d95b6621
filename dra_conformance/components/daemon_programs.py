"""The program in the container of a daemon pod of a ComputeDomain, and the files that it sees.

The reference runs in this process, with a simulated nvidia-imex as a process of its own. With
`--compute-domain-daemon reference:process=yes`, and for another program (`exec:COMMAND`), the emulated kubelet runs the
container of the pod as a process (dra_conformance.kubelet.container_process): the program takes the place of the first
word of the container's command, `compute-domain-daemon`. The reference gets the paths of its files as flags. Another
program sees them at /imexd and /etc/hosts, and the token of its service account.
"""

from __future__ import annotations

import functools
import py_compile
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dra_api.client import KubeClient
from dra_api.objects import Obj
from dra_conformance.components import pod_credentials
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.fake_executable import FakeExecutable
from dra_conformance.core.component_spec import fill
from dra_conformance.core.isolation import NONE, Isolation
from dra_conformance.kubelet.container_process import ContainerProcess
from fake_nvml import imex
from reference_impl.compute_domain import imex_process
from reference_impl.compute_domain.imex_config import IMEX_CONFIG
from reference_impl.compute_domain.imex_daemon import CONFIG, TEMPLATE, DaemonSettings, ImexDaemon

DAEMON = "compute-domain-daemon"
SERVICE_ACCOUNT = f"{DAEMON}-service-account"
"""The folder of the files of the daemons' service account, which has this name in NVIDIA's DaemonSet."""
FOREIGN_LINE = "192.0.2.250\tstorage.example.com"
"""A line of each hosts file that is not the daemon's."""

_REFERENCE = (
    *(sys.executable, "-m", "reference_impl", DAEMON, "--kubeconfig", "{kubeconfig}"),
    *("--config-dir", "{config_dir}", "--hosts-file", "{hosts}"),
)
_SCRIPT = """#!/bin/sh
# Simulated: there is no NVLink between the nodes of a scenario.
if [ -f "$0.instead" ]; then exec /bin/sh "$0.instead"; fi
# The signal would end the program before it has a handler; it resolves all names after that anyway.
trap '' USR1
exec {python} -I -S {module} {part} "$@"
"""


@dataclass(frozen=True, slots=True)
class ContainerFiles:
    """The files of a daemon's container."""

    root: Path

    @property
    def imexd(self) -> Path:
        """The folder that is /imexd in the container."""
        return self.root / "imexd"

    @property
    def hosts(self) -> Path:
        """The file that is /etc/hosts in the container."""
        return self.root / "hosts"

    @property
    def bin(self) -> Path:
        """The folder with nvidia-imex, first in PATH."""
        return self.root / "bin"

    def executable(self, name: str) -> FakeExecutable:
        """Return one of the simulated programs."""
        return FakeExecutable(self.bin / name)

    @property
    def _module(self) -> Path:
        return self.bin / "simulated_imex.pyc"

    def imex_process(self, claimed: object) -> int | None:
        """Return a process id if it is that of a simulated program of this container.

        The id comes from what answers at the address of the pod, and may be a number that ends other processes.
        """
        if not isinstance(claimed, int) or isinstance(claimed, bool) or claimed <= 1:
            return None
        try:
            words = Path(f"/proc/{claimed}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return None
        return claimed if bytes(self._module) in words else None

    def write(self, pod_ip: str, pod_name: str) -> None:
        """Write what a kubelet and the plugin write before the container starts."""
        self.imexd.mkdir(parents=True, exist_ok=True, mode=0o755)
        (self.imexd / TEMPLATE).write_text(IMEX_CONFIG)
        # A kubelet writes the hosts file at each start of a container.
        self.hosts.write_text(f"127.0.0.1\tlocalhost\n{FOREIGN_LINE}\n{pod_ip}\t{pod_name}\n")

    def install(self, *, without: frozenset[str]) -> None:
        """Write the simulated programs, except those in `without`."""
        self.bin.mkdir(parents=True, mode=0o755)
        # A copy: another user may not be able to read the harness's own files.
        module = self._module
        module.write_bytes(_imex_program())
        for name, part in (("nvidia-imex", "daemon"), ("nvidia-imex-ctl", "control")):
            if name not in without:
                script = _SCRIPT.format(python=sys.executable, module=module, part=part)
                self.executable(name).install(script)


@functools.cache
def _imex_program() -> bytes:
    """Return the simulated IMEX program, compiled: pods start it often."""
    with tempfile.TemporaryDirectory() as folder:
        source, compiled = Path(folder) / "imex.py", Path(folder) / "imex.pyc"
        # The source that this process has imported: the mutation survey changes it without the file.
        loader: Any = imex.__loader__
        source.write_text(loader.get_source(imex.__name__), encoding="utf-8")
        py_compile.compile(
            str(source),
            dfile=imex.__file__,
            cfile=str(compiled),
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        return compiled.read_bytes()


class DaemonProgram(Protocol):
    """The program of a container."""

    def start(self) -> None:
        """Start it. Raises an exception if it ends at once."""
        ...

    def ended(self) -> str | None:
        """Return why it has ended by itself; None while it runs."""
        ...

    def stop(self) -> None:
        """End it as SIGTERM does, and wait for the end."""
        ...

    def kill(self) -> None:
        """End what still runs of it, as SIGKILL does."""
        ...

    def execute(self, words: Sequence[str], seconds: float) -> str:
        """Run the command of a probe, at most so long. Return why it failed; empty if it succeeded."""
        ...


class ReferenceProgram:
    """The reference daemon in this process."""

    def __init__(
        self, world: ScenarioContext, environment: Mapping[str, str], files: ContainerFiles, log: Path
    ) -> None:
        self._environment = {**environment, imex.HOSTS: str(files.hosts)}
        self._files = files
        self._daemon: ImexDaemon | None = None
        self._failed = threading.Event()
        self._world = world
        self._log = log

    def start(self) -> None:
        """Start the daemon. Raises ComponentError if it cannot start."""
        settings = DaemonSettings.read(
            self._environment, config_dir=self._files.imexd, hosts_file=self._files.hosts, imex_log=self._log
        )
        transport = self._world.run.component_transport(DAEMON)
        self._daemon = ImexDaemon(
            KubeClient(transport, user_agent=f"reference-{DAEMON}"),
            clock=self._world.clock,
            settings=settings,
            on_failure=self._failed.set,
        )
        self._daemon.start()

    def ended(self) -> str | None:
        """Return why the daemon has given up; None while it runs."""
        return self._daemon.failure if self._daemon is not None and self._failed.is_set() else None

    def stop(self) -> None:
        """Stop the daemon."""
        if self._daemon is not None:
            self._daemon.stop()

    def kill(self) -> None:
        """Kill the daemon."""
        if self._daemon is not None:
            self._daemon.kill()

    def execute(self, words: Sequence[str], seconds: float) -> str:
        """Run the daemon's check, the only command of its probes."""
        clique_id = self._environment.get("CLIQUE_ID", "")
        config = self._files.imexd / CONFIG
        return imex_process.check(config, clique_id=clique_id, simulated=False, environment=self._environment)


class ExternalProgram(ContainerProcess):
    """A daemon as a process: one under test, or the reference."""

    def __init__(
        self,
        world: ScenarioContext,
        pod: Obj,
        container: Mapping[str, Any],
        environment: Mapping[str, str],
        files: ContainerFiles,
        log: Path,
    ) -> None:
        """Raises KubeletError if the container has another command than that of the daemon."""
        spec = world.run.components.spec(DAEMON)
        is_reference = spec.kind == "reference"
        values = {"kubeconfig": environment["KUBECONFIG"], "config_dir": "/imexd", "hosts": "/etc/hosts"}
        more = {}
        if is_reference:
            # No mounts, which need privileges: the reference has flags for its paths.
            values |= {"config_dir": str(files.imexd), "hosts": str(files.hosts)}
            more[imex.HOSTS] = str(files.hosts)
        program = [fill(word, values) for word in (_REFERENCE if is_reference else spec.command)]
        super().__init__(
            f"{DAEMON} {files.root.name}",
            pod,
            container,
            entry_points={DAEMON: program},
            environment={**environment, **more},
            log_path=log,
            isolation=NONE if is_reference else self._isolated(world, files),
        )
        world.started(DAEMON, self.process)

    @staticmethod
    def connection(world: ScenarioContext) -> dict[str, str]:
        """Write the kubeconfig of the programs and the files of their service account; return variables for both."""
        kubeconfig = world.run.target_kubeconfig(DAEMON)
        variables = pod_credentials.write(
            kubeconfig,
            world.run.target_folder(SERVICE_ACCOUNT),
            namespace=world.run.options.compute_domain_namespace,
            give=world.run.isolation.give,
        )
        return {"KUBECONFIG": str(kubeconfig), **variables}

    @staticmethod
    def _isolated(world: ScenarioContext, files: ContainerFiles) -> Isolation:
        isolation = world.run.isolation
        view = files.root / "view"
        view.mkdir(exist_ok=True, mode=0o700)
        isolation.give(files.imexd, *files.imexd.iterdir(), files.hosts)
        parents = [path for path in files.bin.parents if path.is_relative_to(world.run.components.work)]
        isolation.reach(*parents)
        owned = isolation.with_folders(files.imexd, world.run.target_folder(DAEMON))
        account = world.run.target_folder(SERVICE_ACCOUNT)
        mounts = [
            (files.imexd, Path("/imexd")),
            (files.hosts, Path("/etc/hosts")),
            (account, pod_credentials.FOLDER),
        ]
        return owned.with_mounts(mounts, view=view)
