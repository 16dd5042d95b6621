"""An inventory as text: every value, its source, and whether it was verified on hardware.

Pure functions of a loaded inventory; the sources are in the board files and in the inventory itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.inventory import GpuSpec, Inventory


def describe_lines(inventory: Inventory, *, unverified_only: bool = False) -> Iterator[str]:
    """One line a value, board by board; `?` in front of what was not verified.

    Args:
        inventory: a loaded one.
        unverified_only: leave out what was seen on hardware.
    """
    mark = " " if inventory.verified else "?"
    yield f"{inventory.name}: {inventory.about}"
    yield f"{mark} driver {inventory.driver_version}, CUDA {inventory.cuda_version / 1000:.1f}   [{inventory.source}]"
    done: set[str] = set()
    for spec in inventory.gpus:
        if spec.board.name in done:
            continue
        done.add(spec.board.name)
        count = sum(other.board.name == spec.board.name for other in inventory.gpus)
        yield ""
        yield f"{count} x {spec.board.name}"
        for line, verified in _board(spec):
            if not (verified and unverified_only):
                yield f"{' ' if verified else '?'} {line}"
    yield ""
    for index, spec in enumerate(inventory.gpus):
        own = ", ".join(f"{name}={value}" for name, value in sorted(spec.overrides.items()))
        address = f"{spec.domain:08X}:{spec.bus:02X}:{spec.device:02X}.0"
        if not (inventory.verified and unverified_only):
            yield f"{mark} GPU {index} {address} {spec.board.name}{' ' + own if own else ''}   [{inventory.source}]"
    doubtful = sum(not value.verified for spec in inventory.gpus for value in spec.board.values.values())
    if doubtful:
        yield ""
        yield "warning: values marked ? were not verified on hardware; do not take them for what a GPU answers"


def _board(spec: GpuSpec) -> Iterator[tuple[str, bool]]:
    for name in (*SCALARS, *STRINGS):
        value = spec.board.values.get(name)
        if value is not None:
            yield f"{name:36} {value.value}   [{value.source}]", value.verified
    for row in spec.board.profiles:
        starts = ",".join(map(str, row.starts))
        text = f"MIG {row.name} id {row.id}, {row.memory_mib} MiB, {row.multiprocessors} SM, {{{starts}}}:{row.size}"
        yield f"{text}   [{spec.board.mig_source}]", row.verified
