"""Requirements on the kubelet."""

from __future__ import annotations

from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, requirement, untestable
from dra_conformance.engine.target import Target


@requirement
def own_kubelet(scenario: Scenario, target: Target) -> Unmet | None:
    """The harness's own kubelet."""
    kubelet = target.components["kubelet"].kind
    # The real kubelet runs only in scenarios that name the component; the harness's serves the driver in all others.
    if kubelet in ("cluster", "none") or (kubelet == "kubelet" and "kubelet" in scenario.tags.components):
        return untestable(f"needs the harness's kubelet (--kubelet {kubelet})")
    return None


@requirement
def run_kubelet(scenario: Scenario, target: Target) -> Unmet | None:
    """A kubelet that the run starts: the harness's own, or the real kubelet with containers."""
    match target.components["kubelet"].kind:
        case "cluster":
            return untestable("needs a kubelet that the run starts; this one belongs to the cluster")
        case "none":
            return not_applicable(
                "the run has no kubelet (--kubelet none)", only=lambda rule: rule.component == "kubelet"
            )
    return None
