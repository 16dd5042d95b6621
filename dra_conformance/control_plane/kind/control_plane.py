"""A kind cluster that the run creates and deletes.

It owns the cluster (containers with their volumes), the Docker network `kind` if the run made it, and `directory` with
the kubeconfig; the user's own kubeconfig is not touched. `stop` removes all of it. The nodes with their containers are
real, and so are scheduler, controllers and kubelets (`cluster`); components with another implementation are disabled in
the cluster. A harness that is killed leaves the cluster behind: `kind delete cluster --name NAME`.
"""

from __future__ import annotations

import itertools
import re
import secrets
import shutil
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.control_plane.base import NotOurs
from dra_conformance.control_plane.image_cluster import ImageControlPlane
from dra_conformance.control_plane.kind import configuration, contents, programs
from dra_conformance.control_plane.kind.programs import DEFAULT_IMAGE
from dra_conformance.core.errors import TargetUnreachable

PREFIX = "dra-conformance-"
"""The begin of the names of clusters of runs."""

_CREATED_WITHIN = 420.0
_READY_WITHIN = 240
_ENDED_WITHIN = 120.0
_ATTEMPTS = 3
"""Attempts to delete a cluster, also if they take long."""
_TIMED_OUT = 124
"""The exit code of `timeout`."""
_NETWORK = "kind"
_NAMES = ("--format", "{{range .Containers}}{{.Name}} {{end}}")
_LABEL = "io.x-k8s.kind.cluster"
_DETACHED_WITHIN, _AGAIN = 30.0, 1.0
_RESERVED = "dra-conformance/reserved"
# Words of Docker's and kind's messages, and what they mean.
_CAUSES = (
    (
        "unable to apply caps|operation not permitted",
        "Docker's machine refuses privileged containers; kind needs them.",
    ),
    ("no space left on device", "Docker's disk is full: `docker system df` shows what uses it."),
    ("port is already allocated|address already in use", "A port of the cluster is in use: start the run again."),
    (
        "pull access denied|failed to pull image",
        "No registry answers: load the node image into Docker (`docker load`), and name it with --kind-image.",
    ),
)


class KindControlPlane(ImageControlPlane):
    """A kind cluster.

    Arguments:
        image: the node image with its tag, which names the release (`kindest/node:v1.37.0`).
        directory: for the kubeconfig; removed by `stop`.
        logs: receives the logs of the nodes.
        workers: the number of nodes beside the one of the control plane.
        feature_gates: for every program of Kubernetes in it.
        runtime_config: enabled versions of resource.k8s.io; by default all.
        foreign_components: components with another implementation, which the cluster does not run.
        reserve_workers: keep pods without claims off the workers, so that schedulers find only nodes of scenarios.
        archives: image archives that are loaded into the nodes.
        manifests: files or folders that are applied then, in this order; `start` waits until their workloads run.
    """

    kind = "kind"
    default_image = DEFAULT_IMAGE

    def __init__(
        self,
        *,
        image: str = DEFAULT_IMAGE,
        directory: Path,
        logs: Path,
        workers: int = 2,
        feature_gates: Mapping[str, bool] | None = None,
        runtime_config: Mapping[str, bool] | None = None,
        foreign_components: Collection[str] = (),
        reserve_workers: bool = False,
        archives: Sequence[Path] = (),
        manifests: Sequence[Path] = (),
    ) -> None:
        super().__init__(
            image=image,
            directory=directory,
            feature_gates=feature_gates,
            runtime_config=runtime_config,
            foreign_components=foreign_components,
        )
        self.cluster = f"{PREFIX}{secrets.token_hex(4)}"
        self._logs = logs
        self._workers = workers
        self._reserve_workers = reserve_workers
        self._archives = tuple(archives)
        self._manifests = tuple(manifests)
        self._made = False
        self._complete = False
        self._had_network = True

    # -- properties ---------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name for the report: the image and the number of nodes."""
        applied = f", {', '.join(path.name for path in self._manifests)}" if self._manifests else ""
        return f"kind ({self.image}, {self._workers + 1} nodes{applied})"

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Create the cluster with its contents and wait until all is ready. Raises TargetUnreachable, UsageError."""
        if self._made:
            return
        self.version()  # a wrong tag is reported before anything is made
        contents.check(self._archives, self._manifests)
        programs.require(self.image)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._had_network = self._docker("network", "inspect", _NETWORK)
        self._made = True
        try:
            self._create()
            self._wait_for_nodes()
            self._disable_scheduler()
            for archive in self._archives:
                contents.load(archive, cluster=self.cluster)
            for path in self._manifests:
                contents.apply(path, node=self._control_plane_node)
            self._taint_workers()
            self._check_server()
            self._complete = True
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Save the logs of the nodes and delete the cluster. Idempotent. Raises TargetUnreachable for what is left."""
        self._disconnect()
        made, self._made = self._made, False
        try:
            if made:
                self._delete()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def kill(self, program: str) -> None:
        """Raises NotOurs: the kubelet starts the program again, at a time of its own."""
        raise NotOurs(f"{program} of a kind cluster is a pod, which the kubelet starts again at a time of its own")

    def restart(self, program: str) -> None:
        """Raises NotOurs."""
        raise NotOurs(f"{program} of a kind cluster is started by its kubelet")

    def restart_with_gates(self, feature_gates: Mapping[str, bool]) -> None:
        """Raises NotOurs."""
        raise NotOurs("the API server of a kind cluster keeps its feature gates")

    def restart_as(self, release: str, runtime_config: Mapping[str, bool] | None = None) -> None:
        """Raises NotOurs."""
        raise NotOurs("the API server of a kind cluster is of one release")

    # -- inside ----------------------------------------------------------------------------------------------------

    def _create(self) -> None:
        config = self._directory / "cluster.yaml"
        config.write_text(
            configuration.cluster(
                image=self.image,
                workers=self._workers,
                feature_gates=self._gates,
                runtime_config=self._runtime_config,
                foreign_components=self._foreign,
            ),
            encoding="utf-8",
        )
        words = [programs.KIND, "create", "cluster", "--name", self.cluster, "--config", str(config)]
        # `--retain`: `stop` saves the logs of nodes that failed before it deletes them.
        words += ["--kubeconfig", str(self.kubeconfig), "--retain"]
        done = programs.run(words, timeout=_CREATED_WITHIN)
        if done.returncode != 0:
            said = programs.last_lines(done)
            hint = next((text for pattern, text in _CAUSES if re.search(pattern, said, re.IGNORECASE)), "")
            raise TargetUnreachable(
                f"--control-plane kind: the cluster was not created:\n{said}",
                hint=hint or f"The logs of its nodes are in {self._logs}.",
            )
        self.kubeconfig.chmod(0o600)

    def _wait_for_nodes(self) -> None:
        """Wait until all nodes are ready. Raises TargetUnreachable.

        `kind create cluster --wait` waits for the nodes of the control plane only, and only warns.
        """
        wait = ("kubectl", "wait", "--for=condition=Ready", "nodes", "--all", f"--timeout={_READY_WITHIN}s")
        command = [programs.DOCKER, "exec", self._control_plane_node, *wait]
        done = programs.run(command, timeout=_READY_WITHIN + _ENDED_WITHIN)
        if done.returncode != 0:
            raise TargetUnreachable(
                f"--control-plane kind: the nodes are not ready after {_READY_WITHIN} s:\n{programs.last_lines(done)}",
                hint=f"The logs of the nodes are in {self._logs}. {programs.inotify_hint()}".rstrip(),
            )

    def _disable_scheduler(self) -> None:
        if "scheduler" in self._foreign:
            self._in_node("mv", configuration.SCHEDULER_MANIFEST, "/kind/kube-scheduler.yaml")

    def _taint_workers(self) -> None:
        if self._reserve_workers and self._workers:
            workers = "!node-role.kubernetes.io/control-plane"
            self._in_node("kubectl", "taint", "nodes", "--selector", workers, f"{_RESERVED}=:NoSchedule")

    @property
    def _control_plane_node(self) -> str:
        return f"{self.cluster}-control-plane"

    def _in_node(self, *words: str) -> None:
        """Run a command in the node of the control plane. Raises TargetUnreachable with its message."""
        command = [programs.DOCKER, "exec", self._control_plane_node, *words]
        done = programs.run(command, timeout=_ENDED_WITHIN)
        if done.returncode != 0:
            raise TargetUnreachable(f"--control-plane kind: `{' '.join(words)}` fails:\n{programs.last_lines(done)}")

    def _delete(self) -> None:
        self._logs.mkdir(parents=True, exist_ok=True)
        named = ["--name", self.cluster]
        try:
            self._attempt([programs.KIND, "export", "logs", str(self._logs), *named])
        finally:
            done = self._delete_cluster()
        if done.returncode != 0:
            raise TargetUnreachable(
                f"--control-plane kind: the cluster {self.cluster} was not deleted:\n{programs.last_lines(done)}",
                hint=f"`kind delete cluster --name {self.cluster}`",
            )
        if not self._had_network:
            self._remove_network()

    def _delete_cluster(self) -> subprocess.CompletedProcess[str]:
        """Delete the cluster and return the result of kind.

        Docker goes on creating a container whose client was interrupted, and does not remove it meanwhile; a busy one
        may not answer kind in time. So kind is called until it succeeds and Docker lists none of the containers, twice
        after a start that was not completed.
        """
        words = [programs.KIND, "delete", "cluster", "--name", self.cluster, "--kubeconfig", str(self.kubeconfig)]
        clock = RealClock()
        deadline = clock.monotonic() + _DETACHED_WITHIN
        absent, enough = 0, 1 if self._complete else 2
        for attempt in itertools.count(1):
            done = self._attempt(words)
            absent = absent + 1 if done.returncode == 0 and not self._containers() else 0
            if absent >= enough or (attempt >= _ATTEMPTS and clock.monotonic() >= deadline):
                break
            clock.wait(threading.Event(), _AGAIN)
        return done

    @staticmethod
    def _attempt(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a program; one that does not end in time fails like any other."""
        try:
            return programs.run(words, timeout=_ENDED_WITHIN)
        except TargetUnreachable as error:
            return subprocess.CompletedProcess(words, _TIMED_OUT, "", error.message)

    def _containers(self) -> list[str]:
        """Return the names of the cluster's containers, also of those that do not run."""
        words = [programs.DOCKER, "ps", "--all", "--filter", f"label={_LABEL}={self.cluster}", "--format", "{{.Names}}"]
        return programs.run(words, timeout=_ENDED_WITHIN).stdout.split()

    def _remove_network(self) -> None:
        """Remove the network, unless another cluster uses it.

        Docker refuses while it still detaches a container of this cluster, for example after an interrupt.
        """
        clock = RealClock()
        deadline = clock.monotonic() + _DETACHED_WITHIN
        while not self._docker("network", "rm", _NETWORK) and clock.monotonic() < deadline:
            shown = programs.run([programs.DOCKER, "network", "inspect", *_NAMES, _NETWORK], timeout=_ENDED_WITHIN)
            if shown.returncode != 0 or any(not name.startswith(self.cluster) for name in shown.stdout.split()):
                return
            clock.wait(threading.Event(), _AGAIN)

    def _docker(self, *words: str) -> bool:
        return programs.run([programs.DOCKER, *words], timeout=_ENDED_WITHIN).returncode == 0
