"""Requirements on the admission webhook."""

from __future__ import annotations

from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import requirement
from dra_conformance.engine.target import Target

_CLUSTER = "calls or configures the webhook directly, which is not possible with the cluster's own"


@requirement()
def own_webhook(scenario: Scenario, target: Target) -> str | None:
    """A webhook that the harness starts and can call directly."""
    return _CLUSTER if target.components["webhook"].kind == "cluster" else None


@requirement()
def webhook_admission(scenario: Scenario, target: Target) -> str | None:
    """An API server that calls the webhook."""
    webhook = target.components["webhook"]
    if webhook.kind == "cluster":
        return target.no_claim_webhook or None
    if not target.own_control_plane:
        return f"the API server of a cluster cannot reach a webhook on this machine ({webhook.kind})"
    return None


@requirement()
def webhook_gates(scenario: Scenario, target: Target) -> str | None:
    """A webhook whose feature gates the harness can set."""
    webhook = target.components["webhook"]
    if webhook.kind == "cluster":
        return _CLUSTER
    if webhook.kind == "exec" and "{feature_gates}" not in webhook.argument:
        return "sets feature gates of the webhook, and its command has no {feature_gates}"
    return None
