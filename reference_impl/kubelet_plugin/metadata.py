"""Device metadata in containers: a file for each request of a claim, mounted through CDI (KEP-5304).

A file is a stream of JSON objects, one for each version of the API, the newest first: a program in the container uses
the first one that it knows. Files and CDI specs live from Prepare to Unprepare. Both have the claim's uid in their
path, so that a claim of the same name cannot have them. The CDI folder is shared with other vendors: this module
touches only the specs of its own kind.

Like the specs of the devices, files are not synced: claims of an earlier boot are dropped.

Source: k8s.io/dynamic-resource-allocation v0.37.2 (kubeletplugin/metadata.go, api/metadata); rules DRA-587 to DRA-591.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import orjson

from dra_api.objects import Obj
from dra_api.rpc import PreparedDevice
from reference_impl.kubelet_plugin.atomicfile import PARTIAL, write_atomically
from reference_impl.kubelet_plugin.cdi import CDI_VERSION
from reference_impl.kubelet_plugin.claims import AllocatedClaim, Result

API_GROUP = "metadata.resource.k8s.io"
VERSIONS = ("v1beta1", "v1alpha1")
"""The written versions of the API, the newest first."""

CONTAINER_FOLDER = PurePosixPath("/var/run/kubernetes.io/dra-device-attributes")

_MODE, _FOLDER_MODE = 0o644, 0o755  # containers of other users read them


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedDevice:
    """A device of a claim, with the attributes that its containers may read."""

    result: Result
    attributes: Obj


def container_path(claim: AllocatedClaim, request: str, *, driver: str) -> str:
    """Return where containers read the metadata of a request (rule DRA-588)."""
    by_template = ("resourceclaimtemplates", claim.pod_claim)
    source = by_template if claim.pod_claim else ("resourceclaims", claim.name)
    return str(CONTAINER_FOLDER.joinpath(*source, request, f"{driver}-metadata.json"))


def describe(claim: AllocatedClaim, devices: Sequence[DescribedDevice], *, driver: str) -> Obj:
    """Return the metadata of the devices of one request, without the version of the API (rule DRA-589b)."""
    by_name: dict[str, list[Obj]] = {}
    for device in devices:
        entry: Obj = {"driver": driver, "pool": device.result.pool, "name": device.result.device}
        if device.attributes:
            entry["attributes"] = device.attributes
        by_name.setdefault(device.result.request, []).append(entry)
    content: Obj = {
        "metadata": {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid, "generation": 1},
    }
    if claim.pod_claim:
        content["podClaimName"] = claim.pod_claim
    content["requests"] = [{"name": name, "devices": entries} for name, entries in by_name.items()]
    return content


def encode(content: Obj) -> bytes:
    """Return the stream with the metadata in each version (rule DRA-589)."""
    return b"".join(
        orjson.dumps({"apiVersion": f"{API_GROUP}/{version}", "kind": "DeviceMetadata", **content}) + b"\n"
        for version in VERSIONS
    )


class MetadataFiles:
    """The metadata of a driver's claims on one node.

    Arguments:
        driver: the driver's name, which is also the vendor of the CDI ids.
        folder: the folder of the files; it is made when the first file is written.
        cdi_root: the node's CDI folder.
        enabled: whether Prepare writes metadata. What was written before is removed in any case.
    """

    def __init__(self, *, driver: str, folder: Path, cdi_root: Path, enabled: bool) -> None:
        self.driver = driver
        self.folder = folder
        self.cdi_root = cdi_root
        self.enabled = enabled

    @property
    def kind(self) -> str:
        """Return `vendor/class` of the CDI devices."""
        return f"{self.driver}/metadata"

    def device_id(self, uid: str, request: str) -> str:
        """Return the CDI id with the metadata of a request (rule DRA-587)."""
        return f"{self.kind}={self.device_name(uid, request)}"

    def device_name(self, uid: str, request: str) -> str:
        """Return the CDI name of the metadata of a request."""
        return f"{uid}_{request}"

    def file(self, uid: str, request: str) -> Path:
        """Return the path of the metadata of a request."""
        return self.folder / uid / f"{request}.json"

    def spec(self, uid: str, request: str) -> Path:
        """Return the path of the CDI spec that mounts the metadata of a request."""
        return self.cdi_root / f"{self._prefix}{uid}_{request}.json"

    @property
    def _prefix(self) -> str:
        return f"{self.driver}_metadata_"

    # -- writing ---------------------------------------------------------------------------------------------------

    def attach(
        self, claim: AllocatedClaim, devices: Sequence[DescribedDevice], answer: Sequence[PreparedDevice]
    ) -> tuple[PreparedDevice, ...]:
        """Write the metadata of a claim if that is enabled; return the response with its CDI ids (rule DRA-587)."""
        if not self.enabled:
            return tuple(answer)
        self.write(claim, devices)
        return self.add_ids(claim.uid, answer)

    def write(self, claim: AllocatedClaim, devices: Sequence[DescribedDevice]) -> None:
        """Write the files and specs of a claim; those that exist are replaced."""
        for request, described in self.by_request(devices).items():
            self.write_request(claim, request, described)

    def by_request(self, devices: Sequence[DescribedDevice]) -> Mapping[str, list[DescribedDevice]]:
        """Return the devices of each request; a subrequest belongs to the request before its slash."""
        found: dict[str, list[DescribedDevice]] = {}
        for device in devices:
            found.setdefault(device.result.request_name, []).append(device)
        return found

    def write_request(self, claim: AllocatedClaim, request: str, devices: Sequence[DescribedDevice]) -> None:
        """Write the metadata of one request, then the spec that mounts it."""
        file = self.file(claim.uid, request)
        file.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        content = encode(describe(claim, devices, driver=self.driver))
        write_atomically(file, content, mode=_MODE, sync=False)
        mount = {
            "hostPath": str(file),
            "containerPath": container_path(claim, request, driver=self.driver),
            "options": ["ro", "bind"],
        }
        name = self.device_name(claim.uid, request)
        spec = {
            "cdiVersion": CDI_VERSION,
            "kind": self.kind,
            "devices": [{"name": name, "containerEdits": {"mounts": [mount]}}],
        }
        self.cdi_root.mkdir(exist_ok=True)
        write_atomically(self.spec(claim.uid, request), orjson.dumps(spec), mode=_MODE, sync=False)

    def add_ids(self, uid: str, answer: Sequence[PreparedDevice]) -> tuple[PreparedDevice, ...]:
        """Return a response in which the first device of each request also has the id of the metadata."""
        found: list[PreparedDevice] = []
        given: set[str] = set()
        for device in answer:
            new = [request for request in device.request_names if request not in given]
            given.update(new)
            ids = tuple(self.device_id(uid, request) for request in new)
            found.append(replace(device, cdi_device_ids=(*device.cdi_device_ids, *ids)))
        return tuple(found)

    def is_lost(self, uid: str, answer: Sequence[PreparedDevice]) -> bool:
        """Return whether a response has ids of metadata of which a file is missing."""
        return any(
            self.device_id(uid, request) in device.cdi_device_ids
            and not (self.file(uid, request).exists() and self.spec(uid, request).exists())
            for device in answer
            for request in device.request_names
        )

    # -- removing --------------------------------------------------------------------------------------------------

    def remove(self, uid: str) -> None:
        """Remove the specs and files of a claim, and nothing of other claims (rule DRA-591)."""
        for spec in self.cdi_root.glob(f"{self._prefix}{uid}_*.json"):
            spec.unlink()
        self.remove_files(uid)

    def remove_files(self, uid: str) -> None:
        """Remove the files of a claim, after the specs that mount them."""
        folder = self.folder / uid
        if folder.exists():
            shutil.rmtree(folder)

    def clean(self, keep: Iterable[str]) -> list[str]:
        """Remove what claims that are not in `keep` left, and temporary files; return these claims."""
        for partial in self.cdi_root.glob(f".{self._prefix}*{PARTIAL}"):
            partial.unlink()
        stored = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
        specs = self.cdi_root.glob(f"{self._prefix}*.json")
        stored |= {path.name.removeprefix(self._prefix).partition("_")[0] for path in specs}
        stale = sorted(stored - set(keep))
        for uid in stale:
            self.remove(uid)
        return stale
