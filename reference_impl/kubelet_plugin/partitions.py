"""Partitions of a GPU into MIG devices, and the counters that prevent overlap.

A GPU with MIG devices on demand is published with every possible placement of a MIG device. Counters of the GPU
(engines, memory, one for each memory slice) let a scheduler allocate only what fits. Values come from NVML, read
once by `reference_impl.kubelet_plugin.mig_profiles`; they are frozen.

Source: KEP-4815 (partitionable devices); cmd/gpu-kubelet-plugin partitions.go at 95932046; rules NV-034 to NV-040.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_api.objects import Obj

MEBI = 1 << 20
_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti")


@dataclass(frozen=True, slots=True, kw_only=True)
class MigProfile:
    """One GPU instance profile that a single compute instance fills.

    `id` is the number that instances carry; `slices` counts compute slices, `size` memory slices, `starts` are the
    placements; `engines` maps capacity names to how many an instance has.
    """

    id: int
    name: str
    slices: int
    size: int
    starts: tuple[int, ...]
    memory_mib: int
    engines: Mapping[str, int]

    @property
    def amounts(self) -> dict[str, int]:
        """Return the amount of each counter that an instance consumes; memory in bytes."""
        return {**self.engines, "memory": self.memory_mib * MEBI}


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The profiles of a GPU that can be cut on demand."""

    profiles: tuple[MigProfile, ...]

    @property
    def amounts(self) -> dict[str, int]:
        """Return the amount of each counter of the whole GPU: the largest that any profile consumes."""
        return {name: max(profile.amounts[name] for profile in self.profiles) for name in self.profiles[0].amounts}

    @property
    def memory_slices(self) -> int:
        """Return the number of memory slices of the GPU."""
        return max(profile.size for profile in self.profiles)

    def counter_set(self, minor: int) -> Obj:
        """Return the GPU's entry of `spec.sharedCounters` (rule NV-037)."""
        return {"name": set_name(minor), "counters": counters(self.amounts, range(self.memory_slices))}


def consumed(minor: int, amounts: Mapping[str, int], slices: Sequence[int]) -> list[Obj]:
    """Return `consumesCounters` of a device that takes these amounts and memory slices (rules NV-034 to NV-036)."""
    return [{"counterSet": set_name(minor), "counters": counters(amounts, slices)}]


def counters(amounts: Mapping[str, int], slices: Sequence[int]) -> Obj:
    """Return amounts and memory slices as counters."""
    found: Obj = {counter_name(name): {"value": quantity_of(name, number)} for name, number in amounts.items()}
    return found | {f"memory-slice-{position}": {"value": "1"} for position in slices}


def set_name(minor: int) -> str:
    """Return the counter set of a GPU."""
    return f"gpu-{minor}-counter-set"


def counter_name(capacity: str) -> str:
    """Return `copy-engines` for the capacity `copyEngines`: counters have the names of DNS labels."""
    return re.sub(r"([A-Z])", r"-\1", capacity).lower()


def quantity_of(name: str, number: int) -> str:
    """Return a number as a quantity: memory in binary units, everything else as it is."""
    return binary_quantity(number) if name == "memory" else str(number)


def binary_quantity(number: int) -> str:
    """Return a quantity in its canonical BinarySI form: the largest suffix that divides (`85899345920` is `80Gi`)."""
    step = 0
    while number and number % 1024 == 0:
        number //= 1024
        step += 1
    return f"{number}{_SUFFIXES[step]}"
