"""Decides which scenarios run against a target, and gives each other scenario a status and a reason.

A pure function of the features, the catalogue, the options and what is known of the target. Every scenario of the
selected profiles is in the plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dra_api.feature_gates import optional_gates
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.features import Scenario
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue, Rule
from dra_conformance.core.rules.window import outside, outside_releases, outside_revisions
from dra_conformance.core.status import Status
from dra_conformance.core.tags import in_profiles
from dra_conformance.engine import requirements
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, untestable
from dra_conformance.engine.target import Target


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one scenario: run it (`status` None), or report a status with its reason.

    `of_rules` has the rules whose status or reason differs from the scenario's: one scenario can be impossible for
    several reasons, of which each rule has its own. `shard`: the shard that runs it, with --shard (`shards`).
    """

    scenario: Scenario
    status: Status | None = None
    reason: str = ""
    of_rules: Mapping[str, tuple[Status, str]] = field(default_factory=dict)
    shard: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions on all scenarios of the selected profiles, in order. `under_test`: the components that are judged."""

    decisions: Sequence[Decision]
    under_test: frozenset[str] = frozenset()

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
    chosen = [scenario for scenario in scenarios if in_profiles(scenario.tags, options.profile)]
    return Plan([_decide(scenario, selection) for scenario in chosen], target.under_test)


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
    rules = [selection.catalogue[rule] for rule in scenario.rules]
    for decider in _DECIDERS:
        if unmet := decider(scenario, selection):
            break
    else:
        return Decision(scenario)
    of_rules = {rule.id: _status_of(rule, scenario, unmet, selection.target) for rule in rules}
    status, reason = min(of_rules.values(), key=lambda row: _MOST_SERIOUS_FIRST.index(row[0]))
    return Decision(scenario, status, reason, {rule: row for rule, row in of_rules.items() if row != (status, reason)})


def _status_of(rule: Rule, scenario: Scenario, unmet: Unmet, target: Target) -> tuple[Status, str]:
    """Return the status and the reason of one rule in a scenario that does not run."""
    if unmet.status is not Status.FILTERED and _is_absent(rule.component, scenario, target):
        return Status.NOT_APPLICABLE, _absence(rule.component)
    status = unmet.status if unmet.only(rule) else Status.UNTESTABLE
    if status is Status.NOT_APPLICABLE and target.features.declared and rule.feature in target.features.declared:
        # The vendor declared the feature, and this run cannot observe it: it must not count as passed.
        return Status.UNTESTABLE, f"the feature {rule.feature} is declared, and {unmet.reason}"
    if status is Status.UNTESTABLE and rule.component not in target.under_test:
        return Status.NOT_APPLICABLE, f"the {rule.component} is not under test; {unmet.reason}"
    return status, unmet.reason


_MOST_SERIOUS_FIRST = (Status.FILTERED, Status.UNTESTABLE, Status.NOT_SUPPORTED, Status.NOT_APPLICABLE)

_Decider = Callable[[Scenario, _Selection], Unmet | None]


def _selected(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply --rule, --focus and --skip."""
    if selection.rules and not selection.rules & set(scenario.rules):
        return Unmet(Status.FILTERED, "not selected by --rule")
    label = f"{scenario.id} {scenario.name}"
    if selection.focus and not any(pattern.search(label) for pattern in selection.focus):
        return Unmet(Status.FILTERED, "not selected by --focus")
    if any(pattern.search(label) for pattern in selection.skip):
        return Unmet(Status.FILTERED, "left out by --skip")
    return None


def _disruptive(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Filter scenarios that may break hardware or a cluster, unless --allow-disruptive."""
    if not scenario.tags.disruptive or selection.options.allow_disruptive:
        return None
    if "nvml" in scenario.tags.components:
        if selection.target.nvml == "real":
            return Unmet(Status.FILTERED, "changes the MIG layout of a real GPU (--allow-disruptive)")
    elif not selection.target.own_control_plane:
        return Unmet(Status.FILTERED, "disruptive, and the run does not own the control plane (--allow-disruptive)")
    return None


def _version_window(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply the version windows of the scenario and of its rules."""
    target = selection.target
    version, kubelet = target.kubernetes_version, target.older_kubelet

    def reason_of(rule: Rule) -> str | None:
        older = kubelet if kubelet and rule.component == "kubelet" else version
        return outside(older, rule.since, rule.until)

    window = scenario.tags.since, scenario.tags.until
    oldest = kubelet if kubelet and "kubelet" in scenario.tags.components else version
    if reason := outside(version, *window) or outside(oldest, *window):
        return not_applicable(reason)
    for name in scenario.rules:
        if reason := reason_of(selection.catalogue[name]):
            return not_applicable(reason, only=lambda rule: bool(reason_of(rule)))
    return None


def _driver_releases(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply the ranges of releases of NVIDIA's driver of the scenario's rules."""
    release = selection.target.driver_release
    for name in scenario.rules:
        rule = selection.catalogue[name]
        if reason := outside_releases(release, rule.driver_since, rule.driver_until):
            return not_applicable(
                reason, only=lambda rule: bool(outside_releases(release, rule.driver_since, rule.driver_until))
            )
    return None


def _kai_revisions(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply the first revisions of KAI's protocol of the scenario's rules.

    The whole scenario does not apply: it is about a field that the revision does not have.
    """
    for name in scenario.rules:
        if reason := outside_revisions(selection.target.revision, selection.catalogue[name].kai_since):
            return not_applicable(reason)
    return None


def _features(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply the optional features of the scenario's rules."""
    unsupported = selection.target.features.unsupported
    for name in scenario.rules:
        feature = selection.catalogue[name].feature
        if feature in unsupported:
            reason = f"the feature {feature} is {unsupported[feature]}"
            return Unmet(Status.NOT_SUPPORTED, reason, lambda rule: rule.feature in unsupported)
    return None


def _feature_gates(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply the feature gates of the scenario and of its rules. A rule without the gate's mark binds all the same."""
    target, declared = selection.target, selection.target.features.declared
    # A gate that is not listed counts as on: releases remove gates of stable features.
    off = {gate for gate, on in target.feature_gates.items() if not on}
    if "kubelet" in scenario.tags.components:
        off |= target.gates_off_in_kubelet
    rules = [selection.catalogue[name] for name in scenario.rules]
    needed = [*scenario.tags.gates, *(gate for rule in rules for gate in rule.gates)]
    if gate := next((gate for gate in needed if gate in off), None):
        known = " by default in its release (the cluster does not report its gates)"
        where = known if target.gates_assumed else " on the control plane"
        if target.feature_gates.get(gate, True):
            where = f" in the kubelet ({target.older_kubelet})"
        if declared and gate in declared:
            return untestable(f"the feature {gate} is declared, and its feature gate is off{where}")
        return Unmet(
            Status.NOT_SUPPORTED, f"feature gate {gate} is off{where}", lambda rule: bool(off & set(rule.gates))
        )
    if on := next((gate for gate in scenario.tags.gates_off if gate not in off), None):
        return not_applicable(f"feature gate {on} is on (--feature-gates {on}=false)")
    if declared is None:
        return None
    undeclared = optional_gates(str(target.kubernetes_version)) - set(declared)
    for rule in rules:
        # The list is that of the components under test, whose vendor wrote it.
        if rule.component in target.under_test and (gates := undeclared & set(rule.gates)):
            reason = f"the feature {min(gates)} is not declared (--supported-features)"
            return Unmet(Status.NOT_SUPPORTED, reason, lambda rule: bool(undeclared & set(rule.gates)))
    return None


def _no_component(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply `--COMPONENT none`: the rules of the component have no target, the other rules cannot be judged."""
    target = selection.target
    for component in scenario.tags.components:
        if _is_absent(component, scenario, target):
            return not_applicable(_absence(component), only=_of(component))
    # Scenarios of the driver call it through the harness's kubelet.
    if "driver" in scenario.tags.components and target.components["kubelet"].kind == "none":
        return not_applicable("the run has no kubelet to call the driver (--kubelet none)", only=_of("kubelet"))
    return None


def _is_absent(component: str, scenario: Scenario, target: Target) -> bool:
    """Whether the run has no such component, and no other one that does its part of the scenario."""
    spec = target.components.get(component)
    if spec is None or spec.kind != "none":
        return False
    return not (component == "binder" and target.scheduler_binds_pods and "kai" not in scenario.tags.needs)


def _absence(component: str) -> str:
    return f"the run has no {component} (--{component} none)"


def _of(component: str) -> Callable[[Rule], bool]:
    return lambda rule: rule.component == component


def _requirements(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Apply the `@needs:` tags. What the target cannot have comes before what the harness cannot observe."""
    unmet = [requirements.find(name).unmet(scenario, selection.target) for name in scenario.tags.needs]
    found = [each for each in unmet if each is not None]
    found.sort(key=lambda each: each.status is not Status.NOT_APPLICABLE)
    return found[0] if found else None


def _driver_of_cluster(scenario: Scenario, selection: _Selection) -> Unmet | None:
    """Scenarios of the driver call it: the socket of a driver of the cluster is on its node, and the run is not."""
    if "driver" in scenario.tags.components and selection.target.components["driver"].kind == "cluster":
        return untestable("calls the driver, whose socket is on a node of the cluster (there: --driver socket:PATH)")
    return None


# In this order: the first decider that applies gives status and reason.
_DECIDERS: tuple[_Decider, ...] = (
    _selected,
    _disruptive,
    _version_window,
    _driver_releases,
    _kai_revisions,
    _features,
    _feature_gates,
    _no_component,
    _requirements,
    _driver_of_cluster,
)
