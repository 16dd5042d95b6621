"""A node's devices from a YAML file, read once and strictly.

An entry of `devices` has the fields of a device in a ResourceSlice, and `containerEdits` with the fields of CDI.
`sharedCounters` are those of the slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml

from dra_api import plain_yaml, regular_file
from dra_api.objects import Obj
from reference_impl.errors import ComponentError

_SHIPPED = Path(__file__).parent / "inventories"


class _Strict(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """An object of the file. The API server validates the fields of a device, the kubelet those of CDI."""


class _Edits(_Strict):
    env: list[str] = []
    device_nodes: list[Obj] = []
    mounts: list[Obj] = []


class _Device(_Strict):
    name: str
    attributes: Obj = {}
    capacity: Obj = {}
    consumes_counters: list[Obj] = []
    allow_multiple_allocations: bool = False
    taints: list[Obj] = []
    container_edits: _Edits = msgspec.field(default_factory=_Edits)


class _Document(_Strict):
    devices: list[_Device]
    shared_counters: list[Obj] = []


@dataclass(frozen=True, slots=True)
class Inventory:
    """The devices of a node: entries of a slice and, by name, what containers get."""

    devices: tuple[Obj, ...]
    edits: Mapping[str, Obj]
    shared_counters: tuple[Obj, ...] = ()

    @classmethod
    def load(cls, name: str) -> Inventory:
        """Read a file, or one of those that come with this component (`nic`, `fpga`). Raises ComponentError."""
        shipped = _SHIPPED / f"{name}.yaml"
        path = shipped if shipped.is_file() else Path(name)
        try:
            document = msgspec.convert(plain_yaml.load(regular_file.read(path)), _Document)
        except OSError as error:
            names = ", ".join(sorted(file.stem for file in _SHIPPED.glob("*.yaml")))
            raise ComponentError(f"--inventory {name}: {error.strerror}; give a file, or one of {names}") from error
        except (msgspec.ValidationError, yaml.YAMLError) as error:
            raise ComponentError(f"--inventory {name} is no inventory: {error}") from error
        entries: list[Obj] = msgspec.to_builtins(document.devices)
        edits = {entry["name"]: entry.pop("containerEdits", {}) for entry in entries}
        return cls(tuple(entries), edits, tuple(document.shared_counters))
