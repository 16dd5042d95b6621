"""Requirements on the DRA driver."""

from __future__ import annotations

from dra_conformance.core.component_spec import FLAGS
from dra_conformance.core.features import Scenario
from dra_conformance.core.status import Status
from dra_conformance.engine.requirements.registry import requirement
from dra_conformance.engine.target import Target


@requirement(status=Status.NOT_SUPPORTED)
def declared_configuration(scenario: Scenario, target: Target) -> str | None:
    """A driver that is declared to read opaque parameters ([declaration] of dra-conformance.toml)."""
    return _undeclared("configuration", target)


@requirement(status=Status.NOT_SUPPORTED)
def declared_health(scenario: Scenario, target: Target) -> str | None:
    """A driver that is declared to stream the health of its devices ([declaration] of dra-conformance.toml)."""
    return _undeclared("health", target)


def _undeclared(capability: str, target: Target) -> str | None:
    if capability not in target.capabilities:
        return f"{capability} is not declared ([declaration] of dra-conformance.toml)"
    return None


@requirement()
def gpu_driver(scenario: Scenario, target: Target) -> str | None:
    """The driver gpu.nvidia.com."""
    if target.driver_name != "gpu.nvidia.com":
        return f"applies to the driver gpu.nvidia.com; the driver is {target.driver_name}"
    return None


@requirement()
def process_driver(scenario: Scenario, target: Target) -> str | None:
    """A driver that the harness runs as a process and can kill."""
    driver = target.components["driver"]
    if driver.kind not in ("exec", "reference"):
        return f"kills the driver; the run did not start this one ({driver.kind})"
    return None


@requirement()
def driver_flags(scenario: Scenario, target: Target) -> str | None:
    """A driver whose flags the scenario can choose (the word {flags} in its command)."""
    driver = target.components["driver"]
    if driver.kind == "reference" or (driver.kind == "exec" and FLAGS in driver.command):
        return None
    return "starts the driver with other flags, and its command has no word {flags}"
