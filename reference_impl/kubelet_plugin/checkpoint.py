"""The checkpoint of a plugin: the claims that it prepared, and its responses.

One JSON file, replaced atomically on every change, so a SIGKILL leaves the state before or after it. The file outlives
every plugin process, until the node reboots (rules NV-102, NV-103).

The content is valid until the node reboots, so it is not synced and no claim waits for the disk. A marker beside it,
which is synced, names the boot of the last write: after a power failure the checkpoint is recognised as one of an
earlier boot, and discarded. If the kernel has no boot id, every write is synced.

The layout is that of the NVIDIA driver: a `v2` section with all claims and a `v1` section with the completed ones, each
with a checksum. The checksum is the CRC-32 of the section's canonical JSON. Upstream hashes a Go memory dump instead,
so neither accepts the checksums of the other.

Source: cmd/gpu-kubelet-plugin checkpoint.go and checkpointv.go at 95932046; rules NV-099 to NV-106, NV-167.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import orjson

from dra_api.objects import Obj
from dra_api.rpc import PreparedDevice
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.atomicfile import sweep, write_atomically

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

    Every access checks whether the file was replaced, and reads it again if so: another process of the same plugin may
    have changed it meanwhile, and the plugin's lock (not this class) keeps the two apart. `boot_id` is the kernel's.
    """

    def __init__(self, path: Path, *, boot_id: str) -> None:
        self.path = path
        self.marker = path.with_suffix(".boot")
        self.boot_id = boot_id
        self._known: tuple[tuple[int, ...], dict[str, ClaimEntry], str] | None = None
        self._written = Written()

    def open(self) -> None:
        """Make the file fit for use: create it, or check it; forget it after a reboot.

        Raises CorruptCheckpointError when it is not what was written.
        """
        sweep(self.path.parent, prefix=self.path.name)
        sweep(self.path.parent, prefix=self.marker.name)
        try:
            claims, boot_id = self._read()
        except CorruptCheckpointError:
            if self._marked() in ("", self.boot_id):
                raise
            claims, boot_id = {}, ""  # a power cut took what was not synced; its boot is over
        if boot_id and boot_id != self.boot_id:
            claims = {}  # the containers of those claims died with the old kernel
        # First whole and on disk, then marked: from the mark on, damage means that the machine went down.
        write_atomically(self.path, encode(claims, boot_id=self.boot_id), mode=_MODE)
        if self.boot_id:
            write_atomically(self.marker, self.boot_id.encode(), mode=_MODE)

    def _marked(self) -> str:
        with contextlib.suppress(OSError):
            return self.marker.read_text().strip()
        return ""

    def claims(self) -> dict[str, ClaimEntry]:
        """Return all claims by uid."""
        return self._read()[0]

    def get(self, uid: str) -> ClaimEntry | None:
        """Return one claim."""
        return self.claims().get(uid)

    def put(self, uid: str, entry: ClaimEntry) -> None:
        """Store a claim; it survives the death of this process."""
        self.write({**self.claims(), uid: entry})

    def drop(self, uid: str) -> None:
        """Forget a claim."""
        claims = self.claims()
        if claims.pop(uid, None) is not None:
            self.write(claims)

    def write(self, claims: Mapping[str, ClaimEntry]) -> None:
        """Replace the whole file."""
        data = encode(claims, boot_id=self.boot_id, written=self._written)
        # With a boot id no sync is needed: `open` discards the claims of an earlier boot anyway.
        write_atomically(self.path, data, mode=_MODE, durable=not self.boot_id)
        # The file need not be read back: the plugin's lock excludes other processes meanwhile.
        self._known = (_version(os.stat(self.path)), dict(claims), self.boot_id)

    def _read(self) -> tuple[dict[str, ClaimEntry], str]:
        try:
            if self._known is not None and self._known[0] == _version(os.stat(self.path)):
                return dict(self._known[1]), self._known[2]
            with self.path.open("rb") as file:
                version = _version(os.fstat(file.fileno()))
                data = file.read()
        except FileNotFoundError:
            return {}, self.boot_id
        try:
            claims, boot_id = decode(data)
            self._known = (version, claims, boot_id)
            return dict(claims), boot_id
        except _WrongError as error:
            raise CorruptCheckpointError(
                f"unable to get checkpoint: checkpoint is corrupted: {self.path}: {error}. Drain the node's pods "
                "with GPUs and remove the file; claims that are still prepared are then prepared anew"
            ) from error


def _version(found: os.stat_result) -> tuple[int, ...]:
    """Return a value that changes whenever the file is replaced."""
    return (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)


class _WrongError(Exception):
    """The content is not a valid checkpoint."""


class Written:
    """The JSON of entries as written last: a change of one claim does not encode the others again.

    Entries are compared by identity, so they must not be changed in place.
    """

    def __init__(self) -> None:
        self._texts: dict[str, tuple[ClaimEntry, orjson.Fragment, orjson.Fragment]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def texts(self, uid: str, entry: ClaimEntry) -> tuple[orjson.Fragment, orjson.Fragment]:
        """Return an entry in the layout of `v1` and in that of `v2`."""
        known = self._texts.get(uid)
        if known is None or known[0] is not entry:
            groups = _groups(entry)
            old = _canonical({"status": entry.status, "preparedDevices": groups})
            known = entry, orjson.Fragment(old), orjson.Fragment(_canonical(_encode_entry(entry, groups)))
            self._texts[uid] = known
        return known[1], known[2]

    def forget_but(self, claims: Mapping[str, ClaimEntry]) -> None:
        """Drop the texts of entries that are no longer in the checkpoint."""
        for uid in self._texts.keys() - claims.keys():
            del self._texts[uid]


def encode(claims: Mapping[str, ClaimEntry], *, boot_id: str, written: Written | None = None) -> bytes:
    """Return the file's bytes; `written` remembers those of the entries."""
    known = Written() if written is None else written
    known.forget_but(claims)
    texts = {uid: known.texts(uid, entry) for uid, entry in claims.items()}
    # The layout of v1 has no states, so only completed claims can be in it.
    done = {uid: texts[uid][0] for uid, entry in claims.items() if entry.state is ClaimState.COMPLETED}
    v1: Obj = {"preparedClaims": done}
    every = orjson.Fragment(_canonical({uid: new for uid, (_, new) in texts.items()}))
    # The checksum is that of the section with 0 in its place, see `decode`.
    v2: Obj = {"checksum": 0, "preparedClaims": every, "nodeBootID": boot_id}
    v2["checksum"] = checksum(v2)
    return _canonical({"checksum": checksum(v1), "v1": v1, "v2": v2}) + b"\n"


def decode(data: bytes) -> tuple[dict[str, ClaimEntry], str]:
    """Return claims and boot id from a file's bytes; a file with only a `v1` section holds completed claims."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _WrongError(f"it is no JSON ({error})") from error
    if not isinstance(document, dict) or not isinstance(document.get("v1") or document.get("v2"), dict):
        raise _WrongError("it has neither a v1 nor a v2 section")
    v1: Obj = document.get("v1") or {}
    v2: Obj = document.get("v2") or {}
    if v1 and checksum(v1) != document.get("checksum"):
        raise _WrongError("the checksum of its v1 section is wrong")
    try:
        if not v2:
            return {
                uid: _decode_entry({"checkpointState": ClaimState.COMPLETED, **entry})
                for uid, entry in v1["preparedClaims"].items()
            }, ""
        if checksum({**v2, "checksum": 0}) != v2.get("checksum"):
            raise _WrongError("the checksum of its v2 section is wrong")
        claims = {uid: _decode_entry(entry) for uid, entry in v2["preparedClaims"].items()}
        return claims, str(v2.get("nodeBootID") or "")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _WrongError(f"its content is not understood ({type(error).__name__}: {error})") from error


def checksum(section: Obj) -> int:
    """Return CRC-32 of the section's canonical JSON."""
    return zlib.crc32(_canonical(section))


def _canonical(section: Obj) -> bytes:
    return orjson.dumps(section, option=orjson.OPT_SORT_KEYS)


def _encode_entry(entry: ClaimEntry, groups: list[Obj]) -> Obj:
    encoded: Obj = {"checkpointState": entry.state.value, "status": entry.status}
    if entry.devices or entry.config_state:
        encoded["preparedDevices"] = groups
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
    groups = encoded.get("preparedDevices") or []
    return ClaimEntry(
        state=ClaimState(encoded["checkpointState"]),
        status=encoded["status"] or {},
        name=encoded.get("name") or "",
        namespace=encoded.get("namespace") or "",
        devices=tuple(device for group in groups for item in group["devices"] for device in _decode_devices(item)),
        config_state=groups[0].get("configState") or {} if groups else {},
        aborted_at=encoded.get("abortedAt") or "",
    )


def _decode_devices(item: Obj) -> Iterator[HeldDevice]:
    for kind, held in item.items():
        if held is None:
            continue
        answer = held["device"]
        yield HeldDevice(
            answer=PreparedDevice(
                tuple(answer["Requests"] or ()),
                answer["PoolName"],
                answer["DeviceName"],
                tuple(answer["CDIDeviceIDs"] or ()),
                answer.get("ShareID"),
            ),
            type=kind,
        )


def completed(started: ClaimEntry, devices: tuple[HeldDevice, ...]) -> ClaimEntry:
    """Return a started claim that is done; like upstream it no longer carries its name."""
    return replace(started, state=ClaimState.COMPLETED, devices=devices, name="", namespace="")


def kernel_boot_id(procfs: Path = Path("/proc")) -> str:
    """Return the kernel's id of this boot; empty if /proc has none."""
    with contextlib.suppress(OSError):
        return (procfs / "sys/kernel/random/boot_id").read_text().strip()
    return ""
