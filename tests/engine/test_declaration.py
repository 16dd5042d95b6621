"""The declaration of a driver: declared capabilities are tested, others are not supported, mistakes are errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import UsageError
from dra_conformance.core.options import RunOptions


def options(**declaration: list[str]) -> RunOptions:
    return from_mapping({"declaration": declaration}, where="test")


def test_the_reference_declares_itself_and_a_vendor_nothing() -> None:
    assert RunOptions().declared.capabilities == ("configuration", "health")
    assert RunOptions(driver="exec:./mine", driver_name="gpu.example.com").declared.capabilities == ()
    assert RunOptions(driver="exec:./mine").declared.capabilities == ()


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"capabilities": ["configuraton"]}, "unknown capability 'configuraton'"),
        ({"valid": ["{kind: A}"]}, "require the capability configuration"),
        ({"capabilities": ["configuration"], "valid": ["just words"]}, "not a YAML mapping"),
        ({"capabilities": ["configuration"], "invalid": ["{kind: ["]}, "not valid YAML"),
        ({"capabilites": []}, "capabilites"),
    ],
)
def test_a_mistake_in_a_declaration_is_an_error(declaration: dict[str, list[str]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options(**declaration)


def test_what_is_declared_without_samples_is_untestable_and_what_is_not_declared_is_not_supported(
    tmp_path: Path,
) -> None:
    (tmp_path / "dra-conformance.toml").write_text('[declaration]\ncapabilities = ["configuration"]\n')
    ended = subprocess.run(
        [sys.executable, "-m", "dra_conformance", "run", "--focus", "^driver/declared", "--out", "report"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    rows = json.loads((tmp_path / "report" / "report.json").read_bytes())["scenarios"]
    found = {row["id"].partition("#")[2]: (row["status"], row["reason"]) for row in rows if "declared#" in row["id"]}
    status, reason = found["valid-sample-configurations-are-prepared-invalid-ones-refused"]
    assert status == "untestable"
    assert "no valid sample is given" in reason
    status, reason = found["the-health-of-every-device-is-streamed"]
    assert status == "not-supported"
    assert "health is not declared" in reason
