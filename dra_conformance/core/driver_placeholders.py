"""The placeholders of a command on a node that decide how much of its program a run can judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dra_conformance.core.component_spec import DRIVER_ROOT, FLAGS, ComponentSpec


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A word of a command.

    `gives` is what the program gets in its place, `judged` what only a run with the word can judge. `needs` are the
    tags `@needs:` of scenarios with the component that are untestable without it.
    """

    word: str
    gives: str
    judged: str
    needs: frozenset[str]


_ROOT = "the root of an NVIDIA driver installation with the GPUs of the scenario's own fake node"

OPTIONAL: Mapping[str, tuple[Placeholder, ...]] = {
    "driver": (
        Placeholder(
            DRIVER_ROOT,
            _ROOT,
            "GPU, MIG and health scenarios of gpu.nvidia.com",
            frozenset({"fake-nvml", "seen-nvml"}),
        ),
        Placeholder(
            FLAGS,
            "the flags of a scenario, such as --feature-gates=DynamicMIG=true",
            "scenarios of gpu.nvidia.com with other feature gates than the driver's own defaults",
            frozenset({"driver-flags"}),
        ),
    ),
    "compute-domain-plugin": (
        Placeholder(DRIVER_ROOT, _ROOT, "scenarios with channels and daemons", frozenset({"fake-nvml"})),
        Placeholder(
            FLAGS,
            "the flags of a scenario, such as --imex-mode=hostManaged",
            "scenarios with IMEX daemons of the hosts, other gates or invalid flags",
            frozenset({"compute-domain-plugin-flags"}),
        ),
    ),
    "device-plugin": (
        Placeholder(DRIVER_ROOT, _ROOT, "scenarios that choose or break GPUs", frozenset({"fake-nvml"})),
        Placeholder(
            FLAGS,
            "the flags of a scenario in the spelling of NVIDIA's plugin, such as --mig-strategy=mixed",
            "scenarios with MIG strategies, shared devices or one kind of answer",
            frozenset({"device-plugin-flags"}),
        ),
    ),
    "compute-domain-controller": (
        Placeholder(
            FLAGS,
            "the flags of a scenario, such as --imex-mode=hostManaged",
            "scenarios with IMEX daemons of the hosts, or invalid flags",
            frozenset({"compute-domain-flags"}),
        ),
    ),
}
"""The words that a command needs beside those for its directories, by component."""


def absent(spec: ComponentSpec, driver_name: str) -> list[Placeholder]:
    """Return the optional placeholders that a command does not have; those of a driver are for gpu.nvidia.com."""
    if spec.kind != "exec" or (spec.component == "driver" and driver_name != "gpu.nvidia.com"):
        return []
    return [one for one in OPTIONAL.get(spec.component, ()) if one.word not in spec.argument]
