"""Requirements on the components of ComputeDomains."""

from __future__ import annotations

from dra_conformance.core.component_spec import FLAGS, ComponentSpec
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
def imex_daemons(scenario: Scenario, target: Target) -> Unmet | None:
    """A daemon of ComputeDomains that the run can start in the pods of their DaemonSets."""
    daemon = target.components["compute-domain-daemon"]
    if daemon.kind == "none":
        return not_applicable("there is no daemon of ComputeDomains (--compute-domain-daemon none)")
    if daemon.kind == "exec" and target.no_driver_view:
        return untestable(f"the daemon needs a hosts file of its own, and {target.no_driver_view}")
    return None


@requirement
def compute_domain_flags(scenario: Scenario, target: Target) -> Unmet | None:
    """A ComputeDomain controller whose flags the scenario can choose (the word {flags} in its command)."""
    return _flags(target.components[_CONTROLLER], "controller")


@requirement
def compute_domain_plugin_flags(scenario: Scenario, target: Target) -> Unmet | None:
    """A ComputeDomain kubelet plugin whose flags the scenario can choose (the word {flags} in its command)."""
    return _flags(target.components["compute-domain-plugin"], "kubelet plugin")


def _flags(spec: ComponentSpec, what: str) -> Unmet | None:
    if spec.kind == "reference" or (spec.kind == "exec" and FLAGS in spec.command):
        return None
    found = f"its command has no word {FLAGS}" if spec.kind == "exec" else f"that is {spec.kind}"
    return untestable(f"starts the ComputeDomain {what} with other flags, and {found}")
