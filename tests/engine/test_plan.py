"""Tests of the plan: scenarios that run, and the status and reason of each other one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dra_conformance.core import features
from dra_conformance.core.errors import UsageError
from dra_conformance.core.features import Scenario, Step
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue, Release, Version
from dra_conformance.core.rules.catalogue import COMPONENTS, Rule
from dra_conformance.core.status import Status
from dra_conformance.core.tags import NEEDS, Tags
from dra_conformance.engine import plan, supported_features
from dra_conformance.engine.plan import Decision
from dra_conformance.engine.supported_features import SupportedFeatures
from dra_conformance.engine.target import Target, under_test

REAL = {"kubelet": "kubelet", "control_plane": "binaries"}


def rule(ident: str, **more: Any) -> Rule:
    return Rule(id=ident, text="It holds.", level="MUST", source="a file", **{"component": "driver", **more})


CATALOGUE = Catalogue(
    {
        found.id: found
        for found in (
            rule("DRA-001"),
            rule("DRA-002", since="1.37"),
            rule("DRA-003", until="1.35"),
            rule("DRA-004", gates=("DRAThing",)),
            rule("DRA-005", feature="health"),
            rule("DRA-006", component="scheduler"),
            rule("DRA-007", driver="gpu.nvidia.com"),
            rule("NV-001", driver="gpu.nvidia.com", driver_since="v0.5.0"),
            rule("NV-002", driver="gpu.nvidia.com", driver_until="v0.4.1"),
            rule("KAI-001", kai_since="0.17"),
            rule("DRA-008", component="binder"),
            rule("DRA-009", gates=("DRAPartitionableDevices",)),
            rule("DRA-010", gates=("DRAAdminAccess",)),
            rule("DRA-011", component="kubelet"),
            rule("DRA-014", component="kubelet", since="1.36"),
            rule("DRA-015", since="1.36"),
            rule("DRA-012", component="compute-domain-controller"),
            rule("DRA-013", component="compute-domain-plugin"),
            rule("DP-001", component="device-plugin"),
        )
    }
)


def scenario(name: str = "s", rules: tuple[str, ...] = ("DRA-001",), step: str = "it holds", **more: Any) -> Scenario:
    tags = Tags(rules=rules, **{"profiles": ("driver-core",), **more})
    steps = tuple(Step("then", step, 3, (ident,)) for ident in rules)
    return Scenario(f"probe/p#{name}", name, "probe", "P", Path("p.feature"), 2, tags, steps)


def decide(one: Scenario, *, target: dict[str, Any] | None = None, **options: Any) -> Decision:
    chosen = RunOptions(**options)
    known = {"kubernetes_version": Version(1, 36), "components": chosen.components(), "driver_name": chosen.driver_name}
    made = plan.make([one], CATALOGUE, chosen, Target(**{**known, **(target or {})}))
    assert len(made) == 1
    return made.decisions[0]


def test_a_rule_out_of_the_driver_release_is_not_applicable_and_the_others_untestable() -> None:
    decision = decide(scenario(rules=("NV-001", "DRA-001")), target={"driver_release": Release(0, 4, 1)})
    assert decision.status is Status.UNTESTABLE
    assert decision.of_rules["NV-001"][0] is Status.NOT_APPLICABLE


def test_a_gate_that_the_release_locks_cannot_be_switched_off_for_kube_scheduler() -> None:
    one = scenario(
        components=("scheduler",),
        needs=("scheduler-gates",),
        step='the scheduler has feature gate "DRAPrioritizedList" off',
    )
    real = {"scheduler": "kube-scheduler", "control_plane": "binaries"}
    locked = decide(one, target={"kubernetes_version": Version(1, 37)}, **real)
    assert locked.status is Status.NOT_APPLICABLE
    assert "Kubernetes 1.37 locks feature gate DRAPrioritizedList" in locked.reason
    assert decide(one, **real).status is None
    # The reference starts without the gate in every release.
    assert decide(one, target={"kubernetes_version": Version(1, 37)}).status is None


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
            Status.UNTESTABLE,
            "the requests of the driver (socket) do not pass through the harness",
        ),
        (scenario(needs=("own-etcd",)), {}, {}, Status.UNTESTABLE, "the control plane is embedded"),
        (
            scenario(needs=("node-authorizer",)),
            {"control_plane": "binaries"},
            {"resource_versions": ("v1beta2", "v1beta1")},
            Status.UNTESTABLE,
            "needs the Node authorizer",
        ),
        (
            scenario(needs=("served-version",), step='the manifest "claims/taint-rule-v1"'),
            {},
            {"resource_versions": ("v1beta2", "v1beta1")},
            Status.NOT_APPLICABLE,
            "uses resource.k8s.io/v1, which the control plane does not serve",
        ),
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
        (
            scenario(rules=("NV-001",)),
            {},
            {"driver_release": Release(0, 4, 1)},
            Status.NOT_APPLICABLE,
            "holds since release v0.5.0 of NVIDIA's driver; the rules of v0.4.1 apply",
        ),
        (scenario(rules=("NV-002",)), {}, {}, Status.NOT_APPLICABLE, "held until release v0.4.1 of NVIDIA's driver"),
        (
            scenario(rules=("KAI-001", "DRA-001")),
            {},
            {"revision": "kai-0.12"},
            Status.NOT_APPLICABLE,
            "holds since KAI 0.17; the rules of kai-0.12 apply (--revision)",
        ),
        (scenario(since="1.37"), {}, {}, Status.NOT_APPLICABLE, "holds since"),
        (
            scenario(rules=("DRA-004",)),
            {},
            {"feature_gates": {"DRAThing": False}},
            Status.NOT_SUPPORTED,
            "Thing is off",
        ),
        (
            scenario(rules=("DRA-008",), components=("binder",)),
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
            Status.UNTESTABLE,
            "the run has no kubelet to call the driver (--kubelet none)",
        ),
        (
            scenario(needs=("run-kubelet",)),
            {"kubelet": "none"},
            {},
            Status.UNTESTABLE,
            "the run has no kubelet (--kubelet none)",
        ),
        (
            scenario(needs=("own-kubelet",)),
            {"kubelet": "none"},
            {},
            Status.UNTESTABLE,
            "needs the harness's kubelet",
        ),
        (
            scenario(needs=("fake-nvml",), components=("driver",)),
            {"driver": "exec:x"},
            {},
            Status.UNTESTABLE,
            "the driver's command has no word {driver_root}",
        ),
        (
            scenario(needs=("fake-nvml",), components=("compute-domain-plugin",)),
            {"driver": "exec:x", "compute_domain_plugin": "exec:y"},
            {},
            Status.UNTESTABLE,
            "the compute-domain-plugin's command has no word {driver_root}",
        ),
        (
            scenario(rules=("DRA-007",), needs=("gpu-driver",)),
            {"driver_name": "a.b"},
            {},
            Status.NOT_APPLICABLE,
            "the driver is a.b",
        ),
        (scenario(needs=("gpu-driver",)), {"driver_name": "a.b"}, {}, Status.UNTESTABLE, "the driver is a.b"),
        (
            scenario(components=("scheduler", "binder"), rules=("DRA-006",)),
            {"binder": "none"},
            {},
            Status.UNTESTABLE,
            "the run has no binder (--binder none)",
        ),
        (
            scenario(rules=("DRA-006",), needs=("process-driver",)),
            {"driver": "socket:/x"},
            {},
            Status.NOT_APPLICABLE,
            "the scheduler is not under test; kills the driver",
        ),
        (
            scenario(rules=("DRA-005",)),
            {"driver": "exec:x"},
            {"features": SupportedFeatures(unsupported={"health": "not declared (--supported-features)"})},
            Status.NOT_SUPPORTED,
            "the feature health is not declared",
        ),
        (
            scenario(gates=("X",), rules=("DRA-004",)),
            {},
            {"feature_gates": {"X": False}},
            Status.UNTESTABLE,
            "feature gate X is off",
        ),
        (
            scenario(rules=("DRA-009",)),
            {},
            {"features": SupportedFeatures(declared=("health",))},
            Status.NOT_SUPPORTED,
            "the feature DRAPartitionableDevices is not declared",
        ),
        (
            scenario(rules=("DRA-009",)),
            {},
            {
                "features": SupportedFeatures(declared=("DRAPartitionableDevices",)),
                "feature_gates": {"DRAPartitionableDevices": False},
            },
            Status.UNTESTABLE,
            "the feature DRAPartitionableDevices is declared, and its feature gate is off",
        ),
        (
            scenario(needs=("process-driver",)),
            {"driver": "socket:/x"},
            {},
            Status.UNTESTABLE,
            "the run did not start this one",
        ),
        (
            scenario(components=("driver",), needs=("virtual-clock",), step="600 seconds pass"),
            {"driver": "exec:x"},
            {},
            Status.UNTESTABLE,
            "would wait 600 s for the driver outside this process",
        ),
        (
            scenario(needs=("own-control-plane",)),
            {},
            {"own_control_plane": False},
            Status.UNTESTABLE,
            "belongs to the run",
        ),
        (
            scenario(rules=("DRA-011",), needs=("own-kubelet",)),
            {"kubelet": "cluster"},
            {},
            Status.UNTESTABLE,
            "harness's kubelet",
        ),
        (
            scenario(rules=("DRA-011",), needs=("run-kubelet",)),
            {"kubelet": "cluster"},
            {},
            Status.UNTESTABLE,
            "belongs to the cluster",
        ),
        (
            scenario(rules=("DRA-011",), needs=("own-kubelet",), components=("kubelet",)),
            {**REAL},
            {},
            Status.UNTESTABLE,
            "harness's kubelet",
        ),
        (
            scenario(rules=("DRA-011",), needs=("virtual-clock",), components=("kubelet",), step="3600 seconds pass"),
            {**REAL},
            {},
            Status.UNTESTABLE,
            "would wait 3600 s",
        ),
        (
            scenario(rules=("DRA-012",), needs=("compute-domain-flags",)),
            {"compute_domain_controller": "exec:x"},
            {},
            Status.UNTESTABLE,
            "its command has no word {flags}",
        ),
        (
            scenario(rules=("DRA-012",), needs=("compute-domain-flags",)),
            {"compute_domain_controller": "cluster"},
            {},
            Status.UNTESTABLE,
            "that is cluster",
        ),
        (
            scenario(rules=("DRA-013",), needs=("compute-domain-plugin-flags",)),
            {"compute_domain_plugin": "exec:x {driver_root}"},
            {},
            Status.UNTESTABLE,
            "its command has no word {flags}",
        ),
        (
            scenario(rules=("DP-001",), needs=("device-plugin-flags",), components=("device-plugin",)),
            {"device_plugin": "exec:x {driver_root}"},
            {},
            Status.UNTESTABLE,
            "its command has no word {flags}",
        ),
        (
            scenario(rules=("DP-001",), needs=("fake-nvml",), components=("device-plugin",)),
            {"device_plugin": "exec:x {flags}"},
            {},
            Status.UNTESTABLE,
            "the device-plugin's command has no word {driver_root}",
        ),
        (
            scenario(rules=("DRA-013",), components=("compute-domain-plugin",)),
            {"compute_domain_plugin": "none"},
            {},
            Status.NOT_APPLICABLE,
            "the run has no compute-domain-plugin",
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
            scenario(needs=("kai",)),
            {},
            {"lacking_fields": ("spec.backoffLimit",), "revision": "kai-0.12"},
            Status.UNTESTABLE,
            "the BindRequest CRD of the cluster is not that of kai-0.12: it lacks spec.backoffLimit; install that CRD",
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
    # A program outside this process is waited for in real time, up to three minutes.
    short = scenario(components=("driver",), needs=("virtual-clock",), step="120 seconds pass")
    assert decide(short, driver="exec:x").status is None
    # A scheduler that binds pods itself needs no binder.
    direct = scenario(components=("scheduler", "binder"), rules=("DRA-006",))
    assert decide(direct, scheduler="exec:x", binder="none").status is None
    # A locked feature gate is no option of the release, so it need not be declared.
    declared = {"features": SupportedFeatures(declared=())}
    assert decide(scenario(rules=("DRA-010",)), target=declared).status is None
    # The list of features is that of the components under test.
    assert decide(scenario(rules=("DRA-009",)), target=declared, scheduler="exec:x").status is None


def test_scenarios_of_other_profiles_are_not_in_the_plan() -> None:
    options = RunOptions(profile=("api",))
    target = Target(kubernetes_version=Version(1, 36), components=options.components())
    two = [scenario("a"), scenario("b", profiles=("api", "kubelet"))]
    assert [d.scenario.name for d in plan.make(two, CATALOGUE, options, target).decisions] == ["b"]


def test_rules_of_an_older_kubelet_are_those_of_its_release() -> None:
    old = {"older_kubelet": Version(1, 35), "gates_off_in_kubelet": frozenset({"DRAThing"})}
    decision = decide(scenario(rules=("DRA-014", "DRA-015"), components=("kubelet",)), target=old)
    assert decision.of_rules["DRA-014"][0] is Status.NOT_APPLICABLE
    assert "since Kubernetes 1.36; the target is 1.35" in decision.of_rules["DRA-014"][1]
    assert decide(scenario(rules=("DRA-015",)), target=old).status is None
    gated = decide(scenario(rules=("DRA-004",), components=("kubelet",)), target=old)
    assert "feature gate DRAThing is off in the kubelet (1.35)" in gated.reason
    assert decide(scenario(rules=("DRA-004",)), target=old).status is None


def test_an_unknown_rule_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="there is no rule 'DRA-999'"):
        decide(scenario(), rule=("DRA-999",))


def test_every_requirement_can_be_unmet() -> None:
    """A requirement that every target meets would have no effect."""
    hard = RunOptions(
        scheduler="reference:publish=direct",
        binder="cluster",
        driver="socket:/x",
        driver_name="a.b",
        kubelet="cluster",
        compute_domain_controller="none",
        compute_domain_plugin="exec:x",
        compute_domain_daemon="none",
        device_plugin="exec:x",
    )
    harder = msgspec.structs.replace(
        hard,
        scheduler="exec:x",
        binder="exec:x",
        webhook="cluster",
        control_plane="binaries",
        nvml="real",
        taint_eviction="cluster",
        claim_controller="cluster",
    )
    real = msgspec.structs.replace(harder, scheduler="kube-scheduler")
    others = msgspec.structs.replace(harder, scheduler="cluster", control_plane="kubeconfig", webhook="reference")
    words = 'revision "documented", manifest "a-v1beta2"'
    steps = {"virtual-clock": "600 seconds pass"}
    for need in NEEDS:
        found = [
            plan.make(
                [scenario(needs=(need,), components=("scheduler", "driver"), step=steps.get(need, words))],
                CATALOGUE,
                options,
                Target(
                    kubernetes_version=Version(1, 36),
                    components=options.components(),
                    driver_name=options.driver_name,
                    own_control_plane=False,
                    missing_apis=frozenset({"podgroups", "queues"}),
                    resource_versions=("v1beta1",),
                    gpus=1,
                    nvml=options.nvml,
                    features=supported_features.find(options),
                ),
            )
            .decisions[0]
            .status
            for options in (hard, harder, real, others)
        ]
        assert set(found) & {Status.NOT_APPLICABLE, Status.UNTESTABLE}, need


def test_a_declared_feature_that_cannot_be_observed_is_untestable() -> None:
    """The driver streams health to the kubelet, and the run cannot observe the cluster's."""
    one = scenario(rules=("DRA-005",), needs=("own-kubelet",))
    cluster = {"control_plane": "kubeconfig", "kubelet": "cluster", "driver": "cluster", "driver_name": "a.b"}
    declared = SupportedFeatures(supported={"health": "declared"}, declared=("health",))
    found = decide(one, target={"features": declared}, **cluster)
    assert (found.status, found.reason) == (Status.UNTESTABLE, "needs the harness's kubelet (--kubelet cluster)")
    undeclared = SupportedFeatures(unsupported={"health": "not declared"})
    assert decide(one, target={"features": undeclared}, **cluster).status is Status.NOT_SUPPORTED


def test_a_driver_of_the_cluster_is_not_called() -> None:
    one = scenario(rules=("DRA-001",), components=("driver",))
    found = decide(one, control_plane="kubeconfig", driver="cluster", driver_name="a.b")
    assert found.status is Status.UNTESTABLE
    assert "--driver socket:PATH" in found.reason
    running = decide(one, control_plane="kubeconfig", driver="socket:/s", driver_name="a.b")
    assert running.status is not Status.UNTESTABLE
    other = scenario(rules=("DRA-001",), components=("claim-controller",))
    assert decide(other, control_plane="kubeconfig", driver="cluster").status is not Status.UNTESTABLE


def test_a_rule_of_a_component_that_the_run_lacks_does_not_apply_whatever_else_is_missing() -> None:
    both = scenario(rules=("DRA-005", "DRA-001"), components=("driver",))
    undeclared = SupportedFeatures(unsupported={"health": "not declared (--supported-features)"})
    found = decide(both, target={"features": undeclared}, driver="none")
    assert (found.status, found.reason) == (Status.NOT_APPLICABLE, "the run has no driver (--driver none)")
    assert found.of_rules == {}


def test_a_declared_feature_is_judged_or_untestable() -> None:
    """A topology that cannot have a declared feature does not excuse it."""
    one = scenario(rules=("DRA-005",), needs=("compute-domain",))
    declared = SupportedFeatures(supported={"health": "declared"}, declared=("health",))
    found = decide(one, target={"features": declared}, compute_domain_controller="none")
    assert (found.status, found.reason) == (
        Status.UNTESTABLE,
        "the feature health is declared, and there is no ComputeDomain controller (--compute-domain-controller none)",
    )


def test_each_rule_of_a_scenario_has_its_own_status() -> None:
    """Only a rule about the missing thing does not apply; the others bind the target and were not judged."""
    two = scenario(rules=("DRA-001", "DRA-007"), needs=("gpu-driver",))
    found = decide(two, driver_name="a.b")
    reason = "applies to the driver gpu.nvidia.com; the driver is a.b"
    assert (found.status, found.reason) == (Status.UNTESTABLE, reason)
    assert found.of_rules == {"DRA-007": (Status.NOT_APPLICABLE, reason)}
    old = decide(scenario(rules=("DRA-001", "DRA-003")))
    assert (old.status, old.of_rules["DRA-003"][0]) == (Status.UNTESTABLE, Status.NOT_APPLICABLE)


def test_only_a_marked_rule_can_be_not_supported() -> None:
    """Every rule of the catalogue: with every feature missing and every gate off, others are never not-supported."""
    catalogue = Catalogue.load()
    options = RunOptions(supported_features=())
    gates = {gate: False for one in catalogue.values() for gate in one.gates}
    target = Target(
        kubernetes_version=Version(1, 36),
        components=options.components(),
        feature_gates=gates,
        features=supported_features.find(options),
    )
    found = set()
    for decision in plan.make(features.read_all(), catalogue, options, target).decisions:
        for name in decision.scenario.rules if decision.status else ():
            status, _ = decision.of_rules.get(name, (decision.status, ""))
            if status is Status.NOT_SUPPORTED:
                found.add(name)
                assert catalogue[name].feature or catalogue[name].gates, name
    assert {"NV-071b", "DRA-295b", "DRA-199"} <= found


def test_the_components_that_a_run_judges() -> None:
    def judged(**more: str) -> frozenset[str]:
        return under_test(RunOptions(**more).components(), nvml=more.get("nvml", "fake"))

    assert judged() == frozenset(COMPONENTS)
    assert judged(control_plane="binaries") == frozenset(COMPONENTS)
    assert judged(scheduler="reference:publish=direct") == frozenset(COMPONENTS)
    assert judged(binder="none") == frozenset(COMPONENTS)
    assert judged(driver="exec:x") == {"driver"}
    assert judged(driver="exec:x", nvml="real") == {"driver", "nvml"}
    assert judged(control_plane="binaries", scheduler="kube-scheduler") == {"control-plane", "scheduler"}


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
        ({"needs": ("fake-nvml",)}, {"nvml": "real"}, Status.UNTESTABLE),
        ({"needs": ("chosen-gpus",)}, {"nvml": "real"}, Status.NOT_APPLICABLE),
        ({"needs": ("fake-nvml",)}, {"driver": "exec:./d"}, None),
        ({"disruptive": True}, {"nvml": "real"}, Status.FILTERED),
        ({"disruptive": True}, {"nvml": "real", "allow_disruptive": True}, None),
        ({"disruptive": True}, {}, None),
    ],
)
def test_the_nvml_chapter_runs_on_real_gpus_with_one_option(
    more: dict[str, Any], options: dict[str, Any], status: Status | None
) -> None:
    """Changes of fake GPUs cannot be observed there; changing a real GPU's MIG layout must be allowed."""
    found = decide(scenario(components=("nvml",), **more), target={"nvml": options.get("nvml", "fake")}, **options)
    assert found.status == status
