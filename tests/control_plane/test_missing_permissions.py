"""A missing permission is reported with what fails for it; the published table has the permissions of the roles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.auth import User
from dra_api.client import KubeClient
from dra_api.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, PODS, VALIDATING_WEBHOOKS
from dra_api.transport import HttpTransport, Response
from dra_conformance.cli import call
from dra_conformance.components.registration import not_registered_for_claims
from dra_conformance.control_plane import own_access
from dra_conformance.core import assets, features
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.events.calls import Calls, CallsTransport
from dra_conformance.core.status import Status
from dra_conformance.pytest_plugin import runner
from dra_conformance.rbac import missing, roles
from verification.rbac_ablation import ablation, command, evidence
from verification.rbac_ablation.environment import reduced, role_of
from verification.rbac_ablation.roles import ByHolder
from verification.rbac_ablation.trial import CLEANS, Outcome

SCENARIO = "claims/lifecycle#a-pod-that-names-a-template-gets-a-claim-of-its-own"
LEFT = "0a1b2c3d"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path / "plane") as plane:
        yield plane


def without(cluster: ApiServerEmulator, folder: Path, verb: str, resource: str, *options: str) -> Path:
    """The kubeconfig of somebody who holds what is printed for these options, but for one verb on one resource."""
    admin = KubeClient(cluster.transport())
    values = dict(zip(options[::2], options[1::2], strict=True))
    for obj in roles.objects(
        from_mapping({"control-plane": "kubeconfig", **values}, where="test"), roles.Subject("jane")
    ):
        if obj["kind"] == CLUSTER_ROLES.kind:
            admin.create(CLUSTER_ROLES, {**obj, "rules": reduced(obj, "", resource, verb)})
        else:
            admin.create(CLUSTER_ROLE_BINDINGS, obj)
    return cluster.write_kubeconfig(folder / "jane", User("jane", groups=("system:authenticated",)))


def run(kubeconfig: Path, folder: Path) -> dict[str, str]:
    words = ["run", "--control-plane", f"kubeconfig:{kubeconfig}", "--claim-controller", "reference", "--patience", "1"]
    assert call(
        [*words, "--focus", f"^{SCENARIO} ", "--report", "json", "--out", str(folder / "out"), "--progress", "none"]
    )
    report = orjson.loads((folder / "out" / "report.json").read_bytes())
    (row,) = [row for row in report["scenarios"] if row["id"] == SCENARIO]
    return {key: row[key] for key in ("status", "reason")}


def test_a_scenario_that_fails_says_what_its_controller_may_not(
    cluster: ApiServerEmulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = run(without(cluster, tmp_path, "patch", "pods/status", "claim-controller", "reference"), tmp_path)
    assert row["status"] == "failed"
    told = "missing permissions: the claim-controller may not patch pods/status"
    told += " (`dra-conformance rbac` prints all that a run needs)"
    assert row["reason"].endswith(f"; {told}")
    capsys.readouterr()
    assert call(["report", str(tmp_path / "out")]) == ExitCode.OK
    assert f"  reason    {told}\n" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_controller_that_may_not_look_says_so(cluster: ApiServerEmulator, tmp_path: Path, verb: str) -> None:
    row = run(without(cluster, tmp_path, verb, "pods", "claim-controller", "reference"), tmp_path)
    assert row["status"] == "error"
    assert f"cannot {verb} pods within 5 s: " in row["reason"]
    assert f"may not {verb} pods" in row["reason"]


@pytest.mark.parametrize(
    ("own", "status", "ends"),
    [
        (False, Status.PASSED, Status.UNTESTABLE),
        (True, Status.PASSED, Status.PASSED),
        (True, Status.FAILED, Status.FAILED),
    ],
)
def test_a_pass_with_a_component_without_permissions_is_untestable(own: bool, status: Status, ends: Status) -> None:
    calls = Calls()
    said = {"message": 'User "u" cannot create resource "events" in API group "" in the namespace "n"'}
    calls.add_denied(Response(403, {}, orjson.dumps(said)), {"User-Agent": "reference-binder"})
    run = SimpleNamespace(calls=calls, on_existing_cluster=not own)
    state = SimpleNamespace(run=run, outcome=(status, ""))
    report = SimpleNamespace(outcome="passed", longrepr=None)
    runner._report_missing_permissions(cast(Any, state), cast(Any, report))
    assert state.outcome[0] is ends
    assert ("the binder may not create events" in state.outcome[1]) == (ends is not Status.PASSED)
    assert report.outcome == ("failed" if status is not ends else "passed")
    runner._report_missing_permissions(
        cast(Any, state), cast(Any, report)
    )  # what was told once is not told of the next
    assert state.outcome[1].count("may not create events") <= 1


def test_a_cleanup_says_what_it_may_not(
    cluster: ApiServerEmulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = without(cluster, tmp_path, "list", "nodes")
    # What the harness may do, the cleanup may do too, for it is the same user: so it is taken from both.
    admin = KubeClient(cluster.transport())
    harness = admin.get(CLUSTER_ROLES, "dra-conformance")
    admin.patch(CLUSTER_ROLES, "dra-conformance", {"rules": reduced(harness, "", "nodes", "list")})
    assert call(["cleanup", "--kubeconfig", str(kubeconfig), "--run-id", LEFT]) == ExitCode.LEFTOVERS
    assert "missing permissions: the cleanup may not list nodes (`dra-conformance rbac`" in capsys.readouterr().err


def test_who_may_do_everything_is_asked_of_the_server(cluster: ApiServerEmulator, tmp_path: Path) -> None:
    assert own_access.may_do_everything(KubeClient(cluster.transport()))
    path = without(cluster, tmp_path, "delete", "pods", "claim-controller", "reference")
    assert not own_access.may_do_everything(KubeClient(HttpTransport.from_kubeconfig(path)))


def test_whether_a_webhook_is_there_is_not_known_without_the_right(cluster: ApiServerEmulator) -> None:
    jane = KubeClient(cluster.transport_for("jane"))
    told = "the harness may not list validatingwebhookconfigurations.admissionregistration.k8s.io"
    assert not_registered_for_claims(jane).endswith(f" is not known: {told}")
    assert VALIDATING_WEBHOOKS.plural in told


def test_refused_calls_are_known_by_the_words_of_the_server(cluster: ApiServerEmulator) -> None:
    calls = Calls()
    client = KubeClient(CallsTransport(cluster.transport_for("jane"), calls), user_agent="reference-scheduler")
    with pytest.raises(Exception, match="cannot list resource"):
        client.list(PODS)
    with pytest.raises(Exception, match="cannot watch resource"):
        client.watch(PODS)
    status = {"message": 'requires x: User "u" cannot update resource "resourceclaims/binding" in API group "g" at'}
    calls.add_denied(Response(422, {}, orjson.dumps(status)), {"User-Agent": "reference-binder"})
    calls.add_denied(Response(403, {}, b"the namespace is being terminated"), {})
    calls.add_denied(Response(200, {}, orjson.dumps(status)), {})
    refused = calls.take_denied()
    assert missing.needs(refused) == [
        ("binder", "g", "resourceclaims/binding", "update"),
        ("scheduler", "", "pods", "list"),
        ("scheduler", "", "pods", "watch"),
    ]
    assert calls.take_denied() == []


def test_each_request_is_sent_as_the_user_of_its_role(cluster: ApiServerEmulator) -> None:
    users = {"harness": "nobody", "scheduler": "kubernetes-admin"}
    binding = {"metadata": {"name": "all"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    admin = KubeClient(cluster.transport())
    admin.create(CLUSTER_ROLES, binding)
    role = {"apiGroup": CLUSTER_ROLES.group, "kind": "ClusterRole", "name": "all"}
    subject = {"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": "kubernetes-admin"}
    admin.create(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": "all"}, "roleRef": role, "subjects": [subject]})
    door = ByHolder(cluster.transport(), users)
    assert KubeClient(door, user_agent="reference-scheduler").list(PODS).items == []
    KubeClient(door, user_agent="reference-scheduler").watch(PODS).close()
    with pytest.raises(Exception, match='User "nobody" cannot list'):
        KubeClient(door).list(PODS)


# -- the published table -----------------------------------------------------------------------------------------------


def test_every_printed_permission_is_required() -> None:
    """`python -m verification rbac --add` repairs it, on the real API server."""
    assert command.unlike({row.need for row in evidence.load()}) == []


def test_the_page_is_that_of_the_table() -> None:
    assert evidence.PAGE.read_text() == evidence.page(evidence.load())


def test_the_table_names_scenarios_that_are_there() -> None:
    there = {scenario.id for scenario in features.read_all([assets.features()])}
    assert {row.scenario for row in evidence.load()} <= there | {CLEANS}


def test_only_what_is_named_alone_is_proof() -> None:
    need = ("scheduler", "resource.k8s.io", "resourceslices", "list")
    other = ("harness", "", "pods", "list")
    calls = [("reference-scheduler", "list", "resource.k8s.io", "resourceslices")]
    assert ablation.names_just(f"it is bound: saw not; {missing.message(calls)}", need)
    assert not ablation.names_just(f"it is bound: saw not; {missing.message(calls)}", other)
    assert not ablation.names_just("it is bound: saw not", need)
    both = [*calls, ("dra-conformance", "list", "", "pods")]
    assert not ablation.names_just(f"it is bound: saw not; {missing.message(both)}", need)
    assert ablation.names_just(f"it is not known: {missing.say(need)}", need)


def test_a_row_holds_no_name_of_one_run() -> None:
    need = ("harness", "", "namespaces", "patch")
    reason = (
        'PATCH /api/v1/namespaces/dra-c02f-1: 403: User "without-6" cannot; missing permissions: the harness may not'
    )
    row = ablation.row(need, Outcome("a#b", "error", reason))
    assert row.says == 'PATCH /api/v1/namespaces/dra-…: 403: User "vendor" cannot'
    assert row.need == need


def test_a_cluster_role_of_the_environment_contains_its_role() -> None:
    named = {"dra-conformance": "harness", "dra-conformance-claim-controller": "claim-controller"}
    for name, role in named.items():
        assert role_of({"metadata": {"name": f"vendor-{name}"}}, "vendor") == role
