"""What the documentation shows is what happens: its example is cut out of the page and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from command_line import CommandLine

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.rules.catalogue import Catalogue
from dra_conformance.core.status import Status, Verdict
from tools import gen_api, gen_catalogue, gen_upstream_tests
from tools.gen_catalogue import origin_of

ROOT = Path(__file__).resolve().parents[2]
RENAMED_TARGETS = {"peers", "peers-check", "duel"}
"""Makefile targets of 0.1, which the changelog maps to their new names."""
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_worked_example_passes_and_its_mutant_dies(cli: CommandLine) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "templates.feature").write_text(blocks("how-to/writing-a-scenario.md", "gherkin")[0])
    (cli.folder / "mutants").mkdir()
    mutant = next(block for block in blocks("how-to/writing-a-scenario.md", "python") if "@mutant" in block)
    (cli.folder / "mutants" / "templates.py").write_text(mutant)
    ended = cli.suite("--features", "mine", "--focus", "^mine/")
    assert ended.code == ExitCode.OK, ended.out
    code, out, _ = cli.run("mutants", "--mutants", "mutants", "--features", "mine")
    assert (code, out) == (ExitCode.OK, blocks("how-to/writing-a-scenario.md", "text")[0])


@pytest.mark.parametrize("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_links_and_commands_are_real(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", text)) | set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE))
    assert named - RENAMED_TARGETS <= targets


@pytest.mark.parametrize("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_a_page_is_plain_text(page: Path) -> None:
    odd = [(n, c) for n, c in enumerate(page.read_text(encoding="utf-8")) if not c.isprintable() and c != "\n"]
    assert odd == [], f"{page.name} has characters that nobody sees, the first at {odd[0]}"


def test_the_tests_of_hostile_targets_exist() -> None:
    page = (ROOT / "docs/explanation/hostile-targets.md").read_text()
    handled = page.partition("## Not handled")[0]
    rows = [line for line in handled.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`(tests/[^`]+)::(test_[a-z_0-9]+)`", row)
        assert named, f"no test is named in: {row}"
        for file, test in named:
            assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE), f"{file} has no {test}"


def test_the_security_rules_exist() -> None:
    page = (ROOT / "docs/explanation/security.md").read_text()
    named = set(re.findall(r"\b(?:DRA|NV|KAI)-\d{3}[a-z]?\b", page))
    assert len(named) > 40
    assert named <= set(Catalogue.load())


def test_readme_counts_the_rules() -> None:
    page = (ROOT / "README.md").read_text()
    counts = Counter(origin_of(rule) for rule in Catalogue.load())
    assert f"against {counts.total()} rules" in page
    assert {name: int(count) for name, count in re.findall(r"^\| ([\w -]+) \| (\d+) \|", page, re.MULTILINE)} == counts


def test_the_page_of_kep_5970_maps_its_behaviours_to_rules_of_the_catalogue() -> None:
    page = (ROOT / "docs/reference/kep-5970.md").read_text()
    catalogue = Catalogue.load()
    rows = re.findall(r"^\| ([\w ]+) \| (DRA-35[^|]+) \|([^|]+)\|$", page, re.MULTILINE)
    assert len(rows) == 7
    for number, (behaviour, rules, _) in enumerate(rows, start=1):
        for rule in rules.split(", "):
            assert catalogue[rule].text.startswith(f"Behaviour {number}, {behaviour}: ")
    assert all(name in catalogue for name in re.findall(r"\b(?:DRA|NV)-\d+[a-z]?\b", page))


def test_every_status_verdict_and_exit_code_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "reports-and-verdicts.md").read_text()
    for name in [*Status, *Verdict]:
        assert f"| `{name.value}` |" in page
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [int(code) for code in ExitCode]


@pytest.mark.parametrize("page", gen_catalogue.pages(), ids=lambda page: page.name)
def test_the_pages_of_the_catalogue_are_current(page: Path) -> None:
    assert page.read_text() == gen_catalogue.pages()[page], "run `python -m tools.gen_catalogue`"


def test_the_page_of_the_python_api_is_current() -> None:
    assert gen_api.PAGE.read_text() == gen_api.page(), "run `python -m tools.gen_api`"


def test_the_page_of_upstream_tests_is_current() -> None:
    current = gen_upstream_tests.PAGE.read_text() == gen_upstream_tests.page()
    assert current, "run `python -m tools.gen_upstream_tests`"


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
