"""Declared features are judged, others are not supported; samples of configuration; mistakes are errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dra_conformance.core.configuration import from_mapping, options_of
from dra_conformance.core.errors import UsageError
from dra_conformance.core.optional_features import FEATURES
from dra_conformance.core.options import RunOptions
from dra_conformance.engine import supported_features
from dra_conformance.engine.supported_features import SupportedFeatures


def options(**declaration: list[str]) -> RunOptions:
    return from_mapping({"declaration": declaration}, where="test")


OF_KAI_ONLY = {"evictions", "node-pools", "fair-share", "sub-groups", "pod-grouper", "volumes"}
DRIVER_FEATURES = {name for name, feature in FEATURES.items() if feature.component == "driver"}


def found(**more: Any) -> SupportedFeatures:
    return supported_features.find(RunOptions(**more))


def test_the_reference_supports_every_feature_that_is_not_only_of_kai() -> None:
    assert set(found().unsupported) == OF_KAI_ONLY
    assert set(found(scheduler="kai").supported) >= OF_KAI_ONLY
    assert set(found().supported) == {name for name, feature in FEATURES.items() if feature.in_reference}
    assert found().supported["health"] == "detected: the reference driver has it"


@pytest.mark.parametrize("more", [{"driver": "exec:./mine"}, {"driver_name": "gpu.example.com"}])
def test_features_of_another_driver_are_not_detected(more: dict[str, str]) -> None:
    assert set(found(**more).unsupported) == DRIVER_FEATURES | OF_KAI_ONLY
    assert found(**more).unsupported["health"] == "not declared (--supported-features)"


def test_a_list_of_features_replaces_detection() -> None:
    """As in Gateway API: an optional feature that is not listed is not supported."""
    declared = found(driver="exec:./mine", supported_features=("health", "DRAAdminAccess"))
    assert declared.supported == {"health": "declared (--supported-features)"}
    assert "filter-timeout" in declared.unsupported
    assert set(found(supported_features=()).unsupported) == set(FEATURES)


def test_features_that_the_options_show_are_detected() -> None:
    samples = options(valid=["{kind: A}"])
    assert "configuration" in supported_features.find(samples).supported
    assert "filter-timeout" in found(control_plane="binaries", scheduler="kube-scheduler").supported
    nvidia = found(driver="nvidia")
    assert nvidia.supported["nvidia-checkpoint"] == "detected: nvidia:v0.5.0 has it"
    assert "health" in nvidia.unsupported


def test_an_unknown_feature_is_a_usage_error_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="unknown feature 'helth'") as error:
        from_mapping({"supported-features": ["helth"]}, where="test")
    assert "health" in error.value.hint


def test_the_command_line_and_the_file_declare_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dra-conformance.toml").write_text('supported-features = ["health"]\n')
    assert options_of({}).supported_features == ("health",)
    assert options_of({"supported-features": ("configuration,rolling-update",)}).supported_features == (
        "configuration",
        "rolling-update",
    )
    assert options_of({"supported-features": ("",)}).supported_features == ()


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"valid": ["just words"]}, "not a YAML mapping"),
        ({"invalid": ["{kind: ["]}, "not valid YAML"),
        ({"vaild": []}, "vaild"),
    ],
)
def test_a_mistake_in_a_declaration_is_an_error(declaration: dict[str, list[str]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options(**declaration)


def test_samples_require_their_feature() -> None:
    with pytest.raises(UsageError, match="require the feature configuration"):
        from_mapping({"declaration": {"valid": ["{kind: A}"]}, "supported-features": ["health"]}, where="test")


def test_what_is_declared_without_samples_is_untestable_and_what_is_not_declared_is_not_supported(
    tmp_path: Path,
) -> None:
    (tmp_path / "dra-conformance.toml").write_text('supported-features = ["configuration"]\n[declaration]\n')
    words = ["run", "--focus", "^driver/declared", "--report", "json", "--out", "report"]
    ended = subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    rows = json.loads((tmp_path / "report" / "report.json").read_bytes())["scenarios"]
    outcomes = {row["id"].partition("#")[2]: (row["status"], row["reason"]) for row in rows if "declared#" in row["id"]}
    status, reason = outcomes["valid-sample-configurations-are-prepared-invalid-ones-refused"]
    assert status == "untestable"
    assert "no valid sample is given" in reason
    status, reason = outcomes["the-health-of-every-device-is-streamed"]
    assert status == "not-supported"
    assert "the feature health is not declared" in reason
