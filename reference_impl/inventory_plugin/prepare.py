"""Prepare and Unprepare of devices that need no setting up: a checkpoint entry and a CDI spec for each claim.

The order of writes is that of the GPU plugin (`PrepareStarted`, spec, `PrepareCompleted`; back in reverse), so a plugin
that is killed in between is cleared up after by the next. The entries and specs outlive this object.

Source: the plugin contract as in k8s.io/dynamic-resource-allocation v0.36.0; rules NV-049 to NV-064 and DRA-358.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dra_api.objects import Obj
from dra_api.rpc import PreparedDevice
from reference_impl.inventory_plugin.inventory import Inventory
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry, ClaimState, HeldDevice, completed
from reference_impl.kubelet_plugin.claims import AllocatedClaim, Result, own_results
from reference_impl.kubelet_plugin.node_service import ClaimStorage


class NotPreparedError(Exception):
    """This claim cannot be prepared now; the kubelet will retry."""


class InventoryPreparer:
    """Prepares claims for the devices of one inventory, one at a time. `driver` is the driver whose results count."""

    def __init__(self, *, driver: str, inventory: Inventory, storage: ClaimStorage) -> None:
        self.driver = driver
        self._inventory = inventory
        self._checkpoint = storage.checkpoint
        self._cdi = storage.cdi
        self._lock = storage.lock

    def prepare(self, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        """Make the claim's devices usable. Raises with the reason if it cannot; a retry is safe."""
        with self._lock.hold():
            held = self._checkpoint.claims()
            entry = held.get(claim.uid)
            results = own_results(claim.status, self.driver)
            if entry is not None and entry.state is ClaimState.COMPLETED:
                if not self._cdi.path(claim.uid).exists():
                    # The recorded status counts: the response to the kubelet is final once it was sent.
                    self.write_spec(claim.uid, own_results(entry.status, self.driver))
                return entry.answer
            self.check(claim, results, held)
            started = ClaimEntry(
                state=ClaimState.STARTED, status=claim.status, name=claim.name, namespace=claim.namespace
            )
            # Before the spec: after a crash the checkpoint must name every claim that may have one.
            self._checkpoint.put(claim.uid, started)
            self.write_spec(claim.uid, results)
            devices = tuple(self.held(claim.uid, result) for result in results)
            self._checkpoint.put(claim.uid, completed(started, devices))
            return tuple(device.answer for device in devices)

    def unprepare(self, uid: str) -> None:
        """Undo Prepare, from local knowledge alone; an unknown claim is done already."""
        with self._lock.hold():
            if self._checkpoint.get(uid) is not None:
                # The entry goes last: after a crash in between, the next Unprepare still finds the claim.
                self._cdi.remove(uid)
                self._checkpoint.drop(uid)

    def check(self, claim: AllocatedClaim, results: Sequence[Result], held: Mapping[str, ClaimEntry]) -> None:
        """Refuse devices that are not there or in use, and configuration, of which this driver has none."""
        for config in (claim.allocation.get("devices") or {}).get("config") or ():
            if (config.get("opaque") or {}).get("driver") == self.driver:
                raise NotPreparedError(f"the driver {self.driver} takes no configuration: leave it out of the claim")
        if not results:
            raise NotPreparedError("invalid spec, no devices")
        taken = {
            result.device: uid
            for uid, entry in held.items()
            if uid != claim.uid and entry.state is ClaimState.COMPLETED
            for result in own_results(entry.status, self.driver)
            if not result.admin_access and not self.shared(result.device)
        }
        for result in results:
            if result.device not in self._inventory.edits:
                raise NotPreparedError(f'allocatable not found for device "{result.device}"')
            if not result.admin_access and result.device in taken:
                raise NotPreparedError(
                    f"requested device {result.device} is already allocated to different claim {taken[result.device]}"
                )

    def shared(self, device: str) -> bool:
        """Return whether several claims may have a device."""
        return any(one["name"] == device and one.get("allowMultipleAllocations") for one in self._inventory.devices)

    def write_spec(self, uid: str, results: Sequence[Result]) -> None:
        """Write the claim's CDI spec."""
        names = dict.fromkeys(result.device for result in results)
        devices: list[Obj] = [
            {"name": self._cdi.device_name(uid, name), "containerEdits": self.edits(name)} for name in names
        ]
        self._cdi.write(uid, devices, {})

    def edits(self, device: str) -> Obj:
        """Return the container edits of a device. CDI requires at least one edit."""
        return dict(self._inventory.edits[device]) or {"env": [f"DRA_DEVICE={device}"]}

    def held(self, uid: str, result: Result) -> HeldDevice:
        """Return the response to the kubelet for one device, as the checkpoint stores it."""
        ids = (self._cdi.device_id(uid, result.device),)
        answer = PreparedDevice((result.request_name,), result.pool, result.device, ids, result.share_id)
        return HeldDevice(answer=answer, type="plain")

    def repair(self) -> None:
        """Check the checkpoint at start and remove specs of claims that are not in it."""
        with self._lock.hold():
            self._checkpoint.open()
            self._cdi.clean(self._checkpoint.claims())
