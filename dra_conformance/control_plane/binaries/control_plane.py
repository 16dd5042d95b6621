"""etcd, kube-apiserver and kube-controller-manager as one control plane that belongs to the run.

It owns its folder (keys, tokens, kubeconfigs, etcd's data) and its processes; `stop` ends and removes all of them. The
programs' output remains in the log folder. Scheduler and controllers that are components of their own are not started
here, but by the component manager with `component_command`.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import shutil
import socket
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from dra_api.certificate_authority import Authority, signing_key
from dra_api.client import ApiError, KubeClient
from dra_api.clock import RealClock
from dra_api.feature_gates import allowed_in, kept_in, known_gates
from dra_api.objects import SERVICE_ACCOUNTS
from dra_api.private_file import write_private
from dra_api.releases import DEFAULT_RELEASE
from dra_api.transport import HttpTransport, OpenTransports, Transport, TransportError
from dra_conformance.control_plane.base import ControlPlaneFailure
from dra_conformance.control_plane.binaries import flags
from dra_conformance.control_plane.binaries.programs import (
    API_SERVER,
    CONTROLLERS,
    ETCD,
    SCHEDULER,
    Programs,
    ProgramsMissing,
    Wanted,
    find,
)
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.isolation import of_kubernetes
from dra_conformance.core.process import ManagedProcess

_READY_TIMEOUT = 60.0
_TURN = 0.02
_ATTEMPTS = 3
_SYSTEM = {CONTROLLERS: "system:kube-controller-manager", SCHEDULER: "system:kube-scheduler"}


class BinariesControlPlane:
    """A real control plane. `kubernetes_version` is a minor ("1.37") or a release ("1.37.2").

    `directory` is for all its files and is removed by `stop`; `logs` is for the programs' output and remains.
    `feature_gates` are for every program; `start` rejects unknown gates.
    `runtime_config` enables versions of resource.k8s.io; by default all are served.
    `audit` is a file with a JSON line per request, except those of Kubernetes' components and the administrator.
    `without_controllers` are controllers of kube-controller-manager that do not run.
    """

    own = True
    evidence = "evidence"

    def __init__(
        self,
        *,
        kubernetes_version: str = DEFAULT_RELEASE,
        directory: Path,
        logs: Path,
        bin_dir: str = "",
        feature_gates: Mapping[str, bool] | None = None,
        runtime_config: Mapping[str, bool] | None = None,
        environ: Mapping[str, str] | None = None,
        audit: Path | None = None,
        without_controllers: Sequence[str] = (),
        pass_env: Sequence[str] = (),
    ) -> None:
        self._audit = audit
        self._without = tuple(without_controllers)
        self._isolation = of_kubernetes(pass_env)
        self._wanted = Wanted(kubernetes_version)
        self._directory = directory
        self._logs = logs
        self._bin_dir = bin_dir
        self._overrides = dict(feature_gates or {})
        self._runtime_config = dict(runtime_config or {})
        self._environ = environ
        self._programs: Programs | None = None
        self._releases: dict[str, tuple[Programs, str]] = {}
        self._gates: dict[str, bool] | None = None
        self._authority: Authority | None = None
        self._layout: flags.Layout | None = None
        self._clock = RealClock()
        self._never = threading.Event()
        self._processes: dict[str, ManagedProcess] = {}
        self._transports = OpenTransports[HttpTransport]()

    # -- properties ---------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name for the report."""
        return f"kube-apiserver {self._programs.version}" if self._programs else "kube-apiserver"

    @property
    def programs(self) -> Programs:
        """The programs. Raises ProgramsMissing."""
        if self._programs is None:
            self._programs = find(self._wanted, bin_dir=self._bin_dir, environ=self._environ)
        return self._programs

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig (0600), after `start`."""
        return self._directory / "kubeconfig"

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """All gates of this release's API server with their values. Raises ProgramsMissing."""
        if self._gates is None:
            self._gates = {**self.programs.default_gates(), **self._overrides}
        return self._gates

    @property
    def url(self) -> str:
        """The API server's address, after `start`."""
        return self._laid_out().url

    def version(self) -> str:
        """The release of its programs, such as v1.36.2. Raises ProgramsMissing."""
        return self.programs.version

    def watches_drained(self) -> bool:
        """Return True: the watches of a real API server cannot be observed from outside."""
        return True

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """Its programs that were started: those that answer requests before the database."""
        return sorted(self._processes.values(), key=lambda process: (process.name == ETCD, process.name))

    def take_failures(self) -> list[ControlPlaneFailure]:
        """Return nothing: Kubernetes' own programs write their failures to their logs."""
        return []

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all programs and wait until they serve. Raises TargetUnreachable with a program's last output."""
        if self._processes:
            return
        self._check_gates()
        for attempt in range(1, _ATTEMPTS + 1):
            self._lay_out()
            try:
                self._launch(ETCD, flags.etcd(self._laid_out()))
                command = flags.api_server(self._laid_out(), self._overrides, self._runtime_config, audit=self._audit)
                self._launch(API_SERVER, command)
                self._wait_ready()
                # Controllers that are components of their own are started, killed and replaced by scenarios.
                others = [f"-{name}" for name in (*flags.COMPONENT_CONTROLLERS.values(), *self._without)]
                kubeconfig = self.kubeconfig_for(_SYSTEM[CONTROLLERS])
                command = flags.controllers(kubeconfig, self._overrides, run=["*", *others], layout=self._laid_out())
                self._launch(CONTROLLERS, command)
                self._wait_controllers()
                return
            except TargetUnreachable:
                taken = [name for name, process in self._processes.items() if _port_was_taken(process)]
                self.stop()
                # Only a lost race for a port can end differently in another attempt.
                if not taken or attempt == _ATTEMPTS:
                    raise
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """End every program and remove the folder. Idempotent."""
        self._transports.close()
        # Clients before their servers.
        for process in reversed(self._processes.values()):
            process.kill()  # no graceful end is necessary: the data is removed too
        self._processes.clear()
        if self._layout is not None:
            self._layout = None
            shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> BinariesControlPlane:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def dead(self) -> str:
        """Return which program has exited by itself, with its last output; empty if none has."""
        for name, process in self._processes.items():
            if not process.running:
                return _obituary(name, process)
        return ""

    def pids(self) -> dict[str, int]:
        """The process ids of its programs, by name."""
        return {name: process.pid for name, process in self._processes.items() if process.pid is not None}

    def kill(self, program: str) -> None:
        """Kill one program, as a crash would."""
        self._processes[program].kill()

    def restart(self, program: str) -> None:
        """Start one program again after `kill`, on its old ports and data, and wait until the API server serves."""
        self._processes[program].kill()
        self._processes[program].start()
        self._wait_ready()

    def restart_with_gates(self, feature_gates: Mapping[str, bool]) -> None:
        """Restart the API server on its old data with other feature gates. Raises TargetUnreachable.

        The other programs keep the gates that they were started with.
        """
        self._overrides, self._gates = dict(feature_gates), None
        self._check_gates()
        self._processes[API_SERVER].kill()
        command = flags.api_server(self._laid_out(), self._overrides, self._runtime_config, audit=self._audit)
        self._launch(API_SERVER, command)
        self._wait_ready()

    def restart_as(self, release: str, runtime_config: Mapping[str, bool] | None = None) -> None:
        """Restart the API server of another release on its old data. Raises TargetUnreachable.

        Its program is in one of the searched folders; without one, that of the run emulates the release
        (`--emulated-version`).
        """
        other, emulated = self.programs_of(release)
        gates = allowed_in(release or other.version, self._overrides)
        served = {**self._runtime_config, **(runtime_config or {})}
        self._processes[API_SERVER].kill()
        command = flags.api_server(self._laid_out(), gates, served, audit=self._audit, emulated=emulated)
        self._launch(API_SERVER, command, program=other[API_SERVER])
        self._wait_ready()

    def programs_of(self, release: str) -> tuple[Programs, str]:
        """Return the programs of another release ("1.36"), and the release that they have to emulate.

        Without programs of that release in the searched folders, those of the run emulate it. An empty `release` is
        that of the run. Raises ProgramsMissing if the run has no programs.
        """
        if release not in self._releases:
            found = self.programs, release
            if release:
                with contextlib.suppress(ProgramsMissing):
                    # The folder of --bin-dir has one release.
                    found = find(Wanted(release), environ=self._environ), ""
            self._releases[release] = found
        return self._releases[release]

    # -- users -----------------------------------------------------------------------------------------------

    def transport(self) -> Transport:
        """Return a connection as the administrator."""
        return self._connect(self.kubeconfig)

    def transport_for(self, user: str, groups: Iterable[str] = ()) -> Transport:
        """Return a connection as a user with a client certificate."""
        return self._connect(self.kubeconfig_for(user, groups))

    def kubeconfig_for(self, user: str, groups: Iterable[str] = ()) -> Path:
        """Return a kubeconfig (0600) with a new client certificate for a user in groups."""
        if self._authority is None:
            raise TargetUnreachable("the control plane is not started")
        pair = self._authority.client(user, groups)
        credentials = {
            "client-certificate-data": base64.b64encode(pair.certificate).decode(),
            "client-key-data": base64.b64encode(pair.key).decode(),
        }
        # Users such as system:node:n1 have characters that do not belong into file names.
        safe = "".join(letter if letter.isalnum() else "-" for letter in user)
        return self._write_kubeconfig(f"{safe}-{secrets.token_hex(3)}.kubeconfig", user, credentials)

    def known_as(self, user: str) -> str:
        """Return the name unchanged: the API server takes it from the credentials."""
        return user

    def component_kubeconfig(self, program: str) -> Path:
        """Return a kubeconfig with the identity that a program has in a cluster."""
        return self.kubeconfig_for(_SYSTEM[program])

    def component_command(
        self,
        program: str,
        component: str,
        gates: Mapping[str, bool] | None = None,
        *,
        kubeconfig: Path | None = None,
        arguments: Mapping[str, str] | None = None,
        release: str = "",
    ) -> list[str]:
        """Return the command line of a program for a component: kube-scheduler, or one controller.

        `gates` are additional gates of this program. `kubeconfig` selects the connection; None: directly, with its own
        identity. `arguments` are fields of kube-scheduler's DynamicResourcesArgs; they have no flags and need a file,
        which is written beside the kubeconfig. `release` is another release ("1.36"), see `programs_of`; gates that it
        lacks or has as alpha are left out.
        """
        programs, emulated = self.programs_of(release)
        chosen = {**self._overrides, **(gates or {})}
        if release:
            chosen = kept_in(release, chosen)
        kubeconfig = kubeconfig or self.component_kubeconfig(program)
        if program == SCHEDULER:
            words = flags.scheduler(kubeconfig, chosen)
            if arguments:
                file = kubeconfig.parent / "kube-scheduler.yaml"
                write_private(file, flags.scheduler_configuration(kubeconfig, arguments))
                words = flags.configured(words, file)
        else:
            words = flags.controllers(kubeconfig, chosen, run=[flags.COMPONENT_CONTROLLERS[component]])
        return [str(programs[program]), *flags.emulated_release(emulated), *words]

    # -- inside ----------------------------------------------------------------------------------------------------

    def _laid_out(self) -> flags.Layout:
        if self._layout is None:
            raise TargetUnreachable("the control plane is not started")
        return self._layout

    def _lay_out(self) -> None:
        """Create the folder with keys, certificates, tokens and the administrator's kubeconfig."""
        folder = self._directory
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._layout = flags.Layout(folder, *_free_ports(3))
        self._authority = authority = Authority()
        write_private(folder / "ca.crt", authority.certificate)
        authority.server("etcd").write(folder, "etcd")
        authority.client("kube-apiserver").write(folder, "etcd-client")
        authority.server("kube-apiserver").write(folder, "apiserver")
        write_private(folder / "sa.key", signing_key())
        token = secrets.token_urlsafe(32)
        write_private(folder / "tokens.csv", f'{token},kubernetes-admin,admin,"system:masters"\n'.encode())
        write_private(folder / flags.AUDIT_POLICY_FILE, flags.AUDIT_POLICY)
        (folder / "served").mkdir(mode=0o700)
        (folder / "etcd").mkdir(mode=0o700)
        self._write_kubeconfig(self.kubeconfig.name, "kubernetes-admin", {"token": token})

    def _write_kubeconfig(self, name: str, user: str, credentials: Mapping[str, str]) -> Path:
        authority = (self._directory / "ca.crt").read_bytes()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "binaries",
                    "cluster": {
                        "server": self._laid_out().url,
                        "certificate-authority-data": base64.b64encode(authority).decode(),
                    },
                }
            ],
            "users": [{"name": user, "user": dict(credentials)}],
            "contexts": [{"name": "binaries", "context": {"cluster": "binaries", "user": user}}],
            "current-context": "binaries",
        }
        path = self._directory / name
        write_private(path, yaml.safe_dump(config).encode())
        return path

    def _launch(self, name: str, words: list[str], *, program: Path | None = None) -> None:
        process = ManagedProcess(
            name,
            _ends_with_us([str(program or self.programs[name]), *words]),
            log_path=self._logs / f"{name}.log",
            isolation=self._isolation,
        )
        self._processes[name] = process
        process.start()

    def _check_gates(self) -> None:
        if not self._overrides:
            return
        # --help leaves out gates that are generally available; those that are not locked can still be set.
        unlocked = {name for name, gate in known_gates(self.version()).items() if not gate.locked}
        known = unlocked.union(self.programs.default_gates())
        if unknown := sorted(set(self._overrides) - known):
            raise TargetUnreachable(
                f"kube-apiserver {self.version()} does not know the feature gate {', '.join(unknown)}",
                hint="`kube-apiserver --help` lists its gates; one that the release has locked can no longer be set.",
            )

    def _wait_ready(self) -> None:
        transport = self._connect(self.kubeconfig)
        deadline = self._clock.monotonic() + _READY_TIMEOUT
        while True:
            if dead := self.dead():
                raise TargetUnreachable(dead)
            with contextlib.suppress(TransportError):
                if transport.request("GET", "/readyz", timeout=5.0).status == 200:
                    return
            if self._clock.monotonic() > deadline:
                said = self._processes[API_SERVER].last_lines()
                raise TargetUnreachable(
                    f"kube-apiserver was not ready within {_READY_TIMEOUT:.0f} s; last output: {said}"
                )
            self._clock.wait(self._never, _TURN)

    def _wait_controllers(self) -> None:
        """Wait for a service account, the first object that only a running controller manager creates."""
        client = KubeClient(self._connect(self.kubeconfig))
        deadline = self._clock.monotonic() + _READY_TIMEOUT
        while self._clock.monotonic() < deadline:
            if dead := self.dead():
                raise TargetUnreachable(dead)
            with contextlib.suppress(ApiError, TransportError):
                client.get(SERVICE_ACCOUNTS, "default", "default")
                return
            self._clock.wait(self._never, _TURN)
        said = self._processes[CONTROLLERS].last_lines()
        raise TargetUnreachable(
            f"kube-controller-manager did nothing within {_READY_TIMEOUT:.0f} s; last output: {said}"
        )

    def _connect(self, kubeconfig: Path) -> HttpTransport:
        return self._transports.add(HttpTransport.from_kubeconfig(kubeconfig))


def _free_ports(count: int) -> list[int]:
    """Return free ports on loopback. Another program may take one before its use; `start` retries then."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((flags.LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _port_was_taken(process: ManagedProcess) -> bool:
    return not process.running and "address already in use" in process.last_lines(40)


def _obituary(name: str, process: ManagedProcess) -> str:
    return f"{name} ended with exit code {process.exit_code}; last output:\n{process.last_lines(8)}"


def _ends_with_us(command: list[str]) -> list[str]:
    """Return the command with util-linux's setpriv, if installed, so that the kernel kills it with the harness.

    The kernel sends the signal when the starting thread ends: start control planes from a thread that remains.
    """
    setpriv = shutil.which("setpriv") if sys.platform.startswith("linux") else None
    return [setpriv, "--pdeathsig", "KILL", "--", *command] if setpriv and os.access(setpriv, os.X_OK) else command
