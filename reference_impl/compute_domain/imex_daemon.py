"""The daemon of a ComputeDomain on one node: joins the node's clique, and runs nvidia-imex with the others as peers.

The pod of the domain's DaemonSet runs it. The CDI edits of its claim name the domain and the node's clique, which the
kubelet plugin has from NVML's fabric information. The daemon writes its own entry in the clique, whose status follows
the Ready condition of its pod, and the addresses of all daemons into the hosts file. When it ends it removes its entry.
On a node without a clique it only labels its pod.

Source: cmd/compute-domain-daemon of kubernetes-sigs/dra-driver-nvidia-gpu at v0.5.0; rules NV-173, NV-174, NV-387 to
NV-406.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dra_api.client import ApiError, Conflict, KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, PODS, Obj, Resource, is_ready
from dra_api.transport import TransportError
from reference_impl.compute_domain import imex_config, peer_names
from reference_impl.compute_domain.cliques import CliqueFullError, CliqueWriter
from reference_impl.compute_domain.imex_process import ImexProcess
from reference_impl.compute_domain.objects import CLIQUE_LABEL, MAX_NODES, clique_name
from reference_impl.errors import ComponentError
from reference_impl.loop import Loop

log = logging.getLogger(__name__)

TEMPLATE: Final = "imexd.cfg.tmpl"
CONFIG: Final = "imexd.cfg"
NODES: Final = "nodes.cfg"
_SYNC = "sync"
_LEAVE_SECONDS = 10.0
_LEAVE_RETRY_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSettings:
    """What the pod and the CDI edits of its claim give to the daemon.

    `config_dir` has the template of nvidia-imex' configuration; `hosts_file` is the container's. `environment` is that
    of nvidia-imex, `imex_log` the file for its output (None: the daemon's own). `simulated_imex`: the simulated process
    runs in place of nvidia-imex.
    """

    domain_uid: str
    clique_id: str
    node_name: str
    pod_name: str
    pod_namespace: str
    pod_ip: str
    max_nodes: int
    config_dir: Path
    hosts_file: Path
    environment: Mapping[str, str]
    imex_log: Path | None = None
    simulated_imex: bool = False

    @classmethod
    def read(
        cls,
        environment: Mapping[str, str],
        *,
        config_dir: Path,
        hosts_file: Path,
        imex_log: Path | None = None,
        simulated_imex: bool = False,
    ) -> DaemonSettings:
        """Return the settings of a container. Raises ComponentError for a variable that is missing or invalid."""
        require_edits(environment)
        names = ("NODE_NAME", "POD_NAME", "POD_NAMESPACE", "POD_IP")
        if missing := [name for name in names if not environment.get(name)]:
            raise ComponentError(f"{', '.join(missing)} not set: the pod's template has them as variables")
        limit = environment.get("MAX_NODES_PER_IMEX_DOMAIN") or str(MAX_NODES)
        if not limit.isdecimal() or int(limit) < 1:
            raise ComponentError(f"MAX_NODES_PER_IMEX_DOMAIN={limit!r} is not a number of nodes")
        return cls(
            domain_uid=environment.get("COMPUTE_DOMAIN_UUID") or "",
            clique_id=environment.get("CLIQUE_ID") or "",
            node_name=environment["NODE_NAME"],
            pod_name=environment["POD_NAME"],
            pod_namespace=environment["POD_NAMESPACE"],
            pod_ip=environment["POD_IP"],
            max_nodes=int(limit),
            config_dir=config_dir,
            hosts_file=hosts_file,
            environment=environment,
            imex_log=imex_log,
            simulated_imex=simulated_imex,
        )

    @property
    def config(self) -> Path:
        """The configuration file of nvidia-imex."""
        return self.config_dir / CONFIG


def require_edits(environment: Mapping[str, str]) -> None:
    """Raise ComponentError if the container lacks the CDI edits of the daemon's claim (rule NV-406)."""
    if not environment.get("COMPUTE_DOMAIN_UUID"):
        raise ComponentError(
            "COMPUTE_DOMAIN_UUID is not set: the CDI edits of the daemon's claim were not applied; "
            "is CDI enabled in the container runtime?"
        )


class ImexDaemon:
    """The daemon of one pod. `on_failure` is called once if it cannot go on; its owner then stops it."""

    def __init__(
        self, client: KubeClient, *, clock: Clock, settings: DaemonSettings, on_failure: Callable[[], None]
    ) -> None:
        self.name = f"compute-domain daemon on {settings.node_name}"
        self.failure = ""
        """Why the daemon cannot go on; empty if it can."""
        self._client = client
        self._clock = clock
        self._settings = settings
        self._on_failure = on_failure
        self._writer = CliqueWriter(client, namespace=settings.pod_namespace)
        self._names: dict[str, str] = {}
        self._stopped = False
        self._imex = ImexProcess(
            settings.config,
            clock=clock,
            environment=settings.environment,
            output=settings.imex_log,
            simulated=settings.simulated_imex,
            on_failure=self.fail,
        )
        self._pods = self._informer(PODS, settings.pod_name)
        clique = clique_name(settings.domain_uid, settings.clique_id)
        self._cliques = self._informer(COMPUTE_DOMAIN_CLIQUES, clique)
        informers = [self._pods, self._cliques]
        for informer in informers:
            informer.on_change(self._changed)
        self._loop: Loop[str] = Loop(
            self.name, self.sync, informers=informers, clock=clock, workers=1, base_delay=0.02, max_delay=6.0
        )

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work. Raises ComponentError without a template, and API errors if the pod cannot be labelled."""
        settings = self._settings
        # The controller counts a pod whose label is empty as a node without a clique (rules NV-152, NV-405).
        label = {"metadata": {"labels": {CLIQUE_LABEL: settings.clique_id}}}
        self._client.patch(PODS, settings.pod_name, label, settings.pod_namespace)
        if not settings.clique_id:
            return
        self.write_files()
        self._loop.start()
        self._loop.queue.add(_SYNC)

    def stop(self) -> None:
        """Leave the clique, then end nvidia-imex (rule NV-401). Idempotent."""
        if self._stopped:
            return
        self._stopped = True
        self._loop.stop()
        if self._settings.clique_id:
            self.leave()
        self._imex.stop()

    def kill(self) -> None:
        """End as SIGKILL ends the daemon and its children: the entry stays. For harnesses."""
        self._stopped = True
        self._loop.stop()
        self._imex.kill()

    def fail(self, reason: str) -> None:
        """Give up: the owner is called to stop the daemon, which removes its entry."""
        if not self.failure:
            self.failure = reason
            log.error("%s", reason)
            self._on_failure()

    @property
    def imex_pid(self) -> int | None:
        """The id of the nvidia-imex process; None before its first start."""
        return self._imex.pid

    def _informer(self, resource: Resource, name: str) -> Informer:
        return Informer(
            self._client,
            resource,
            namespace=self._settings.pod_namespace,
            field_selector=f"metadata.name={name}",
            clock=self._clock,
        )

    def _changed(self, change: Change) -> None:
        self._loop.queue.add(_SYNC)

    # -- work ------------------------------------------------------------------------------------------------------

    def write_files(self) -> None:
        """Write the configuration and the nodes file; both stay for the life of the daemon (rule NV-393)."""
        settings = self._settings
        try:
            template = (settings.config_dir / TEMPLATE).read_text()
            nodes = settings.config_dir / NODES
            nodes.write_text(peer_names.nodes_text(settings.max_nodes))
            text = imex_config.render(template, nodes_file=str(nodes), address=settings.pod_ip)
            settings.config.write_text(text)
        except OSError as error:
            raise ComponentError(f"cannot write the configuration of nvidia-imex: {error}") from error

    def sync(self, key: str) -> None:
        """Bring the own entry up to date, then the peers of nvidia-imex. Raises if it must be tried again."""
        pod = self._pods.get(self._settings.pod_name, self._settings.pod_namespace)
        if pod is None or self.failure:
            return
        try:
            daemons = self.join(pod)
        except CliqueFullError as error:
            # Tried again when the clique changes. Until then nvidia-imex does not run, and the pod is not ready.
            log.warning("node %s cannot join: %s", self._settings.node_name, error)
            return
        self.update_peers(daemons)

    def join(self, pod: Obj) -> list[Obj]:
        """Write the own entry, and return all entries of the clique (rules NV-387 to NV-392, NV-403)."""
        settings = self._settings
        return self._writer.join(
            settings.domain_uid,
            settings.clique_id,
            node=settings.node_name,
            ip=settings.pod_ip,
            ready=(pod.get("status") or {}).get("phase") == "Running" and is_ready(pod),
            pod=pod,
            limit=settings.max_nodes,
        )

    def update_peers(self, daemons: list[Obj]) -> None:
        """Write the addresses of all daemons, then start nvidia-imex or make it read them (rules NV-394 to NV-397)."""
        settings = self._settings
        names = peer_names.addresses(daemons, clique_id=settings.clique_id, limit=settings.max_nodes)
        if names == self._names:
            return
        try:
            self.write_hosts(names)
            self._names = names
            self._imex.start_or_update()
        except OSError as error:
            # With stale names nvidia-imex would connect to other pods (rules NV-400, NV-445).
            self.fail(f"cannot give nvidia-imex its peers: {error}")

    def write_hosts(self, names: Mapping[str, str]) -> None:
        """Write the names into the hosts file."""
        # In place: a container's hosts file is a mount, which cannot be renamed.
        path = self._settings.hosts_file
        path.write_text(peer_names.hosts_text(path.read_text(), names))

    def leave(self) -> None:
        """Remove the own entry from the clique; conflicts are tried again for a while."""
        settings = self._settings
        deadline = self._clock.monotonic() + _LEAVE_SECONDS
        while True:
            try:
                self._writer.leave_as(
                    settings.domain_uid, settings.clique_id, node=settings.node_name, ip=settings.pod_ip
                )
            except Conflict:
                pass
            except NotFound:
                return
            except (ApiError, TransportError) as error:
                log.warning("the node's entry in its clique stays: %s", error)
            else:
                return
            if self._clock.monotonic() >= deadline:
                return
            self._clock.wait(threading.Event(), _LEAVE_RETRY_SECONDS)
