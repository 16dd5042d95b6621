"""Twenty drivers with one bug each: the first screen of the terminal and of the page lead to the cause."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

import browser
import pytest
from browser import Tab

from dra_conformance.core import assets, features
from dra_conformance.core.options import RunOptions
from dra_conformance.core.process_pool import each
from dra_conformance.core.rules import Catalogue
from dra_conformance.pytest_plugin.launch import execute
from dra_conformance.pytest_plugin.mutation_matrix import LOADED_BEFORE_FORKING
from dra_conformance.report import files
from dra_conformance.report.html import render as render_html
from dra_conformance.steps.catalogue import modules as step_modules
from tests.planted_bugs.bugs import GO, PYTHON, Bug

PROGRAMS = Path(__file__).parents[1] / "planted_bugs"
COLUMNS, ROWS = 80, 40
SCREEN = 80 * 9
"""The width in pixels of a window with 80 columns; the browser of the tests is about 40 lines high."""
ALL = [pytest.param("python", bug, id=f"python-{bug.name}") for bug in PYTHON]
ALL += [pytest.param("go", bug, id=f"go-{bug.name}") for bug in GO]
SOME_BUGS = {("python", "sticky-error"), ("go", "look-up")}
"""The bugs that `make unit-exhaustive` runs a whole profile for. `python -m verification planted-bugs` runs all."""
EVERY = "DRA_PLANTED_BUGS"
PROFILE_S = 900.0

Folders = Callable[[str], Mapping[str, Path]]


@contextlib.contextmanager
def terminal(written: Path) -> Iterator[None]:
    """Make the standard output a terminal of 80 columns, and write what it got to a file at the end."""
    above, below = pty.openpty()
    fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    got: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while some := os.read(above, 65536):
                got.append(some)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with os.fdopen(below, "w", encoding="utf-8") as output, contextlib.redirect_stdout(output):
            yield
    finally:
        reader.join()
        os.close(above)
        written.write_bytes(b"".join(got))


def rows_of(written: Path) -> list[str]:
    """What a terminal shows of its input, row by row, as if it had room for all of it."""
    rows = []
    for line in written.read_bytes().decode().split("\r\n"):
        shown = re.sub(r"\x1b\[[\d;]*m", "", line.rpartition("\r\x1b[2K")[2])
        assert "\x1b" not in shown, shown
        assert "\r" not in shown, shown
        rows += [shown[at : at + COLUMNS] for at in range(0, len(shown) or 1, COLUMNS)]
    return rows


def run(work: tuple[list[str], list[str], Path]) -> int:
    """Run scenarios with a driver in this process, and return the exit code. `terminal` has what a terminal got."""
    command, scenarios, folder = work
    options = RunOptions(
        driver=f"exec:{shlex.join(command)} {{kubeconfig}} {{node}} {{plugins}} {{registrar}} {{cdi}}",
        driver_name="planted.dra.test",
        # Another user could not execute the Python of a virtual environment.
        isolation="off",
        pass_env=("PYTHONPATH",),
        focus=features.focus_on(scenarios),
        # A small plan, and no file that the tests do not read: most of the time of these runs.
        profile=("driver-core",),
        report=("json",),
        # The driver without a bug must pass on a busy machine too, and keeps nothing waiting.
        patience=60.0 if command[-1] == "none" else 3.0,
        out=str(folder),
    )
    os.environ["COLUMNS"] = str(COLUMNS)  # this process has a terminal of its own, or none
    folder.mkdir(parents=True)
    with terminal(folder / "terminal"):
        return execute(options)


def built_in_go(out: Path) -> str:
    """Build the driver in Go and return its path. Only CI, which must not skip it, may download its modules."""
    go, ci = shutil.which("go"), os.environ.get("CI", "").lower() == "true"
    if go is None and not ci:
        # Users of the suite need no Go; CI does, and fails below without it.
        pytest.skip("Go is not installed")
    environment = {**os.environ, "CGO_ENABLED": "0", **({} if ci else {"GOPROXY": "off"})}
    words = [go or "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(out / "planted"), "."]
    done = subprocess.run(words, cwd=PROGRAMS / "go", env=environment, capture_output=True, text=True, check=False)
    if "module lookup disabled by GOPROXY=off" in done.stderr:
        # Outside CI tests do not use the network.
        pytest.skip("the Go modules of the driver are not on this machine (`make third-party` downloads them)")
    assert done.returncode == 0, done.stderr
    return str(out / "planted")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The report directories of all bugs in a language, by name of the bug."""
    found: dict[str, Mapping[str, Path]] = {}

    def of(language: str) -> Mapping[str, Path]:
        if language not in found:
            root = tmp_path_factory.mktemp(language)
            program = [sys.executable, str(PROGRAMS / "driver.py")] if language == "python" else [built_in_go(root)]
            found[language] = run_all(program, PYTHON if language == "python" else GO, root)
        return found[language]

    return of


def run_all(program: list[str], bugs: Sequence[Bug], root: Path) -> Mapping[str, Path]:
    """Run the scenario of each bug, and all of them without a bug."""
    step_modules()
    # Read before the processes fork, which would each do it.
    features.read_all([assets.features()])
    Catalogue.load()
    for name in LOADED_BEFORE_FORKING:
        importlib.import_module(name)
    # Without a bug no MUST fails in these scenarios, so that they find the bug and nothing else.
    work = [([*program, "none"], sorted({bug.scenario for bug in bugs}), root / "none")]
    work += [([*program, bug.name], [bug.scenario], root / bug.name) for bug in bugs]
    codes = {command[-1]: code for (command, _, _), code in each(work, run, jobs=2, limit=180.0)}
    assert codes == {"none": 0, **{bug.name: 1 for bug in bugs}}
    return {bug.name: root / bug.name for bug in bugs}


def without_space(text: str) -> str:
    """Text that can be compared although it was wrapped, also inside of a long word."""
    return "".join(text.split())


def missing(bug: Bug, text: str) -> list[str]:
    """What a report must name and this text does not."""
    named = (bug.rule, bug.method, bug.object, bug.cause)
    shown = without_space(text)
    return [part for part in named if not any(without_space(one) in shown for one in part.split("|"))]


@pytest.mark.parametrize(("language", "bug"), ALL)
def test_the_first_screen_of_the_terminal_leads_to_the_bug(folders: Folders, language: str, bug: Bug) -> None:
    rows = rows_of(folders(language)[bug.name] / "terminal")
    screen = "\n".join(rows[:ROWS])
    assert rows[0].startswith("dra-conformance  rules "), "the screen begins with the run"
    assert f"\n✗ {bug.rule} MUST failed\n" in screen
    assert missing(bug, screen) == [], screen
    assert "  log       logs/driver-n1" in screen


def run_profile(command: list[str], folder: Path) -> int:
    """Run the whole profile as a vendor does, in a terminal; return the exit code."""
    driver = f"exec:{shlex.join(command)} {{kubeconfig}} {{node}} {{plugins}} {{registrar}} {{cdi}}"
    words = [sys.executable, "-m", "dra_conformance", "run", "--profile", "driver-core", "--driver", driver]
    words += ["--driver-name", "planted.dra.test", "--isolation", "off", "--pass-env", "PYTHONPATH"]
    words += ["-n", "4", "--report", "json", "--out", str(folder)]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONPATH": str(PROGRAMS.parents[1])}
    folder.mkdir(parents=True)
    with terminal(folder / "terminal"):
        done = subprocess.run(words, stdout=sys.stdout, env=environment, check=False, timeout=PROFILE_S)
    return done.returncode


def only_in_verify_all() -> None:
    """Skip, unless `python -m verification planted-bugs` runs this: CI has no time for 22 runs of a whole profile."""
    if not os.environ.get(EVERY):
        pytest.skip(f"{EVERY} is not set: `make verify-all` runs it")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("language", "bug"), ALL)
def test_a_run_of_the_profile_leads_to_the_bug(tmp_path: Path, language: str, bug: Bug) -> None:
    """The last screen of the terminal and the first failure of the page, among all that one bug breaks."""
    if (language, bug.name) not in SOME_BUGS:
        only_in_verify_all()
    program = [sys.executable, str(PROGRAMS / "driver.py")] if language == "python" else [built_in_go(tmp_path)]
    assert run_profile([*program, bug.name], tmp_path / "report") == 1
    screen = "\n".join(rows_of(tmp_path / "report" / "terminal")[-ROWS:])
    assert missing(bug.of_profile, screen) == [], screen
    card = FirstCard()
    card.feed(render_html(files.from_folder(tmp_path / "report")))
    assert missing(bug.of_profile, card.text) == [], card.text


@pytest.mark.exhaustive
@pytest.mark.parametrize("language", ["python", "go"])
def test_without_a_bug_the_profile_passes(tmp_path: Path, language: str) -> None:
    only_in_verify_all()
    program = [sys.executable, str(PROGRAMS / "driver.py")] if language == "python" else [built_in_go(tmp_path)]
    assert run_profile([*program, "none"], tmp_path / "report") == 0


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


VISIBLE = """
(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  for (let node; node = walker.nextNode();) {
    if (['TITLE', 'STYLE'].includes(node.parentNode.nodeName.toUpperCase())) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const places = [...range.getClientRects()];
    if (places.length && places.every(one => one.bottom <= innerHeight)) found.push(node.data);
  }
  return found.join(' ');
})()
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    yield from browser.tab()


@pytest.mark.parametrize(("language", "bug"), ALL)
def test_the_first_screen_of_the_page_leads_to_the_bug(
    folders: Folders, tab: Tab, tmp_path: Path, language: str, bug: Bug
) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_html(files.from_folder(folders(language)[bug.name])))
    tab.open(page, width=SCREEN)
    assert tab.evaluate("innerHeight") < 850
    screen = tab.evaluate(VISIBLE)
    assert missing(bug, screen) == [], screen


@pytest.mark.parametrize(("language", "bug"), ALL)
def test_the_first_failure_of_the_page_leads_to_the_bug(folders: Folders, language: str, bug: Bug) -> None:
    card = FirstCard()
    report = files.from_folder(folders(language)[bug.name])
    card.feed(render_html(report))
    rule = Catalogue.load()[bug.rule]
    assert missing(bug, card.text) == [], card.text
    about = ("MUST", rule.text, rule.why, rule.mistake, rule.source, "logs/driver-n1")
    assert [part for part in about if without_space(part).replace("`", "") not in without_space(card.text)] == []
