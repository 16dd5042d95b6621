"""The options of a run: accepted values, and the error message of each mistake."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from dra_conformance.core.configuration import config_file, from_mapping
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.option_checks import check_workers
from dra_conformance.core.options import Order, RunOptions, from_json, plain, redact, to_json
from dra_conformance.engine import preflight

WAIVER = {"rule": "DRA-001", "owner": "ann", "reason": "later", "expires": date(2026, 12, 31)}


def test_options_travel_unchanged() -> None:
    order = Order(options=RunOptions(rule=("DRA-001",), seed=3, driver="exec:a 'b c'"), command="dra-conformance run")
    assert from_json(to_json(order)) == order


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({"drivr": "x"}, "unknown key 'drivr'", "Did you mean driver?"),
        ({"zzz": 1}, "unknown key 'zzz'", "Known keys: control-plane"),
        ({"seed": "x"}, "here: seed: Expected `int | null`, got `str`", ""),
        ({"driver": "./my-driver {flags}"}, "unknown driver './my-driver {flags}'", "'exec:./my-driver {flags}'"),
        (
            {"profile": ["driver-cor"]},
            "unknown profile 'driver-cor' (choose from driver-core, ",
            "Did you mean driver-core?",
        ),
        ({"kubernetes-version": "1.33"}, "--kubernetes-version 1.33", ""),
        ({"kubernetes-version": "new"}, "'new' is not a Kubernetes version", ""),
        (
            {"revision": "kai-0.1"},
            "unknown protocol revision 'kai-0.1' (choose from kai-0.17, kai-0.12, documented)",
            "Did you mean",
        ),
        (
            {"driver-release": "0.4.1"},
            "unknown release of NVIDIA's driver '0.4.1' (choose from v0.5.0, v0.4.1)",
            "Did you mean v0.4.1?",
        ),
        ({"patience": 0}, "must be more than 0", ""),
        ({"patience": float("nan")}, "must be more than 0", ""),
        ({"require": "green"}, "unknown verdict 'green' (choose from conformant, partial)", ""),
        ({"focus": ["("]}, "--focus '(': not a regular expression", ""),
        ({"skip": ["["]}, "--skip '[': not a regular expression", ""),
        (
            {"driver": "refrence"},
            "unknown driver 'refrence' (choose from reference, exec:COMMAND, nvidia[:RELEASE], socket:PATH",
            "Did you mean reference?",
        ),
        ({"pass-env": ["TOKEN=hunter2"]}, "--pass-env 'TOKEN': must be the name of an environment variable", "Set"),
        ({"driver": "exec:"}, "requires a command", ""),
        ({"driver": "exec:'x"}, "invalid command line", ""),
        ({"driver": "socket:"}, "requires the path of a Unix socket", ""),
        ({"binder": "none:x"}, "none takes no argument", ""),
        ({"kubelet": "kubelet:1.36"}, "'1.36' is no version of a kubelet", "kubelet:v1.36.3"),
        ({"scheduler": "reference:publish"}, "'publish' is not key=value", ""),
        ({"scheduler": "cluster"}, "is not a cluster", "or choose from reference, exec"),
        ({"waivers": [{**WAIVER, "expires": "soon"}]}, "waivers[0].expires: Invalid", ""),
        ({"waivers": [{**WAIVER, "owner": " "}]}, "owner and reason must not be empty", ""),
        ({"waivers": [{"rule": "DRA-001"}]}, "missing required field `owner`", ""),
    ],
)
def test_a_mistake_gives_a_one_line_message(values: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        from_mapping(values, where="here")
    assert message in error.value.message
    assert hint in error.value.hint
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("values", "release"),
    [
        ({}, "v0.5.0"),
        ({"driver": "nvidia:v0.4.1"}, "v0.4.1"),
        ({"driver": "exec:./driver-of-version-25"}, "v0.5.0"),
        ({"driver": "exec:./my-fork", "driver-release": "v0.4.1"}, "v0.4.1"),
        ({"driver": "nvidia:v0.4.1", "driver-release": "v0.5.0"}, "v0.5.0"),
    ],
)
def test_the_release_of_the_rules_is_the_options_or_the_presets_or_the_newest(
    values: dict[str, Any], release: str
) -> None:
    assert from_mapping(values, where="here").nvidia_release == release


def test_a_cluster_keeps_its_components_by_default() -> None:
    options = from_mapping({"control-plane": "kubeconfig:x", "binder": "none"}, where="here")
    assert (options.scheduler, options.kubelet, options.driver) == ("cluster", "cluster", "cluster")
    assert options.binder == "none"


def test_a_configuration_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dra-conformance.toml"
    path.write_text(
        'driver-name = "gpu.example.com"\nprofile = ["driver-core"]\n'
        '[[waivers]]\nrule = "DRA-001"\nowner = "ann"\nreason = "later"\nexpires = 2026-12-31\n'
    )
    options = from_mapping(config_file(path), where="x")
    assert options.driver_name == "gpu.example.com"
    assert options.waivers[0].expires == date(2026, 12, 31)
    assert plain(options)["waivers"] == [{**WAIVER, "expires": "2026-12-31"}]
    monkeypatch.chdir(tmp_path)
    assert config_file(None)["driver-name"] == "gpu.example.com"
    path.unlink()
    assert config_file(None) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = \n", r"dra\.toml: not valid TOML: .*line 1"),
        ('sead = "1"\n', r"dra\.toml: unknown key 'sead'"),
        ('seed = "1"\n', r"dra\.toml: seed: Expected"),
    ],
)
def test_an_error_names_the_configuration_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "dra.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        config_file(tmp_path / "dra.toml")
    with pytest.raises(UsageError, match="cannot read"):
        config_file(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("exec:./p --token=abc --x", "exec:./p --token=*** --x"),
        ("exec:./p --api-key abc", "exec:./p --api-key ***"),
        ("exec:./p --password 'a b' --x", "exec:./p --password *** --x"),
        ("PASSWORD=abc ./p", "PASSWORD=*** ./p"),
        ("exec:./p --name=token", "exec:./p --name=token"),
        ("exec:./p -p hunter2 --x", "exec:./p -p *** --x"),
        ("exec:./p -p 8080 --top-p x -pq", "exec:./p -p 8080 --top-p x -pq"),
        ("exec:./p -H 'Authorization: Bearer abc.def'", "exec:./p -H 'Authorization: Bearer ***'"),
        ("exec:./p -H 'Authorization: Basic YTpi'", "exec:./p -H 'Authorization: Basic ***'"),
        ("exec:./p --authorization 'Basic YTpi'", "exec:./p --authorization 'Basic ***'"),
        ("exec:./p --authorization=basic", "exec:./p --authorization=basic"),
        ("exec:./p --header=X-Api-Key:abc --x", "exec:./p --header=X-Api-Key:*** --x"),
        ("exec:./p -H 'X-Vault-Token: abc' --x", "exec:./p -H 'X-Vault-Token: ***' --x"),
        ("exec:./p --image=x/secret-driver:v1", "exec:./p --image=x/secret-driver:v1"),
        ("exec:./p -phunter2 --x", "exec:./p -p*** --x"),
        ("exec:./p '-phunter2&' --x", "exec:./p '-p***' --x"),
        ("exec:./p -pretty -plugin-v1 -p8080:80 -path=/a1", "exec:./p -pretty -plugin-v1 -p8080:80 -path=/a1"),
        ("exec:./p -u me:hunter2 --x", "exec:./p -u me:*** --x"),
        ("exec:./p -ume:hunter2", "exec:./p -ume:***"),
        ("exec:./p --user 'me:a b c'", "exec:./p --user 'me:***'"),
        ("exec:./p --proxy-user=me:1hunter --x", "exec:./p --proxy-user=me:*** --x"),
        ("exec:./p -u 1000:1000 --user=nobody --user root:0", "exec:./p -u 1000:1000 --user=nobody --user root:0"),
        ("exec:./p -u https://host:1/p -u unix:/run/s", "exec:./p -u https://host:1/p -u unix:/run/s"),
        ("exec:./p --user system:node:n1 --x", "exec:./p --user system:node:n1 --x"),
        ("exec:./p https://me:hunter2@host:1/path", "exec:./p https://me:***@host:1/path"),
        ("exec:./p https://host:1/me@x", "exec:./p https://host:1/me@x"),
    ],
)
def test_secrets_do_not_reach_the_log(text: str, seen: str) -> None:
    assert redact(text) == seen
    assert plain(RunOptions(driver=text, features=(text,)))["features"] == [seen]


# -- what is found before anything starts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (RunOptions(rule=("DRA-999",)), "there is no rule 'DRA-999'"),
        (RunOptions(features=("nowhere",)), "--features nowhere: no such directory"),
        (RunOptions(driver="exec:no-such-program-here --x"), "no program 'no-such-program-here' in PATH"),
        (RunOptions(driver="exec:./no-such-program"), "no such program: ./no-such-program"),
        (RunOptions(inventory="no-such-board"), "--inventory no-such-board: "),
    ],
)
def test_preflight_finds_missing_files_and_programs(options: RunOptions, message: str) -> None:
    with pytest.raises(UsageError) as error:
        preflight.check(options)
    assert message in str(error.value)


def test_a_program_that_may_not_run(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("#!/bin/sh\n")
    with pytest.raises(TargetUnreachable, match="is not executable"):
        preflight.check(RunOptions(driver=f"exec:{tmp_path}/p"))


def test_a_socket_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TargetUnreachable, match="no such socket"):
        preflight.check(RunOptions(driver=f"socket:{tmp_path}/reg.sock"))


def test_an_impossible_inventory_names_file_and_key(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("gpus:\n  - board: no-such-board\n")
    with pytest.raises(UsageError, match=r"node\.yaml"):
        preflight.check(RunOptions(inventory=str(path)))


def test_workers_do_not_share_a_cluster_with_components_of_their_own() -> None:
    shared = {"control-plane": "kubeconfig:x", "scheduler": "reference", "binder": "none"}
    options = from_mapping(shared, where="test")
    with pytest.raises(UsageError, match="the scheduler of each worker would act on the objects of all workers"):
        check_workers(options, 2)
    check_workers(options, 1)
    check_workers(options, None)
    check_workers(from_mapping({"control-plane": "kubeconfig:x", "driver": "reference"}, where="test"), 4)
    check_workers(from_mapping({"scheduler": "reference"}, where="test"), 4)
