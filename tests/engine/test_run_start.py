"""The start of a run, which all scenarios share."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.options import RunOptions
from dra_conformance.engine.run import Run


@pytest.mark.parametrize("error", [TargetUnreachable("nothing listens"), OSError("no space left on device")])
def test_every_scenario_gets_the_error_of_a_failed_start(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(RunOptions(), folder=tmp_path)
    attempts: list[Exception] = []

    def fail(control_plane: object) -> None:
        attempts.append(error)
        raise error

    monkeypatch.setattr(run, "_start_on", fail)
    try:
        for _ in range(2):
            with pytest.raises(type(error)) as raised:
                run.start()
            assert raised.value is error
    finally:
        run.stop()
    assert len(attempts) == 1, "a failed start must not be repeated"
