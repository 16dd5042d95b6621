"""Places the GPUs of an inventory for a picture (SVG): NUMA nodes, PCIe switches, MIG placements and NVLink."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from dra_conformance.core.events import GpuOnNode, MigPlacement
from dra_conformance.report.model import Inventory

_BOX, _GAP, _LEFT = 128, 10, 74
"""Width of a GPU, the space between two, and the room for the name of a NUMA node, in pixels."""
_TEXT, _MIG, _BUS, _SWITCH = 61, 28, 22, 20
"""Heights in pixels: of a GPU's text and MIG slices, of the NVLink line below a row and of the switches above it."""
_IN_ROW = 8
_RAIL = 8
"""The space between two vertical NVLink lines."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A GPU instance, or a free memory slice (`name` is empty), in a GPU. `label` is the part of `name` that fits."""

    x: float
    width: float
    name: str

    @property
    def label(self) -> str:
        """The whole name, the slices (3g), or the number of slices."""
        slices = self.name.split(".")[0]
        return self.name if self.width > 45 else slices if self.width > 20 else slices.rstrip("g")


@dataclass(frozen=True, slots=True)
class Box:
    """A GPU: the place of its upper left corner, its lines of text, its MIG slices, and its description."""

    x: int
    y: int
    height: int
    lines: tuple[str, ...]
    slices: tuple[Slice, ...]
    title: str
    width: int = _BOX


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two points; `group` numbers the NVLink group, -1 is a PCIe switch. `label` is above its start."""

    x1: int
    y1: int
    x2: int
    y2: int
    group: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """A text at a place."""

    x: int
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class GpuMap:
    """The picture of an inventory. `label` describes it for readers that do not show it; `notes` are shown below."""

    width: int
    height: int
    label: str
    names: tuple[Name, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Gpu:
    """A GPU with its index in the inventory and the number of its NVLink group; -1 if it has no links."""

    index: int
    facts: GpuOnNode
    group: int


def draw(inventory: Inventory) -> GpuMap | None:
    """Return the picture of an inventory; None if it has no GPUs."""
    groups = _groups(inventory.gpus)
    gpus = [_Gpu(index, facts, groups[index]) for index, facts in enumerate(inventory.gpus)]
    if not gpus:
        return None
    rows = list(_rows(gpus))
    widest = max(len(row) for _, row in rows)
    right = _LEFT + widest * (_BOX + _GAP)
    names: list[Name] = []
    boxes: list[Box] = []
    lines: list[Line] = []
    rails: dict[int, list[int]] = defaultdict(list)
    y = 0
    for title, row in rows:
        y += _SWITCH
        height = _TEXT + (_MIG if any(gpu.facts.mig_slices for gpu in row) else 0)
        names.append(Name(0, y + 18, title))
        boxes += [_box(gpu, _LEFT + place * (_BOX + _GAP), y, height) for place, gpu in enumerate(row)]
        lines += _switches(row, y)
        bottom = y + height
        for group in sorted({gpu.group for gpu in row} - {-1}):
            bus = bottom + 6 + _RAIL * (group % 2)
            taps = [_LEFT + place * (_BOX + _GAP) + _BOX // 2 for place, gpu in enumerate(row) if gpu.group == group]
            lines += [Line(tap, bottom, tap, bus, group) for tap in taps]
            lines.append(Line(taps[0], bus, right + _RAIL * group, bus, group))
            rails[group].append(bus)
        y = bottom + _BUS
    lines += [
        Line(right + _RAIL * group, min(places), right + _RAIL * group, max(places), group)
        for group, places in sorted(rails.items())
        if len(places) > 1
    ]
    return GpuMap(
        width=right + _RAIL * (len(rails) + 1),
        height=y,
        label=f"{len(gpus)} GPUs of {inventory.name} by NUMA node, with PCIe switches, MIG placements and NVLink",
        names=tuple(names),
        boxes=tuple(boxes),
        lines=tuple(lines),
        notes=tuple(_notes(gpus)),
    )


def _rows(gpus: Sequence[_Gpu]) -> Iterator[tuple[str, list[_Gpu]]]:
    """Return the rows of GPUs by NUMA node, those below one PCIe switch beside each other."""
    first: dict[tuple[bool, int], int] = {}
    for gpu in gpus:
        first.setdefault(_switch(gpu), gpu.index)
    ordered = sorted(gpus, key=lambda gpu: (gpu.facts.numa_node, first[_switch(gpu)], gpu.index))
    for numa_node, of_node in groupby(ordered, key=lambda gpu: gpu.facts.numa_node):
        members = list(of_node)
        for start in range(0, len(members), _IN_ROW):
            yield ("no NUMA" if numa_node < 0 else f"NUMA {numa_node}"), members[start : start + _IN_ROW]


def _switch(gpu: _Gpu) -> tuple[bool, int]:
    alone = gpu.facts.pcie_switch < 0
    return alone, gpu.index if alone else gpu.facts.pcie_switch


def _switches(row: Sequence[_Gpu], y: int) -> Iterator[Line]:
    """Return a line above the GPUs of a row for each PCIe switch that they share."""
    for (alone, number), below in groupby(enumerate(row), key=lambda one: _switch(one[1])):
        places = [place for place, _ in below]
        if not alone:
            start, end = (_LEFT + place * (_BOX + _GAP) for place in (places[0], places[-1]))
            yield Line(start, y - 4, end + _BOX, y - 4, -1, f"PCIe switch {number}")


def _box(gpu: _Gpu, x: int, y: int, height: int) -> Box:
    facts = gpu.facts
    name = facts.product.removeprefix("NVIDIA ")
    address = facts.pci_address.removeprefix("0000")  # the domain has four digits on almost all machines
    memory = f"{facts.memory_mib / 1024:.0f} GiB" if facts.memory_mib else "memory unknown"
    details = [facts.product, facts.pci_address, memory]
    if facts.mig_slices:
        details += [f"{one.profile} at {one.start}:{one.size}" for one in facts.mig] or ["MIG without instances"]
    return Box(x, y, height, (f"GPU {gpu.index}", name, address), _slices(facts), ", ".join(details))


def _slices(facts: GpuOnNode) -> tuple[Slice, ...]:
    if not facts.mig_slices:
        return ()
    width = (_BOX - 12) / facts.mig_slices
    taken = {place for one in facts.mig for place in range(one.start, one.start + one.size)}
    free = (MigPlacement(profile="", start=place, size=1) for place in range(facts.mig_slices) if place not in taken)
    return tuple(Slice(6 + one.start * width, one.size * width, one.profile) for one in (*facts.mig, *free))


def _groups(gpus: Sequence[GpuOnNode]) -> list[int]:
    """Return the number of each GPU's NVLink group: all that reach each other over links and switches; -1: no links."""
    members: list[set[str]] = []
    for gpu in gpus:
        if gpu.nvlink_peers:
            ends = {gpu.pci_address, *gpu.nvlink_peers}
            joined = [group for group in members if group & ends]
            members = [group for group in members if not group & ends]
            members.append(ends.union(*joined))
    used = [next((number for number, group in enumerate(members) if gpu.pci_address in group), -1) for gpu in gpus]
    order = list(dict.fromkeys(number for number in used if number >= 0))
    return [order.index(number) if number >= 0 else -1 for number in used]


def _notes(gpus: Sequence[_Gpu]) -> Iterator[str]:
    own = {gpu.facts.pci_address for gpu in gpus}
    for group in sorted({gpu.group for gpu in gpus} - {-1}):
        members = [gpu for gpu in gpus if gpu.group == group]
        links = sorted({gpu.facts.nvlinks for gpu in members})
        switches = {peer for gpu in members for peer in gpu.facts.nvlink_peers} - own
        to = f" to {len(switches)} NVSwitches" if len(switches) > 1 else " to one NVSwitch" if switches else ""
        each = " each" if len(members) > 1 else ""
        yield f"NVLink: {_indices(members)}, {' or '.join(map(str, links))} links{each}{to}"
    cliques: dict[str, list[_Gpu]] = defaultdict(list)
    for gpu in gpus:
        if gpu.facts.clique:
            cliques[gpu.facts.clique].append(gpu)
    for clique, members in cliques.items():
        yield f"NVLink clique {clique}: {_indices(members)}"


def _indices(gpus: Sequence[_Gpu]) -> str:
    """Return the GPUs as text, with the first and the last of indices in a row."""
    runs = [
        [index for _, index in run]
        for _, run in groupby(enumerate(gpu.index for gpu in gpus), key=lambda pair: pair[1] - pair[0])
    ]
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"GPU{'s' if len(gpus) > 1 else ''} {', '.join(parts)}"
