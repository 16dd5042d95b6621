"""Releases: the wheels for both machines, and the workflow that publishes them."""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import hatch_build
from tools import check_wheels

_ROOT = Path(hatch_build.__file__).parent
_WORKFLOW = _ROOT / ".github/workflows/release.yml"
_UPLOAD = _ROOT / ".github/workflows/pypi.yml"
_OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}


def _library(folder: Path, *options: str, text: str = "int one(void) { return 1; }\n") -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or pytest.fail("this test needs a C compiler")
    source, target = folder / "one.c", folder / "one.so"
    source.write_text(text)
    words = [compiler, "-shared", "-fPIC", "-o", str(target), str(source), *options]
    subprocess.run(words, check=True)
    return target


def _wheel(folder: Path, *libraries: Path, tag: str) -> Path:
    wheel = folder / f"dra_conformance-1.0.0-py3-none-{tag}.whl"
    names = ("libnvidia-ml.so.1", "libfakenvml-control.so")
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, library in zip(names, libraries, strict=False):
            archive.write(library, f"fake_nvml/lib/{name}")
    return wheel


def test_a_wheel_with_libraries_as_tagged_has_no_problems(tmp_path: Path) -> None:
    library = _library(tmp_path, "-nostdlib")
    wheel = _wheel(tmp_path, library, library, tag=f"manylinux_2_17_{platform.machine()}")
    assert check_wheels.problems(wheel) == []
    assert check_wheels.main([str(wheel)]) == 0


def test_libraries_of_another_machine_are_reported(tmp_path: Path) -> None:
    library = _library(tmp_path, "-nostdlib")
    wheel = _wheel(tmp_path, library, library, tag=f"manylinux_2_17_{_OTHER[platform.machine()]}")
    first, second = check_wheels.problems(wheel)
    assert "fake_nvml/lib/libfakenvml-control.so is for EM_" in first
    assert "fake_nvml/lib/libnvidia-ml.so.1 is for EM_" in second


def test_other_libraries_and_a_newer_glibc_are_reported(tmp_path: Path) -> None:
    (tmp_path / "libother.so").write_bytes(_library(tmp_path, "-Wl,-soname,libother.so.7").read_bytes())
    uses = "#include <stdlib.h>\nint one(void); void *two(void) { one(); return malloc(1); }\n"
    library = _library(tmp_path, str(tmp_path / "libother.so"), "-Wl,--no-as-needed", text=uses)
    found = check_wheels.problems(_wheel(tmp_path, library, tag=f"manylinux_2_1_{platform.machine()}"))
    assert any(problem.endswith("needs libother.so.7") for problem in found)
    assert any(re.search(r"needs GLIBC_2\.\d+", problem) for problem in found)
    assert any(problem.endswith("no fake_nvml/lib/libfakenvml-control.so") for problem in found)


def test_a_wheel_for_one_machine_only_is_reported(tmp_path: Path) -> None:
    assert check_wheels.main([str(_wheel(tmp_path, tag="linux_x86_64"))]) == 1


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed (make release)")
@pytest.mark.parametrize("machine", hatch_build.MACHINES)
def test_ziglang_builds_what_the_tag_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    monkeypatch.setenv("FAKE_NVML_MACHINE", machine)
    for path in ("fake_nvml/src", "hatch_build.py"):
        copy = shutil.copytree if (_ROOT / path).is_dir() else shutil.copy
        (tmp_path / path).parent.mkdir(exist_ok=True)
        copy(_ROOT / path, tmp_path / path)
    hook = type("Hook", (hatch_build.CustomBuildHook,), {"root": str(tmp_path), "target_name": "wheel"})
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize(cast(Any, object.__new__(hook)), "standard", data)
    libraries = [Path(path) for path in data["force_include"]]
    tag = data["tag"].removeprefix("py3-none-")
    assert check_wheels.problems(_wheel(tmp_path, *libraries, tag=tag)) == []


def test_a_machine_without_wheels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVML_MACHINE", "riscv64")
    with pytest.raises(SystemExit, match="choose from x86_64, aarch64"):
        hatch_build.release_machine()
    monkeypatch.setenv("FAKE_NVML_MACHINE", "aarch64")
    assert hatch_build.CustomBuildHook.dependencies(cast(Any, None)) == ["ziglang>=0.13"]


def _jobs() -> dict[str, dict[str, Any]]:
    document = yaml.safe_load(_WORKFLOW.read_text())
    # YAML 1.1 reads the key `on` as a boolean.
    assert document[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}
    assert document["permissions"] == {"contents": "read"}
    return dict(document["jobs"])


def test_the_workflow_builds_attests_and_publishes() -> None:
    jobs = _jobs()
    steps = [step for job in jobs.values() for step in job["steps"]]
    used = [step["uses"].split("@")[0] for step in steps if "uses" in step]
    scripts = [step["run"] for step in steps if "run" in step]
    assert scripts[0] == "make release"
    assert {"actions/attest-build-provenance", "actions/attest-sbom"} <= set(used)
    assert any("sha256sum --check SHA256SUMS" in script for script in scripts)
    assert jobs["publish"]["needs"] == "build"


def test_only_the_job_that_runs_no_code_of_the_repository_can_write() -> None:
    jobs = _jobs()
    assert [name for name, job in jobs.items() if job["permissions"].get("contents") == "write"] == ["publish"]
    assert not any("checkout" in step.get("uses", "") for step in jobs["publish"]["steps"])


def test_a_published_release_is_uploaded_as_it_was_built_without_a_stored_token() -> None:
    document = yaml.safe_load(_UPLOAD.read_text())
    assert document[True] == {"release": {"types": ["published"]}}
    (job,) = document["jobs"].values()
    assert job["permissions"] == {"contents": "read", "id-token": "write", "attestations": "read"}
    assert not any("uses" in step for step in job["steps"])
    assert "secrets." not in _UPLOAD.read_text()
    scripts = [step["run"] for step in job["steps"]]
    order = ["gh release download", "sha256sum --check", "gh attestation verify", "twine upload"]
    assert [word for script in scripts for word in order if word in script] == order


def test_the_scripts_of_the_workflows_parse_and_contain_no_expressions() -> None:
    jobs = [*_jobs().values(), *yaml.safe_load(_UPLOAD.read_text())["jobs"].values()]
    for step in (step for job in jobs for step in job["steps"] if "run" in step):
        assert "${{" not in step["run"]
        subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)


def test_the_artifacts_of_the_workflow_are_those_of_make() -> None:
    recipe = re.search(r"^release:.*\n((?:\t.*\n)+)", (_ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    for name in ("SHA256SUMS", "dra-conformance.cdx.json"):
        assert name in recipe[1]
        assert name in _WORKFLOW.read_text()
    assert f"MACHINES := {' '.join(hatch_build.MACHINES)}\n" in (_ROOT / "Makefile").read_text()
