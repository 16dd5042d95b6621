"""The placeholders of a driver's command that decide how much of it a run can judge."""

from __future__ import annotations

from dataclasses import dataclass

from dra_conformance.core.component_spec import DRIVER_ROOT, FLAGS, ComponentSpec


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A word of a driver's command.

    `gives` is what the driver gets in its place, `judged` what only a run with the word can judge. `needs` are the
    tags `@needs:` of scenarios that are untestable without it.
    """

    word: str
    gives: str
    judged: str
    needs: frozenset[str]


OPTIONAL = (
    Placeholder(
        DRIVER_ROOT,
        "the root of an NVIDIA driver installation with the GPUs of the scenario's own fake node",
        "GPU, MIG and health scenarios of gpu.nvidia.com",
        frozenset({"fake-nvml", "seen-nvml"}),
    ),
    Placeholder(
        FLAGS,
        "the flags of a scenario, such as --feature-gates=DynamicMIG=true",
        "scenarios of gpu.nvidia.com with other feature gates than the driver's own defaults",
        frozenset({"driver-flags"}),
    ),
)
"""The words that a driver for gpu.nvidia.com needs beside those for its directories."""


def absent(driver: ComponentSpec, driver_name: str) -> list[Placeholder]:
    """Return the optional placeholders that the command of a driver for gpu.nvidia.com does not have."""
    if driver.kind != "exec" or driver_name != "gpu.nvidia.com":
        return []
    return [one for one in OPTIONAL if one.word not in driver.argument]
