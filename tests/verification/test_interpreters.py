"""The package on every Python of a machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from verification import interpreters

_ROOT = Path(interpreters.__file__).resolve().parents[1]
_THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without interpreters; the folder is the only one of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


def _script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_an_interpreter_of_pyenv_is_found_behind_a_shim_that_fails(nowhere: Path) -> None:
    _script(nowhere / f"python{_THIS}", "#!/bin/sh\necho command not found >&2\nexit 127\n")
    assert interpreters.find(_THIS) is None
    own = nowhere / f"pyenv/versions/{_THIS}.9/bin/python{_THIS}"
    _script(own, f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    assert interpreters.find(_THIS) == own


def test_an_interpreter_of_another_version_is_not_taken(nowhere: Path) -> None:
    _script(nowhere / "python3.99", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    assert interpreters.find("3.99") is None


def test_versions_that_are_not_found_are_listed(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--wheel", str(nowhere / "the.whl")]
    assert interpreters.main([*words, "--require", "3.14"]) == 1
    printed = capsys.readouterr().out
    assert "3.11   not run: not found" in printed
    assert printed.endswith("interpreters: not found: 3.11, 3.12, 3.13, 3.14; but required: 3.14\n")


def test_the_step_that_fails_is_reported(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _script(nowhere / f"python{_THIS}", f'#!/bin/sh\n[ "$1" = -m ] && exit 3\nexec {sys.executable} "$@"\n')
    assert interpreters.main(["--wheel", "the.whl"], versions=[_THIS]) == 1
    assert "FAILED: environment (exit code 3)" in capsys.readouterr().out


def test_ci_has_every_version() -> None:
    workflow = yaml.safe_load((_ROOT / ".github/workflows/ci.yml").read_text())
    assert tuple(workflow["jobs"]["interpreters"]["strategy"]["matrix"]["python-version"]) == interpreters.VERSIONS
