"""GPU models: what every GPU of one kind answers, and its MIG profile table.

Read from `boards/*.yaml`. There each group of values carries its source and whether it was verified on hardware; a
board extends others. "N/A" as a value means that the GPU answers Not Supported. Loaded boards are immutable. The files
ship with the package: `tests/fake_nvml/test_nvml_boards.py` checks them, loading does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from fake_nvml import documents
from fake_nvml.documents import nearest
from fake_nvml.errors import InventoryError
from fake_nvml.fields import SCALARS, SIGNED, STRINGS
from fake_nvml.layout import STRING_SIZE

BOARDS_DIR: Final = Path(__file__).resolve().parent / "boards"

NOT_SUPPORTED: Final = "N/A"

UUID_FORM: Final = re.compile(r"^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_QUANTITY: Final = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z%]+)")
#: By the first word of a field's meaning: units that its values may be written with.
_UNITS: Final[Mapping[str, Mapping[str, Fraction]]] = {
    "bytes": {"B": Fraction(1), "KiB": Fraction(2**10), "MiB": Fraction(2**20), "GiB": Fraction(2**30)},
    "mW": {"mW": Fraction(1), "W": Fraction(1000), "kW": Fraction(10**6)},
    "mJ": {"mJ": Fraction(1), "J": Fraction(1000)},
    "MHz": {"MHz": Fraction(1), "GHz": Fraction(1000)},
    "C": {"C": Fraction(1)},
    "percent": {"%": Fraction(1)},
    "us": {"us": Fraction(1), "ms": Fraction(1000)},
    "ns": {"ns": Fraction(1), "us": Fraction(1000), "ms": Fraction(10**6), "s": Fraction(10**9)},
}
#: By what a field means: the greatest number that it can have. Everything else is an unsigned int in NVML.
_HIGHEST: Final[tuple[tuple[str, int], ...]] = (
    (r"percent", 100),
    (r"P0\.\.P15, 32", 32),
    (r"P0\.\.P15", 15),
    # Not 2**64 - 1: `get_field` reads the upper half as negative numbers.
    (r"bytes|mJ|ns|us|bit mask|count|number$|KB/s", 2**63 - 1),
)


@dataclass(frozen=True, slots=True)
class Value:
    """One value with its source."""

    value: int | str  # "N/A": answers Not Supported
    source: str
    verified: bool


@dataclass(frozen=True, slots=True)
class MigProfile:
    """A row of the board's `nvidia-smi mig -lgip`; memory in MiB, placement in memory slices."""

    enum: int
    id: int
    name: str
    slices: int
    instances: int
    memory_mib: int
    multiprocessors: int
    copy_engines: int
    decoders: int
    encoders: int
    jpegs: int
    ofas: int
    size: int
    starts: tuple[int, ...]
    verified: bool


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU model."""

    name: str
    pci_device_id: int
    pci_subsystem_id: int
    pci_class: int
    values: Mapping[str, Value]
    profiles: tuple[MigProfile, ...]
    mig_source: str  # where the profiles come from; empty without MIG
    nvlink_remote: tuple[str, ...]  # PCI addresses of the switches that the links end at, in turn; empty: no links

    def profile(self, name: str) -> MigProfile | None:
        """The MIG profile called `name`, for example "1g.10gb"."""
        return next((row for row in self.profiles if row.name == name), None)


def board_names() -> list[str]:
    """Names of the boards that ship with the package."""
    return sorted(path.stem for path in BOARDS_DIR.glob("*.yaml") if not path.stem.startswith("_"))


def check_value(name: str, value: Any) -> int | str | None:
    """`value` as field `name` can hold it; None when it cannot.

    A number may be a text with a unit of the field's kind, for example "80 GiB" or "700 W".
    """
    if value == NOT_SUPPORTED:
        return NOT_SUPPORTED
    if name == "uuid":
        return value if isinstance(value, str) and UUID_FORM.match(value) else None
    if name in STRINGS:
        return value if isinstance(value, str) and 0 < len(value.encode()) < STRING_SIZE else None
    if isinstance(value, str):
        value = _with_unit(name, value)
    # `true` in YAML: a mode that is on.
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, int):
        return None
    low, high = bounds(name)
    return value if low <= value <= high else None


def bounds(name: str) -> tuple[int, int]:
    """The least and the greatest number that a GPU can answer for a field: as wide as NVML's type, or as it means."""
    meaning = SCALARS[name]
    # -1 is a GPU without a node, as the kernel writes it.
    if name == "numa_node":
        return -1, 2**31 - 1
    if name in SIGNED:
        return -(2**31), 2**31 - 1
    if meaning.startswith(("0 ", "1:")):  # a list of what each number means
        return 0, max(int(number) for number in re.findall(r"(?:^|, |or )(\d+)\b", meaning))
    return 0, next((top for words, top in _HIGHEST if re.match(words, meaning)), 2**32 - 1)


def units_of(name: str) -> Mapping[str, Fraction]:
    """The units that values of a field may be written with, each as a multiple of the field's own; none for counts."""
    meaning = SCALARS.get(name, "")
    return next((units for word, units in _UNITS.items() if re.match(rf"{re.escape(word)}\b", meaning)), {})


def _with_unit(name: str, text: str) -> int | None:
    match = _QUANTITY.fullmatch(text.strip())
    units = units_of(name)
    if match is None or match[2] not in units:
        return None
    # Fractions are exact: a value with a unit is never rounded.
    number = Fraction(match[1]) * units[match[2]]
    return int(number) if number.denominator == 1 else None


def describe_field(name: str) -> str:
    """Return the meaning of field `name`, for an error message."""
    if name == "uuid":
        return "GPU- and a lower-case UUID"
    if name in STRINGS:
        return f"a text of 1 to {STRING_SIZE - 1} bytes ({STRINGS[name]})"
    units = units_of(name)
    also = f", or a text with one of the units {', '.join(units)}" if units else ""
    low, high = bounds(name)
    limits = ", not negative" if low == 0 else f", at least {low}"
    limits += f", at most {high}" if high < 2**63 - 1 else ""
    return f"a whole number{limits} ({SCALARS[name]}){also}"


def load_board(name: str, *, context: str = "") -> Board:
    """Read a board by name.

    Args:
        name: a name from `board_names()`.
        context: "file:line: key: " of the reference, the prefix of the error about an unknown name.

    Raises: InventoryError.
    """
    path = BOARDS_DIR / f"{name}.yaml"
    if name not in board_names():
        raise InventoryError(f"{context}no board is called {name!r}. {nearest(name, board_names())}")
    board = documents.read(path).data
    values: dict[str, Value] = {}
    # Parents first: the values of the board itself take precedence.
    for parent in board["extends"]:
        values.update(_groups(documents.read(BOARDS_DIR / f"{parent}.yaml").data))
    values.update(_groups(board))
    pci, mig = board["pci"], board.get("mig", {"source": "", "verified": False, "profiles": []})
    return Board(
        name=name,
        pci_device_id=pci["device_id"],
        pci_subsystem_id=pci["subsystem_id"],
        pci_class=pci["class"],
        values=values,
        profiles=tuple(_profile(row, verified=mig["verified"]) for row in mig["profiles"]),
        mig_source=mig["source"],
        nvlink_remote=tuple(board["nvlink"]["switches"]) if "nvlink" in board else (),
    )


def _groups(board: Mapping[str, Any]) -> dict[str, Value]:
    return {
        name: Value(value=value, source=group["source"], verified=group["verified"])
        for group in board["groups"]
        for name, value in group["values"].items()
    }


def _profile(row: Mapping[str, Any], *, verified: bool) -> MigProfile:
    return MigProfile(
        enum=row["enum"],
        id=row["id"],
        name=row["name"],
        slices=row["slices"],
        instances=row["instances"],
        memory_mib=row["memory_mib"],
        multiprocessors=row["sm"],
        copy_engines=row["ce"],
        decoders=row["dec"],
        encoders=row["enc"],
        jpegs=row["jpeg"],
        ofas=row["ofa"],
        size=row["size"],
        starts=tuple(row["starts"]),
        verified=row.get("verified", verified),
    )
