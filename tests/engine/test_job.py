"""Tests of `dra-conformance job`: the manifests of the Indexed Job, and that its pods can run what they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_api.transport import HttpTransport
from dra_conformance.cli import call, run
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.options import RunOptions
from dra_conformance.rbac import job, roles

Objects = dict[str, dict[str, Any]]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, Objects]:
    """Return the manifests of a command line, and its objects by kind and name."""
    assert call(["job", *words]) == ExitCode.OK
    text = capsys.readouterr().out
    found = list(yaml.safe_load_all(text))
    objects = {f"{one['kind']} {one['metadata']['name']}": one for one in found}
    assert len(objects) == len(found)
    return text, objects


def pod_of(objects: Objects) -> dict[str, Any]:
    spec: dict[str, Any] = objects["Job dra-conformance"]["spec"]["template"]["spec"]
    return spec


def options_in(objects: Objects, monkeypatch: pytest.MonkeyPatch, *, index: int) -> RunOptions:
    """Return the options of the pod with this index, as its container reads them."""
    args = pod_of(objects)["containers"][0]["args"]
    assert args[:2] == ["dra_conformance", "run"]
    monkeypatch.setenv("JOB_COMPLETION_INDEX", str(index))
    words = [word.replace("$(JOB_COMPLETION_INDEX)", str(index)).replace("$$(", "$(") for word in args[2:]]
    given = run.command.make_context("run", words).params
    return options_of({name.replace("_", "-"): value for name, value in given.items()})


def test_each_pod_runs_its_shard_with_the_options_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--profile", "api,claim-lifecycle", "--skip", "a$(HOME)", "--retries", "1", "--patience", "7"]
    text, objects = printed(capsys, "--shards", "3", *words)
    assert "&id" not in text
    spec = objects["Job dra-conformance"]["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    for index in range(3):
        found = options_in(objects, monkeypatch, index=index)
        assert (found.shard, found.out) == (f"{index + 1}/3", f"/reports/{index}")
        assert (found.profile, found.skip) == (("api", "claim-lifecycle"), ("a$(HOME)",))
        assert (found.retries, found.patience) == (1, 7.0)
        assert found.control_plane == f"kubeconfig:{job.KUBECONFIG}"
        assert (found.scheduler, found.driver, found.compute_domain_daemon) == ("cluster", "cluster", "none")


def test_the_service_account_has_the_permissions_that_rbac_prints(capsys: pytest.CaptureFixture[str]) -> None:
    _, objects = printed(capsys, "--profile", "api")
    options = options_of({"control-plane": "kubeconfig", "profile": ["api"]})
    subject = roles.Subject("dra-conformance", "dra-conformance")
    for one in roles.objects(options, subject):
        assert objects[f"{one['kind']} {one['metadata']['name']}"] == one
    assert "ServiceAccount dra-conformance" in objects
    assert pod_of(objects)["serviceAccountName"] == "dra-conformance"


def test_the_emulated_control_plane_needs_no_permissions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, objects = printed(capsys, "--control-plane", "embedded", "--namespace", "ci", "--claim", "mine")
    assert sorted(objects) == ["Job dra-conformance", "Pod dra-conformance-reports"]
    assert pod_of(objects)["automountServiceAccountToken"] is False
    assert objects["Job dra-conformance"]["metadata"]["namespace"] == "ci"
    assert options_in(objects, monkeypatch, index=0).control_plane == "embedded"
    volumes = pod_of(objects)["volumes"] + objects["Pod dra-conformance-reports"]["spec"]["volumes"]
    claims = [one["persistentVolumeClaim"] for one in volumes if "persistentVolumeClaim" in one]
    assert claims == [{"claimName": "mine"}] * 2


@pytest.mark.parametrize("words", [("--scheduler", "reference"), ("--binder", "exec:/binder")])
def test_shards_with_a_component_that_acts_on_all_pods_run_one_after_the_other(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    text, objects = printed(capsys, *words)
    assert objects["Job dra-conformance"]["spec"]["parallelism"] == 1
    assert text.startswith("# One shard after the other")
    _, objects = printed(capsys, "--control-plane", "embedded", *words)
    assert objects["Job dra-conformance"]["spec"]["parallelism"] == 4


def test_a_verdict_ends_an_index_and_a_failure_of_the_machine_runs_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    _, objects = printed(capsys, "--attempts", "2")
    spec = objects["Job dra-conformance"]["spec"]
    assert spec["backoffLimitPerIndex"] == 1
    codes = next(rule["onExitCodes"] for rule in spec["podFailurePolicy"]["rules"] if "onExitCodes" in rule)
    again = {ExitCode.INTERRUPTED, ExitCode.HARNESS_ERROR, ExitCode.TARGET_UNREACHABLE}
    assert set(codes["values"]) == set(ExitCode) - again - {ExitCode.OK}


def test_the_pod_has_no_rights_on_its_node(capsys: pytest.CaptureFixture[str]) -> None:
    _, objects = printed(capsys)
    for pod in (pod_of(objects), objects["Pod dra-conformance-reports"]["spec"]):
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_the_kubeconfig_of_the_pod_uses_its_service_account(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, objects = printed(capsys)
    text = objects["ConfigMap dra-conformance"]["data"]["kubeconfig"]
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert yaml.safe_load(text)["clusters"][0]["cluster"]["certificate-authority"] == f"{account}/ca.crt"
    # The same file on this machine, which has no such folder.
    (tmp_path / "token").write_text("abc")
    here = text.replace(f"certificate-authority: {account}/ca.crt", "insecure-skip-tls-verify: true")
    (tmp_path / "kubeconfig").write_text(here.replace(account, str(tmp_path)))
    transport = HttpTransport.from_kubeconfig(tmp_path / "kubeconfig")
    assert transport.server == "https://kubernetes.default.svc"
    assert transport._headers({})["Authorization"] == "Bearer abc"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--control-plane", "kind"), "--control-plane kind: cannot run in a pod"),
        (("--control-plane", "kubeconfig:./config"), "the pods do not have this file"),
        (("--shard", "1/2"), "shard is set by the Job"),
        (("--out", "x"), "out is set by the Job"),
        (("--features", "mine"), "features cannot be passed to the pods"),
        (("--sign-key", "key"), "sign-key cannot be passed to the pods"),
        (("--namespace", "A_b"), "--namespace 'A_b': not the name of an object"),
        (("--claim", "a/b"), "--claim 'a/b': not the name of an object"),
        (("--shards", "0"), "Invalid value for '--shards'"),
    ],
)
def test_what_the_pods_cannot_have_is_refused(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["job", *words]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
