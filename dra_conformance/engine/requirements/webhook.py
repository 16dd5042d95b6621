"""Requirements on the admission webhook."""

from __future__ import annotations

from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, not_applicable, requirement, untestable
from dra_conformance.engine.target import Target

_ON_THIS_MACHINE = ("embedded", "binaries")
"""Control planes whose API server reaches 127.0.0.1 of this machine; that of kind and k3s is in a container."""
_CLUSTER = "calls or configures the webhook directly, which is not possible with the cluster's own"


@requirement
def own_webhook(scenario: Scenario, target: Target) -> Unmet | None:
    """A webhook that the harness starts and can call directly."""
    return untestable(_CLUSTER) if target.components["webhook"].kind == "cluster" else None


@requirement
def webhook_admission(scenario: Scenario, target: Target) -> Unmet | None:
    """An API server that calls the webhook."""
    webhook = target.components["webhook"]
    if webhook.kind == "cluster":
        return not_applicable(target.no_claim_webhook) if target.no_claim_webhook else None
    return _out_of_reach(target, f"a webhook on this machine ({webhook.kind})")


@requirement
def harness_webhook(scenario: Scenario, target: Target) -> Unmet | None:
    """An API server that calls webhooks of the harness."""
    return _out_of_reach(target, "the harness's webhooks")


@requirement
def webhook_gates(scenario: Scenario, target: Target) -> Unmet | None:
    """A webhook whose feature gates the harness can set."""
    webhook = target.components["webhook"]
    if webhook.kind == "cluster":
        return untestable(_CLUSTER)
    if webhook.kind == "exec" and "{feature_gates}" not in webhook.argument:
        return untestable("sets feature gates of the webhook, and its command has no {feature_gates}")
    return None


def _out_of_reach(target: Target, what: str) -> Unmet | None:
    if target.components["control-plane"].kind in _ON_THIS_MACHINE:
        return None
    return untestable(f"the API server of a cluster cannot reach {what}")
