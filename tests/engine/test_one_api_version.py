"""Tests of runs with resource.k8s.io served in one version only."""

from __future__ import annotations

import re

import orjson
import pytest
from command_line import SUITE, CommandLine

from dra_conformance.core.errors import ExitCode

END_TO_END = ["--focus", "^(bind_requests|imex|mig)/end_to_end", "--focus", "^driver/slices"]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_end_to_end_in_one_version(cli: CommandLine, version: str) -> None:
    others = [f"resource.k8s.io/{each}=false" for each in ("v1", "v1beta2", "v1beta1") if each != version]
    ended = cli.suite("--runtime-config", ",".join(others), *END_TO_END)
    assert ended.code == ExitCode.OK, ended.out
    # Some rules hold since a later release.
    assert {row["status"] for row in ended.report["scenarios"]} == {"passed", "filtered", "not-applicable"}
    assert ended.report["statistics"]["passed"] >= 5
    assert ended.report["target"]["resourceApi"] == version
    assert f"resource.k8s.io/{version}: " in ended.out
    log = (cli.folder / "dra-report" / "events.jsonl").read_bytes().splitlines()
    writes = [event["path"] for event in map(orjson.loads, log) if event["kind"] == "api"]
    spoken = {found[1] for path in writes if (found := re.match(r"/apis/resource\.k8s\.io/(\w+)/", path))}
    assert spoken == {version}


def test_a_rule_about_fields_that_v1beta1_lacks_does_not_apply(cli: CommandLine) -> None:
    only = "resource.k8s.io/v1=false,resource.k8s.io/v1beta2=false"
    code, out, _ = cli.run("run", "--runtime-config", only, "--rule", "DRA-051", "--dry-run")
    assert code == ExitCode.NOTHING_SELECTED
    assert "not-applicable  claims/api_slices#" in out
    assert "v1beta1 does not have" in out


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("resource.k8s.io/v1", "must be VERSION=true or VERSION=false"),
        ("resource.k8s.io/v2=false", "unknown API version 'resource.k8s.io/v2' (choose from resource.k8s.io/v1, "),
        ("apps/v1=false", "unknown API version 'apps/v1' (choose from resource.k8s.io/v1, "),
        ("resource.k8s.io/v1=false,resource.k8s.io/v1beta1=false,resource.k8s.io/v1beta2=false", "is disabled"),
    ],
)
def test_invalid_runtime_config_is_a_usage_error(cli: CommandLine, value: str, told: str) -> None:
    code, _, err = cli.run("run", "--runtime-config", value)
    assert code == ExitCode.USAGE
    assert told in err


def test_a_cluster_keeps_its_own_versions(cli: CommandLine) -> None:
    code, _, err = cli.run("run", "--control-plane", "kubeconfig:x", "--runtime-config", "resource.k8s.io/v1=false")
    assert code == ExitCode.USAGE
    assert "an existing cluster keeps its own" in err


def test_pytest_takes_the_same_option(cli: CommandLine) -> None:
    only = "resource.k8s.io/v1=false,resource.k8s.io/v1beta2=false"
    options = ["-p", "no:cacheprovider", "--dra-runtime-config", only, "--dra-feature-gates", "DRAAdminAccess=true"]
    cli.run("--pyargs", SUITE, *options, "--dra-rule", "DRA-051,DRA-050", module="pytest")
    report = orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())
    assert report["target"]["resourceApi"] == "v1beta1"
    statuses = {row["id"]: row["status"] for row in report["rules"]}
    assert (statuses["DRA-050"], statuses["DRA-051"]) == ("passed", "not-applicable")
