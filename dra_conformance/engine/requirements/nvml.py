"""Requirements on the GPUs and on the NVML library."""

from __future__ import annotations

from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import requirement
from dra_conformance.engine.target import Target

_SEVERAL_GPUS = 4


@requirement()
def fake_nvml(scenario: Scenario, target: Target) -> str | None:
    """GPUs of the fake NVML library, which the scenario can choose and change."""
    if target.nvml == "real":
        return "changes or chooses the GPUs, which is possible with the fake NVML only (--nvml fake)"
    if "nvml" in scenario.tags.components:  # the scenario calls the library itself, without a driver
        return None
    driver = target.components["driver"]
    if driver.kind != "reference":
        return f"needs the fake NVML below the reference driver; the driver is {driver.kind}"
    return None


@requirement()
def several_gpus(scenario: Scenario, target: Target) -> str | None:
    """At least four GPUs if they are this machine's (--nvml real)."""
    if target.gpus is not None and target.gpus < _SEVERAL_GPUS:
        return f"needs {_SEVERAL_GPUS} GPUs; this machine has {target.gpus}"
    return None


@requirement()
def seen_nvml(scenario: Scenario, target: Target) -> str | None:
    """The NVML library that the driver uses: the reference driver's, or this machine's (--nvml real)."""
    driver = target.components["driver"]
    if driver.kind != "reference" and target.nvml != "real":
        return (
            f"compares the driver with its NVML library; the driver is {driver.kind} and may use another (--nvml real)"
        )
    return None
