"""The kubelet's claim records: the pods that use a claim, the drivers that prepared it, and the returned devices.

A record is created when a pod first needs a claim and removed after a successful Unprepare. Across restarts records are
in the checkpoint file, in the real kubelet's format: `{"Data": "<json>", "Checksum": crc32}` with the fields of a
DRACheckpoint that the kubelet uses (pkg/kubelet/cm/dra/claiminfo.go and state/, v1.36). `prepared` is not in the file:
after a restart every claim counts as not yet prepared (rule DRA-270).
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from dra_api import regular_file
from dra_api.rpc import ClaimRef, PreparedDevice
from dra_conformance.kubelet.errors import CheckpointCorrupt

FILE_NAME = "dra_manager_state"

ClaimKey = tuple[str, str]
"""Namespace and name."""


@dataclass(slots=True)
class ClaimRecord:
    """The kubelet's record of one claim. Change it only while holding the cache's lock.

    `skipped` are the operations of each driver that are not called for the claim (rule DRA-281).
    """

    ref: ClaimRef
    drivers: dict[str, tuple[PreparedDevice, ...]]
    pod_uids: set[str] = field(default_factory=set)
    prepared: bool = False
    skipped: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def key(self) -> ClaimKey:
        """Namespace and name."""
        return self.ref.namespace, self.ref.name

    def to_call(self, operation: str) -> list[str]:
        """Return the drivers for which an operation is not skipped."""
        return sorted(driver for driver in self.drivers if operation not in self.skipped.get(driver, ()))

    def devices(self, request: str = "") -> Iterator[tuple[str, PreparedDevice]]:
        """(driver, device) pairs of one request, or of all with an empty `request` (rules DRA-271, DRA-272).

        A subrequest reference counts for its request: drivers name requests without the subrequest.
        """
        base = request.split("/", 1)[0]
        for driver in sorted(self.drivers):
            for device in self.drivers[driver]:
                if not request or not device.request_names or base in device.request_names:
                    yield driver, device


class ClaimCache:
    """All claim records of one kubelet, and their checkpoint in `folder` (mode 0600).

    Raises CheckpointCorrupt when the file there does not read back.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        # Reentrant: callers hold it over several calls that take it too.
        self.lock = threading.RLock()
        self._records: dict[ClaimKey, ClaimRecord] = {}
        self._busy: set[ClaimKey] = set()
        self._freed = threading.Condition(self.lock)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.path.exists():
            for record in read_checkpoint(self.path):
                self._records[record.key] = record

    def get(self, key: ClaimKey) -> ClaimRecord | None:
        """The record of a claim."""
        with self.lock:
            return self._records.get(key)

    def add(self, record: ClaimRecord) -> None:
        """Remember a claim."""
        with self.lock:
            self._records[record.key] = record

    def remove(self, key: ClaimKey) -> None:
        """Forget a claim."""
        with self.lock:
            self._records.pop(key, None)

    def all(self) -> list[ClaimRecord]:
        """Every record, by namespace and name."""
        with self.lock:
            return [self._records[key] for key in sorted(self._records)]

    def pod_uids(self, driver: str = "") -> set[str]:
        """The uids of the pods that hold claims; with `driver`, claims with devices of that driver."""
        with self.lock:
            records = [record for record in self.all() if not driver or driver in record.drivers]
            return {uid for record in records for uid in record.pod_uids}

    def of_pod(self, pod_uid: str) -> list[ClaimRecord]:
        """The records that a pod uses."""
        with self.lock:
            return [record for record in self.all() if pod_uid in record.pod_uids]

    @contextmanager
    def busy(self, keys: Iterable[ClaimKey]) -> Iterator[None]:
        """Lock claims for a Prepare or Unprepare, so that two pods that share one never call a driver at once.

        The real kubelet allows that race; here it would make call counts nondeterministic (rule DRA-269).
        """
        wanted = set(keys)
        with self.lock:
            # All keys at once and never one by one, so that two pods which share claims cannot deadlock.
            self._freed.wait_for(lambda: not wanted & self._busy)
            self._busy |= wanted
        try:
            yield
        finally:
            with self.lock:
                self._busy -= wanted
                self._freed.notify_all()

    def checkpoint(self) -> None:
        """Write all records to the file, atomically."""
        with self.lock:
            data = orjson.dumps({"ClaimInfoStateList": [_to_state(record) for record in self.all()]})
            body = orjson.dumps({"Data": data.decode(), "Checksum": zlib.crc32(data)})
            temporary = self.path.with_suffix(".tmp")
            # os.open instead of open: the file has its mode from the beginning.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(descriptor)
            temporary.replace(self.path)


def read_checkpoint(path: Path) -> list[ClaimRecord]:
    """The records in a checkpoint file. Raises CheckpointCorrupt."""
    try:
        outer = orjson.loads(regular_file.read(path))
        data = str(outer["Data"]).encode()
        if zlib.crc32(data) != outer["Checksum"]:
            raise CheckpointCorrupt(f"{path}: the checksum does not fit the data; remove the file to start anew")
        return [_from_state(state) for state in orjson.loads(data)["ClaimInfoStateList"]]
    except (regular_file.UnusableFileError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        message = f"{path} is no checkpoint of a kubelet ({error}); remove the file to start anew"
        raise CheckpointCorrupt(message) from None


def _to_state(record: ClaimRecord) -> dict[str, Any]:
    return {
        "ClaimUID": record.ref.uid,
        "ClaimName": record.ref.name,
        "Namespace": record.ref.namespace,
        # The JSON form of a Go sets.Set[string].
        "PodUIDs": {uid: {} for uid in sorted(record.pod_uids)},
        "DriverState": {
            driver: {
                "Devices": [
                    {
                        "PoolName": device.pool_name,
                        "DeviceName": device.device_name,
                        "RequestNames": list(device.request_names),
                        "ShareID": device.share_id,
                        "CDIDeviceIDs": list(device.cdi_device_ids),
                    }
                    for device in devices
                ],
                "SkipNodeOperations": list(record.skipped.get(driver, ())),
            }
            for driver, devices in record.drivers.items()
        },
    }


def _from_state(state: dict[str, Any]) -> ClaimRecord:
    return ClaimRecord(
        ref=ClaimRef(state["Namespace"], state["ClaimUID"], state["ClaimName"]),
        pod_uids=set(state["PodUIDs"]),
        drivers={
            driver: tuple(
                PreparedDevice(
                    request_names=tuple(device["RequestNames"] or ()),
                    pool_name=device["PoolName"],
                    device_name=device["DeviceName"],
                    cdi_device_ids=tuple(device["CDIDeviceIDs"] or ()),
                    share_id=device.get("ShareID"),
                )
                for device in entry["Devices"] or ()
            )
            for driver, entry in state["DriverState"].items()
        },
        skipped={
            driver: tuple(entry.get("SkipNodeOperations") or ()) for driver, entry in state["DriverState"].items()
        },
    )
