"""Tests of the plan: scenarios that run, and the status and reason of each other one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dra_conformance.core.declaration import Declaration
from dra_conformance.core.errors import UsageError
from dra_conformance.core.features import Scenario, Step
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.core.rules.catalogue import Rule
from dra_conformance.core.status import Status
from dra_conformance.core.tags import NEEDS, Tags
from dra_conformance.engine import plan
from dra_conformance.engine.plan import Decision
from dra_conformance.engine.target import Target

REAL = {"kubelet": "kubelet", "control_plane": "binaries"}


def rule(ident: str, **more: Any) -> Rule:
    return Rule(id=ident, text="It holds.", level="MUST", component="driver", source="a file", **more)


CATALOGUE = Catalogue(
    {
        found.id: found
        for found in (
            rule("DRA-001"),
            rule("DRA-002", since="1.37"),
            rule("DRA-003", until="1.35"),
            rule("DRA-004", gate="DRAThing"),
        )
    }
)


def scenario(name: str = "s", rules: tuple[str, ...] = ("DRA-001",), step: str = "it holds", **more: Any) -> Scenario:
    tags = Tags(rules=rules, **{"profiles": ("driver-core",), **more})
    steps = tuple(Step("then", step, 3, (ident,)) for ident in rules)
    return Scenario(f"probe/p#{name}", name, "probe", "P", Path("p.feature"), 2, tags, steps)


HEALTH = Declaration(capabilities=("health",))


def decide(one: Scenario, *, target: dict[str, Any] | None = None, **options: Any) -> Decision:
    chosen = RunOptions(**options)
    known = {"kubernetes_version": Version(1, 36), "components": chosen.components(), "driver_name": chosen.driver_name}
    made = plan.make([one], CATALOGUE, chosen, Target(**{**known, **(target or {})}))
    assert len(made) == 1
    return made.decisions[0]


def test_a_scenario_whose_conditions_are_met_runs() -> None:
    assert decide(
        scenario(components=("driver", "scheduler", "control-plane"), needs=("kai", "gpu-driver"))
    ) == Decision(scenario(components=("driver", "scheduler", "control-plane"), needs=("kai", "gpu-driver")))


@pytest.mark.parametrize(
    ("one", "options", "target", "status", "reason"),
    [
        (
            scenario(needs=("faults",), components=("driver",)),
            {"driver": "socket:/run/d.sock"},
            {},
            Status.NOT_APPLICABLE,
            "the requests of the driver (socket) do not pass through the harness",
        ),
        (scenario(needs=("own-etcd",)), {}, {}, Status.NOT_APPLICABLE, "the control plane is embedded"),
        (scenario(), {"rule": ("DRA-002",)}, {}, Status.FILTERED, "not selected by --rule"),
        (scenario(), {"focus": ("other",)}, {}, Status.FILTERED, "not selected by --focus"),
        (scenario(), {"skip": ("probe/p#S",)}, {}, Status.FILTERED, "left out by --skip"),
        (scenario(disruptive=True), {}, {"own_control_plane": False}, Status.FILTERED, "--allow-disruptive"),
        (
            scenario(rules=("DRA-002",)),
            {},
            {},
            Status.NOT_APPLICABLE,
            "since Kubernetes 1.37; the target is 1.36",
        ),
        (scenario(rules=("DRA-003",)), {}, {}, Status.NOT_APPLICABLE, "held until Kubernetes 1.35"),
        (scenario(since="1.37"), {}, {}, Status.NOT_APPLICABLE, "holds since"),
        (
            scenario(rules=("DRA-004",)),
            {},
            {"feature_gates": {"DRAThing": False}},
            Status.NOT_SUPPORTED,
            "Thing is off",
        ),
        (scenario(gates=("X",)), {}, {"feature_gates": {"X": False}}, Status.NOT_SUPPORTED, "feature gate X is off"),
        (
            scenario(components=("binder",)),
            {"binder": "none"},
            {},
            Status.NOT_APPLICABLE,
            "the run has no binder (--binder none)",
        ),
        (
            scenario(components=("driver",)),
            {"driver": "none"},
            {},
            Status.NOT_APPLICABLE,
            "the run has no driver (--driver none)",
        ),
        (
            scenario(components=("driver",)),
            {"kubelet": "none"},
            {},
            Status.NOT_APPLICABLE,
            "the run has no kubelet to call the driver (--kubelet none)",
        ),
        (
            scenario(needs=("run-kubelet",)),
            {"kubelet": "none"},
            {},
            Status.NOT_APPLICABLE,
            "the run has no kubelet (--kubelet none)",
        ),
        (
            scenario(needs=("own-kubelet",)),
            {"kubelet": "none"},
            {},
            Status.NOT_APPLICABLE,
            "needs the harness's kubelet",
        ),
        (scenario(needs=("fake-nvml",)), {"driver": "exec:x"}, {}, Status.NOT_APPLICABLE, "the driver is exec"),
        (scenario(needs=("gpu-driver",)), {"driver_name": "a.b"}, {}, Status.NOT_APPLICABLE, "the driver is a.b"),
        (
            scenario(needs=("process-driver",)),
            {"driver": "socket:/x"},
            {},
            Status.NOT_APPLICABLE,
            "the run did not start this one",
        ),
        (
            scenario(components=("driver",), needs=("virtual-clock",)),
            {"driver": "exec:x"},
            {},
            Status.NOT_APPLICABLE,
            "does not reach the driver",
        ),
        (
            scenario(needs=("own-control-plane",)),
            {},
            {"own_control_plane": False},
            Status.NOT_APPLICABLE,
            "belongs to the run",
        ),
        (scenario(needs=("own-kubelet",)), {"kubelet": "cluster"}, {}, Status.NOT_APPLICABLE, "harness's kubelet"),
        (scenario(needs=("run-kubelet",)), {"kubelet": "cluster"}, {}, Status.NOT_APPLICABLE, "belongs to the cluster"),
        (
            scenario(needs=("own-kubelet",), components=("kubelet",)),
            {**REAL},
            {},
            Status.NOT_APPLICABLE,
            "harness's kubelet",
        ),
        (
            scenario(needs=("virtual-clock",), components=("kubelet",), step="3600 seconds pass"),
            {**REAL},
            {},
            Status.NOT_APPLICABLE,
            "would wait 3600 s",
        ),
        (
            scenario(needs=("virtual-clock",), components=("kubelet", "scheduler"), step="30 seconds pass"),
            {"scheduler": "exec:x", **REAL},
            {},
            Status.NOT_APPLICABLE,
            "does not reach the",
        ),
        (
            scenario(needs=("compute-domain-plugin",)),
            {"compute_domain_controller": "exec:x"},
            {},
            Status.NOT_APPLICABLE,
            "would test the reference's",
        ),
        (
            scenario(needs=("compute-domain-plugin",)),
            {"compute_domain_controller": "cluster"},
            {},
            Status.NOT_APPLICABLE,
            "would test the reference's",
        ),
        (
            scenario(needs=("compute-domain",)),
            {"compute_domain_controller": "none"},
            {},
            Status.NOT_APPLICABLE,
            "there is no ComputeDomain controller",
        ),
        (
            scenario(needs=("compute-domain",)),
            {},
            {"missing_apis": frozenset({"computedomains"})},
            Status.NOT_APPLICABLE,
            "does not serve ComputeDomains",
        ),
        (
            scenario(needs=("kai",)),
            {},
            {"missing_apis": frozenset({"bindrequests"})},
            Status.NOT_APPLICABLE,
            "does not serve BindRequests",
        ),
        (
            scenario(needs=("kai",), components=("scheduler",)),
            {"scheduler": "reference:publish=direct"},
            {},
            Status.NOT_APPLICABLE,
            "publish=direct",
        ),
        (
            scenario(needs=("pinned-revision",), step='it writes revision "documented"'),
            {"scheduler": "exec:x"},
            {},
            Status.NOT_APPLICABLE,
            "the scheduler's is kai-0.17",
        ),
    ],
)
def test_a_scenario_that_does_not_run_has_a_status_and_a_reason(
    one: Scenario, options: dict[str, Any], target: dict[str, Any], status: Status, reason: str
) -> None:
    found = decide(one, target=target, **options)
    assert found.status is status
    assert reason in found.reason


def test_a_scenario_runs_when_its_condition_is_met() -> None:
    assert decide(scenario(rules=("DRA-002",)), target={"kubernetes_version": Version(1, 37)}).status is None
    assert decide(scenario(rules=("DRA-004",)), target={"feature_gates": {"DRAThing": True}}).status is None
    assert decide(scenario(disruptive=True), target={"own_control_plane": False}, allow_disruptive=True).status is None
    assert decide(scenario(), rule=("dra-001",), focus=("^PROBE/p#s s$",)).status is None
    assert decide(scenario(needs=("run-kubelet",), components=("kubelet",)), **REAL).status is None
    # The real kubelet runs only in scenarios that name the component, and uses real time.
    assert decide(scenario(needs=("own-kubelet",)), **REAL).status is None
    waits = scenario(needs=("virtual-clock",), components=("kubelet",), step="30 seconds pass")
    assert decide(waits, **REAL).status is None
    clock = scenario(components=("scheduler",), needs=("virtual-clock",))
    assert decide(clock, driver="exec:x").status is None


def test_scenarios_of_other_profiles_are_not_in_the_plan() -> None:
    options = RunOptions(profile=("api",))
    target = Target(kubernetes_version=Version(1, 36), components=options.components())
    two = [scenario("a"), scenario("b", profiles=("api", "kubelet"))]
    assert [d.scenario.name for d in plan.make(two, CATALOGUE, options, target).decisions] == ["b"]


def test_an_unknown_rule_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="there is no rule 'DRA-999'"):
        decide(scenario(), rule=("DRA-999",))


def test_every_requirement_can_be_unmet() -> None:
    """A requirement that every target meets would have no effect."""
    hard = RunOptions(
        scheduler="reference:publish=direct",
        driver="socket:/x",
        driver_name="a.b",
        kubelet="cluster",
        compute_domain_controller="none",
    )
    harder = msgspec.structs.replace(hard, scheduler="exec:x", webhook="cluster", control_plane="binaries")
    words = 'revision "documented", manifest "a-v1beta2"'
    for need in NEEDS:
        found = [
            plan.make(
                [scenario(needs=(need,), components=("scheduler", "driver"), step=words)],
                CATALOGUE,
                options,
                Target(
                    kubernetes_version=Version(1, 36),
                    components=options.components(),
                    driver_name=options.driver_name,
                    own_control_plane=False,
                    resource_versions=("v1beta1",),
                    gpus=1,
                    capabilities=options.declared.capabilities,
                ),
            )
            .decisions[0]
            .status
            for options in (hard, harder)
        ]
        unmet = Status.NOT_SUPPORTED if need.startswith("declared-") else Status.NOT_APPLICABLE
        assert unmet in found, need


@pytest.mark.parametrize(
    ("declared", "status"),
    [(None, Status.NOT_SUPPORTED), (Declaration(), Status.NOT_SUPPORTED), (HEALTH, Status.UNTESTABLE)],
)
def test_a_declared_capability_that_cannot_be_observed_is_untestable(
    declared: Declaration | None, status: Status
) -> None:
    """The driver streams health to the kubelet, and the run cannot observe the cluster's."""
    options = RunOptions(
        control_plane="kubeconfig",
        kubelet="cluster",
        driver="cluster",
        driver_name="a.example.com",
        declaration=declared,
    )
    target = Target(
        kubernetes_version=Version(1, 36), components=options.components(), capabilities=options.declared.capabilities
    )
    decision = plan.make([scenario(needs=("declared-health", "own-kubelet"))], CATALOGUE, options, target).decisions[0]
    assert decision.status is status
    assert (
        status is Status.NOT_SUPPORTED
        or decision.reason == "the capability is declared, and needs the harness's kubelet"
    )


def test_the_fault_sweep_runs_only_on_request() -> None:
    sweep = scenario(profiles=("fault-sweep",))
    chosen = RunOptions()
    target = Target(kubernetes_version=Version(1, 36), components=chosen.components())
    assert len(plan.make([sweep], CATALOGUE, chosen, target)) == 0
    assert len(plan.make([scenario(profiles=("fault-sweep", "faults"))], CATALOGUE, chosen, target)) == 1
    assert decide(sweep, profile=("fault-sweep",)).status is None


@pytest.mark.parametrize(
    ("more", "options", "status"),
    [
        ({}, {"nvml": "real"}, None),
        ({"needs": ("fake-nvml",)}, {"nvml": "real"}, Status.NOT_APPLICABLE),
        ({"needs": ("fake-nvml",)}, {"driver": "exec:./d"}, None),
        ({"disruptive": True}, {"nvml": "real"}, Status.FILTERED),
        ({"disruptive": True}, {"nvml": "real", "allow_disruptive": True}, None),
        ({"disruptive": True}, {}, None),
    ],
)
def test_the_nvml_chapter_runs_on_real_gpus_with_one_option(
    more: dict[str, Any], options: dict[str, Any], status: Status | None
) -> None:
    """Changing fake GPUs is not applicable there; changing a real GPU's MIG layout must be allowed."""
    found = decide(scenario(components=("nvml",), **more), target={"nvml": options.get("nvml", "fake")}, **options)
    assert found.status == status
