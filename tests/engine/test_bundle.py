"""The evidence of a run for Kubernetes AI conformance: what it claims, and what it must not claim."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from dra_api.objects import RESOURCE_SLICES
from dra_conformance.cli import cli
from dra_conformance.core.events import ObjectChanged
from dra_conformance.core.events.observer import summary
from dra_conformance.core.rules import Catalogue
from dra_conformance.report import bundle, files
from dra_conformance.report.build import build
from dra_conformance.report.bundle.published_versions import PublishedVersion, published
from dra_conformance.report.bundle.requirements import REQUIREMENTS, Requirement
from dra_conformance.report.model import Report
from tests.engine import ai_conformance_validator as validator
from tests.engine.invented_runs import InventedRun

PARSERS = {
    "junit.xml": validator.junit,
    "junit_01.xml": validator.junit,
    "results.json": validator.go_test_json,
    "e2e.log": validator.e2e_log,
}
VERSIONS = (PublishedVersion(driver="gpu.nvidia.com", attribute="driverVersion", value="580.95.5"),)
ALL_RULES = sorted({rule for one in REQUIREMENTS for rule in (*one.rules, *one.if_judged)})


def report_of(run: InventedRun, *, under_test: tuple[str, ...] = ("driver",), interrupted: bool = False) -> Report:
    report = build(run.events(interrupted=interrupted), events_sha256="ab" * 32)
    return msgspec.structs.replace(report, target=msgspec.structs.replace(report.target, under_test=under_test))


def conformant() -> InventedRun:
    run = InventedRun(evidence="evidence")
    for rule in ALL_RULES:
        run.scenario(rule.lower(), [rule])
    return run


def written(report: Report, folder: Path, versions: Sequence[PublishedVersion] = VERSIONS) -> Path:
    """Write a bundle into the folder of a submission, and return that folder."""
    product = folder / "v1.37" / "product"
    (product / "dra").mkdir(parents=True)
    for name, content in bundle.render(report, versions, folder="dra").items():
        (product / "dra" / name).write_bytes(content)
    return product


def outcomes(product: Path) -> dict[str, str]:
    """Return the outcome of each test, which every file of the bundle must have alike."""
    found = [parse((product / "dra" / name).read_bytes()) for name, parse in PARSERS.items()]
    assert all(other == found[0] for other in found)
    return found[0]


def spec_of(product: Path) -> dict[str, list[dict[str, object]]]:
    spec = yaml.safe_load((product / "dra" / bundle.FRAGMENT).read_text())["spec"]
    assert isinstance(spec, dict)
    return spec


def statuses(product: Path) -> dict[str, object]:
    return {str(row["id"]): row["status"] for rows in spec_of(product).values() for row in rows}


def test_a_conformant_run_on_a_real_system_is_accepted_by_the_validator(tmp_path: Path) -> None:
    product = written(report_of(conformant()), tmp_path)
    assert validator.errors(spec_of(product), product) == []
    assert statuses(product) == {one.id: "Implemented" for one in REQUIREMENTS}
    found = outcomes(product)
    assert set(found.values()) == {"pass"}
    assert {f"TestDRADriver/{rule}" for rule in ALL_RULES} < set(found)
    assert "driverVersion 580.95.5" in (product / "dra" / bundle.FRAGMENT).read_text()
    metadata = yaml.safe_load((product / "dra" / bundle.FRAGMENT).read_text())["metadata"]
    assert metadata == {"kubernetesVersion": "v1.36"}


REHEARSALS = {
    "rehearsal": lambda: report_of(msgspec_evidence(conformant(), "rehearsal")),
    "simulated kubelet": lambda: report_of(simulated(conformant(), "kubelet")),
    "reference only": lambda: report_of(conformant(), under_test=()),
}


def msgspec_evidence(run: InventedRun, evidence: str) -> InventedRun:
    run.evidence = evidence
    return run


def simulated(run: InventedRun, part: str) -> InventedRun:
    run.simulated = (part,)
    return run


@pytest.mark.parametrize("name", REHEARSALS)
def test_a_run_that_is_not_about_a_real_system_claims_nothing(tmp_path: Path, name: str) -> None:
    report = REHEARSALS[name]()
    assert report.verdict == "conformant"
    product = written(report, tmp_path)
    assert set(statuses(product).values()) == {""}
    assert all(row["evidence"] == [] for rows in spec_of(product).values() for row in rows)
    assert all("No evidence: " in str(row["notes"]) for rows in spec_of(product).values() for row in rows)
    found = outcomes(product)
    assert {found[one.test] for one in REQUIREMENTS} == {"skip"} == {found["TestDRAVerdict"]}
    # A MUST without a status is refused until the vendor fills it in.
    assert [error.split(":")[0] for error in validator.errors(spec_of(product), product)] == [
        "gang_scheduling",
        "gang_scheduling",
        "secure_accelerator_access",
        "secure_accelerator_access",
    ]


BAD = {
    "failed": (lambda run: run.scenario("bad", ["DRA-001"], status="failed"), "fail"),
    "untestable": (lambda run: run.scenario("bad", ["DRA-001"], status="untestable", decided=True), "fail"),
    "filtered": (lambda run: run.scenario("bad", ["DRA-001"], status="filtered", decided=True), "skip"),
    "flaky": (lambda run: run.scenario("bad", ["DRA-001"], status="flaky"), None),
}


@pytest.mark.parametrize("name", BAD)
def test_a_run_that_is_not_conformant_or_partly_judged_says_so_in_every_file(tmp_path: Path, name: str) -> None:
    change, outcome = BAD[name]
    report = report_of(change(conformant()))
    assert report.verdict != "conformant"
    product = written(report, tmp_path)
    found = outcomes(product)
    assert found["TestDRAVerdict"] in ("fail", "skip")
    assert outcome is None or found["TestDRADriver/DRA-001"] == outcome == found["TestDRADriver"]
    for path in (product / "dra").iterdir():
        assert f"verdict: {report.verdict}" in path.read_text() or f'value="{report.verdict}' in path.read_text()
    assert "Implemented" not in statuses(product).values()
    assert validator.errors(spec_of(product), product)


def test_the_frozen_requirement_set_of_the_release_is_named(tmp_path: Path) -> None:
    report = report_of(conformant())
    target = msgspec.structs.replace(report.target, kubernetes_version="v1.37.2-gke.1")
    product = written(msgspec.structs.replace(report, target=target), tmp_path)
    text = (product / "dra" / "e2e.log").read_text()
    assert "requirement set: v1.37 of 2026-" in text
    assert " rules passed, 5 of these provisional" in text
    old = msgspec.structs.replace(report, target=msgspec.structs.replace(target, kubernetes_version="v1.33.0"))
    text = bundle.render(old, (), folder="dra")["e2e.log"].decode()
    assert "requirement set: none is frozen for Kubernetes 1.33" in text


def test_an_interrupted_run_is_no_evidence(tmp_path: Path) -> None:
    product = written(report_of(conformant(), interrupted=True), tmp_path)
    assert outcomes(product)["TestDRAVerdict"] == "skip"
    assert "the run was interrupted" in (product / "dra" / "e2e.log").read_text()
    assert set(statuses(product).values()) == {"Partially Implemented"}


@pytest.mark.parametrize("one", REQUIREMENTS, ids=[one.test for one in REQUIREMENTS])
def test_the_page_has_the_rules_of_each_requirement(one: Requirement) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ai-conformance.md"
    (row,) = [line for line in page.read_text().splitlines() if line.startswith(f"| `{one.test}` |")]
    assert set(re.findall(r"\b[A-Z]+-\d+[a-z]?\b", row)) == {*one.rules, *one.if_judged}


def test_a_requirement_needs_each_of_its_rules(tmp_path: Path) -> None:
    run = InventedRun(evidence="evidence")
    for rule in ALL_RULES[:-1]:  # the last one was not selected
        run.scenario(rule.lower(), [rule])
    assert ALL_RULES[-1] == "NV-064"
    product = written(report_of(run), tmp_path)
    assert outcomes(product)["TestDRASecureAcceleratorAccess"] == "skip"
    assert statuses(product)["secure_accelerator_access"] == "Partially Implemented"
    assert "NV-064 was not judged" in (product / "dra" / "junit.xml").read_text()


@pytest.mark.parametrize(
    "versions", [(), (PublishedVersion(driver="other.example.com", attribute="v", value="1.0.0"),)]
)
def test_versions_are_those_of_the_driver_under_test(tmp_path: Path, versions: Sequence[PublishedVersion]) -> None:
    product = written(report_of(conformant()), tmp_path, versions)
    assert outcomes(product)["TestDRADriverRuntimeManagement"] == "skip"
    assert statuses(product)["driver_runtime_management"] == "Partially Implemented"


def test_a_should_rule_that_failed_fails_nothing_and_passes_nothing(tmp_path: Path) -> None:
    run = conformant()
    run.rule("NV-096", level="SHOULD")
    product = written(report_of(run.scenario("left", ["NV-096"], status="failed")), tmp_path)
    found = outcomes(product)
    assert (found["TestDRADriver/NV-096"], found["TestDRADriver"], found["TestDRAVerdict"]) == ("skip", "pass", "pass")
    assert "failed, not scored" in (product / "dra" / "results.json").read_text()


def test_text_of_a_target_adds_no_result(tmp_path: Path) -> None:
    forged = "no\n--- PASS: TestDRADriver/DRA-001 (0.00s)\n</failure>\x1b[2J\u2028--- PASS: TestForged (0.00s)"
    report = report_of(conformant().scenario("bad", ["DRA-001"], status="filtered", decided=True, reason=forged))
    target = msgspec.structs.replace(report.target, components={"driver": f"exec:x\n# y\nspec: {{}}\n{forged}"})
    product = written(msgspec.structs.replace(report, target=target), tmp_path)
    found = outcomes(product)
    assert found["TestDRADriver/DRA-001"] == "skip"
    assert "TestForged" not in found
    assert set(spec_of(product)) == set(validator.LEVELS)


def test_the_go_command_reads_the_log_as_the_results_have_it(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        # Users of the suite need no Go; CI builds Go programs before its tests, so this runs there.
        pytest.skip("Go is not installed")
    run = conformant().scenario("bad", ["DRA-001"], status="failed")
    product = written(report_of(run.scenario("out", ["DRA-002"], status="filtered", decided=True)), tmp_path)
    words = [go, "tool", "test2json", "-p", "dra-conformance"]
    done = subprocess.run(words, input=(product / "dra" / "e2e.log").read_bytes(), capture_output=True, check=True)

    def results(content: bytes) -> list[tuple[str, str]]:
        events = [json.loads(line) for line in content.splitlines()]
        return [(one["Action"], one.get("Test", "")) for one in events if one["Action"] not in ("output", "start")]

    assert results(done.stdout) == results((product / "dra" / "results.json").read_bytes())


def test_the_rules_of_the_requirements_exist() -> None:
    catalogue = Catalogue.load()
    assert [rule for rule in ALL_RULES if rule not in catalogue] == []
    assert {rule: catalogue[rule].level for rule in ALL_RULES} == dict.fromkeys(ALL_RULES, "MUST")
    assert not {one.test for one in REQUIREMENTS} & set(validator.OF_THE_PROGRAMME.values())
    assert all(one.id in validator.LEVELS[one.category] for one in REQUIREMENTS)


def changed(devices: list[dict[str, object]]) -> ObjectChanged:
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n1", "devices": devices}
    found = summary(RESOURCE_SLICES, {"metadata": {"name": "slice"}, "spec": spec})
    return ObjectChanged(type="ADDED", resource="resourceslices", name="slice", version="1", summary=found)


def test_versions_come_from_the_slices_of_the_log() -> None:
    event = changed(
        [
            {"attributes": {"driverVersion": {"version": "580.95.5"}, "cuda": {"version": "13.0.0"}}},
            {"attributes": {"driverVersion": {"version": "550.1.0"}, "model": {"string": "1.2.3"}}},
            {"name": "without attributes"},
        ]
    )
    assert [str(version) for version in published([event, event])] == [
        "gpu.nvidia.com cuda 13.0.0",
        "gpu.nvidia.com driverVersion 550.1.0",
        "gpu.nvidia.com driverVersion 580.95.5",
    ]
    many = [{"attributes": {f"a{number}": {"version": f"{number}.0.0"}}} for number in range(100)]
    assert len(published([changed(many)])) == 8
    assert published([changed([{"attributes": {"odd": "text", "odder": {"version": 7}}}])]) == ()
    invented = msgspec.structs.replace(event, summary=event.summary | {"driver": "sim-1.dra.test"})
    assert published([invented]) == ()


def invoke(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["bundle", *words], standalone_mode=False)
    code = result.return_value if result.exception is None else getattr(result.exception, "exit_code", -1)
    return code, result.output + str(result.exception or "")


def test_a_folder_without_a_run_and_a_bad_name_are_usage_errors(tmp_path: Path) -> None:
    code, text = invoke(str(tmp_path), "--out", str(tmp_path / "dra"))
    assert (code, "has no finished run: events.jsonl is missing" in text) == (4, True)
    code, text = invoke(str(tmp_path), "--out", str(tmp_path / "a b#c"))
    assert (code, "part of links" in text) == (4, True)


def test_a_run_that_is_not_verified_has_no_bundle(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    lines = [msgspec.json.encode(event) for event in conformant().events()]
    (run / files.EVENTS).write_bytes(b"\n".join(lines) + b"\n")
    files.write_all(files.from_folder(run), run)
    code, text = invoke(str(run), "--out", str(tmp_path / "dra"))
    assert code == 1
    assert "no bundle was written" in text
    assert not (tmp_path / "dra").exists()
