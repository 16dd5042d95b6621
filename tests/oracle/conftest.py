"""Fixtures of the tests of commands about clusters."""

from __future__ import annotations

import pytest
from oracle_clusters import Said

from dra_conformance.cli import call


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Run `dra-conformance` with these words; return its exit code and its output."""

    def run(*args: str) -> tuple[int, str]:
        code = call(list(args))
        output = capsys.readouterr()
        return code, output.out + output.err

    return run
