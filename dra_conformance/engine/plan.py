"""Which scenarios run against a target, and why the others do not.

A pure function of the features, the catalogue, the options and what is known of the target. Every scenario of the
chosen profiles ends up in the plan; none is dropped without a status and a reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dra_api.versions import VERSIONS
from dra_conformance.core.component_spec import FLAGS, ComponentSpec
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.features import Scenario
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.core.rules.window import outside
from dra_conformance.core.status import Status
from dra_conformance.core.tags import ON_REQUEST

# Steps that choose the revision of the BindRequest protocol name it in quotes.
_REVISION = re.compile(r'revision "([^"]+)"')
# Manifests of an older version of resource.k8s.io end in its name.
_PASSING = re.compile(r"(\d+) seconds pass")
_LONGEST_WAIT = 180  # seconds that a scenario may spend on waiting for a program that keeps its own time
_SEVERAL = 4
_OLD_VERSION = re.compile(r'manifest "[^"]*-(v1beta\d)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is known of the system under test before the first scenario.

    `gates_assumed`: a cluster does not tell its gates, and they are taken to be those of its release.
    `missing_apis` are plural names of optional resources that the control plane does not serve; `no_claim_webhook`
    says why no webhook of a cluster that is not ours is asked about claims; `resource_versions` are the versions of
    resource.k8s.io in which it serves ResourceClaims, best first; `nvml` is whom the chapter nvml asks, fake or real;
    `gpus` is how many of them there are where that is known; `capabilities` are those that are declared of the driver.
    """

    kubernetes_version: Version
    components: Mapping[str, ComponentSpec]
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    gates_assumed: bool = False
    driver_name: str = "gpu.nvidia.com"
    own_control_plane: bool = True
    missing_apis: frozenset[str] = frozenset()
    no_claim_webhook: str = ""
    revision: str = "kai-0.17"
    resource_versions: tuple[str, ...] = VERSIONS
    nvml: str = "fake"
    gpus: int | None = None
    capabilities: tuple[str, ...] = ("configuration", "health")


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to become of one scenario: run it (`status` None), or report a status with its reason."""

    scenario: Scenario
    status: Status | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions on all scenarios of the chosen profiles, in order."""

    decisions: Sequence[Decision]

    @property
    def to_run(self) -> list[Scenario]:
        """The scenarios that run."""
        return [decision.scenario for decision in self.decisions if decision.status is None]

    def __len__(self) -> int:
        return len(self.decisions)


def check_specification(scenarios: Sequence[Scenario], catalogue: Catalogue) -> None:
    """Raise SpecificationError where features and catalogue do not fit together."""
    for scenario in scenarios:
        if not scenario.rules:
            raise SpecificationError(f"{scenario.where}: the scenario carries no rule tag, so it judges nothing")
        if not scenario.tags.profiles:
            raise SpecificationError(f"{scenario.where}: the scenario belongs to no profile")
        for rule in scenario.rules:
            if rule not in catalogue:
                raise SpecificationError(f"{scenario.where}: @{rule} is not in the rule catalogue")
        for step in scenario.steps:
            for rule in step.rules:
                if rule not in scenario.rules:
                    raise SpecificationError(f"{scenario.where}, line {step.line}: [{rule}] is no tag of the scenario")
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
    """Decide on every scenario. Raises UsageError for a rule that does not exist."""
    check_specification(scenarios, catalogue)
    wanted_rules = {catalogue.find(rule).id for rule in options.rule}
    focus = [re.compile(text, re.IGNORECASE) for text in options.focus]
    skip = [re.compile(text, re.IGNORECASE) for text in options.skip]
    decisions: list[Decision] = []
    for scenario in scenarios:
        if options.profile and not set(options.profile) & set(scenario.tags.profiles):
            continue
        if not options.profile and set(scenario.tags.profiles) <= ON_REQUEST:
            continue
        decisions.append(_decide(scenario, catalogue, options, target, wanted_rules, focus, skip))
    return Plan(decisions)


def _decide(
    scenario: Scenario,
    catalogue: Catalogue,
    options: RunOptions,
    target: Target,
    wanted_rules: set[str],
    focus: Sequence[re.Pattern[str]],
    skip: Sequence[re.Pattern[str]],
) -> Decision:
    if wanted_rules and not wanted_rules & set(scenario.rules):
        return Decision(scenario, Status.FILTERED, "not selected by --rule")
    label = f"{scenario.id} {scenario.name}"
    if focus and not any(pattern.search(label) for pattern in focus):
        return Decision(scenario, Status.FILTERED, "not selected by --focus")
    if any(pattern.search(label) for pattern in skip):
        return Decision(scenario, Status.FILTERED, "left out by --skip")
    if "nvml" in scenario.tags.components and scenario.tags.disruptive:
        if target.nvml == "real" and not options.allow_disruptive:
            return Decision(scenario, Status.FILTERED, "changes the MIG layout of a real GPU (--allow-disruptive)")
    elif scenario.tags.disruptive and not (target.own_control_plane or options.allow_disruptive):
        return Decision(scenario, Status.FILTERED, "disruptive, and the control plane is not ours (--allow-disruptive)")
    windows = [(scenario.tags.since, scenario.tags.until)]
    windows += [(catalogue[rule].since, catalogue[rule].until) for rule in scenario.rules]
    for since, until in windows:
        if reason := outside(target.kubernetes_version, since, until):
            return Decision(scenario, Status.NOT_APPLICABLE, reason)
    gates = [*scenario.tags.gates, *(gate for rule in scenario.rules if (gate := catalogue[rule].gate))]
    for gate in gates:
        if not target.feature_gates.get(gate, True):
            known = " by its release; the cluster does not tell" if target.gates_assumed else " on the control plane"
            return Decision(scenario, Status.NOT_SUPPORTED, f"feature gate {gate} is off{known}")
    for component in scenario.tags.components:
        spec = target.components.get(component)
        if spec is not None and spec.kind == "none":
            return Decision(scenario, Status.NOT_APPLICABLE, f"the component {component} is empty (--{component} none)")
    for name in (need.removeprefix("declared-") for need in scenario.tags.needs if need.startswith("declared-")):
        if name not in target.capabilities:
            return Decision(
                scenario, Status.NOT_SUPPORTED, f"{name} is not declared ([declaration] of dra-conformance.toml)"
            )
    for need in scenario.tags.needs:
        if reason := _unmet(need, scenario, target):
            # What a vendor declares and nobody can look at here is not shown: no pass, and not nothing either.
            if options.declaration is not None and any(other.startswith("declared-") for other in scenario.tags.needs):
                return Decision(scenario, Status.UNTESTABLE, f"the capability is declared, and {reason}")
            return Decision(scenario, Status.NOT_APPLICABLE, reason)
    return Decision(scenario)


def _unmet(need: str, scenario: Scenario, target: Target) -> str | None:
    driver = target.components["driver"]
    if need == "fake-nvml" and "nvml" in scenario.tags.components:
        return "changes the GPUs, which only the fake NVML lets it do (--nvml fake)" if target.nvml == "real" else None
    if need == "fake-nvml" and target.nvml == "real":
        return "changes or chooses the GPUs, which only the fake NVML lets it do (--nvml fake)"
    if need == "several-gpus" and target.gpus is not None and target.gpus < _SEVERAL:
        return f"needs {_SEVERAL} GPUs; this machine has {target.gpus}"
    if need == "seen-nvml" and driver.kind != "reference" and target.nvml != "real":
        return f"asks NVML what the driver sees; the driver is {driver.kind} and may see another (--nvml real)"
    if need == "fake-nvml" and driver.kind != "reference":
        return f"needs the fake NVML under the reference driver; the driver is {driver.kind}"
    if need == "gpu-driver" and target.driver_name != "gpu.nvidia.com":
        return f"speaks of the driver gpu.nvidia.com; the driver is {target.driver_name}"
    if need == "process-driver" and driver.kind not in ("exec", "reference"):
        return f"kills the driver; one that is {driver.kind} is not ours to kill"
    if (
        need == "driver-flags"
        and driver.kind != "reference"
        and not (driver.kind == "exec" and FLAGS in driver.command)
    ):
        return "starts the driver with flags of its own, and its command has no word {flags}"
    if need == "virtual-clock":
        used = [component for component in scenario.tags.components if component in target.components]
        inside = {
            component for component, spec in target.components.items() if spec.in_process or spec.kind == "embedded"
        }
        outside_process = [component for component in used if component not in inside]
        if outside_process == ["kubelet"] and target.components["kubelet"].kind == "kubelet":
            long = sum(int(found[1]) for step in scenario.steps if (found := _PASSING.fullmatch(step.text)))
            return f"would wait {long} s for a real kubelet" if long > _LONGEST_WAIT else None
        if outside_process:
            return f"advances time, which does not reach the {outside_process[0]} outside this process"
    if need == "own-control-plane" and not target.own_control_plane:
        return "needs a control plane that belongs to the run"
    if need == "own-etcd" and target.components["control-plane"].kind != "binaries":
        return f"needs an etcd of the run's own; the control plane is {target.components['control-plane'].kind}"
    if need == "faults":
        for component in scenario.tags.components:
            spec = target.components.get(component)
            if component != "control-plane" and spec is not None and spec.kind in ("cluster", "socket"):
                return f"the requests of the {component} ({spec.kind}) do not pass through the harness"
    kubelet = target.components["kubelet"].kind
    # Kubernetes' own kubelet sits only where a scenario names the component; elsewhere the harness's serves the driver.
    if need == "own-kubelet" and (
        kubelet == "cluster" or (kubelet == "kubelet" and "kubelet" in scenario.tags.components)
    ):
        return "needs the harness's kubelet"
    if need == "run-kubelet" and kubelet == "cluster":
        return "needs a kubelet that the run starts; the cluster's is not ours"
    if need == "compute-domain" and target.components["compute-domain-controller"].kind == "none":
        return "the component compute-domain-controller is empty (--compute-domain-controller none)"
    if need == "compute-domain" and "computedomains" in target.missing_apis:
        return "the control plane does not serve ComputeDomains"
    if need == "compute-domain-plugin" and target.components["compute-domain-controller"].kind != "reference":
        kind = target.components["compute-domain-controller"].kind
        return (
            f"judges a node's ComputeDomain driver, which would be the reference's; the fabric is {kind}, a controller"
        )
    if need == "compute-domain-flags" and target.components["compute-domain-controller"].kind != "reference":
        return f"starts the ComputeDomain controller with flags of its own; the fabric is {target.components['compute-domain-controller'].kind}"
    if need == "kai" and "bindrequests" in target.missing_apis:
        return "the control plane does not serve BindRequests"
    if need == "v1-shapes" and not set(target.resource_versions) - {"v1beta1"}:
        return "says what resource.k8s.io/v1beta1 has no words for, and the control plane serves no other version"
    if need == "served-version":
        named = {found for step in scenario.steps for found in _OLD_VERSION.findall(step.text)}
        if lacking := sorted(named - set(target.resource_versions)):
            return f"speaks resource.k8s.io/{lacking[0]}, which the control plane does not serve"
    if need in ("own-webhook", "webhook-admission", "webhook-gates"):
        return _unmet_by_webhook(need, target)
    scheduler = target.components["scheduler"]
    direct = scheduler.kind == "kube-scheduler" or scheduler.settings.get("publish") == "direct"
    if need == "scheduler-gates" and scheduler.kind not in ("reference", "kube-scheduler"):
        return f"the run cannot choose the feature gates of the scheduler ({scheduler})"
    if need == "scheduler-arguments" and scheduler.kind not in ("reference", "kube-scheduler"):
        return f"the run cannot choose the arguments of the scheduler's plugin DynamicResources ({scheduler})"
    if need == "direct-binding" and scheduler.kind == "exec" and target.components["binder"].kind != "none":
        return "needs a scheduler that binds pods itself; --binder none says so of the one under test"
    if need == "direct-binding" and scheduler.kind == "cluster" and "bindrequests" not in target.missing_apis:
        return "the cluster serves BindRequests, so its scheduler may leave the binding of pods to others"
    if need == "kai" and "scheduler" in scenario.tags.components and direct:
        return f"the scheduler binds pods itself and writes no BindRequests ({scheduler})"
    if need == "pinned-revision" and target.components["scheduler"].kind != "reference":
        other = {found for step in scenario.steps for found in _REVISION.findall(step.text)} - {target.revision}
        if other:
            return (
                f"speaks of the revision {', '.join(sorted(other))}; the scheduler's is {target.revision} (--revision)"
            )
    return None


def _unmet_by_webhook(need: str, target: Target) -> str | None:
    webhook = target.components["webhook"]
    if webhook.kind == "cluster":
        if need != "webhook-admission":
            return "asks or configures the webhook itself; the cluster's is not ours"
        return target.no_claim_webhook or None
    if need == "webhook-admission" and not target.own_control_plane:
        return f"the API server of a cluster does not reach a webhook on this machine ({webhook.kind})"
    if need == "webhook-gates" and webhook.kind == "exec" and "{feature_gates}" not in webhook.argument:
        return "sets feature gates of the webhook, and its command has no {feature_gates}"
    return None
