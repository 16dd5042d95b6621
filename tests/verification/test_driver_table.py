"""The table of drivers and profiles in the documentation agrees with the expected results of the drivers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

from dra_conformance.core import features
from dra_conformance.core.rules import Catalogue
from verification.third_party.catalogue import ThirdParty, load

PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/drivers-of-others.md"
PROFILES = ("driver-core", "driver-gpu", "driver-mig", "device-health", "faults", "kep-5970")


def _values(program: ThirdParty, option: str) -> list[str]:
    return [value for name, value in pairwise(program.options) if name == option]


def expected_rows() -> dict[str, list[str]]:
    """Return the row of each driver: for each profile the broken MUST and SHOULD rules."""
    rules = Catalogue.load()
    profiles_of: dict[str, set[str]] = defaultdict(set)
    for scenario in features.read_all():
        for rule in scenario.rules:
            profiles_of[rule] |= set(scenario.tags.profiles)
    rows = {}
    for program in load():
        if program.cluster or not _values(program, "--driver"):
            continue
        cells = []
        for profile in PROFILES:
            levels = Counter(rules[one.rule].level for one in program.breaks if profile in profiles_of[one.rule])
            judged = profile in _values(program, "--profile")
            cells.append(f"{levels['MUST']} + {levels['SHOULD']}" if judged else "")
        rows[program.name] = cells
    return rows


def test_the_table_of_drivers_and_profiles_is_current() -> None:
    section = PAGE.read_text().partition("\n## By profile\n")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", section, re.M)]
    assert cells[0] == ["Driver", *PROFILES]
    assert {name: row for name, *row in cells[2:]} == expected_rows()
