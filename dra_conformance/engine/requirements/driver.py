"""Requirements on the DRA driver."""

from __future__ import annotations

from dra_conformance.core.component_spec import FLAGS
from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, requirement, untestable
from dra_conformance.engine.target import Target


@requirement
def gpu_driver(scenario: Scenario, target: Target) -> Unmet | None:
    """The driver gpu.nvidia.com."""
    if target.driver_name != "gpu.nvidia.com":
        # Rules of every driver, and of other components, bind all the same.
        return not_applicable(
            f"applies to the driver gpu.nvidia.com; the driver is {target.driver_name}",
            only=lambda rule: bool(rule.driver) and rule.driver != target.driver_name,
        )
    return None


@requirement
def process_driver(scenario: Scenario, target: Target) -> Unmet | None:
    """A driver that the harness runs as a process and can kill."""
    driver = target.components["driver"]
    if driver.kind not in ("exec", "reference"):
        return untestable(f"kills the driver; the run did not start this one ({driver.kind})")
    return None


@requirement
def driver_health(scenario: Scenario, target: Target) -> Unmet | None:
    """A driver that streams the health of its devices (the feature `health`)."""
    if reason := target.features.unsupported.get("health"):
        return not_applicable(f"needs a driver that streams the health of its devices; health: {reason}")
    return None


@requirement
def driver_flags(scenario: Scenario, target: Target) -> Unmet | None:
    """A driver whose flags the scenario can choose (the word {flags} in its command)."""
    driver = target.components["driver"]
    if driver.kind == "reference" or (driver.kind == "exec" and FLAGS in driver.command):
        return None
    return untestable("starts the driver with other flags, and its command has no word {flags}")


@requirement
def simulated_mps(scenario: Scenario, target: Target) -> Unmet | None:
    """A node that runs the driver's MPS control daemon, which is simulated.

    The reference starts it as a program of the node. For a driver that starts it as a Deployment, the emulated kubelet
    runs the container.
    """
    driver = target.components["driver"]
    if driver.kind == "reference" or (driver.takes_fake_gpus and target.components["control-plane"].kind == "embedded"):
        return None
    return untestable(
        "a driver may start the MPS control daemon as a Deployment, which only the embedded control plane runs"
    )
