"""Tests of the wheel: commands, features, fixtures, mutants, schemas and the compiled library."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, installed beside nothing else; its dependencies are this environment's."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True)
    wheel.rename(folder / "the.whl")
    return folder


def run(installed: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed / "site")}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_wheel_is_complete(installed: Path) -> None:
    names = set(zipfile.ZipFile(installed / "the.whl").namelist())
    for folder in ("features", "fixtures"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".feature", ".yaml"):
                assert f"dra_conformance/_assets/{folder}/{path.relative_to(ROOT / folder).as_posix()}" in names
    for folder in ("mutants", "go_programs"):
        for path in (ROOT / "dra_conformance" / folder).rglob("*.*"):
            if path.suffix in (".py", ".go", ".mod", ".sum"):
                assert path.relative_to(ROOT).as_posix() in names
    assert {"fake_nvml/lib/libnvidia-ml.so.1", "dra_conformance/report/templates/report.html"} <= names
    packages = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert packages == {"apiserver_emulator", "dra_api", "dra_conformance", "fake_nvml", "reference_impl"}


def test_the_suite_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = run(
        installed,
        *(sys.executable, str(installed / "site" / "bin" / "dra-conformance"), "run", "--rule", "DRA-100"),
        *("--progress", "plain"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    where = run(
        installed, sys.executable, "-c", "import dra_conformance; print(dra_conformance.__file__)", cwd=tmp_path
    )
    assert where.stdout.startswith(str(installed / "site"))


def test_mutants_and_the_second_command_run_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    scripts = installed / "site" / "bin"
    listed = run(installed, sys.executable, str(scripts / "dra-conformance"), "mutants", "--list", cwd=tmp_path)
    assert listed.stdout.rstrip().endswith("mutants")
    assert run(installed, sys.executable, str(scripts / "fake-nvml"), "--help", cwd=tmp_path).returncode == 0
