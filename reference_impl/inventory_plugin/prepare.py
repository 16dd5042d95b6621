"""Prepare and Unprepare of devices that need no setting up: a checkpoint entry and a CDI spec for each claim, and
metadata for containers if that is enabled.

Files are written before the entry and removed before it, so a plugin that is killed in between leaves at most files
without an entry, which `repair` removes, or an entry without files, which Unprepare removes. Entries and files outlive
this object.

Source: the plugin contract as in k8s.io/dynamic-resource-allocation v0.36.0; rules NV-049 to NV-064 and DRA-358.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dra_api.objects import Obj
from dra_api.rpc import PreparedDevice
from reference_impl.inventory_plugin.inventory import Inventory
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry, ClaimState, HeldDevice
from reference_impl.kubelet_plugin.claims import AllocatedClaim, Result, own_results
from reference_impl.kubelet_plugin.metadata import DescribedDevice
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
        self._metadata = storage.metadata
        self._lock = storage.lock

    def prepare(self, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        """Make the claim's devices usable. Raises with the reason if it cannot; a retry is safe."""
        with self._lock.hold():
            results = own_results(claim.status, self.driver)
            self.check(claim.uid, results)
            # Written again by each call, because the file may be gone.
            self.write_spec(claim.uid, results)
            devices = self.with_metadata(claim, results, [self.held(claim.uid, result) for result in results])
            entry = ClaimEntry(state=ClaimState.COMPLETED, status=claim.status, devices=devices)
            self._checkpoint.put(claim.uid, entry)
            return entry.answer

    def unprepare(self, uid: str) -> None:
        """Undo Prepare, from local knowledge alone; an unknown claim is done already."""
        with self._lock.hold():
            if self._checkpoint.get(uid) is not None:
                # The entry goes last: after a crash in between, the next Unprepare still finds the claim.
                self._cdi.remove(uid)
                self._metadata.remove(uid)
                self._checkpoint.drop(uid)

    def check(self, uid: str, results: Sequence[Result]) -> None:
        """Refuse devices that are not there or in use. Configuration is ignored: this driver has none."""
        taken = {
            result.device: other
            for other, entry in self._checkpoint.claims().items()
            if other != uid
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

    def with_metadata(
        self, claim: AllocatedClaim, results: Sequence[Result], devices: Sequence[HeldDevice]
    ) -> tuple[HeldDevice, ...]:
        """Describe the devices to containers if that is enabled; return them with the CDI ids for it (rule DRA-587)."""
        attributes = {device["name"]: device.get("attributes") or {} for device in self._inventory.devices}
        described = [DescribedDevice(result=result, attributes=attributes[result.device]) for result in results]
        answer = self._metadata.attach(claim, described, [device.answer for device in devices])
        return tuple(replace(device, answer=one) for device, one in zip(devices, answer, strict=True))

    def repair(self) -> None:
        """Check the checkpoint at start and remove the files of claims that are not in it."""
        with self._lock.hold():
            self._checkpoint.open()
            claims = self._checkpoint.claims()
            self._cdi.clean(claims)
            self._metadata.clean(claims)
