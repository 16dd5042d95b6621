"""Prepare and Unprepare of one claim, in an order that makes a SIGKILL at any instruction repairable.

Prepare writes `PrepareStarted`, changes the hardware, writes the CDI spec, then `PrepareCompleted`; Unprepare undoes
the hardware and removes the spec, then the entry. So a completed entry always had its spec, a Prepare that fails leaves
nothing but its entry, and the remains of a killed plugin are either completed by the kubelet's next call or removed
by `repair` and `clean_stale`. `ClaimPreparer` owns the entries and specs; both outlive it.

Source: cmd/gpu-kubelet-plugin device_state.go and cleanup.go at 95932046; rules NV-049 to NV-070, NV-096 to NV-110.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_api.rpc import PreparedDevice
from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry, ClaimState, HeldDevice, completed
from reference_impl.kubelet_plugin.claims import AllocatedClaim, Result, own_results
from reference_impl.kubelet_plugin.configs import Config, ConfigError, DeviceKind, EnabledSharing
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice, Setting
from reference_impl.kubelet_plugin.devices import AnyDevice, Gpu, MigSlot, Vfio, overlap, to_slice_device
from reference_impl.kubelet_plugin.discovery import Found
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.limiter import Limiter, consumed_of
from reference_impl.kubelet_plugin.metadata import DescribedDevice
from reference_impl.kubelet_plugin.mig import MigInstances
from reference_impl.kubelet_plugin.mps import Mps
from reference_impl.kubelet_plugin.node_service import ClaimStorage
from reference_impl.kubelet_plugin.passthrough import Passthrough, twins
from reference_impl.kubelet_plugin.shares import ShareMode

log = logging.getLogger(__name__)

HANDS_OFF = "NVIDIA_VISIBLE_DEVICES=void"
"""Keeps the legacy runtime hook from adding devices of its own."""

_RECOGNIZED = (configs.GpuConfig, configs.MigDeviceConfig, configs.VfioDeviceConfig)
KINDS = {
    "gpu": DeviceKind("gpu", configs.GpuConfig, configs.GpuConfig(), _RECOGNIZED),
    "mig": DeviceKind("mig", configs.MigDeviceConfig, configs.MigDeviceConfig(), _RECOGNIZED),
    "vfio": DeviceKind("vfio", configs.VfioDeviceConfig, configs.VfioDeviceConfig(), _RECOGNIZED),
}


class PrepareError(Exception):
    """This claim cannot be prepared now; the kubelet will retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDevices:
    """The devices of a node and the driver's files.

    Arguments:
        found: returns the node's devices; called whenever they are needed, because they change.
        raw_driver_version: returns the driver version in NVML's spelling, for the names of library files.
        root: the driver root.
        on_change: called after the set of available devices has changed.
    """

    found: Callable[[], Found]
    raw_driver_version: Callable[[], str]
    root: DriverRoot
    on_change: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFeatures:
    """The features of the driver that claims can use.

    Arguments:
        sharing: the strategies that configs may request.
        settings: the changes that configs make on the node.
        shares: whether several claims may share one device.
        mig: creates MIG devices on demand; None if an administrator creates them.
        mps: the MPS control daemons, one of the settings.
        limiter: the limits of shares of memory and cores, one of the settings; None in other modes.
        passthrough: binds GPUs to vfio-pci, one of the settings; None if GPUs are not passed through.
    """

    sharing: EnabledSharing
    settings: Sequence[Setting]
    shares: ShareMode
    mig: MigInstances | None
    mps: Mps | None
    limiter: Limiter | None = None
    passthrough: Passthrough | None


class ClaimPreparer:
    """Prepares claims on one node, one at a time. `driver` is the name of the driver whose results count."""

    def __init__(self, *, driver: str, storage: ClaimStorage, devices: NodeDevices, features: DeviceFeatures) -> None:
        self.driver = driver
        self._found = devices.found
        self._raw_driver_version = devices.raw_driver_version
        self._root = devices.root
        self._on_change = devices.on_change
        self._claims = storage.claims
        self._checkpoint = storage.checkpoint
        self._cdi = storage.cdi
        self._metadata = storage.metadata
        self._lock = storage.lock
        self._sharing = features.sharing
        self._settings = features.settings
        self._shares = features.shares
        self._mig = features.mig
        self._mps = features.mps
        self._limiter = features.limiter
        self._passthrough = features.passthrough

    # -- the two verbs ---------------------------------------------------------------------------------------------

    def prepare(self, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        """Make the claim's devices usable. Raises with the reason if it cannot; a retry is safe."""
        with self._lock.hold():
            held = self._checkpoint.claims()
            entry = held.get(claim.uid)
            if entry is not None and self.is_done(entry):
                return self.repeat(claim, entry)
            results = own_results(claim.status, self.driver)
            self.check_admin_access(claim, results)
            self.check_overlap(claim.uid, results, held)
            self.check_shares(claim, results, held)
            self.check_capacity(results, held)
            # An earlier attempt ended in the middle: its changes are undone before new ones are made.
            if entry is not None:
                self.roll_back(claim.uid, entry)
            started = ClaimEntry(
                state=ClaimState.STARTED, status=claim.status, name=claim.name, namespace=claim.namespace
            )
            self.remember_started(claim.uid, started)
            configured = self.configure(claim, results)
            # Stored before anything is changed, so that a later process knows what to undo.
            if config_state := self.plan(claim.uid, configured):
                started = replace(started, config_state=config_state)
                self.remember_started(claim.uid, started)
            try:
                for setting in self._settings if config_state else ():
                    setting.apply(config_state)
                configured = [self.realize(claim.uid, item, held) for item in configured]
                self.write_spec(claim, configured, config_state)
                devices = tuple(self.held(claim, item) for item in configured)
                devices = self.with_metadata(claim, configured, devices)
                self.remember_completed(claim.uid, completed(started, devices))
            except Exception:
                # The entry itself stays: it shows the clean-up which claim may still have effects.
                self.withdraw(claim.uid, started)
                raise
            self.changed()
            return tuple(device.answer for device in devices)

    def unprepare(self, uid: str) -> None:
        """Undo Prepare, from local knowledge alone; an unknown claim is done already (rules NV-107 to NV-110)."""
        with self._lock.hold():
            entry = self._checkpoint.get(uid)
            if entry is None:
                return
            self.roll_back(uid, entry)
            # Deleted last: after a crash in between, the kubelet's next Unprepare still finds the claim.
            self._checkpoint.drop(uid)
            self.changed()

    def changed(self) -> None:
        """Report that the set of available devices may have changed: a GPU may have another name now (rule NV-178)."""
        if self._passthrough is not None:
            self._on_change()

    def hidden_twins(self) -> set[str]:
        """Return the names of devices that are a prepared GPU under another name: not to be published (rule NV-178)."""
        return twins(self._found(), self.kept(self._checkpoint.claims())) if self._passthrough is not None else set()

    # -- steps of Prepare ------------------------------------------------------------------------------------------

    def is_done(self, entry: ClaimEntry) -> bool:
        """Return whether the claim is prepared already (rules NV-051, NV-052)."""
        return entry.state is ClaimState.COMPLETED

    def repeat(self, claim: AllocatedClaim, entry: ClaimEntry) -> tuple[PreparedDevice, ...]:
        """Return the same response as before. A missing spec is written again, because containers need it."""
        if not self._cdi.path(claim.uid).exists():
            log.warning("the CDI spec of prepared claim %s is gone; writing it again", claim)
            configured = self.configure(claim, own_results(entry.status, self.driver))
            realized = [self.realize(claim.uid, item, {claim.uid: entry}) for item in configured]
            self.write_spec(claim, realized, dict(entry.config_state))
        if self._metadata.is_lost(claim.uid, entry.answer):
            log.warning("metadata of prepared claim %s is gone; writing it again", claim)
            self._metadata.write(
                claim, self.described((result, self.find(result)) for result in own_results(entry.status, self.driver))
            )
        return entry.answer

    def check_admin_access(self, claim: AllocatedClaim, results: Sequence[Result]) -> None:
        """Refuse admin access that would change hardware: to a part of a GPU or for pass-through, or with configuration
        (rules NV-306, NV-307, NV-309).
        """
        admin = [result for result in results if result.admin_access]
        for result in admin:
            device = self._found().device(result.device)
            if device is not None and not isinstance(device, Gpu):
                raise PrepareError(f"admin access to {device.name} of type {device.type}: only whole GPUs permit it")
        requests = {result.request for result in admin}
        for candidate in configs.candidates(claim.allocation, self.driver) if admin else ():
            if not candidate.requests or requests.intersection(candidate.requests):
                raise PrepareError(f"admin access ({', '.join(sorted(requests))}) permits no configuration of devices")

    def check_overlap(self, uid: str, results: Sequence[Result], held: dict[str, ClaimEntry]) -> None:
        """Refuse what another completed claim holds; admin access never conflicts (rules NV-060 to NV-064).

        A GPU and a MIG device cut from it have different names and are the same hardware (rule NV-060c).
        """
        wanted = [result for result in results if not result.admin_access]
        for other_uid, taken in self.completed(held):
            clash = None if taken.admin_access else next((r for r in wanted if self.clash(r, taken)), None)
            if clash is not None:
                part = "" if clash.device == taken.device else f" as {taken.device}"
                raise PrepareError(
                    f"requested device {clash.device} is already allocated to different claim {other_uid}{part}"
                )

    def check_shares(self, claim: AllocatedClaim, results: Sequence[Result], held: Mapping[str, ClaimEntry]) -> None:
        """Refuse a share of a device that another claim has configured otherwise (rule NV-065)."""
        if not self._shares.enabled:
            return
        wanted = {result.device: result for result in results if not result.admin_access}
        mine = configs.candidates(claim.allocation, self.driver)
        for other_uid, taken in self.completed(held):
            result = None if taken.admin_access else wanted.get(taken.device)
            if result is None:
                continue
            theirs = configs.candidates(held[other_uid].status.get("allocation") or {}, self.driver)
            if self.config_of(mine, result) != self.config_of(theirs, taken):
                raise PrepareError(
                    f"requested device {result.device} has conflicting configuration with already prepared claim "
                    f"{other_uid}"
                )

    def check_capacity(self, results: Sequence[Result], held: Mapping[str, ClaimEntry]) -> None:
        """Refuse a share beyond what the other completed claims leave of the device (rule HAMI-014).

        A scheduler does not allocate it, but a pod that was deleted by force may still run on the device.
        """
        if not self._shares.limited:
            return
        others = [taken for _, taken in self.completed(held)]
        wanted = {result.device for result in results}
        shares = [one for one in (*results, *others) if not one.admin_access and one.device in wanted]
        for name, amounts in consumed_of([(share.device, share.consumed) for share in shares]).items():
            device = self._found().device(name)
            if device is None:
                continue  # refused for that reason, in `find`
            capacity = self._shares.entry(to_slice_device(device)).get("capacity") or {}
            for what, amount in amounts.items():
                total = Quantity.parse(str((capacity.get(what) or {}).get("value", 0))).value
                if amount > total:
                    raise PrepareError(
                        f"requested share of device {name} exceeds its capacity: with the shares that are prepared "
                        f"{amount} of {total} {what} would be in use"
                    )

    def config_of(self, offered: Sequence[configs.Candidate], result: Result) -> Config:
        """Return the config that applies to a result."""
        device = self.find(result)
        return configs.select(offered, request=result.request, device=device.name, kind=KINDS[device.type])

    def clash(self, wanted: Result, taken: Result) -> bool:
        """Return whether two results mean the same hardware, in whole or in part."""
        one, other = self._found().device(wanted.device), self._found().device(taken.device)
        if wanted.device == taken.device:
            # With shares, several claims may have one device; a passed-through GPU is never shared.
            return not self._shares.enabled or isinstance(one, Vfio)
        return one is not None and other is not None and overlap(one, other)

    def remember_started(self, uid: str, entry: ClaimEntry) -> None:
        """Record the start: the next plugin process may have to undo the claim (rule NV-099)."""
        self._checkpoint.put(uid, entry)

    def remember_completed(self, uid: str, entry: ClaimEntry) -> None:
        """Record the response, which is final (rule NV-100)."""
        self._checkpoint.put(uid, entry)

    def configure(self, claim: AllocatedClaim, results: Sequence[Result]) -> list[ConfiguredDevice]:
        """Return the device and config of each result (rules NV-058, NV-059, NV-071 to NV-084)."""
        if not results:
            raise PrepareError("invalid spec, no devices")
        offered = configs.candidates(claim.allocation, self.driver)
        configured = []
        for result in results:
            device, config = self.find(result), self.config_of(offered, result)
            configs.validate(config, self._sharing)
            if self._shares.enabled and configs.requests_mps(config):
                raise ConfigError("MPS cannot be used while devices are shared (--consumable-shares)")
            configured.append(ConfiguredDevice(result, device, config))
        return configured

    def find(self, result: Result) -> AnyDevice:
        """Return the device of a result."""
        device = self._found().device(result.device)
        if device is None:
            raise PrepareError(f'allocatable not found for device "{result.device}"')
        return device

    def plan(self, uid: str, configured: Sequence[ConfiguredDevice]) -> Obj:
        """Return the changes that the configs make on the node: stored before they are made, so that a crash can be
        undone.
        """
        return {key: value for setting in self._settings for key, value in setting.plan(uid, configured).items()}

    def realize(self, uid: str, configured: ConfiguredDevice, held: Mapping[str, ClaimEntry]) -> ConfiguredDevice:
        """Return the device as hardware: a MIG device that is only a placement so far is created (rules NV-116,
        NV-117).

        A MIG device of this claim or of another completed one is used as it is: admin access, or a lost spec.
        """
        slot = configured.device
        if self._mig is None or not isinstance(slot, MigSlot):
            return configured
        live = self._mig.live(slot) if slot.name in self.kept(held) else None
        if live is None:
            self._mig.destroy(slot)  # left behind by a killed attempt
            live = self._mig.create(slot)
        return replace(configured, device=live)

    def completed(self, held: Mapping[str, ClaimEntry]) -> Iterator[tuple[str, Result]]:
        """Yield the results of the claims whose Prepare is complete, each with the claim's uid."""
        for uid, entry in held.items():
            if entry.state is ClaimState.COMPLETED:
                for result in own_results(entry.status, self.driver):
                    yield uid, result

    def kept(self, held: Mapping[str, ClaimEntry]) -> set[str]:
        """Return the names of devices that completed claims have."""
        return {result.device for _, result in self.completed(held)}

    def in_use(self, held: Mapping[str, ClaimEntry]) -> set[str]:
        """Return the uuids of the GPUs that completed claims have; admin access leaves a GPU free."""
        return {
            device.uuid
            for _, result in self.completed(held)
            if not result.admin_access and isinstance(device := self._found().device(result.device), Gpu)
        }

    def write_spec(self, claim: AllocatedClaim, configured: Sequence[ConfiguredDevice], config_state: Obj) -> None:
        """Write the claim's CDI spec (rules NV-094, NV-095)."""
        devices = {
            item.device.name: {
                "name": self._cdi.device_name(claim.uid, item.device.name),
                "containerEdits": self.device_edits(item, config_state),
            }
            for item in configured
        }
        edits = (
            {"env": [HANDS_OFF]} if all(isinstance(item.device, Vfio) for item in configured) else self.common_edits()
        )
        for setting in self._settings if config_state else ():
            add_edits(edits, setting.edits(config_state))
        self._cdi.write(claim.uid, list(devices.values()), edits)

    def device_edits(self, item: ConfiguredDevice, config_state: Obj) -> Obj:
        """Return the CDI edits of one device: its own device nodes only."""
        edits: Obj = {}
        if not isinstance(item.device, Vfio):
            edits["deviceNodes"] = self._root.device_nodes(item.device)
        for setting in self._settings if config_state else ():
            add_edits(edits, setting.device_edits(config_state, item.device))
        return edits

    def common_edits(self) -> Obj:
        """Return the CDI edits of every container with a GPU of the claim."""
        return {
            "env": [HANDS_OFF],
            "deviceNodes": self._root.control_nodes(),
            "mounts": self._root.mounts(self._raw_driver_version()),
        }

    def held(self, claim: AllocatedClaim, configured: ConfiguredDevice) -> HeldDevice:
        """Return the response to the kubelet for one device, as the checkpoint stores it."""
        return HeldDevice(
            answer=PreparedDevice(
                (configured.result.request_name,),
                configured.result.pool,
                configured.device.name,
                (self._cdi.device_id(claim.uid, configured.device.name),),
                configured.result.share_id,
            ),
            type=configured.device.type,
        )

    def with_metadata(
        self, claim: AllocatedClaim, configured: Sequence[ConfiguredDevice], devices: Sequence[HeldDevice]
    ) -> tuple[HeldDevice, ...]:
        """Describe the devices to containers if that is enabled; return them with the CDI ids for it (rule DRA-587)."""
        described = self.described((item.result, item.device) for item in configured)
        answer = self._metadata.attach(claim, described, [device.answer for device in devices])
        return tuple(replace(device, answer=one) for device, one in zip(devices, answer, strict=True))

    def described(self, devices: Iterable[tuple[Result, AnyDevice]]) -> list[DescribedDevice]:
        """Return the devices with what containers may read of them: all attributes of devices for pass-through, because
        a virtual machine needs the PCI address, and none of others (rule NV-007c).
        """
        return [
            DescribedDevice(
                result=result,
                attributes=to_slice_device(device)["attributes"] if isinstance(device, Vfio) else {},
            )
            for result, device in devices
        ]

    # -- undoing ---------------------------------------------------------------------------------------------------

    def roll_back(self, uid: str, entry: ClaimEntry) -> None:
        """Undo what was done for a claim, finished or not: first the hardware, then the spec."""
        others = {other: held for other, held in self._checkpoint.claims().items() if other != uid}
        in_use = self.in_use(others)
        for setting in self._settings:
            setting.undo(entry, in_use)
        self.remove_spec(uid)
        if self._mig is None:
            return
        kept = self.kept(others)
        for result in own_results(entry.status, self.driver):
            slot = self._found().device(result.device)
            if isinstance(slot, MigSlot) and slot.name not in kept:
                self._mig.destroy(slot)

    def withdraw(self, uid: str, entry: ClaimEntry) -> None:
        """Undo a failed Prepare. If that fails too, the entry stays and the next call undoes it."""
        try:
            self.roll_back(uid, entry)
        except Exception as error:
            log.warning("claim %s: what its failed preparation left cannot be undone yet: %s", uid, error)

    def remove_spec(self, uid: str) -> None:
        """Remove the claim's CDI specs and metadata (rules NV-096, DRA-591)."""
        self._cdi.remove(uid)
        self._metadata.remove(uid)

    def repair(self) -> None:
        """Check the checkpoint at start and remove specs of claims that are not in it.

        Raises CorruptCheckpointError if the checkpoint is invalid.
        """
        with self._lock.hold():
            self._checkpoint.open()
            claims = self._checkpoint.claims()
            for uid in self._cdi.clean(claims):
                log.warning("removed the CDI spec of claim %s, which is not in the checkpoint", uid)
            for uid in self._metadata.clean(claims):
                log.warning("removed the metadata of claim %s, which is not in the checkpoint", uid)
            for name in self._mig.sweep(self._found(), self.kept(claims)) if self._mig is not None else ():
                log.warning("removed MIG device %s, which no claim has", name)
            for name in self._mps.sweep(claims) if self._mps is not None else ():
                log.warning("removed what MPS control daemon %s left: no claim has it", name)
            for uid in self._limiter.sweep(claims) if self._limiter is not None else ():
                log.warning("removed the cache file of claim %s, which is not in the checkpoint", uid)
            for uid, entry in claims.items():
                if entry.state is ClaimState.STARTED and "passthrough" in entry.config_state:
                    self.withdraw(uid, entry)  # a GPU between two drivers is unusable, and the kubelet may never retry

    def clean_stale(self) -> list[str]:
        """Unprepare claims that were started and then vanished from the API; returns them (NV-104 to NV-106).

        A claim that cannot be unprepared is logged, and does not keep the others from it.
        """
        cleaned = []
        for uid, entry in self._checkpoint.claims().items():
            try:
                if self.is_stale(uid, entry):
                    self.unprepare(uid)
                    cleaned.append(uid)
            except Exception:
                log.exception("cleaning up stale claim %s failed", uid)
        return cleaned

    def is_stale(self, uid: str, entry: ClaimEntry) -> bool:
        """Return whether the claim was started and no longer exists. The kubelet unprepares completed claims itself."""
        if entry.state is not ClaimState.STARTED or not entry.name:
            return False
        return self._claims.exists(namespace=entry.namespace, name=entry.name, uid=uid) is False


def add_edits(edits: Obj, more: Obj) -> None:
    """Add lists of CDI edits to those of the same name."""
    for name, entries in more.items():
        edits[name] = [*edits.get(name, ()), *entries]
