"""Tests of what the suite shows of NVIDIA's programs: a small scenario for each known defect, and texts of rules."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from dra_conformance.core import features
from dra_conformance.core.rules import Catalogue
from verification.third_party.catalogue import load

KNOWN = {
    "crash on an empty timeSlicingConfig (#1384)": (
        "NV-088",
        "driver/gpu_sharing#the-default-interval-applies-if-timeslicingconfig-is-empty",
    ),
    "7g device refused (#1480)": ("NV-117", "mig/dynamic#a-device-of-all-slices-of-a-gpu-can-be-created"),
    "MIG mode switched off under another claim's device": (
        "NV-113",
        "mig/dynamic#a-device-is-destroyed-although-another-claim-has-a-device-of-the-gpu",
    ),
    "instance without compute instance left at start": (
        "NV-115c",
        "mig/dynamic#at-start-the-driver-destroys-gpu-instances-without-a-compute-instance",
    ),
    "killed driver never recovers (#1452)": (
        "NV-115b",
        "mig/dynamic#a-killed-driver-s-unfinished-instance-is-destroyed-at-the-next-start",
    ),
    "double allocation": ("NV-060c", "mig/dynamic#a-gpu-that-a-claim-has-as-a-whole-is-not-partitioned-for-another"),
}
SMALL = 14
"""Steps, those of the background with them."""

PROGRAMS = [one for one in load() if one.name.startswith("nvidia-") and one.version in ("v0.5.0", "v0.4.1")]


@pytest.mark.parametrize(("rule", "scenario"), KNOWN.values(), ids=KNOWN)
def test_a_known_defect_has_a_scenario_of_its_own_that_fits_into_an_issue(rule: str, scenario: str) -> None:
    found = next(one for one in features.read_all() if one.id == scenario)
    assert found.rules == (rule,)
    assert len(found.steps) <= SMALL
    newest = next(one for one in PROGRAMS if one.name == "nvidia-driver-v0.5.0")
    assert rule in {one.rule for one in newest.breaks}


def test_a_should_rule_that_nvidia_breaks_says_what_nvidia_does() -> None:
    rules = Catalogue.load()
    broken = {one.rule for program in PROGRAMS for one in program.breaks if one.status == "failed"}
    silent = [name for name in sorted(broken) if rules[name].level == "SHOULD" and "NVIDIA's" not in rules[name].text]
    assert silent == []


@pytest.mark.parametrize("release", ["v0.5.0", "v0.4.1"])
def test_a_verdict_about_nvidias_driver_has_no_scenarios_without_it(release: str) -> None:
    """They judge the reference, and would be counted as rules that NVIDIA's driver keeps."""
    (program,) = [one for one in PROGRAMS if one.name == f"nvidia-driver-{release}"]
    pairs = list(pairwise(program.options))
    profiles = {value for name, value in pairs if name == "--profile"}
    skipped = [re.compile(value) for name, value in pairs if name == "--skip"]
    chosen = [one for one in features.read_all() if profiles & set(one.tags.profiles)]
    assert chosen
    foreign = [one.id for one in chosen if "driver" not in one.tags.components]
    assert [name for name in foreign if not any(each.search(name) for each in skipped)] == []
    lost = [one.id for one in chosen if one.id not in foreign and any(each.search(one.id) for each in skipped)]
    assert lost == []
