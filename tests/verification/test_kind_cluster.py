"""The parts of `python -m verification kind` that need no Docker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from dra_conformance.core.errors import TargetUnreachable
from verification.kind_cluster import (
    charts,
    command,
    compute_domains,
    device_plugins,
    existing,
    helm,
    images,
    inside,
    interrupted,
    leftovers,
    manifests,
    pods,
    runtime,
    shards,
    sonobuoy,
)


def test_it_is_not_run_without_its_archives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "make images-node" in command.lacking(start_engine=False, archives=tmp_path)
    (tmp_path / "node.tar").touch()
    assert "(make images)" in command.lacking(start_engine=False, archives=tmp_path)


def test_that_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "lacking", lambda **_: "there is no engine")
    monkeypatch.setenv("CI", "true")
    assert command.main([], bin_dir=tmp_path) == 0
    assert capsys.readouterr().out == "kind: not run: there is no engine\n"


def test_an_unknown_option_is_wrong_use(tmp_path: Path) -> None:
    assert command.main(["--all"], bin_dir=tmp_path) == 4


@pytest.mark.parametrize("call", ["create", "exec"])
def test_the_runtime_removes_the_capability_that_the_machine_lacks(tmp_path: Path, call: str) -> None:
    process = {"capabilities": {"bounding": ["CAP_SYS_ADMIN", "CAP_SYS_RESOURCE"], "ambient": None}}
    path = tmp_path / ("config.json" if call == "create" else "process.json")
    path.write_text(json.dumps({"process": process} if call == "create" else process))
    words = ["create", "--bundle", str(tmp_path), "id"] if call == "create" else ["exec", "--process", str(path), "id"]
    runtime.rewrite(["--root", "/run/x", *words])
    document = json.loads(path.read_text())
    left = (document["process"] if call == "create" else document)["capabilities"]
    assert left == {"bounding": ["CAP_SYS_ADMIN"], "ambient": []}


def test_other_calls_of_the_runtime_change_nothing(tmp_path: Path) -> None:
    runtime.rewrite(["delete", "--force", "id"])
    assert not list(tmp_path.iterdir())


UUIDS = {
    ("w1", "gpu-3"): ["GPU-3"],
    ("w2", "gpu-3"): ["GPU-30"],
    ("w1", "gpu-0-mig-1g10gb-19-6"): ["GPU-0", "MIG-1"],
    ("w1", "gpu-0-mig-2g20gb-14-4"): ["GPU-0", "MIG-2"],
}
GPU = "files: /dev/nvidia3\nGPU: GPU-3 NVIDIA H100\n"
MIG = "files: /dev/nvidia0 /dev/nvidia-caps/nvidia-cap5\nGPU: GPU-0 NVIDIA H100\nMIG device: MIG-2 NVIDIA H100 MIG 2g\n"


@pytest.mark.parametrize(
    ("pod", "logs", "problem"),
    [
        ("gpu-pod", GPU, ""),
        ("mig-pod", MIG, ""),
        ("gpu-pod", MIG, "sees gpu-0-mig-2g20gb-14-4"),
        ("mig-pod", GPU, "sees gpu-3"),
        ("gpu-pod", GPU.replace("nvidia3", "nvidia4"), "sees gpu-3"),
        ("gpu-pod", GPU.replace("GPU-3", "GPU-30"), "does not see exactly one device"),
        ("gpu-pod", GPU + "GPU: GPU-0 NVIDIA H100\n", "does not see exactly one device"),
        ("mig-pod", MIG + "MIG device: MIG-1 NVIDIA H100\n", "does not see exactly one device"),
        ("gpu-pod", "files: /dev/nvidia3\nDriver Not Loaded", "does not see exactly one device"),
    ],
)
def test_what_an_example_pod_prints_is_compared_with_the_devices_of_its_node(pod: str, logs: str, problem: str) -> None:
    assert manifests.wrong(pod, logs, node="w1", uuids=UUIDS) == problem


def test_the_subset_of_ci_is_not_run_without_images_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "lacking", lambda **_: "there is no image")
    assert command.main(["--ci"], bin_dir=tmp_path) == 0
    assert capsys.readouterr().out == "kind: not run: there is no image\n"


def test_the_documented_example_keeps_its_resources_and_gets_a_program_that_ends() -> None:
    made = compute_domains.documented("w1")
    (container,) = made["spec"]["containers"]
    assert made["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "w1"}
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert container["command"][0] == "/usr/bin/python3"
    assert "sigwait" not in container["command"][-1]


def test_a_gpu_that_two_pods_of_a_node_see_is_given_twice() -> None:
    def shown(pod: str, node: str, gpu: str) -> pods.Shown:
        return pods.Shown(pod=pod, node=node, gpus=(gpu,), files=(), channels=(), container="")

    found = [shown("a", "n1", "GPU-1"), shown("b", "n1", "GPU-1"), shown("c", "n2", "GPU-1")]
    assert device_plugins.given_twice(found) == [("n1", "GPU-1")]


def test_options_select_checks(tmp_path: Path) -> None:
    def chosen(*words: str) -> list[str]:
        return list(inside.chosen(inside.options().parse_args(words)))

    assert chosen() == list(inside.CHECKS)
    assert chosen("--ci") == ["manifests"]
    assert chosen("--only", "shards", "--only", "chart") == ["shards", "chart"]
    assert command.main(["--only", "everything"], bin_dir=tmp_path) == 4
    assert command.main(["--help"], bin_dir=tmp_path) == 0


def test_a_check_without_its_archive_or_helm_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert inside.lacking("nodes", tmp_path) == ""
    assert "reader.tar" in inside.lacking("shards", tmp_path)
    assert "helm" in inside.lacking("chart", tmp_path)
    assert "example-driver.tar" in inside.lacking("existing", tmp_path)
    (tmp_path / images.EXAMPLE_DRIVER).touch()
    assert "chart" in inside.lacking("existing", tmp_path)
    (tmp_path / images.CHART).mkdir()
    assert "no helm" in inside.lacking("existing", tmp_path)


def test_images_of_the_checks_need_the_built_example_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "verification build dra-example-driver" in images.prepare(tmp_path, bin_dir=tmp_path)
    (tmp_path / "dra-example-kubeletplugin").touch()
    for name in (images.EXAMPLE_DRIVER, images.READER):
        (tmp_path / name).touch()
    (tmp_path / images.CHART).mkdir()
    assert images.prepare(tmp_path, bin_dir=tmp_path) == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / images.CHART).rmdir()
    assert "Go is not installed" in images.prepare(tmp_path, bin_dir=tmp_path)
    (tmp_path / images.READER).unlink()
    assert "mmdebstrap is not installed" in images.prepare(tmp_path, bin_dir=tmp_path)


def test_helm_has_folders_of_its_own(tmp_path: Path) -> None:
    found = helm.environment(tmp_path, Path("/k/kubeconfig"))
    assert found["KUBECONFIG"] == "/k/kubeconfig"
    assert all(found[name].startswith(str(tmp_path)) for name in found if name == "HOME" or name.startswith("HELM"))


def test_the_user_s_kubeconfig_has_the_cluster_and_the_token_only(tmp_path: Path) -> None:
    given = {"clusters": [{"name": "c", "cluster": {"server": "https://s"}}], "users": [{"name": "admin", "user": {}}]}
    (tmp_path / "admin").write_text(yaml.safe_dump(given))
    made = existing.kubeconfig_of(tmp_path / "admin", "t")
    assert made["clusters"][0]["cluster"] == {"server": "https://s"}
    assert made["users"] == [{"name": "user", "user": {"token": "t"}}]


def test_objects_that_are_left_or_gone_are_named() -> None:
    assert list(existing.differences({"1": "nodes a"}, {"1": "nodes a"}, "afterwards")) == []
    assert list(existing.differences({"1": "nodes a"}, {"2": "pods b"}, "afterwards")) == [
        "afterwards there is pods b",
        "afterwards there is no nodes a",
    ]


@pytest.mark.parametrize(
    ("rule", "code", "wrong"),
    [
        ({"id": "DRA-001", "status": "passed", "reason": ""}, 0, ""),
        ({"id": "DRA-104", "status": "failed", "reason": "known"}, 1, ""),
        ({"id": "DRA-001", "status": "failed", "reason": "no"}, 1, "DRA-001 failed: no"),
        ({"id": "DRA-001", "status": "untestable", "reason": "missing permissions: x"}, 0, "missing permissions"),
        ({"id": "DRA-001", "status": "passed", "reason": ""}, 13, "ended with 13"),
    ],
)
def test_a_report_of_another_cluster_is_judged(tmp_path: Path, rule: dict[str, Any], code: int, wrong: str) -> None:
    report = {"rules": [rule], "scenarios": [{"id": "s", "status": "passed"}], "problems": []}
    (tmp_path / "report.json").write_bytes(orjson.dumps(report))
    done = subprocess.CompletedProcess[str]([], code, "", "")
    found = "\n".join(existing.judged(done, tmp_path, what="a run", known=existing.known_rules()))
    assert wrong in found
    assert bool(wrong) == bool(found)


def test_pods_of_a_job_find_the_api_server_without_dns() -> None:
    job = {"kind": "Job", "spec": {"template": {"spec": {}}}}
    made = shards.with_host(job, "kubernetes.default.svc", "10.96.0.1")
    aliases = [{"ip": "10.96.0.1", "hostnames": ["kubernetes.default.svc"]}]
    assert made["spec"]["template"]["spec"] == {"hostAliases": aliases}
    assert shards.with_host({"kind": "Pod"}, "h", "a") == {"kind": "Pod"}


def test_the_volume_is_that_of_the_printed_claim() -> None:
    printed = existing.ours("job", "--shards", "2", "--control-plane", "embedded")
    claim = next(one for one in yaml.safe_load_all(printed.stdout) if one["kind"] == "PersistentVolumeClaim")
    spec = shards.volume("w1")["spec"]
    assert spec["claimRef"] == {name: claim["metadata"][name] for name in ("namespace", "name")}
    assert spec["accessModes"] == claim["spec"]["accessModes"]
    assert spec["capacity"] == claim["spec"]["resources"]["requests"]


def test_shards_must_have_the_results_of_one_run() -> None:
    rows = [("a", "passed"), ("b", "filtered"), ("c", "untestable")]
    found = shards.statuses({"scenarios": [{"id": name, "status": status} for name, status in rows]})
    assert found == {"a": "passed", "c": "untestable"}
    assert list(shards.compared(found, found, "in 2 shards")) == []
    assert list(shards.compared(found, {"a": "failed"}, "in 2 shards")) == [
        "in 2 shards a is failed, not passed",
        "in 2 shards c is None, not untestable",
    ]


def test_a_pod_is_ready_with_its_condition() -> None:
    assert charts.ready({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert not charts.ready({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    assert not charts.ready({"status": {}})


@pytest.mark.parametrize("error", [AssertionError("no pod"), TargetUnreachable("no pod", hint="Look at its log.")])
def test_a_check_that_cannot_go_on_is_one_finding(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    def check() -> Iterator[str]:
        yield "first"
        raise error

    assert inside._look("a check", check) == 2
    assert "a check: 2 wrong" in (printed := capsys.readouterr().out)
    assert "  no pod" in printed


def test_contexts_of_the_user_are_leftovers_too(tmp_path: Path) -> None:
    assert leftovers.contexts(tmp_path / "config") == set()
    (tmp_path / "config").write_text("contexts: [{name: kind-x}]\n")
    assert leftovers.contexts(tmp_path / "config") == {"context kind-x"}


WAITS = "import signal, sys\nprint('ready', flush=True)\n"


@pytest.mark.parametrize(
    ("program", "left", "wrong"),
    [
        ("try: signal.pause()\nexcept KeyboardInterrupt: sys.exit(2)", [], ""),
        ("try: signal.pause()\nexcept KeyboardInterrupt: sys.exit(0)", [], "exit code 0, not 2"),
        ("try: signal.pause()\nexcept KeyboardInterrupt: sys.exit(2)", ["container n1"], "leaves container n1"),
        ("sys.exit(10)", [], "exit code 10, not 2"),
    ],
)
def test_ctrl_c_at_a_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, left: list[str], wrong: str
) -> None:
    lists = iter([frozenset[str](), frozenset(left)])
    monkeypatch.setattr(leftovers, "there", lambda: next(lists))
    stage = interrupted.Stage(
        name="it waits",
        command=[sys.executable, "-c", WAITS + program],
        reached=lambda log: "ready" in log.read_text() and "sys.exit(10)" not in program,
    )
    found = "\n".join(interrupted.interrupted(stage, tmp_path / "log"))
    assert wrong in found
    assert bool(wrong) == bool(found)


def test_ctrl_c_reaches_commands_of_checks_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "there", frozenset)
    command = [sys.executable, "-c", f"{WAITS}signal.pause()"]
    stage = interrupted.Stage(name="it waits", command=command, reached=lambda log: "ready" in log.read_text(), code=-2)
    monkeypatch.setattr(interrupted, "stages", lambda *_: iter([stage]))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in `make verify-kind &`
    try:
        assert list(interrupted.look("node:v1.37.2", tmp_path, tmp_path)) == []
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_process_that_has_ended_and_is_not_reaped_does_not_count() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        assert len(interrupted.processes(process.pid)) == 1
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert interrupted.processes(process.pid) == []
    finally:
        process.kill()
        process.communicate()


def test_the_stages_are_in_the_order_of_a_run(tmp_path: Path) -> None:
    found = list(interrupted.stages("node:v1.37.2", tmp_path, tmp_path))
    assert [one.code for one in found] == [2, 2, -2, 2]
    log = tmp_path / "log"
    log.write_text("kind: the cluster is ready after 52 s\n")
    assert found[2].reached(log)
    assert not found[3].reached(log)
    (tmp_path / "interrupted").mkdir()
    events = tmp_path / "interrupted/events.jsonl"
    events.write_text('{"kind":"scenario-started","seq":1}\n')
    assert not found[3].reached(log)
    events.write_text('{"kind":"step","seq":2}\n')
    assert found[3].reached(log)


def _shown(**tests: str) -> dict[str, Any]:
    cases = [{"name": name, "status": status} for name, status in tests.items()]
    verdict = {"name": "verdict.xml", "status": "failed", "items": [{"name": "Verdict of the run", "status": "failed"}]}
    files = [{"name": "junit.xml", "status": "failed", "items": cases}, verdict]
    return {"name": "dra-conformance", "status": "failed", "items": files}


def _ended(*statuses: str, code: int = 1) -> dict[str, Any]:
    rows = [{"id": str(number), "status": status} for number, status in enumerate(statuses)]
    return {"scenarios": rows, "rules": [{"id": "DRA-104", "status": "failed"}], "exitCode": code}


def test_sonobuoy_must_show_the_tests_and_the_verdict_of_the_report() -> None:
    shown = _shown(a="passed", b="failed")
    assert list(sonobuoy.compared(shown, _ended("passed", "failed", "filtered"))) == []
    assert "the report has {'passed': 2}" in next(sonobuoy.compared(shown, _ended("passed", "passed")))
    assert list(sonobuoy.compared(shown, _ended("passed", "failed", code=0))) == [
        "Sonobuoy shows the verdict failed; the exit code of the run is 0"
    ]
