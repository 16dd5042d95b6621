"""Helm, as `python -m verification build helm` builds it; the tests are skipped without it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from verification.third_party.catalogue import BIN

CHART = Path(__file__).parents[2] / "deploy/chart"
NAMESPACE = "dra-reference"
PROGRAM = BIN / "helm"


@pytest.fixture(name="helm", scope="session")
def helm_fixture(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Return Helm, or skip the test."""
    if not PROGRAM.exists():
        pytest.skip("Helm is not built: `python -m verification build helm` needs Go")
    return Helm(tmp_path_factory.mktemp("helm"))


class Helm:
    """Helm with folders of its own: nothing of the user's configuration is read or written."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def run(
        self, *words: str, values: Mapping[str, Any] | None = None, kubeconfig: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Helm, with values if there are any, and return its result."""
        folders = {f"HELM_{name}_HOME": str(self._home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._home), **folders}
        environment["KUBECONFIG"] = str(kubeconfig or self._home / "none")
        command = [str(PROGRAM), *words, *(["--values", "-"] if values is not None else [])]
        text = json.dumps(values or {})
        return subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=False)

    def call(self, *words: str, values: Mapping[str, Any] | None = None, kubeconfig: Path | None = None) -> str:
        """Run Helm and return its output. Raises AssertionError with its message."""
        done = self.run(*words, values=values, kubeconfig=kubeconfig)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lint(self, values: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """Check the chart with values."""
        return self.run("lint", "--strict", str(CHART), values=values)

    def template(self, values: Mapping[str, Any], *more: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
        """Return the objects of the chart with values."""
        text = self.call("template", "one", str(CHART), "--namespace", namespace, *more, values=values)
        return [one for one in yaml.safe_load_all(text) if one]

    def refused(self, values: Mapping[str, Any]) -> str:
        """Return the message with which the chart refuses values."""
        done = self.run("template", "one", str(CHART), values=values)
        assert done.returncode != 0
        return done.stderr


def nested(path: str, value: Any) -> dict[str, Any]:
    """Return the values in which one value is set, by its path with dots."""
    for key in reversed(path.split(".")):
        value = {key: value}
    assert isinstance(value, dict)
    return value
