"""The choice of what `python -m verification build NAME` builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from verification.third_party import build
from verification.third_party.catalogue import ThirdParty


def test_a_program_that_several_descriptions_judge_is_built_for_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built: list[str] = []

    def keep(go: str, one: ThirdParty) -> bool:
        built.append(one.name)
        return True

    monkeypatch.setattr(build.shutil, "which", lambda name: name)
    monkeypatch.setattr(build, "BIN", tmp_path)
    monkeypatch.setattr(build, "_build", keep)
    assert build.build(["nvidia-compute-domains-v0.5.0"]) == 0
    assert built == ["nvidia-compute-domains-v0.5.0", "nvidia-driver-v0.5.0"]
