"""Prepare and Unprepare of IMEX channels and of daemons, one attempt at a time.

The order of writes is that of the GPU plugin: `PrepareStarted`, node label, CDI spec, `PrepareCompleted`. Waiting is
the service's task (`plugin`); this module only decides whether to wait. An unprepared attempt stays recorded as aborted
for a while, so that a late call of the kubelet for the same allocation cannot prepare the channel again (upstream issue
#1162).

Source: cmd/compute-domain-kubelet-plugin device_state.go, cdi.go and cleanup.go at 95932046; rules NV-156 to NV-172.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from dra_api.clock import Clock, parse_timestamp, timestamp
from dra_api.objects import Obj, name_of, namespace_of, uid_of
from dra_api.rpc import PreparedDevice
from reference_impl.compute_domain.fabric import Channels
from reference_impl.compute_domain.host_imex import HostImex
from reference_impl.compute_domain.imex_config import IMEX_CONFIG
from reference_impl.compute_domain.membership import Membership, NotYetError, PermanentError
from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.atomicfile import write_atomically
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry, ClaimState, HeldDevice, completed
from reference_impl.kubelet_plugin.claims import AllocatedClaim, Result, own_results
from reference_impl.kubelet_plugin.configs import (
    ComputeDomainChannelConfig,
    ComputeDomainDaemonConfig,
    Config,
    DeviceKind,
)
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.node_service import ClaimStorage

log = logging.getLogger(__name__)

CHANNEL = "channel-0"
DAEMON = "daemon-0"
ABORTED_FOR = timedelta(seconds=90)
_RECOGNIZED = (ComputeDomainChannelConfig, ComputeDomainDaemonConfig)
_KINDS = {
    CHANNEL: DeviceKind("channel", ComputeDomainChannelConfig, ComputeDomainChannelConfig(), _RECOGNIZED),
    DAEMON: DeviceKind("daemon", ComputeDomainDaemonConfig, ComputeDomainDaemonConfig(), _RECOGNIZED),
}


@dataclass(frozen=True, slots=True)
class _Edits:
    """The CDI edits of one device; None if it adds nothing and needs no CDI device."""

    container: Obj | None
    cdi_ids: tuple[str, ...]


def published_devices(*, host_managed: bool) -> list[Obj]:
    """Return the devices of every node: one channel and, unless IMEX is host managed, one daemon (NV-046, NV-047)."""
    channel = {"name": CHANNEL, "attributes": {"type": {"string": "channel"}, "id": {"int": 0}}}
    daemon = {"name": DAEMON, "attributes": {"type": {"string": "daemon"}, "id": {"int": 0}}}
    return [channel] if host_managed else [channel, daemon]


class ChannelPreparer:
    """Prepares channel and daemon claims on one node.

    Arguments:
        driver: the driver whose results count.
        data_dir: parent of the daemons' configuration folders.
        clique_id: returns the node's clique, empty if it has no fabric.
        host_imex: the IMEX daemon that the node's administrator runs; None if daemons belong to ComputeDomains.
        cdi, base_cdi: the folders for claims' specs and for the base spec that daemons need.
    """

    def __init__(
        self,
        *,
        driver: str,
        data_dir: Path,
        clock: Clock,
        storage: ClaimStorage,
        base_cdi: CdiFolder,
        root: DriverRoot,
        channels: Channels,
        membership: Membership,
        host_imex: HostImex | None,
        clique_id: Callable[[], str],
    ) -> None:
        self.driver = driver
        self._data_dir = data_dir
        self._clock = clock
        self._claims = storage.claims
        self._checkpoint = storage.checkpoint
        self._cdi = storage.cdi
        self._base_cdi = base_cdi
        self._root = root
        self._channels = channels
        self._membership = membership
        self._host_imex = host_imex
        self._lock = storage.lock
        self._clique_id = clique_id

    # -- the two verbs ---------------------------------------------------------------------------------------------

    def prepare(self, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        """Make one attempt. Raises PermanentError if no later attempt can succeed, another error if one may."""
        with self._lock.hold():
            held = self._checkpoint.claims()
            entry = held.get(claim.uid)
            if entry is not None and entry.state is ClaimState.COMPLETED:
                return entry.answer
            self.check_not_aborted(claim, entry)
            results = own_results(claim.status, self.driver)
            started = ClaimEntry(
                state=ClaimState.STARTED, status=claim.status, name=claim.name, namespace=claim.namespace
            )
            # A waiting claim is tried many times; only its first attempt writes the checkpoint.
            if entry != started:
                self._checkpoint.put(claim.uid, started)
            chosen = self.choose(claim, results)
            self.check_overlap(claim.uid, results, held)
            edits = {result.device: self.edits(claim, result, config) for result, config in chosen}
            self.write_spec(claim, edits)
            devices = tuple(
                HeldDevice(
                    answer=PreparedDevice(
                        (result.request_name,), result.pool, result.device, edits[result.device].cdi_ids
                    ),
                    type=_KINDS[result.device].name,
                )
                for result, _ in chosen
            )
            self._checkpoint.put(claim.uid, completed(started, devices))
            return tuple(device.answer for device in devices)

    def unprepare(self, uid: str) -> None:
        """Undo Prepare, also one that never came to its end; an unknown claim is done already."""
        with self._lock.hold():
            entry = self._checkpoint.get(uid)
            if entry is None or entry.state is ClaimState.ABORTED:
                return
            self.leave_domains(uid, entry)
            self._cdi.remove(uid)
            if entry.state is ClaimState.STARTED:
                self.remember_aborted(uid, entry)
            else:
                self._checkpoint.drop(uid)

    # -- steps -----------------------------------------------------------------------------------------------------

    def check_not_aborted(self, claim: AllocatedClaim, entry: ClaimEntry | None) -> None:
        """Refuse an allocation whose attempt was aborted, while that is recorded (rules NV-167 to NV-169)."""
        if entry is None or entry.state is not ClaimState.ABORTED or self.is_expired(entry):
            return
        if entry.status.get("allocation") == claim.status.get("allocation"):
            raise PermanentError(
                f"stale prepare for claim {claim}: claim prepare was already aborted at {entry.aborted_at}"
            )

    def is_expired(self, entry: ClaimEntry) -> bool:
        """Return whether an aborted attempt is old enough to be forgotten."""
        return self._clock.now() - parse_timestamp(entry.aborted_at) >= ABORTED_FOR

    def remember_aborted(self, uid: str, entry: ClaimEntry) -> None:
        """Record the attempt as aborted (rule NV-167)."""
        aborted_at = timestamp(self._clock.now())
        self._checkpoint.put(uid, replace(entry, state=ClaimState.ABORTED, aborted_at=aborted_at))

    def choose(self, claim: AllocatedClaim, results: Sequence[Result]) -> list[tuple[Result, Config]]:
        """Return the config of each result. Undecodable configs are permanent failures (rules NV-160, NV-172)."""
        if not results:
            raise PermanentError("invalid spec, no devices")
        try:
            offered = configs.candidates(claim.allocation, self.driver)
        except configs.DecodeError as error:
            raise PermanentError(str(error)) from error
        chosen = []
        for result in results:
            kind = _KINDS.get(result.device)
            if kind is None:
                raise NotYetError(f"requested device is not allocatable: {result.device}")
            config = configs.select(offered, request=result.request, device=result.device, kind=kind)
            configs.validate_domain(config)
            chosen.append((result, config))
        return chosen

    def check_overlap(self, uid: str, results: Sequence[Result], held: dict[str, ClaimEntry]) -> None:
        """Wait for a channel or daemon that another completed claim has (rule NV-164)."""
        wanted = {result.device for result in results}
        for other_uid, entry in held.items():
            if other_uid == uid or entry.state is not ClaimState.COMPLETED:
                continue
            for result in own_results(entry.status, self.driver):
                if result.device in wanted:
                    raise NotYetError(
                        f"requested device {result.device} is already allocated to different claim {other_uid}"
                    )

    def edits(self, claim: AllocatedClaim, result: Result, config: Config) -> _Edits:
        """Return the CDI edits of one result."""
        if isinstance(config, ComputeDomainDaemonConfig):
            return self.daemon_edits(claim, config)
        if isinstance(config, ComputeDomainChannelConfig):
            return self.channel_edits(claim, config)
        raise PermanentError(f"{type(config).__name__} configures no device of {self.driver}")

    def channel_edits(self, claim: AllocatedClaim, config: ComputeDomainChannelConfig) -> _Edits:
        """Join the domain, wait until the node is ready in it, and give the channel (rules NV-158 to NV-163)."""
        domain = self._membership.check_domain(config.domain_id, claim_namespace=claim.namespace)
        if self._host_imex is not None:
            return self.host_managed_edits(claim, self._host_imex)
        # The label starts the daemon. Until that is ready, this attempt fails and a later one checks again.
        self._membership.join(config.domain_id)
        self._membership.check_ready(domain)
        if not self._clique_id():
            return _Edits(None, ())  # no fabric: the workload runs without IMEX (rule NV-170)
        nodes = self._channels.nodes(config.allocation_mode)
        return _Edits({"deviceNodes": nodes}, (self._cdi.device_id(claim.uid, CHANNEL),))

    def host_managed_edits(self, claim: AllocatedClaim, host_imex: HostImex) -> _Edits:
        """Give channel 0 once the host's own daemon is ready; no node joins anything (rules NV-171b, NV-171c)."""
        if not self._clique_id():
            return _Edits(None, ())
        host_imex.check_ready()
        return _Edits({"deviceNodes": self._channels.nodes("Single")}, (self._cdi.device_id(claim.uid, CHANNEL),))

    def daemon_edits(self, claim: AllocatedClaim, config: ComputeDomainDaemonConfig) -> _Edits:
        """Return configuration folder and environment of a domain's daemon (rules NV-156, NV-157, NV-171)."""
        if self._host_imex is not None:
            raise PermanentError("ComputeDomain daemon claims are not supported when imex.mode=hostManaged")
        domain = self._membership.domain(config.domain_id)
        if domain is None:
            raise NotYetError(f"ComputeDomain not found: {config.domain_id}")
        folder = self._data_dir / "domains" / uid_of(domain)
        folder.mkdir(parents=True, exist_ok=True)
        # Each time, so that a changed file is restored.
        write_atomically(folder / "imexd.cfg.tmpl", IMEX_CONFIG.encode(), mode=0o644)
        edits: Obj = {
            "env": [
                f"CLIQUE_ID={self._clique_id()}",
                f"COMPUTE_DOMAIN_UUID={uid_of(domain)}",
                f"COMPUTE_DOMAIN_NAME={name_of(domain)}",
                f"COMPUTE_DOMAIN_NAMESPACE={namespace_of(domain)}",
            ],
            "mounts": [
                {"hostPath": str(folder), "containerPath": "/imexd", "options": ["rw", "nosuid", "nodev", "bind"]}
            ],
        }
        management = self._root.procfs / "driver/nvidia/capabilities/fabric-imex-mgmt"
        if self._clique_id() and management.is_file():
            edits["deviceNodes"] = [self._root.capability_node(management)]
        base = f"{self._base_cdi.kind}=all"
        return _Edits(edits, (base, self._cdi.device_id(claim.uid, DAEMON)))

    def write_spec(self, claim: AllocatedClaim, edits: Mapping[str, _Edits]) -> None:
        """Write the claim's CDI spec, if it has any edits."""
        devices = [
            {"name": self._cdi.device_name(claim.uid, device), "containerEdits": edit.container}
            for device, edit in edits.items()
            if edit.container is not None
        ]
        if devices:
            self._cdi.write(claim.uid, devices, {})

    def leave_domains(self, uid: str, entry: ClaimEntry) -> None:
        """Take the node out of the domains that the claim's channels joined, unless another claim still needs them."""
        if self._host_imex is not None:
            return  # it joined none
        others = {
            domain
            for other_uid, other in self._checkpoint.claims().items()
            if other_uid != uid and other.state is not ClaimState.ABORTED
            for domain in self.domains_of(other)
        }
        for domain in self.domains_of(entry) - others:
            self._membership.leave(domain)

    def domains_of(self, entry: ClaimEntry) -> set[str]:
        """Return the domains that a claim's channel results name. Unknown fields are ignored: Unprepare must work."""
        results = own_results(entry.status, self.driver)
        if not any(result.device == CHANNEL for result in results):
            return set()
        found = set()
        for item in ((entry.status.get("allocation") or {}).get("devices") or {}).get("config") or ():
            opaque = item.get("opaque") or {}
            if opaque.get("driver") != self.driver:
                continue
            try:
                config = configs.decode(opaque.get("parameters"), strict=False)
            except configs.DecodeError:
                continue  # it never joined anything
            if isinstance(config, ComputeDomainChannelConfig) and config.domain_id:
                found.add(config.domain_id)
        return found

    # -- at start and from time to time ----------------------------------------------------------------------------

    def repair(self) -> None:
        """Check the checkpoint and write the base spec (rule NV-156)."""
        with self._lock.hold():
            self._checkpoint.open()
            nodes = [self._root.node(path.name) for path in sorted(self._root.dev.glob("nvidia[0-9]*"))]
            edits = {"env": ["NVIDIA_VISIBLE_DEVICES=void"], "deviceNodes": [*nodes, *self._root.control_nodes()]}
            self._base_cdi.write("base", [{"name": "all", "containerEdits": edits}], {})

    def clean_stale(self) -> None:
        """Forget expired aborted attempts; abort claims that vanished before they were complete (NV-169, NV-381).

        A claim that cannot be unprepared is logged, and does not keep the others from it (rule NV-381c).
        """
        for uid, entry in self._checkpoint.claims().items():
            try:
                self.clean(uid, entry)
            except Exception:
                log.exception("cleaning up stale claim %s failed", uid)

    def clean(self, uid: str, entry: ClaimEntry) -> None:
        """Forget or abort one claim, if it is time to."""
        if entry.state is ClaimState.ABORTED and self.is_expired(entry):
            with self._lock.hold():
                # Read again: a Prepare may have replaced the expired entry meanwhile.
                if self._checkpoint.get(uid) == entry:
                    self._checkpoint.drop(uid)
        elif entry.state is ClaimState.STARTED and self.is_gone(uid, entry):
            self.unprepare(uid)

    def is_gone(self, uid: str, entry: ClaimEntry) -> bool:
        """Return whether the API has no such claim any more."""
        return self._claims.exists(namespace=entry.namespace, name=entry.name, uid=uid) is False
