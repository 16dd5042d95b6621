"""Tests of the progress display: it fits the terminal, and what targets say cannot control it."""

from __future__ import annotations

import io
import re
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from dra_conformance.core.status import Status
from dra_conformance.pytest_plugin.progress import Progress

SGR = re.compile(r"\x1b\[\d*m")


def scenario(name: str) -> Any:
    return SimpleNamespace(id=f"faults/compute_domains#{name}", name=name, chapter="compute-domains")


def shown(columns: int, monkeypatch: pytest.MonkeyPatch, *, mode: str = "live", reason: str = "no") -> str:
    """What a run of a hundred scenarios with long names writes."""
    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    progress = Progress(mode, out=out)
    progress._planned = Counter({"compute-domains": 100})
    for number in range(100):
        one = scenario(f"the objects of a deleted ComputeDomain {number} are deleted when the API server fails")
        progress.scenario_started(one)
        progress.scenario_finished(one, Status.ERROR if number % 3 == 0 else Status.PASSED, reason, 12.5)
    return out.getvalue()


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_a_line_that_is_updated_in_place_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = SGR.sub("", shown(columns, monkeypatch)).split("\r\x1b[2K")
    lines = [update for update in updates if update.startswith("compute-domains")]
    assert len(lines) > 100
    # A line as wide as the terminal wraps on some, and its first row stays when it is cleared.
    assert max(len(line.rstrip("\n")) for line in lines) < columns
    assert all("/100 " in line for line in lines)
    assert lines[-1].endswith("34 not passed\n" if columns >= 60 else " s\n")
    if columns >= 80:
        assert any("the objects of" in line for line in lines), "the scenario that runs is not named"
    if columns >= 60:
        assert "█" in lines[-1]


def test_a_file_has_one_line_for_a_chapter_and_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(60, monkeypatch, mode="plain")
    assert [line for line in text.splitlines() if line.startswith("compute-domains")] == [
        "compute-domains      ████████████████████ 100/100 1250.0 s  34 not passed"
    ]
    assert "\x1b" not in text
    assert "\r" not in text


@pytest.mark.parametrize("mode", ["live", "plain"])
def test_a_reason_cannot_control_the_terminal(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(80, monkeypatch, mode=mode, reason="\x1b]0;owned\x07\x1b[2J\rmine\u202e")
    assert "owned" in text
    assert set(text.replace("\r\x1b[2K", "").replace("\n", "")) <= {c for c in text if c.isprintable()}


def test_a_terminal_names_the_first_failures_and_a_file_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """34 scenarios do not pass: the report must not be pushed out of the screen by what it repeats."""
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [row for row in shown(80, monkeypatch, reason="no " * 200).replace("\r\x1b[2K", "\n").splitlines() if row]
    listed = [row for row in rows if row.startswith(("  ERROR ", "    no ", "  (further"))]
    assert len(listed) == 2 * 5 + 1
    assert max(map(len, listed)) < 80
    text = shown(80, monkeypatch, mode="plain", reason="no " * 200)
    assert (text.count("  ERROR faults/"), text.count("no " * 199)) == (34, 34)
