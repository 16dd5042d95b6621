"""Requirements on the scheduler, the binder and the BindRequest protocol."""

from __future__ import annotations

import re

from dra_api.feature_gates import known_gates
from dra_api.releases import previous
from dra_conformance.core.component_spec import FLAGS
from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, requirement, untestable
from dra_conformance.engine.target import Target

_SWITCHED_OFF = re.compile(r'feature gate "(\w+)" off')
# A step that chooses a revision of the BindRequest protocol.
_REVISION = re.compile(r'revision "([^"]+)"')


@requirement
def kai(scenario: Scenario, target: Target) -> Unmet | None:
    """The BindRequest API, and components that use it."""
    if "bindrequests" in target.missing_apis:
        return not_applicable("the control plane does not serve BindRequests")
    if target.lacking_fields:
        return untestable(
            f"the BindRequest CRD of the cluster is not that of {target.revision}: it lacks "
            f"{', '.join(target.lacking_fields)}; install that CRD, or choose its revision with --revision"
        )
    scheduler = target.components["scheduler"]
    binds_pods = scheduler.kind == "kube-scheduler" or scheduler.settings.get("publish") == "direct"
    if "scheduler" in scenario.tags.components and binds_pods:
        return not_applicable(f"the scheduler binds pods itself and writes no BindRequests ({scheduler})")
    return None


@requirement
def no_binder(scenario: Scenario, target: Target) -> Unmet | None:
    """No binder: the scenario decides what becomes of BindRequests."""
    if target.components["binder"].kind == "cluster":
        return untestable("the scenario has no binder, and the binder of the cluster would act on its BindRequests")
    return None


@requirement
def no_taint_eviction(scenario: Scenario, target: Target) -> Unmet | None:
    """No taint eviction: the scenario alone writes the status of DeviceTaintRules."""
    if target.components["taint-eviction"].kind == "cluster":
        return untestable("the taint eviction of the cluster would write the status of the scenario's DeviceTaintRules")
    return None


@requirement
def pod_groups(scenario: Scenario, target: Target) -> Unmet | None:
    """KAI's PodGroup API."""
    if "podgroups" in target.missing_apis:
        return not_applicable("the control plane does not serve PodGroups of scheduling.run.ai")
    return None


@requirement
def queues(scenario: Scenario, target: Target) -> Unmet | None:
    """KAI's Queue API."""
    if "queues" in target.missing_apis:
        return not_applicable("the control plane does not serve Queues of scheduling.run.ai")
    return None


@requirement
def direct_binding(scenario: Scenario, target: Target) -> Unmet | None:
    """A scheduler that binds pods itself."""
    scheduler = target.components["scheduler"]
    if scheduler.kind == "exec" and target.components["binder"].kind != "none":
        return not_applicable(
            "needs a scheduler that binds pods itself; --binder none declares that the one under test does"
        )
    if scheduler.kind == "cluster" and "bindrequests" not in target.missing_apis:
        return not_applicable("the cluster serves BindRequests, so its scheduler may not bind pods itself")
    return None


@requirement
def scheduler_gates(scenario: Scenario, target: Target) -> Unmet | None:
    """A scheduler whose feature gates the run can choose."""
    scheduler = target.components["scheduler"]
    if scheduler.kind == "exec" and FLAGS in scheduler.argument:
        return None
    if scheduler.kind not in ("reference", "kube-scheduler"):
        return untestable(
            f"the run cannot choose the feature gates of the scheduler ({scheduler}); its command has no word {FLAGS}"
        )
    if scheduler.kind == "kube-scheduler":
        gates = known_gates(str(target.kubernetes_version))
        switched = {found for step in scenario.steps for found in _SWITCHED_OFF.findall(step.text)}
        if locked := sorted(name for name in switched if name in gates and gates[name].locked):
            release = f"Kubernetes {target.kubernetes_version}"
            return not_applicable(f"{release} locks feature gate {locked[0]}, so that kube-scheduler would not start")
    return None


@requirement
def scheduler_flags(scenario: Scenario, target: Target) -> Unmet | None:
    """A scheduler that the run can start with flags of KAI's scheduler."""
    scheduler = target.components["scheduler"]
    if scheduler.kind == "exec" and FLAGS in scheduler.argument:
        return None
    return untestable(
        f"the run cannot choose the flags of the scheduler ({scheduler}); needs a command with the word {FLAGS}"
    )


@requirement
def binder_gates(scenario: Scenario, target: Target) -> Unmet | None:
    """A binder whose feature gates the run can choose."""
    return _chosen_for_binder("feature gates", target)


@requirement
def gpu_shares(scenario: Scenario, target: Target) -> Unmet | None:
    """A binder whose reservation namespace the run can choose."""
    return _chosen_for_binder("reservation namespace", target)


def _chosen_for_binder(what: str, target: Target) -> Unmet | None:
    binder = target.components["binder"]
    if binder.kind == "reference" or (binder.kind == "exec" and FLAGS in binder.argument):
        return None
    return untestable(f"the run cannot choose the {what} of the binder ({binder}); its command has no word {FLAGS}")


@requirement
def scheduler_arguments(scenario: Scenario, target: Target) -> Unmet | None:
    """A scheduler whose DynamicResourcesArgs the run can choose."""
    scheduler = target.components["scheduler"]
    if scheduler.kind not in ("reference", "kube-scheduler"):
        return untestable(
            f"the run cannot choose the arguments of the scheduler's plugin DynamicResources ({scheduler})"
        )
    return None


@requirement
def claim_controller_gates(scenario: Scenario, target: Target) -> Unmet | None:
    """A claim controller whose feature gates the run can choose."""
    controller = target.components["claim-controller"]
    if controller.kind == "reference" or controller.is_kubernetes:
        return None
    return untestable(f"the run cannot choose the feature gates of the claim controller ({controller})")


@requirement
def pinned_revision(scenario: Scenario, target: Target) -> Unmet | None:
    """A scheduler that uses the revision of the BindRequest protocol that the scenario names."""
    if target.components["scheduler"].kind == "reference":  # the scenario's steps choose its revision
        return None
    named = {found for step in scenario.steps for found in _REVISION.findall(step.text)}
    if other := sorted(named - {target.revision}):
        return not_applicable(f"tests revision {', '.join(other)}; the scheduler's is {target.revision} (--revision)")
    return None


@requirement
def restartable_eviction(scenario: Scenario, target: Target) -> Unmet | None:
    """A taint eviction controller that the run can stop and start again."""
    return _restartable(target, "taint-eviction", "taint eviction controller")


@requirement
def restartable_scheduler(scenario: Scenario, target: Target) -> Unmet | None:
    """A scheduler that the run can stop and start again."""
    return _restartable(target, "scheduler", "scheduler")


def _restartable(target: Target, component: str, what: str) -> Unmet | None:
    spec = target.components[component]
    if spec.kind in ("reference", "exec", "none") or spec.is_kubernetes:
        return None
    return untestable(f"restarts the {what}; the run cannot stop this one ({spec.kind})")


@requirement
def scheduler_releases(scenario: Scenario, target: Target) -> Unmet | None:
    """A scheduler that the run can start as the previous Kubernetes release."""
    return _of_releases(target, "scheduler", "scheduler")


@requirement
def claim_controller_releases(scenario: Scenario, target: Target) -> Unmet | None:
    """A claim controller that the run can start as the previous Kubernetes release."""
    return _of_releases(target, "claim-controller", "claim controller")


def _of_releases(target: Target, component: str, what: str) -> Unmet | None:
    spec = target.components[component]
    if spec.kind in ("exec", "none"):
        return not_applicable(f"the {what} ({spec}) is no program of Kubernetes and has no release of it")
    if previous(str(target.kubernetes_version)) is None:
        return not_applicable(f"the suite does not cover the release before Kubernetes {target.kubernetes_version}")
    if spec.kind == "reference" or spec.is_kubernetes:
        return None
    return untestable(f"the run cannot replace the {what} ({spec}) by one of another release")
