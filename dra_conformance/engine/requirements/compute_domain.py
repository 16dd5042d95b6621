"""Requirements on the components of ComputeDomains."""

from __future__ import annotations

from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import requirement
from dra_conformance.engine.target import Target

_CONTROLLER = "compute-domain-controller"


@requirement()
def compute_domain(scenario: Scenario, target: Target) -> str | None:
    """The ComputeDomain API and a controller for it."""
    if target.components[_CONTROLLER].kind == "none":
        return f"there is no ComputeDomain controller (--{_CONTROLLER} none)"
    if "computedomains" in target.missing_apis:
        return "the control plane does not serve ComputeDomains"
    return None


@requirement()
def compute_domain_plugin(scenario: Scenario, target: Target) -> str | None:
    """A node's ComputeDomain kubelet plugin, which the run starts for the reference controller only."""
    kind = target.components[_CONTROLLER].kind
    if kind != "reference":
        return f"would test the reference's ComputeDomain kubelet plugin; the controller is {kind}"
    return None


@requirement()
def compute_domain_flags(scenario: Scenario, target: Target) -> str | None:
    """A ComputeDomain controller whose flags the scenario can choose: the reference."""
    kind = target.components[_CONTROLLER].kind
    if kind != "reference":
        return f"starts the ComputeDomain controller with other flags; the controller is {kind}"
    return None
