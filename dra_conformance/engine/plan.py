"""Decides which scenarios run against a target, and gives each other scenario a status and a reason.

A pure function of the features, the catalogue, the options and what is known of the target. Every scenario of the
selected profiles is in the plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.features import Scenario
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue
from dra_conformance.core.rules.window import outside
from dra_conformance.core.status import Status
from dra_conformance.core.tags import in_profiles
from dra_conformance.engine import requirements
from dra_conformance.engine.target import Target


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one scenario: run it (`status` None), or report a status with its reason."""

    scenario: Scenario
    status: Status | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions on all scenarios of the selected profiles, in order."""

    decisions: Sequence[Decision]

    @property
    def to_run(self) -> list[Scenario]:
        """The scenarios that run."""
        return [decision.scenario for decision in self.decisions if decision.status is None]

    def __len__(self) -> int:
        return len(self.decisions)


def check_specification(scenarios: Sequence[Scenario], catalogue: Catalogue) -> None:
    """Raise SpecificationError if features and catalogue do not match."""
    for scenario in scenarios:
        if not scenario.rules:
            raise SpecificationError(f"{scenario.where}: the scenario has no rule tag, so it judges nothing")
        if not scenario.tags.profiles:
            raise SpecificationError(f"{scenario.where}: the scenario belongs to no profile")
        for rule in scenario.rules:
            if rule not in catalogue:
                raise SpecificationError(f"{scenario.where}: @{rule} is not in the rule catalogue")
        for step in scenario.steps:
            for rule in step.rules:
                if rule not in scenario.rules:
                    raise SpecificationError(
                        f"{scenario.where}, line {step.line}: [{rule}] is not a tag of the scenario"
                    )
        outcomes = [step for step in scenario.steps if step.kind == "then"]
        if not outcomes:
            raise SpecificationError(f"{scenario.where}: the scenario has no Then step, so it checks nothing")
        if len(scenario.rules) > 1:
            if bare := [step for step in outcomes if not step.rules]:
                raise SpecificationError(
                    f"{scenario.where}, line {bare[0].line}: with several rules every Then step names its own"
                )
            if silent := set(scenario.rules) - {rule for step in outcomes for rule in step.rules}:
                raise SpecificationError(f"{scenario.where}: no Then step checks {', '.join(sorted(silent))}")


def make(scenarios: Sequence[Scenario], catalogue: Catalogue, options: RunOptions, target: Target) -> Plan:
    """Decide on every scenario of the selected profiles. Raises UsageError for a rule that does not exist."""
    check_specification(scenarios, catalogue)
    selection = _Selection(
        catalogue=catalogue,
        options=options,
        target=target,
        rules=frozenset(catalogue.find(rule).id for rule in options.rule),
        focus=tuple(re.compile(text, re.IGNORECASE) for text in options.focus),
        skip=tuple(re.compile(text, re.IGNORECASE) for text in options.skip),
    )
    return Plan([_decide(scenario, selection) for scenario in scenarios if in_profiles(scenario.tags, options.profile)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Selection:
    """Everything that a decision depends on beside the scenario."""

    catalogue: Catalogue
    options: RunOptions
    target: Target
    rules: frozenset[str]
    focus: tuple[re.Pattern[str], ...]
    skip: tuple[re.Pattern[str], ...]


def _decide(scenario: Scenario, selection: _Selection) -> Decision:
    for decider in _DECIDERS:
        if found := decider(scenario, selection):
            status, reason = found
            return Decision(scenario, status, reason)
    return Decision(scenario)


_Decider = Callable[[Scenario, _Selection], tuple[Status, str] | None]


def _selected(scenario: Scenario, selection: _Selection) -> tuple[Status, str] | None:
    """Apply --rule, --focus and --skip."""
    if selection.rules and not selection.rules & set(scenario.rules):
        return Status.FILTERED, "not selected by --rule"
    label = f"{scenario.id} {scenario.name}"
    if selection.focus and not any(pattern.search(label) for pattern in selection.focus):
        return Status.FILTERED, "not selected by --focus"
    if any(pattern.search(label) for pattern in selection.skip):
        return Status.FILTERED, "left out by --skip"
    return None


def _disruptive(scenario: Scenario, selection: _Selection) -> tuple[Status, str] | None:
    """Filter scenarios that may break hardware or a cluster, unless --allow-disruptive."""
    if not scenario.tags.disruptive or selection.options.allow_disruptive:
        return None
    if "nvml" in scenario.tags.components:
        if selection.target.nvml == "real":
            return Status.FILTERED, "changes the MIG layout of a real GPU (--allow-disruptive)"
    elif not selection.target.own_control_plane:
        return Status.FILTERED, "disruptive, and the run does not own the control plane (--allow-disruptive)"
    return None


def _version_window(scenario: Scenario, selection: _Selection) -> tuple[Status, str] | None:
    """Apply the version windows of the scenario and of its rules."""
    windows = [(scenario.tags.since, scenario.tags.until)]
    windows += [(selection.catalogue[rule].since, selection.catalogue[rule].until) for rule in scenario.rules]
    for since, until in windows:
        if reason := outside(selection.target.kubernetes_version, since, until):
            return Status.NOT_APPLICABLE, reason
    return None


def _feature_gates(scenario: Scenario, selection: _Selection) -> tuple[Status, str] | None:
    """Apply the feature gates of the scenario and of its rules."""
    target = selection.target
    of_rules = (selection.catalogue[rule].gate for rule in scenario.rules)
    for gate in [*scenario.tags.gates, *(gate for gate in of_rules if gate)]:
        # A gate that is not listed counts as on: releases remove gates of stable features.
        if not target.feature_gates.get(gate, True):
            known = " by default in its release (the cluster does not report its gates)"
            return Status.NOT_SUPPORTED, f"feature gate {gate} is off" + (
                known if target.gates_assumed else " on the control plane"
            )
    for gate in scenario.tags.gates_off:
        if target.feature_gates.get(gate, True):
            return Status.NOT_APPLICABLE, f"feature gate {gate} is on (--feature-gates {gate}=false)"
    return None


def _no_component(scenario: Scenario, selection: _Selection) -> tuple[Status, str] | None:
    """Apply `--COMPONENT none`."""
    for component in scenario.tags.components:
        spec = selection.target.components.get(component)
        if spec is not None and spec.kind == "none":
            return Status.NOT_APPLICABLE, f"the run has no {component} (--{component} none)"
    # Scenarios of the driver call it through the harness's kubelet.
    if "driver" in scenario.tags.components and selection.target.components["kubelet"].kind == "none":
        return Status.NOT_APPLICABLE, "the run has no kubelet to call the driver (--kubelet none)"
    return None


def _requirements(scenario: Scenario, selection: _Selection) -> tuple[Status, str] | None:
    """Apply the `@needs:` tags. An undeclared capability comes before anything else that is missing."""
    needed = [requirements.find(name) for name in scenario.tags.needs]
    needed.sort(key=lambda requirement: requirement.status is not Status.NOT_SUPPORTED)
    for requirement in needed:
        reason = requirement.unmet(scenario, selection.target)
        if reason is None:
            continue
        declared = any(other.status is Status.NOT_SUPPORTED for other in needed)
        if requirement.status is Status.NOT_APPLICABLE and declared and selection.options.declaration is not None:
            # The vendor declared the capability, and this run cannot observe it: it must not count as passed.
            return Status.UNTESTABLE, f"the capability is declared, and {reason}"
        return requirement.status, reason
    return None


# In this order: the first decider that applies gives status and reason.
_DECIDERS: tuple[_Decider, ...] = (
    _selected,
    _disruptive,
    _version_window,
    _feature_gates,
    _no_component,
    _requirements,
)
