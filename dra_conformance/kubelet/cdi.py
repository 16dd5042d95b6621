"""CDI as a container runtime reads it: specifications from folders, and the lookup of device ids.

The driver owns the files. This module reads them again for every lookup (`CDIRegistry.read`), never writes, and keeps
nothing open. The rules are those of container-device-interface v1.0.1: pkg/cdi/cache.go (priority of later folders,
conflicts), pkg/cdi/spec.go (validation), specs-go/version.go v1.1.0 (the minimum version of each field).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import yaml

from dra_api import plain_yaml, regular_file
from dra_conformance.kubelet.cdi_schema import CDI_SCHEMA_TEXT
from dra_conformance.kubelet.errors import CDIError

VERSIONS = ("0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
"""The versions of the specification that a runtime accepts, oldest first; 0.1.0 and 0.2.0 are too old."""


@dataclass(frozen=True, slots=True)
class CDISpec:
    """One valid specification with its path."""

    path: Path
    priority: int
    document: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """`vendor/class`."""
        return str(self.document["kind"])

    @property
    def edits(self) -> Mapping[str, Any]:
        """The edits for every container that uses any device of this specification."""
        return self.document.get("containerEdits") or {}


@dataclass(frozen=True, slots=True)
class CDIDevice:
    """One device of a specification."""

    id: str
    spec: CDISpec
    edits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CDIProblem:
    """A file in a CDI folder that a runtime would not use, and all its reasons."""

    path: Path
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path}: {'; '.join(self.reasons)}"


@dataclass(frozen=True, slots=True)
class CDIRegistry:
    """The contents of the CDI folders at one moment."""

    folders: tuple[Path, ...]
    devices: Mapping[str, CDIDevice]
    problems: tuple[CDIProblem, ...]

    @classmethod
    def read(cls, folders: Sequence[Path]) -> CDIRegistry:
        """Read every `.json` and `.yaml` file directly in `folders`; later folders win over earlier ones.

        A device that two files of one folder declare is in conflict and belongs to neither, as in the runtimes. The
        runtimes' library then drops it also if a later folder declares it once (`Cache.refresh` in cache.go).
        """
        devices: dict[str, CDIDevice] = {}
        conflicts: dict[str, set[Path]] = {}
        problems: list[CDIProblem] = []
        for priority, folder in enumerate(folders):
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                # Runtimes do not read .yml either.
                if path.suffix not in {".json", ".yaml"} or path.is_dir():
                    continue
                try:
                    spec = read_spec(path, priority=priority)
                except CDIError as error:
                    # read_spec passes the single reasons after the message.
                    problems.append(CDIProblem(path, tuple(str(arg) for arg in error.args[1:]) or (str(error),)))
                    continue
                for entry in spec.document["devices"]:
                    device = CDIDevice(f"{spec.kind}={entry['name']}", spec, entry["containerEdits"])
                    other = devices.get(device.id)
                    if other is not None and other.spec.priority == priority:
                        conflicts.setdefault(device.id, {other.spec.path}).add(path)
                        continue
                    devices[device.id] = device
        for device_id, paths in conflicts.items():
            del devices[device_id]
            message = f"device {device_id} is declared by several files: {', '.join(sorted(p.name for p in paths))}"
            problems.extend(CDIProblem(path, (message,)) for path in sorted(paths))
        return cls(tuple(folders), devices, tuple(problems))

    def resolve(self, device_ids: Iterable[str]) -> list[CDIDevice]:
        """Return the devices of `device_ids`, in order and without duplicates.

        Raises CDIError naming every id that is in no specification, and the ids that exist.
        """
        found: dict[str, CDIDevice] = {}
        missing: list[str] = []
        for device_id in device_ids:
            device = self.devices.get(device_id)
            if device is None:
                if device_id not in missing:
                    missing.append(device_id)
            else:
                found.setdefault(device_id, device)
        if missing:
            raise CDIError(self._explain(missing))
        return list(found.values())

    def _explain(self, missing: Sequence[str]) -> str:
        parts = [f"unresolvable CDI devices {', '.join(missing)}"]
        known = sorted(self.devices)
        shown = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        parts.append(f"{', '.join(map(str, self.folders))} declare {shown or 'no device'}")
        parts.extend(f"not usable: {problem}" for problem in self.problems[:3])
        return "; ".join(parts)


def cdi_folders(root: Path) -> tuple[Path, ...]:
    """Return the CDI folders below a node's root, lowest priority first, as /etc/cdi and /var/run/cdi are."""
    return root / "cdi", root / "cdi-2"


def read_spec(path: Path, *, priority: int = 0) -> CDISpec:
    """Read and validate one file. Raises CDIError with all reasons when a runtime would not use it."""
    try:
        document = _loaded(regular_file.read(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CDIError(f"{path}: cannot be read: {error}", f"cannot be read: {error}") from None
    except yaml.YAMLError as error:
        message = "is neither JSON nor YAML: " + " ".join(str(error).split())
        raise CDIError(f"{path}: {message}", message) from None
    reasons = validate_spec(document)
    if reasons:
        raise CDIError(f"{path}: {'; '.join(reasons)}", *reasons)
    return CDISpec(path, priority, document)


def _loaded(content: bytes) -> Any:
    """Return the data of a JSON or YAML text."""
    # JSON is YAML as well, but the YAML parser takes a hundred times as long.
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return plain_yaml.as_json(plain_yaml.load(content))


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    # Compiled at first use: an error of the schema is then one of the kubelet that starts a pod.
    return jsonschema_rs.Draft202012Validator(schema)


def validate_spec(document: object) -> list[str]:
    """Return every reason why a runtime would refuse a CDI document, or an empty list."""
    reasons = [
        f"{'.'.join(str(step) for step in error.instance_path) or 'document'}: {error.message}"
        for error in _validator(CDI_SCHEMA_TEXT).iter_errors(document)
    ]
    # The checks below rely on the structure that the schema guarantees.
    if reasons or not isinstance(document, dict):
        return reasons
    version = str(document["cdiVersion"]).removeprefix("v")
    if version not in VERSIONS:
        return [f"cdiVersion: {version} is no released version of CDI (latest: {VERSIONS[-1]})"]
    needed = required_version(document)
    if VERSIONS.index(needed) > VERSIONS.index(version):
        reasons.append(f"cdiVersion: must be at least {needed} for the fields of the document")
    seen: set[str] = set()
    for device in document["devices"]:
        name = device["name"]
        if name in seen:
            reasons.append(f"devices: {name} is declared twice")
        seen.add(name)
        if not any(value for value in device["containerEdits"].values()):
            reasons.append(f"devices: {name} has no edits; a device must change something")
    return reasons


def required_version(document: Mapping[str, Any]) -> str:
    """The lowest version that has every field of a valid document."""
    edits = [document.get("containerEdits") or {}, *(d["containerEdits"] for d in document["devices"])]
    rdt = [e["intelRdt"] for e in edits if e.get("intelRdt") is not None]
    # From the newest field to the oldest, so that the first match needs the highest version.
    if any(e.get("netDevices") for e in edits):
        return "1.1.0"
    if any(r.get("schemata") is not None or r.get("enableMonitoring") for r in rdt):
        return "1.1.0"
    if rdt:
        return "0.7.0"
    if any(e.get("additionalGids") for e in edits):
        return "0.7.0"
    if document.get("annotations") or any(d.get("annotations") for d in document["devices"]):
        return "0.6.0"
    if "." in str(document["kind"]).split("/", 1)[1]:
        return "0.6.0"
    if any(d["name"][0].isdigit() for d in document["devices"]):
        return "0.5.0"
    if any(node.get("hostPath") for e in edits for node in e.get("deviceNodes") or ()):
        return "0.5.0"
    if any(mount.get("type") for e in edits for mount in e.get("mounts") or ()):
        return "0.4.0"
    return "0.3.0"
