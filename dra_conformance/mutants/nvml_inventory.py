"""Faults in the way from an inventory to the state and files of a fake node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from fake_nvml.state import set_field


@mutant("whole-gpu-instance-is-a-half", rule="NVML-046")
def _(patch: Patch) -> None:
    """The id of a GPU instance over all memory slices is that of a half."""
    patch.wrap("fake_nvml.state:tree_id", lambda original: lambda start, size: original(start, min(size, 4)))


@mutant("unknown-numa-node-is-0", rule="NVML-087")
def _(patch: Patch) -> None:
    """sysfs names NUMA node 0 for a GPU whose node is unknown."""

    def field(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda gpu, name: (0, 0) if name == "numa_node" and original(gpu, name)[1] else original(gpu, name)

    patch.wrap("fake_nvml.driver_root:get_field", field)


@mutant("memory-node-0-is-unknown", rule="NVML-030")
def _(patch: Patch) -> None:
    """A GPU near memory node 0 is near none."""

    def field(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda gpu, name: (-1, 0) if (name, original(gpu, name)[0]) == ("numa_node", 0) else original(gpu, name)

    patch.wrap("fake_nvml.state:get_field", field)


@mutant("units-of-values-ignored", rule="NVML-005")
def _(patch: Patch) -> None:
    """A value with a unit is stored as if it had the field's own unit."""
    patch.replace("fake_nvml.boards:units_of", lambda name: dict.fromkeys(("kW", "W", "GHz", "MHz", "C", "%"), 1))


@mutant("driver-branch-of-another-release", rule="NVML-005")
def _(patch: Patch) -> None:
    """The branch of the driver is that of another version."""

    def parse(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda document: replace(original(document), driver_branch="r1_00")

    patch.wrap("fake_nvml.inventory:_parse", parse)


@mutant("short-serial-numbers", rule="NVML-022")
def _(patch: Patch) -> None:
    """The serial number of a GPU lacks its first digit."""
    patch.wrap("fake_nvml.state:gpu_serial", lambda original: lambda node, which: original(node, which)[1:])


@mutant("reset-keeps-used-memory", rule="NVML-008")
def _(patch: Patch) -> None:
    """The memory of processes that a reset ended stays in use."""

    def reset(original: Callable[..., None]) -> Callable[..., None]:
        def keep(device: Any) -> None:
            original(device)
            set_field(device, "memory_used", 1 << 20)

        return keep

    patch.wrap("fake_nvml.incidents:reset", reset)


@mutant("one-chassis-for-all-racks", rule="NVML-067")
def _(patch: Patch) -> None:
    """Every rack has the same chassis serial number."""
    patch.wrap("fake_nvml.rack:gpu_serial", lambda original: lambda node, which: original("rack", which))


@mutant("view-with-mig-off", rule="NVML-022")
def _(patch: Patch) -> None:
    """The Python interface of a node shows every GPU with MIG off."""
    patch.wrap(
        "fake_nvml.node:view", lambda original: lambda state, index: replace(original(state, index), mig_enabled=False)
    )


@mutant("lost-gpu-not-shown", rule="NVML-061")
def _(patch: Patch) -> None:
    """The Python interface of a node shows no GPU as lost."""
    patch.wrap("fake_nvml.node:view", lambda original: lambda state, index: replace(original(state, index), lost=False))
