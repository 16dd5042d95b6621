"""The daemon pods of ComputeDomains: what a cluster's DaemonSet controller and kubelets do for them.

For every DaemonSet of a ComputeDomain and every node that its selector matches, `DaemonPods` creates a pod from the
template, runs its container, runs the container's check and writes the pod's Ready condition. If the pod is to end, the
container gets SIGTERM before the pod's object is deleted. The container has the environment of the template and the CDI
edits that a kubelet plugin gives to a daemon claim: the node's clique, by its label `nvidia.com/gpu.clique`, and the
ComputeDomain. Simulated are: the daemon's claim, its devices, the pod network (each pod has an address of the loopback
network) and nvidia-imex (fake_nvml.imex), which is the only one in PATH.

The reference runs in this process, with a simulated nvidia-imex as a process of its own. A program
(`--compute-domain-daemon exec:COMMAND`) runs as a process that sees its files at /imexd and /etc/hosts.

`DaemonPods` owns informers, one thread, and the containers; each container owns a thread.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from dra_api.client import AlreadyExists, ApiError, KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import (
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NODES,
    PODS,
    Obj,
    Resource,
    is_ready,
    meta,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from dra_api.threads import report_exception, started
from dra_api.transport import TransportError
from dra_api.workqueue import WorkQueue
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.fake_executable import FakeExecutable
from dra_conformance.components.reconcile import reconcile
from dra_conformance.core.component_spec import DRIVER_NAMESPACE, fill
from dra_conformance.core.events import LogRecord
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.process import ManagedProcess
from fake_nvml import imex
from reference_impl.compute_domain import imex_process
from reference_impl.compute_domain.imex_config import IMEX_CONFIG
from reference_impl.compute_domain.imex_daemon import CONFIG, TEMPLATE, DaemonSettings, ImexDaemon
from reference_impl.errors import ComponentError

DAEMON = "compute-domain-daemon"
AGENT = "simulated-daemon-pods"
"""The user agent of the requests of DaemonSet controller and kubelets."""
SIMULATED = "resource.nvidia.com/simulated"
FOREIGN_LINE = "192.0.2.250\tstorage.example.com"
"""A line of each hosts file that is not the daemon's."""

_LABEL = "resource.nvidia.com/computeDomain"
_NODE_CLIQUE = "nvidia.com/gpu.clique"
_PROBE_STARTING, _PROBE_RUNNING = 0.25, 0.8
"""Seconds between two checks of a container. A kubelet does it each second and each 10 seconds."""
_PROBE_TIMEOUT = 10.0
_GRACE_SECONDS = 30.0
_CRASHED_SECONDS = 10.0
"""From the end of a container by itself to its restart, as a kubelet's back-off is after the first restart."""
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
        module = self.bin / "simulated_imex.py"
        shutil.copyfile(imex.__file__, module)
        for name, part in (("nvidia-imex", "daemon"), ("nvidia-imex-ctl", "control")):
            if name not in without:
                script = _SCRIPT.format(python=sys.executable, module=module, part=part)
                self.executable(name).install(script)


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

    def check(self) -> str:
        """Run its check. Return why it is not ready; empty if it is."""
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

    def check(self) -> str:
        """Run the daemon's check."""
        clique_id = self._environment.get("CLIQUE_ID", "")
        config = self._files.imexd / CONFIG
        return imex_process.check(config, clique_id=clique_id, simulated=False, environment=self._environment)


class ExternalProgram:
    """A daemon under test, as a process."""

    def __init__(
        self, world: ScenarioContext, environment: Mapping[str, str], files: ContainerFiles, log: Path
    ) -> None:
        run = world.run
        self._environment = dict(environment)
        values = {"kubeconfig": environment["KUBECONFIG"], "config_dir": "/imexd", "hosts": "/etc/hosts"}
        self._command = [fill(word, values) for word in run.components.spec(DAEMON).command]
        self._isolation = self._isolated(world, files)
        self._process = ManagedProcess(
            f"{DAEMON} {files.root.name}",
            [*self._command, "run"],
            log_path=log,
            env=self._environment,
            isolation=self._isolation,
        )

    @staticmethod
    def _isolated(world: ScenarioContext, files: ContainerFiles) -> Isolation:
        isolation = world.run.isolation
        view = files.root / "view"
        view.mkdir(exist_ok=True, mode=0o700)
        isolation.give(files.imexd, *files.imexd.iterdir(), files.hosts)
        parents = [path for path in files.bin.parents if path.is_relative_to(world.run.components.work)]
        isolation.reach(*parents)
        owned = isolation.with_folders(files.imexd, world.run.target_folder(DAEMON))
        mounts = [(files.imexd, Path("/imexd")), (files.hosts, Path("/etc/hosts"))]
        return owned.with_mounts(mounts, view=view)

    def start(self) -> None:
        """Start the process. Raises TargetUnreachable if it cannot be started."""
        self._process.start()

    def ended(self) -> str | None:
        """Return the exit code and the last output of a process that has ended; None while it runs."""
        if self._process.running:
            return None
        return f"exit code {self._process.exit_code}: {self._process.last_lines(3)}"

    def stop(self) -> None:
        """Send SIGTERM, and wait for a pod's usual grace period at most; its children are left to it."""
        if self._process.running and self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM)
            self._process.wait(_GRACE_SECONDS)

    def kill(self) -> None:
        """Send SIGKILL to the process and its children."""
        self._process.kill()

    def check(self) -> str:
        """Run the command with `check`."""
        try:
            process = subprocess.Popen(
                self._isolation.command([*self._command, "check"]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._isolation.environment({**os.environ, **self._environment}),
                # A group of its own: what a check starts is killed with it.
                start_new_session=True,
            )
        except OSError as error:
            return str(error)
        said, problem = b"", ""
        try:
            said, _ = process.communicate(timeout=_PROBE_TIMEOUT)
        except subprocess.TimeoutExpired:
            problem = f"the check takes more than {_PROBE_TIMEOUT:g} s"
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        if problem or process.returncode == 0:
            return problem
        return f"exit code {process.returncode}: {said.decode(errors='replace').strip()[-300:]}"


@dataclass(frozen=True, slots=True)
class DaemonEnd:
    """How a daemon ended on SIGTERM: what was left of it then, while its pod still existed.

    `entries`: the entries of its node in cliques of its domain. `imex`: whether its IMEX process still answered.
    """

    seconds: float
    entries: tuple[Obj, ...]
    imex: bool


class DaemonContainer:
    """The container of one daemon pod, with the thread of its probes."""

    def __init__(
        self,
        world: ScenarioContext,
        client: KubeClient,
        pod: Obj,
        environment: Mapping[str, str],
        *,
        without: frozenset[str],
    ) -> None:
        self.pod = pod
        self.ip = environment["POD_IP"]
        self.environment = dict(environment)
        self.files = ContainerFiles(world.run.components.work / f"daemon-{uid_of(pod)[:13]}")
        self.restarts = 0
        self.problem = "it has not been checked yet"
        """Why the container is not ready; empty if it is."""
        self.ended = ""
        """Why the program has ended by itself; empty while it runs."""
        self.program: DaemonProgram | None = None
        self._world = world
        self._client = client
        self._clock: Clock = world.log.clock
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._ended_at: float | None = None
        self._killed = False
        self._log = world.run.folder / "logs" / f"{DAEMON}-{name_of(pod)[-60:]}.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self.files.root.mkdir(parents=True, mode=0o700)
        self.files.install(without=without)
        self.environment["PATH"] = f"{self.files.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        self._thread = started(self._run, name=f"daemon-pod-{self.ip}")

    def stop(self, *, kill: bool, observe: Callable[[float], None] = lambda seconds: None) -> None:
        """End the container for good; `observe` gets the seconds that the program took to end on SIGTERM."""
        self._stopping.set()
        self._wake.set()
        with self._lock:
            program, self.program = self.program, None
        if program is not None:
            if not kill:
                begun = self._clock.monotonic()
                program.stop()
                observe(self._clock.monotonic() - begun)
            program.kill()
        self._done.set()
        self._thread.join()

    def kill_program(self) -> None:
        """Kill the program as SIGKILL does; the pod's container is started again at once."""
        with self._lock:
            if self.program is not None:
                self.program.kill()
            self._killed = True
        self._wake.set()

    def _run(self) -> None:
        try:
            self._start()
            while not self._stopping.is_set():
                self._look()
                self._clock.wait(self._wake, _PROBE_RUNNING if not self.problem else _PROBE_STARTING)
                self._wake.clear()
            # The kernel kills an isolated program when the thread that started it ends.
            self._done.wait()
        except Exception as error:
            report_exception(error)

    def _start(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            self.files.write(self.ip, name_of(self.pod))
            kind = self._world.run.components.spec(DAEMON).kind
            make = ReferenceProgram if kind == "reference" else ExternalProgram
            self.program = make(self._world, self.environment, self.files, self._log)
            self._ended_at, self._killed, self.ended = None, False, ""
            try:
                self.program.start()
            except (ComponentError, ApiError, TransportError) as error:
                self._has_ended(str(error))

    def _look(self) -> None:
        with self._lock:
            program = self.program
            if program is None or self._stopping.is_set():
                return
            killed = self._killed
            why = None if killed or self._ended_at is not None else program.ended()
            if why is not None:
                program.stop()
                self._has_ended(why)
        if killed or (self._ended_at is not None and self._clock.monotonic() >= self._ended_at + _CRASHED_SECONDS):
            self._write("its container starts again")
            self.restarts += 1
            self._start()
            return
        self._write("its program has ended" if self._ended_at is not None else program.check())

    def _write(self, problem: str) -> None:
        """Write the status of the pod if its readiness has changed."""
        before = (self.pod.get("status") or {}).get("phase") == "Running"
        if before and bool(problem) == bool(self.problem):
            self.problem = problem
            return
        condition = {"type": "Ready", "status": "False" if problem else "True"}
        status = {"phase": "Running", "podIP": self.ip, "podIPs": [{"ip": self.ip}], "conditions": [condition]}
        try:
            self.pod = self._client.patch(
                PODS, name_of(self.pod), {"status": status}, namespace_of(self.pod), subresource="status"
            )
        except (ApiError, TransportError):
            return  # the next look writes it again, unless the pod is gone
        self.problem = problem

    def _has_ended(self, why: str) -> None:
        self._ended_at, self.ended = self._clock.monotonic(), why
        text = f"{name_of(self.pod)} has ended by itself: {why}"
        self._world.log.emit(LogRecord(level="WARNING", logger=__name__, text=text))


class DaemonPods:
    """DaemonSet controller and kubelets for the daemon pods of one scenario."""

    def __init__(self, world: ScenarioContext) -> None:
        self._world = world
        self._client = KubeClient(world.run.component_transport("kubelet"), user_agent=AGENT)
        self._queue: WorkQueue[str] = WorkQueue(world.clock, base_delay=0.02, max_delay=2.0)
        self._informers = {
            DAEMON_SETS: self._informer(DAEMON_SETS, DRIVER_NAMESPACE),
            PODS: self._informer(PODS, DRIVER_NAMESPACE),
            NODES: self._informer(NODES, None),
        }
        self._containers: dict[str, DaemonContainer] = {}
        self._lock = threading.Lock()
        self._ending: dict[str, threading.Thread] = {}
        self._started = 0
        self._thread: threading.Thread | None = None
        self.without: dict[str, frozenset[str]] = {}
        """Programs that are missing in the containers of a node, by its name."""
        self.without_edits: set[str] = set()
        """Nodes whose containers do not get the CDI edits of the daemon's claim."""
        self.ends: dict[tuple[str, str], DaemonEnd] = {}
        """How daemons ended on SIGTERM, by node and uid of the ComputeDomain."""
        external = world.run.components.spec(DAEMON).kind == "exec"
        # Once: containers start at the same time, and each call writes the file again.
        self._connection = {"KUBECONFIG": str(world.run.target_kubeconfig(DAEMON))} if external else {}

    def start(self) -> None:
        """Start to watch. DaemonSets that exist are handled too."""
        for informer in self._informers.values():
            informer.on_change(self._changed)
            informer.start()
        for informer in self._informers.values():
            informer.wait_served(30.0)
        self._queue.add(AGENT)
        self._thread = started(self._work, name=AGENT)

    def stop(self) -> None:
        """Kill all containers. Idempotent."""
        for informer in self._informers.values():
            informer.stop()
        self._queue.shut_down()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for thread in self._ending.values():
            thread.join()
        for uid in list(self._containers):
            self._end(uid, kill=True)

    def container(self, node: str, domain_uid: str) -> DaemonContainer | None:
        """Return the container that runs for a domain on a node."""
        with self._lock:
            found = list(self._containers.values())
        return next(
            (
                one
                for one in found
                if one.pod["spec"]["nodeName"] == node and (meta(one.pod).get("labels") or {}).get(_LABEL) == domain_uid
            ),
            None,
        )

    def _informer(self, resource: Resource, namespace: str | None) -> Informer:
        return Informer(self._client, resource, namespace=namespace, label_selector=_LABEL, clock=self._world.clock)

    def _changed(self, change: Change) -> None:
        self._queue.add(AGENT)

    def _work(self) -> None:
        reconcile(self._queue, lambda _: self._sync())

    def _sync(self) -> None:
        wanted = {
            f"{name_of(one)}-{name_of(node)}": (one, node)
            for one in self._informers[DAEMON_SETS].list()
            for node in self._informers[NODES].list()
            if not meta(one).get("deletionTimestamp") and _selects(one, node)
        }
        pods = {name_of(pod): pod for pod in self._informers[PODS].list() if _is_own(pod)}
        for uid in set(self._containers) - {uid_of(pod) for pod in pods.values()} - set(self._ending):
            # Deleted without grace: nothing waits for the container.
            self._end(uid, kill=True)
        for name, pod in pods.items():
            if name not in wanted or meta(pod).get("deletionTimestamp"):
                if uid_of(pod) not in self._ending:
                    # Each in a thread: pods that end at the same time do not wait for each other.
                    self._ending[uid_of(pod)] = started(partial(self._finish, pod), name=f"{AGENT}-{name}")
            elif uid_of(pod) not in self._containers and uid_of(pod) not in self._ending:
                self._run(pod, *wanted[name])
        for name, (daemon_set, node) in wanted.items():
            if name not in pods:
                self._create(name, daemon_set, node)

    def _create(self, name: str, daemon_set: Obj, node: Obj) -> None:
        template = daemon_set["spec"]["template"]
        owner = {"apiVersion": DAEMON_SETS.api_version, "kind": DAEMON_SETS.kind, **daemon_set}
        pod: Obj = {
            "apiVersion": PODS.api_version,
            "kind": PODS.kind,
            "metadata": {
                **(template.get("metadata") or {}),
                "name": name,
                "namespace": DRIVER_NAMESPACE,
                "annotations": {SIMULATED: "true"},
                "ownerReferences": [owner_reference(owner, controller=True, block_owner_deletion=True)],
            },
            # No claim: it needs a scheduler and a kubelet plugin, whose edits `_environment` adds.
            "spec": {
                "nodeName": name_of(node),
                "containers": [{"name": one["name"], "image": one["image"]} for one in template["spec"]["containers"]],
            },
        }
        with contextlib.suppress(AlreadyExists):
            self._client.create(PODS, pod)

    def _run(self, pod: Obj, daemon_set: Obj, node: Obj) -> None:
        environment = self._environment(pod, daemon_set, node)
        without = self.without.get(name_of(node), frozenset())
        container = DaemonContainer(self._world, self._client, pod, environment, without=without)
        with self._lock:
            self._containers[uid_of(pod)] = container

    def _environment(self, pod: Obj, daemon_set: Obj, node: Obj) -> dict[str, str]:
        """Return the variables of the template, and those that the CDI edits of the daemon's claim add."""
        address = self._address()
        fields = {
            "spec.nodeName": name_of(node),
            "metadata.name": name_of(pod),
            "metadata.namespace": namespace_of(pod),
            "metadata.uid": uid_of(pod),
            "status.podIP": address,
        }
        container: Mapping[str, Any] = daemon_set["spec"]["template"]["spec"]["containers"][0]
        found = {}
        for entry in container.get("env") or ():
            source = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
            found[entry["name"]] = fields.get(source, "") if source else str(entry.get("value", ""))
        domain_uid = str((meta(pod).get("labels") or {}).get(_LABEL))
        domain = next((one for one in self._client.list(COMPUTE_DOMAINS).items if uid_of(one) == domain_uid), {})
        # What the harness needs in any case; the template's own values win.
        found = {**self._connection, "POD_IP": address, "POD_NAME": name_of(pod), **found}
        if name_of(node) in self.without_edits:
            return found
        return {
            **found,
            "COMPUTE_DOMAIN_UUID": domain_uid,
            "COMPUTE_DOMAIN_NAME": str(meta(domain).get("name", "")) if domain else "",
            "COMPUTE_DOMAIN_NAMESPACE": str(meta(domain).get("namespace", "")) if domain else "",
            "CLIQUE_ID": str((meta(node).get("labels") or {}).get(_NODE_CLIQUE) or ""),
        }

    def _address(self) -> str:
        """Return the address of a new pod: each one of its own, also of the processes of other runs."""
        self._started += 1
        process = os.getpid() & 0x3FFF
        return f"127.{64 + (process >> 8)}.{process & 0xFF}.{self._started % 254 + 1}"

    def _end(self, uid: str, *, kill: bool) -> None:
        with self._lock:
            container = self._containers.pop(uid, None)
        if container is not None:
            container.stop(kill=kill, observe=partial(self._observe_end, container))

    def _finish(self, pod: Obj) -> None:
        """End the container of a pod that is to end, then delete the pod."""
        try:
            self._end(uid_of(pod), kill=False)
            with contextlib.suppress(NotFound):
                self._client.delete(PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod), grace_period_seconds=0)
        except (ApiError, TransportError):
            # The pod stays: it belongs to a scenario that has ended.
            return
        except Exception as error:
            report_exception(error)

    def _observe_end(self, container: DaemonContainer, seconds: float) -> None:
        node = str(container.pod["spec"]["nodeName"])
        domain_uid = str((meta(container.pod).get("labels") or {}).get(_LABEL))
        selector = f"{_LABEL}={domain_uid}"
        cliques = self._client.list(COMPUTE_DOMAIN_CLIQUES, DRIVER_NAMESPACE, label_selector=selector).items
        entries = [entry for clique in cliques for entry in clique.get("daemons") or () if entry["nodeName"] == node]
        try:
            answers = bool(imex.query(container.ip, imex.CONTROL_PORT, timeout=1.0))
        except (OSError, ValueError):
            answers = False
        self.ends[node, domain_uid] = DaemonEnd(seconds, tuple(entries), answers)


def _selects(daemon_set: Obj, node: Obj) -> bool:
    wanted = daemon_set["spec"]["template"]["spec"].get("nodeSelector") or {}
    has = meta(node).get("labels") or {}
    return all(has.get(key) == value for key, value in wanted.items())


def _is_own(pod: Obj) -> bool:
    return (meta(pod).get("annotations") or {}).get(SIMULATED) == "true"


def is_ready_pod(pod: Obj) -> bool:
    """Return whether a pod runs and its Ready condition is true."""
    return (pod.get("status") or {}).get("phase") == "Running" and is_ready(pod)
