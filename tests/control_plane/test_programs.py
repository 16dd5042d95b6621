"""Where programs are looked for, in which order, and what is said when they are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_conformance.control_plane.binaries.programs import NEEDED, ProgramsMissing, Wanted, find, folders, installed
from tests.control_plane.conftest import Pretend


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is installed."""
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture(autouse=True)
def no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of this checkout are not looked at."""
    monkeypatch.setattr("dra_conformance.core.assets.features", lambda: tmp_path / "nowhere" / "features")


def all_of(pretend: Pretend, folder: Path, version: str) -> Path:
    for name in NEEDED:
        pretend(folder, name, version)
    return folder


@pytest.mark.parametrize(
    ("text", "version", "answer"),
    [
        ("1.36", "v1.36.2", True),
        ("v1.36.2", "v1.36.2", True),
        ("1.36.2", "v1.36.20", False),
        ("1.3", "v1.36.2", False),
        ("", "v1.36.2", True),
        ("1.36", "", False),
    ],
)
def test_what_is_wanted(text: str, version: str, answer: bool) -> None:
    assert Wanted(text).matches(version) is answer


def test_the_places_are_tried_in_the_order_of_the_documentation(home: dict[str, str], tmp_path: Path) -> None:
    store = Path(home["HOME"]) / ".local/share/kubebuilder-envtest/k8s/1.36.0-linux-amd64"
    cache = Path(home["HOME"]) / ".cache/dra-conformance/control-plane"
    for folder in (store, cache / "v1.36.9", cache / "v1.36.10", cache / ".new-x"):
        folder.mkdir(parents=True)
    found = folders("/mine", {**home, "KUBEBUILDER_ASSETS": "/kubebuilder"})
    assert [source for source, _ in found] == [
        "--bin-dir",
        "KUBEBUILDER_ASSETS",
        "setup-envtest",
        "cache",
        "cache",
        "verification/bin",
    ]
    assert [path.name for _, path in found[3:5]] == ["v1.36.10", "v1.36.9"]


def test_relative_folders_become_absolute(
    home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = folders("mine", {**home, "KUBEBUILDER_ASSETS": "assets"})
    assert [path for _, path in found[:2]] == [tmp_path / "mine", tmp_path / "assets"]


def test_the_first_place_with_the_wanted_release_wins(pretend: Pretend, home: dict[str, str], tmp_path: Path) -> None:
    old = all_of(pretend, tmp_path / "old", "v1.35.4")
    new = all_of(pretend, Path(home["HOME"]) / ".cache/dra-conformance/control-plane/v1.36.2", "v1.36.2")
    environ = {**home, "KUBEBUILDER_ASSETS": str(old)}
    found = find(Wanted("1.36"), environ=environ)
    assert found.version == "v1.36.2"
    assert {path.parent for path in found.paths.values()} == {new, old}  # etcd has a version of its own
    assert find(Wanted("1.35"), environ=environ)["kube-apiserver"] == old / "kube-apiserver"


def test_what_an_envtest_archive_lacks_is_taken_from_further_down(
    pretend: Pretend, home: dict[str, str], tmp_path: Path
) -> None:
    assets = tmp_path / "envtest"
    pretend(assets, "etcd")
    pretend(assets, "kube-apiserver", "v1.36.2")
    cache = all_of(pretend, Path(home["HOME"]) / ".cache/dra-conformance/control-plane/v1.36.2", "v1.36.2")
    found = find(Wanted("1.36"), environ={**home, "KUBEBUILDER_ASSETS": str(assets)})
    assert found["kube-apiserver"].parent == assets
    assert found["kube-scheduler"].parent == cache


def test_a_checkout_has_older_releases_in_folders(pretend: Pretend, home: dict[str, str], tmp_path: Path) -> None:
    built = tmp_path / "nowhere" / "verification" / "bin"
    all_of(pretend, built, "v1.37.2")
    older = all_of(pretend, built / "kubernetes-v1.36.3", "v1.36.3")
    all_of(pretend, built / "nvidia-v1.35.4", "v1.35.4")
    assert find(Wanted("1.36"), environ=home)["kube-scheduler"] == older / "kube-scheduler"
    with pytest.raises(ProgramsMissing):
        find(Wanted("1.35"), environ=home)


def test_a_scheduler_of_another_patch_release_does_not_count(
    pretend: Pretend, home: dict[str, str], tmp_path: Path
) -> None:
    folder = all_of(pretend, tmp_path / "bin", "v1.36.2")
    pretend(folder, "kube-scheduler", "v1.36.1")
    with pytest.raises(ProgramsMissing, match=r"without kube-scheduler of that release") as caught:
        find(Wanted("1.36"), bin_dir=str(folder), environ=home)
    assert "control-plane install 1.36" in caught.value.hint


def test_the_error_names_the_releases_that_were_found(pretend: Pretend, home: dict[str, str], tmp_path: Path) -> None:
    folder = all_of(pretend, tmp_path / "bin", "v1.34.1")
    with pytest.raises(ProgramsMissing, match=r"no control plane of Kubernetes 1\.36.*--bin-dir has.* v1\.34\.1"):
        find(Wanted("1.36"), bin_dir=str(folder), environ=home)


def test_a_named_folder_with_another_release_is_not_passed_over(
    pretend: Pretend, home: dict[str, str], tmp_path: Path
) -> None:
    all_of(pretend, Path(home["HOME"]) / ".cache/dra-conformance/control-plane/v1.36.2", "v1.36.2")
    folder = all_of(pretend, tmp_path / "bin", "v1.37.2")
    with pytest.raises(ProgramsMissing) as caught:
        find(Wanted("1.36"), bin_dir=str(folder), environ=home)
    assert caught.value.hint == "`--kubernetes-version 1.37` uses it."
    assert find(Wanted("1.37"), bin_dir=str(folder), environ=home).version == "v1.37.2"


def test_a_missing_folder_is_an_error(home: dict[str, str]) -> None:
    with pytest.raises(ProgramsMissing, match="no such folder"):
        find(Wanted("1.36"), bin_dir="/does/not/exist", environ=home)


def test_a_program_that_cannot_run_reports_no_version(pretend: Pretend, home: dict[str, str], tmp_path: Path) -> None:
    folder = all_of(pretend, tmp_path / "bin", "v1.36.2")
    (folder / "kube-apiserver").write_bytes(b"\x7fELF but not really")
    (folder / "kube-apiserver").chmod(0o755)
    with pytest.raises(ProgramsMissing, match="reports no version"):
        find(Wanted("1.36"), bin_dir=str(folder), environ=home)


def test_gates_are_read_from_the_servers_help(pretend: Pretend, home: dict[str, str], tmp_path: Path) -> None:
    folder = all_of(pretend, tmp_path / "bin", "v1.36.2")
    told = "\n".join(
        f"echo '{line}'"
        for line in (
            "kube:DRADeviceTaints=true|false (BETA - default=true)",
            "                kube:DRADeviceTaintRules=true|false (BETA - default=false)",
            "AllAlpha=true|false (ALPHA - default=false)",
            "kube:DRALater=true|false (BETA - default=false), or DRALater=true|false (BETA - default=true) if "
            "--min-compatibility-version>=1.37",
        )
    )
    pretend(folder, "kube-apiserver", "v1.36.2", body=told)
    gates = find(Wanted("1.36"), bin_dir=str(folder), environ=home).default_gates()
    assert gates == {"DRADeviceTaints": True, "DRADeviceTaintRules": False, "AllAlpha": False, "DRALater": False}


def test_what_is_installed_is_listed(pretend: Pretend, home: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    pretend(folder, "kube-apiserver", "v1.36.2")
    assert installed(str(folder), home) == [("--bin-dir", folder, "v1.36.2", ["kube-apiserver"])]
