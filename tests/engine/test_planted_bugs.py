"""Ten drivers with one bug each: the first screen of the terminal and of the page lead to the cause."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dra_conformance.core import features
from dra_conformance.core.options import RunOptions
from dra_conformance.core.process_pool import each
from dra_conformance.core.rules import Catalogue
from dra_conformance.pytest_plugin.launch import execute
from dra_conformance.pytest_plugin.mutation_matrix import LOADED_BEFORE_FORKING
from dra_conformance.report import files
from dra_conformance.report.html import render as render_html
from dra_conformance.report.terminal import render as render_text
from dra_conformance.steps.catalogue import modules as step_modules
from tests.planted_bugs.bugs import BUGS, Bug

PROGRAM = Path(__file__).parents[1] / "planted_bugs" / "driver.py"
COLUMNS, ROWS = 80, 40
PROGRESS = 8
"""Lines that a run prints above its report: target and plan, the failed scenario, the chapter."""


def run(work: tuple[str, list[str], Path]) -> int:
    """Run scenarios with a bug in this process, and return the exit code."""
    bug, scenarios, folder = work
    command = shlex.join([sys.executable, str(PROGRAM), bug])
    options = RunOptions(
        driver=f"exec:{command} {{kubeconfig}} {{node}} {{plugins}} {{registrar}} {{cdi}}",
        driver_name="planted.dra.test",
        # Another user could not execute the Python of a virtual environment.
        isolation="off",
        pass_env=("PYTHONPATH",),
        focus=features.focus_on(scenarios),
        patience=1.0,
        progress="none",
        out=str(folder),
    )
    return execute(options)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The report directories of all bugs, by name."""
    root = tmp_path_factory.mktemp("planted")
    step_modules()
    for name in LOADED_BEFORE_FORKING:
        importlib.import_module(name)
    # Without a bug no MUST fails in these scenarios, so that they find the bug and nothing else.
    work = [("none", sorted({bug.scenario for bug in BUGS}), root / "none")]
    work += [(bug.name, [bug.scenario], root / bug.name) for bug in BUGS]
    codes = {name: code for (name, _, _), code in each(work, run, jobs=2, limit=180.0)}
    assert codes == {"none": 0, **{bug.name: 1 for bug in BUGS}}
    return {bug.name: root / bug.name for bug in BUGS}


def without_space(text: str) -> str:
    """Text that can be compared although it was wrapped, also inside of a long word."""
    return "".join(text.split())


def missing(bug: Bug, text: str) -> list[str]:
    """What a report must name and this text does not."""
    named = (bug.rule, bug.method, bug.object, bug.cause)
    return [part for part in named if without_space(part) not in without_space(text)]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_first_screen_of_the_terminal_leads_to_the_bug(folders: Mapping[str, Path], bug: Bug) -> None:
    folder = folders[bug.name]
    lines = render_text(files.from_folder(folder), folder=folder, width=COLUMNS).splitlines()
    # A terminal breaks the lines that must stay whole, such as a command.
    rows = [row for line in lines for row in (line[at : at + COLUMNS] for at in range(0, len(line) or 1, COLUMNS))]
    screen = "\n".join(rows[: ROWS - PROGRESS])
    assert rows[0].startswith(f"✗ {bug.rule} MUST failed")
    assert missing(bug, screen) == [], screen
    assert "  log       logs/driver-n1" in screen


class FirstCard(HTMLParser):
    """Collects the visible text of the first failure: not what is folded or a tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._depth = 0
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += tag == "details" and (self._depth > 0 or ("id", "failure-1") in attrs)
        self._hidden += tag == "title" or (tag == "details" and self._depth > 1)

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag == "title" or (tag == "details" and self._depth > 1)
        self._depth -= tag == "details" and self._depth > 0

    def handle_data(self, data: str) -> None:
        self.text += data if self._depth and not self._hidden else ""


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_first_failure_of_the_page_leads_to_the_bug(folders: Mapping[str, Path], bug: Bug) -> None:
    card = FirstCard()
    report = files.from_folder(folders[bug.name])
    card.feed(render_html(report))
    rule = Catalogue.load()[bug.rule]
    assert missing(bug, card.text) == [], card.text
    about = ("MUST", rule.text, rule.why, rule.mistake, rule.source, "logs/driver-n1")
    assert [part for part in about if without_space(part).replace("`", "") not in without_space(card.text)] == []
