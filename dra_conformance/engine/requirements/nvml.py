"""Requirements on the GPUs and on the NVML library."""

from __future__ import annotations

from dra_conformance.core.component_spec import DRIVER_ROOT, NODE_PROGRAMS
from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, requirement, untestable
from dra_conformance.engine.target import Target

_SEVERAL_GPUS = 4
_ALL_GPUS = 8


@requirement
def fake_nvml(scenario: Scenario, target: Target) -> Unmet | None:
    """GPUs of the fake NVML library, which the scenario can choose and change."""
    if target.nvml == "real":
        return untestable("changes or chooses the GPUs, which is possible with the fake NVML only (--nvml fake)")
    if target.gpus is not None and target.gpus < _ALL_GPUS:
        return untestable(f"changes one of {_ALL_GPUS} GPUs; the inventory has {target.gpus} (--inventory)")
    if "nvml" in scenario.tags.components:  # the scenario calls the library itself, without a driver
        return None
    for component in NODE_PROGRAMS:
        if component in scenario.tags.components and (reason := _not_on_fake_gpus(target, component)):
            return untestable(f"needs a {component} on the fake NVML; {reason}")
    return None


def _not_on_fake_gpus(target: Target, component: str) -> str:
    """Return why a program does not run on the GPUs of the scenario's fake node; empty if it does."""
    spec = target.components[component]
    if spec.takes_fake_gpus:
        return target.no_driver_view if spec.kind == "exec" else ""
    if spec.kind == "exec":
        return f"the {component}'s command has no word {DRIVER_ROOT}"
    return f"the {component} is {spec.kind}"


@requirement
def chosen_gpus(scenario: Scenario, target: Target) -> Unmet | None:
    """GPUs of a kind that the scenario chooses, which are not those of this machine (--nvml real)."""
    if target.nvml == "real":
        return not_applicable("is about GPUs of another kind than this machine's (--nvml real)")
    return None


@requirement
def stand_in_nvml(scenario: Scenario, target: Target) -> Unmet | None:
    """A library in the place of NVIDIA's: one that is NVIDIA's own (--nvml real) has what its release has."""
    if target.nvml == "real":
        return not_applicable("is about a library in the place of NVIDIA's (--nvml real)")
    return None


@requirement
def several_gpus(scenario: Scenario, target: Target) -> Unmet | None:
    """At least four GPUs, of this machine (--nvml real) or of the inventory."""
    if target.gpus is not None and target.gpus < _SEVERAL_GPUS:
        # The library of a machine with few GPUs cannot behave otherwise; a driver may run on other machines too.
        where = "this machine has" if target.nvml == "real" else "the inventory has"
        return not_applicable(
            f"needs {_SEVERAL_GPUS} GPUs; {where} {target.gpus}", only=lambda rule: rule.component == "nvml"
        )
    return None


@requirement
def seen_nvml(scenario: Scenario, target: Target) -> Unmet | None:
    """The NVML library that the driver uses: that of the scenario's fake node, or this machine's (--nvml real)."""
    if target.nvml != "real" and (reason := _not_on_fake_gpus(target, "driver")):
        return untestable(f"compares the driver with its NVML library; {reason}, so it may use another (--nvml real)")
    return None
