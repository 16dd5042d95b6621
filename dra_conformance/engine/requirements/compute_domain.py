"""Requirements on the components of ComputeDomains."""

from __future__ import annotations

from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, requirement, untestable
from dra_conformance.engine.target import Target

_CONTROLLER = "compute-domain-controller"


@requirement
def compute_domain(scenario: Scenario, target: Target) -> Unmet | None:
    """The ComputeDomain API and a controller for it."""
    if target.components[_CONTROLLER].kind == "none":
        return not_applicable(f"there is no ComputeDomain controller (--{_CONTROLLER} none)")
    if "computedomains" in target.missing_apis:
        return not_applicable("the control plane does not serve ComputeDomains")
    return None


@requirement
def compute_domain_plugin(scenario: Scenario, target: Target) -> Unmet | None:
    """A node's ComputeDomain kubelet plugin, which the run starts for the reference controller only."""
    kind = target.components[_CONTROLLER].kind
    if kind != "reference":
        return untestable(f"would test the reference's ComputeDomain kubelet plugin; the controller is {kind}")
    return None


@requirement
def compute_domain_flags(scenario: Scenario, target: Target) -> Unmet | None:
    """A ComputeDomain controller whose flags the scenario can choose: the reference."""
    kind = target.components[_CONTROLLER].kind
    if kind != "reference":
        return untestable(f"starts the ComputeDomain controller with other flags; the controller is {kind}")
    return None
