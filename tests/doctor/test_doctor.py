"""What the doctor says: what stands in the way and what does not, in all its forms, without writing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CRDS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    RESOURCE_SLICES,
)
from dra_api.request import User
from dra_conformance.cli import call
from dra_conformance.components import crds
from dra_conformance.control_plane.binaries import programs
from dra_conformance.core import assets, documents
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import ExitCode
from dra_conformance.doctor import kubelet, show
from dra_conformance.doctor.finding import State, missing, ok, wrong
from dra_conformance.kubelet.real import requirements
from dra_conformance.rbac import roles

Answer = dict[str, Any]


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Answer], bool]:
    """Exit code, findings by `area: name`, and whether the run can go on."""
    code = call(["doctor", "--format", "json", *words])
    report = json.loads(capsys.readouterr().out)
    return code, {f"{each['area']}: {each['name']}": each for each in report["findings"]}, report["ready"]


def test_nothing_prevents_a_rehearsal(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, ready = ask(capsys)
    assert (code, ready) == (ExitCode.OK, True)
    assert found["Python: interpreter"]["state"] == "ok"
    assert found["Control plane: embedded"]["needed"]
    assert all(each["cause"] and each["wayOut"] for each in found.values() if each["state"] != "ok")


def test_it_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    ask(capsys)
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_for_the_run_ends_in_code_10(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A checkout may have the programs of this release in verification/bin.
    monkeypatch.setattr(programs, "folders", lambda bin_dir, environ: [("--bin-dir", Path(bin_dir))])
    code, found, ready = ask(
        capsys,
        *("--driver", "exec:./no-such-plugin", "--scheduler", "exec:no-such-program", "--inventory", "no-such"),
        *("--control-plane", "binaries", "--kubernetes-version", "1.34", "--bin-dir", str(tmp_path)),
    )
    assert (code, ready) == (ExitCode.TARGET_UNREACHABLE, False)
    assert found["Components: driver"]["cause"] == "there is no program ./no-such-plugin"
    assert found["Components: scheduler"]["state"] == "missing"
    assert found["GPUs: inventory"]["state"] == "wrong"
    assert "control-plane install 1.34" in found["Control plane: kube-apiserver"]["wayOut"]


def test_what_a_kind_cluster_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, found, ready = ask(capsys, "--control-plane", "kind")
    assert (code, ready) == (ExitCode.TARGET_UNREACHABLE, False)
    for name in ("kind", "docker (kind)"):
        assert found[f"Control plane: {name}"]["needed"]
        assert f"the program {name.split()[0]} is not in PATH" in found[f"Control plane: {name}"]["cause"]
    _, found, _ = ask(capsys)
    assert not found["Control plane: kind"]["needed"]


def test_gates_that_do_not_fit_the_release(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = ask(capsys, "--feature-gates", "DRADeviceTaintRules=true", "--kubernetes-version", "1.34")
    assert code == ExitCode.TARGET_UNREACHABLE
    assert "unrecognized feature gate: DRADeviceTaintRules" in found["Control plane: embedded"]["cause"]


def test_a_socket_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    _, found, _ = ask(capsys, "--driver", f"socket:{tmp_path}/file")
    assert found["Components: driver"]["cause"].endswith("is no socket")
    _, found, _ = ask(capsys, "--driver", f"socket:{tmp_path}/none")
    assert found["Components: driver"]["state"] == "missing"


def test_wrong_options_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["doctor", "--profile", "apy"]) == ExitCode.USAGE
    assert "Did you mean api?" in capsys.readouterr().err


# -- a cluster ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path / "plane") as plane:
        yield plane


def jane(cluster: ApiServerEmulator, folder: Path) -> str:
    path = cluster.write_kubeconfig(folder / "jane", User("jane", groups=("system:authenticated",)))
    return f"kubeconfig:{path}"


def test_a_cluster_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found, _ = ask(capsys, "--control-plane", f"kubeconfig:{tmp_path}/none")
    assert code == ExitCode.TARGET_UNREACHABLE
    assert found["Cluster: kubeconfig"]["state"] == "missing"


def test_a_kubeconfig_of_several_files(
    cluster: ApiServerEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:{cluster.kubeconfig}")
    _, found, ready = ask(capsys, "--control-plane", "kubeconfig", "--profile", "api")
    assert ready
    assert (found["Cluster: kubeconfig"]["state"], found["Cluster: kubeconfig"]["found"]) == (
        "ok",
        str(cluster.kubeconfig),
    )


def test_a_kubeconfig_below_the_home_directory(
    cluster: ApiServerEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # No shell replaces ~ after a colon.
    monkeypatch.setenv("HOME", str(cluster.kubeconfig.parent))
    _, found, ready = ask(capsys, "--control-plane", f"kubeconfig:~/{cluster.kubeconfig.name}", "--profile", "api")
    assert ready
    assert found["Cluster: kubeconfig"]["state"] == "ok"


def test_permissions_are_listed_by_role_and_are_sufficient(
    cluster: ApiServerEmulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--control-plane", jane(cluster, tmp_path), "--profile", "api")
    code, found, _ = ask(capsys, *words)
    assert code == ExitCode.TARGET_UNREACHABLE
    assert "create, delete, get, patch namespaces" in found["Rights: harness"]["cause"]
    options = from_mapping({"control-plane": "kubeconfig", "profile": ["api"]}, where="test")
    admin = KubeClient(cluster.transport())
    for obj in roles.objects(options, roles.Subject("jane")):
        admin.create(CLUSTER_ROLES if obj["kind"] == "ClusterRole" else CLUSTER_ROLE_BINDINGS, obj)
    code, found, ready = ask(capsys, *words)
    assert (code, ready) == (ExitCode.OK, True)
    assert found["Rights: harness"]["state"] == found["Rights: cleanup"]["state"] == "ok"
    assert found["Cluster: resource.k8s.io"]["found"].startswith("v1")
    assert found["Cluster: kubeconfig"]["state"] == "ok"


def test_an_api_that_the_profile_requires(cluster: ApiServerEmulator, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--control-plane", f"kubeconfig:{cluster.kubeconfig}")
    code, found, _ = ask(capsys, *words, "--profile", "bind-requests")
    assert code == ExitCode.TARGET_UNREACHABLE
    assert found["Cluster: bindrequests.scheduling.run.ai"]["needed"]
    code, found, _ = ask(capsys, *words, "--profile", "api")
    assert code == ExitCode.OK
    assert not found["Cluster: bindrequests.scheduling.run.ai"]["needed"]


@pytest.mark.parametrize(
    ("left_out", "revision", "cause"),
    [
        ((), "kai-0.17", ""),
        (("predictedNUMAZones", "extendedResourceClaimAllocation"), "kai-0.12", ""),
        (
            ("predictedNUMAZones", "backoffLimit"),
            "kai-0.17",
            "the CRD is not that of kai-0.17: it lacks spec.backoffLimit, spec.predictedNUMAZones",
        ),
    ],
)
def test_the_crd_of_another_release_of_kai_is_named(
    cluster: ApiServerEmulator,
    capsys: pytest.CaptureFixture[str],
    left_out: tuple[str, ...],
    revision: str,
    cause: str,
) -> None:
    (crd,) = documents.load_all((assets.fixtures() / "crds/bindrequests.yaml").read_text(), where="test")
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    for name in left_out:
        del fields[name]
    client = KubeClient(cluster.transport())
    client.create(CRDS, crd)
    crds.wait_served(client, crd, RealClock())
    words = ("--control-plane", f"kubeconfig:{cluster.kubeconfig}", "--revision", revision)
    _, found, ready = ask(capsys, *words, "--profile", "bind-requests")
    finding = found["Cluster: bindrequests.scheduling.run.ai"]
    assert finding.get("cause", "") == cause
    assert ready is not bool(cause)


def test_leftovers_of_an_earlier_run_are_reported(
    cluster: ApiServerEmulator, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata = {"name": "dra-1", "labels": {"dra-conformance/run": "0a1b2c3d"}}
    KubeClient(cluster.transport()).create(NAMESPACES, {"metadata": metadata})
    _, found, _ = ask(capsys, "--control-plane", f"kubeconfig:{cluster.kubeconfig}", "--profile", "api")
    assert found["Cluster: leftovers"]["wayOut"] == "`dra-conformance cleanup --run-id 0a1b2c3d`"


def test_it_writes_nothing_to_a_cluster(cluster: ApiServerEmulator, capsys: pytest.CaptureFixture[str]) -> None:
    client = KubeClient(cluster.transport())
    before = client.list(NAMESPACES).resource_version
    ask(capsys, "--control-plane", f"kubeconfig:{cluster.kubeconfig}")
    assert client.list(NAMESPACES).resource_version == before


def test_a_node_that_offers_devices_in_both_ways_is_reported(
    cluster: ApiServerEmulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--control-plane", f"kubeconfig:{cluster.kubeconfig}", "--profile", "api")
    client = KubeClient(cluster.transport())
    client.create(NODES, {"metadata": {"name": "n1"}})
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "gpu-0"}]}
    client.create(RESOURCE_SLICES, {"metadata": {"name": "s"}, "spec": spec})
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    client.create(
        DEVICE_CLASSES,
        {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu", "selectors": [selector]}},
    )
    found = ask(capsys, *words)[1]["Cluster: double booking"]
    assert (found["state"], found["found"]) == ("ok", "no device plugin beside a driver")
    client.patch(NODES, "n1", {"status": {"allocatable": {"example.com/nic": "2", "cpu": "4"}}}, subresource="status")
    found = ask(capsys, *words)[1]["Cluster: double booking"]
    assert (found["state"], found["found"]) == ("ok", "no device is offered by a device plugin and by DRA")
    client.patch(NODES, "n1", {"status": {"allocatable": {"example.com/gpu": "8"}}}, subresource="status")
    code, findings, ready = ask(capsys, *words)
    found = findings["Cluster: double booking"]
    assert (code, ready) == (ExitCode.OK, True)
    assert (found["state"], found["needed"]) == ("wrong", False)
    assert found["cause"].startswith(
        "node n1: example.com/gpu is offered by a device plugin (8 allocatable) and by DRA"
    )
    found = ask(capsys, "--control-plane", jane(cluster, tmp_path), "--profile", "api")[1]["Cluster: double booking"]
    assert (found["state"], found["needed"]) == ("missing", False)
    assert "cannot list" in found["cause"]


# -- a real kubelet ----------------------------------------------------------------------------------------------------


def test_each_need_of_a_real_kubelet_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [
        requirements.Need("privileges", "root"),
        requirements.Need("cgroups", "v1", "v1 without pids", "Delegate."),
        requirements.Need("kernel", "", "without overlayfs", "modprobe overlay"),
    ]
    monkeypatch.setattr(requirements, "look", lambda **_: iter(seen))
    found = {each.name: each for each in kubelet.look(release="v1.0.0", bin_dir=str(tmp_path), needed=True)}
    assert [found[name].state for name in ("privileges", "cgroups", "kernel")] == [State.OK, State.WRONG, State.MISSING]
    assert found["cgroups"].cause == "v1 without pids"
    assert found["programs"].cause.startswith("not found: kubelet v1.0.0")
    assert "--build --containers" in found["programs"].way_out
    assert all(each.needed for each in found.values())


# -- how it looks ------------------------------------------------------------------------------------------------------

FINDINGS = [
    ok("Python", "interpreter", "3.12.1"),
    wrong("Cluster", "release", "the suite knows 1.34 to 1.37", "Take another one.", found="v1.30.0"),
    missing("Real kubelet", "runc", "there is no runc", "Install it.", needed=False),
]


def test_in_a_pipe_every_line_stands_for_itself() -> None:
    assert show.text(FINDINGS, fancy=False, color=False) == (
        "ok       Python: interpreter: 3.12.1\n"
        "wrong    Cluster: release: v1.30.0; the suite knows 1.34 to 1.37\n"
        "         way out: Take another one.\n"
        "missing  Real kubelet: runc: there is no runc (not needed for this run)\n"
        "         way out: Install it.\n"
        "\n"
        "1 problem prevents this run; 1 more is missing or wrong, but not needed for it.\n"
    )


def test_on_a_terminal_there_are_marks_and_colours() -> None:
    text = show.text(FINDINGS, fancy=True, color=True)
    assert "\033[32m✓\033[0m interpreter" in text
    assert "\033[31m✗\033[0m release" in text
    assert "\033[33m!\033[0m runc" in text
    assert "Real kubelet (not needed for this run)" in text
    assert "\033" not in show.text(FINDINGS, fancy=True, color=False)


def test_nothing_in_the_way() -> None:
    assert show.summary(FINDINGS[:1]) == "This run can start."
