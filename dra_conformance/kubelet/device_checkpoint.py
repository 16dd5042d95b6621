"""The device manager's checkpoint: which container has which devices, and what the plugin answered.

One file with a checksum, written atomically with mode 0600. A file that cannot be read is the same as none, because the
kubelet goes on without it (DP-047).

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go and manager.go (Start).
"""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from google.protobuf.message import DecodeError

from dra_api import regular_file
from dra_api.rpc.device_plugin import ContainerAllocation
from dra_api.rpc.device_plugin.codec import decode_allocated, encode_allocated

FILE_NAME = "kubelet_internal_checkpoint"
"""The name of the file in the folder of device plugins."""


@dataclass(frozen=True, slots=True)
class Held:
    """The devices of one resource that a container has, and the plugin's answer."""

    pod_uid: str
    container: str
    resource: str
    ids: tuple[str, ...]
    answer: ContainerAllocation


def write(path: Path, held: Iterable[Held], resources: Sequence[str]) -> None:
    """Write all allocations and the names of the known resources."""
    entries = [
        {
            "PodUID": one.pod_uid,
            "ContainerName": one.container,
            "ResourceName": one.resource,
            "DeviceIDs": list(one.ids),
            "AllocResp": base64.b64encode(encode_allocated([one.answer])).decode(),
        }
        for one in held
    ]
    data = orjson.dumps({"PodDeviceEntries": entries, "RegisteredDevices": list(resources)})
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(orjson.dumps({"Data": data.decode(), "Checksum": zlib.crc32(data)}))
    temporary.replace(path)


def read(path: Path) -> tuple[list[Held], list[str], str]:
    """Return the allocations, the names of resources, and why the file is not usable (empty if it is)."""
    try:
        outer = orjson.loads(regular_file.read(path))
        data = str(outer["Data"]).encode()
        if zlib.crc32(data) != outer["Checksum"]:
            return [], [], f"{path}: the checksum does not fit the data"
        content = orjson.loads(data)
        return [_held(entry) for entry in content["PodDeviceEntries"]], list(content["RegisteredDevices"]), ""
    except (
        OSError,
        orjson.JSONDecodeError,
        DecodeError,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
    ) as error:
        return [], [], f"{path} is no checkpoint of a device manager ({error})"


def _held(entry: dict[str, object]) -> Held:
    (answer,) = decode_allocated(base64.b64decode(str(entry["AllocResp"])))
    ids = entry["DeviceIDs"]
    if not isinstance(ids, list):
        raise TypeError("DeviceIDs is no list")
    return Held(
        pod_uid=str(entry["PodUID"]),
        container=str(entry["ContainerName"]),
        resource=str(entry["ResourceName"]),
        ids=tuple(str(one) for one in ids),
        answer=answer,
    )
