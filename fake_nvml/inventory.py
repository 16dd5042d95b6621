"""The inventory of a node's GPUs in YAML: their boards, PCI addresses and deviating values.

Read from `inventories/*.yaml` or a user's file, checked completely, and turned into immutable values; `state.py`
renders them. Texts `auto` for uuid and serial are derived from the node's name, so that two nodes of one inventory
differ and one node is the same in every run; GPUs with the serial `auto/NAME` of one node share it, as those of one
module do. The file's own `source` and `verified` cover the values that it adds to its boards.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fake_nvml import documents
from fake_nvml.boards import NOT_SUPPORTED, UUID_FORM, Board, MigProfile, check_value, describe_field, load_board
from fake_nvml.documents import Document, Path_, nearest
from fake_nvml.errors import InventoryError
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.layout import AFFINITY_WORDS, MAX_GPUS
from fake_nvml.possible import contradiction

INVENTORIES_DIR: Final = Path(__file__).resolve().parent / "inventories"

_NAMESPACE: Final = uuid.UUID("6f1c1d0e-6f0b-5a8e-9a53-0d7a5c2f9f41")
_BUS: Final = re.compile(r"^([0-9A-Fa-f]{4}|[0-9A-Fa-f]{8}):([0-9A-Fa-f]{2}):([01][0-9A-Fa-f])\.0$")
_VERSION: Final = re.compile(r"^\d+(\.\d+)+$")


@dataclass(frozen=True, slots=True)
class MigInstance:
    """A GPU instance that exists from the start, with one compute instance over all of it."""

    profile: MigProfile
    start: int


@dataclass(frozen=True, slots=True, eq=False)  # hashed by identity: what is made of one is kept (`state`)
class GpuSpec:
    """One GPU of the node before it has a name-dependent identity."""

    board: Board
    domain: int
    bus: int
    device: int
    uuid: str | None
    serial: str | None
    module: str | None  # GPUs of one node with the same module share a serial number that is made for them
    overrides: Mapping[str, int | str]
    cpus: tuple[int, ...]
    cluster_uuid: bytes
    mig: tuple[MigInstance, ...]
    nvlink_switches: tuple[str, ...]  # PCI addresses that the links end at, in turn; empty: no links

    def value(self, name: str) -> int | str:
        """The configured value of a field; "N/A" when the GPU does not support it."""
        if name in self.overrides:
            return self.overrides[name]
        found = self.board.values.get(name)
        return found.value if found is not None else NOT_SUPPORTED


@dataclass(frozen=True, slots=True)
class Inventory:
    """A checked inventory; make a node of it with `Node.create`."""

    name: str
    driver_version: str
    nvml_version: str
    driver_branch: str
    cuda_version: int
    about: str
    source: str
    verified: bool
    gpus: tuple[GpuSpec, ...]

    @classmethod
    def load(cls, name_or_path: str | Path) -> Inventory:
        """Read an inventory by the name of a shipped one, or by path.

        Raises: InventoryError with file, line, key and the way out.
        """
        path = Path(name_or_path)
        if path.suffix not in (".yaml", ".yml"):
            path = INVENTORIES_DIR / f"{name_or_path}.yaml"
            if str(name_or_path) not in inventory_names():
                raise InventoryError(
                    f"no inventory is called {str(name_or_path)!r}. {nearest(str(name_or_path), inventory_names())} "
                    "(a path to a file ends in .yaml)"
                )
        return _parse(documents.read(path))


def inventory_names() -> list[str]:
    """Names of the inventories that ship with the package."""
    return sorted(path.stem for path in INVENTORIES_DIR.glob("*.yaml"))


def gpu_uuid(node: str, index: int) -> str:
    """The UUID of GPU `index` of the node called `node`, the same in every run."""
    return f"GPU-{uuid.uuid5(_NAMESPACE, f'{node}/{index}')}"


def gpu_serial(node: str, which: int | str) -> str:
    """The serial number of GPU (or module) `which` of the node called `node`: 13 digits, the same in every run."""
    return str(1650000000000 + int.from_bytes(hashlib.sha256(f"{node}/{which}".encode()).digest()[:4], "big"))


def mig_uuids(gpu: str, instances: int, compute_instances: int) -> bytes:
    """The UUIDs of all MIG devices that a GPU may ever have, for each GPU instance those of its compute instances.

    They are name-based, so that the same instance made again has it again. Computed as `uuid.uuid5` does, in a fifth
    of its time: a GPU has 120 of them.
    """
    of_gpu = hashlib.sha1(_NAMESPACE.bytes + f"{gpu}/".encode(), usedforsecurity=False)
    digests = []
    for gi in range(instances):
        for ci in range(compute_instances):
            one = of_gpu.copy()
            one.update(b"%d/%d" % (gi, ci))
            digests.append(one.digest()[:16])
    every = bytearray(b"".join(digests))
    # Version 5 and the variant of RFC 9562.
    every[6::16] = every[6::16].translate(_VERSION_5)
    every[8::16] = every[8::16].translate(_VARIANT)
    return bytes(every)


_VERSION_5: Final = bytes(byte & 0x0F | 0x50 for byte in range(256))
_VARIANT: Final = bytes(byte & 0x3F | 0x80 for byte in range(256))
_NODE_KEYS: Final = [
    "driver_version",
    "cuda_version",
    "driver_branch",
    "gpus",
    "about",
    "defaults",
    "source",
    "verified",
]
_GPU_KEYS: Final = [
    "board",
    "bus",
    "uuid",
    "serial",
    "values",
    "cpus",
    "cluster_uuid",
    "mig",
    "nvlink_switches",
]


def _parse(document: Document) -> Inventory:
    top = document.mapping((), document.data)
    document.known((), top, _NODE_KEYS)
    driver = top.get("driver_version")
    if not isinstance(driver, str) or not _VERSION.match(driver):
        raise document.error(("driver_version",), f'must be a text such as "580.159.04"; it is {driver!r}')
    cuda = top.get("cuda_version")
    if not isinstance(cuda, str) or not re.match(r"^\d+\.\d+$", cuda):
        raise document.error(("cuda_version",), f'must be a text such as "13.0"; it is {cuda!r}')
    major, minor = (int(part) for part in cuda.split("."))
    defaults = document.mapping(("defaults",), top.get("defaults", {}))
    document.known(("defaults",), defaults, _GPU_KEYS)
    raw = document.sequence(("gpus",), top.get("gpus"))
    if len(raw) > MAX_GPUS:
        raise document.error(("gpus",), f"{len(raw)} GPUs; a node holds at most {MAX_GPUS}")
    boards: dict[str, Board] = {}
    gpus = tuple(_gpu(document, ("gpus", index), item, defaults, boards) for index, item in enumerate(raw))
    _unique(document, gpus)
    return Inventory(
        name=document.path.stem,
        driver_version=driver,
        nvml_version=f"{major}.{driver}",
        driver_branch=str(top.get("driver_branch", f"r{driver.split('.')[0]}_00")),
        cuda_version=major * 1000 + minor * 10,
        about=str(top.get("about", "")).strip(),
        source=str(top.get("source", "this file")),
        verified=top.get("verified") is True,
        gpus=gpus,
    )


def _gpu(document: Document, where: Path_, raw: Any, defaults: Mapping[str, Any], boards: dict[str, Board]) -> GpuSpec:
    item = document.mapping(where, raw)
    document.known(where, item, _GPU_KEYS)

    def at(key: str) -> tuple[Path_, Any]:
        return ((*where, key), item[key]) if key in item else (("defaults", key), defaults.get(key))

    place, name = at("board")
    if not isinstance(name, str):
        raise document.error(place, "every GPU names its board, for example `board: h100-sxm5-80gb`")
    if name not in boards:
        boards[name] = load_board(name, context=f"{document.error(place, '')}")
    board = boards[name]
    place, bus = at("bus")
    match = _BUS.match(bus) if isinstance(bus, str) else None
    if match is None:
        raise document.error(
            place, f'must be a PCI address "domain:bus:device.0" such as "00000000:53:00.0"; it is {bus!r}'
        )
    place, uuid_text = at("uuid")
    if uuid_text not in (None, "auto") and not (isinstance(uuid_text, str) and UUID_FORM.match(uuid_text)):
        raise document.error(place, f"must be `auto` or GPU- and a lower-case UUID; it is {uuid_text!r}")
    place, serial = at("serial")
    if serial is not None and not isinstance(serial, str):
        raise document.error(place, f"must be a text (put it in quotes); it is {serial!r}")
    overrides: dict[str, int | str] = {}
    for scope in (("defaults", "values"), (*where, "values")):
        source = defaults.get("values", {}) if scope[0] == "defaults" else item.get("values", {})
        for key, value in document.mapping(scope, source).items():
            overrides[key] = field_value(key, value, error=lambda text, spot=(*scope, key): document.error(spot, text))
    place, cpus = at("cpus")
    place_cluster, cluster = at("cluster_uuid")
    spec = GpuSpec(
        board=board,
        domain=int(match[1], 16),
        bus=int(match[2], 16),
        device=int(match[3], 16),
        uuid=None if uuid_text in (None, "auto") else uuid_text,
        serial=None if serial is None or serial.partition("/")[0] == "auto" else serial,
        module=serial.partition("/")[2] or None if serial is not None and serial.startswith("auto/") else None,
        overrides=overrides,
        cpus=_cpus(document, place, cpus),
        cluster_uuid=_cluster(document, place_cluster, cluster),
        mig=(),
        nvlink_switches=_switches(document, *at("nvlink_switches"), board),
    )
    wrong = contradiction(spec.value, sorted(overrides))
    if wrong is not None:
        raise document.error((*where, "values", wrong[0]), wrong[1])
    place, layout = at("mig")
    if layout is None:
        return spec
    if spec.value("mig_mode_current") == NOT_SUPPORTED or not board.profiles:
        raise document.error(place, f"board {board.name} has no MIG")
    if layout and overrides.get("mig_mode_current") == 0:
        raise document.error(place, "instances exist in MIG mode only, and mig_mode_current is 0")
    # `spec` refers to this very dict: it sees the new values.
    overrides.setdefault("mig_mode_current", 1)
    overrides.setdefault("mig_mode_pending", 1)
    instances = _layout(document, place, layout, board)
    return dataclasses.replace(spec, mig=instances)


def field_value(name: str, value: Any, *, error: Any) -> int | str:
    """`value` checked for field `name`; `error(text)` makes the exception to raise."""
    if name not in SCALARS and name not in STRINGS:
        raise error(f"no such field. {nearest(name, [*SCALARS, *STRINGS])}")
    checked = check_value(name, value)
    if checked is None:
        raise error(f"must be {describe_field(name)} or {NOT_SUPPORTED}; it is {value!r}")
    return checked


def _cpus(document: Document, where: Path_, value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, str) or not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", value):
        raise document.error(where, f'must be a CPU list such as "0-55,112-167"; it is {value!r}')
    out: list[int] = []
    for part in value.split(","):
        low, _, high = part.partition("-")
        if high and int(high) < int(low):
            raise document.error(where, f"the range {part} ends before it begins")
        out.extend(range(int(low), int(high or low) + 1))
    if out and max(out) >= AFFINITY_WORDS * 64:
        raise document.error(where, f"CPU {max(out)} is beyond {AFFINITY_WORDS * 64 - 1}")
    return tuple(out)


def _switches(document: Document, where: Path_, value: Any, board: Board) -> tuple[str, ...]:
    if value is None:
        return board.nvlink_remote
    rows = document.sequence(where, value)
    for index, address in enumerate(rows):
        if not isinstance(address, str) or not _BUS.match(address):
            raise document.error((*where, index), f"must be the PCI address of a switch; it is {address!r}")
    return tuple(rows)


def _cluster(document: Document, where: Path_, value: Any) -> bytes:
    if value is None:
        return bytes(16)
    try:
        return uuid.UUID(str(value)).bytes
    except ValueError as error:
        raise document.error(where, f"must be a UUID; it is {value!r}") from error


def _layout(document: Document, where: Path_, raw: Any, board: Board) -> tuple[MigInstance, ...]:
    """A declared MIG layout, placed in the order written; the first entry that cannot be placed is named."""
    taken = 0
    out: list[MigInstance] = []
    for index, item in enumerate(document.sequence(where, raw)):
        spot: Path_ = (*where, index)
        entry: dict[str, Any] = {"profile": item} if isinstance(item, str) else document.mapping(spot, item)
        document.known(spot, entry, ["profile", "start"])
        name = entry.get("profile")
        profile = board.profile(name) if isinstance(name, str) else None
        if profile is None:
            names = [row.name for row in board.profiles]
            raise document.error(spot, f"board {board.name} has no MIG profile {name!r}. {nearest(str(name), names)}")
        wanted: list[int] = [entry["start"]] if "start" in entry else list(reversed(profile.starts))
        if "start" in entry and entry["start"] not in profile.starts:
            raise document.error(spot, f"{name} can start at {list(profile.starts)}, not at {entry['start']!r}")
        used = sum(1 for done in out if done.profile.id == profile.id)
        spans = {start: ((1 << profile.size) - 1) << start for start in wanted}
        start = next((s for s in wanted if not spans[s] & taken), None)
        reason = (
            f"only {profile.instances} of it fit on one GPU"
            if used >= profile.instances
            else "its memory slices are taken by the entries before it"
        )
        if used >= profile.instances or start is None:
            raise document.error(spot, f"{name} cannot be placed: {reason}. Remove an entry or reorder the list")
        # Free memory slices always have compute slices: no placement of a profile leaves it with too few.
        taken |= spans[start]
        out.append(MigInstance(profile=profile, start=start))
    return tuple(out)


def _unique(document: Document, gpus: tuple[GpuSpec, ...]) -> None:
    seen: dict[tuple[str, object], int] = {}
    for index, gpu in enumerate(gpus):
        keys: list[tuple[str, object]] = [("bus", (gpu.domain, gpu.bus, gpu.device))]
        own = gpu.overrides.get("uuid", gpu.uuid)
        if own is not None:
            keys.append(("uuid", own))
        minor = gpu.overrides.get("minor_number", index)
        keys.append(("minor_number", minor))
        for key in keys:
            if key in seen:
                in_values = ("values",) if key[0] in gpu.overrides else ()
                where: Path_ = ("gpus", index, *in_values, key[0])
                raise document.error(where, f"the same as GPU {seen[key]}; each GPU of a node has its own")
            seen[key] = index
