"""The permission table, its ClusterRoles, and the check for missing and unused permissions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from dra_conformance.cli import call
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import ExitCode
from dra_conformance.rbac import check, roles, table
from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import Permission
from verification.rbac_ablation.command import cover, lasting, run_until_used
from verification.rbac_ablation.environment import reduced


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[tuple[str, str], dict[str, Any]]:
    assert call(["rbac", *words]) == ExitCode.OK
    documents = yaml.safe_load_all(capsys.readouterr().out)
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in documents}


def may(role: dict[str, Any], verb: str, resource: str, group: str = "") -> bool:
    return any(
        group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"] for rule in role["rules"]
    )


def test_on_a_cluster_only_the_harness_and_its_cleanup_need_permissions(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--user", "jane")
    assert [name for kind, name in found if kind == "ClusterRole"] == ["dra-conformance", "dra-conformance-cleanup"]
    binding = found["ClusterRoleBinding", "dra-conformance"]
    assert binding["subjects"] == [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}]


def test_each_component_of_ours_has_a_role_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--scheduler", "exec:./mine", "--binder", "reference", "--kubelet", "reference")
    names = {name for kind, name in found if kind == "ClusterRole"}
    assert {"dra-conformance-binder", "dra-conformance-kubelet"} <= names
    assert "dra-conformance-scheduler" not in names


def test_the_computedomain_plugin_has_a_role_of_its_own_if_a_kubelet_of_the_run_starts_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = ("ClusterRole", "dra-conformance-compute-domain-plugin")
    found = printed(capsys, "--kubelet", "reference", "--compute-domain-controller", "reference")
    plugin, controller = found[name], found["ClusterRole", "dra-conformance-compute-domain-controller"]
    assert may(plugin, "create", "resourceslices", "resource.k8s.io")
    assert not may(controller, "create", "resourceslices", "resource.k8s.io")
    for verb, resource, group in (
        ("create", "daemonsets", "apps"),
        ("delete", "resourceclaimtemplates", "resource.k8s.io"),
        ("update", "computedomains", "resource.nvidia.com"),
    ):
        assert may(controller, verb, resource, group)
        assert not may(plugin, verb, resource, group)
    assert name not in printed(capsys, "--compute-domain-controller", "reference")
    assert name not in printed(capsys, "--kubelet", "reference", "--profile", "webhook")


def test_the_profile_api_makes_no_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    role = printed(capsys, "--profile", "api")["ClusterRole", "dra-conformance"]
    assert may(role, "create", "resourceclaims", "resource.k8s.io")
    assert not may(role, "create", "nodes")
    assert not may(role, "create", "pods/binding")
    assert not any("bindrequests" in rule["resources"] for rule in role["rules"])
    assert may(printed(capsys)["ClusterRole", "dra-conformance"], "create", "nodes")


@pytest.mark.parametrize(
    ("features", "makes_nodes"),
    [("DRANodeAllocatableResources", True), ("DRAConsumableCapacity,health", False)],
)
def test_the_profile_api_makes_nodes_for_one_gate(
    features: str, makes_nodes: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    roles_of_api = printed(capsys, "--profile", "api", "--supported-features", features)
    assert may(roles_of_api["ClusterRole", "dra-conformance"], "create", "nodes") == makes_nodes
    assert may(roles_of_api["ClusterRole", "dra-conformance-cleanup"], "delete", "nodes") == makes_nodes


def test_a_component_that_a_profile_does_not_use_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--compute-domain-controller", "reference", "--scheduler", "reference", "--profile", "scheduler-core")
    names = {name for kind, name in printed(capsys, *words) if kind == "ClusterRole"}
    assert "dra-conformance-scheduler" in names
    assert "dra-conformance-fabric" not in names


@pytest.mark.parametrize(
    ("component", "with_it", "without"), [("kubelet", "driver-core", "api"), ("binder", "imex", "api")]
)
def test_a_component_has_a_role_where_scenarios_use_it(component: str, with_it: str, without: str) -> None:
    assert roles.takes_part(component, [with_it])
    assert roles.takes_part(component, [without, with_it])
    assert not roles.takes_part(component, [without])


def test_no_role_grants_everything(capsys: pytest.CaptureFixture[str]) -> None:
    components = [word for component in table.COMPONENTS for word in (f"--{component}", "reference")]
    for (kind, _), obj in printed(capsys, *components).items():
        for rule in obj["rules"] if kind == "ClusterRole" else ():
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
            assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
            assert "secrets" not in rule["resources"]


def test_a_service_account_lies_in_its_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--serviceaccount", "ci", "--namespace", "build")
    assert found["ServiceAccount", "ci"]["metadata"]["namespace"] == "build"
    assert ("Namespace", "build") not in found
    subject = found["ClusterRoleBinding", "dra-conformance"]["subjects"][0]
    assert subject == {"kind": "ServiceAccount", "name": "ci", "namespace": "build"}
    assert ("Namespace", "dra-conformance") in printed(capsys)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--user", "a", "--serviceaccount", "b"], "--user excludes --serviceaccount"),
        (["--control-plane", "embedded"], "--control-plane embedded: requires no permissions"),
        (["--profile", "apy"], "Did you mean api?"),
    ],
)
def test_wrong_use(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["rbac", *words]) == ExitCode.USAGE
    assert told in capsys.readouterr().err


def test_every_kind_that_cleanup_deletes_is_known() -> None:
    rows = [row for row in table.permissions() if row.role == table.CLEANUP]
    for verb, kinds in (("delete", table.made_by_runs()), ("patch", table.finalized_by_runs())):
        wanted = {(row.group, row.resource) for row in rows if verb in row.verbs}
        assert {(kind.group, kind.plural) for kind in kinds} == wanted


def test_the_doctor_checks_exactly_the_printed_permissions() -> None:
    options = from_mapping({"control-plane": "kubeconfig", "profile": ["api"]}, where="test")
    asked = {(group, resource, verb) for _, group, resource, verb in roles.questions(options)}
    given = {
        (rule["apiGroups"][0], resource, verb)
        for obj in roles.objects(options, roles.Subject("x"))
        for rule in obj.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert asked == given


# -- the check itself --------------------------------------------------------------------------------------------------

PODS = Permission(role="harness", resource="pods", verbs=("get", "list"), besides=("api",))


def listed(found: dict[check.Need, set[str]], *rows: Permission) -> list[str]:
    return [str(each) for each in check.differences(found, table=rows)]


def test_the_check_is_silent_where_table_and_calls_agree() -> None:
    calls = {("harness", "", "pods", "get"): {"imex"}, ("harness", "", "pods", "list"): {""}}
    assert listed(calls, PODS) == []


def test_the_check_finds_a_call_without_a_row() -> None:
    calls = {("harness", "", "pods", verb): {"imex"} for verb in ("get", "list", "delete")}
    assert listed(calls, PODS) == ["used, but not in the table: harness: delete pods in imex"]


def test_the_check_finds_a_call_in_a_profile_that_does_not_hold_it() -> None:
    calls = {("harness", "", "pods", verb): {"imex", "api"} for verb in ("get", "list")}
    assert [line.endswith("in api") for line in listed(calls, PODS)] == [True, True]


def test_the_check_finds_an_unused_permission() -> None:
    calls = {("harness", "", "pods", "get"): {"imex"}}
    assert listed(calls, PODS) == ["in the table, but not used: harness: list pods in any profile"]


def test_the_check_finds_a_right_that_the_profile_api_does_not_use() -> None:
    row = Permission(role="harness", resource="pods", verbs=("get",))
    assert listed({("harness", "", "pods", "get"): {"imex"}}, row) == [
        "in the table, but not used: harness: get pods in api"
    ]


def test_a_row_for_a_gate_does_not_replace_that_of_other_profiles() -> None:
    gated = Permission(role="harness", resource="nodes", verbs=("create",), profiles=("api",), feature="Some")
    found = {("harness", "", "nodes", "create"): {"api", "imex"}}
    rows = check.table_of(found, kept=[gated])
    assert rows == [Permission(role="harness", resource="nodes", verbs=("create",), profiles=("imex",)), gated]
    assert check.table_of({("harness", "", "nodes", "create"): {"api"}}, kept=[gated]) == [gated]
    assert listed(found, *rows) == listed({}, gated) == []


def test_one_verb_can_be_taken_from_a_role() -> None:
    role = {"rules": [{"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list"]}]}
    assert reduced(role, "", "pods", "get") == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]


def test_few_scenarios_cover_all_calls() -> None:
    pods, nodes = ("harness", "", "pods"), ("harness", "", "nodes")
    uses = {(*pods, "get"): ["a", "b"], (*pods, "list"): ["b", "c"], (*nodes, "get"): ["c"]}
    assert cover(uses) == ["b", "c"]


def test_an_unused_permission_is_tried_in_other_scenarios() -> None:
    early, sure = ("kubelet", "", "events", "create"), ("kubelet", "", "pods", "get")
    never = ("kubelet", "", "pods", "delete")
    uses = {early: ["a", "b", "c"], sure: ["a", "b"], never: ["a"]}
    asks = {"a": {sure}, "b": {sure}, "c": {early}}
    ran: list[str] = []

    def run(named: Sequence[str]) -> list[str]:
        ran.extend(named)
        return [f"ran {each}" for each in named]

    def unused() -> list[Need]:
        return sorted(set(uses).difference(*(asks[each] for each in ran)))

    assert run_until_used(uses, run=run, unused=unused) == ["ran a", "ran b", "ran c"]
    assert unused() == [never]


def test_a_scenario_that_passes_on_retry_lacks_no_permission(capsys: pytest.CaptureFixture[str]) -> None:
    bad = [{"id": each, "status": "failed", "reason": "forbidden"} for each in ("lacks", "slow")]
    assert lasting(bad, passes=lambda each: each == "slow") == ["lacks failed: forbidden"]
    assert "unstable: slow failed" in capsys.readouterr().out
