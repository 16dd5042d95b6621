"""Building a release from its Go modules: what can be told without compiling for minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_conformance.control_plane.binaries.build import LINKS, PROGRAM, build, module_text
from dra_conformance.control_plane.binaries.programs import NEEDED
from dra_conformance.core.errors import TargetUnreachable, UsageError
from verification.third_party.catalogue import load

UPSTREAM = """module k8s.io/kubernetes

go 1.25.7

godebug default=go1.25

require (
	go.etcd.io/etcd/api/v3 v3.6.5
	go.etcd.io/etcd/server/v3 v3.6.5 // indirect
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubelet => ./staging/src/k8s.io/kubelet
)
"""


def test_the_module_of_another_release_is_read_from_that_release() -> None:
    text = module_text(UPSTREAM, "v1.35.2", "v0.35.2")
    assert text.splitlines() == [
        "module dra-conformance/control-plane",
        "go 1.25.7",
        "godebug default=go1.25",
        "require go.etcd.io/etcd/server/v3 v3.6.5",
        "require k8s.io/component-base v0.35.2",
        "require k8s.io/kubernetes v1.35.2",
        "replace k8s.io/api => k8s.io/api v0.35.2",
        "replace k8s.io/kubelet => k8s.io/kubelet v0.35.2",
    ]
    with pytest.raises(TargetUnreachable, match="known shape"):
        module_text("module k8s.io/kubernetes\n", "v1.35.2", "v0.35.2")


def test_the_verified_program_has_the_same_name_and_links() -> None:
    (program,) = (one for one in load() if one.name == "kube-apiserver")
    assert program.program == PROGRAM
    assert set(program.links) == set(LINKS) >= set(NEEDED)


@pytest.mark.parametrize("release", ["1", "1.36.2-rc.1", "main"])
def test_only_releases_are_built(release: str) -> None:
    with pytest.raises(UsageError, match=r"no release such as 1\.37 or 1\.37\.2"):
        build(release)


def test_a_minor_release_is_built_as_its_newest_patch_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    upstream, go = tmp_path / "upstream.mod", tmp_path / "bin" / "go"
    upstream.write_text(UPSTREAM)
    go.parent.mkdir()
    # It resolves the version, writes go.mod where a program is to be built, and creates the program.
    go.write_text(f"""#!/bin/sh
case "$1 $2" in
  "mod download") [ "$4" = k8s.io/kubernetes@v1.35 ] && echo '{{"Version": "v1.35.9", "GoMod": "{upstream}"}}' ;;
  "build -trimpath") cp go.mod "$6" ;;
esac
""")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/bin:/usr/bin")
    folder = build("1.35", environ={"HOME": str(tmp_path)})
    assert folder == tmp_path / ".cache/dra-conformance/control-plane/v1.35.9"
    assert "require k8s.io/component-base v0.35.9\n" in (folder / PROGRAM).read_text()
    assert {path.name for path in folder.iterdir()} == {PROGRAM, *LINKS}


def test_building_needs_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs Go"):
        build("1.36.2", environ={"HOME": str(tmp_path)})


def test_what_go_says_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\necho 'module lookup disabled' >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/bin:/usr/bin")
    with pytest.raises(TargetUnreachable, match=r"go mod failed:\nmodule lookup disabled"):
        build("1.36.2", environ={"HOME": str(tmp_path)})
    assert list((tmp_path / ".cache/dra-conformance/control-plane").iterdir()) == []
