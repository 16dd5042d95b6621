"""The checkpoint of a plugin: the claims that it prepared, and its responses.

One JSON file, replaced atomically on every change, so a SIGKILL leaves the state before or after it. The file outlives
every plugin process, until the node reboots (rules NV-102, NV-103).

Changes are not synced to the disk. A power failure may lose or damage them, but it also ends the boot, and claims of an
earlier boot are dropped. A second file names the boot that the checkpoint belongs to: it is synced before the first
claim is stored, so a checkpoint that a power failure damaged is recognized and removed. A sync takes longer than the
rest of a Prepare, and each Prepare writes twice.

The layout is that of the NVIDIA driver: a `v2` section with all claims and a `v1` section with the completed ones, each
with a checksum. The checksum is the CRC-32 of the section's canonical JSON. Upstream hashes a Go memory dump instead,
so neither accepts the checksums of the other.

Source: cmd/gpu-kubelet-plugin checkpoint.go and checkpointv.go at 95932046; rules NV-099 to NV-106, NV-167.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import orjson

from dra_api import regular_file
from dra_api.objects import Obj
from dra_api.rpc import PreparedDevice
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.atomicfile import sync_folder, write_atomically

_MODE = 0o600


class CorruptCheckpointError(ComponentError):
    """The checkpoint cannot be trusted. The plugin must not guess what containers hold (rule NV-101)."""


class ClaimState(StrEnum):
    """The progress of a claim."""

    STARTED = "PrepareStarted"
    COMPLETED = "PrepareCompleted"
    ABORTED = "PrepareAborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDevice:
    """A prepared device: the response of Prepare, and the device's type attribute."""

    answer: PreparedDevice
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEntry:
    """One claim of the checkpoint.

    `status` is the claim's status when it was prepared; name and namespace are known until it is completed;
    `config_state` is what must be undone beside the devices; `aborted_at` is RFC 3339.
    """

    state: ClaimState
    status: Obj
    name: str = ""
    namespace: str = ""
    devices: tuple[HeldDevice, ...] = ()
    config_state: Mapping[str, object] = field(default_factory=dict)
    aborted_at: str = ""

    @property
    def answer(self) -> tuple[PreparedDevice, ...]:
        """Return the response of Prepare for a completed claim."""
        return tuple(device.answer for device in self.devices)


class Checkpoint:
    """The claims of one plugin, in its file.

    Every access reads the file: another process of the same plugin may have changed it, and the plugin's lock (not this
    class) keeps the two apart. Bytes that were just written or read are not decoded again. `boot_id` is the kernel's.
    The boot that the file belongs to is also in a file of the same name with the suffix `.boot`.
    """

    def __init__(self, path: Path, *, boot_id: str) -> None:
        self.path = path
        self.boot_id = boot_id
        self._decoded: tuple[bytes | None, dict[str, ClaimEntry], str] = (None, {}, "")

    def open(self) -> None:
        """Create the file, or check it; drop the claims of an earlier boot.

        Raises CorruptCheckpointError if the content is not that of a valid checkpoint.
        """
        last_boot = self.last_boot()
        if last_boot and last_boot != self.boot_id:
            # Not read: a power failure may have damaged it.
            self.path.unlink(missing_ok=True)
        claims, boot_id = self._read()
        if boot_id and boot_id != self.boot_id:
            claims = {}  # the containers of those claims ended with the old kernel
        if last_boot != self.boot_id:
            write_atomically(self.boot_path, self.boot_id.encode(), mode=_MODE)
            sync_folder(self.path.parent)
        self.write(claims)

    @property
    def boot_path(self) -> Path:
        """Return the file with the id of the boot that the checkpoint belongs to."""
        return self.path.with_name(f"{self.path.name}.boot")

    def last_boot(self) -> str:
        """Return the id of the boot in which the checkpoint was opened last, or an empty string if that is unknown.

        Raises CorruptCheckpointError if the file is not a text.
        """
        try:
            return regular_file.read_text(self.boot_path)
        except FileNotFoundError:
            return ""
        except (UnicodeDecodeError, regular_file.UnusableFileError) as error:
            raise CorruptCheckpointError(
                f"cannot read the boot of the checkpoint: {self.boot_path}: {error}. Remove it, and the checkpoint as "
                "well if the node was rebooted since the driver ran last"
            ) from error

    def claims(self) -> dict[str, ClaimEntry]:
        """Return all claims by uid."""
        return self._read()[0]

    def get(self, uid: str) -> ClaimEntry | None:
        """Return one claim."""
        return self.claims().get(uid)

    def put(self, uid: str, entry: ClaimEntry) -> None:
        """Store a claim; it survives the death of this process, not that of the kernel."""
        self.write({**self.claims(), uid: entry})

    def drop(self, uid: str) -> None:
        """Remove a claim that is stored."""
        claims = self.claims()
        del claims[uid]
        self.write(claims)

    def write(self, claims: Mapping[str, ClaimEntry]) -> None:
        """Replace the whole file."""
        data = encode(claims, boot_id=self.boot_id)
        write_atomically(self.path, data, mode=_MODE, sync=False)
        self._decoded = (data, dict(claims), self.boot_id)

    def _read(self) -> tuple[dict[str, ClaimEntry], str]:
        try:
            data = regular_file.read(self.path)
            known, claims, boot_id = self._decoded
            if data != known:
                claims, boot_id = decode(data)
                self._decoded = (data, claims, boot_id)
            return dict(claims), boot_id
        except FileNotFoundError:
            return {}, ""
        except (_WrongError, regular_file.UnusableFileError) as error:
            raise CorruptCheckpointError(
                f"unable to get checkpoint: checkpoint is corrupted: {self.path}: {error}. Drain the node's pods "
                "with GPUs and remove the file; claims that are still prepared are then prepared anew"
            ) from error


class _WrongError(Exception):
    """The content is not a valid checkpoint."""


def encode(claims: Mapping[str, ClaimEntry], *, boot_id: str) -> bytes:
    """Return the file's bytes."""
    # The layout of v1 has no states, so only completed claims can be in it.
    done = {
        uid: {"status": entry.status, "preparedDevices": _groups(entry)}
        for uid, entry in claims.items()
        if entry.state is ClaimState.COMPLETED
    }
    v1: Obj = {"preparedClaims": done}
    every = {uid: _encode_entry(entry) for uid, entry in claims.items()}
    # The checksum is that of the section with 0 in its place, see `decode`.
    v2: Obj = {"checksum": 0, "preparedClaims": every, "nodeBootID": boot_id}
    v2["checksum"] = checksum(v2)
    return _canonical({"checksum": checksum(v1), "v1": v1, "v2": v2}) + b"\n"


def decode(data: bytes) -> tuple[dict[str, ClaimEntry], str]:
    """Return claims and boot id from a file's bytes; a file with only a `v1` section holds completed claims.

    The boot id is empty if the file has none.
    """
    try:
        document = orjson.loads(data)
        v1, v2 = document.get("v1"), document.get("v2")
        if not v1 and not v2:
            raise _WrongError("it has neither a v1 nor a v2 section")
        if v1 and checksum(v1) != document["checksum"]:
            raise _WrongError("the checksum of its v1 section is wrong")
        if not v2:
            done = {"checkpointState": ClaimState.COMPLETED}
            return {uid: _decode_entry({**done, **entry}) for uid, entry in v1["preparedClaims"].items()}, ""
        if checksum({**v2, "checksum": 0}) != v2["checksum"]:
            raise _WrongError("the checksum of its v2 section is wrong")
        claims = {uid: _decode_entry(entry) for uid, entry in v2["preparedClaims"].items()}
        return claims, v2.get("nodeBootID", "")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _WrongError(f"its content is not understood ({type(error).__name__}: {error})") from error


def checksum(section: Obj) -> int:
    """Return CRC-32 of the section's canonical JSON."""
    return zlib.crc32(_canonical(section))


def _canonical(section: Obj) -> bytes:
    return orjson.dumps(section, option=orjson.OPT_SORT_KEYS)


def _encode_entry(entry: ClaimEntry) -> Obj:
    encoded: Obj = {"checkpointState": entry.state.value, "status": entry.status}
    if entry.devices or entry.config_state:
        encoded["preparedDevices"] = _groups(entry)
    for key, value in (("name", entry.name), ("namespace", entry.namespace), ("abortedAt", entry.aborted_at)):
        if value:
            encoded[key] = value
    return encoded


def _groups(entry: ClaimEntry) -> list[Obj]:
    return [{"devices": [_encode_device(device) for device in entry.devices], "configState": dict(entry.config_state)}]


def _encode_device(device: HeldDevice) -> Obj:
    answer: Obj = {
        "Requests": list(device.answer.request_names),
        "PoolName": device.answer.pool_name,
        "DeviceName": device.answer.device_name,
        "CDIDeviceIDs": list(device.answer.cdi_device_ids),
    }
    if device.answer.share_id is not None:
        answer["ShareID"] = device.answer.share_id
    return {device.type: {"device": answer}}


def _decode_entry(encoded: Obj) -> ClaimEntry:
    groups = encoded.get("preparedDevices", [])
    return ClaimEntry(
        state=ClaimState(encoded["checkpointState"]),
        status=encoded["status"],
        name=encoded.get("name", ""),
        namespace=encoded.get("namespace", ""),
        devices=tuple(device for group in groups for item in group["devices"] for device in _decode_devices(item)),
        config_state=groups[0]["configState"] if groups else {},
        aborted_at=encoded.get("abortedAt", ""),
    )


def _decode_devices(item: Obj) -> Iterator[HeldDevice]:
    for kind, held in item.items():
        answer = held["device"]
        yield HeldDevice(
            answer=PreparedDevice(
                tuple(answer["Requests"]),
                answer["PoolName"],
                answer["DeviceName"],
                tuple(answer["CDIDeviceIDs"]),
                answer.get("ShareID"),
            ),
            type=kind,
        )


def completed(started: ClaimEntry, devices: tuple[HeldDevice, ...]) -> ClaimEntry:
    """Return a started claim that is done; like upstream it no longer carries its name."""
    return replace(started, state=ClaimState.COMPLETED, devices=devices, name="", namespace="")


_BOOT_ID = "sys/kernel/random/boot_id"


def kernel_boot_id(procfs: Path) -> str:
    """Return the kernel's id of this boot, from a fake node's procfs if that has one."""
    own = procfs / _BOOT_ID
    return (own if own.exists() else Path("/proc") / _BOOT_ID).read_text().strip()
