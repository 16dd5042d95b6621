"""Requirements on the control plane, its API versions and its clock."""

from __future__ import annotations

import re

from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, requirement, untestable
from dra_conformance.engine.target import Target, outside_this_process

# A step that advances time, such as "30 seconds pass" or "... after 600 seconds".
_PASSING = re.compile(r"(?:.* after )?(\d+) seconds(?: pass)?(?: while claims wait)?")
# A step that names a version of resource.k8s.io, or a manifest of one; the file name ends in the version.
_NAMED_VERSION = re.compile(r'(?:manifest "[^"]*-(?=v1)|resource\.k8s\.io/|(?:in|of) version )(v1(?:beta\d)?)\b')
_LONGEST_WAIT = 180  # seconds that a scenario may wait for a program that uses real time

BYPASS_HARNESS = "do not pass through the harness"
"""In the reason why no faults can be injected into the requests of a component."""


@requirement
def own_control_plane(scenario: Scenario, target: Target) -> Unmet | None:
    """A control plane that belongs to the run."""
    return None if target.own_control_plane else untestable("needs a control plane that belongs to the run")


@requirement
def own_etcd(scenario: Scenario, target: Target) -> Unmet | None:
    """A control plane of the run with an etcd that can be killed."""
    control_plane = target.components["control-plane"]
    if control_plane.kind != "binaries":
        return untestable(f"needs an etcd that belongs to the run; the control plane is {control_plane.kind}")
    return None


@requirement
def node_authorizer(scenario: Scenario, target: Target) -> Unmet | None:
    """An API server that gives nodes access by their identity (Node authorizer)."""
    # That authorizer watches ResourceSlices in v1: kube-apiserver never becomes ready with it and without v1.
    if target.components["control-plane"].kind == "binaries" and "v1" not in target.resource_versions:
        return untestable(
            "needs the Node authorizer; kube-apiserver runs without it, because it does not serve resource.k8s.io/v1"
        )
    return None


@requirement
def faults(scenario: Scenario, target: Target) -> Unmet | None:
    """Components whose requests pass through the harness, so that it can inject faults."""
    for component in scenario.tags.components:
        spec = target.components.get(component)
        if component != "control-plane" and spec is not None and spec.kind in ("cluster", "socket"):
            return untestable(f"the requests of the {component} ({spec.kind}) {BYPASS_HARNESS}")
    return None


@requirement
def virtual_clock(scenario: Scenario, target: Target) -> Unmet | None:
    """Time that the scenario can advance in every component that it uses, or that it can wait for in real time."""
    outside = outside_this_process(scenario.tags.components, target.components)
    seconds = sum(int(found[1]) for step in scenario.steps if (found := _PASSING.fullmatch(step.text)))
    if outside and seconds > _LONGEST_WAIT:
        return untestable(f"would wait {seconds} s for the {outside[0]} outside this process")
    return None


@requirement
def v1_shapes(scenario: Scenario, target: Target) -> Unmet | None:
    """A version of resource.k8s.io that is newer than v1beta1, which lacks fields of v1."""
    if set(target.resource_versions) <= {"v1beta1"}:
        return not_applicable(
            "uses fields that resource.k8s.io/v1beta1 does not have, and the control plane serves no other version"
        )
    return None


@requirement
def served_version(scenario: Scenario, target: Target) -> Unmet | None:
    """The versions of resource.k8s.io that the scenario names, such as that of its manifest."""
    named = {found for step in scenario.steps for found in _NAMED_VERSION.findall(step.text)}
    if lacking := sorted(named - set(target.resource_versions)):
        return not_applicable(f"uses resource.k8s.io/{lacking[0]}, which the control plane does not serve")
    return None
