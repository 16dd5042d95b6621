"""Tests of the webhook component: scenarios that apply, and the registration of a webhook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import VALIDATING_WEBHOOKS
from dra_conformance.components.registration import configuration, not_registered_for_claims
from dra_conformance.core import features
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.engine import plan, requirements
from dra_conformance.engine.target import Target

PROTOCOL = "webhook/protocol#the-response-has-the-uid-and-the-version-of-the-review"
ADMISSION = "webhook/admission#valid-configuration-in-manifest-is-stored[claim-v1]"
OLD = "webhook/admission#valid-configuration-in-manifest-is-stored[claim-v1beta1]"
GATES = "webhook/sharing#what-is-admitted-with-its-feature-gate[mps-by-default]"


@pytest.fixture(scope="module")
def scenarios() -> list[features.Scenario]:
    return [one for one in features.read_all() if one.chapter == "webhook"]


@pytest.mark.parametrize(
    ("webhook", "target", "reasons"),
    [
        ("reference", {}, {PROTOCOL: "", ADMISSION: "", OLD: "", GATES: ""}),
        ("exec:a {feature_gates}", {}, {PROTOCOL: "", ADMISSION: "", OLD: "", GATES: ""}),
        ("exec:a", {}, {PROTOCOL: "", ADMISSION: "", GATES: "its command has no {feature_gates}"}),
        ("none", {}, {PROTOCOL: "the run has no webhook", ADMISSION: "the run has no webhook"}),
        ("reference", {"resource_versions": ("v1",)}, {ADMISSION: "", OLD: "uses resource.k8s.io/v1beta1"}),
        ("cluster", {"own_control_plane": False}, {PROTOCOL: "cluster's own", ADMISSION: "", GATES: "cluster's own"}),
        (
            "cluster",
            {"own_control_plane": False, "no_claim_webhook": "no webhook of the cluster is there"},
            {ADMISSION: "no webhook of the cluster"},
        ),
        (
            "reference",
            {"driver_name": "gpu.example.com"},
            {PROTOCOL: "", ADMISSION: "applies to the driver gpu.nvidia.com"},
        ),
    ],
)
def test_scenarios_of_the_webhook_by_target(
    scenarios: list[features.Scenario], webhook: str, target: dict[str, Any], reasons: dict[str, str]
) -> None:
    options = RunOptions(webhook=webhook)
    known = Target(**{"kubernetes_version": Version(1, 36), "components": options.components(), **target})
    decisions = {one.scenario.id: one for one in plan.make(scenarios, Catalogue.load(), options, known).decisions}
    for scenario, reason in reasons.items():
        assert reason in decisions[scenario].reason
        assert (decisions[scenario].status is None) == (not reason)


@pytest.mark.parametrize(
    ("control_plane", "reached"), [("embedded", True), ("binaries", True), ("kind", False), ("kubeconfig", False)]
)
def test_an_api_server_in_a_container_or_elsewhere_does_not_reach_this_machine(
    scenarios: list[features.Scenario], control_plane: str, reached: bool
) -> None:
    components = RunOptions(control_plane=control_plane, webhook="reference").components()
    known = Target(kubernetes_version=Version(1, 37), components=components)
    for name in ("webhook-admission", "harness-webhook"):
        found = requirements.find(name).unmet(scenarios[0], known)
        assert (found is None) == reached
        assert found is None or "the API server of a cluster cannot reach" in found.reason


def test_a_webhook_of_the_cluster_is_found_by_its_rules(tmp_path: Path) -> None:
    plane = ApiServerEmulator(kubernetes_version="1.36", directory=tmp_path / "api", clock=RealClock(), seed=1)
    plane.start()
    try:
        client = KubeClient(plane.transport())
        assert not_registered_for_claims(client)
        authority = tmp_path / "ca.crt"
        authority.write_text("nobody looks at it here")
        made = configuration("ours", url="https://127.0.0.1:1/", authority=authority, value="x", timeout=1)
        other = {**made, "metadata": {"name": "other"}, "webhooks": [dict(hook) for hook in made["webhooks"]]}
        for hook in other["webhooks"]:
            hook["rules"] = [{**rule, "resources": ["resourceslices"]} for rule in hook["rules"]]
        client.create(VALIDATING_WEBHOOKS, other)
        assert not_registered_for_claims(client)
        client.create(VALIDATING_WEBHOOKS, made)
        assert not_registered_for_claims(client) == ""
    finally:
        plane.stop()
