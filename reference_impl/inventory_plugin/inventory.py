"""A node's devices from a YAML file, read once and strictly.

An entry of `devices` has the fields of a device in a ResourceSlice, and `containerEdits` with the fields of CDI.
`sharedCounters` are those of the slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from dra_api.objects import Obj
from reference_impl.errors import ComponentError

_DEVICE = frozenset(
    {"name", "attributes", "capacity", "consumesCounters", "allowMultipleAllocations", "taints", "containerEdits"}
)
_EDITS = frozenset({"env", "deviceNodes", "mounts"})
_SHIPPED = Path(__file__).parent / "inventories"


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
        path = shipped if "/" not in name and shipped.is_file() else Path(name)
        try:
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            names = ", ".join(sorted(file.stem for file in _SHIPPED.glob("*.yaml")))
            raise ComponentError(f"--inventory {name}: {error.strerror}; give a file, or one of {names}") from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ComponentError(f"--inventory {name} is no YAML: {error}") from error
        return cls.of(document, where=f"--inventory {name}")

    @classmethod
    def of(cls, document: object, *, where: str) -> Inventory:
        """Return the inventory of a parsed file. Raises ComponentError that names the place."""
        known_fields(document, frozenset({"devices", "sharedCounters"}), where)
        assert isinstance(document, dict)  # noqa: S101 - known_fields refuses everything else
        entries = document.get("devices")
        if not isinstance(entries, list) or not entries:
            raise ComponentError(f"{where}: devices must be a list with at least one device")
        devices, edits = [], {}
        for position, entry in enumerate(entries):
            place = f"{where}: devices[{position}]"
            known_fields(entry, _DEVICE, place)
            name = entry.get("name")
            if not isinstance(name, str) or not name or name in edits:
                raise ComponentError(f"{place}: name must be a text that no other device has, not {name!r}")
            given = entry.get("containerEdits") or {}
            known_fields(given, _EDITS, f"{place}.containerEdits")
            edits[name] = given
            devices.append({key: value for key, value in entry.items() if key != "containerEdits"})
        return cls(tuple(devices), edits, tuple(document.get("sharedCounters") or ()))


def known_fields(value: object, known: frozenset[str], where: str) -> None:
    """Raise ComponentError when `value` is no object or has a field that is not `known`."""
    if not isinstance(value, dict):
        raise ComponentError(f"{where} must be an object, not {type(value).__name__}")
    unknown = sorted(str(name) for name in set(value) - known)
    if unknown:
        raise ComponentError(f"{where} has the unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}")
