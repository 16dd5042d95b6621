"""The suite under plain pytest: markers, node ids, keywords and pytest's own JUnit XML."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from command_line import SUITE, CommandLine

from dra_conformance.core import features
from dra_conformance.core.errors import ExitCode

STRICT = ("-p", "no:cacheprovider", "--strict-markers", "-W", "error")
OURS = ("--dra-features", "probe", "--dra-focus", "^probe/", "--dra-patience", "0.5")
BAD = f"{SUITE}::probe/bad.feature::test_a_node_that_exists_is_expected_to_be_gone"
GOOD = [f"{SUITE}::probe/good.feature::test_a_node_is_there_n[{n}]" for n in (1, 2, 3, 4)]


def collected(out: str) -> list[str]:
    return [line for line in out.splitlines() if "::" in line]


def test_keywords_find_feature_files_and_chapters_under_strict_settings(cli: CommandLine) -> None:
    # pytest collects all features, with the markers of all tags, before it deselects by keyword.
    code, out, err = cli.run(
        "--pyargs", SUITE, *STRICT, "--collect-only", "-q", "-k", "refusals or hami/", module="pytest"
    )
    assert code == ExitCode.OK, out + err
    files = {each.removeprefix(f"{SUITE}::").partition("::")[0] for each in collected(out)}
    chapter = {f"hami/{one.path.name}" for one in features.read_all() if one.chapter == "hami"}
    assert chapter
    assert files == {"driver/refusals.feature", *chapter}


def test_every_tag_is_a_registered_marker_also_one_of_examples(cli: CommandLine) -> None:
    path = cli.folder / "probe" / "tagged.feature"
    path.parent.mkdir()
    path.write_text("""@profile:claim-lifecycle @since:1.34 @needs:virtual-clock
Feature: Tagged
  @DRA-100 @disruptive
  Scenario Outline: A node is there <n>
    Given node "n<n>"
    When 1 seconds pass
    Then the Node "n<n>" still exists

    @profile:faults @gate:DRADeviceTaints
    Examples:
      | n |
      | 1 |

    Examples:
      | n |
      | 2 |
""")
    own = [*OURS, "--dra-allow-disruptive", "--collect-only", "-q", "-m", "profile_faults and gate_DRADeviceTaints"]
    code, out, err = cli.run("--pyargs", SUITE, *STRICT, *own, module="pytest")
    assert code == ExitCode.NOTHING_SELECTED, out + err
    assert collected(out) == [f"{SUITE}::probe/tagged.feature::test_a_node_is_there_n[1]"]


def test_a_node_id_is_an_argument_of_pytest(cli: CommandLine) -> None:
    cli.features("good", "bad")
    own = ["--collect-only", "-q", "-o", "collect_imported_tests=false", *OURS]
    code, out, err = cli.run("--pyargs", SUITE, *STRICT, *own, module="pytest")
    assert code == ExitCode.NOTHING_SELECTED, out + err
    assert collected(out) == [BAD, *GOOD]
    code, out, err = cli.run("--pyargs", GOOD[1], *STRICT, *own, module="pytest")
    assert code == ExitCode.NOTHING_SELECTED, out + err
    assert collected(out) == GOOD[1:2]


@pytest.mark.parametrize("workers", [[], ["-n", "2", "--basetemp", "temp"]], ids=["one-process", "workers"])
def test_the_junit_xml_of_pytest_has_rules_and_the_timeline(cli: CommandLine, workers: list[str]) -> None:
    cli.features("good", "bad")
    own = ["--junitxml", "junit.xml", *workers, *OURS]
    code, out, err = cli.run("--pyargs", SUITE, *STRICT, *own, module="pytest")
    assert code == ExitCode.FAILURES, out + err
    cases = {case.attrib["name"]: case for case in junit(cli.folder / "junit.xml").iter("testcase")}
    assert len(cases) == 5
    failed = cases["test_a_node_that_exists_is_expected_to_be_gone"]
    assert failed.attrib["classname"] == f"{SUITE}.probe/bad.feature"
    assert properties(failed) == [
        ("scenario", "probe/bad#a-node-that-exists-is-expected-to-be-gone"),
        ("rule", "DRA-100"),
        ("where", "probe/bad.feature:4"),
        ("status", "failed"),
    ]
    assert ("status", "passed") in properties(cases["test_a_node_is_there_n[3]"])
    text = failed.findtext("failure") or ""
    assert text.startswith('the Node "n1" is gone: expected no such object; saw n1-')
    assert re.search(r"^\+ +\d+\.\d+  API +POST nodes -> 201", text, re.MULTILINE)
    assert "objects: failures/probe.bad#" in text
    last = text.splitlines()[-2:]
    assert re.match(r"\+ +\d+\.\d+  CHECK  DRA-100 FAILED", last[0])
    assert last[1].startswith("repeat: dra-conformance run --features probe --patience 0.5 --focus ")


def test_a_retried_scenario_has_one_status(cli: CommandLine) -> None:
    cli.features("bad")
    own = ["--junitxml", "junit.xml", "--dra-retries", "1", *OURS]
    code, out, err = cli.run("--pyargs", SUITE, *STRICT, *own, module="pytest")
    assert code == ExitCode.FAILURES, out + err
    (case,) = junit(cli.folder / "junit.xml").iter("testcase")
    assert [value for name, value in properties(case) if name == "status"] == ["failed"]
    assert (case.findtext("failure") or "").count("CHECK  DRA-100 FAILED") == 1


def junit(path: Path) -> ET.Element:
    return ET.fromstring(path.read_text())  # noqa: S314 - this test's own run wrote it


def properties(case: ET.Element) -> list[tuple[str, str]]:
    return [(each.attrib["name"], each.attrib["value"]) for each in case.iter("property")]
